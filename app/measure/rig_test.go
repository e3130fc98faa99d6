package measure

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector"
	"moriens/collector/store"
	"moriens/conclude"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/ticks"
)

// patience is how long a test waits for what has to happen: no machine is so busy that it takes longer.
const patience = 20 * time.Minute

// A rig is a collector and a node agent round a directory of rings that the test writes.
type rig struct {
	t         *testing.T
	collector *collector.Collector
	node      *agent.Node
	done      chan error
	dir       string
	clock     *exactClock
}

// exactClock makes a tick a nanosecond to the last digit, whatever the machine's clocks do.
type exactClock struct {
	samples atomic.Int64
	now     atomic.Uint64 // 0: later than any time that a test plants
}

func (c *exactClock) Take(uint32) (ticks.Sample, error) {
	at := c.samples.Add(1) * 1_000_000_000
	return ticks.Sample{Ticks: uint64(at), MonotonicNS: at, RealtimeNS: at + 7_000_000_000}, nil
}

func (c *exactClock) Now(uint32) (uint64, error) {
	if now := c.now.Load(); now != 0 {
		return now, nil
	}
	return 1 << 50, nil
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newNode(t, startCollector(t, "127.0.0.1:0"), nil)
}

// newNode is a node of a collector that is there already, which keeps its bursts as micro-cells, or, for nil, sends
// them.
func newNode(t *testing.T, c *collector.Collector, kept *agent.Cells) *rig {
	t.Helper()
	r := idleNode(t, c, kept)
	r.start()
	return r
}

// idleNode is a node whose agent reads nothing until it is started.
func idleNode(t *testing.T, c *collector.Collector, kept *agent.Cells) *rig {
	t.Helper()
	r := &rig{t: t, collector: c, done: make(chan error, 1), clock: new(exactClock)}
	shm := t.TempDir()
	r.dir = ring.DirectoryPath(shm, os.Getuid(), "run1")
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	node, err := agent.New(agent.Config{
		Run: "run1", Shm: shm, Find: uplink.At(r.collector.Rendezvous()), Spool: t.TempDir(), Log: quiet, Clocks: r.clock, Cells: kept, Grace: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.node = node
	return r
}

func (r *rig) start() {
	go func() { r.done <- r.node.Run(context.Background()) }()
}

func (r *rig) process(identity ringwriter.Identity) *ringwriter.Process {
	r.t.Helper()
	p, err := ringwriter.New(r.dir, identity)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) thread(p *ringwriter.Process, slots int) *ringwriter.Ring {
	r.t.Helper()
	w, err := p.Thread(slots)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

func (r *rig) call(w *ringwriter.Ring, call mpicall.ID, path uint32, enter, exit uint64) {
	r.t.Helper()
	if !w.Call(call, path, enter, exit) {
		r.t.Fatal("the ring is full")
	}
}

// slotsOfCall is more than any call takes that a test writes one by one.
const slotsOfCall = 16

// awaitRoom waits until a ring has so many slots free: a call for which there are none would be dropped.
func awaitRoom(t *testing.T, w *ringwriter.Ring, slots int) {
	t.Helper()
	for deadline := time.Now().Add(patience); w.Free() < slots; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody reads the ring")
		}
	}
}

func (r *rig) finish(options grouping.Options) *conclude.Result {
	r.t.Helper()
	r.node.JobOver()
	if err := <-r.done; err != nil {
		r.t.Fatal(err)
	}
	if _, err := os.Stat(r.dir); err == nil {
		r.t.Error("the rings are still there")
	}
	result, err := concludeAll(r.t, stopped(r.collector), conclude.Job{Run: "run1"}, options)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// stopped ends a run without waiting for agents, and returns all that arrived.
func stopped(c *collector.Collector) store.Frozen {
	defer c.Close(collector.Outcome{})
	defer c.Release()
	return c.Freeze("")
}

func named(t *testing.T, name string) mpicall.ID {
	t.Helper()
	id, ok := mpicall.ByName(name)
	if !ok {
		t.Fatalf("no call %s", name)
	}
	return id
}

var byDuration = grouping.Options{
	Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}}, By: grouping.ByCalls, Filter: space.Filter{Auto: true}, Workers: 2,
}
