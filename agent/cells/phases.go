package cells

import (
	"slices"

	"moriens/analysis/phase"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// ringPhases are the phases of the program on one ring. The thread has a time line of its own, from 0 on: the durations
// of its bursts, calls and gaps, each in nanoseconds as it is summed up, one after the other. A mark lies on it so far
// behind the begin of what it interrupts as its ticks say. So what is directly in a phase adds up to its exclusive
// time, whatever the rate of the clock was when it was taken.
type ringPhases struct {
	stream phase.Stream
	began  uint64 // ticks at which the stream begins,
	ticks  uint64 // and of the end of what it has
	marks  uint64 // so far, those that are gone included
	// Begins and ends of phases since the last row, in ticks: they lie in the burst before the next. Events are not kept.
	waiting []tickMark
	first   uint64 // ticks of the first mark, and of the latest
	latest  uint64
	runs    []inRun
}

type tickMark struct {
	ticks uint64
	name  uint32
	end   bool
}

// An inRun says where bursts count, from a row on.
type inRun struct{ row, in uint32 }

// A burst counts in a phase path of the ring, and is all in it, or not: 2·path, plus 1 where a border cuts it.
func inOf(path int32, cut bool) uint32 {
	if cut {
		return uint32(path)<<1 | 1
	}
	return uint32(path) << 1
}

func pathOf(in uint32) int32 { return int32(in >> 1) }
func isCut(in uint32) bool   { return in&1 != 0 }

// cutsOf are the first cuts of a list if they are of a record, and the others.
func cutsOf(cuts []phase.Cut, record int) (own, rest []phase.Cut) {
	n := 0
	for n < len(cuts) && int(cuts[n].Record) == record {
		n++
	}
	return cuts[:n], cuts[n:]
}

// marksTogether is how many marks of a thread that has not called MPI wait at most until they are taken in.
const marksTogether = 4096

// addMarks takes a block's marks that the ring has not had. Missing ones are as if they had never existed, as for the
// collector.
func (r *ring) addMarks(b *section.Block, nsPerTick float64) error {
	p := &r.phases
	for i, m := range b.Marks {
		if b.FirstMark+uint64(i) < p.marks {
			continue
		}
		if p.marks == 0 {
			p.first = m.Ticks
		}
		p.marks = b.FirstMark + uint64(i) + 1
		p.latest = max(p.latest, m.Ticks)
		if m.What == section.BeginPhase || m.What == section.EndPhase {
			p.waiting = append(p.waiting, tickMark{p.latest, m.Name, m.What == section.EndPhase})
		}
	}
	if r.rows == 0 && nsPerTick > 0 && len(p.waiting) >= marksTogether {
		return p.advance(nsPerTick)
	}
	return nil
}

// begin is when the time of a thread begins that has not begun: at the first phase, or at a moment if that is earlier.
func (p *ringPhases) begin(otherwise uint64) (ticks uint64) {
	for _, m := range p.waiting {
		if !m.end {
			return min(m.ticks, otherwise)
		}
	}
	return otherwise
}

// advance takes in all marks: no record is round them.
func (p *ringPhases) advance(nsPerTick float64) error {
	if s := &p.stream; !s.Begun() {
		p.began = p.begin(p.latest)
		p.ticks = p.began
		s.Begin(0)
	}
	now, from := p.stream.Now(), p.ticks
	at := func(ticks uint64) int64 { return now + inNS(max(ticks, from)-from, nsPerTick) }
	marks := make([]phase.Mark, 0, len(p.waiting))
	for _, m := range p.waiting {
		marks = append(marks, phase.Mark{NS: at(m.ticks), Name: m.name, End: m.end})
	}
	_, err := p.stream.Take(p.stream.Stretch(marks, at(p.latest)), new(phase.Records))
	p.ticks, p.waiting = max(from, p.latest), p.waiting[:0]
	return err
}

// A stretchOf is the rows of a block at work.
type stretchOf struct {
	phase.Records
	marks []phase.Mark

	callPath, burstPath []int32 // where no mark is
}

// locate finds out in which phases the rows of a block, from one on, and their bursts lie, which are those of the
// columns.
func (c *columns) locate(r *ring, b *section.Block, from int, nsPerTick float64) (phase.Located, error) {
	p, x := &r.phases, &c.stretch
	x.EnterNS, x.ExitNS, x.StartNS, x.DurationNS, x.Pauses, x.marks = x.EnterNS[:0], x.ExitNS[:0], x.StartNS[:0], c.DurationNS, x.Pauses[:0], x.marks[:0]
	x.CountsIn = nil
	ticks := b.Origin
	for i := range from {
		ticks += b.Burst[i] + b.Call[i]
	}
	bursts, paused, waiting := 0, b.Paused, p.waiting
	has := func(row int) bool { return bursts < len(c.rows) && int(c.rows[bursts]) == row }
	if !p.stream.Begun() {
		begin := ticks
		if !has(from) { // the time before the first call is not known
			begin += b.Burst[from]
		}
		p.began = p.begin(begin)
		p.ticks = p.began
		p.stream.Begin(0)
	}
	if len(p.waiting) == 0 {
		return c.locateAll(p, b, from, ticks, nsPerTick), nil
	}
	now := p.stream.Now()
	// pass lets a part of the time pass.
	pass := func(ticksOf uint64, ns int64) {
		for len(waiting) > 0 && waiting[0].ticks <= ticks+ticksOf {
			into := inNS(max(waiting[0].ticks, ticks)-ticks, nsPerTick)
			x.marks = append(x.marks, phase.Mark{NS: now + min(into, ns), Name: waiting[0].name, End: waiting[0].end})
			waiting = waiting[1:]
		}
		ticks, now = ticks+ticksOf, now+ns
	}
	first := b.Burst[from]
	if until := ticks + first; !has(from) && p.ticks > ticks && p.ticks <= until { // part of the time before the first row is the program's
		ticks, first = p.ticks, until-p.ticks
	} else if p.ticks < ticks { // rows are gone
		gone := ticks - p.ticks
		ticks = p.ticks
		pass(gone, inNS(gone, nsPerTick))
	}
	for i := from; i < b.Rows; i++ {
		before := b.Burst[i]
		if i == from {
			before = first
		}
		for len(paused) > 0 && int(paused[0]) < i {
			paused = paused[1:]
		}
		begin := now
		switch {
		case has(i):
			x.StartNS = append(x.StartNS, begin)
			pass(before, c.DurationNS[bursts])
			bursts++
		default:
			pass(before, inNS(before, nsPerTick))
			if len(paused) > 0 && int(paused[0]) == i {
				x.Pauses = append(x.Pauses, phase.Span{BeginNS: begin, EndNS: now})
			}
		}
		x.EnterNS = append(x.EnterNS, now)
		pass(b.Call[i], inNS(b.Call[i], nsPerTick))
		x.ExitNS = append(x.ExitNS, now)
	}
	s := p.stream.Stretch(x.marks, now)
	if len(x.marks) > 0 {
		x.CountsIn = countsIn(s.Intervals, x.StartNS, x.DurationNS)
	}
	l, err := p.stream.Take(s, &x.Records)
	p.ticks = ticks
	p.waiting = append(p.waiting[:0], waiting...)
	return l, err
}

// locateAll is locate of rows among which there is no mark, as nearly always: all lie in one path. The first begins at
// these ticks.
func (c *columns) locateAll(p *ringPhases, b *section.Block, from int, ticks uint64, nsPerTick float64) phase.Located {
	var without phase.Idle
	idle := int64(0) // time that is not recorded, since the latest record
	unrecorded := func() {
		if idle > 0 {
			without.UnrecordedNS, without.UnrecordedParts, idle = without.UnrecordedNS+idle, without.UnrecordedParts+1, 0
		}
	}
	now, bursts, paused := p.stream.Now(), 0, b.Paused
	has := func(row int) bool { return bursts < len(c.rows) && int(c.rows[bursts]) == row }
	before := b.Burst[from]
	if until := ticks + before; !has(from) && p.ticks > ticks && p.ticks <= until {
		ticks, before = p.ticks, until-p.ticks
	} else if p.ticks < ticks {
		idle = inNS(ticks-p.ticks, nsPerTick)
		now += idle
	}
	for i := from; i < b.Rows; i++ {
		if i > from {
			before = b.Burst[i]
		}
		if has(i) {
			unrecorded()
			now += c.DurationNS[bursts]
			bursts++
		} else {
			for len(paused) > 0 && int(paused[0]) < i {
				paused = paused[1:]
			}
			ns := inNS(before, nsPerTick)
			now += ns
			if len(paused) == 0 || int(paused[0]) != i {
				idle += ns
			} else if unrecorded(); ns > 0 {
				without.PausedNS, without.PausedParts = without.PausedNS+ns, without.PausedParts+1
			}
			unrecorded()
		}
		now += inNS(b.Call[i], nsPerTick)
		ticks += before + b.Call[i]
	}
	path := p.stream.Pass(now, without)
	p.ticks = ticks
	x := &c.stretch
	x.callPath, x.burstPath = slices.Grow(x.callPath[:0], b.Rows-from)[:b.Rows-from], slices.Grow(x.burstPath[:0], len(c.rows))[:len(c.rows)]
	for i := range x.callPath {
		x.callPath[i] = path
	}
	for i := range x.burstPath {
		x.burstPath[i] = path
	}
	return phase.Located{CallPath: x.callPath, BurstPath: x.burstPath}
}

// countsIn is in which interval each burst counts; nil: in the one at its start.
func countsIn(intervals []phase.Interval, startNS, durationNS []int64) []int32 {
	t := trace.Thread{Bursts: trace.Bursts{StartNS: startNS, DurationNS: durationNS}}
	for _, x := range intervals {
		t.Phases = append(t.Phases, trace.Phase{Name: x.Name, Depth: x.Depth, BeginNS: x.BeginNS, EndNS: x.EndNS})
	}
	t.LocatePhases()
	return t.Bursts.Phase
}

// counts notes where the burst before a row counts.
func (p *ringPhases) counts(row, in uint32) {
	if n := len(p.runs); n == 0 && in != 0 || n > 0 && p.runs[n-1].in != in {
		p.runs = append(p.runs, inRun{row, in})
	}
}

// An inWalker gives where the bursts before rows count, in the order of the rows.
type inWalker struct {
	runs []inRun
	in   uint32
}

func (w *inWalker) at(row uint32) uint32 {
	for len(w.runs) > 0 && w.runs[0].row <= row {
		w.in, w.runs = w.runs[0].in, w.runs[1:]
	}
	return w.in
}

func (p *ringPhases) bytes() int64 {
	return p.stream.Bytes() + 16*int64(cap(p.waiting)) + 8*int64(cap(p.runs))
}

// A closed are the sums of a ring's phases at one time.
type closed struct {
	paths []phase.Node
	sums  []phase.Sum
	idle  []phase.Idle
}

// closed are the sums of the ring's phases as they are now, with the marks behind the last row.
func (r *ring) closed(nsPerTick float64) (c closed, err error) {
	p := r.phases
	p.stream, p.waiting = *p.stream.Clone(), slices.Clone(p.waiting)
	if p.marks > 0 && nsPerTick > 0 && (!p.stream.Begun() || len(p.waiting) > 0 || p.latest > p.ticks) {
		if err := p.advance(nsPerTick); err != nil {
			return c, err
		}
	}
	if r.rows == 0 && p.stream.Begun() { // a thread that never calls MPI has the time of its marks
		p.stream.Lead(inNS(max(p.began, p.first)-p.first, nsPerTick))
	}
	c.sums, c.idle = p.stream.Close()
	c.paths = p.stream.Paths().Nodes()
	return c, nil
}

// phases adds the phases of a ring to a message, which is sent where it is full; the next one is returned.
func (r *reply) phases(m *moriensv1.CellsSums, ring uint64, of *closed) (*moriensv1.CellsSums, error) {
	if len(of.sums) == 0 {
		return m, nil
	}
	idle := of.idle
	const perPath, perSum = 10, 5 + 6*10 + 2*8 + 4*10 // bytes
	x := &moriensv1.CellsPhases{Ring: ring}
	size := len(m.Ring)*sumBytes + len(m.Phases)*(perPath+perSum)
	room := func(bytes int) error {
		if size += bytes; size < partBytes {
			return nil
		}
		size = bytes
		m.Phases = append(m.Phases, x)
		err := r.sums(m)
		m, x = new(moriensv1.CellsSums), &moriensv1.CellsPhases{Ring: ring}
		return err
	}
	for _, n := range of.paths {
		if err := room(perPath); err != nil {
			return m, err
		}
		x.Parent, x.Name = append(x.Parent, uint32(n.Parent)), append(x.Name, n.Name)
	}
	for _, s := range of.sums {
		if err := room(perSum); err != nil {
			return m, err
		}
		own := phase.Idle{}
		if len(idle) > 0 && idle[0].Path == s.Path { // a path with time has a sum
			own, idle = idle[0], idle[1:]
		}
		i := &s.Instances
		x.Path, x.Intervals, x.Instances = append(x.Path, uint32(s.Path)), append(x.Intervals, uint64(s.Intervals)), append(x.Instances, uint64(i.N))
		x.TotalNs, x.SquaresLow, x.SquaresHigh = append(x.TotalNs, uint64(i.Total)), append(x.SquaresLow, i.Squares.Low), append(x.SquaresHigh, i.Squares.High)
		x.MinNs, x.MaxNs, x.ExclusiveNs = append(x.MinNs, uint64(i.Min)), append(x.MaxNs, uint64(i.Max)), append(x.ExclusiveNs, uint64(s.ExclusiveNS))
		x.PausedNs, x.Paused = append(x.PausedNs, uint64(own.PausedNS)), append(x.Paused, uint64(own.PausedParts))
		x.UnrecordedNs, x.Unrecorded = append(x.UnrecordedNs, uint64(own.UnrecordedNS)), append(x.Unrecorded, uint64(own.UnrecordedParts))
	}
	m.Phases = append(m.Phases, x)
	return m, nil
}
