package cells_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/phase"
	"moriens/analysis/profile"
	"moriens/analysis/space"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// inPhases is what a pass over all of a ring's records and marks at the end finds: rows of its profile, and sums of its
// phases, by the names of their paths.
type inPhases struct {
	rows map[string]profile.Row
	sums map[string]phase.Sum
	idle map[string]phase.Idle
}

func ns(ticks uint64) int64 { return int64(math.Round(float64(ticks) * nsPerTick)) }

// inPhases lays the records of a ring out on one time line, their durations one behind the other.
func (r *plainRing) inPhases(counters []string, label func(x *plainRow) int32) inPhases {
	type part struct {
		ticks, length uint64
		atNS, ns      int64
	}
	var parts []part
	var th profile.Thread
	var records phase.Records
	th.Counters = make([][]int64, len(counters))
	now, at := int64(0), uint64(0)
	pass := func(length uint64, ns int64) {
		parts = append(parts, part{at, length, now, ns})
		at, now = at+length, now+ns
	}
	began := uint64(0)
	for i := range r.rows {
		x := &r.rows[i]
		if i == 0 {
			at = x.ticks
			if !x.burst { // what is before the first call is not known
				at += x.length
			}
			for _, m := range r.marks {
				if m.What == section.BeginPhase {
					at = min(at, m.Ticks)
					break
				}
			}
			began = at
		}
		begin := now
		if x.burst {
			if at < x.ticks { // calls are gone
				pass(x.ticks-at, ns(x.ticks-at))
				begin = now
			}
			pass(x.length, x.ns)
			th.StartNS, th.DurationNS = append(th.StartNS, begin), append(th.DurationNS, x.ns)
			th.After, th.Cluster = append(th.After, x.path*10+x.function), append(th.Cluster, label(x))
			for k, name := range counters {
				v, has := x.counts[name]
				if !has {
					v = profile.NotRead
				}
				th.Counters[k] = append(th.Counters[k], v)
			}
		} else {
			if at < x.ticks {
				pass(x.ticks-at, ns(x.ticks-at))
				begin = now
			}
			length := x.ticks + x.length - at
			pass(length, ns(length))
			if x.paused {
				records.Pauses = append(records.Pauses, phase.Span{BeginNS: begin, EndNS: now})
			}
		}
		th.Calls.Path, th.Calls.Count = append(th.Calls.Path, x.path*10+x.function), append(th.Calls.Count, int64(x.calls))
		th.Calls.EnterNS, th.Calls.ExitNS = append(th.Calls.EnterNS, now), append(th.Calls.ExitNS, now+x.callNS)
		pass(x.within, x.callNS)
	}
	if len(r.rows) == 0 {
		if len(r.marks) == 0 {
			return inPhases{}
		}
		began, at = r.marks[0].Ticks, r.marks[0].Ticks
		for i, m := range r.marks { // the time before the first phase is rounded by itself
			if m.What == section.BeginPhase || i == len(r.marks)-1 {
				pass(m.Ticks-at, ns(m.Ticks-at))
				break
			}
		}
	}
	if n := len(r.marks); n > 0 && r.marks[n-1].Ticks > at {
		pass(r.marks[n-1].Ticks-at, ns(r.marks[n-1].Ticks-at))
	}
	var marks []phase.Mark
	th.Readings.Counters = make([][]int64, len(counters))
	for i, m := range r.marks {
		if m.What == section.Event {
			continue
		}
		k := 0
		for k+1 < len(parts) && parts[k].ticks+parts[k].length < m.Ticks {
			k++
		}
		when := int64(0)
		if len(parts) > 0 && m.Ticks > began {
			when = parts[k].atNS + min(ns(max(m.Ticks, parts[k].ticks)-parts[k].ticks), parts[k].ns)
		}
		marks = append(marks, phase.Mark{NS: when, Name: m.Name, End: m.What == section.EndPhase})
		if r.counts[i] == nil {
			continue
		}
		th.Readings.NS = append(th.Readings.NS, when)
		for c, name := range counters {
			v := profile.NotRead
			if event := slices.Index(r.process.Events, name); event >= 0 {
				v = r.counts[i][event]
			}
			th.Readings.Counters[c] = append(th.Readings.Counters[c], v)
		}
	}
	var s phase.Stream
	s.Begin(0)
	intervals := s.Stretch(marks, now).Intervals
	line, err := phase.Lay(0, now, intervals)
	if err != nil {
		panic(err)
	}
	t := trace.Thread{Bursts: trace.Bursts{StartNS: th.StartNS, DurationNS: th.DurationNS}}
	for _, x := range intervals {
		t.Phases = append(t.Phases, trace.Phase{Name: x.Name, Depth: x.Depth, BeginNS: x.BeginNS, EndNS: x.EndNS})
	}
	t.LocatePhases()
	records.EnterNS, records.ExitNS, records.StartNS, records.DurationNS, records.CountsIn = th.Calls.EnterNS, th.Calls.ExitNS, th.StartNS, th.DurationNS, t.Bursts.Phase
	paths, err := phase.Number([]phase.Timeline{line}, team.Threads{})
	if err != nil {
		panic(err)
	}
	l := line.Locate(intervals, &records, nil)
	th.Region, th.Cuts, th.Calls.Region, th.Calls.Cuts = l.BurstPath, l.Bursts, l.CallPath, l.Calls
	p, err := profile.Sum([]profile.Thread{th}, profile.Options{Counters: len(counters)})
	if err != nil {
		panic(err)
	}
	names := map[int32]string{0: "program"}
	for path := 1; path < paths.Len(); path++ {
		of := paths.Of(int32(path))
		names[int32(path)] = fmt.Sprint(names[of.Parent], "/", of.Name)
	}
	found := inPhases{map[string]profile.Row{}, map[string]phase.Sum{}, map[string]phase.Idle{}}
	for _, row := range p.Rows {
		key := fmt.Sprint(row.Kind, row.Path, row.Cluster, names[row.Region])
		row.Key = profile.Key{}
		found.rows[key] = row
	}
	for _, x := range line.Sums() {
		name := names[x.Path]
		x.Path = 0
		found.sums[name] = x
	}
	for _, x := range l.Idle {
		name := names[x.Path]
		x.Path = 0
		found.idle[name] = x
	}
	return found
}

