package measure

import (
	"context"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
	"moriens/internal/ticks"
	"moriens/trace"
)

// A skewed clock is that of a node which is not this one: it is off, and runs at a rate of its own.
type skewed struct {
	beginNS  uint64 // true time
	offsetNS int64
	drift    float64
	identity string
	reads    *atomic.Int64 // how often Now was called; nil: not counted
}

// at gives what the clock shows at a true time.
func (c skewed) at(ns uint64) uint64 {
	return ns + uint64(c.offsetNS) + uint64(int64(math.Round(c.drift*float64(ns-c.beginNS))))
}

func (c skewed) Now(uint32) (uint64, error) {
	if c.reads != nil {
		c.reads.Add(1)
	}
	now, err := ticks.Now(shmabi.ClockMonotonicRaw)
	return c.at(now), err
}

func (c skewed) Take(uint32) (ticks.Sample, error) {
	now, err := ticks.Now(shmabi.ClockMonotonicRaw)
	now = c.at(now)
	return ticks.Sample{Ticks: now, MonotonicNS: int64(now), RealtimeNS: int64(now), UncertaintyNS: 50, Identity: c.identity}, err
}

// Skewed nodes have clocks of their own, and each has an agent and a rank.
type skewedNodes struct {
	clocks    []skewed
	nodes     []*agent.Node
	processes []*ringwriter.Process
	rings     []*ringwriter.Ring
	done      chan error // by each agent, once
}

func newSkewed(nodes int) *skewedNodes { return &skewedNodes{done: make(chan error, nodes)} }

