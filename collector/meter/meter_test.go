package meter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"moriens/analysis/efficiency"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// start is when ticks are 0, in ns; a tick is half a nanosecond.
const (
	start      = int64(1_700_000_000e9)
	ticksPerNS = 2
	second     = uint64(1e9 * ticksPerNS)
)

// A planted run is what agents of some nodes send to a store.
type planted struct {
	t      testing.TB
	store  *store.Store
	agents []*store.Agent
	last   []uint64 // sequence
}

func plant(t testing.TB, nodes int, cells string) *planted {
	p := &planted{t: t, store: store.New()}
	for node := range nodes {
		a, _, err := p.store.Greet(&moriensv1.Hello{Agent: uint64(node + 1), Host: fmt.Sprintf("n%d", node), Cells: cells})
		if err != nil {
			t.Fatal(err)
		}
		p.agents, p.last = append(p.agents, a), append(p.last, 0)
		for _, at := range []uint64{0, 4000 * second} {
			ns := int64(at / ticksPerNS)
			p.send(node, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
				Clock: moriensv1.Clock_CLOCK_TSC, Ticks: at, MonotonicNs: ns + 5, RealtimeNs: start + ns,
			}}})
		}
	}
	return p
}

func (p *planted) send(node int, m *moriensv1.ReportRequest) {
	p.t.Helper()
	p.last[node]++
	m.Sequence = p.last[node]
	if _, err := p.store.Apply(p.agents[node], m); err != nil {
		p.t.Fatal(err)
	}
}

// A planted thread is what it does, in ticks.
type thread struct {
	run   *planted
	node  int
	ring  uint64
	rows  uint64
	at    uint64
	calls *sectiontest.Rows
}

func (p *planted) thread(node, rank, size int) *thread {
	id := uint64(rank + 1)
	p.send(node, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: id, Rank: int32(rank), Size: int32(size), World: "w", Clock: moriensv1.Clock_CLOCK_TSC}}})
	p.send(node, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
	return &thread{run: p, node: node, ring: id}
}

// call has a burst up to a tick, and a call up to another.
func (t *thread) call(call mpicall.ID, enter, exit uint64, burst bool) {
	if t.calls == nil {
		if t.rows == 0 {
			t.at = enter
		}
		t.calls = &sectiontest.Rows{Ring: t.ring, First: t.rows, Origin: t.at}
	}
	c := t.calls
	if !burst {
		c.NoBurst = append(c.NoBurst, uint32(len(c.Function)))
	}
	c.Add(uint32(call), 0, enter-t.at, exit-enter)
	t.rows++
	t.at = exit
}

func (t *thread) flush() {
	if t.calls != nil {
		t.run.send(t.node, t.calls.Message())
		t.calls = nil
	}
}

// stand says where the thread is.
func (t *thread) stand(ticks uint64, state moriensv1.Standing_State, enter uint64, call mpicall.ID, now time.Time) {
	err := t.run.store.Stand(t.run.agents[t.node], &moriensv1.Standing{
		Ring: []uint64{t.ring}, Rows: []uint64{t.rows}, Ticks: []uint64{ticks}, State: []moriensv1.Standing_State{state}, Enter: []uint64{enter}, Exit: []uint64{0},
		Function: []uint32{uint32(call)}, Path: []uint32{0}, Longest: t.ring, Place: "file.c:12",
	}, now)
	if err != nil {
		t.run.t.Fatal(err)
	}
}

const (
	outside = moriensv1.Standing_STATE_OUTSIDE
	inside  = moriensv1.Standing_STATE_INSIDE
)

// TestPlantedRanks has four ranks of two nodes compute so much of each second and call MPI for the rest. The answers
// are those by hand.
func TestPlantedRanks(t *testing.T) {
	p := plant(t, 2, "")
	before, after := []uint64{8, 6, 4, 2}, []uint64{4, 4, 2, 2} // tenths of a second; after 66 s, of main
	threads := make([]*thread, 4)
	for r := range threads {
		threads[r] = p.thread(r/2, r, 4)
		threads[r].call(mpicall.Init, second, 3*second+uint64(r)*second/4, false)
		threads[r].call(mpicall.Barrier, threads[r].at+second/8, 4*second, true) // part of it is before main
	}
	begin := 3*second + 3*second/4
	for s := range uint64(126) {
		for r, x := range threads {
			tenths := before[r]
			if s >= 66 {
				tenths = after[r]
			}
			x.call(mpicall.Barrier, (4+s)*second+tenths*second/10, (5+s)*second, true)
			x.flush()
		}
	}
	m := New(p.store)
	report := m.Look(time.Time{})
	stretch, ended, known := Agree(Stretch{}, report)
	at := func(ticks uint64) int64 { return start + int64(ticks/ticksPerNS) }
	if want := (Stretch{at(begin), at(130 * second)}); stretch != want || ended || !known || report.Locations != 4 {
		t.Fatalf("%+v, %v, %v, want %+v", stretch, ended, known, want)
	}
	r := m.To(stretch)
	// After MPI_Init each computes .125 s, which is in main of rank 3 alone, whose MPI_Init is over last.
	computing := []float64{66*.8 + 60*.4, 66*.6 + 60*.4, 66*.4 + 60*.2, 66*.2 + 60*.2 + .125}
	check(t, "run", &r.All, stretch.UntilNS-stretch.BeginNS, computing, 126.25)
	// The end is in bin 21. Bin 12 begins 72 s after main does, .75 s after the begin of a second, when all are in MPI.
	check(t, "minute", &r.Minute, r.MinuteNS(), []float64{54 * .4, 54 * .4, 54 * .2, 54 * .2}, 54.25)
}

