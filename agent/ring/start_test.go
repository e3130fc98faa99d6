package ring

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moriens/cshim/ringwriter"
)

// hold creates a file of a process that lives until it is closed. An agent that runs locks all but the first byte.
func hold(t *testing.T, path string) *os.File {
	t.Helper()
	if filepath.Base(path) == AgentFile {
		return lockFrom(t, path, 1)
	}
	return lockFrom(t, path, 0)
}

// lockFrom creates a file that is locked from a byte on.
func lockFrom(t *testing.T, path string, first int64) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: first}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestStarting: ranks that are about to record are counted each time, and those that died at it leave nothing.
func TestStarting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	first := hold(t, filepath.Join(path, "00000000000000a1.start"))
	hold(t, filepath.Join(path, "00000000000000a2.start"))
	d := NewDirectory(path)
	for i, want := range []int{2, 2, 1, 1} {
		if i == 2 {
			first.Close()
		}
		found, err := d.Scan()
		if err != nil || found.Starting != want || len(found.Rings)+len(found.Processes)+len(found.Faults) != 0 {
			t.Errorf("look %d: %+v, want %d that start; %v", i, found, want, err)
		}
	}
	if _, err := os.Stat(first.Name()); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// A rank that was about to record is found whatever time a scan takes: here its process is published, and its start
// file goes, between the listing and the look at that file.
func TestStartedDuringTheScan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	start := hold(t, filepath.Join(path, "00000000000000a1.start"))
	var process *ringwriter.Process
	d := NewDirectory(path)
	d.readDir = func(path string) ([]os.DirEntry, error) {
		entries, err := os.ReadDir(path)
		if process == nil {
			if process, err = ringwriter.New(path, ringwriter.Identity{}); err != nil {
				t.Fatal(err)
			}
			os.Remove(start.Name())
			start.Close()
		}
		return entries, err
	}
	found, err := d.Scan()
	if err != nil || found.Starting != 0 || len(found.Processes) != 1 || filepath.Base(found.Processes[0]) != process.FileName() {
		t.Errorf("%+v, %v", found, err)
	}
	process.Exit()
}

// TestRetire: an agent to which no rank has connected leaves no files. It keeps running where a rank connects at the
// last moment and has relied on it. Where that rank has started another agent, all new files are left to the two.
func TestRetire(t *testing.T) {
	const agentFile, dead, start = AgentFile, ".00000000000000a1.process", "00000000000000a2.start"
	for _, c := range []struct {
		name    string
		come    []string // while it retires
		retired bool
		left    []string
	}{
		{"nobody", nil, true, nil},
		{"a rank", []string{start}, false, []string{dead, start, agentFile}},
		{"a rank with an agent of its own", []string{start, agentFile}, true, []string{dead, start, agentFile}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			lock := hold(t, filepath.Join(path, agentFile))
			if err := os.WriteFile(filepath.Join(path, dead), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			d := NewDirectory(path)
			retired, err := d.Retire(func() (bool, error) {
				for _, name := range c.come {
					hold(t, filepath.Join(path, name))
				}
				found, err := d.Scan()
				return found.Starting > 0, err
			})
			if err != nil || retired != c.retired {
				t.Errorf("retired %v, %v", retired, err)
			}
			var left []string
			entries, _ := os.ReadDir(path)
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left are %q, want %q", left, c.left)
			}
			own, err := lock.Stat()
			if err != nil {
				t.Fatal(err)
			}
			now, err := os.Stat(filepath.Join(path, agentFile))
			if same := err == nil && os.SameFile(own, now); same == c.retired {
				t.Errorf("the file is its own: %v", same)
			}
		})
	}
}

// An agent leaves alone what appears after its last look: that belongs to another agent.
func TestRetireAfter(t *testing.T) {
	path := t.TempDir()
	hold(t, filepath.Join(path, AgentFile))
	d := NewDirectory(path)
	retired, err := d.Retire(func() (bool, error) {
		found, err := d.Scan()
		for _, name := range []string{AgentFile, "00000000000000a2.start"} {
			hold(t, filepath.Join(path, name))
		}
		return found.Starting > 0, err
	})
	entries, _ := os.ReadDir(path)
	if err != nil || !retired || len(entries) != 2 {
		t.Errorf("retired %v, %v; left are %v", retired, err, entries)
	}
}

// TestScanAgain: a directory that has not changed for a while is not listed again, and yet new files are found at once.
func TestScanAgain(t *testing.T) {
	path := t.TempDir()
	d := NewDirectory(path)
	for i := range 3 {
		name := filepath.Join(path, RingFile(7, uint32(i)))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := d.Scan()
		if err != nil || len(found.Rings) != 1 || found.Rings[0] != name {
			t.Fatalf("scan %d: %+v, %v", i, found, err)
		}
		past := time.Now().Add(-time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if found, err := d.Scan(); err != nil || len(found.Rings) != 0 {
				t.Fatalf("scan %d: %+v, %v", i, found, err)
			}
		}
		if d.listed.IsZero() {
			t.Error("it is listed each time")
		}
		d.Forget(name)
		if found, err := d.Scan(); err != nil || len(found.Rings) != 1 {
			t.Fatalf("scan %d: %+v, %v", i, found, err)
		}
	}
}

// TestSweepSparesAgents: a run is in use while its agent or a rank that is about to record is there.
func TestSweepSparesAgents(t *testing.T) {
	shm := t.TempDir()
	path := DirectoryPath(shm, os.Getuid(), "0123456789abcdef")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep := func() int {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		n, err := Sweep(shm, os.Getuid())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, name := range []string{AgentFile, "00000000000000a1.start"} {
		f := hold(t, filepath.Join(path, name))
		if n := sweep(); n != 0 {
			t.Errorf("%s: removed", name)
		}
		f.Close()
	}
	if n := sweep(); n != 1 {
		t.Error("files of a run that is over are kept")
	}
	if _, err := os.Stat(path); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// TestClear: the file that shows the user the reason is kept, and so is one that a rank is making, which is to read it.
// Remove deletes them too.
func TestClear(t *testing.T) {
	const making = ".00000000000000a2.0.ring"
	path := t.TempDir()
	for _, name := range []string{AgentFile, "00000000000000a1.process", "00000000000000a1.0.ring", making, "00000000000000a1.start", "fault-0-28", "other"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	d := NewDirectory(path)
	if err := d.Clear(); err != nil {
		t.Fatal(err)
	}
	if names := left(); !slices.Equal(names, []string{making, AgentFile, "other"}) {
		t.Errorf("left are %q", names)
	}
	if err := d.Remove(); err == nil {
		t.Error("a directory that is not empty is removed")
	}
	if names := left(); !slices.Equal(names, []string{"other"}) {
		t.Errorf("left are %q", names)
	}
}

// TestTaken: a directory is its agent's until another one's file is there, also where the file has gone.
func TestTaken(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, AgentFile)
	own := hold(t, file)
	d := NewDirectory(path)
	if d.Taken(own) {
		t.Error("its own file is another agent's")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if d.Taken(own) {
		t.Error("no file is another agent's")
	}
	hold(t, file)
	if !d.Taken(own) {
		t.Error("another agent's file is its own")
	}
}
