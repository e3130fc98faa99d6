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
	ticks  uint64 // and of the end of what it has, without what is ahead
	marks  uint64 // so far, those that are gone included
	// Begins and ends of phases since the last row, in ticks: they lie in the burst before the next. Events are not kept.
	waiting []tickMark
	ahead   ahead
	row     uint64 // that follows the blocks that have arrived
	first   uint64 // ticks of the first mark, and of the latest
	latest  uint64
	runs    []inRun
}

type tickMark struct {
	ticks uint64
	name  uint32
	end   bool
	hole  bool // rows before it are gone, and it lies in the burst that follows these
	// counts are by the process's events, of the burst until then; nil: not read.
	counts []int64
}

// ahead is whether the stream has taken in marks of the time before the next row: a program may set any number of them
// without a call of MPI. They lie on the time line as if the row had been known, by the length of a tick at the first.
type ahead struct {
	is        bool
	fromNS    int64 // where that time begins
	nsPerTick float64
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

// marksTogether is how many marks wait at most for the row that follows them, beside those of one block: fewer in tests
// alone.
var marksTogether = 1024

// addMarks takes a block's marks that the ring has not had. Missing ones are as if they had never existed, as for the
// collector.
func (r *ring) addMarks(b *section.Block) {
	p := &r.phases
	hole := b.Rows == 0 && b.First > p.row
	p.row = max(b.First+uint64(b.Rows), p.row)
	b.EachMark(func(i int, m *section.Mark, counts []int64) {
		if b.FirstMark+uint64(i) < p.marks {
			return
		}
		if p.marks == 0 {
			p.first = m.Ticks
		}
		p.marks = b.FirstMark + uint64(i) + 1
		p.latest = max(p.latest, m.Ticks)
		if m.What == section.BeginPhase || m.What == section.EndPhase {
			if len(counts) != len(r.process.events) {
				counts = nil
			}
			p.waiting = append(p.waiting, tickMark{p.latest, m.Name, m.What == section.EndPhase, hole, slices.Clone(counts)})
			hole = false
		}
	})
}

// bound takes in the marks that wait if there are many, once no row is known that they lie in or before.
func (p *ringPhases) bound(nsPerTick float64) {
	if nsPerTick == 0 || len(p.waiting) < marksTogether {
		return
	}
	if !p.stream.Begun() && !slices.ContainsFunc(p.waiting, func(m tickMark) bool { return !m.end }) { // they end nothing
		p.waiting = p.waiting[:0]
		return
	}
	p.goAhead(nsPerTick, true)
}

// goAhead takes in all marks that wait: they lie in the time before the next row. Holes is whether what lies before one
// ends there.
func (p *ringPhases) goAhead(nsPerTick float64, holes bool) {
	if !p.stream.Begun() {
		p.began = p.begin(p.latest)
		p.ticks = p.began
		p.stream.Begin(0)
	}
	if !p.ahead.is {
		p.ahead.is, p.ahead.fromNS, p.ahead.nsPerTick = true, p.stream.Now(), nsPerTick
	}
	for _, m := range p.waiting {
		if m.hole && holes && p.stream.Now() > 0 { // where the call ended that the burst follows is not known
			p.passes(m.ticks, phase.Unrecorded)
		}
		p.takes(m)
	}
	p.waiting = p.waiting[:0]
}

// takes takes in a mark of the time that is ahead.
func (p *ringPhases) takes(m tickMark) {
	p.stream.Mark(phase.Mark{NS: p.at(m.ticks), Name: m.name, End: m.end}, m.counts)
}

// takesTo takes in those that wait up to a moment.
func (p *ringPhases) takesTo(ticks uint64) {
	n := 0
	for n < len(p.waiting) && p.waiting[n].ticks <= ticks {
		p.takes(p.waiting[n])
		n++
	}
	p.waiting = append(p.waiting[:0], p.waiting[n:]...)
}

// at is where ticks of the time that is ahead lie on the time line.
func (p *ringPhases) at(ticks uint64) int64 {
	return p.ahead.fromNS + inNS(max(ticks, p.ticks)-p.ticks, p.ahead.nsPerTick)
}

// passes ends the time that is ahead: there was no record in it. Time that follows it is ahead.
func (p *ringPhases) passes(ticks uint64, what phase.What) {
	shares, _ := p.stream.Over(p.at(ticks))
	p.stream.Without(shares, what)
	p.ticks, p.ahead.fromNS = max(ticks, p.ticks), p.stream.Now()
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

// A stretchOf is the rows of a block at work.
type stretchOf struct {
	phase.Records
	marks []phase.Mark
	// What was read at some of the marks: their times, and the counts by the process's events.
	readNS []int64
	read   [][]int64

	cuts []phase.Cut
}

// A located block is where its rows count.
type located struct {
	all     bool // in one path, but for the first burst if it is settled,
	path    int32
	settled settled
	each    phase.Located // or each in its own
}

// A settled burst is one before a row of which the stream has taken in marks ahead.
type settled struct {
	is    bool // that time has been taken in,
	burst bool // and is a burst
	path  int32
	cuts  []phase.Cut
	of    []phase.Share // the same, with what was read
}

// settle takes in the time before a row of a block that begins at these ticks, if marks of it were taken in ahead. Only
// a burst without length is left to be located.
func (c *columns) settle(p *ringPhases, b *section.Block, row int, ticks uint64) (s settled) {
	if !p.ahead.is {
		return s
	}
	what := phase.Unrecorded
	if len(c.rows) > 0 && int(c.rows[0]) == row {
		what, s.burst = phase.Burst, true
	} else if _, is := slices.BinarySearch(b.Paused, uint32(row)); is {
		what = phase.Paused
	}
	if p.ticks < ticks { // rows are gone
		p.takesTo(ticks)
		if what != phase.Unrecorded {
			p.passes(ticks, phase.Unrecorded)
		} else {
			p.ahead.fromNS, p.ticks = max(p.at(ticks), p.stream.Now()), ticks
		}
	}
	until := ticks + b.Burst[row]
	p.takesTo(until)
	p.ahead.is = false
	if s.burst && c.DurationNS[0] == 0 {
		p.passes(p.ticks, phase.Unrecorded)
		p.ticks = ticks
		return settled{}
	}
	end := p.at(until)
	if s.burst { // later than that where the time before the first mark behind a hole is the burst's, too
		end = p.ahead.fromNS + c.DurationNS[0]
	}
	shares, counts := p.stream.Over(end)
	s.is, s.path, s.cuts = true, counts, c.stretch.cuts[:0]
	if !s.burst {
		p.stream.Without(shares, what)
		return s
	}
	s.of = shares
	for _, x := range shares {
		s.cuts = append(s.cuts, phase.Cut{Path: x.Path, NS: x.NS})
	}
	c.stretch.cuts = s.cuts
	if len(s.cuts) == 1 && s.cuts[0].Path == counts {
		s.cuts = nil
	}
	return s
}

// burst is where a burst of the columns counts, and its cuts; rest are the cuts of later ones.
func (l *located) burst(i int, cuts []phase.Cut) (path int32, own, rest []phase.Cut) {
	if l.settled.burst {
		if i == 0 {
			return l.settled.path, l.settled.cuts, cuts
		}
		i--
	}
	if l.all {
		return l.path, nil, nil
	}
	own, rest = cutsOf(cuts, i)
	return l.each.BurstPath[i], own, rest
}

// locate finds out in which phases the rows of a block, from one on, and their bursts lie, which are those of the
// columns.
func (c *columns) locate(r *ring, b *section.Block, from int, nsPerTick float64) (located, error) {
	p, x := &r.phases, &c.stretch
	x.EnterNS, x.ExitNS, x.StartNS, x.DurationNS, x.Pauses, x.marks = x.EnterNS[:0], x.ExitNS[:0], x.StartNS[:0], c.DurationNS, x.Pauses[:0], x.marks[:0]
	x.readNS, x.read = x.readNS[:0], x.read[:0]
	x.CountsIn = nil
	ticks := b.Origin
	for i := range from {
		ticks += b.Burst[i] + b.Call[i]
	}
	bursts, paused := 0, b.Paused
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
	s := c.settle(p, b, from, ticks)
	if len(p.waiting) == 0 {
		return c.locateAll(p, b, from, ticks, nsPerTick, s), nil
	}
	now, waiting := p.stream.Now(), p.waiting
	c.callNS = c.callNS[:0]
	// pass lets a part of the time pass.
	pass := func(ticksOf uint64, ns int64) {
		for len(waiting) > 0 && waiting[0].ticks <= ticks+ticksOf {
			into := inNS(max(waiting[0].ticks, ticks)-ticks, nsPerTick)
			x.marks = append(x.marks, phase.Mark{NS: now + min(into, ns), Name: waiting[0].name, End: waiting[0].end})
			if len(waiting[0].counts) > 0 {
				x.readNS, x.read = append(x.readNS, now+min(into, ns)), append(x.read, waiting[0].counts)
			}
			waiting = waiting[1:]
		}
		ticks, now = ticks+ticksOf, now+ns
	}
	first := b.Burst[from]
	switch until := ticks + first; {
	case s.is:
		ticks = until
		if s.burst {
			bursts, x.DurationNS = 1, c.DurationNS[1:]
		}
	case !has(from) && p.ticks > ticks && p.ticks <= until: // part of the time before the first row is the program's
		ticks, first = p.ticks, until-p.ticks
	case p.ticks < ticks: // rows are gone
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
		case i == from && s.is:
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
		c.callNS = append(c.callNS, inNS(b.Call[i], nsPerTick))
		pass(b.Call[i], c.callNS[i-from])
		x.ExitNS = append(x.ExitNS, now)
	}
	stretch := p.stream.Stretch(x.marks, now)
	if len(x.marks) > 0 {
		x.CountsIn = countsIn(stretch.Intervals, x.StartNS, x.DurationNS)
	}
	l, err := p.stream.Take(stretch, &x.Records)
	p.ticks = ticks
	p.waiting = append(p.waiting[:0], waiting...)
	return located{settled: s, each: l}, err
}

// locateAll is locate of rows among which there is no mark, as nearly always: all lie in one path, but for a burst that
// is settled. The first begins at these ticks.
func (c *columns) locateAll(p *ringPhases, b *section.Block, from int, ticks uint64, nsPerTick float64, s settled) located {
	var without phase.Idle
	idle := int64(0) // time that is not recorded, since the latest record
	unrecorded := func() {
		if idle > 0 {
			without.UnrecordedNS, without.UnrecordedParts, idle = without.UnrecordedNS+idle, without.UnrecordedParts+1, 0
		}
	}
	now, bursts, paused, first := p.stream.Now(), c.DurationNS, b.Paused, b.Burst[from]
	switch until := ticks + first; {
	case s.is:
		if s.burst {
			bursts = bursts[1:]
		}
	case !(len(c.rows) > 0 && int(c.rows[0]) == from) && p.ticks > ticks && p.ticks <= until:
		first = until - p.ticks
	case p.ticks < ticks:
		idle = inNS(ticks-p.ticks, nsPerTick)
		now += idle
	}
	for _, row := range b.NoBurst {
		before := b.Burst[row]
		switch {
		case int(row) < from || int(row) == from && s.is:
			continue
		case int(row) == from:
			before = first
		default:
			unrecorded()
		}
		for len(paused) > 0 && paused[0] < row {
			paused = paused[1:]
		}
		ns := inNS(before, nsPerTick)
		now += ns
		if len(paused) == 0 || paused[0] != row {
			idle += ns
		} else if unrecorded(); ns > 0 {
			without.PausedNS, without.PausedParts = without.PausedNS+ns, without.PausedParts+1
		}
		unrecorded()
	}
	unrecorded()
	for _, ns := range bursts {
		now += ns
	}
	calls, before := b.Call[from:b.Rows], b.Burst[from:b.Rows]
	c.callNS = slices.Grow(c.callNS[:0], len(calls))[:len(calls)]
	for i, call := range calls {
		ns := inNS(call, nsPerTick)
		c.callNS[i] = ns
		now, ticks = now+ns, ticks+before[i]+call
	}
	path := p.stream.Pass(now, without)
	p.ticks = ticks
	return located{all: true, path: path, settled: s}
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
	bytes := p.stream.Bytes() + 40*int64(cap(p.waiting)) + 8*int64(cap(p.runs))
	for i := range p.waiting {
		bytes += 8 * int64(len(p.waiting[i].counts))
	}
	return bytes
}

// A closed are the sums of a ring's phases at one time.
type closed struct {
	paths []phase.Node
	sums  []phase.Sum
	idle  []phase.Idle
}

// closed are the sums of the ring's phases as they are now, with the marks behind the last row.
func (r *ring) closed(nsPerTick float64) (c closed) {
	p := r.phases
	p.stream = *p.stream.Clone()
	if p.marks > 0 && nsPerTick > 0 && (!p.stream.Begun() || len(p.waiting) > 0 || p.latest > p.ticks) {
		p.goAhead(nsPerTick, false)
		p.passes(p.latest, phase.Unrecorded)
	}
	if r.rows == 0 && p.stream.Begun() { // a thread that never calls MPI has the time of its marks
		p.stream.Lead(inNS(max(p.began, p.first)-p.first, nsPerTick))
	}
	c.sums, c.idle = p.stream.Close()
	c.paths = p.stream.Paths().Nodes()
	return c
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
