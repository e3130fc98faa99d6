package ring_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
)

func TestDirectory(t *testing.T) {
	shm := t.TempDir()
	path := ring.DirectoryPath(shm, 1000, "job7")
	if path != filepath.Join(shm, "moriens-1000-job7") {
		t.Error(path)
	}
	d := ring.NewDirectory(path)
	expect := func(want ring.Scanned) {
		t.Helper()
		got, err := d.Scan()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	expect(ring.Scanned{})
	w, err := ringwriter.New(path, ringwriter.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Exit()
	expect(ring.Scanned{Processes: []string{filepath.Join(path, w.FileName())}})
	thread, err := w.Thread(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := ringwriter.Fault(path, 5, 8, 4711, syscall.ENOSPC); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".0123456789abcdef.0.ring", "fault-x-1", "notes", "0.ring"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(ring.Scanned{
		Rings:  []string{filepath.Join(path, thread.FileName())},
		Faults: []ring.Fault{{Name: "fault-5-28-8-4711", Rank: 5, Size: 8, PID: 4711, Errno: syscall.ENOSPC}},
	})
	expect(ring.Scanned{})
	// Ranks that have called MPI past us: one names the library, the file of another cannot be read as one.
	if err := os.WriteFile(filepath.Join(path, "past-1-2-11"), []byte("/lib/libmpi.so.40"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(path, "past--1-0-12"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(ring.Scanned{Faults: []ring.Fault{
		{Name: "past--1-0-12", Rank: -1, PID: 12, Past: "libmpi"}, {Name: "past-1-2-11", Rank: 1, Size: 2, PID: 11, Past: "/lib/libmpi.so.40"},
	}})
	// And one that has not found it by dlopen.
	if err := os.WriteFile(filepath.Join(path, "past-0-2-13"), []byte("/lib/libmpi.so.40\n/a calls PMPI_Init itself"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(ring.Scanned{Faults: []ring.Fault{
		{Name: "past-0-2-13", Rank: 0, Size: 2, PID: 13, Past: "/lib/libmpi.so.40", Reason: "/a calls PMPI_Init itself"},
	}})
	// Foreign files are kept, and so is the directory.
	if err := d.Remove(); err == nil {
		t.Error("a directory with strangers' files was removed")
	}
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, entry := range left {
		os.Remove(filepath.Join(path, entry.Name()))
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// Only what no living process uses, and what is not brand-new, is swept away.
func TestSweep(t *testing.T) {
	shm := t.TempDir()
	old := time.Now().Add(-time.Hour)
	make := func(run string, lives bool, at time.Time) string {
		path := ring.DirectoryPath(shm, os.Getuid(), run)
		w, err := ringwriter.New(path, ringwriter.Identity{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Thread(2); err != nil {
			t.Fatal(err)
		}
		if lives {
			t.Cleanup(w.Exit)
		} else {
			w.Exit()
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := make("dead", false, old)
	kept := []string{make("alive", true, old), make("young", false, time.Now()), make("open", false, old), filepath.Join(shm, "moriens-8-other")}
	if err := os.Chmod(kept[2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(kept[3], 0o700); err != nil {
		t.Fatal(err)
	}
	n, err := ring.Sweep(shm, os.Getuid())
	if n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is kept", dead)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, shmabi.HeaderBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, short, link, dir, filepath.Join(dir, "absent")} {
		if _, err := ring.OpenReader(path); err == nil {
			t.Errorf("opened ring %s", path)
		}
		if _, err := ring.OpenProcess(path); err == nil {
			t.Errorf("opened process %s", path)
		}
	}
}
