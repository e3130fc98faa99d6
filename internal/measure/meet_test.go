package measure

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ranks whose files cannot be read, as those of a library of another version, are not nobody: an agent that finds no others says so, and is not silent.
func TestMeetNobodyReadable(t *testing.T) {
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
