//go:build !quick

package ring_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/internal/testenv"
)

const nobody = 65534

// Another user can make the run's directory before us where everybody may: then there is no run, and nothing of ours
// goes there.
func TestClaimOfAnotherUsersDirectory(t *testing.T) {
	testenv.NeedRoot(t)
	path := ring.DirectoryPath(t.TempDir(), os.Getuid(), "run1")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if f, err := ring.NewDirectory(path).Claim(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Claim = %v, %v", f, err)
	}
}

// Nor is a directory ours that others can enter, or that a link leads to.
func TestClaimOfAnOpenDirectory(t *testing.T) {
	shm := t.TempDir()
	private := filepath.Join(shm, "private")
	open := ring.DirectoryPath(shm, os.Getuid(), "open")
	for path, mode := range map[string]os.FileMode{private: 0o700, open: 0o755} {
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := ring.DirectoryPath(shm, os.Getuid(), "link")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{open, link} {
		if f, err := ring.NewDirectory(path).Claim(); err == nil {
			t.Errorf("Claim of %s = %v", path, f)
		}
	}
}

// What another user has put where leftovers are looked for is neither read nor removed.
func TestSweepLeavesOtherUsersAlone(t *testing.T) {
	testenv.NeedRoot(t)
	shm := t.TempDir()
	path := ring.DirectoryPath(shm, os.Getuid(), "run1")
	file := filepath.Join(path, "0123456789abcdef.process")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chown(path, nobody, nobody), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	if n, err := ring.Sweep(shm, os.Getuid()); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
