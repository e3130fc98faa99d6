package collector

import (
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"moriens/collector/journal"
	moriensv1 "moriens/proto/moriens/v1"
)

// A run is not over at the moment at which its first agent connects.
func TestFirstAgentIsWaitedFor(t *testing.T) {
	work := t.TempDir()
	for i := range 50 {
		j, err := journal.Open(filepath.Join(work, strconv.Itoa(i)), journal.Run{Run: "a"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c := &Collector{journal: j, store: j.Store(), grace: time.Hour}
		connected := make(chan error, 1)
		go func() {
			_, _, err := c.store.Greet(&moriensv1.Hello{Agent: 1})
			connected <- err
		}()
		over := false
		for waiting := true; waiting; {
			over = over || c.alone()
			select {
			case err = <-connected:
				waiting = false
			default:
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || over || c.alone() {
			t.Fatalf("in try %d the run was over when its first agent had come: %v", i, err)
		}
	}
}

// A journal that cannot be written holds the end of a run up only while an agent waits for it.
func TestFullJournalIsNotWaitedFor(t *testing.T) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal"), journal.Run{Run: "a"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil { // nothing becomes safe from here on
		t.Fatal(err)
	}
	c := &Collector{journal: j, store: j.Store(), grace: time.Hour}
	a, err := j.Greet(&moriensv1.Hello{Agent: 1}, func(uint64) { t.Error("it is safe") })
	if err != nil {
		t.Fatal(err)
	}
	done := &moriensv1.ReportRequest{Sequence: 1, Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}}
	if err := j.Take(t.Context(), a, done, make([]byte, journal.HeadBytes), func(uint64) { t.Error("it is safe") }); err != nil {
		t.Fatal(err)
	}
	if c.alone() {
		t.Error("an agent that waits until what it sent is safe is not waited for")
	}
	if c.store.Leave(a); !c.alone() {
		t.Error("nobody is there, and the collector waits")
	}
}

// An agent that is started for a run of which all was over when its collector was killed has no ranks to wait for: it
// and the collector do not wait for each other.
func TestAgentWithoutRanks(t *testing.T) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal"), journal.Run{Run: "a"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := &Collector{journal: j, store: j.Store(), grace: time.Minute, resumed: true, started: time.Now().Add(-time.Hour)}
	a, _, err := c.store.Greet(&moriensv1.Hello{Agent: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 7, Size: 1}}},
		{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: 7}}},
		{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}},
	} {
		m.Sequence = uint64(i + 1)
		if _, err := c.store.Apply(a, m); err != nil {
			t.Fatal(err)
		}
	}
	c.store.Leave(a)
	if _, _, err := c.store.Greet(&moriensv1.Hello{Agent: 2}); err != nil {
		t.Fatal(err)
	}
	if !c.alone() {
		t.Error("the collector waits for an agent to which no rank can come")
	}
	if c.resumed = false; c.alone() {
		t.Error("the first collector of a run does not wait for an agent that is there")
	}
	c.resumed, c.started = true, time.Now()
	if c.alone() {
		t.Error("a collector that has just been started again waits for nobody")
	}
}
