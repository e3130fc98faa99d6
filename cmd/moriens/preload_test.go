package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// A preloadJob is a job under a plain preload: nothing but the library is given, in the launcher's environment.
type preloadJob struct {
	*exec.Cmd
	folder, shm, counts string
	over                string // ends a job of untilOver
	stdout, stderr      bytes.Buffer
}

// preloadJobOf does not start it. Its output goes through pipes: Wait returns when no process holds them any more.
func preloadJobOf(t *testing.T, env []string, args ...string) *preloadJob {
	t.Helper()
	j := &preloadJob{Cmd: exec.Command(args[0], args[1:]...), folder: t.TempDir(), shm: t.TempDir(), counts: t.TempDir()}
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	j.Dir = j.folder
	// The usual minute for the end can be too little on a machine that does other things too.
	j.Env = mpitest.Environ(append([]string{"LD_PRELOAD=" + library, "MORIENS_SHM=" + j.shm, "MINIAPP_OUT=" + j.counts, "MORIENS_TIMEOUT=600"}, env...)...)
	j.Stdout, j.Stderr = &j.stdout, &j.stderr
	t.Cleanup(func() {
		for _, pid := range j.agents(t) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return j
}

// agents lists the processes of the job's agents by their command lines: the parent that starts it again first.
func (j *preloadJob) agents(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		args := strings.Split(string(line), "\x00")
		if pid, err := strconv.Atoi(e.Name()); err == nil && len(args) > 1 && args[1] == "preloaded" && slices.Contains(args, j.shm) {
			if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--agent=") }) {
				pids = append(pids, pid)
			} else {
				pids = slices.Insert(pids, 0, pid)
			}
		}
	}
	return pids
}

// waitFor waits until something has happened.
func waitFor(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// waitForAgents waits until the agent reads that many rings, and returns its parent and it.
func (j *preloadJob) waitForAgents(t *testing.T, rings int) (parent, agent int) {
	t.Helper()
	var dirs []string
	waitFor(t, "a run in shared memory", func() bool {
		dirs, _ = filepath.Glob(filepath.Join(j.shm, "moriens-*"))
		return len(dirs) == 1
	})
	waitForReader(t, dirs[0], rings)
	pids := j.agents(t)
	if len(pids) != 2 {
		t.Fatalf("agents %v", pids)
	}
	return pids[0], pids[1]
}

// left lists what the job has left in its folder and in shared memory, hidden files too.
func (j *preloadJob) left(t *testing.T) (names []string) {
	t.Helper()
	for _, dir := range []string{j.folder, j.shm} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names
}

// checkPreloaded checks that a run directory is complete and has what the ranks say that they did.
func (j *preloadJob) checkPreloaded(t *testing.T, dir string, ranks int) {
	t.Helper()
	m := readManifest(t, dir)
	if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	if m.Ranks != ranks || m.Dropped != 0 || len(m.Losses.RanksDied) != 0 {
		t.Errorf("manifest %+v", m)
	}
	summary, err := os.ReadFile(filepath.Join(dir, "summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Complete == nil || !*m.Complete || strings.Contains(string(summary), "\nincomplete: ") {
		t.Errorf("incomplete: %q", m.Incomplete)
	}
	contains(t, string(summary), fmt.Sprintf("%d ranks", ranks), "losses: none in the recording\n", "results: "+dir)
	for _, name := range []string{"moriens.log", "collector.json", "journal"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
}

func short(mpi mpitest.MPI, t *testing.T) []string {
	return mpi.Args(2, "", mpi.App(t, "planted"), "1", "200", "6000", "20000", "100", "10")
}

// untilOver is preloadJobOf of a job that lasts until end is called with its over.
func untilOver(t *testing.T, mpi mpitest.MPI, env ...string) *preloadJob {
	t.Helper()
	over := filepath.Join(t.TempDir(), "over")
	j := preloadJobOf(t, env, mpi.Args(2, "", mpi.App(t, "until"), over)...)
	j.over = over
	t.Cleanup(func() {
		if j.Process != nil {
			j.Process.Kill()
		}
	})
	return j
}

// TestPreload: LD_PRELOAD and nothing else gives a run directory. Batch systems kill what a step has left the moment
// its tasks have ended: so does the test, and all is there.
func TestPreload(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, nil, short(mpi, t)...)
		j.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err := j.Run()
		syscall.Kill(-j.Process.Pid, syscall.SIGKILL)
		for _, pid := range j.agents(t) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		left := j.left(t)
		if len(left) != 1 {
			t.Fatalf("left are %q", left)
		}
		dir := filepath.Join(j.folder, left[0])
		if j.stderr.String() != "moriens: results in "+dir+"\n" {
			t.Errorf("stderr %q", &j.stderr)
		}
		j.checkPreloaded(t, dir, 2)
	})
}

