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
)

// A preloadJob is a job under a plain preload: nothing but the library is given, in the launcher's environment.
type preloadJob struct {
	*exec.Cmd
	folder, shm, counts string
	stdout, stderr      bytes.Buffer
}

// preloadJobOf does not start it. Its output comes through pipes: Wait returns when nobody holds them any more.
func preloadJobOf(t *testing.T, env []string, args ...string) *preloadJob {
	t.Helper()
	j := &preloadJob{Cmd: exec.Command(args[0], args[1:]...), folder: t.TempDir(), shm: t.TempDir(), counts: t.TempDir()}
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	j.Dir = j.folder
	j.Env = mpitest.Environ(append([]string{"LD_PRELOAD=" + library, "MORIENS_SHM=" + j.shm, "MINIAPP_OUT=" + j.counts}, env...)...)
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

// waitFor waits until something has come true.
func waitFor(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !come(); time.Sleep(5 * time.Millisecond) {
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

// checkPreloaded sees that a run directory is complete and tells what the ranks say that they did.
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
	contains(t, string(summary), fmt.Sprintf("%d ranks", ranks), "losses: none\n", "results: "+dir+"\n")
	for _, name := range []string{"moriens.log", "collector.json", "journal"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
}

func short(mpi mpitest.MPI, t *testing.T) []string {
	return mpi.Args(2, "", mpi.App(t, "planted"), "1", "200", "6000", "20000", "100", "10")
}

func long(mpi mpitest.MPI, t *testing.T) []string {
	return mpi.Args(2, "", mpi.App(t, "planted"), "1", "600", "18000", "60000", "100", "10")
}

// TestPreload: LD_PRELOAD and nothing else gives a run directory. Batch systems kill what a step has left the moment its tasks have
// ended: so does the test, and all is there.
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

// TestPreloadInheritsNothing: launchers wait for whoever has what they gave to their ranks. An agent that stands still, and is not waited for, holds
// nobody up; going on, it writes the results.
func TestPreloadInheritsNothing(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, []string{"MORIENS_TIMEOUT=0", "MORIENS_DIR=run", "MORIENS_DRAIN=0"}, long(mpi, t)...)
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		checkAgentProcess(t, parent)
		checkAgentProcess(t, agent)
		syscall.Kill(parent, syscall.SIGSTOP)
		syscall.Kill(agent, syscall.SIGSTOP)
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

// TestPreloadAgentKilled: an agent that is killed is started again and goes on where it was; neither the job nor the results notice.
func TestPreloadAgentKilled(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_DRAIN=0"}, long(mpi, t)...)
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		syscall.Kill(agent, syscall.SIGKILL)
		waitFor(t, "another agent", func() bool {
			pids := j.agents(t)
			return len(pids) == 2 && pids[0] == parent && pids[1] != agent
		})
		if err := j.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		dir := filepath.Join(j.folder, "run")
		if j.stderr.String() != "moriens: results in "+dir+"\n" {
			t.Errorf("stderr %q", &j.stderr)
		}
		j.checkPreloaded(t, dir, 2)
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
	})
}

// TestPreloadFinish: the user's command ends the measurement, not the job.
func TestPreloadFinish(t *testing.T) {
	mpi := mpitest.OpenMPI
	j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_DRAIN=0"}, long(mpi, t)...)
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	j.waitForAgents(t, 2)
	dir := filepath.Join(j.folder, "run")
	if o := execute(t, nil, binary(t), "finish", dir); o.status != 0 {
		t.Errorf("finish: %+v", o)
	}
	if m := readManifest(t, dir); m.Ranks != 2 {
		t.Errorf("manifest %+v", m)
	}
	if err := j.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	if got := sum(mpitest.Counts(t, j.counts))["MPI_Finalize"]; got != 2 {
		t.Errorf("%d ranks came to their end", got)
	}
}

// TestPreloadAgentGone: where agent and parent are killed, nothing is left to wait for, and that is said. The time allowed is a day. A
// collector and an agent make results of everything, and leave nothing else.
func TestPreloadAgentGone(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, []string{"MORIENS_TIMEOUT=86400", "MORIENS_DRAIN=0", "MORIENS_DIR=run"}, long(mpi, t)...)
		if err := j.Start(); err != nil {
			t.Fatal(err)
		}
		parent, agent := j.waitForAgents(t, 2)
		syscall.Kill(parent, syscall.SIGKILL)
		syscall.Kill(agent, syscall.SIGKILL)
		if err := j.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &j.stderr)
		}
		contains(t, j.stderr.String(), "moriens: the agent ended without a word: "+binary(t)+"\nhint: if it was killed, `moriens collect --out`")

		out := filepath.Join(j.folder, "run")
		os.Remove(filepath.Join(out, "collector.json")) // of the one that was killed
		collect, said := start(t, "collect", "--out", out)
		o := execute(t, []string{"TMPDIR=" + os.TempDir()}, binary(t), "agent", "--dir", out, "--shm", j.shm, "--idle", "100ms")
		if err := collect.Wait(); err != nil || o.status != 0 {
			t.Fatalf("collector %v\n%s\nagent %d %s", err, said, o.status, o.stderr)
		}
		m := readManifest(t, out)
		if d := cmp.Diff(sum(mpitest.Counts(t, j.counts)), m.MPICalls); d != "" {
			t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
		}
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
	})
}