// phasesOf reads what a Store answers about phases, by ring.
func (c *coordinator) phasesOf() map[uint64]*inPhases {
	all := map[uint64]*inPhases{}
	of := func(ring uint64) *inPhases {
		if all[ring] == nil {
			all[ring] = &inPhases{map[string]profile.Row{}, map[string]phase.Sum{}, map[string]phase.Idle{}}
		}
		return all[ring]
	}
	names := map[uint64][]string{}
	name := func(ring uint64, path uint32) string { return append([]string{"program"}, names[ring]...)[path] }
	for _, part := range c.must(&moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Sum{Sum: &moriensv1.CellsSum{}}}) {
		m := part.GetSums()
		for _, p := range m.Phases {
			for i, parent := range p.Parent {
				names[p.Ring] = append(names[p.Ring], fmt.Sprint(name(p.Ring, parent), "/", p.Name[i]))
			}
			for i, path := range p.Path {
				at := name(p.Ring, path)
				of(p.Ring).sums[at] = phase.Sum{Intervals: int64(p.Intervals[i]), ExclusiveNS: int64(p.ExclusiveNs[i]), Instances: moment.Sum{
					N: int64(p.Instances[i]), Total: int64(p.TotalNs[i]), Squares: moment.Wide{High: p.SquaresHigh[i], Low: p.SquaresLow[i]}, Min: int64(p.MinNs[i]), Max: int64(p.MaxNs[i]),
				}}
				if p.Paused[i]+p.Unrecorded[i] > 0 {
					of(p.Ring).idle[at] = phase.Idle{PausedNS: int64(p.PausedNs[i]), PausedParts: int64(p.Paused[i]), UnrecordedNS: int64(p.UnrecordedNs[i]), UnrecordedParts: int64(p.Unrecorded[i])}
				}
			}
		}
		counters, bursts := len(c.about.Counter), 0
		for i, ring := range m.Ring {
			row := profile.Row{
				Count: int64(m.Count[i]), MovedNS: m.MovedNs[i], EstimatedNS: int64(m.EstimatedNs[i]), Counters: []profile.Counter{},
				Time: moment.Sum{N: int64(m.Records[i]), Total: int64(m.TotalNs[i]), Squares: moment.Wide{High: m.SquaresHigh[i], Low: m.SquaresLow[i]}, Min: int64(m.MinNs[i]), Max: int64(m.MaxNs[i])},
			}
			kind := profile.MPI
			if !m.Call[i] {
				kind = profile.Computation
				for k := bursts * counters; k < (bursts+1)*counters; k++ {
					row.Counters = append(row.Counters, profile.Counter{
						Sum:        moment.Sum{N: int64(m.Read[k]), Total: m.Counter[k], Squares: moment.Wide{High: m.CounterSquaresHigh[k], Low: m.CounterSquaresLow[k]}, Min: m.CounterMin[k], Max: m.CounterMax[k]},
						MovedTotal: m.CounterMoved[k], Missing: row.Count - int64(m.Read[k]),
					})
				}
				bursts++
			}
			key := fmt.Sprint(kind, m.Path[i]*10+m.Function[i], m.Label[i], name(ring, m.Phase[i]))
			if _, twice := of(ring).rows[key]; twice {
				c.t.Fatalf("ring %d: %s twice", ring, key)
			}
			of(ring).rows[key] = row
		}
	}
	return all
}

