package collector

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/health"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// A rankStub is a rank of a node of its own, whose ticks are ns.
type rankStub struct {
	t     *testing.T
	store *store.Store
	agent *store.Agent
	id    uint64
	last  uint64
	rows  uint64
	at    uint64
}

func newRank(t *testing.T, s *store.Store, rank int32) *rankStub {
	id := uint64(rank + 1)
	a, _, err := s.Greet(&moriensv1.Hello{Agent: id, Host: string(rune('a' + rank))})
	if err != nil {
		t.Fatal(err)
	}
	r := &rankStub{t: t, store: s, agent: a, id: id, at: 1e9}
	for _, ns := range []int64{0, 1e12} {
		r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{Clock: moriensv1.Clock_CLOCK_TSC, Ticks: uint64(ns), MonotonicNs: ns + 1, RealtimeNs: ns}}})
	}
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: id, Rank: rank, Size: 4, World: "w", Clock: moriensv1.Clock_CLOCK_TSC}}})
	r.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
	return r
}

func (r *rankStub) send(m *moriensv1.ReportRequest) {
	r.t.Helper()
	r.last++
	m.Sequence = r.last
	if _, err := r.store.Apply(r.agent, m); err != nil {
		r.t.Fatal(err)
	}
}

// call computes for so many ns, and is in MPI for so many.
func (r *rankStub) call(call mpicall.ID, burst, in uint64) {
	r.t.Helper()
	c := &sectiontest.Rows{Ring: r.id, First: r.rows, Origin: r.at}
	c.Add(uint32(call), 0, burst, in)
	if r.rows == 0 {
		c.NoBurst = []uint32{0}
	}
	r.send(c.Message())
	r.rows++
	r.at += burst + in
}

// stand says that the rank is in a call since its last one.
func (r *rankStub) stand(ticks uint64, call mpicall.ID, now time.Time) {
	r.t.Helper()
	if err := r.store.Stand(r.agent, &moriensv1.Standing{
		Ring: []uint64{r.id}, Rows: []uint64{r.rows}, Ticks: []uint64{ticks}, State: []moriensv1.Standing_State{moriensv1.Standing_STATE_INSIDE}, Enter: []uint64{r.at}, Exit: []uint64{0},
		Function: []uint32{uint32(call)}, Path: []uint32{0}, Longest: r.id, Place: "solver.c:88",
	}, now); err != nil {
		r.t.Fatal(err)
	}
}

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s is %v, want %g", what, got, want)
	}
}

