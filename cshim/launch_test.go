package cshim_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"

	"golang.org/x/sys/unix"
)

// jobProgram builds what says which job an environment is that of.
func jobProgram(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc")
	program := filepath.Join(t.TempDir(), "jobid")
	args := []string{"-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc", "-o", program,
		"test/jobid.c", "src/job.c", "src/options.c", "src/os.c", "src/os_process.c", "-lpthread"}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// learn runs it; a proxy is a parent such as Hydra's, with that address on its command line.
func learn(t *testing.T, program, proxy string, env ...string) (id, run, name, alone, local string) {
	t.Helper()
	cmd := exec.Command(program)
	if proxy != "" {
		cmd = exec.Command("/bin/sh", "-c", program+"; :", "proxy", "--control-port", proxy)
	}
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Split(strings.TrimSuffix(string(out), "\n"), "|")
	if len(f) != 5 {
		t.Fatalf("%q", out)
	}
	return f[0], f[1], f[2], f[3], f[4]
}

// TestJob: all ranks of a job come to one id, and those of another to another.
func TestJob(t *testing.T) {
	program := jobProgram(t)
	const uri = "OMPI_MCA_orte_hnp_uri=1886191616.0;tcp://192.0.2.2:58117"
	hydra := []string{"PMI_FD=6", "PMI_SIZE=4", "MPI_LOCALNRANKS=2"}
	slurm := []string{"SLURM_JOB_ID=12", "SLURM_STEP_ID=3", "SLURM_CLUSTER_NAME=c"}
	for _, c := range []struct {
		what           string
		a, b           []string // environments of two ranks
		proxyA, proxyB string
		same           bool
		id, name       string // of a; "" = any
		alone, local   string
		nothing        bool
	}{
		{what: "Open MPI, two ranks", a: []string{uri, "PMIX_NAMESPACE=1886191617", "OMPI_COMM_WORLD_RANK=0"}, b: []string{uri, "PMIX_NAMESPACE=1886191617", "OMPI_COMM_WORLD_RANK=1"},
			same: true, id: "openmpi/1886191616.0;tcp://192.0.2.2:58117"},
		{what: "Open MPI, one that was spawned", a: []string{uri, "PMIX_NAMESPACE=1886191617"}, b: []string{uri, "PMIX_NAMESPACE=1886191618"}, same: true},
		{what: "Open MPI, two jobs", a: []string{uri}, b: []string{uri + "8"}},
		{what: "Open MPI in one batch job", a: append([]string{uri}, slurm...), b: append([]string{uri + "8"}, slurm...), name: "12"},
		{what: "Open MPI 4 without mpirun", a: []string{"PMIX_NAMESPACE=1881669633"}, b: []string{"PMIX_NAMESPACE=1881669634"}, same: true},
		{what: "two of those", a: []string{"PMIX_NAMESPACE=1881669633"}, b: []string{"PMIX_NAMESPACE=1882390529"}},
		{what: "PRRTE, one that was spawned", a: []string{"PMIX_NAMESPACE=prterun-n1-77@1"}, b: []string{"PMIX_NAMESPACE=prterun-n1-77@2"}, same: true, id: "pmix/prterun-n1-77"},
		{what: "PRRTE, two jobs", a: []string{"PMIX_NAMESPACE=prterun-n1-77@1"}, b: []string{"PMIX_NAMESPACE=prterun-n1-78@1"}},
		{what: "Slurm's PMIx", a: []string{"PMIX_NAMESPACE=slurm.pmix.12.3", "SLURM_CLUSTER_NAME=c", "SLURM_PROCID=0"},
			b: []string{"PMIX_NAMESPACE=slurm.pmix.12.3", "SLURM_CLUSTER_NAME=c", "SLURM_PROCID=1"}, same: true, id: "pmix/slurm.pmix.12.3/c/"},
		{what: "requeued", a: []string{"PMIX_NAMESPACE=slurm.pmix.12.3"}, b: []string{"PMIX_NAMESPACE=slurm.pmix.12.3", "SLURM_RESTART_COUNT=1"}},
		{what: "Slurm's PMI", a: append([]string{"SLURM_PROCID=0", "SLURM_LOCALID=0"}, slurm...), b: append([]string{"SLURM_PROCID=1", "SLURM_LOCALID=1"}, slurm...), same: true,
			id: "slurm/12/3/c/", name: "12", local: "0"},
		{what: "two steps", a: slurm, b: append(slices.Clone(slurm), "SLURM_STEP_ID=4")},
		{what: "Hydra on several nodes", a: hydra, b: hydra, proxyA: "n1:4711", proxyB: "n1:4711", same: true, id: "hydra/n1:4711", alone: "0"},
		{what: "Hydra, two jobs", a: hydra, b: hydra, proxyA: "n1:4711", proxyB: "n1:4712"},
		{what: "Hydra on one node, one that was spawned", a: []string{"PMI_FD=6", "PMI_SIZE=2", "MPI_LOCALNRANKS=2"}, b: []string{"PMI_FD=6", "PMI_SIZE=1", "MPI_LOCALNRANKS=1"},
			proxyA: "n1:4711", proxyB: "n1:4712", same: true, alone: "1"},
		{what: "PALS", a: []string{"PALS_APID=x"}, b: []string{"PALS_APID=x", "PBS_JOBID=1.server"}, same: true, id: "pals/x"},
		{what: "PBS alone", a: []string{"PBS_JOBID=1[2].server"}, b: []string{"PBS_JOBID=1[2].server"}, same: true, name: "1_2_.server"},
		{what: "the user says it", a: []string{"MORIENS_JOB=mine", uri}, b: []string{"MORIENS_JOB=mine", uri + "8"}, same: true, id: "given/mine"},
		{what: "nothing", a: []string{"SLURM_JOB_ID=12", "PMI_FD=3"}, b: nil, nothing: true},
		{what: "sizes", a: []string{uri, "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1"}, b: []string{uri}, same: true, alone: "1", local: "1"},
		{what: "one node of several", a: []string{uri, "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "SLURM_JOB_NUM_NODES=2"}, b: []string{uri}, same: true, alone: "0", local: "-1"},
	} {
		id, run, name, alone, local := learn(t, program, c.proxyA, c.a...)
		idB, runB, _, _, _ := learn(t, program, c.proxyB, c.b...)
		switch {
		case c.nothing:
			if id != "" || idB != "" {
				t.Errorf("%s: %q, %q", c.what, id, idB)
			}
			continue
		case len(run) != 16 || strings.Trim(run, "0123456789abcdef") != "":
			t.Errorf("%s: run %q", c.what, run)
		case (run == runB) != c.same || (id == idB) != c.same:
			t.Errorf("%s: %q and %q: runs %s and %s", c.what, id, idB, run, runB)
		}
		for _, x := range [][3]string{{"id", id, c.id}, {"name", name, c.name}, {"alone", alone, c.alone}, {"local rank", local, c.local}} {
			if x[2] != "" && x[1] != x[2] {
				t.Errorf("%s: %s %q, want %q", c.what, x[0], x[1], x[2])
			}
		}
	}
}

// TestSpawnedProgram has a rank that is bound to a processor, blocks and ignores signals and has files open start a
// program that says what it got of that. The rank has no child that it did not make.
func TestSpawnedProgram(t *testing.T) {
	testenv.Need(t, "taskset")
	program := fakeProgram(t, "launch", mpitest.Library(t))
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	script := filepath.Join(dir, "moriens")
	// The shell reads its status itself: it blocks signals while it starts another program.
	text := fmt.Sprintf("#!/bin/sh\nexec >%[1]s.new\nreadlink /proc/$$/fd/0 /proc/$$/fd/2 /proc/$$/fd/3\nls /proc/$$/fd\n"+
		"while read -r line; do echo \"$line\"; done </proc/$$/status\necho \"$@\"\nenv\nmv %[1]s.new %[1]s\nsleep 1\n", said)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	shm := t.TempDir()
	cmd := exec.Command("taskset", "-c", "0", "/bin/sh", "-c", "exec 9</etc/passwd; exec "+program)
	cmd.Env = append(os.Environ(), "MORIENS_RUN=", "MORIENS_SHM="+shm, "MORIENS_BIN="+script, "MORIENS_JOB=test", "MORIENS_TIMEOUT=0",
		"PMIX_NAMESPACE=x", "OMPI_X=1", "PMI_RANK=0", "KEPT=1")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "no child\n" {
		t.Fatalf("%v: %q", err, out)
	}
	var got []byte
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got, err = os.ReadFile(said); err == nil || time.Now().After(deadline) {
			break
		}
	}
	lines := strings.Split(string(got), "\n")
	dirs, _ := filepath.Glob(filepath.Join(shm, "moriens-*"))
	if err != nil || len(lines) < 10 || len(dirs) != 1 {
		t.Fatalf("%v, %q, %q", err, got, dirs)
	}
	if want := []string{"/dev/null", "/dev/null", filepath.Join(dirs[0], "agent")}; !slices.Equal(lines[:3], want) {
		t.Errorf("descriptors %q, want %q", lines[:3], want)
	}
	for _, fd := range []string{"4", "9"} { // the library's own, and one of the rank
		if slices.Contains(lines, fd) {
			t.Errorf("descriptor %s is open: %q", fd, lines)
		}
	}
	for _, line := range lines {
		for _, prefix := range []string{"LD_PRELOAD=", "PMIX_", "OMPI_X", "PMI_"} {
			if strings.HasPrefix(line, prefix) {
				t.Errorf("in its environment: %s", line)
			}
		}
		if name, value, _ := strings.Cut(line, ":\t"); (name == "SigIgn" || name == "SigBlk") && strings.Trim(value, "0") != "" {
			t.Errorf("%s", line)
		}
	}
	if !slices.Contains(lines, "KEPT=1") {
		t.Error("its environment lacks what is not MPI's")
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(own)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "Cpus_allowed_list") && !slices.Contains(lines, line) {
			t.Errorf("it is not on %s: %q", line, lines)
		}
	}
}

// TestNoProgramToSpawn has ranks of a node find at the same time that the agent cannot be started, some while another
// one tries: each says so, none records for an agent that never comes, and nothing is left in shared memory.
func TestNoProgramToSpawn(t *testing.T) {
	program := fakeProgram(t, "launch", mpitest.Library(t))
	noProgram := filepath.Join(t.TempDir(), "moriens")
	if err := os.WriteFile(noProgram, []byte("\x7fELF of another machine"), 0o755); err != nil {
		t.Fatal(err)
	}
	shm := t.TempDir()
	const ranks, rounds = 8, 25
	for range rounds {
		var group sync.WaitGroup
		for range ranks {
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), "MORIENS_RUN=", "MORIENS_SHM="+shm, "MORIENS_BIN="+noProgram, "MORIENS_JOB=test")
			group.Go(func() {
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Count(string(out), "moriens: not recording: "+noProgram+": Exec format error\n") != 1 {
					t.Errorf("%v: %q", err, out)
				}
			})
		}
		group.Wait()
		if left, err := filepath.Glob(filepath.Join(shm, "*", "*")); err != nil || len(left) != 0 {
			t.Fatalf("left are %q, %v", left, err)
		}
		if left, err := os.ReadDir(shm); err != nil || len(left) != 0 {
			t.Fatalf("left are %q, %v", left, err)
		}
	}
}