// TestPreloadInheritsNothing: launchers wait for all processes that hold the descriptors of their ranks. An agent that
// is stopped, and is not waited for, delays none of them; when it continues, it writes the results.
func TestPreloadInheritsNothing(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := untilOver(t, mpi, "MORIENS_TIMEOUT=0", "MORIENS_DIR=run", "MORIENS_DRAIN=0")
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		checkAgentProcess(t, parent)
		checkAgentProcess(t, agent)
		syscall.Kill(parent, syscall.SIGSTOP)
		syscall.Kill(agent, syscall.SIGSTOP)
		end(t, j.over)
		if err := j.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		if pids := j.agents(t); len(pids) != 2 {
			t.Fatalf("agents %v", pids)
		}
		if j.stderr.Len() != 0 {
			t.Errorf("stderr %q", &j.stderr)
		}
		syscall.Kill(agent, syscall.SIGCONT)
		syscall.Kill(parent, syscall.SIGCONT)
		waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
		j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
	})
}

// checkAgentProcess looks at what an agent's process has of the rank that started it.
func checkAgentProcess(t *testing.T, pid int) {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	environ, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range strings.Split(string(environ), "\x00") {
		for _, prefix := range []string{"LD_PRELOAD=", "OMPI_", "PMIX_", "PMI_", "MPI_", "HYDI_"} {
			if strings.HasPrefix(v, prefix) {
				t.Errorf("in its environment: %s", v)
			}
		}
	}
	for fd, name := range map[string]string{"0": "/dev/null", "1": "/dev/null"} {
		if target, err := os.Readlink(filepath.Join(proc, "fd", fd)); target != name {
			t.Errorf("descriptor %s is %s, %v", fd, target, err)
		}
	}
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after) // from field 3 on
	ours := []string{strconv.Itoa(syscall.Getpgrp())}
	if session, nice := fields[3], fields[16]; slices.Contains(ours, session) || nice != "10" {
		t.Errorf("session %s, nice %s", session, nice)
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	cpus := func(status []byte) string {
		_, after, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ := strings.Cut(after, "\n")
		return strings.TrimSpace(list)
	}
	if cpus(status) != cpus(own) {
		t.Errorf("it may run on %s, the test on %s", cpus(status), cpus(own))
	}
}

// TestPreloadTimeout: an agent that is not done in time is waited for no longer, and that is reported.
func TestPreloadTimeout(t *testing.T) {
	j := untilOver(t, mpitest.OpenMPI, "MORIENS_TIMEOUT=1", "MORIENS_DIR=run", "MORIENS_DRAIN=0")
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	_, agent := j.waitForAgents(t, 2)
	syscall.Kill(agent, syscall.SIGSTOP)
	end(t, j.over)
	if err := j.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	contains(t, j.stderr.String(), "moriens: the agent was not done within MORIENS_TIMEOUT\nhint: ")
	syscall.Kill(agent, syscall.SIGCONT)
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
}

