package journal_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/collector/journal"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A meter is the processor time that a process has used.
type meter struct{ ns atomic.Int64 }

func (m *meter) read() time.Duration    { return time.Duration(m.ns.Load()) }
func (m *meter) set(used time.Duration) { m.ns.Store(int64(used)) }

// spending is the journal of a collector whose process has used what a meter shows.
func spending(t *testing.T, dir string, used *meter, takeOver ...string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, journal.Run{Run: "0123456789abcdef", TakeOver: takeOver, Used: used.read}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	j.Start(nil)
	return j
}

// kill waits until all that was written is on disk, and kills the collector.
func kill(t *testing.T, j *journal.Journal) {
	t.Helper()
	done := make(chan bool)
	j.Barrier(func() { close(done) })
	<-done
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// What collectors have used is summed over their lives, up to the end of the run: what the analysis takes, and a
// collector that only analyses, adds nothing.
func TestSpent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	var used meter
	used.set(2 * time.Second)
	kill(t, spending(t, dir, &used)) // what it has used since then is not written
	used.set(time.Second)
	j := spending(t, dir, &used)
	used.set(5 * time.Second)
	if got := j.Spent(); got != 7*time.Second {
		t.Errorf("%v while it runs, want 7s", got)
	}
	frozen, err := j.Finish(t.Context(), nil, "")
	if err != nil || frozen.Collector.CPU != 7*time.Second {
		t.Errorf("%v, %v", frozen.Collector.CPU, err)
	}
	used.set(time.Minute)
	if got := j.Spent(); got != 7*time.Second {
		t.Errorf("%v during the analysis, want 7s", got)
	}
	kill(t, j)
	for range 2 {
		j = spending(t, dir, &used)
		if frozen, err = j.Finish(t.Context(), nil, ""); err != nil || frozen.Collector.CPU != 7*time.Second {
			t.Errorf("concluded again: %v, %v", frozen.Collector.CPU, err)
		}
		kill(t, j)
	}
}

// A collector writes what it has used while it works: another one knows what a killed one had used.
func TestSpentIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	synctest.Test(t, func(t *testing.T) {
		var used meter
		used.set(time.Second)
		j := spending(t, dir, &used)
		synctest.Wait()
		used.set(9 * time.Second)
		time.Sleep(2 * time.Second)
		kill(t, j)
		used.set(0)
		j = spending(t, dir, &used)
		if got := j.Spent(); got != 9*time.Second {
			t.Errorf("%v, want 9s", got)
		}
		kill(t, j)
	})
}

// A collector that continues the journal of another one has used its time once.
func TestSpentOfVolumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	var used meter
	used.set(3 * time.Second)
	first := spending(t, dir, &used)
	other := filepath.Join(dir, "1")
	j, err := journal.Open(other, journal.Run{Run: "0123456789abcdef", Like: first.Begin(), Used: func() time.Duration { return 4 * time.Second }}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	j.Start(nil)
	kill(t, j)
	kill(t, first)
	used.set(time.Second)
	both := spending(t, dir, &used, other)
	frozen, err := both.Finish(t.Context(), nil, "")
	if err != nil || frozen.Collector.CPU != 8*time.Second {
		t.Errorf("%v, want 8s; %v", frozen.Collector.CPU, err)
	}
	kill(t, both)
}

// What a collector has used whose start does not say so is not known, so the sum is not.
func TestSpentIsNotKnown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	used := new(meter)
	used.set(time.Second)
	kill(t, spending(t, dir, used))
	log, err := segment.Open(dir, "journal", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(&moriensv1.JournalStart{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(append([]byte{2}, body...)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	j := spending(t, dir, used)
	if got := j.Spent(); got != 0 {
		t.Errorf("%v", got)
	}
	kill(t, j)
}
