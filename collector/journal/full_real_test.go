//go:build !quick

package journal_test

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/collector/journal"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// On a disk that is really full nothing is acknowledged that is not there, the store continues, and when there is room
// again so does the journal.
func TestFullFileSystem(t *testing.T) {
	testenv.NeedRoot(t)
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=4m"); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk, "journal")
	j := open(t, dir)
	j.Start(nil)
	a := greet(t, j, 7)
	a.send(process(1))
	a.send(ring(2, 1))
	until(t, func() bool { return a.safe() == 2 }) // what follows may fail as a whole
	random := rand.New(rand.NewPCG(1, 2))
	rows := uint64(0)
	for range 400 { // of about 8 KiB
		c := rowsOf(2, rows, 1024)
		for i := range c.Burst {
			c.Burst[i] = random.Uint64N(1 << 40)
		}
		rows += 1024
		if err := a.send(c.Message()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return j.Stats().Failures > 1 })
	s := j.Stats()
	if !strings.Contains(s.Failing, "no space left on device") || s.Waiting == 0 || a.safe() >= a.next {
		t.Fatalf("the disk is not full: %+v, %d of %d acknowledged", s, a.safe(), a.next)
	}
	if n := j.Store().Totals().Calls; n != rows {
		t.Errorf("the store has %d calls of %d", n, rows)
	}

	// A collector that is killed now has what it has acknowledged.
	safe := a.safe()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir)
	a = greet(t, j, 7)
	a.next = j.Store().Held(a.agent)
	if a.next < safe {
		t.Fatalf("%d acknowledged, %d held", safe, a.next)
	}
	rows = j.Store().Totals().Calls
	for range 400 {
		if err := a.send(calls(2, rows, 1024)); err != nil {
			t.Fatal(err)
		}
		rows += 1024
	}
	if err := a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return a.safe() == a.next })
	until(t, func() bool { s := j.Stats(); return s.Failing == "" && s.Waiting == 0 && s.WaitingBytes == 0 })
	finish(t, j)
	again := open(t, dir)
	defer again.Close()
	if total := again.Store().Totals(); total.Calls != rows || total.AgentsDone != 1 || total.Refused != 0 || total.Duplicates != 0 {
		t.Errorf("%+v, want %d calls", total, rows)
	}
}

// A run that cannot begin leaves no files; one that had begun is kept as it is.
func TestFullFileSystemAtTheBegin(t *testing.T) {
	testenv.NeedRoot(t)
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=1m"); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(disk, "journal")
	begin := func() (*journal.Journal, error) {
		return journal.Open(dir, journal.Run{Run: "run"}, slog.New(slog.DiscardHandler))
	}
	if j, err := begin(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v, %v", j, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // by another process
		t.Fatal(err)
	}
	if j, err := begin(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v, %v", j, err)
	}
	if !journal.Exists(dir) {
		t.Error("the journal of somebody else is gone")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	j, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Remove(); err != nil {
		t.Error(err)
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 2 minutes")
		}
	}
}
