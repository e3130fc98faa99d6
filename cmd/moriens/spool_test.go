package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

const nobody = 65534

// openFolder is a directory where anybody can make something, as /tmp is.
func openFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// takenBy has another user take a name.
func takenBy(t *testing.T, user int, path string) {
	t.Helper()
	testenv.NeedRoot(t)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, user, user); err != nil {
		t.Fatal(err)
	}
}

func noted(m manifest, text string) bool {
	return slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, text) })
}

// spoils are what keeps an agent from the usual place of its spool, and what the results then say.
var spoils = []struct {
	name  string
	spoil func(t *testing.T, tmpdir string) (spool string) // of --spool
	says  string
}{
	{"another user has its name", func(t *testing.T, tmpdir string) string {
		takenBy(t, nobody, filepath.Join(tmpdir, fmt.Sprintf("moriens-%d", os.Getuid())))
		return ""
	}, "the spool is in "},
	{"a file has its name", func(t *testing.T, tmpdir string) string {
		if err := os.WriteFile(filepath.Join(tmpdir, fmt.Sprintf("moriens-%d", os.Getuid())), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return ""
	}, "not a directory"},
	{"no directory", func(t *testing.T, tmpdir string) string { return "/dev/null" }, "/dev/null: not a directory"},
	{"a full disk", func(t *testing.T, tmpdir string) string {
		disk := t.TempDir()
		if err := syscall.Mount("none", disk, "tmpfs", 0, "size=64k"); err != nil {
			testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
		}
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		return disk
	}, "no space left on device"},
}

// TestPreloadSpoolElsewhere: no user and no disk keeps a plain preload from measuring; the results say where the spool
// was instead, and nothing remains.
func TestPreloadSpoolElsewhere(t *testing.T) {
	for _, c := range spoils {
		t.Run(c.name, func(t *testing.T) {
			tmpdir := openFolder(t)
			spool := c.spoil(t, tmpdir)
			before, err := os.ReadDir(tmpdir)
			if err != nil {
				t.Fatal(err)
			}
			env := []string{"MORIENS_DIR=run", "TMPDIR=" + tmpdir, "XDG_RUNTIME_DIR="}
			if spool != "" {
				env = append(env, "MORIENS_OPTIONS=--spool="+spool)
			}
			j := preloadJobOf(t, env, short(mpitest.OpenMPI, t)...)
			if err := j.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
			dir := filepath.Join(j.folder, "run")
			m := readManifest(t, dir)
			if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
				t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
			}
			if m.Ranks != 2 || m.Dropped != 0 || !noted(m, c.says) {
				t.Errorf("%d ranks, %d dropped, notes %q", m.Ranks, m.Dropped, m.Notes)
			}
			if j.stderr.String() != "moriens: results in "+dir+"\n" {
				t.Errorf("stderr %q", &j.stderr)
			}
			if left := j.left(t); !slices.Equal(left, []string{"run"}) {
				t.Errorf("left are %q", left)
			}
			if after, err := os.ReadDir(tmpdir); len(after) != len(before) || err != nil {
				t.Errorf("left are %v, %v", after, err)
			}
		})
	}
}

