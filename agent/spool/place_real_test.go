//go:build !quick

package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"moriens/internal/testenv"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

const nobody = 65534

// asNobody runs what another user would do, on a thread that ends with it.
func asNobody(t *testing.T, do func() error) error {
	t.Helper()
	testenv.NeedRoot(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is not root any more
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			done <- errno
			return
		}
		done <- do()
	}()
	return <-done
}

// takes has another user make a directory.
func takes(t *testing.T, path string) error {
	t.Helper()
	return asNobody(t, func() error { return os.Mkdir(path, 0o700) })
}

// A node is where an agent is looking for a place.
type node struct{ tmpdir, tmp, shm, runDir string }

func nodeOf(t *testing.T) *node {
	t.Helper()
	// Others can enter what is above a test's directory of its own, as with /tmp.
	dir, err := os.MkdirTemp("/tmp", "moriens-places-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{filepath.Join(dir, "tmpdir"), filepath.Join(dir, "tmp"), filepath.Join(dir, "shm"), filepath.Join(dir, "run")}
	for path, mode := range map[string]os.FileMode{
		dir: 0o755, n.tmpdir: 0o777 | os.ModeSticky, n.tmp: 0o777 | os.ModeSticky, n.shm: 0o700, n.runDir: 0o755,
	} {
		os.Mkdir(path, 0o700)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", n.tmpdir)
	t.Setenv("XDG_RUNTIME_DIR", "")
	for _, name := range batch {
		t.Setenv(name, "")
	}
	before := temporary
	temporary = n.tmp
	t.Cleanup(func() { temporary = before })
	return n
}

func (n *node) config() Config { return Config{Run: "run", Shm: n.shm, RunDir: n.runDir} }

// usual is the name in a directory that can be guessed.
func usual(dir string) string { return filepath.Join(dir, fmt.Sprintf("moriens-%d", os.Getuid())) }

// mount puts a small disk at a directory.
func mount(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// readOnly makes a directory one that nobody can write to.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		testenv.Lacking(t, "cannot mount here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "full"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}

// session is a directory such as systemd makes for a user who logs in.
func session(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mount(t, dir, "mode=700,size="+size)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

// An agent has a spool whatever its node is like. A restarted agent finds it again, wherever it would look first, and
// nothing remains of it in the end.
func TestPlaces(t *testing.T) {
	const others = "it is accessible to other users"
	foreign := func(t *testing.T, dir string) {
		testenv.NeedRoot(t)
		if err := takes(t, usual(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, n *node, c *Config)
		in   func(n *node, c *Config) string // the directory where the user's is
		says []string                        // none: no notice
	}{
		{"as usual", func(t *testing.T, n *node, c *Config) {}, func(n *node, _ *Config) string { return n.tmpdir }, nil},
		{"no TMPDIR", func(t *testing.T, n *node, c *Config) { t.Setenv("TMPDIR", "") }, func(n *node, _ *Config) string { return n.tmp }, nil},
		{"in the given place", func(t *testing.T, n *node, c *Config) { c.Dir = filepath.Join(t.TempDir(), "new") }, func(_ *node, c *Config) string { return c.Dir }, nil},
		{"the given place is unusable", func(t *testing.T, n *node, c *Config) { c.Dir = "/dev/null/spool" }, func(n *node, _ *Config) string { return n.tmpdir },
			[]string{"the spool is in ", "/dev/null: not a directory"}},
		{"another user's directory", func(t *testing.T, n *node, c *Config) { foreign(t, n.tmpdir) }, func(n *node, _ *Config) string { return n.tmpdir }, []string{others, "permission denied"}},
		{"somebody's file", func(t *testing.T, n *node, c *Config) {
			if err := os.WriteFile(usual(n.tmpdir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, func(n *node, _ *Config) string { return n.tmpdir }, []string{others, "not a directory"}},
		{"a link", func(t *testing.T, n *node, c *Config) {
			if err := os.Symlink(n.runDir, usual(n.tmpdir)); err != nil {
				t.Fatal(err)
			}
		}, func(n *node, _ *Config) string { return n.tmpdir }, []string{others}},
		{"open to others", func(t *testing.T, n *node, c *Config) {
			if err := errors.Join(os.Mkdir(usual(n.tmpdir), 0o700), os.Chmod(usual(n.tmpdir), 0o755)); err != nil {
				t.Fatal(err)
			}
		}, func(n *node, _ *Config) string { return n.tmpdir }, []string{others}},
		{"a read-only TMPDIR", func(t *testing.T, n *node, c *Config) { readOnly(t, n.tmpdir) }, func(n *node, _ *Config) string { return n.tmp }, []string{"tmpdir", "read-only file system"}},
		{"read-only, and there before", func(t *testing.T, n *node, c *Config) {
			if err := os.Mkdir(usual(n.tmpdir), 0o700); err != nil {
				t.Fatal(err)
			}
			readOnly(t, n.tmpdir)
		}, func(n *node, _ *Config) string { return n.tmp }, []string{"tmpdir", "read-only file system"}},
		{"a full TMPDIR", func(t *testing.T, n *node, c *Config) { mount(t, n.tmpdir, "size=512k"); fill(t, n.tmpdir) }, func(n *node, _ *Config) string { return n.tmp },
			[]string{"tmpdir", "no space left on device"}},
		{"no disk at all", func(t *testing.T, n *node, c *Config) {
			mount(t, n.tmpdir, "size=512k")
			readOnly(t, n.tmp)
		}, func(n *node, _ *Config) string { return n.shm }, []string{"the spool is in memory, 64 MiB at most: ", "no space left on device", "read-only file system"}},
		{"no disk, and little memory", func(t *testing.T, n *node, c *Config) {
			readOnly(t, n.tmpdir)
			readOnly(t, n.tmp)
			mount(t, n.shm, "mode=700,size=50m")
		}, func(n *node, _ *Config) string { return n.shm }, []string{"the spool is in memory, 5 MiB at most: "}},
		{"no disk and no memory", func(t *testing.T, n *node, c *Config) {
			readOnly(t, n.tmpdir)
			readOnly(t, n.tmp)
			mount(t, n.shm, "mode=700,size=64k")
		}, func(n *node, _ *Config) string { return n.runDir }, []string{"the spool is in ", "64 KiB"}},
		{"a session's directory", func(t *testing.T, n *node, c *Config) { session(t, "1g") }, func(*node, *Config) string { return os.Getenv("XDG_RUNTIME_DIR") }, nil},
		{"a small session's directory", func(t *testing.T, n *node, c *Config) { session(t, "100m") }, func(n *node, _ *Config) string { return n.tmpdir }, nil},
		{"one that is large enough", func(t *testing.T, n *node, c *Config) { session(t, "100m"); c.Max = 50 << 20 }, func(*node, *Config) string { return os.Getenv("XDG_RUNTIME_DIR") }, nil},
		{"that of a node that a batch job is on", func(t *testing.T, n *node, c *Config) { session(t, "1g"); t.Setenv("SLURM_JOB_ID", "1") }, func(n *node, _ *Config) string { return n.tmpdir }, nil},
		{"that of another node", func(t *testing.T, n *node, c *Config) { t.Setenv("XDG_RUNTIME_DIR", "/run/user/nobody") }, func(n *node, _ *Config) string { return n.tmpdir }, nil},
		{"one that is open to others", func(t *testing.T, n *node, c *Config) {
			if err := os.Chmod(session(t, "1g"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, func(n *node, _ *Config) string { return n.tmpdir }, nil},
		{"a link to one", func(t *testing.T, n *node, c *Config) {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(session(t, "1g"), link); err != nil {
				t.Fatal(err)
			}
			t.Setenv("XDG_RUNTIME_DIR", link)
		}, func(n *node, _ *Config) string { return n.tmpdir }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nodeOf(t)
			config := n.config()
			c.make(t, n, &config)
			before := listing(t, n)
			s, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			said := s.Said()
			if in := c.in(n, &config); filepath.Dir(filepath.Dir(s.Path())) != in || (said == "") != (len(c.says) == 0) {
				t.Errorf("it is in %s, want one in %s, and says %q", s.Path(), in, said)
			}
			for _, text := range c.says {
				if !strings.Contains(said, text) {
					t.Errorf("it says %q, want %q", said, text)
				}
			}
			for _, path := range []string{s.Path(), filepath.Dir(s.Path())} {
				info, err := os.Lstat(path)
				if err != nil || info.Mode() != os.ModeDir|0o700 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
			if _, err := Open(config); !errors.Is(err, ErrInUse) {
				t.Errorf("two agents: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			// All is well again: that is no reason to start over.
			for _, dir := range []string{n.tmp, n.tmpdir} {
				if syscall.Unmount(dir, syscall.MNT_DETACH) == nil && strings.HasPrefix(s.Path(), dir) {
					t.Fatal("it is where nothing can be written")
				}
			}
			again, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			if again.Path() != s.Path() || again.Agent != s.Agent || again.Fresh() || !s.Fresh() || again.InMemory() != s.InMemory() || again.Said() != said {
				t.Errorf("the next life has %s, the one before %s, and says %q", again.Path(), s.Path(), again.Said())
			}
			if err := again.Remove(); err != nil {
				t.Error(err)
			}
			for _, path := range listing(t, n) {
				if !slices.Contains(before, path) {
					t.Errorf("%s is left", path)
				}
			}
		})
	}
}

func listing(t *testing.T, n *node) (all []string) {
	t.Helper()
	dirs := []string{n.tmpdir, n.tmp, n.shm, n.runDir}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

// Where there is no usable place the error gives the reason for each of them, and no files remain.
func TestNoPlace(t *testing.T) {
	n := nodeOf(t)
	for _, dir := range []string{n.tmpdir, n.tmp, n.runDir} {
		readOnly(t, dir)
	}
	mount(t, n.shm, "mode=700,size=64k")
	_, err := Open(n.config())
	if !errors.Is(err, unix.EROFS) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Open: %v", err)
	}
	for _, dir := range []string{n.tmpdir, n.tmp, n.runDir, n.shm} {
		if !strings.Contains(err.Error(), dir) {
			t.Errorf("of %s nothing is said: %v", dir, err)
		}
	}
	if left := listing(t, n); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
}

// A user who has the usual name of another user's directory does not keep that user from having a spool, and cannot
// take its place. All agents of that user have the same directory.
func TestAnotherUserHasTheName(t *testing.T) {
	n := nodeOf(t)
	if err := takes(t, usual(n.tmpdir)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(n.config())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	user := filepath.Dir(s.Path())
	err = asNobody(t, func() error {
		if err := os.Rename(user, user+"x"); !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("rename: %w", err)
		}
		if _, err := os.ReadDir(user); !errors.Is(err, unix.EACCES) {
			return fmt.Errorf("read: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	c := n.config()
	c.Run = "another"
	other, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(other.Path()) != user {
		t.Errorf("%s and %s", s.Path(), other.Path())
	}
	if err := other.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Path()); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(n.tmpdir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A spool that is removed, and whose place is not usable any more, is made again in another one. It takes along what is
// not acknowledged, and a restarted agent finds it there.
func TestAgainElsewhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, n *node)
		memory bool
	}{
		{"somebody has its name", func(t *testing.T, n *node) {
			if err := takes(t, usual(n.tmpdir)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"the disk is read-only", func(t *testing.T, n *node) { readOnly(t, n.tmpdir) }, false},
		{"all disks are", func(t *testing.T, n *node) { readOnly(t, n.tmpdir); readOnly(t, n.tmp) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := nodeOf(t)
			b := open(t, n.config())
			defer func() { b.close() }()
			was, agent := b.spool.Path(), b.spool.Agent
			commit := func(text string) {
				t.Helper()
				x := Transaction{Messages: []*moriensv1.ReportRequest{note(text)}, Process: 1, State: &moriensv1.ProcessState{LogBytes: uint64(len(text))}}
				if err := b.Commit(x); err != nil {
					t.Fatal(err)
				}
			}
			commit("before")
			if err := os.RemoveAll(filepath.Dir(was)); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, n)
			lost, err := b.Again("a test")
			if err != nil || lost != 0 || b.Gone() {
				t.Fatal(lost, err)
			}
			if at := b.spool.Path(); at == was || b.spool.InMemory() != c.memory || !strings.Contains(b.spool.Said(), n.tmpdir) {
				t.Errorf("it is in %s, and says %q", at, b.spool.Said())
			}
			if most := b.spool.Budget.Max(); c.memory && most > memoryBytes || most < int64(MinBytes) {
				t.Errorf("it takes %s", units.Bytes(most))
			}
			commit("behind")
			b.close()
			b = open(t, n.config())
			if got := b.texts(t, 0); len(got) != 2 || got[0] != "before" || got[1] != "behind" || b.spool.Agent != agent {
				t.Errorf("the next life has %q", got)
			}
			if err := b.spool.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Old spools go wherever they are.
func TestSweepEverywhere(t *testing.T) {
	n := nodeOf(t)
	if err := takes(t, usual(n.tmpdir)); err != nil {
		t.Fatal(err)
	}
	old := func(run string) {
		t.Helper()
		c := n.config()
		c.Run = run
		s, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{identityFile, "."} {
			if err := os.Chtimes(filepath.Join(s.Path(), name), sweepTime, sweepTime); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	old("in the place of choice")
	t.Setenv("TMPDIR", "")
	old("in the last one")
	t.Setenv("TMPDIR", n.tmpdir)
	if removed, err := Sweep(""); removed != 2 || err != nil {
		t.Errorf("%d removed, %v", removed, err)
	}
	if left := listing(t, n); len(left) != 1 || left[0] != usual(n.tmpdir) {
		t.Errorf("left are %q", left)
	}
	if removed, err := Sweep("/dev/null/none"); removed != 0 || err != nil {
		t.Errorf("%d removed, %v", removed, err)
	}
}

// A name is not taken where another agent of this user removes the directory in the same moment, as it does when the
// directory is empty.
func TestRemovedInTheSameMoment(t *testing.T) {
	n := nodeOf(t)
	if _, err := openPrivate(usual(n.tmp)); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errTaken) {
		t.Error(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				os.Remove(usual(n.tmp))
			}
		}
	}()
	p := place{dir: n.tmp}
	for range 2000 {
		path, taken, err := p.makeUser()
		if taken != nil || err == nil && path != usual(n.tmp) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, taken: %v, %v", path, taken, err)
			break
		}
	}
	close(stop)
	<-stopped
}