// check compares the factors of two nodes of two ranks with those of their computing times, in s.
func check(t *testing.T, what string, u *efficiency.Use, tns int64, computing []float64, elapsed float64) {
	t.Helper()
	f := u.Factors(tns)
	sum := 0.
	for _, s := range computing {
		sum += s
	}
	mean, longest := sum/4, slices.Max(computing)
	node := max(computing[0]+computing[1], computing[2]+computing[3]) / 2
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"T", float64(f.TNS) / 1e9, elapsed}, {"parallel efficiency", f.Parallel, mean / elapsed}, {"load balance", f.Balance, mean / longest},
		{"in nodes", f.BalanceIn, node / longest}, {"between nodes", f.BalanceOut, mean / node}, {"communication", f.Communication, longest / elapsed},
		{"computing", float64(u.ComputingNS) / 1e9, sum}, {"computing and MPI", float64(u.ComputingNS+u.MPINS) / 1e9, 4 * elapsed},
	} {
		if math.Abs(x.got-x.want) > 1e-8 {
			t.Errorf("%s: %s is %.10g, want %.10g", what, x.name, x.got, x.want)
		}
	}
}

// TestAsAWhole has random threads report in random pieces, and say where they are in between: in the end the sums are
// those of analysis/efficiency over the same stretch, and no factor was ever out of range.
func TestAsAWhole(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 9))
		p := plant(t, 2, "")
		n := 1 + random.IntN(5)
		threads, locations := make([]*thread, n), make([]efficiency.Location, n)
		for r := range threads {
			threads[r] = p.thread(r%2, r, n)
			threads[r].call(mpicall.Init, second, 2*second+random.Uint64N(second), false)
		}
		m, stretch := New(p.store), Stretch{}
		var recent *efficiency.Recent
		for range 400 {
			r := random.IntN(n)
			x, l := threads[r], &locations[r]
			if random.IntN(3) > 0 {
				for range 1 + random.IntN(4) {
					enter := x.at + random.Uint64N(second/2)*2
					exit := enter + random.Uint64N(second/4)*2
					burst := random.IntN(5) > 0
					if burst {
						l.StartNS, l.DurationNS = append(l.StartNS, int64(x.at/ticksPerNS)), append(l.DurationNS, int64((enter-x.at)/ticksPerNS))
					}
					l.EnterNS, l.ExitNS = append(l.EnterNS, int64(enter/ticksPerNS)), append(l.ExitNS, int64(exit/ticksPerNS))
					if burst && random.IntN(2) == 0 { // what is said before it arrives is true
						x.flush()
						x.stand(x.at+(enter-x.at)/2, outside, 0, 0, time.Time{})
						look(t, m, &stretch)
						x.stand(enter+(exit-enter)/2, inside, enter, mpicall.Send, time.Time{})
					}
					if random.IntN(2) == 0 {
						if got := look(t, m, &stretch); got != nil {
							recent = got
						}
					}
					x.call(mpicall.Send, enter, exit, burst)
				}
			}
			x.flush()
			if got := look(t, m, &stretch); got != nil {
				recent = got
			}
		}
		nodes, members := make([]int, n), make([]int, n)
		for r := range locations {
			l := &locations[r]
			l.EnterNS, l.ExitNS = append([]int64{1e9}, l.EnterNS...), append([]int64{initExit(t, p, r)}, l.ExitNS...)
			l.Cluster = make([]int32, len(l.StartNS))
			l.Life = efficiency.Span{EndNS: math.MaxInt64}
			l.Parts = [][]efficiency.Span{{{BeginNS: stretch.BeginNS - start, EndNS: stretch.UntilNS - start}}}
			nodes[r], members[r] = r%2, r
		}
		sums, err := efficiency.Local(locations, efficiency.Options{Regions: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := efficiency.Solve(sums.Regions[0], nodes, stretch.UntilNS-stretch.BeginNS, members)
		got := recent.All.Factors(stretch.UntilNS - stretch.BeginNS)
		if d := got.Budget.ComputingNS - want.Budget.ComputingNS; d < -4 || d > 4 {
			t.Errorf("seed %d: computing %d, want %d", seed, got.Budget.ComputingNS, want.Budget.ComputingNS)
		}
		if d := got.Budget.MPINS - want.Budget.MPINS; d < -4 || d > 4 {
			t.Errorf("seed %d: MPI %d, want %d", seed, got.Budget.MPINS, want.Budget.MPINS)
		}
		if math.Abs(got.Parallel-want.Parallel) > 1e-6 || math.Abs(got.BalanceIn-want.BalanceIn) > 1e-6 {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
	}
}

// initExit is when a planted rank left MPI_Init, in ns.
func initExit(t *testing.T, p *planted, rank int) int64 {
	for _, v := range p.store.Standings() {
		if int(v.Ring.Process.Info.Rank) == rank {
			first := new(store.Reader).Ticks(&v.Chunks[0])
			return int64((v.Chunks[0].Origin + first.Burst[0] + first.Call[0]) / ticksPerNS)
		}
	}
	t.Fatal("no such rank")
	return 0
}

// look measures once, in a stretch that becomes longer.
func look(t *testing.T, m *Meter, s *Stretch) *efficiency.Recent {
	t.Helper()
	next, _, known := Agree(*s, m.Look(time.Time{}))
	if !known {
		return nil
	}
	*s = next
	r := m.To(next)
	for _, f := range []efficiency.Factors{r.All.Factors(next.UntilNS - next.BeginNS), r.Minute.Factors(r.MinuteNS())} {
		for _, x := range []float64{f.Parallel, f.Balance, f.BalanceIn, f.BalanceOut, f.Communication} {
			if x < 0 || x > 1+1e-12 {
				t.Fatalf("a factor out of range: %+v", f)
			}
		}
		if d := f.Balance*f.Communication - f.Parallel; d > 1e-9 || d < -1e-9 {
			t.Fatalf("%+v: load balance · communication is not the parallel efficiency", f)
		}
	}
	return r
}

// TestStanding has one rank in a call and another out of one: what the agent says counts until records say more.
func TestStanding(t *testing.T) {
	p := plant(t, 1, "")
	a, b := p.thread(0, 0, 2), p.thread(0, 1, 2)
	for _, x := range []*thread{a, b} {
		x.call(mpicall.Init, second, 2*second, false)
		x.call(mpicall.Barrier, 3*second, 4*second, true)
		x.flush()
	}
	now := time.Unix(0, start)
	m, stretch := New(p.store), Stretch{}
	a.stand(316*second, inside, 4*second, mpicall.Recv, now)
	b.stand(317*second, outside, 0, 0, now)
	r := look(t, m, &stretch)
	if got := stretch.UntilNS - stretch.BeginNS; got != 314e9 || r.All.ComputingNS != 1e9+313e9 || r.All.MPINS != 1e9+313e9 {
		t.Errorf("%d ns, %+v", got, r.All)
	}
	report := m.Look(now.Add(5 * time.Second))
	want := Waiting{Rank: Rank{"w", 0}, Call: "MPI_Recv", Place: "file.c:12", Seconds: 317}
	if report.Waiting == nil || *report.Waiting != want {
		t.Errorf("%+v waits, want %+v", report.Waiting, want)
	}
	// It has ended: what was said of it counts no more, and nothing is added twice.
	a.call(mpicall.Recv, 4*second, 320*second, true)
	a.flush()
	b.call(mpicall.Send, 319*second, 320*second, true)
	b.flush()
	r = look(t, m, &stretch)
	if report := m.Look(now); report.Waiting != nil || r.All.ComputingNS != 1e9+1e9+315e9 || r.All.MPINS != 1e9+316e9+1e9+1e9 {
		t.Errorf("%+v waits, %+v", report.Waiting, r.All)
	}
	// With its MPI_Finalize main is over.
	a.stand(330*second, inside, 322*second, mpicall.Finalize, now)
	b.stand(330*second, outside, 0, 0, now)
	next, ended, _ := Agree(stretch, m.Look(now))
	if !ended || next.UntilNS != start+322e9 {
		t.Errorf("main ends at %d, %v", next.UntilNS-start, ended)
	}
}

// sums says what the thread has done in sum since a tick; its agent keeps its calls.
func (t *thread) sums(begin, until, computing uint64) {
	t.run.t.Helper()
	if err := t.run.store.Stand(t.run.agents[t.node], &moriensv1.Standing{
		Ring: []uint64{t.ring}, Rows: []uint64{until}, Ticks: []uint64{until}, State: make([]moriensv1.Standing_State, 1), Enter: []uint64{0}, Exit: []uint64{0},
		Function: []uint32{0}, Path: []uint32{0}, Begin: []uint64{begin}, Until: []uint64{until}, Computing: []uint64{computing}, Mpi: []uint64{until - begin - computing},
	}, time.Time{}); err != nil {
		t.run.t.Fatal(err)
	}
}

// TestSums has an agent keep its calls, and say sums each second; then it is started again, and counts from there.
func TestSums(t *testing.T) {
	p := plant(t, 1, "cells")
	x := p.thread(0, 0, 1)
	m, stretch := New(p.store), Stretch{}
	for s := uint64(1); s <= 90; s++ {
		tenths := 5 * s
		if s > 30 {
			tenths = 150 + 2*(s-30)
		}
		x.sums(10*second, (10+s)*second, tenths*second/10)
		look(t, m, &stretch)
	}
	r := m.To(stretch)
	if r.All.ComputingNS != 15e9+12e9 || r.All.MPINS != 90e9-27e9 || r.Minute.ComputingNS != 12e9 || r.MinuteNS() != 60e9 {
		t.Errorf("%+v", r)
	}
	x.sums(105*second, 110*second, 5*second) // 5 s are lost
	x.sums(105*second, 116*second, 5*second)
	r = look(t, m, &stretch)
	if r.All.ComputingNS != 27e9+5e9 || r.All.MPINS != 63e9+6e9 || stretch.UntilNS-stretch.BeginNS != 106e9 {
		t.Errorf("%+v", r)
	}
}

// A thread says its sums each second while another one is not heard of: they wait, but not without end.
func TestSumsWait(t *testing.T) {
	p := plant(t, 1, "cells")
	x, y := p.thread(0, 0, 2), p.thread(0, 1, 2)
	m, stretch := New(p.store), Stretch{}
	const seconds = 10 * mostSums
	y.sums(10*second, 11*second, second/2)
	for s := uint64(1); s <= seconds; s++ {
		x.sums(10*second, (10+s)*second, s*second/4)
		look(t, m, &stretch)
		for _, l := range m.locations {
			if len(l.sums) > mostSums {
				t.Fatalf("%d sums wait after %d s", len(l.sums), s)
			}
		}
	}
	y.sums(10*second, (10+seconds)*second, seconds*second/2)
	if r := look(t, m, &stretch); r.All.ComputingNS != seconds*1e9/4+seconds*1e9/2 || 8*r.Minute.ComputingNS != 3*(r.Minute.ComputingNS+r.Minute.MPINS) || r.Minute.ComputingNS == 0 {
		t.Errorf("%+v", r)
	}
}

// BenchmarkMeter is what a call costs: those of 64 threads, each second 100,000 of them.
func BenchmarkMeter(b *testing.B) {
	const threads, rows = 64, 1024
	views := make(fakeViews, threads)
	one := plant(b, 1, "").thread(0, 0, 1)
	for range uint64(rows) {
		one.call(mpicall.Send, one.at+5000, one.at+10000, true)
	}
	one.flush()
	chunk := one.run.store.Rings()[0].Chunks[0]
	for i := range views {
		views[i] = store.StandingView{World: "w", Node: "n", RingView: store.RingView{
			Ring: &store.Ring{Process: &store.Process{Info: &moriensv1.Process{Rank: int32(i)}}, Info: &moriensv1.Ring{}}, NSPerTick: 1,
		}}
	}
	m := New(views)
	var s Stretch
	calls := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range views {
			v := &views[i]
			v.Chunks = v.Chunks[:0:0]
			for k := range 2 {
				c := chunk
				c.Origin = v.Last + uint64(k)*rows*10000
				v.Chunks = append(v.Chunks, c)
			}
			v.Calls, v.Last = v.Calls+2*rows, v.Last+2*rows*10000
			if l := m.locations[v.Ring]; l != nil {
				l.chunks, l.row, l.opened = 0, 0, false
			}
		}
		b.StartTimer()
		s, _, _ = Agree(s, m.Look(time.Time{}))
		m.To(s)
		calls += threads * 2 * rows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
}

type fakeViews []store.StandingView

func (f fakeViews) Standings() []store.StandingView { return slices.Clone(f) }
func (f fakeViews) Function(uint32) string          { return "MPI_Send" }
