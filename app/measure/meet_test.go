package measure

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
)

// Ranks whose files cannot be read, as those of another version of the library, still count as ranks: an agent that
// finds no others reports them, and is not silent.
func TestMeetUnreadableRanks(t *testing.T) {
	for _, left := range []bool{false, true} {
		shm, near := t.TempDir(), t.TempDir()
		p := newPreload(PreloadConfig{Run: "0123456789abcdef", Shm: shm, Near: near, Agent: "a"})
		if err := os.MkdirAll(p.directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if left {
			if err := os.WriteFile(filepath.Join(p.directory, "fedcba9876543210.process"), make([]byte, 1<<16), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := p.meet(nil)
		if said := err != nil && strings.Contains(err.Error(), "cannot be read"); said != left || errors.Is(err, errNobody) == left {
			t.Errorf("a file is left: %v, says %v", left, err)
		}
	}
}

// An agent ends if there are no ranks: it does not if a rank connects at the last moment, to record or to report that
// it cannot.
func TestRetire(t *testing.T) {
	for _, c := range []struct {
		name    string
		come    func(dir string) error
		retired bool
	}{
		{"nobody", func(string) error { return nil }, true},
		{"a rank", func(dir string) error {
			_, err := ringwriter.New(dir, ringwriter.Identity{Rank: 1, Size: 2})
			return err
		}, false},
		{"a rank that cannot record", func(dir string) error { return ringwriter.Fault(dir, 1, 2, 1001, syscall.ENOSPC) }, false},
		{"a rank that cannot be read", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "fedcba9876543210.process"), make([]byte, 1<<16), 0o600)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			ranks := watched{directory: ring.NewDirectory(dir)}
			defer ranks.close()
			if err := ranks.look(); err != nil || ranks.started() {
				t.Fatalf("started %v, %v", ranks.started(), err)
			}
			if err := c.come(dir); err != nil {
				t.Fatal(err)
			}
			if retired, err := ranks.retire(); err != nil || retired != c.retired {
				t.Errorf("retired %v, %v", retired, err)
			}
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) != c.retired {
				t.Error(err)
			}
		})
	}
}
