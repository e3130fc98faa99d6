package measure

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"moriens/collector"
	"moriens/collector/journal"
	moriensv1 "moriens/proto/moriens/v1"
)

// startOn starts a collector on a journal, of a job that a launcher has started or not.
func startOn(t *testing.T, dir string, grace time.Duration, listen string, command ...string) *collector.Collector {
	t.Helper()
	c, err := collector.Start(collector.Config{
		Journal: dir, Run: "run1", Launcher: command, Listen: listen, Log: quiet, Grace: grace,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// waits is how long after a time, before it was started, a collector no longer waits for agents; less than zero if it
// would continue after a limit.
func waits(c *collector.Collector, since time.Time, limit time.Duration) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if c.WaitAgents(ctx) != nil {
		return -1
	}
	return time.Since(since)
}

// A restarted collector gives the agents that it knows time to return, and does not wait for ever for those that do
// not.
func TestRestartWaitsForAgents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	const grace = 400 * time.Millisecond
	c := startOn(t, dir, grace, "127.0.0.1:0")
	if waits(c, time.Now(), 2*grace) >= 0 {
		t.Error("it ends before any agent has come")
	}
	meet := c.Rendezvous()
	j := c.Journal()
	done := make(chan bool)
	if _, err := j.Greet(&moriensv1.Hello{Run: "run1", Agent: 42, Host: "n1"}, func(uint64) { close(done) }); err != nil {
		t.Fatal(err)
	}
	<-done
	c.Close(collector.Outcome{})

	// No agent returns.
	began := time.Now()
	c = startOn(t, dir, grace, "127.0.0.1:0")
	if d := waits(c, began, patience); d < grace {
		t.Errorf("it waited %v for an agent that it knows of, want %v at least", d, grace)
	}
	if now := c.Rendezvous(); now.Run != meet.Run || now.Token != meet.Token || now.Fingerprint != meet.Fingerprint {
		t.Errorf("%v is another collector to the agents of %v", now, meet)
	}
	c.Close(collector.Outcome{})

	// The agent returns and continues.
	c = startOn(t, dir, patience, "127.0.0.1:0")
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, c.Rendezvous(), "run1")
	sendRing(t, outbox, 50)
	flush(t, u)
	checkRing(t, c, 50)

	// The run has ended: there is no agent to wait for, and nothing of it is lost.
	c = startOn(t, dir, patience, "127.0.0.1:0")
	if !c.Over() || waits(c, time.Now(), time.Second) < 0 {
		t.Error("it waits after the end")
	}
	if f := c.Freeze(""); f.Totals.Calls != 50*rows || f.Collector.Restarts != 3 || len(f.Clocks) != 1 || len(f.Clocks[0].Samples) != 4 { // of three starts and the end
		t.Errorf("%+v, %+v, clocks %v", f.Totals, f.Collector, f.Clocks)
	}
	if err := c.Discard(); err != nil {
		t.Error(err)
	}
	c.Close(collector.Outcome{})
	if journal.Exists(dir) {
		t.Error("the journal is left")
	}
}

// A collector that cannot listen leaves no run behind that had none, and all of one that had.
func TestBadAddress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	for _, begun := range []bool{false, true} {
		if begun {
			startOn(t, dir, 0, "127.0.0.1:0").Close(collector.Outcome{})
		}
		if _, err := collector.Start(collector.Config{Journal: dir, Run: "run2", Listen: "nowhere", Log: quiet}); err == nil {
			t.Fatal("it listens nowhere")
		}
		if journal.Exists(dir) != begun {
			t.Errorf("begun before: %v; there now: %v", begun, journal.Exists(dir))
		}
	}
}

// After a kill of a job's launcher with its agent, it is possible that no agent ever connects; otherwise one will.
func TestRestartWithoutAgents(t *testing.T) {
	t.Parallel()
	const grace = 300 * time.Millisecond
	for _, command := range [][]string{nil, {"mpirun", "app"}} {
		dir := filepath.Join(t.TempDir(), "journal")
		startOn(t, dir, grace, "127.0.0.1:0", command...).Close(collector.Outcome{})
		limit := 4 * grace
		if command != nil {
			limit = patience
		}
		began := time.Now()
		c := startOn(t, dir, grace, "127.0.0.1:0", command...)
		d := waits(c, began, limit)
		if ended := d >= grace; ended != (command != nil) {
			t.Errorf("%q: waited %v", command, d)
		}
		stopped(c)
	}
}
