package live

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// reported gives a store, and what has one agent report to it.
func reported(t testing.TB) (s *store.Store, apply func(*moriensv1.ReportRequest)) {
	t.Helper()
	s = store.New()
	agent, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
	if err != nil {
		t.Fatal(err)
	}
	sequence := uint64(0)
	return s, func(m *moriensv1.ReportRequest) {
		t.Helper()
		sequence++
		m.Sequence = sequence
		if _, err := s.Apply(agent, m); err != nil {
			t.Fatal(err)
		}
	}
}

// At every moment the live clusters are those of a clustering of all bursts so far.
func TestClusterFollowsTheStore(t *testing.T) {
	s, apply := reported(t)
	clock := func(ticks uint64, ns int64) {
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: ticks, MonotonicNs: ns,
		}}})
	}
	const rings = 3
	var held [rings]uint64
	burst := func(ring int, ticks ...uint64) {
		c := &sectiontest.Rows{Ring: uint64(ring), First: held[ring]}
		if held[ring] == 0 {
			c.NoBurst = []uint32{0} // a thread's first call
			ticks = append([]uint64{0}, ticks...)
		}
		for _, n := range ticks {
			c.Add(1, 0, n, 1)
		}
		held[ring] += uint64(len(ticks))
		apply(c.Message())
	}
	for ring := range rings {
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: uint64(ring), Rank: int32(ring), Size: rings, Clock: moriensv1.Clock_CLOCK_TSC,
		}}})
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: uint64(ring), Process: uint64(ring)}}})
	}
	l := New(s, grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}, slog.New(slog.DiscardHandler))
	check := func(when string, bursts, clusters int, explained float64) {
		t.Helper()
		l.cluster(time.Now())
		p := l.Progress()
		if p.Bursts != bursts || len(p.Clusters) != clusters || p.Explained < explained-.001 || p.Explained > explained+.001 {
			t.Errorf("%s: %d bursts, %d clusters, %.3f explained; want %d, %d, %.3f", when, p.Bursts, len(p.Clusters), p.Explained, bursts, clusters, explained)
		}
	}

	check("nothing there", 0, 0, 0)
	clock(1000, 500)
	burst(0, 2000, 2001, 2002, 2003)
	check("one clock sample: a tick has no length yet", 0, 0, 0)
	clock(3000, 1500) // two ticks a nanosecond
	check("one kind", 4, 1, 1)
	check("nothing new", 4, 1, 1)
	burst(1, 2000, 80_000, 80_001, 80_002)
	burst(2, 80_003)
	check("two kinds", 9, 2, 1)
	burst(2, 1_000_000) // alone
	check("and one like no other", 10, 2, 1-1_000_000./(5*2001+4*80_001+1_000_000))
	if got := l.Progress().Totals.Bursts; got != 10 {
		t.Errorf("%d bursts in the totals", got)
	}
}