// TestPreloadTimeout: an agent that is not done in time is waited for no longer, and that is said.
func TestPreloadTimeout(t *testing.T) {
	mpi := mpitest.OpenMPI
	j := preloadJobOf(t, []string{"MORIENS_TIMEOUT=1", "MORIENS_DIR=run", "MORIENS_DRAIN=0"}, long(mpi, t)...)
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	_, agent := j.waitForAgents(t, 2)
	syscall.Kill(agent, syscall.SIGSTOP)
	if err := j.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	contains(t, j.stderr.String(), "moriens: the agent was not done in the time that MORIENS_TIMEOUT allows\nhint: ")
	syscall.Kill(agent, syscall.SIGCONT)
	waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
	j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
}

// TestPreloadNot: where nothing can or shall be measured the application does not notice, and one line at most says why.
func TestPreloadNot(t *testing.T) {
	mpi := mpitest.OpenMPI
	for _, c := range []struct {
		name string
		env  []string
		says []string // nothing else
	}{
		{"off", []string{"MORIENS=off"}, nil},
		{"no program", []string{"MORIENS_BIN=/nonexistent/moriens"},
			[]string{"moriens: not recording: /nonexistent/moriens: No such file or directory\nhint: "}},
		{"no moriens", []string{"MORIENS_BIN=/bin/false"}, []string{"moriens: the agent ended without a word: /bin/false\nhint: "}},
		{"not a program", []string{"MORIENS_BIN=/etc"}, []string{"moriens: not recording: /etc: Permission denied\nhint: "}},
		{"no shared memory", []string{"MORIENS_SHM=/nonexistent"}, []string{"moriens: not recording: /nonexistent/moriens-", ": No such file or directory\nhint: "}},
		{"no such option", []string{"MORIENS_OPTIONS=--dims=duration:log --nonsense"}, []string{"moriens: unknown flag --nonsense", "\nhint: "}},
		{"no run directory", []string{"MORIENS_DIR=/proc/run"}, []string{"moriens: no run directory: ", "\nhint: name one by MORIENS_DIR"}},
		{"no folder", []string{"MORIENS_DIR=/dev/null/run"}, []string{"moriens: no run directory: ", "\nhint: name one by MORIENS_DIR"}},
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
				t.Errorf("%d ranks came to their end", got)
			}
			waitFor(t, "the agent's end", func() bool { return len(j.agents(t)) == 0 })
			rings, _ := filepath.Glob(filepath.Join(j.shm, "moriens-*", "*.ring"))
			if found, _ := filepath.Glob(filepath.Join(j.folder, "*")); len(found)+len(rings) != 0 {
				t.Errorf("left are %q, %q", found, rings)
			}
		})
	}
}

// TestPreloadFullMemory: no ring fits, and rank 0 and the results say so.
func TestPreloadFullMemory(t *testing.T) {
	shm := t.TempDir()
	if err := syscall.Mount("tmpfs", shm, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
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

// TestPreloadOneAfterAnother: jobs have a run each, and never each other's directory.
func TestPreloadOneAfterAnother(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "planted")
		script := strings.Join(append(mpi.Args(2, "", app, "1", "20", "600", "2000", "10", "10"), "&&",
			app, "1", "20", "600", "2000", "10", "10", "&&", app, "1", "20", "600", "2000", "10", "10"), " ")
		j := preloadJobOf(t, []string{"MORIENS_DIR=below/run", "MORIENS_OPTIONS=--dims=duration:lin"}, "/bin/sh", "-c", script)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		var said string
		for i, ranks := range []int{2, 1, 1} {
			dir := filepath.Join(j.folder, "below", "run")
			if i > 0 {
				dir += "-" + strconv.Itoa(i+1)
			}
			if m := readManifest(t, dir); m.Ranks != ranks || len(m.Worlds) != 1 {
				t.Errorf("%s: manifest %+v", dir, m)
			}
			said += "moriens: results in " + dir + "\n"
			clusters, err := os.ReadFile(filepath.Join(dir, "clusters.json"))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(clusters), `"scale": "lin"`)
		}
		if j.stderr.String() != said {
			t.Errorf("stderr %q", &j.stderr)
		}
	})
}

