package cshim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpicall"
	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

// plantedCounts reads what a mini-app wrote of its bursts: three numbers each.
func plantedCounts(t *testing.T, dir string, rank int) [][3]int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("bursts.%d", rank)))
	if err != nil {
		t.Fatal(err)
	}
	var list [][3]int64
	for line := range strings.Lines(string(text)) {
		var b [3]int64
		if _, err := fmt.Sscan(line, &b[0], &b[1], &b[2]); err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// TestSoftwareDefinedEvents has a program count for itself: what it added in each burst is what is recorded,
// also before tests without success and after them.
func TestSoftwareDefinedEvents(t *testing.T) {
	testenv.NeedFile(t, "/usr/include/sde_lib.h")
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		out := t.TempDir()
		o := job{mpi: mpi, preload: library, out: out, program: []string{mpi.App(t, "sde", "-lsde"), "50"},
			env: []string{"MORIENS_EVENTS=sde:::planted::CYC,sde:::planted::INS"}}.run(t)
		succeed(t, o)
		for rank, p := range expectExact(t, o) {
			if diff := cmp.Diff([]string{"sde:::planted::CYC", "sde:::planted::INS"}, p.Events); diff != "" || p.Unavailable != nil {
				t.Errorf("events %v, unavailable %v", p.Events, p.Unavailable)
			}
			planted := plantedCounts(t, out, rank)
			records := p.threads[0]
			if len(records[0].Counts) != 0 {
				t.Errorf("there is no burst before MPI_Init: %v", records[0].Counts)
			}
			for i, b := range planted { // MPI_Init and MPI_Irecv come first
				if got := records[i+2].Counts; !cmp.Equal(got, []int64{b[2], b[1]}) {
					t.Fatalf("rank %d: burst %d counted %v, planted %v", rank, i, got, b)
				}
			}
		}
	})
}

// TestManyComponents asks for events of more components than there is room for events, most of which do not exist.
func TestManyComponents(t *testing.T) {
	library := mpitest.Library(t)
	events, want := []string{}, []string{}
	for i := range 32 {
		events = append(events, fmt.Sprintf("c%d", i))
		switch {
		case i >= 20 && i < 28:
			want = append(want, fmt.Sprintf("event c%d", i))
		case i < 20:
			want = append(want, fmt.Sprintf("no-event c%d: Event does not exist", i))
		default:
			want = append(want, fmt.Sprintf("no-event c%d: at most eight events can be counted", i))
		}
	}
	cmd := exec.Command("true")
	cmd.Env = mpitest.Environ("LD_PRELOAD="+library, "MORIENS_PROBE=process", "MORIENS_PAPI="+mpitest.PAPIOfComponents(t),
		"MORIENS_EVENTS="+strings.Join(events, ","))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(strings.Replace(line, "\t", " ", 1)); strings.Contains(line, "event c") {
			got = append(got, line)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestUnavailableEventsAreCounted asks for more events that are not there than the process file has room to name.
func TestUnavailableEventsAreCounted(t *testing.T) {
	const asked = 60
	library := mpitest.Library(t)
	var events []string
	for i := range asked {
		events = append(events, fmt.Sprintf("sw:there-is-no-event-%d", i))
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "polls"), "each", "5"}, env: []string{"MORIENS_EVENTS=" + strings.Join(events, ",")}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		for i, text := range p.Unavailable {
			if name, _, _ := strings.Cut(text, ":"); !strings.HasPrefix(text, events[i]) {
				t.Errorf("%q instead of %s", name, events[i])
			}
		}
		want := fmt.Sprintf("%d more events cannot be counted: no space for their names", asked-len(p.Unavailable))
		if len(p.Unavailable) == 0 || len(p.Unavailable) == asked || !slices.Contains(p.notes, want) {
			t.Errorf("%d are named, notes %q, want %q", len(p.Unavailable), p.notes, want)
		}
	})
}

