package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"

	"moriens/internal/mpitest"
)

// annotations is as much of manifest.json as the tests of annotations look at.
type annotations struct {
	Phases []struct {
		Name             string
		Count, Threads   int
		Seconds          float64
		ComputingSeconds float64 `json:"computing_seconds"`
		Unfinished       int
		OwnSeconds       float64 `json:"own_seconds"`
	}
	Events []struct {
		Name     string
		Count    int
		Min, Max int64
		Mean     float64
	}
	Paused struct {
		Calls, Pauses int
		Seconds       float64
	}
	Losses struct {
		MarksNameless      int `json:"marks_nameless"`
		MarksInsideCalls   int `json:"marks_inside_calls"`
		PhaseEndsUnmatched int `json:"phase_ends_unmatched"`
		PhasesUnfinished   int `json:"phases_unfinished"`
	}
}

// phaseRow is a row of phases.parquet, as a stranger reads it.
type phaseRow struct {
	World      int32  `parquet:"world"`
	Rank       int32  `parquet:"rank"`
	Thread     int32  `parquet:"thread"`
	Name       string `parquet:"name"`
	Depth      int32  `parquet:"depth"`
	BeginNS    int64  `parquet:"begin_ns"`
	DurationNS int64  `parquet:"duration_ns"`
	Unfinished bool   `parquet:"unfinished"`
}

type burstRow struct {
	Rank       int32   `parquet:"rank"`
	StartNS    int64   `parquet:"start_ns"`
	DurationNS int64   `parquet:"duration_ns"`
	Phase      *string `parquet:"phase,optional"`
}

func readRows[T any](t *testing.T, path string) []T {
	t.Helper()
	rows, err := pq.ReadFile[T](path)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// annotate runs a mini-app under measurement and returns its run directory and what it counted.
func annotate(t *testing.T, mpi mpitest.MPI, args ...string) (string, annotations, outcome) {
	t.Helper()
	app := mpi.App(t, "annotate", "-I"+filepath.Join(mpitest.Root(t), "cshim", "include"))
	planted, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	command := append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out, "--"}, mpi.Args(2, "", append([]string{app}, args...)...)...)
	o := execute(t, []string{"MINIAPP_OUT=" + planted}, command...)
	if d := cmp.Diff(sum(mpitest.Counts(t, planted)), readManifest(t, out).MPICalls); d != "" {
		t.Errorf("MPI calls differ (-made +recorded):\n%s", d)
	}
	text, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var a annotations
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return out, a, o
}

// Nested phases of a real job are reported with their numbers, nesting and times, and every burst knows the one it lies
// in.
func TestAnnotatedJob(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		const iterations = 20
		out, a, o := annotate(t, mpi, "nest", "20")
		if o.status != 0 || o.stderr != "" {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
		counts := map[string]int{}
		for _, p := range a.Phases {
			counts[p.Name] = p.Count
			if p.Threads != 2 || p.Unfinished != 0 || p.OwnSeconds > p.Seconds || p.ComputingSeconds > p.Seconds {
				t.Errorf("%+v", p)
			}
		}
		if d := cmp.Diff(map[string]int{"solve": 2, "iteration": 2 * iterations, "halo": 2 * iterations}, counts); d != "" {
			t.Error(d)
		}
		if len(a.Phases) != 3 || a.Phases[0].Name != "solve" {
			t.Errorf("not by time: %+v", a.Phases)
		}
		if len(a.Events) != 1 || a.Events[0].Name != "residual" || a.Events[0].Count != 2*iterations || a.Events[0].Max != 1000 ||
			a.Events[0].Min != 1001-iterations || a.Events[0].Mean != 1000-float64(iterations-1)/2 {
			t.Errorf("events %+v", a.Events)
		}
		phases := readRows[phaseRow](t, filepath.Join(out, "phases.parquet"))
		byRank := map[int32][]phaseRow{}
		for _, p := range phases {
			byRank[p.Rank] = append(byRank[p.Rank], p)
		}
		for rank, list := range byRank {
			if len(list) != 1+2*iterations {
				t.Fatalf("rank %d: %d phases", rank, len(list))
			}
			solve, last := list[0], list[0].BeginNS
			for i, p := range list[1:] {
				inside := p.BeginNS >= last && p.BeginNS+p.DurationNS <= solve.BeginNS+solve.DurationNS
				if want := [...]string{"iteration", "halo"}[i%2]; p.Name != want || p.Depth != int32(1+i%2) || !inside {
					t.Errorf("rank %d: phase %d is %+v, after %d", rank, i+1, p, last)
				}
				last = p.BeginNS // of an iteration its halo lies inside
				if i%2 == 1 {
					last = p.BeginNS + p.DurationNS
				}
			}
		}
		within := map[string]int{}
		for _, b := range readRows[burstRow](t, filepath.Join(out, "bursts.parquet")) {
			if b.Phase == nil {
				within["none"]++
				continue
			}
			within[*b.Phase]++
			held := false
			for _, p := range byRank[b.Rank] {
				held = held || p.Name == *b.Phase && p.BeginNS < b.StartNS+b.DurationNS && b.StartNS < p.BeginNS+p.DurationNS
			}
			if !held {
				t.Errorf("burst %+v of phase %s lies in none", b, *b.Phase)
			}
		}
		// The one between two barriers of a halo lies in it, whatever the machine does.
		if within["halo"] < 2*iterations || within["none"] < 2 {
			t.Errorf("bursts by phase: %v", within)
		}
		text, err := os.ReadFile(filepath.Join(out, "trace.pcf"))
		if err != nil {
			t.Fatal(err)
		}
		contains(t, string(text), "91000001    Phase level 1\n", "91000003    Phase level 3\n", " solve\n", " halo\n", "    residual\n")
		contains(t, o.stdout, "losses: none")
		contains(t, long(t, out), "phase", "solve", "halo", "losses: none")
		checkTrace(t, out, readBursts(t, out))
	})
}

