package cells_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/phase"
	"moriens/analysis/profile"
	"moriens/internal/section"
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
	}
	if n := len(r.marks); n > 0 && r.marks[n-1].Ticks > at {
		pass(r.marks[n-1].Ticks-at, ns(r.marks[n-1].Ticks-at))
	}
	var marks []phase.Mark
	for _, m := range r.marks {
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
	l := line.Locate(&records)
	th.Region, th.Cuts, th.Calls.Region, th.Calls.Cuts = l.BurstPath, l.Bursts, l.CallPath, l.Calls
	p, err := profile.Sum([]profile.Thread{th}, profile.Options{Counters: len(counters)})
	if err != nil {
		panic(err)
	}
	names := map[int32]string{0: "program"}
	for i, in := range intervals {
		if path := line.Path[i]; line.Instance[i] == int32(i) {
			above := int32(0)
			if line.Above[i] >= 0 {
				above = line.Path[line.Above[i]]
			}
			names[path] = fmt.Sprint(names[above], "/", in.Name)
		}
	}
	found := inPhases{map[string]profile.Row{}, map[string]phase.Sum{}, map[string]phase.Idle{}}
	for _, row := range p.Rows {
		key := fmt.Sprint(row.Kind, row.Path, row.Cluster, names[row.Region])
		row.Key = profile.Key{}
		found.rows[key] = row
	}
	for _, x := range line.Sums(intervals) {
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
	got := x.coordinator.phasesOf()
	for _, r := range x.plain.rings {
		want := r.inPhases(x.coordinator.about.Counter, func(b *plainRow) int32 {
			return map[string]int32{"short": -2, "missing": -3, "unit": x.labels[b.unit(x.split)]}[b.status]
		})
		if want.rows == nil || x.plain.samples < 2 {
			continue
		}
		have := got[r.id]
		if have == nil {
			x.t.Fatalf("ring %d has no sums, want %+v", r.id, want)
		}
		for name, pair := range map[string][2]any{"rows": {want.rows, have.rows}, "phases": {want.sums, have.sums}, "times without records": {want.idle, have.idle}} {
			if d := cmp.Diff(pair[0], pair[1]); d != "" {
				x.t.Fatalf("ring %d: %s (-want +got):\n%s", r.id, name, d)
			}
		}
	}
}

// At any time, and however rows and marks arrive, the sums by phase path are those of a pass over all records and
// marks.
func TestPhasesMatchAPassOverAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells.Small(t, rapid.SampledFrom([]int{1, 3, 4096}).Draw(t, "rows of a chunk"), rapid.SampledFrom([]int{200, 1 << 20}).Draw(t, "bytes of a part"))
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
		for rest := j.list; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "together")
			blocks := j.blocks(rest[:n])
			k.Add(messagesOf(rest[:n]), blocks)
			reuse(blocks)
			rest = rest[n:]
			read(p, j.list[:len(j.list)-len(rest)])
			if len(p.processes) > 0 && (len(rest) == 0 || rapid.IntRange(0, 4).Draw(t, "asked") == 0) {
				x.coordinator.take()
				if rapid.Bool().Draw(t, "split") {
					x.splitSome()
				}
				x.relabel()
				x.phases()
			}
		}
		if s := k.Stats(); s.Refused != 0 {
			t.Fatalf("%+v", s)
		}
	})
}
