//go:build !quick

package ring_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
)

// A reader is woken when a ring becomes half full, once for each time; when a process waits for it at the end of MPI;
// and when there is a new file.
func TestBell(t *testing.T) {
	const slots = 64
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := ring.NewDirectory(dir)
	bell, err := d.Bell()
	if err != nil {
		t.Fatal(err)
	}
	defer bell.Close()
	rung := func(what string, c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(2 * time.Minute):
			t.Fatalf("no notification of %s", what)
		}
	}
	quiet := func(when string) {
		t.Helper()
		select {
		case <-bell.Rung():
			t.Fatalf("rung %s", when)
		case <-time.After(20 * time.Millisecond):
		}
	}
	p, err := ringwriter.New(dir, ringwriter.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Exit()
	rung("a process", bell.News())
	w, err := p.Thread(slots)
	if err != nil {
		t.Fatal(err)
	}
	rung("a ring", bell.News())
	found, err := d.Scan()
	if err != nil || len(found.Rings) != 1 {
		t.Fatal(found, err)
	}
	r, err := ring.OpenReader(found.Rings[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := uint64(1)
	write := func(n int) {
		for range n {
			if !w.Call(mpicall.Barrier, 0, at, at+1) {
				t.Fatal("no room")
			}
			at += 2
		}
	}
	for range 5 {
		write(slots / 2)
		quiet("before the ring is half full")
		write(1)
		rung("a ring that is half full", bell.Rung())
		write(slots/2 - 1)
		quiet("twice for a ring that is half full")
		for records := make([]ring.Record, slots); r.Head() != r.Tail(); {
			if _, err := r.Read(records); err != nil {
				t.Fatal(err)
			}
		}
		r.Release()
	}
	p.Finalize()
	rung("the end of MPI", bell.Rung())
}

// Without a bell there is no wait for it.
func TestNoBell(t *testing.T) {
	bell, err := ring.NewDirectory(filepath.Join(t.TempDir(), "none")).Bell()
	if err == nil || bell.Rung() != nil || bell.News() != nil {
		t.Error(bell, err)
	}
	bell.Close()
}