// disabled is a state record of Paraver's "tracing disabled": of which rank of the one world, counted from 1, and from
// when to when in ns.
var disabled = regexp.MustCompile(`(?m)^1:\d+:1:(\d+):1:(\d+):(\d+):14$`)

// A pause is shown, and its time is no computing time: the program sleeps 20 ms in it and computes next to nothing.
func TestPausedJob(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		out, a, _ := annotate(t, mpi, "pause", "10")
		// Ten calls in the first pause, one in the second, which ends with MPI_Finalize.
		if a.Paused.Calls != 2*11 || a.Paused.Pauses != 2*2 || a.Paused.Seconds < .040 {
			t.Errorf("paused %+v", a.Paused)
		}
		contains(t, long(t, out), "paused by MPI_Pcontrol: 22 MPI calls not recorded")
		trace, err := os.ReadFile(filepath.Join(out, "trace.prv"))
		if err != nil {
			t.Fatal(err)
		}
		pauses := disabled.FindAllSubmatch(trace, -1)
		if len(pauses) != 4 {
			t.Errorf("%d pauses in trace.prv", len(pauses))
		}
		for _, b := range readRows[burstRow](t, filepath.Join(out, "bursts.parquet")) {
			for _, p := range pauses {
				var at [3]int64
				for i := range at {
					if at[i], err = strconv.ParseInt(string(p[i+1]), 10, 64); err != nil {
						t.Fatal(err)
					}
				}
				if int64(b.Rank)+1 == at[0] && b.StartNS < at[2] && b.StartNS+b.DurationNS > at[1] {
					t.Errorf("burst %+v reaches into the pause %s", b, p[0])
				}
			}
		}
	})
}

// Ends without a begin and the reverse are counted. Where a rank is killed in a phase, the phase is kept up to there.
func TestUnbalancedJobs(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		out, a, _ := annotate(t, mpi, "unbalanced")
		if a.Losses.PhaseEndsUnmatched != 2*2 || a.Losses.PhasesUnfinished != 2*2 {
			t.Errorf("losses %+v", a.Losses)
		}
		contains(t, long(t, out), "4 ends of phases without a begin", "4 phases without an end")

		out, a, _ = annotate(t, mpi, "inside")
		if a.Losses.MarksInsideCalls != 2*3 || len(a.Phases) != 1 || len(a.Events) != 0 {
			t.Errorf("%+v", a)
		}
		contains(t, long(t, out), "6 marks set inside an MPI call")

		out, a, _ = annotate(t, mpi, "die")
		if len(a.Phases) != 2 || a.Losses.PhasesUnfinished != 4 {
			t.Errorf("%+v", a)
		}
		bursts := map[int32]int64{} // by rank, when the last one ends
		for _, b := range readRows[burstRow](t, filepath.Join(out, "bursts.parquet")) {
			bursts[b.Rank] = max(bursts[b.Rank], b.StartNS+b.DurationNS)
		}
		for _, p := range readRows[phaseRow](t, filepath.Join(out, "phases.parquet")) {
			if !p.Unfinished || p.BeginNS+p.DurationNS < bursts[p.Rank] {
				t.Errorf("%+v, though a burst ends at %d", p, bursts[p.Rank])
			}
		}
	})
}
