package job

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/hint"
	"moriens/internal/testenv"
)

var preload = Preload{Library: "/opt/moriens/libmoriens.so", Run: "r1", Shm: "/dev/shm", Directory: "/tmp/out"}

// last returns the value that counts: that of the last setting.
func last(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, found := strings.CutPrefix(e, name+"="); found {
			return value
		}
	}
	return ""
}

func TestEnvironment(t *testing.T) {
	const list = "OMPI_MCA_mca_base_env_list"
	const names = "LD_PRELOAD;MORIENS_RUN;MORIENS_SHM;MORIENS_DIR"
	const exports = "-x LD_PRELOAD -x MORIENS_RUN -x MORIENS_SHM -x MORIENS_DIR"
	for _, tt := range []struct {
		name, argv, env, wantArgv string
		want                      map[string]string
	}{
		{"Open MPI", "mpirun -n 2 app", "PATH=/bin", "mpirun -n 2 app", map[string]string{"PATH": "/bin", list: names}},
		{"by its path", "/opt/ompi/bin/mpirun.openmpi app", "", "/opt/ompi/bin/mpirun.openmpi app", map[string]string{list: names}},
		{"with a list of its own", "mpirun app", list + "=A;B=1", "mpirun app", map[string]string{list: "A;B=1;" + names}},
		{"with -x, which excludes the list", "mpirun -n 2 -x FOO app", "", "mpirun " + exports + " -n 2 -x FOO app", map[string]string{list: ""}},
		{"with the list on the command line", "mpirun --mca mca_base_env_list FOO app", "", "mpirun --mca mca_base_env_list FOO app", map[string]string{list: ""}},
		{"a script", "./job.sh -x", "", "./job.sh -x", map[string]string{list: ""}},
		{"options for the shim", "mpirun app", "MORIENS_PAPI=/p.so MORIENS_EVENTS=x MORIENS_POLL_GAP=5 MORIENS_DRAIN=7", "mpirun app", map[string]string{
			list: names + ";MORIENS_EVENTS;MORIENS_POLL_GAP;MORIENS_PAPI;MORIENS_DRAIN", "MORIENS_EVENTS": "x"}},
		{"an option for the shim", "mpirun app", "MORIENS_RING=65536", "mpirun app", map[string]string{list: names + ";MORIENS_RING"}},
		{"something preloaded already", "srun app", "LD_PRELOAD=/x.so", "srun app", map[string]string{"LD_PRELOAD": "/opt/moriens/libmoriens.so:/x.so"}},
		{"always", "srun app", "", "srun app", map[string]string{
			"LD_PRELOAD": "/opt/moriens/libmoriens.so", "MORIENS_RUN": "r1", "MORIENS_SHM": "/dev/shm", "MORIENS_DIR": "/tmp/out",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv, env, err := environment(strings.Fields(tt.argv), strings.Fields(tt.env), preload)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(argv, " "); got != tt.wantArgv {
				t.Errorf("command line %s, want %s", got, tt.wantArgv)
			}
			for name, want := range tt.want {
				if got := last(env, name); got != want {
					t.Errorf("%s=%s, want %s", name, got, want)
				}
			}
		})
	}
	deep := preload
	deep.Callpath = 5
	_, env, err := environment([]string{"mpirun"}, []string{"MORIENS_CALLPATH=2"}, deep)
	if got := last(env, "MORIENS_CALLPATH"); got != "5" || err != nil || last(env, list) != names+";MORIENS_CALLPATH" {
		t.Errorf("MORIENS_CALLPATH=%s, %v, in %q", got, err, env)
	}
	regions := preload
	regions.Regions, regions.Pcontrol = "tau,kokkos,nvtx", "phases"
	for _, tt := range []struct{ env, kokkos, nvtx, names string }{
		{"", preload.Library, preload.Library, "MORIENS_REGIONS;KOKKOS_TOOLS_LIBS;NVTX_INJECTION64_PATH;MORIENS_PCONTROL"},
		{"MORIENS_REGIONS=caliper MORIENS_PCONTROL=x KOKKOS_TOOLS_LIBS=/k.so", "/k.so", preload.Library, "MORIENS_REGIONS;NVTX_INJECTION64_PATH;MORIENS_PCONTROL"},
	} {
		_, env, err := environment([]string{"mpirun"}, strings.Fields(tt.env), regions)
		if err != nil || last(env, "KOKKOS_TOOLS_LIBS") != tt.kokkos || last(env, "NVTX_INJECTION64_PATH") != tt.nvtx ||
			last(env, "MORIENS_REGIONS") != regions.Regions || last(env, "MORIENS_PCONTROL") != "phases" || last(env, list) != names+";"+tt.names {
			t.Errorf("%s: %v, %q", tt.env, err, env)
		}
	}
	counting := preload
	counting.PhaseCounters = true
	for _, c := range []struct {
		given      Preload
		env, value string
		names      string
	}{
		{counting, "", "1", ";MORIENS_PHASE_COUNTERS"}, {counting, "MORIENS_PHASE_COUNTERS=0", "1", ";MORIENS_PHASE_COUNTERS"},
		{preload, "MORIENS_PHASE_COUNTERS=1", "1", ";MORIENS_PHASE_COUNTERS"}, {preload, "", "", ""},
	} {
		_, env, err := environment([]string{"mpirun"}, strings.Fields(c.env), c.given)
		if err != nil || last(env, "MORIENS_PHASE_COUNTERS") != c.value || last(env, list) != names+c.names {
			t.Errorf("%q: %v, %q", c.env, err, env)
		}
	}
	_, env, err = environment([]string{"mpirun"}, []string{"MORIENS_REGIONS=tau"}, preload)
	if err != nil || last(env, list) != names+";MORIENS_REGIONS" || last(env, "KOKKOS_TOOLS_LIBS") != "" {
		t.Errorf("%v, %q", err, env)
	}
	for _, library := range []string{"/opt/my tools/libmoriens.so", "/opt/a:b/libmoriens.so"} {
		p := preload
		p.Library = library
		if _, _, err := environment([]string{"mpirun"}, nil, p); err == nil || hint.Of(err) == "" {
			t.Errorf("%s: %v", library, err)
		}
	}
}

