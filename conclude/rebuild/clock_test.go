package rebuild

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/section/sectiontest"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A pretender is a node with a clock of its own.
type pretender struct {
	*feeder
	offset, drift float64
	stepAt, step  float64
	early         bool // its program's first call is at 5 ticks, as stray pointers make it
}

func (p *pretender) at(ns float64) uint64 {
	shown := ns + p.offset + p.drift*ns
	if p.step != 0 && ns >= p.stepAt {
		shown += p.step
	}
	return uint64(math.Round(shown))
}

func (p *pretender) sample(ns float64, identity string) {
	shown := p.at(ns)
	p.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
		Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW, Ticks: shown, MonotonicNs: int64(shown), RealtimeNs: int64(shown), UncertaintyNs: 40, Identity: identity,
	}}})
}

// program gives one rank's calls, with bursts between them.
func (p *pretender) program(t *testing.T, rank, size int, enter, exit []float64) {
	process, ring := p.Agent.Hello.Agent*100, p.Agent.Hello.Agent*100+1
	p.Process(&moriensv1.Process{Process: process, Rank: int32(rank), Size: int32(size), World: "w", Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW})
	p.Ring(&moriensv1.Ring{Ring: ring, Process: process})
	c := &sectiontest.Rows{Ring: ring, Origin: p.at(enter[0]), NoBurst: []uint32{0}}
	last := c.Origin
	for i := range enter {
		c.Add(agenttest.Call(t, "MPI_Sendrecv"), 0, p.at(enter[i])-last, p.at(exit[i])-p.at(enter[i]))
		last = p.at(exit[i])
	}
	if p.early {
		c.Origin, c.Burst[1] = 5, c.Burst[1]+c.Origin-5
	}
	p.Rows(c)
	p.End(process, moriensv1.ProcessEnd_HOW_FINALIZED)
}

// pingPong is two ranks on two nodes that send each other a message every millisecond of true time, and who sent what
// to whom.
func pingPong(t *testing.T, clocks [2]pretender, identity func(int) string, collectors ...int) (store.Frozen, *clock.Traffic, [2][]float64) {
	const rounds = 1000
	s := store.New()
	random := rand.New(rand.NewPCG(5, 6))
	var enter, exit [2][]float64
	traffic := new(clock.Traffic)
	for i := range rounds {
		at := 1e6 * float64(i+1)
		sent := [2]float64{at + 1e4*random.Float64(), at + 1e4*random.Float64()}
		for rank := range 2 {
			enter[rank] = append(enter[rank], sent[rank])
			exit[rank] = append(exit[rank], max(sent[rank], sent[1-rank])+1500+1e4*random.ExpFloat64())
			traffic.Messages = append(traffic.Messages, clock.Message{
				Send: clock.Place{Thread: int32(rank), Row: int32(i)}, Recv: clock.Place{Thread: int32(1 - rank), Row: int32(i)},
			})
		}
	}
	for rank := range 2 {
		p := &clocks[rank]
		p.feeder = agenttest.New(t, s, uint64(rank+1), fmt.Sprint("n", rank))
		p.sample(0, identity(rank))
		p.program(t, rank, 2, enter[rank], exit[rank])
		p.sample(1e6*(rounds+2), identity(rank))
	}
	for _, rank := range collectors { // the collector was there as well
		for _, sample := range clocks[rank].Agent.Samples[moriensv1.Clock_CLOCK_MONOTONIC_RAW] {
			s.AddClock(sample)
		}
	}
	return s.Freeze(), traffic, exit
}

// fillBursts puts bursts where calls are.
func fillBursts(u *unpacked) {
	u.allotBursts()
	u.each(func(i int) { u.cuts[i].fill(&u.run.Threads[i]) })
}

// alignBy aligns the threads of one process by what is known of who waited for whom.
func alignBy(t *testing.T, ctx context.Context, u *unpacked, traffic *clock.Traffic) aligned {
	t.Helper()
	a, err := align(ctx, u, causes{traffic, known{traffic, u.clockThreads()}})
	if err != nil {
		t.Fatal(err)
	}
	if u.run.Start, u.run.DurationNS, err = startAtZero(u); err != nil {
		t.Fatal(err)
	}
	return a
}

func unnamed(int) string { return "" }

// Messages alone bring two nodes together that are minutes apart.
func TestAlignByMessages(t *testing.T) {
	f, traffic, exits := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 2e11, drift: 50e-6}}, unnamed)
	u := unpack(f, team.Solo{}, 2)
	a := alignBy(t, t.Context(), u, traffic)
	m := a.at.describe(a.ordered)
	if len(m.Clocks) != 2 || m.Clocks[0].How != rundir.ClockReference || m.Clocks[1].How != rundir.ClockMessages || m.Clocks[1].Bounds != 2000 {
		t.Fatalf("clocks %+v", m.Clocks)
	}
	c := m.Clocks[1]
	if c.UncertaintyNS < 500 || c.UncertaintyNS > 4000 || math.Abs(float64(c.OffsetNS)+199e9+50e-6*1e6) > float64(c.UncertaintyNS)+5 || math.Abs(float64(c.DriftPPM)+50) > 5 {
		t.Errorf("%+v", c)
	}
	if a.ordered.Late > 0 || u.run.Start.UnixNano() < 1e9 || u.run.Start.UnixNano() > 2e9 {
		t.Errorf("%+v, start %v", a.ordered, u.run.Start)
	}
	for rank, th := range u.run.Threads {
		for i, want := range exits[rank] {
			// The reference's time, from its first call on.
			if d := math.Abs(float64(th.Calls.ExitNS[i]-u.run.Threads[0].Calls.ExitNS[0]) - (want - exits[0][0])); d > float64(c.UncertaintyNS)+60 {
				t.Fatalf("rank %d, call %d: %g from the truth, said to be within %g", rank, i, d, c.UncertaintyNS)
			}
		}
		checkWhole(t, &th)
	}
}