// phases compares the sums of phases with those of a pass over all records at the end.
func (x *check) phases() {
	if x.plain.samples >= 2 {
		comparePhases(x.t, x.coordinator, x.plain, func(b *plainRow) int32 {
			return map[string]int32{"short": -2, "missing": -3, "unit": x.labels[b.unit(x.split)]}[b.status]
		})
	}
}

func comparePhases(t fataler, c *coordinator, p *plain, label func(b *plainRow) int32) {
	got := c.phasesOf()
	for _, r := range p.rings {
		want := r.inPhases(c.about.Counter, label)
		if want.rows == nil {
			continue
		}
		have := got[r.id]
		if have == nil {
			t.Fatalf("ring %d has no sums, want %+v", r.id, want)
		}
		for name, pair := range map[string][2]any{"rows": {want.rows, have.rows}, "phases": {want.sums, have.sums}, "times without records": {want.idle, have.idle}} {
			if d := cmp.Diff(pair[0], pair[1]); d != "" {
				t.Fatalf("ring %d: %s (-want +got):\n%s", r.id, name, d)
			}
		}
	}
}

// At any time, and however rows and marks arrive, the sums by phase path are those of a pass over all records and
// marks.
func TestPhasesMatchAPassOverAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells.Small(t, rapid.SampledFrom([]int{1, 3, 4096}).Draw(t, "rows of a chunk"), rapid.SampledFrom([]int{200, 1 << 20}).Draw(t, "bytes of a part"))
		cells.FewMarks(t, rapid.SampledFrom([]int{1, 2, 5, 1024}).Draw(t, "marks together"))
		p := &plain{dims: dimsOf(t, "duration:log"), byCalls: rapid.Bool().Draw(t, "by calls"), side: .1}
		config := cells.Config{Dims: p.dims, Side: p.side, By: grouping.ByNone, PointsMax: 1 << 20}
		if p.byCalls {
			config.By = grouping.ByCalls
		}
		j := &job{t: t, gaps: rapid.Bool().Draw(t, "gaps"), marks: true}
		threads := j.introduce([][]string{{"X", "Y"}, {"Y"}})
		j.work(threads, rapid.IntRange(1, 20).Draw(t, "batches"), []string{"Y"})
		k, err := cells.New(config)
		if err != nil {
			t.Fatal(err)
		}
		x := &check{t: t, plain: p, split: map[string]bool{}, coordinator: &coordinator{t: t, store: k, sites: siteNames(messagesOf(j.list))}}
		x.feed(j, func(last bool) {
			if !last && rapid.IntRange(0, 4).Draw(t, "asked") > 0 {
				return
			}
			x.coordinator.take()
			if rapid.Bool().Draw(t, "split") {
				x.splitSome()
			}
			x.relabel()
			x.phases()
		})
		if s := k.Stats(); s.Refused != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// markedRing is a ring whose program marks phases.
type markedRing struct {
	store *cells.Store
	all   []item
	marks uint64
}

func newMarkedRing(t *testing.T) *markedRing {
	r := &markedRing{store: newStore(t, cells.Config{Dims: durations, By: grouping.ByNone, Side: .1})}
	for _, m := range []*moriensv1.ReportRequest{
		sample(1), sample(2), request(&moriensv1.Process{Process: 1, Size: 1, Clock: moriensv1.Clock_CLOCK_TSC, Events: []string{"X"}}), request(&moriensv1.Ring{Ring: 7, Process: 1}),
	} {
		r.all = append(r.all, item{message: m})
	}
	r.store.Add(messagesOf(r.all), nil)
	return r
}

var durations = []space.Dim{{Num: space.Duration, Scale: space.Log}}

// add gives the Store rows, and marks that follow those it has.
func (r *markedRing) add(x *sectiontest.Rows) {
	x.Ring, x.FirstMark = 7, r.marks
	r.marks += uint64(len(x.Marks))
	r.all = append(r.all, item{rows: x})
	r.store.Add(nil, blocks(x))
}

// row is a row with a burst.
func row(first, origin, burst uint64, counted int64) *sectiontest.Rows {
	x := &sectiontest.Rows{First: first, Origin: origin, Counts: [][]int64{{counted}}}
	x.Add(1, 0, burst, 10)
	return x
}