// TestWaitsForStart: a rank that finds another one starting the agent waits for the outcome. That one fails, and the
// rank tries itself.
func TestWaitsForStart(t *testing.T) {
	program := fakeProgram(t, "launch", mpitest.Library(t))
	noProgram := filepath.Join(t.TempDir(), "moriens")
	if err := os.WriteFile(noProgram, []byte("\x7fELF of another machine"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, run, _, _, _ := learn(t, jobProgram(t), "", "MORIENS_JOB=test")
	shm := t.TempDir()
	dir := filepath.Join(shm, fmt.Sprintf("moriens-%d-%s", os.Getuid(), run))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	starting, err := os.Create(filepath.Join(dir, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	defer starting.Close()
	if err := unix.FcntlFlock(starting.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	rank := exec.Command(program)
	rank.Env = append(os.Environ(), "MORIENS_RUN=", "MORIENS_SHM="+shm, "MORIENS_BIN="+noProgram, "MORIENS_JOB=test")
	rank.Stdout, rank.Stderr = &out, &out
	if err := rank.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if starts, _ := filepath.Glob(filepath.Join(dir, "*.start")); len(starts) == 1 {
			break
		}
	}
	time.Sleep(100 * time.Millisecond) // in which a rank that did not wait would be through
	if err := errors.Join(os.Remove(starting.Name()), starting.Close(), rank.Wait()); err != nil {
		t.Fatalf("%v: %q", err, &out)
	}
	if !strings.Contains(out.String(), "moriens: not recording: "+noProgram+": Exec format error\n") {
		t.Errorf("%q", &out)
	}
	if left, err := os.ReadDir(shm); err != nil || len(left) != 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
