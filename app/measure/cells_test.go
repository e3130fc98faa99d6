package measure

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/rendezvous"
)

// startKept starts the collector of a run whose bursts are kept with the agents, which keep running at the end.
func startKept(t *testing.T, run, journal string) *collector.Collector {
	t.Helper()
	c, err := collector.Start(collector.Config{
		Journal: journal, Run: run, Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Cells: new(Cells).spec(byDuration), Linger: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKilledAgentOfCells kills an agent that keeps its bursts at random moments and starts it again. It keeps every
// burst once, and every record that was written arrives on request; before that none has arrived.
func TestKilledAgentOfCells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startKept(t, "00000000000000ad", filepath.Join(t.TempDir(), "journal"))
	meet := c.Rendezvous()
	if err := rendezvous.Write(dir, meet); err != nil {
		t.Fatal(err)
	}
	shm := filepath.Join(dir, "shm")
	if err := os.Mkdir(shm, 0o700); err != nil {
		t.Fatal(err)
	}
	planters := plant(t, ring.DirectoryPath(shm, os.Getuid(), meet.Run), 1<<16)
	stop, written := make(chan struct{}), make(chan struct{})
	go func() { write(planters, stop, 20); close(written) }()
	killAgents(t, agentCellsEnv, dir, rand.New(rand.NewPCG(8, 6)))
	last := child(t, agentCellsEnv, dir)
	time.Sleep(300 * time.Millisecond)
	close(stop)
	<-written
	defer c.Close(collector.Outcome{})
	checkKept(t, c, planters)
	c.Release()
	if err := last.Wait(); err != nil {
		t.Errorf("the last agent: %v", err)
	}
}

// checkKept ends a run whose bursts are kept with its agent, requests all of them, and compares what arrives with what
// was written.
func checkKept(t *testing.T, c *collector.Collector, planters []*planter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	f := c.Freeze("")
	if f.Totals.Calls != 0 || len(f.Agents) != 1 || f.Agents[0].Done.GetRestarts() == 0 || f.Totals.Refused != 0 {
		t.Errorf("%+v, %d agents, done: %v", f.Totals, len(f.Agents), f.Agents[0].Done)
	}
	set, err := c.Cells().Survey(ctx, c.Journal().Store())
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for _, fetched := range c.Windows().FetchAll(ctx, planters[0].process.ID(), planters[len(planters)-1].process.ID()) {
		if fetched.Err != nil || len(fetched.Gone) > 0 {
			t.Errorf("fetched: %v, %d windows are gone", fetched.Err, len(fetched.Gone))
		}
		for _, p := range fetched.Parts {
			parts = append(parts, p.Sections)
		}
	}
	filled := f.Fill(parts)
	if filled.Missing > 0 || len(filled.Refused) > 0 {
		t.Errorf("%d calls are missing, refused: %v", filled.Missing, filled.Refused)
	}
	f.Renumber()
	compare(t, f, planters)
	if uint64(set.Bursts) != f.Totals.Bursts || set.Bursts == 0 {
		t.Errorf("%d bursts are kept, %d are in all that was fetched", set.Bursts, f.Totals.Bursts)
	}
	units := 0
	for _, u := range set.Units {
		units += int(u.Duration.N)
	}
	if units+set.Missing.Bursts+set.Short.Bursts != set.Bursts {
		t.Errorf("%d bursts in cells, %+v without data, %+v short, of %d", units, set.Missing, set.Short, set.Bursts)
	}
	if reported := c.Cells().AgentStates(); len(reported) != 1 || reported[0].Lost > 0 {
		t.Errorf("agents: %+v", reported)
	}
}

// An agent that sends its bursts where the others keep them ends with what to do about it, and the collector's user is
// informed as well; nothing of it is taken.
func TestRefusedMode(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported []string
	kept := new(Cells).spec(byDuration)
	for _, tt := range []struct{ wants, is, what, advice string }{
		{kept, "", "sends its bursts; the others of the run keep them", "start it with --cells"},
		{"", kept, "keeps its bursts as micro-cells; the others of the run send them", "start it without --cells"},
		{kept, new(Cells).spec(grouping.Options{}), "; the others of the run: " + kept, "start it with the collector's --dims"},
	} {
		c, err := collector.Start(collector.Config{
			Journal: filepath.Join(t.TempDir(), "journal"), Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Cells: tt.wants,
			Notify: func(text, advice string) {
				mu.Lock()
				defer mu.Unlock()
				reported = append(reported, text+"; "+advice)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		config := agent.Config{Run: "run1", Shm: t.TempDir(), Find: uplink.At(c.Rendezvous()), Spool: t.TempDir(), Log: quiet}
		if tt.is != "" {
			if config.Cells, err = new(Cells).keep(byDuration, quiet); err != nil {
				t.Fatal(err)
			}
			config.Cells.Spec = tt.is
		}
		node, err := agent.New(config)
		if err != nil {
			t.Fatal(err)
		}
		node.JobOver()
		err = node.Run(t.Context())
		mu.Lock()
		all := strings.Join(reported, "\n")
		reported = nil
		mu.Unlock()
		for _, want := range []string{tt.what, tt.advice} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(all, want) {
				t.Errorf("the agent ends with %v, the user reads %q, want %q in both", err, all, want)
			}
		}
		if f := stopped(c); len(f.Agents) > 0 {
			t.Errorf("%d agents are taken", len(f.Agents))
		}
	}
}

// Bursts that no cell can hold are counted while the job runs, and when it has ended.
func TestOutsideOfCells(t *testing.T) {
	t.Parallel()
	const burst, fits, outside = 1000, 5, 3
	dims, err := space.Parse("duration:lin")
	if err != nil {
		t.Fatal(err)
	}
	o, cells := grouping.Options{Dims: dims}, &Cells{Side: 2.0 * burst / (1 << 31)}
	c, err := collector.Start(collector.Config{
		Journal: filepath.Join(t.TempDir(), "journal"), Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: o, Cells: cells.spec(o), Linger: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := cells.keep(o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := newNode(t, c, kept)
	p := r.process(ringwriter.Identity{Size: 1})
	w := r.thread(p, 64)
	at := uint64(burst)
	for i := range 1 + fits + outside { // the first call has no burst before it
		if at += burst; i > fits {
			at += 2 * burst
		}
		r.call(w, mpicall.Barrier, 0, at, at)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for page := c.Page(); page.Cells.Bursts < fits+outside; page = c.Page() {
		if ctx.Err() != nil {
			t.Fatalf("the page says %+v", page.Cells)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if reported := c.Page().Cells; reported.Outside != outside {
		t.Errorf("the page says that %d bursts are outside, want %d", reported.Outside, outside)
	}
	p.Finalize()
	p.Exit()
	r.node.JobOver()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	f := c.Freeze("")
	set, err := c.Cells().Survey(ctx, c.Journal().Store())
	if err != nil {
		t.Fatal(err)
	}
	if reported := c.Cells().AgentStates(); len(f.Agents) != 1 || len(reported) != 1 || reported[0].Outside != outside || set.Missing.Bursts != outside || set.Bursts != fits+outside {
		t.Errorf("agents reported %+v; %d bursts, %+v lack data", reported, set.Bursts, set.Missing)
	}
	c.Release()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	c.Close(collector.Outcome{})
}