// TestPreloadWithoutMeasuring: where measuring is impossible or switched off the application runs as usual, and at most
// one line gives the reason.
func TestPreloadWithoutMeasuring(t *testing.T) {
	mpi := mpitest.OpenMPI
	for _, c := range []struct {
		name string
		env  []string
		says []string // nothing else
	}{
		{"off", []string{"MORIENS=off"}, nil},
		{"no program", []string{"MORIENS_BIN=/nonexistent/moriens"},
			[]string{"moriens: not recording: /nonexistent/moriens: No such file or directory\nhint: set MORIENS_BIN "}},
		{"no moriens", []string{"MORIENS_BIN=/bin/false"}, []string{"moriens: the agent ended without a message: /bin/false\nhint: "}},
		{"not a program", []string{"MORIENS_BIN=/etc"}, []string{"moriens: not recording: /etc: Permission denied\nhint: "}},
		{"no shared memory", []string{"MORIENS_SHM=/nonexistent"}, []string{"moriens: not recording: /nonexistent/moriens-", ": No such file or directory\nhint: set MORIENS_SHM "}},
		{"no such option", []string{"MORIENS_OPTIONS=--dims=duration:log --nonsense"}, []string{"moriens: unknown flag --nonsense\n", "hint: MORIENS_OPTIONS takes the analysis and --keep options "}},
		{"no run directory", []string{"MORIENS_DIR=/proc/run"}, []string{"moriens: no run directory: ", "\nhint: set MORIENS_DIR to a path "}},
		{"no folder", []string{"MORIENS_DIR=/dev/null/run"}, []string{"moriens: no run directory: ", "\nhint: set MORIENS_DIR to a path "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := preloadJobOf(t, c.env, short(mpi, t)...)
			if err := j.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			if lines := strings.Count("\n"+j.stderr.String(), "\nmoriens: "); lines != min(1, len(c.says)) {
				t.Errorf("stderr %q", &j.stderr)
			}
			contains(t, j.stderr.String(), c.says...)
			if got := sum(mpitest.Counts(t, j.counts))["MPI_Finalize"]; got != 2 {
				t.Errorf("%d ranks reached their end", got)
			}
			waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
			if left := j.left(t); len(left) != 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// TestPreloadFullMemory: no ring fits, and rank 0 and the results say so.
func TestPreloadFullMemory(t *testing.T) {
	shm := t.TempDir()
	if err := syscall.Mount("tmpfs", shm, "tmpfs", 0, "size=64k"); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	j := preloadJobOf(t, []string{"MORIENS_SHM=" + shm, "MORIENS_DIR=run"}, short(mpitest.OpenMPI, t)...)
	j.shm = shm
	t.Cleanup(func() { syscall.Unmount(shm, syscall.MNT_DETACH) })
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	contains(t, j.stderr.String(), "moriens: not recording: "+shm, ": No space left on device\nhint: ")
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	m := readManifest(t, filepath.Join(j.folder, "run"))
	if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "no space left on device") }) {
		t.Errorf("notes %q", m.Notes)
	}
	checkUnrecorded(t, filepath.Join(j.folder, "run"), 2, "no space left on device")
}

// TestPreloadFullDisk: where the disk of the run directory is full, however early that is noticed, the job continues,
// its terminal says why there are no results there, and nothing is left in shared memory.
func TestPreloadFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	for _, c := range []struct {
		freeKiB int
		what    string // that cannot be written
	}{{0, "no run directory: "}, {4, "/journal/"}, {8, "collector.json: "}, {16, "the results are in "}} {
		t.Run(fmt.Sprintf("%d KiB", c.freeKiB), func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, (256-c.freeKiB)<<10), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(disk, "run")
			defer os.RemoveAll(dir)
			j := preloadJobOf(t, []string{"MORIENS_DIR=" + dir, "TMPDIR=" + t.TempDir()}, short(mpitest.OpenMPI, t)...)
			if err := j.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			contains(t, j.stderr.String(), c.what, "no space left on device", "\nhint: ")
			if strings.Count("\n"+j.stderr.String(), "\nmoriens: ") != 1 {
				t.Errorf("stderr %q", &j.stderr)
			}
			if got := sum(mpitest.Counts(t, j.counts))["MPI_Finalize"]; got != 2 {
				t.Errorf("%d ranks reached their end", got)
			}
			waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
			if left := j.left(t); len(left) != 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// TestPreloadRankKilled: a job that is killed in the middle has its results too, soon after.
func TestPreloadRankKilled(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, mpi.Args(2, "", mpi.App(t, "die"), "kill", "1000")...)
		if err := j.Run(); err == nil {
			t.Fatal("it did not die")
		}
		waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
		m := readManifest(t, filepath.Join(j.folder, "run"))
		if m.Ranks != 2 || len(m.Losses.RanksDied) == 0 {
			t.Errorf("manifest %+v", m)
		}
	})
}

// TestPreloadSpool: an option that no spool can obey is one error that says so, and what to do, and nothing blames the
// network; nothing is left.
func TestPreloadSpool(t *testing.T) {
	j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_OPTIONS=--spool-max=1KiB"}, short(mpitest.OpenMPI, t)...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	contains(t, j.stderr.String(), "moriens: the spool is too small: 1 KiB, the least is 1 MiB\nhint: raise --spool-max")
	if strings.Count("\n"+j.stderr.String(), "\nmoriens: ") != 1 {
		t.Errorf("stderr %q", &j.stderr)
	}
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	if left, err := os.ReadDir(j.shm); len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
	out := filepath.Join(j.folder, "run")
	checkUnrecorded(t, out, 2, "the agent there could not start: the spool is too small")
	summary, err := os.ReadFile(filepath.Join(out, "summary.txt"))
	if lines := strings.Split(strings.TrimSpace(string(summary)), "\n"); err != nil || len(lines) < 2 || !strings.HasPrefix(lines[1], "incomplete: 2 of 2 ranks not recorded on ") {
		t.Errorf("%v: summary\n%s", err, summary)
	}
	if o := execute(t, nil, binary(t), "status", out); o.status != 3 || o.stderr != "" {
		t.Errorf("status: %+v", o)
	}
}