// TestHydra: MPICH's launcher has a name of Open MPI's and does not know -x, which may be the program's own.
func TestHydra(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mpiexec.hydra"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	launcher := filepath.Join(dir, "mpiexec")
	if err := os.Symlink("mpiexec.hydra", launcher); err != nil {
		t.Fatal(err)
	}
	for _, launcher := range []string{launcher, "/none/mpiexec.hydra", "/none/mpiexec.mpich"} {
		want := []string{launcher, "-n", "2", "app", "-x", "3"}
		argv, env, err := environment(want, nil, preload)
		if err != nil || !slices.Equal(argv, want) || last(env, "LD_PRELOAD") != preload.Library {
			t.Errorf("%q, %v, LD_PRELOAD %q", argv, err, last(env, "LD_PRELOAD"))
		}
	}
}

func TestEnvironmentOfEvents(t *testing.T) {
	p := preload
	p.Events = "sw:cpu-time"
	_, env, err := environment([]string{"mpirun"}, []string{"MORIENS_EVENTS=x"}, p)
	if got := last(env, "MORIENS_EVENTS"); got != p.Events || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// anyLibrary is one that can be preloaded and does nothing.
func anyLibrary(t *testing.T) string {
	for _, pattern := range []string{"/lib/*-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			return paths[0]
		}
	}
	testenv.Lacking(t, "no libm.so.6 to preload")
	return ""
}

func TestStatus(t *testing.T) {
	p := preload
	p.Library = anyLibrary(t)
	for _, tt := range []struct {
		script string
		want   int
	}{{"exit 0", 0}, {"exit 7", 7}, {"kill -KILL $$", 128 + 9}, {"kill -TERM $$", 128 + 15}} {
		j, err := Start([]string{"/bin/sh", "-c", "exec 2>/dev/null; " + tt.script}, p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := j.Wait(); got != tt.want || err != nil {
			t.Errorf("%s: status %d, %v, want %d", tt.script, got, err, tt.want)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	text := filepath.Join(dir, "text")
	os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644)
	os.WriteFile(text, []byte("not a program\n"), 0o755)
	for _, tt := range []struct {
		launcher string
		want     int
	}{
		{"no-such-launcher", StatusNotFound},
		{filepath.Join(dir, "absent"), StatusNotFound},
		{plain, StatusNotExecutable},
		{text, StatusNotExecutable},
		{dir, StatusNotExecutable},
	} {
		_, err := Start([]string{tt.launcher}, preload)
		var start *StartError
		if !errors.As(err, &start) || start.Status != tt.want || hint.Of(err) == "" {
			t.Errorf("%s: %v, want status %d and a hint", tt.launcher, err, tt.want)
		}
	}
}

// A signal that reaches this process alone is passed on.
func TestPass(t *testing.T) {
	p := preload
	p.Library = anyLibrary(t)
	ready := filepath.Join(t.TempDir(), "ready")
	j, err := Start([]string{"/bin/sh", "-c", `exec 2>/dev/null; trap "exit 9" TERM; : >"$0"; while :; do sleep 0.01; done`, ready}, p)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the script does not start")
		}
	}
	j.Pass(syscall.SIGTERM)
	if status, err := j.Wait(); status != 9 || err != nil {
		t.Errorf("status %d, %v, want 9", status, err)
	}
}
