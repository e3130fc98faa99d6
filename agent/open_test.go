package agent

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/agent/spool"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
)

// nobodyThere is a collector that has not started yet.
func nobodyThere() (rendezvous.Rendezvous, error) {
	return rendezvous.Rendezvous{}, errors.New("no collector")
}

// The disk fills up while the agent opens its files there: the agent moves to the next disk. What it has written to the
// first one is deleted, and the collector will be informed.
func TestOpenElsewhere(t *testing.T) {
	var before string
	for inodes, elsewhere := 2, true; elsewhere; inodes++ { // its own is one
		disk, tmpdir := t.TempDir(), t.TempDir()
		if err := syscall.Mount("none", disk, "tmpfs", 0, "size=16m,nr_inodes="+strconv.Itoa(inodes)); err != nil {
			testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
		}
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		t.Setenv("TMPDIR", tmpdir)
		t.Setenv("XDG_RUNTIME_DIR", "")
		n, err := New(Config{Run: "run1", Shm: t.TempDir(), Find: nobodyThere, Spool: disk, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("%d inodes: %v", inodes, err)
		}
		elsewhere = strings.HasPrefix(n.spool.Path(), tmpdir)
		if !elsewhere && !strings.HasPrefix(n.spool.Path(), disk) {
			t.Errorf("%d inodes: the spool is in %s", inodes, n.spool.Path())
		}
		if said := len(n.out.messages) == 1 && strings.Contains(n.out.messages[0].GetNote().GetText(), "no space left on device"); said != elsewhere {
			t.Errorf("%d inodes: %v", inodes, n.out.messages)
		}
		if left, _ := os.ReadDir(disk); elsewhere && len(left) > 0 {
			t.Errorf("%d inodes: left are %v", inodes, left)
		}
		before += n.spool.Said() + "\n"
		n.windows.close()
		if err := errors.Join(n.outbox.Close(), n.spool.Remove(), n.claim.Close()); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(before, "windows") || !strings.Contains(before, "outbox") {
		t.Errorf("the disk was never full when the agent had begun to use it:\n%s", before)
	}
}

// An agent that gives up leaves nothing in shared memory.
func TestNewLeavesNothing(t *testing.T) {
	shm := t.TempDir()
	config := Config{Run: "run1", Shm: shm, Find: nobodyThere, Spool: t.TempDir(), SpoolMax: 1, Log: slog.New(slog.DiscardHandler)}
	if _, err := New(config); !errors.Is(err, spool.ErrTooSmall) {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(shm, "*")); len(left) > 0 || err != nil {
		t.Errorf("left are %q, %v", left, err)
	}
}

// The number of records that rings have dropped while the spool had no room is never negative: a ring that is damaged
// in that time shows less than before.
func TestDroppedWhileFull(t *testing.T) {
	n := &Node{full: fullness{since: time.Now(), before: 9, dropped: 5}, droppedEnded: 2}
	if _, dropped := n.fullSoFar(); dropped != 5 {
		t.Errorf("%d dropped", dropped)
	}
	n.droppedEnded += soundDrops(math.MaxUint64 - 1)
	n.droppedEnded += soundDrops(10)
	if _, dropped := n.fullSoFar(); dropped != 8 {
		t.Errorf("%d dropped", dropped)
	}
}