// The columns of counters grow with the processes that count, and match the bursts row by row.
func TestGatherCounts(t *testing.T) {
	s, apply := reported(t)
	for _, at := range []uint64{1000, 2000} {
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: at, MonotonicNs: int64(at),
		}}})
	}
	calls := func(ring uint64, c *sectiontest.Rows) {
		c.Ring, c.Call = ring, make([]uint64, len(c.Burst))
		for range c.Burst {
			c.Function = append(c.Function, 1)
		}
		apply(c.Message())
	}
	start := func(id uint64, events ...string) {
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: id, Rank: int32(id), Size: 9, Clock: moriensv1.Clock_CLOCK_TSC, Events: events,
		}}})
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
	}
	l := New(s, grouping.Options{By: grouping.ByAuto}, slog.New(slog.DiscardHandler))

	start(1)
	calls(1, &sectiontest.Rows{Burst: []uint64{0, 10}, NoBurst: []uint32{0}})
	l.cluster(time.Now())
	if d := cmp.Diff(Progress{Totals: s.Totals(), Clusters: []Cluster{{ID: 1, Before: 1, After: 1, Bursts: 1, TimeNS: 10}}, Bursts: 1, Explained: 1}, l.Progress()); d != "" {
		t.Error(d)
	}
	start(2, "PAPI_TOT_CYC", "PAPI_TOT_INS")
	calls(2, &sectiontest.Rows{
		Burst: []uint64{0, 20, 30}, NoBurst: []uint32{0}, NoCounts: []uint32{0, 2},
		Counts: [][]int64{{5}, {6}},
	})
	calls(1, &sectiontest.Rows{First: 2, Burst: []uint64{40}})
	l.cluster(time.Now())
	const n = space.NotRead
	want := space.Columns{
		DurationNS: []int64{10, 40, 20, 30}, CounterNames: []string{"PAPI_TOT_CYC", "PAPI_TOT_INS"},
		Counters: [][]int64{{n, n, 5, n}, {n, n, 6, n}},
	}
	f := newFeed(grouping.Bursts{})
	if !f.next(s.Rings(), s.Places(), nil) {
		t.Fatal("no bursts")
	}
	if d := cmp.Diff(want, f.bursts.Columns); d != "" {
		t.Error(d)
	}
	if f.next(s.Rings(), s.Places(), nil) {
		t.Errorf("more bursts: %+v", f.bursts)
	}
	// With counters the dimensions are others: only one burst has counts.
	if d := cmp.Diff(Progress{Totals: s.Totals(), Clusters: []Cluster{{ID: 2, Bursts: 1, TimeNS: 20}}, Bursts: 4, Explained: .2}, l.Progress()); d != "" {
		t.Error(d)
	}
}

// What arrives at known places is counted where others are; all is clustered again when the clusters may be others, or
// when nothing more arrives.
func TestClusterWhenItMayShow(t *testing.T) {
	s, apply := reported(t)
	for _, at := range []uint64{1, 1e9} { // a tick is a nanosecond
		apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: at, MonotonicNs: int64(at),
		}}})
	}
	apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Size: 1, Clock: moriensv1.Clock_CLOCK_TSC}}})
	apply(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{}}})
	calls := uint64(0)
	burst := func(function uint32, ns uint64, n int) {
		c := &sectiontest.Rows{First: calls}
		for range n {
			c.Add(function, 0, ns, 0)
		}
		calls += uint64(n)
		apply(c.Message())
	}
	l := New(s, grouping.Options{By: grouping.ByCalls, Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}}, slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		when      string
		function  uint32
		ns        uint64
		n         int
		clustered int // bursts by the latest clustering
	}{
		{"the first", 1, 1000, 1, 1},
		{"between other calls", 1, 1000, 1000, 1001},
		{"nothing", 1, 0, 0, 1001},
		{"some at a known place", 1, 1000, 200, 1001},
		{"and some more", 1, 1000, 49, 1001},
		{"a quarter in all", 1, 1000, 2, 1252},
		{"a few elsewhere", 1, 1010, 10, 1252},
		{"more than a hundredth of all", 1, 1010, 3, 1265},
		{"one that takes long", 1, 100_000, 1, 1266},
		{"some at a known place again", 1, 1000, 20, 1266},
		{"nothing any more", 1, 0, 0, 1286},
	} {
		if step.n > 0 {
			burst(step.function, step.ns, step.n)
		}
		l.cluster(time.Now())
		p, in := l.Progress(), int64(0)
		for _, k := range p.Clusters {
			in += k.Bursts
		}
		if l.clustered != step.clustered || p.Bursts != int(calls) {
			t.Errorf("%s: %d bursts of which %d were clustered, want %d and %d", step.when, p.Bursts, l.clustered, calls, step.clustered)
		}
		if out := l.unplaced.bursts; in < int64(calls)-out-2 || in > int64(calls)-out {
			t.Errorf("%s: %d bursts are in clusters, of %d without %d", step.when, in, calls, out)
		}
	}
}