// agent starts the agent of a further node and returns the directory of its ranks.
func (x *skewedNodes) agent(t *testing.T, clock skewed, find uplink.Find) (dir string) {
	t.Helper()
	shm := t.TempDir()
	dir = ring.DirectoryPath(shm, os.Getuid(), "run1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	node, err := agent.New(agent.Config{Run: "run1", Shm: shm, Find: find, Spool: t.TempDir(), Log: quiet, Clocks: clock})
	if err != nil {
		t.Fatal(err)
	}
	go func() { x.done <- node.Run(context.Background()) }()
	x.clocks, x.nodes = append(x.clocks, clock), append(x.nodes, node)
	return dir
}

// rank starts the rank of the node that connected last.
func (x *skewedNodes) rank(t *testing.T, dir string) {
	t.Helper()
	p, err := ringwriter.New(dir, ringwriter.Identity{Rank: len(x.rings), Size: cap(x.done), World: "w"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Thread(1024)
	if err != nil {
		t.Fatal(err)
	}
	x.processes, x.rings = append(x.processes, p), append(x.rings, w)
}

// call has all ranks call MPI_Barrier so many times, and returns when the calls returned in truth.
func (x *skewedNodes) call(t *testing.T, times int) []uint64 {
	t.Helper()
	planted := make([]uint64, times)
	for i := range planted {
		time.Sleep(2 * time.Millisecond)
		now, err := ticks.Now(shmabi.ClockMonotonicRaw)
		if err != nil {
			t.Fatal(err)
		}
		planted[i] = now
		for rank, clock := range x.clocks {
			if !x.rings[rank].Call(mpicall.Barrier, 0, clock.at(now-1000), clock.at(now)) {
				t.Fatal("the ring is full")
			}
		}
	}
	return planted
}

// finish ends all ranks, and says to the agents that the job is over.
func (x *skewedNodes) finish() {
	for i := range x.nodes {
		x.processes[i].Finalize()
		x.processes[i].Exit()
		x.nodes[i].JobOver()
	}
}

// Agents on two nodes whose clocks differ by minutes and drift apart report the same events to one collector: those
// have the same times in the result, within what the manifest says.
func TestTwoClocks(t *testing.T) {
	begin, err := ticks.Now(shmabi.ClockMonotonicRaw)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		clocks [2]skewed
		how    [2]string
	}{
		{"apart", [2]skewed{
			{beginNS: begin, offsetNS: 5_000_000_000, drift: 80e-6, identity: "one"},
			{beginNS: begin, offsetNS: 300_000_000_000, drift: -120e-6, identity: "other"},
		}, [2]string{"reference", "exchange"}},
		{"one kernel, twice", [2]skewed{
			{beginNS: begin, offsetNS: 300_000_000_000, drift: -120e-6, identity: "one"},
			{beginNS: begin, offsetNS: 300_000_000_000, drift: -120e-6, identity: "one"},
		}, [2]string{"reference", "reference"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := startCollector(t, "127.0.0.1:0")
			nodes := newSkewed(2)
			for _, clock := range tt.clocks {
				clock.reads = new(atomic.Int64)
				nodes.rank(t, nodes.agent(t, clock, uplink.At(c.Rendezvous())))
				// As long as there are no records the clock is read for exchanges alone: eight in a round, at both ends of each.
				for deadline := time.Now().Add(patience); clock.reads.Load() < 3*8*2; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("the clock was read %d times", clock.reads.Load())
					}
				}
			}
			planted := nodes.call(t, 200)
			nodes.finish()
			for range tt.clocks {
				if err := <-nodes.done; err != nil {
					t.Fatal(err)
				}
			}
			result, err := concludeAll(t, stopped(c), conclude.Job{Run: "run1"}, byDuration)
			if err != nil {
				t.Fatal(err)
			}
			m := result.Manifest
			if len(m.Clocks) != 2 || len(result.Run.Threads) != 2 || m.Losses.MessagesRefused != 0 {
				t.Fatalf("clocks %+v, %d threads", m.Clocks, len(result.Run.Threads))
			}
			hows := map[string]int{}
			uncertain := 0.0
			for _, x := range m.Clocks {
				hows[x.How]++
				uncertain = max(uncertain, float64(x.UncertaintyNS))
				if x.How == "exchange" {
					// At both ends it can be wrong by the uncertainty.
					limit := 2e6*float64(x.UncertaintyNS)/float64(result.Run.DurationNS) + 1
					if x.Exchanges < 4 || math.Abs(math.Abs(float64(x.DriftPPM))-200) > limit {
						t.Errorf("%+v, the drift within %g", x, limit)
					}
				}
			}
			if hows[tt.how[0]]+hows[tt.how[1]] < 2 || len(hows) != map[bool]int{true: 1, false: 2}[tt.how[0] == tt.how[1]] {
				t.Errorf("clocks %+v, want %v", m.Clocks, tt.how)
			}
			if tt.how[1] == "reference" && uncertain != 0 {
				t.Errorf("one clock is %g ns from itself", uncertain)
			}
			// Seconds of waiting for a processor would still be within; what must not be is anything near the offsets.
			if uncertain > 5e9 {
				t.Errorf("uncertain by %g ns", uncertain)
			}
			t.Logf("uncertain by %g ns after %d ns", uncertain, result.Run.DurationNS)
			a, b := &result.Run.Threads[0], &result.Run.Threads[1]
			// Bursts keep their own clock's length, which may move what follows by their drift: by much where a busy machine has
			// made one long. The manifest says how far.
			off := float64(m.Order.OffNS)
			if most := 200e-6*float64(result.Run.DurationNS) + 1000; off > most {
				t.Errorf("calls are %g ns from where their clock has them, of %g that the clocks drift apart", off, most)
			}
			for i := range planted {
				if d := math.Abs(float64(a.Calls.ExitNS[i] - b.Calls.ExitNS[i])); d > uncertain+2*off+1 {
					t.Fatalf("call %d: %d and %d, said to be within %g and %g from there", i, a.Calls.ExitNS[i], b.Calls.ExitNS[i], uncertain, off)
				}
			}
			for rank, th := range []*trace.Thread{a, b} {
				for i, d := range th.Bursts.DurationNS {
					want := int64(tt.clocks[rank].at(planted[i+1]-1000) - tt.clocks[rank].at(planted[i]))
					if d != want || th.Calls.EnterNS[i+1]-th.Calls.ExitNS[i] != want {
						t.Fatalf("rank %d: burst %d took %d, between its calls %d, want %d", rank, i, d, th.Calls.EnterNS[i+1]-th.Calls.ExitNS[i], want)
					}
				}
			}
		})
	}
}