// TestKernelEvents needs no PAPI: the library's name leads nowhere.
func TestKernelEvents(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		out := t.TempDir()
		o := job{mpi: mpi, preload: library, ranks: 1, out: out, program: []string{mpi.App(t, "software"), "50"},
			env: []string{"MORIENS_EVENTS=sw:page-faults,sw:context-switches,PAPI_TOT_INS,sw:cpu-time,sw:moon-phase", "MORIENS_PAPI=/nowhere.so"}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		if diff := cmp.Diff([]string{"sw:page-faults", "sw:context-switches", "sw:cpu-time"}, p.Events); diff != "" {
			t.Error(diff)
		}
		if len(p.Unavailable) != 2 || !strings.HasPrefix(p.Unavailable[0], "PAPI_TOT_INS: PAPI is not installed") ||
			!strings.HasPrefix(p.Unavailable[1], "sw:moon-phase: no such event") {
			t.Errorf("unavailable %q", p.Unavailable)
		}
		for i, b := range plantedCounts(t, out, 0) { // MPI_Init and one MPI_Recv come first
			got := p.threads[0][i+2].Counts
			if len(got) != 3 || got[0] != b[0] || got[1] < b[1] || got[2] < b[2] {
				t.Errorf("burst %d counted %v, planted %v", i, got, b)
			}
		}
	})
}

// TestRunsOfPollsGoWithout: the burst after a run of several polls has no counts, all others have. Runs end by
// a poll that finds something, or after a tenth of a second.
func TestRunsOfPollsGoWithout(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, ranks: 1, program: []string{mpi.App(t, "polls"), "each", "50"},
			env: []string{"MORIENS_EVENTS=sw:page-faults", "MORIENS_POLL_GAP=1000000"}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		known := false // before the first call there is no burst
		for i, rec := range p.threads[0] {
			if (len(rec.Counts) == 1) != known {
				t.Errorf("record %d, %v: counts %v", i, rec.Call, rec.Counts)
			}
			known = len(rec.Polls) == 0
		}
		if last := p.threads[0][len(p.threads[0])-1]; last.Call != mpicall.Finalize {
			t.Errorf("last %+v", last)
		}
	})
}

// TestPerfEvents goes the way of hardware counters, with the kernel's own events in their place.
func TestPerfEvents(t *testing.T) {
	testenv.NeedFile(t, "/usr/include/papi.h") // comes with a libpapi that loads
	library := mpitest.Library(t)
	preload := library + ":" + mpitest.SoftwarePMU(t)
	const list = "perf::PAGE-FAULTS,PAPI_TOT_INS,perf::CONTEXT-SWITCHES,perf::TASK-CLOCK"
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		out := t.TempDir()
		o := job{mpi: mpi, preload: preload, ranks: 1, out: out, program: []string{mpi.App(t, "software"), "30"},
			env: []string{"MORIENS_EVENTS=" + list}}.run(t)
		succeed(t, o)
		p := expectExact(t, o)[0]
		if diff := cmp.Diff([]string{"perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES", "perf::TASK-CLOCK"}, p.Events); diff != "" ||
			len(p.Unavailable) != 1 || !strings.HasPrefix(p.Unavailable[0], "PAPI_TOT_INS: ") {
			t.Fatalf("unavailable %q\n%s", p.Unavailable, diff)
		}
		for i, b := range plantedCounts(t, out, 0) {
			// The kernel lets some PAPI builds count what happens in user mode only: no context switch does.
			if got := p.threads[0][i+2].Counts; len(got) != 3 || got[0] != b[0] || got[2] <= 0 {
				t.Errorf("burst %d counted %v, planted %v", i, got, b)
			}
		}
	})
}

// TestThreadsCount has every thread of a program count for itself.
func TestThreadsCount(t *testing.T) {
	library := mpitest.Library(t)
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		o := job{mpi: mpi, preload: library, program: []string{mpi.App(t, "threads"), "4", "50"},
			env: []string{"MORIENS_EVENTS=sw:cpu-time,sw:page-faults,perf::X,sde:::a::b"}}.run(t)
		succeed(t, o)
		for rank, p := range expectExact(t, o) {
			for thread, records := range p.threads {
				for i, rec := range records {
					if want := min(i, 1) * len(p.Events); len(rec.Counts) != want || want > 0 && rec.Counts[0] < 0 {
						t.Fatalf("rank %d thread %d record %d: %v", rank, thread, i, rec.Counts)
					}
				}
			}
		}
	})
}