// checkWhole checks that bursts lie exactly between their calls.
func checkWhole(t *testing.T, th *trace.Thread) {
	t.Helper()
	for k, start := range th.Bursts.StartNS {
		if start != th.Calls.ExitNS[k] || start+th.Bursts.DurationNS[k] != th.Calls.EnterNS[k+1] {
			t.Fatalf("burst %d from %d for %d, between calls from %d to %d", k, start, th.Bursts.DurationNS[k], th.Calls.ExitNS[k], th.Calls.EnterNS[k+1])
		}
	}
	if th.BeginNS != th.Calls.EnterNS[0] || th.EndNS != th.Calls.ExitNS[th.Calls.Len()-1] {
		t.Errorf("from %d to %d", th.BeginNS, th.EndNS)
	}
}

// Without messages and exchanges hosts keep their own time, and the manifest says so.
func TestAlignByNothing(t *testing.T) {
	f, _, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 3e9}}, unnamed)
	r, _ := rebuiltAll(t, f)
	if c := r.Clocks; len(c) != 2 || c[1].How != rundir.ClockOwn || !math.IsInf(float64(c[1].UncertaintyNS), 1) || c[1].OffsetNS != 0 {
		t.Errorf("clocks %+v", c)
	}
	if d := r.Run.Threads[1].BeginNS - r.Run.Threads[0].BeginNS; d < 1.9e9 || d > 2.1e9 {
		t.Errorf("they begin %d apart, by their own clocks 2 s", d)
	}
	checkWhole(t, &r.Run.Threads[1])
}

// Nodes with one counter are on one time line, whatever they say of their other clocks.
func TestOneCounter(t *testing.T) {
	f, _, exits := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 1e9}}, func(int) string { return "kernel" })
	f.Agents[1].Samples[moriensv1.Clock_CLOCK_MONOTONIC_RAW][0].RealtimeNs += 777
	r, _ := rebuiltAll(t, f)
	for _, c := range r.Clocks {
		if c.How != rundir.ClockReference || c.UncertaintyNS != 0 || c.Clock != r.Clocks[0].Clock {
			t.Errorf("%+v", c)
		}
	}
	apart := r.Run.Threads[1].Calls.ExitNS[0] - r.Run.Threads[0].Calls.ExitNS[0]
	if want := math.Round(exits[1][0]) - math.Round(exits[0][0]); float64(apart) != want {
		t.Errorf("%d apart, want %g", apart, want)
	}
}

// A collector that was started again on another host has another clock: exchanges are with the one that they were made
// with.
func TestCollectorMoves(t *testing.T) {
	f, _, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 5e9}}, func(rank int) string { return fmt.Sprint("kernel", rank) }, 0, 1)
	raw := moriensv1.Clock_CLOCK_MONOTONIC_RAW
	for i, a := range f.Agents {
		a.Exchanges[raw] = nil
		for with := range uint32(2) {
			// With itself an agent has one counter; the other's is 4e9 off.
			at := uint64(2e9)
			if int(with) != i {
				at += uint64(4e9 * (1 - 2*i))
			}
			a.Exchanges[raw] = append(a.Exchanges[raw], &moriensv1.ClockExchange{
				Clock: raw, SentTicks: 2e9, ReceivedTicks: at + 10, RepliedTicks: at + 20, ReturnedTicks: 2e9 + 30, Collector: with,
			})
		}
	}
	c := readClocks(f)
	if len(c.collectors) != 2 || c.collectors[0] == c.collectors[1] || c.reference != c.collectors[1] {
		t.Fatalf("collectors %v, reference %d", c.collectors, c.reference)
	}
	for i, a := range f.Agents {
		if n := c.of[clockKey{a, raw}]; n != c.collectors[i] {
			t.Errorf("agent %d has counter %d, the collector's there is %d", i, n, c.collectors[i])
		}
	}
	bounds := map[[2]int]int{}
	for b := range c.exchanges() {
		bounds[[2]int{b.From, b.To}]++
	}
	if one, other := c.collectors[0], c.collectors[1]; len(bounds) != 2 || bounds[[2]int{one, other}] != 2 || bounds[[2]int{other, one}] != 2 {
		t.Errorf("bounds %v between %v", bounds, c.collectors)
	}
}

