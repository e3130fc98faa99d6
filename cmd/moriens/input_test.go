package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

func contains(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// Options of the library that are no numbers are found before anything has run.
func TestNumbersInEnvironment(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, option := range []string{"MORIENS_RING=16M", "MORIENS_RING_MAX=1G", "MORIENS_POLL_GAP=20us", "MORIENS_DRAIN=-1", "MORIENS_CALLPATH=all"} {
		o := execute(t, []string{option}, binary(t), "run", "--", "touch", ran)
		if o.status != 2 {
			t.Errorf("%s: status %d", option, o.status)
		}
		contains(t, o.stderr, "moriens: "+option+"\n", "hint: give an integer number of ")
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the job ran", option)
		}
	}
}

// A number of frames that no call path can have is refused, on the command line and in the environment.
func TestFramesOutOfRange(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, frames := range []string{"0", "65", "-1", "99999999999999999999"} {
		for _, tt := range []struct{ env, args []string }{
			{nil, []string{"--callpath=" + frames}},
			{[]string{"MORIENS_CALLPATH=" + frames}, nil},
		} {
			o := execute(t, tt.env, slices.Concat([]string{binary(t), "run"}, tt.args, []string{"--", "touch", ran})...)
			if o.status != 2 {
				t.Errorf("%v %v: status %d\n%s", tt.env, tt.args, o.status, o.stderr)
			}
			contains(t, o.stderr, frames, "hint: ")
			if _, err := os.Stat(ran); err == nil {
				t.Errorf("%v %v: the job ran", tt.env, tt.args)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "run")
	if o := execute(t, []string{"MORIENS_CALLPATH=0"}, binary(t), "run", "--callpath", "1", "--out", out, "--", "true"); o.status != 0 {
		t.Errorf("the command line does not go first: %s", o.stderr)
	}
}

// A job that makes no MPI call ends with its own status; the result says why it is empty.
func TestNoMPI(t *testing.T) {
	dir := t.TempDir()
	static := filepath.Join(dir, "static")
	source := filepath.Join(dir, "static.c")
	os.WriteFile(source, []byte("int main(void){return 7;}\n"), 0o644)
	if out, err := exec.Command("gcc", "-static", "-o", static, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range []struct {
		name   string
		job    []string
		status int
		stderr string
	}{
		{"no MPI at all", []string{"true"}, 0, "LD_PRELOAD"},
		{"its own status", []string{"sh", "-c", "exit 5"}, 5, "LD_PRELOAD"},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 137, "LD_PRELOAD"},
		{"statically linked", []string{static}, 7, "statically linked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			o := execute(t, nil, append([]string{binary(t), "run", "--out", out, "--"}, tt.job...)...)
			if o.status != tt.status {
				t.Errorf("status %d, want %d", o.status, tt.status)
			}
			contains(t, o.stderr, "moriens: no bursts: no process of the job called MPI", "hint: ", tt.stderr)
			if m := readManifest(t, out); m.Empty == "" || m.Bursts != 0 || m.ExitCode != tt.status {
				t.Errorf("manifest %+v", m)
			}
			if files, err := os.ReadDir(out); err != nil || len(files) != 1 || files[0].Name() != "manifest.json" {
				t.Errorf("%v, in the directory is %v", err, files)
			}
			if tt.name == "no MPI at all" {
				checkSummary(t, "nobody", out, o.stdout)
			}
			said := strings.Split(strings.TrimSpace(o.stdout), "\n")
			if len(said) != 2 || !strings.HasSuffix(said[0], " · 0 ranks") || !strings.HasPrefix(said[1], "no rank was recorded: ") {
				t.Errorf("printed %q", said)
			}
			for _, command := range []string{"report", "view", "efficiency"} {
				if o := execute(t, nil, binary(t), command, out); o.status == 0 || !strings.Contains(o.stderr, "no rank was recorded") || !strings.Contains(o.stderr, "\nhint: ") {
					t.Errorf("%s: %+v", command, o)
				}
			}
		})
	}
}

// Standard input, output and error are the job's.
func TestPassesStreams(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(binary(t), "run", "--out", out, "--", "sh", "-c", "cat; echo complaint >&2")
	cmd.Stdin = strings.NewReader("line 1\nline 2\n")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(stdout), "line 1\nline 2\n") || !strings.HasPrefix(stderr.String(), "complaint\n") {
		t.Errorf("stdout:\n%s\nstderr:\n%s", stdout, stderr.String())
	}
}