// TestRankInOneCall follows a rank that is in one call for 312 s, by a clock of the test's own. As long as its agent
// says so the figures go on; when nothing more arrives the call's time grows all the same, and figures of the last
// minute are not shown as if they were of this moment.
func TestRankInOneCall(t *testing.T) {
	s := store.New()
	now := time.Unix(0, 0)
	g := newGauge(s, func() time.Time { return now })
	if e, w := g.page(); w != nil || e.Run.ParallelEfficiency != nil || e.Why != "no MPI call has ended yet" {
		t.Errorf("%+v, %v", e, w)
	}
	a, b := newRank(t, s, 0), newRank(t, s, 1)
	for _, r := range []*rankStub{a, b} {
		r.call(mpicall.Init, 0, 1e9)
	}
	g.measure(nil)
	if e, _ := g.page(); e.Run.ParallelEfficiency != nil || e.Why != "no rank has left MPI_Init and reported more" {
		t.Errorf("%+v", e)
	}
	a.call(mpicall.Barrier, 6e9, 2e9)
	b.call(mpicall.Barrier, 2e9, 6e9)
	for s := uint64(1); s <= 302; s++ {
		now = time.Unix(int64(10+s), 0)
		a.stand(10e9+s*1e9, mpicall.Recv, now)
		b.call(mpicall.Test, 1e9, 0)
		g.measure(nil)
	}
	e, w := g.page()
	if d := cmp.Diff(&health.Waiting{Rank: 0, Call: "MPI_Recv", CallPath: "solver.c:88", Seconds: 302}, w); d != "" || e.Why != "" || e.Age != 0 {
		t.Errorf("%s; %q after %g s", d, e.Why, e.Age)
	}
	is(t, "parallel efficiency", e.Run.ParallelEfficiency, (6+304)/2./310)
	is(t, "load balance", e.Run.LoadBalance, 310./2/304)
	is(t, "between nodes", e.Run.LoadBalanceBetweenNodes, 310./2/304)
	is(t, "in nodes", e.Run.LoadBalanceInNodes, 1)
	is(t, "communication", e.Run.CommunicationEfficiency, 304./310)
	is(t, "seconds", e.Run.Seconds, 310)
	is(t, "computing", e.Run.ComputingSeconds, 310)
	is(t, "MPI", e.Run.MPISeconds, 310)
	is(t, "parallel efficiency of the minute", e.Minute.ParallelEfficiency, .5)
	is(t, "seconds of the minute", e.Minute.Seconds, 58)
	if d := cmp.Diff([]float64{.5, .5, .5, .5, .5, .5, .5, .5, .5, .5}, e.Bins); d != "" {
		t.Error(d)
	}

	// Rank 1 goes on, and nothing is heard of the other.
	for s := range 10 {
		now = time.Unix(int64(313+s), 0)
		b.call(mpicall.Test, 1e9, 0)
		g.measure(nil)
	}
	e, w = g.page()
	if e.Why != "rank 0 reported nothing for 10 s" || e.Minute.ParallelEfficiency != nil || e.Minute.Seconds != nil || len(e.Bins) != 0 || w == nil || w.Seconds != 312 {
		t.Errorf("%+v, %+v", e, w)
	}
	is(t, "parallel efficiency", e.Run.ParallelEfficiency, (6+304)/2./310)

	// And then nothing of anybody.
	a.stand(322e9, mpicall.Recv, now)
	g.measure(nil)
	now = now.Add(41 * time.Second)
	g.measure(nil)
	if e, w = g.page(); e.Why != "no rank reported anything for 41 s" || e.Minute.ParallelEfficiency != nil || w.Seconds != 353 {
		t.Errorf("%+v, %+v", e, w)
	}

	// When it returns, all is known.
	a.call(mpicall.Recv, 0, 353e9)
	b.call(mpicall.Recv, 0, 41e9)
	g.measure(nil)
	if e, w = g.page(); e.Why != "" || w != nil || e.Minute.ParallelEfficiency == nil {
		t.Errorf("%+v, %+v", e, w)
	}
	// A rank in MPI_Finalize ends main, and does not hide one that is in another call.
	a.stand(a.at+20e9, mpicall.Finalize, now)
	b.stand(b.at+5e9, mpicall.Barrier, now)
	g.measure(nil)
	now = now.Add(11 * time.Second)
	if e, w = g.page(); !e.Ended || e.Why != "the figures end at the first MPI_Finalize, 11 s ago" || w.Call != "MPI_Barrier" || w.Rank != 1 {
		t.Errorf("%+v, %+v", e, w)
	}
	g.finish(true)
	if e, w = g.page(); e.Why != "" || w != nil || e.Minute.ParallelEfficiency == nil {
		t.Errorf("%+v, %+v", e, w)
	}
}

// TestSeveralGauges has three collectors measure the same ranks as one: the figures are the same.
func TestSeveralGauges(t *testing.T) {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	whole := store.New()
	one := newGauge(whole, clock)
	all, ranks := make([]*gauge, 3), [][]*rankStub{}
	for i := range all {
		s := store.New()
		all[i] = newGauge(s, clock)
		if i < 2 { // the last one has no rank
			ranks = append(ranks, []*rankStub{newRank(t, s, int32(i)), newRank(t, whole, int32(i))})
		}
	}
	for _, r := range ranks {
		for _, x := range r {
			x.call(mpicall.Init, 0, 1e9+x.id*1e8)
		}
	}
	for second := range 100 {
		now = time.Unix(int64(second), 0)
		for i, r := range ranks {
			for _, x := range r {
				x.call(mpicall.Barrier, uint64(3+5*i)*1e8, 1e9-uint64(3+5*i)*1e8)
			}
		}
		var others []*measured
		for _, g := range all[1:] {
			g.heed(all[0].ordered())
			g.share()
			others = append(others, g.news())
			if g.news() != nil {
				t.Fatal("it is reported twice")
			}
		}
		all[0].measure(others)
	}
	for range 2 { // what was ordered last
		var others []*measured
		for _, g := range all[1:] {
			g.heed(all[0].ordered())
			g.share()
			others = append(others, g.news())
		}
		all[0].measure(others)
	}
	one.measure(nil)
	got, _ := all[0].page()
	want, _ := one.page()
	got.Age, want.Age = 0, 0
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Run.Locations != 2 || got.Run.ParallelEfficiency == nil {
		t.Errorf("%+v", got.Run)
	}
}