// TestPreloadAtOnce: two jobs of one user on one node at the same time do not meet.
func TestPreloadAtOnce(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		first := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_QUIET=1"}, long(mpi, t)...)
		second := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_QUIET=1", "MORIENS_SHM=" + first.shm}, short(mpi, t)...)
		second.shm = first.shm
		for _, j := range []*preloadJob{first, second} {
			if err := j.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for _, j := range []*preloadJob{first, second} {
			if err := j.Wait(); err != nil || j.stderr.Len() != 0 {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
		}
	})
}

// TestPreloadTwoNodes: ranks that do not share memory have an agent each, and one of those has the collector.
func TestPreloadTwoNodes(t *testing.T) {
	mpi := mpitest.OpenMPI
	app := []string{mpi.App(t, "planted"), "1", "200", "6000", "20000", "100", "10"}
	other := t.TempDir()
	args := slices.Concat([]string{mpi.Launcher, "--oversubscribe", "-n", "1"}, app, []string{":", "-n", "1", "-x", "MORIENS_SHM=" + other}, app)
	j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, args...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
	if left := j.left(t); !slices.Equal(left, []string{"run"}) {
		t.Errorf("left are %q", left)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestPreloadSpawn: what a job spawns is a world of the same run.
func TestPreloadSpawn(t *testing.T) {
	mpi := mpitest.OpenMPI // Debian's MPICH cannot spawn
	j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, mpi.Args(2, "", mpi.App(t, "siblings"))...)
	if err := j.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &j.stderr)
	}
	m := readManifest(t, filepath.Join(j.folder, "run"))
	if m.MPICalls["MPI_Recv"] != 40 || m.MPICalls["MPI_Send"] != 40 || m.MPICalls["MPI_Finalize"] != 6 || len(m.Worlds) != 3 || m.Ranks != 6 {
		t.Errorf("manifest %+v", m)
	}
	if left := j.left(t); !slices.Equal(left, []string{"run"}) {
		t.Errorf("left are %q", left)
	}
}

// TestPreloadSessions: a program without MPI_Finalize waits for its results when it exits.
func TestPreloadSessions(t *testing.T) {
	mpi := mpitest.MPICH // Open MPI 4 has no sessions
	for _, args := range [][]string{nil, {"world"}} {
		j := preloadJobOf(t, []string{"MORIENS_DIR=run"}, mpi.Args(2, "", append([]string{mpi.App(t, "sessions")}, args...)...)...)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		j.checkPreloaded(t, filepath.Join(j.folder, "run"), 2)
	}
}

// TestPreloadUnderRun: where there is a run, nobody makes another, though the library is preloaded twice.
func TestPreloadUnderRun(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		j := preloadJobOf(t, nil, append([]string{binary(t), "run", "--out", "run", "--"}, short(mpi, t)...)...)
		if err := j.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &j.stderr)
		}
		if left := j.left(t); !slices.Equal(left, []string{"run"}) {
			t.Errorf("left are %q", left)
		}
		if m := readManifest(t, filepath.Join(j.folder, "run")); m.Ranks != 2 || len(m.Worlds) != 1 {
			t.Errorf("manifest %+v", m)
		}
	})
}

// TestPreloadSpool: where an agent cannot have its spool one error says so, and what to do, and nothing blames the network.
func TestPreloadSpool(t *testing.T) {
	mpi := mpitest.OpenMPI
	for _, c := range []struct{ name, option, says string }{
		{"not a directory", "--spool=/dev/null", "not a directory\nhint: name a directory on a disk of the node with --spool"},
		{"too small", "--spool-max=1KiB", "moriens: the spool is too small: 1 KiB, the least is 1 MiB\nhint: allow more by --spool-max"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := preloadJobOf(t, []string{"MORIENS_DIR=run", "MORIENS_OPTIONS=" + c.option}, short(mpi, t)...)
			if err := j.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &j.stderr)
			}
			contains(t, j.stderr.String(), c.says)
			if strings.Count("\n"+j.stderr.String(), "\nmoriens: ") != 1 {
				t.Errorf("stderr %q", &j.stderr)
			}
		})
	}
}
