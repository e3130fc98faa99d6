package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// A neighbour is a job beside another one on the same node.
type neighbour struct {
	uid    uint32 // 0: the test's own user
	counts string
	out    string
	output bytes.Buffer
}

// together runs a job of each neighbour at the same time, with their rings in one directory: each makes its calls only
// when all have begun, and have looked for their neighbour's rings.
func together(t *testing.T, mpi mpitest.MPI, app, shm string, neighbours []*neighbour) {
	t.Helper()
	meet := filepath.Join(shm, "meet")
	if err := os.Mkdir(meet, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(meet, 0o777); err != nil {
		t.Fatal(err)
	}
	var jobs sync.WaitGroup
	for i, n := range neighbours {
		// Where the next one is another user, the rings are not to be seen, though it is known where they are.
		next := neighbours[(i+1)%len(neighbours)].uid
		wait := fmt.Sprintf(`all() { : >"$0/$1-%d"; until [ $(ls "$0" | grep -c "$1") = %d ]; do sleep 0.02; done; }
			all begun
			if [ %d != %d ]; then ls -d %[5]s/moriens-%[4]d-* || exit 8; ls %[5]s/moriens-%[4]d-*/ && exit 9; fi
			all looked
			exec "$@"`, i, len(neighbours), n.uid, next, shm)
		args := append([]string{"run", "--out", n.out, "--shm", shm, "--", "sh", "-c", wait, meet},
			mpi.Args(2, "", app, "1", "200", "1500", "4500", fmt.Sprint(20+10*i), "5")...)
		cmd := exec.Command(binary(t), args...)
		cmd.Dir = filepath.Dir(n.out)
		cmd.Env = mpitest.Environ("MINIAPP_OUT="+n.counts, "HOME="+cmd.Dir, "TMPDIR="+cmd.Dir)
		cmd.Stdout, cmd.Stderr = &n.output, &n.output
		if n.uid != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: n.uid, Gid: n.uid}}
		}
		jobs.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("job %d: %v\n%s", i, err, n.output.String())
			}
		})
	}
	jobs.Wait()
}

// alone checks that a neighbour's result is its own job, whole, and nothing else's.
func (n *neighbour) alone(t *testing.T) {
	t.Helper()
	m := readManifest(t, n.out)
	if d := cmp.Diff(sum(mpitest.Counts(t, n.counts)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	if m.Ranks != 2 || len(m.Worlds) != 1 || m.Dropped != 0 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("manifest %+v", m)
	}
}

// home makes a directory for the results and the temporary files of a neighbour, which is its own.
func home(t *testing.T, parent string, uid uint32) *neighbour {
	t.Helper()
	dir := filepath.Join(parent, fmt.Sprintf("%d-%d", uid, len(entries(t, parent))))
	counts := filepath.Join(dir, "counts")
	for _, path := range []string{dir, counts} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(uid), int(uid)); uid != 0 && err != nil {
			t.Fatal(err)
		}
	}
	return &neighbour{uid: uid, counts: counts, out: filepath.Join(dir, "run")}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// open makes a directory that every user may enter, and for shared memory write to, as /dev/shm is.
func open(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "moriens-neighbours-") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Two runs of one user on one node do not meet.
func TestTwoRuns(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		shm, homes := open(t, 0o777|os.ModeSticky), open(t, 0o755)
		both := []*neighbour{home(t, homes, 0), home(t, homes, 0)}
		together(t, mpi, mpi.App(t, "planted"), shm, both)
		for _, n := range both {
			n.alone(t)
		}
	})
}

// Nor do the runs of two users, of which neither can look into the other's.
func TestTwoUsers(t *testing.T) {
	testenv.NeedRoot(t)
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	shm, homes := open(t, 0o777|os.ModeSticky), open(t, 0o755)
	// What the users run has to be where they may read it.
	app := filepath.Join(homes, "planted")
	copyFile(t, mpi.App(t, "planted"), app)
	if err := os.Chmod(filepath.Dir(binary(t)), 0o755); err != nil {
		t.Fatal(err)
	}
	both := []*neighbour{home(t, homes, 65534), home(t, homes, 65533)}
	together(t, mpi, app, shm, both)
	for _, n := range both {
		n.alone(t)
	}
	if left, _ := filepath.Glob(filepath.Join(shm, "moriens-*")); len(left) != 0 {
		t.Errorf("left in shared memory: %v", left)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