// TestRunSpoolElsewhere: nor does any of it keep `moriens run` from running the job.
func TestRunSpoolElsewhere(t *testing.T) {
	for _, c := range spoils {
		t.Run(c.name, func(t *testing.T) {
			tmpdir, shm, counts := openFolder(t), t.TempDir(), t.TempDir()
			spool := c.spoil(t, tmpdir)
			out := filepath.Join(t.TempDir(), "run")
			args := []string{binary(t), "run", "--out", out, "--shm", shm}
			if spool != "" {
				args = append(args, "--spool", spool)
			}
			args = append(append(args, "--"), short(mpitest.OpenMPI, t)...)
			o := execute(t, []string{"MINIAPP_OUT=" + counts, "TMPDIR=" + tmpdir, "XDG_RUNTIME_DIR="}, args...)
			if o.status != 0 {
				t.Fatalf("%+v", o)
			}
			if spool != "" {
				contains(t, o.stderr, c.says)
			}
			m := readManifest(t, out)
			if d := cmp.Diff(sum(mpitest.Counts(t, counts)), m.MPICalls); d != "" {
				t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
			}
			if m.Ranks != 2 || !noted(m, c.says) {
				t.Errorf("%d ranks, notes %q", m.Ranks, m.Notes)
			}
			if left, err := os.ReadDir(shm); len(left) > 0 || err != nil {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// TestRunWithoutSpool: where there is no place at all, not even in memory, the job runs all the same, and the results
// say which ranks went unrecorded, and why.
func TestRunWithoutSpool(t *testing.T) {
	testenv.Need(t, "unshare")
	testenv.NeedRoot(t)
	folder, err := os.MkdirTemp("/var/tmp", "moriens-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if _, err := built(); err != nil {
		t.Fatal(err)
	}
	counts := filepath.Join(folder, "counts")
	var small []string
	for _, disk := range []struct{ name, size string }{{"tmpdir", "900k"}, {"shm", "1500k"}, {"results", "1000k"}} {
		path := filepath.Join(folder, disk.name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		small = append(small, fmt.Sprintf("mount -t tmpfs -o size=%s none %s", disk.size, path))
	}
	if err := os.Mkdir(counts, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(folder, "kept") // outside of what only the job sees
	script := strings.Join(small, " && ") + ` && mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && { "$@"; status=$?; ls -A ` + filepath.Join(folder, "shm") +
		` >` + filepath.Join(folder, "left") + `; cp -r ` + filepath.Join(folder, "results", "run") + " " + kept + `; exit $status; }`
	mpi := mpitest.OpenMPI
	app := filepath.Join(folder, "app") // that a read-only /tmp cannot keep from being built
	if err := os.Link(mpi.App(t, "planted"), app); err != nil {
		data, err := os.ReadFile(mpi.App(t, "planted"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(app, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"unshare", "--mount", "sh", "-c", script, "sh", binary(t), "run", "--out", filepath.Join(folder, "results", "run"), "--shm", filepath.Join(folder, "shm"), "--"},
		mpi.Args(2, "", app, "1", "50", "1500", "45000", "20", "5")...)
	o := execute(t, []string{"MINIAPP_OUT=" + counts, "TMPDIR=" + filepath.Join(folder, "tmpdir"), "OMPI_MCA_orte_tmpdir_base=" + folder, "PRTE_MCA_prte_tmpdir_base=" + folder, "XDG_RUNTIME_DIR=", "MORIENS_RING=4096"}, args...)
	if o.status != 3 {
		t.Fatalf("%+v", o)
	}
	if len(mpitest.Counts(t, counts)) != 2 {
		t.Error("the job did not run")
	}
	m := readManifest(t, kept)
	if m.Ranks != 2 || len(m.Worlds) != 1 || *m.Complete {
		t.Fatalf("manifest %+v", m)
	}
	if u := m.Worlds[0].Unrecorded; len(u) != 1 || u[0].Ranks != 2 || !strings.Contains(u[0].Reason, "the agent there could not start: ") || !strings.Contains(u[0].Reason, "no space left on device") {
		t.Errorf("unrecorded %+v", u)
	}
	contains(t, o.stderr, "the ranks are not recorded")
	contains(t, o.stdout, "\nincomplete: 2 of 2 ranks not recorded")
	if left, err := os.ReadFile(filepath.Join(folder, "left")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestPreloadSpoolInMemory: where no disk of the node can be written to the spool is with the rings, also that of an
// agent that is started again, and goes with them.
func TestPreloadSpoolInMemory(t *testing.T) {
	testenv.Need(t, "unshare")
	if _, err := built(); err != nil {
		t.Fatal(err)
	}
	// What the job itself needs is not in /tmp, which it sees read-only.
	folder, err := os.MkdirTemp("/var/tmp", "moriens-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	t.Setenv("TMPDIR", folder)
	over := filepath.Join(folder, "over")
	sessions := filepath.Join(folder, "sessions")
	args := []string{"unshare", "--mount", "sh", "-c", `mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && exec "$@"`, "sh"}
	mpi := mpitest.OpenMPI
	args = append(args, mpi.Args(2, "", mpi.App(t, "until"), over)...)
	j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_DRAIN=0", "TMPDIR=/tmp", "XDG_RUNTIME_DIR=", "OMPI_MCA_orte_tmpdir_base=" + sessions, "OMPI_MCA_btl_vader_backing_directory=" + folder}, args...)
	if err := os.Mkdir(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Process.Kill() })
	_, agent := j.waitForAgents(t, 2)
	spools, _ := filepath.Glob(filepath.Join(j.shm, "moriens-*", "spool", "*", "identity.json"))
	if len(spools) != 1 {
		t.Errorf("spools %q", spools)
	}
	syscall.Kill(agent, syscall.SIGKILL)
	waitFor(t, "another agent", func() bool {
		pids := j.agents(t)
		return len(pids) == 2 && pids[1] != agent
	})
	end(t, over)
	if err := j.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	m := readManifest(t, filepath.Join(j.folder, "run"))
	if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	if m.Ranks != 2 || !noted(m, "the spool is in memory, ") || !noted(m, "read-only file system") {
		t.Errorf("%d ranks, notes %q", m.Ranks, m.Notes)
	}
	if left := j.left(t); !slices.Equal(left, []string{"run"}) {
		t.Errorf("left are %q", left)
	}
}

// TestPreloadGivesUp: an agent that gives up leaves nothing in shared memory, though the rank that has started it is
// killed before it reads why.
func TestPreloadGivesUp(t *testing.T) {
	j := untilOver(t, mpitest.OpenMPI, "MORIENS_DIR=/proc/run", "MORIENS_DRAIN=0")
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "word of the agent", func() bool {
		files, _ := filepath.Glob(filepath.Join(j.shm, "moriens-*", "agent"))
		if len(files) != 1 {
			return false
		}
		text, _ := os.ReadFile(files[0])
		return strings.Contains(string(text), "no run directory")
	})
	for _, pid := range append(ranksOf(t, j.over), j.Process.Pid) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	j.Wait()
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	if left := j.left(t); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
}

// ranksOf lists the processes that have a word on their command line, the launcher left out.
func ranksOf(t *testing.T, word string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, _ := os.ReadFile(path)
		if args := strings.Split(string(line), "\x00"); len(args) == 3 && args[1] == word { // program, word, and what follows the last NUL
			var pid int
			fmt.Sscanf(path, "/proc/%d/", &pid)
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Fatalf("no process has %s", word)
	}
	return pids
}

// runOfJob is the name of the run that the ranks of a job with MORIENS_JOB use: known to all who know that variable.
func runOfJob(job string) string {
	hash := uint64(0xcbf29ce484222325)
	for _, c := range []byte("given/" + job) {
		hash = (hash ^ uint64(c)) * 0x100000001b3
	}
	hash = (hash ^ hash>>33) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>33) * 0xc4ceb9fe1a85ec53
	return fmt.Sprintf("%016x", hash^hash>>33)
}

// TestPreloadRingsElsewhere: another user who has the name of the run's directory in shared memory keeps no rank from
// recording; that user's files are left alone, and nothing else remains.
func TestPreloadRingsElsewhere(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, c := range []struct {
			name string
			take func(t *testing.T, path string)
		}{
			{"a directory", func(t *testing.T, path string) { takenBy(t, nobody, path) }},
			{"a link", func(t *testing.T, path string) {
				if err := os.Symlink(t.TempDir(), path); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				j := preloadJobOf(t, []string{"MORIENS_JOB=foretold", "MORIENS_DIR=run"}, short(mpi, t)...)
				taken := fmt.Sprintf("moriens-%d-%s", os.Getuid(), runOfJob("foretold"))
				c.take(t, filepath.Join(j.shm, taken))
				if err := j.Run(); err != nil {
					t.Fatalf("%v\n%s", err, &j.stderr)
				}
				waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
				dir := filepath.Join(j.folder, "run")
				m := readManifest(t, dir)
				if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
					t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
				}
				if m.Ranks != 2 || m.Dropped != 0 || !noted(m, "the ring buffers are in "+filepath.Join(j.shm, taken)+"-") {
					t.Errorf("%d ranks, %d dropped, notes %q", m.Ranks, m.Dropped, m.Notes)
				}
				if j.stderr.String() != "moriens: results in "+dir+"\n" {
					t.Errorf("stderr %q", &j.stderr)
				}
				if left := j.left(t); !slices.Equal(left, []string{"run", taken}) {
					t.Errorf("left are %q", left)
				}
			})
		}
	})
}