// However many phases a program marks in one burst, marks take no memory when they have been taken in, and the burst is
// cut as it is where all of them are known at its end.
func TestMarksInOneBurst(t *testing.T) {
	const marks, perBlock = 1_000_000, 4000
	r := newMarkedRing(t)
	first := row(0, 1000, 0, 0)
	first.NoBurst = []uint32{0}
	r.add(first)
	began, ticks := first.Origin+10, first.Origin+10
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var open []uint32
	least, most, kept := r.store.Stats().Bytes, int64(0), int64(0)
	before := heap()
	for n := 0; n < marks; n += perBlock {
		x := &sectiontest.Rows{First: 1, Counts: make([][]int64, 1)}
		for range perBlock {
			ticks += uint64(random.IntN(4))
			m := section.Mark{Ticks: ticks, What: section.BeginPhase, Name: uint32(random.IntN(4))}
			if len(open) == 4 || len(open) > 0 && random.IntN(2) == 0 {
				m.What, m.Name = section.EndPhase, open[len(open)-1]
				open = open[:len(open)-1]
			} else {
				open = append(open, m.Name)
			}
			x.Marks = append(x.Marks, m)
		}
		x.Origin = x.Marks[0].Ticks
		r.add(x)
		kept += int64(cap(x.Marks)) * int64(unsafe.Sizeof(section.Mark{})) // by this test
		most = max(most, r.store.Stats().Bytes)
	}
	// 4 names in 4 others: at most 340 paths.
	if grew := most - least; grew > 340*(300+136)+16*2*perBlock {
		t.Errorf("%d marks take %d bytes", marks, grew)
	}
	if grew := heap() - before - kept; grew > marks*16/4 {
		t.Errorf("%d marks take %d bytes of the heap", marks, grew)
	}
	r.add(row(1, began, ticks+7-began, 1_000_003))
	c := &coordinator{t: t, store: r.store, sites: func(uint64, uint32, uint32) string { return "" }}
	c.take()
	p := &plain{dims: durations, side: .1}
	read(p, r.all)
	comparePhases(t, c, p, func(*plainRow) int32 { return 0 })
}

// Where rows are gone ahead of a burst with many marks, it is not known when it began until it is over: the time up to
// the first mark counts as not recorded, too. What paths have of records and without them is their exclusive time.
func TestMarksBehindRowsThatAreGone(t *testing.T) {
	for begins, before := range map[uint64]int64{5500: 250, 6000: 0, 7000: -500} { // ticks, ns of the burst before the first mark
		cells.FewMarks(t, 2)
		r := newMarkedRing(t)
		first := row(0, 1000, 0, 0)
		first.NoBurst = []uint32{0}
		r.add(first) // up to 1010
		alone := func(row uint64, marks ...section.Mark) {
			r.add(&sectiontest.Rows{First: row, Origin: marks[0].Ticks, Marks: marks, Counts: make([][]int64, 1)})
		}
		alone(1, section.Mark{Ticks: 1100, What: section.BeginPhase, Name: 3}, section.Mark{Ticks: 1200, What: section.EndPhase, Name: 3})
		alone(10, section.Mark{Ticks: 6000, What: section.BeginPhase, Name: 1}, section.Mark{Ticks: 8000, What: section.EndPhase, Name: 1})
		alone(10, section.Mark{Ticks: 8000, What: section.BeginPhase, Name: 2}, section.Mark{Ticks: 9000, What: section.EndPhase, Name: 2})
		r.add(row(10, begins, 9500-begins, 100))
		c := &coordinator{t: t, store: r.store, sites: func(uint64, uint32, uint32) string { return "" }}
		c.take()
		got := c.phasesOf()[7]
		spent := map[string]int64{}
		for key, x := range got.rows {
			spent[key[strings.Index(key, "program"):]] += x.NS()
		}
		for name, x := range got.idle {
			spent[name] += x.PausedNS + x.UnrecordedNS
		}
		exclusive := map[string]int64{}
		for name, x := range got.sums {
			exclusive[name] = x.ExclusiveNS
		}
		if d := cmp.Diff(exclusive, spent); d != "" {
			t.Errorf("burst from %d: exclusive times and what paths have (-+):\n%s", begins, d)
		}
		want := map[string]int64{"program/3": 50, "program/1": 1000, "program/2": 500, "program": 5 + 45 + 2400 + 250 + max(before, 0) + 5}
		if d := cmp.Diff(want, exclusive); before >= 0 && d != "" {
			t.Errorf("burst from %d (-want +got):\n%s", begins, d)
		}
		if s := r.store.Stats(); s.Refused != 0 {
			t.Errorf("burst from %d: %+v", begins, s)
		}
	}
}
