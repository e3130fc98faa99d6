package measure

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/collector"
	"moriens/cshim/ringwriter"
	"moriens/internal/anchor"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
)

// A lingering is an agent whose one rank has started and ended, at a collector that may ask it for windows for a time.
type lingering struct {
	collector *collector.Collector
	journal   string
	cells     *Cells                                // nil: its bursts are sent
	now       atomic.Pointer[rendezvous.Rendezvous] // nil: the collector cannot be found any more
	process   uint64
	done      chan error
}

func newLingering(t *testing.T, linger time.Duration, cells *Cells) *lingering {
	t.Helper()
	l := &lingering{journal: t.TempDir() + "/journal", cells: cells, done: make(chan error, 1)}
	l.start(t, linger)
	c := l.collector
	shm := t.TempDir()
	dir := ring.DirectoryPath(shm, os.Getuid(), "run1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	kept, err := l.cells.keep(byDuration, quiet)
	if err != nil {
		t.Fatal(err)
	}
	node, err := agent.New(agent.Config{
		Run: "run1", Cells: kept, Shm: shm, Log: quiet, Clocks: new(exactClock), Spool: t.TempDir(), SpoolMax: units.Bytes(1 << 20),
		Find: func() (rendezvous.Rendezvous, error) {
			if now := l.now.Load(); now != nil {
				return *now, nil
			}
			return rendezvous.Rendezvous{}, fs.ErrNotExist
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { l.done <- node.Run(context.Background()) }()
	p, err := ringwriter.New(dir, ringwriter.Identity{Size: 1, World: "w"})
	if err != nil {
		t.Fatal(err)
	}
	l.process = p.ID()
	w, err := p.Thread(64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		w.Call(named(t, "MPI_Barrier"), 0, 1_000_000_000+i*1000, 1_000_000_300+i*1000)
	}
	p.Finalize()
	node.JobOver()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	return l
}

// start starts its collector, or the next one of the same run.
func (l *lingering) start(t *testing.T, linger time.Duration) {
	t.Helper()
	c, err := collector.Start(collector.Config{
		Journal: l.journal, Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Cells: l.cells.spec(byDuration), Linger: linger,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := c.Rendezvous()
	l.collector = c
	l.now.Store(&now)
}

// left waits until the agent has left.
func (l *lingering) left(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the agent keeps running")
	}
}

// calls is how many calls the agent gives of its windows.
func (l *lingering) calls(t *testing.T) int {
	t.Helper()
	n := 0
	for _, f := range l.collector.Windows().Fetch(t.Context(), []anchor.ID{0}, l.process) {
		if f.Err != nil {
			t.Error(f.Err)
		}
		for _, p := range f.Parts {
			for i := range p.Ring {
				n += int(p.BehindRow[i] - p.FirstRow[i])
			}
		}
	}
	return n
}

// release has the agent give its windows, lets it go and ends its collector.
func (l *lingering) release(t *testing.T) {
	t.Helper()
	if n := l.calls(t); n != 20 {
		t.Errorf("%d calls of 20", n)
	}
	l.collector.Release()
	l.left(t)
	l.collector.Close(collector.Outcome{})
}

// An agent that is done gives its windows, also when nothing more is taken, until it is let go.
func TestAgentLingers(t *testing.T) {
	t.Parallel()
	l := newLingering(t, time.Hour, nil)
	l.collector.Freeze("")
	select {
	case err := <-l.done:
		t.Fatalf("the agent has left: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	l.release(t)
}

// It reconnects to a restarted collector, and gives its windows to that, though nothing more is accepted.
func TestAgentReconnects(t *testing.T) {
	t.Parallel()
	l := newLingering(t, time.Hour, nil)
	l.collector.Close(collector.Outcome{}) // without Freeze: as if it was killed
	l.start(t, time.Hour)
	l.collector.Freeze("")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for l.collector.Journal().Store().Staying() == 0 && ctx.Err() == nil {
		l.collector.AwaitReturn(ctx)
	}
	l.release(t)
}

// Without a release the agent keeps running as long as it was configured to, and no longer than its collector can be
// found.
func TestAgentLeavesByItself(t *testing.T) {
	t.Parallel()
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		l := newLingering(t, 300*time.Millisecond, nil)
		l.left(t)
		if held := l.collector.Journal().Store(); held.Staying() != 0 || held.CutOff() != 0 {
			t.Errorf("the collector has %d agents, and waits for %d that were killed; this one ended by itself", held.Staying(), held.CutOff())
		}
		l.collector.Close(collector.Outcome{})
	})
	t.Run("without a collector", func(t *testing.T) {
		t.Parallel()
		l := newLingering(t, time.Hour, nil)
		l.calls(t) // the request for them also acknowledges everything
		l.now.Store(nil)
		l.collector.Freeze("")
		l.collector.Close(collector.Outcome{Err: errors.New("no results")})
		l.left(t)
	})
	t.Run("nothing will be asked", func(t *testing.T) {
		t.Parallel()
		l := newLingering(t, 0, nil)
		l.left(t)
		l.collector.Close(collector.Outcome{})
	})
}

// An agent that keeps the bursts is repeatedly asked to keep running, for as long as the collector waits for others,
// and ends in time after that.
func TestAgentWithBurstsLingers(t *testing.T) {
	t.Parallel()
	const linger = 12 * time.Second // it is informed four times as often
	l := newLingering(t, linger, new(Cells))
	select {
	case err := <-l.done:
		t.Fatalf("the agent has left: %v", err)
	case <-time.After(linger + linger/4):
	}
	l.collector.Freeze("")
	set, err := l.collector.Cells().Survey(t.Context(), l.collector.Journal().Store())
	if err != nil || set.Bursts != 19 {
		t.Errorf("%+v, %v: want 19 bursts", set, err)
	}
	l.left(t)
	l.collector.Close(collector.Outcome{})
}