// A counter with the collector's identity but another time is a copy: the exchanged times show it.
func TestCopiedIdentity(t *testing.T) {
	for _, copied := range []bool{false, true} {
		f, _, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 1e9}}, func(rank int) string { return fmt.Sprint("kernel", rank) }, 0)
		raw := moriensv1.Clock_CLOCK_MONOTONIC_RAW
		e := &moriensv1.ClockExchange{Clock: raw, SentTicks: 2e9, ReceivedTicks: 2e9 + 10, RepliedTicks: 2e9 + 20, ReturnedTicks: 2e9 + 30}
		if copied {
			e.ReceivedTicks, e.RepliedTicks = 1e9, 1e9+10
		}
		f.Agents[0].Exchanges[raw] = []*moriensv1.ClockExchange{e}
		c := readClocks(f)
		if same := c.of[clockKey{f.Agents[0], raw}] == c.collectors[0]; same == copied {
			t.Errorf("copied %v: counters %v, the collector's is %d", copied, c.of, c.collectors[0])
		}
		if reference := c.of[clockKey{f.Agents[0], raw}]; !copied && c.reference != reference {
			t.Errorf("reference %d, want the collector's, %d", c.reference, reference)
		}
	}
}

// A clock is set forth by 40 ms between two messages: what is received too early by it is moved.
func TestAlignMovesReceives(t *testing.T) {
	f, traffic, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 5e9, stepAt: 500.9e6, step: 40e6}}, unnamed)
	u := unpack(f, team.Solo{}, 2)
	fillBursts(u)
	before := make([][]int64, len(u.run.Threads))
	for i := range u.run.Threads {
		before[i] = slices.Clone(u.run.Threads[i].Bursts.DurationNS)
	}
	a := alignBy(t, t.Context(), u, traffic)
	for i := range u.run.Threads {
		if d := cmp.Diff(before[i], u.run.Threads[i].Bursts.DurationNS); d != "" {
			t.Errorf("thread %d: bursts have changed:\n%s", i, d)
		}
		checkWhole(t, &u.run.Threads[i])
	}
	for _, m := range traffic.Messages {
		send := u.run.Threads[m.Send.Thread].Calls.EnterNS[m.Send.Row]
		if recv := u.run.Threads[m.Recv.Thread].Calls.ExitNS[m.Recv.Row]; recv < send {
			t.Fatalf("received at %d, sent at %d", recv, send)
		}
	}
	m := a.at.describe(a.ordered)
	if m.Order.Contradicted == 0 || m.Order.CallsMoved == 0 || m.Order.LargestNS <= 0 || m.Order.TotalNS < m.Order.LargestNS || m.Order.Unordered != 0 {
		t.Errorf("%+v", m.Order)
	}
	if !strings.Contains(strings.Join(m.ClockNotes, ";"), "contradict") {
		t.Errorf("notes %q", m.ClockNotes)
	}
}

// What one rank's stray pointers do to its time stamps costs the others no precision.
func TestAlignDamagedTimes(t *testing.T) {
	clocks := [2]pretender{{offset: 1e18}, {offset: 1e18 + 3e9, drift: 50e-6}}
	f, traffic, _ := pingPong(t, clocks, unnamed)
	clocks[1].early = true
	damaged, _, _ := pingPong(t, clocks, unnamed)
	f.Processes[1].Rings[0].Chunks = damaged.Processes[1].Rings[0].Chunks
	u := unpack(f, team.Solo{}, 2)
	a := alignBy(t, t.Context(), u, traffic)
	m := a.at.describe(a.ordered)
	if m.Order.Refused != 2 || m.Clocks[1].Bounds != 1998 || m.Clocks[1].UncertaintyNS > 4000 {
		t.Errorf("%+v, %+v", m.Clocks[1], m.Order)
	}
}

// Without time to compare clocks they are not changed, and that is reported; the run is whole all the same.
func TestAlignWithoutTime(t *testing.T) {
	f, traffic, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 3e9}}, unnamed)
	u := unpack(f, team.Solo{}, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	a := alignBy(t, ctx, u, traffic)
	if len(a.missing) != 1 || !strings.Contains(a.missing[0], "are not synchronised: rebuild: no time") || len(a.notes) != 0 || u.run.DurationNS < 1e9 {
		t.Errorf("missing %q, notes %q, %d ns", a.missing, a.notes, u.run.DurationNS)
	}
	for i := range u.run.Threads {
		checkWhole(t, &u.run.Threads[i])
	}
}

// Traffic between places that are not there is no reason to lose the run.
func TestAlignRefusesTraffic(t *testing.T) {
	f, traffic, _ := pingPong(t, [2]pretender{{offset: 1e9}, {offset: 3e9}}, unnamed)
	u := unpack(f, team.Solo{}, 2)
	traffic.Messages[5].Recv.Row = 5000
	a := alignBy(t, t.Context(), u, traffic)
	if len(a.notes) != 1 || !strings.Contains(a.notes[0], "message 5") || u.run.DurationNS < 1e9 {
		t.Errorf("notes %q, %d ns", a.notes, u.run.DurationNS)
	}
}