// tmpfs mounts a small memory file system.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	testenv.NeedRoot(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "moriens-test", dir).CombinedOutput(); err != nil {
		testenv.Lacking(t, fmt.Sprintf("cannot mount here: %v: %s", err, out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// A full shared memory costs the measurement, never the job, and the results say how many ranks it has cost, and why.
func TestFullSharedMemory(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		shm := tmpfs(t, "64k")
		if err := os.WriteFile(filepath.Join(shm, "filler"), make([]byte, 64<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		app := mpi.App(t, "die")
		out := filepath.Join(t.TempDir(), "run")
		o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()},
			append([]string{binary(t), "run", "--out", out, "--shm", shm, "--"}, mpi.Args(2, "", app, "none")...)...)
		if o.status != 3 {
			t.Errorf("status %d, want 3\n%s", o.status, o.stderr)
		}
		contains(t, o.stderr, "no rank could record", "hint: free shared memory")
		contains(t, o.stdout, "\nincomplete: 2 of 2 ranks not recorded on ")
		contains(t, long(t, out), "no space left on device", "\nincomplete: 2 of 2 ranks not recorded on ", "losses: 2 ranks could not record\n")
		checkUnrecorded(t, out, 2, "no space left on device")
		for _, command := range []string{"status", "finish"} {
			if o := execute(t, nil, binary(t), command, out); o.status != 3 || o.stderr != "" || !strings.Contains(o.stdout, "\nincomplete: 2 of 2 ranks not recorded on ") {
				t.Errorf("%s: %+v", command, o)
			}
		}
		for _, args := range [][]string{{"report", out}, {"export", out, "--format", "csv", "--out", filepath.Join(t.TempDir(), "csv")}} {
			if o := execute(t, nil, append([]string{binary(t)}, args...)...); o.status != 0 {
				t.Errorf("%q: %+v", args, o)
			}
		}
	})
}

// checkUnrecorded checks that a run directory lists all ranks of its one world as without a record, and the reason.
func checkUnrecorded(t *testing.T, dir string, ranks int, reason string) {
	t.Helper()
	m := readManifest(t, dir)
	if m.Complete == nil || *m.Complete || len(m.Incomplete) == 0 || m.Ranks != ranks || len(m.Worlds) != 1 || len(m.Worlds[0].Unrecorded) != 1 {
		t.Fatalf("manifest %+v", m)
	}
	host, _ := os.Hostname()
	u := m.Worlds[0].Unrecorded[0]
	if u.Ranks != ranks || len(u.List) != ranks || u.Host != host || !strings.Contains(u.Reason, reason) {
		t.Errorf("unrecorded %+v", u)
	}
}

// A run directory that fills up costs nothing: the results go elsewhere, and the status says so.
func TestFullRunDirectory(t *testing.T) {
	disk := tmpfs(t, "256k")
	app := mpitest.OpenMPI.App(t, "planted")
	elsewhere := t.TempDir()
	o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir(), "TMPDIR=" + elsewhere},
		append([]string{binary(t), "run", "--keep-bursts", "all", "--out", disk + "/run", "--"}, mpitest.OpenMPI.Args(2, "", app, "2", "10", "300", "9000", "900", "30")...)...)
	if o.status != 3 {
		t.Errorf("status %d, want 3", o.status)
	}
	contains(t, o.stderr, "no space left", disk+"/run", "hint: ")
	saved, _ := filepath.Glob(elsewhere + "/run-*")
	if len(saved) != 1 {
		t.Fatalf("saved to %v", saved)
	}
	if m := readManifest(t, saved[0]); m.Ranks != 2 || m.MPICalls["MPI_Allreduce"] != 2*2*900 {
		t.Errorf("manifest %+v", m)
	}
	checkTrace(t, saved[0], readBursts(t, saved[0]))
}

// A run directory on a file system that is mounted read-only is refused before the job starts.
func TestReadOnlyRunDirectory(t *testing.T) {
	disk := tmpfs(t, "64k")
	if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
		testenv.Lacking(t, fmt.Sprintf("cannot remount here: %v: %s", err, out))
	}
	ran := filepath.Join(t.TempDir(), "ran")
	o := execute(t, nil, binary(t), "run", "--out", disk+"/run", "--", "touch", ran)
	if o.status != 1 {
		t.Errorf("status %d, want 1", o.status)
	}
	contains(t, o.stderr, "read-only file system", "hint: ")
	if _, err := os.Stat(ran); err == nil {
		t.Error("the job ran")
	}
}

// An unknown word on the command line is answered with a similar one, and with the command whose help says more.
func TestUnknownWords(t *testing.T) {
	tests := []struct{ args, want string }{
		{"run -o x -- touch x", "moriens: unknown flag -o, did you mean one of \"--out\", \"--outliers\"?\nhint: moriens run --help lists its options\n"},
		{"run -ox -- touch x", "moriens: unknown flag -o, did you mean one of \"--out\", \"--outliers\"?\nhint: moriens run --help lists its options\n"},
		{"analyze -l x", "moriens: unknown flag -l, did you mean one of \"--log\", \"--log-format\", \"--lenient\"?\nhint: moriens analyze --help lists its options\n"},
		{"run -n 2 -- touch x", "moriens: unknown flag -n\nhint: moriens run --help lists its options\n"},
		{"doctor -e x", "moriens: unknown flag -e, did you mean \"--events\"?\nhint: moriens doctor --help lists its options\n"},
		{"run --outt x -- touch x", "moriens: unknown flag --outt, did you mean \"--out\"?\nhint: moriens run --help lists its options\n"},
		{"-v", "moriens: unknown flag -v, did you mean \"--version\"?\nhint: moriens --help lists the commands\n"},
		{"analyse x", "moriens: unexpected argument analyse, did you mean \"analyze\"?\nhint: moriens --help lists the commands\n"},
	}
	for _, tt := range tests {
		o := execute(t, nil, append([]string{binary(t)}, strings.Fields(tt.args)...)...)
		if o.status != 2 || o.stderr != tt.want || o.stdout != "" {
			t.Errorf("moriens %s: status %d, stdout %q, stderr:\n%swant:\n%s", tt.args, o.status, o.stdout, o.stderr, tt.want)
		}
	}
}
