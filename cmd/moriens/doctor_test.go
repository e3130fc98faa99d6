package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// finding is one of `moriens doctor --json`, read as a stranger would.
type finding struct {
	ID, Status, Found, Why, Do string
	Facts                      []string
}

// diagnose runs moriens doctor --json and gives its findings by id.
func diagnose(t *testing.T, env []string, status int, args ...string) map[string][]finding {
	t.Helper()
	o := execute(t, env, append([]string{binary(t), "doctor", "--json"}, args...)...)
	if o.status != status || status != 0 && !strings.Contains(o.stderr, "moriens: nothing can be measured here\nhint: ") {
		t.Errorf("status %d, want %d\n%s", o.status, status, o.stderr)
	}
	var report struct {
		Possible bool
		Findings []finding
	}
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil || report.Possible != (status == 0) {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	byID := map[string][]finding{}
	for _, f := range report.Findings {
		byID[f.ID] = append(byID[f.ID], f)
	}
	return byID
}

func expectStatus(t *testing.T, findings map[string][]finding, id, status string, words ...string) {
	t.Helper()
	list := findings[id]
	if len(list) == 0 || list[0].Status != status {
		t.Fatalf("%s: %+v, want %s", id, list, status)
	}
	contains(t, list[0].Found+"\n"+list[0].Why+"\n"+list[0].Do+"\n"+strings.Join(list[0].Facts, "\n"), words...)
}

// What doctor says of this machine is what is here.
func TestDoctor(t *testing.T) {
	findings := diagnose(t, nil, 0)
	expectStatus(t, findings, "library", "ok", "libmoriens.so", "loads")
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		var libraries []string
		for _, path := range mpi.Libraries(t) {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				t.Fatal(err)
			}
			libraries = append(libraries, real)
		}
		here := func(f finding) bool {
			return slices.ContainsFunc(libraries, func(path string) bool { return strings.Contains(f.Found, path) })
		}
		if i := slices.IndexFunc(findings["mpi.library"], here); i < 0 || findings["mpi.library"][i].Status != "ok" {
			t.Errorf("%v: %+v", libraries, findings["mpi.library"])
		}
		if i := slices.IndexFunc(findings["mpi.fortran"], here); i < 0 || findings["mpi.fortran"][i].Status != "ok" || !strings.Contains(findings["mpi.fortran"][i].Found, "use mpi, use mpi_f08") {
			t.Errorf("%v: %+v", libraries, findings["mpi.fortran"])
		}
		if !slices.ContainsFunc(findings["mpi.launcher"], func(f finding) bool { return strings.Contains(f.Found, mpi.Launcher) && f.Status == "ok" }) {
			t.Errorf("%s: %+v", mpi.Launcher, findings["mpi.launcher"])
		}
	})
	testenv.NeedLibrary(t, "libunwind.so.8")
	expectStatus(t, findings, "libunwind", "ok")
	expectStatus(t, findings, "memory", "ok", "/dev/shm", "tmpfs")
	text := execute(t, nil, binary(t), "doctor")
	contains(t, text.stdout, "ok     library", "ok     memory", "measuring is possible")
	if text.status != 0 || strings.Contains(text.stdout, "\033") {
		t.Errorf("status %d\n%s", text.status, text.stdout)
	}
}

// A PMU that is there is seen, through PAPI, in the program that would be measured: the test-only one of
// testdata/softpmu.c.
func TestDoctorFindsPMU(t *testing.T) {
	testenv.NeedLibrary(t, "libpfm.so.4")
	env := []string{"LD_PRELOAD=" + mpitest.SoftwarePMU(t), "MORIENS_EVENTS=perf::TASK-CLOCK,perf::PAGE-FAULTS,sw:cpu-time"}
	findings := diagnose(t, env, 0)
	expectStatus(t, findings, "counters.papi", "ok", "perf_event: enabled")
	expectStatus(t, findings, "counters.events", "ok", "perf::TASK-CLOCK, perf::PAGE-FAULTS, sw:cpu-time can be counted")
	without := diagnose(t, env[1:], 0)
	if without["counters.papi"][0].Status == "ok" {
		t.Skip("this machine has a PMU: what it lacks cannot be seen")
	}
	expectStatus(t, without, "counters.papi", "warn", "perf_event: ", "counters.pmu")
	expectStatus(t, without, "counters.events", "warn", "sw:cpu-time can be counted", "perf::TASK-CLOCK: ")
}

// What is taken away is missed, and what measuring cannot do without makes the status 1.
func TestDoctorMisses(t *testing.T) {
	library := filepath.Join(filepath.Dir(binary(t)), "libmoriens.so")
	foreign := filepath.Join(t.TempDir(), "libmoriens.so")
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	const machine, powerpc64 = 18, 21 // in the ELF header
	content[machine] = powerpc64
	if err := os.WriteFile(foreign, content, 0o755); err != nil {
		t.Fatal(err)
	}
	noExec := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noExec, []byte("not a library, nor anything like one"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		status int
		id     string
		want   string
		words  []string
	}{
		{"no library", []string{"MORIENS_LIB=/nowhere.so"}, nil, 1, "library", "fatal", []string{"/nowhere.so"}},
		{"no such library", []string{"MORIENS_LIB=" + noExec}, nil, 1, "library", "fatal", []string{"bad magic"}},
		{"another library", []string{"MORIENS_LIB=" + mpitest.SoftwarePMU(t)}, nil, 1, "library", "fatal", []string{"did not answer"}},
		{"library of another machine", []string{"MORIENS_LIB=" + foreign}, nil, 1, "library", "fatal", []string{"it is built for ppc64le"}},
		{"no shared memory", nil, []string{"--shm", "/nowhere"}, 1, "memory", "fatal", []string{"/nowhere", "--shm"}},
		{"PAPI gone", []string{"MORIENS_PAPI=/nowhere.so"}, nil, 0, "counters.papi", "lack", []string{"no libpapi.so can be loaded"}},
		{"an event that is none", nil, []string{"--events", "sw:cpu-time,sw:nothing"}, 0, "counters.events", "warn", []string{"sw:cpu-time can be counted", "sw:nothing: no such event"}},
		{"nothing on PATH", []string{"PATH="}, nil, 0, "mpi.launcher", "lack", []string{"load its module"}},
		{"very many ranks", nil, []string{"--ranks", "100000000"}, 0, "memory.room", "warn", []string{"100000000 ranks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			expectStatus(t, diagnose(t, c.env, c.status, c.args...), c.id, c.want, c.words...)
		})
	}
}
