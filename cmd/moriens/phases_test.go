package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/testenv"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Two functions that call the same code are apart by the phases that they are in.
func TestMultiphysics(t *testing.T) {
	t.Parallel()
	const n = 20
	for p := range eachPhased(t, "phases", "multiphysics", fmt.Sprint(n)) {
		if d := cmp.Diff([]string{"iterate", "iterate/heat", "iterate/stress"}, p.paths()); d != "" {
			t.Error(d)
		}
		for path, want := range map[string]map[string]int64{
			"iterate": {}, "iterate/heat": {"MPI_Send": 2 * n, "MPI_Recv": 2 * n}, "iterate/stress": {"MPI_Send": 4 * n, "MPI_Recv": 4 * n},
		} {
			if d := cmp.Diff(want, p.calls(path)); d != "" {
				t.Errorf("%s: calls differ (-made +reported):\n%s", path, d)
			}
			phases := p.of(parquet.ProfilePhase, path)
			for rank := range int32(2) {
				if s := phases[[2]int32{rank}]; s.count != n || s.records != n {
					t.Errorf("%s on rank %d: %+v", path, rank, s)
				}
			}
		}
		for path, ns := range map[string]int64{"iterate/heat": 2_000_000, "iterate/stress": 3_000_000} {
			bursts := p.of(parquet.ProfileComputation, path)
			for rank := range int32(2) {
				if s := bursts[[2]int32{rank}]; s.timeNS < slept(n*ns) {
					t.Errorf("%s on rank %d: %d ns of computing, slept %d", path, rank, s.timeNS, n*ns)
				}
			}
		}
	}
}

// Bursts are cut where phases begin and end in them, and say so.
func TestPhasesThatBeginInBursts(t *testing.T) {
	t.Parallel()
	const n = 20
	for p := range eachPhased(t, "phases", "borders", fmt.Sprint(n)) {
		if d := cmp.Diff([]string{"across", "empty", "inside", "round", "round/in"}, p.paths()); d != "" {
			t.Error(d)
		}
		for path, want := range map[string]map[string]int64{"across": {"MPI_Barrier": 2 * n}, "inside": {}, "empty": {}, "round": {}, "round/in": {"MPI_Barrier": 2 * n}} {
			if d := cmp.Diff(want, p.calls(path)); d != "" {
				t.Errorf("%s: calls differ (-made +reported):\n%s", path, d)
			}
		}
		for path, ns := range map[string]int64{"across": 2_000_000, "inside": 500_000, "round/in": 500_000} {
			bursts, phases := p.of(parquet.ProfileComputation, path), p.of(parquet.ProfilePhase, path)
			for rank := range int32(2) {
				at := [2]int32{rank}
				s := bursts[at]
				if phases[at].records != n || s.timeNS < slept(n*ns) || s.estimatedNS != s.timeNS {
					t.Errorf("%s on rank %d: %+v, bursts %+v, slept %d ns", path, rank, phases[at], s, n*ns)
				}
				if path == "inside" && s.timeNS != phases[at].timeNS {
					t.Errorf("inside on rank %d: %+v, bursts %+v", rank, phases[at], s)
				}
			}
		}
		empty := p.of(parquet.ProfilePhase, "empty")
		for rank := range int32(2) {
			if s := empty[[2]int32{rank}]; s.count != n || s.records != n || s.timeNS != s.exclusiveNS {
				t.Errorf("empty on rank %d: %+v", rank, s)
			}
		}
	}
}

// What a function takes in each instance of a phase is a series, which is what was planted.
func TestDynamicPhase(t *testing.T) {
	t.Parallel()
	for p := range eachPhased(t, "phases", "dynamic", fmt.Sprint(instances), fmt.Sprint(slowest)) {
		p.checkSlow()
		waits, says := p.overall(parquet.InstanceMPI, "ITERATE", "MPI_Sendrecv"), p.says(1)
		if len(waits) != instances {
			t.Fatalf("MPI_Sendrecv is in %d instances", len(waits))
		}
		for i, r := range waits {
			least := slept(int64(i) * 500_000)
			if i == slowest {
				least += slept(1_000_000_000)
			}
			// Rank 0 does not call it.
			if r.Instance != int64(i) || r.Calls != 1 || r.SumNS != r.MostNS || r.MostRank != 1 || r.LeastNS != 0 || r.SumNS < least || slept(r.SumNS) > says[i] {
				t.Errorf("instance %d, of %d to %d ns: %+v", i, least, says[i], r)
			}
		}
	}
}

// A phase in itself is one instance of several intervals; phases of one name in different phases are apart.
func TestRecursivePhases(t *testing.T) {
	t.Parallel()
	const n = 7
	for p := range eachPhased(t, "phases", "recursive", fmt.Sprint(n)) {
		for path, want := range map[string]struct{ intervals, instances, barriers int64 }{
			"down": {n, 1, 2 * n}, "a": {n, n, 0}, "a/solve": {n, n, 2 * n}, "b": {n, n, 0}, "b/solve": {n, n, 3 * n}, "b/a": {n, n, 0}, "b/a/solve": {n, n, n},
		} {
			for rank := range int32(2) {
				if s := p.of(parquet.ProfilePhase, path)[[2]int32{rank}]; s.count != want.intervals || s.records != want.instances {
					t.Errorf("%s on rank %d: %+v, want %+v", path, rank, s, want)
				}
			}
			if c := p.calls(path); c["MPI_Barrier"] != 2*want.barriers {
				t.Errorf("%s: %v, want %+v", path, c, want)
			}
		}
		if len(p.paths()) != 7 {
			t.Errorf("%q", p.paths())
		}
	}
}

// Each thread has phases of its own, also one that does not call MPI, of which nothing else is recorded.
func TestPhasesOfThreads(t *testing.T) {
	t.Parallel()
	const threads, n = 3, 50
	for p := range eachPhased(t, "phases", "threads", fmt.Sprint(threads), fmt.Sprint(n)) {
		exchange, wait, alone := p.of(parquet.ProfilePhase, "exchange"), p.of(parquet.ProfilePhase, "exchange/wait"), p.of(parquet.ProfilePhase, "alone")
		if len(exchange) != 2*threads || len(wait) != 2*threads || len(alone) != 2 || len(p.of(parquet.ProfilePhase, "threads")) != 2 || len(p.paths()) != 4 {
			t.Fatalf("%q: %v, %v, %v", p.paths(), exchange, wait, alone)
		}
		for at, s := range exchange {
			if s.count != n || wait[at].count != n || s.timeNS < slept(n*100_000) {
				t.Errorf("%v: %+v, %+v", at, s, wait[at])
			}
		}
		for at, s := range alone {
			if u := p.of(parquet.ProfileUnrecorded, "alone")[at]; s.count != n || s.timeNS < slept(n*1_000_000) || s.timeNS != u.timeNS {
				t.Errorf("%v: %+v, %+v", at, s, u)
			}
		}
		if c := p.calls("exchange/wait"); c["MPI_Sendrecv"] != 2*threads*n || len(p.calls("exchange"))+len(p.calls("alone")) > 0 {
			t.Errorf("%v", c)
		}
	}
}

// The time of a pause is that of the phases that it lies in.
func TestPhasesInPauses(t *testing.T) {
	t.Parallel()
	const n = 6
	for p := range eachPhased(t, "phases", "pause", fmt.Sprint(n)) {
		for path, want := range map[string]struct{ ns, barriers int64 }{"whole/into": {2_000_000, n}, "whole/within": {3_000_000, 0}, "whole/out of": {1_000_000, n}} {
			for rank := range int32(2) {
				at := [2]int32{rank}
				s, whole := p.of(parquet.ProfilePaused, path)[at], p.of(parquet.ProfilePhase, path)[at]
				if s.count != n || s.timeNS < slept(n*want.ns) || whole.records != n || path == "whole/within" && s.timeNS != whole.timeNS {
					t.Errorf("%s on rank %d: paused %+v of %+v", path, rank, s, whole)
				}
			}
			if c := p.calls(path); c["MPI_Barrier"] != 2*want.barriers {
				t.Errorf("%s: %v", path, c)
			}
		}
		if a := p.annotations.Paused; a.Pauses != 2*n || a.Seconds < .006*n*2*.999 {
			t.Errorf("%+v", a)
		}
	}
}

// Phases that are open where a process is killed end with its record, and all adds up.
func TestPhasesOfKilledProcesses(t *testing.T) {
	t.Parallel()
	const n = 15
	for p := range eachPhased(t, "phases", "killed", fmt.Sprint(n)) {
		if p.status == 0 || p.annotations.Losses.PhasesUnfinished != 4 {
			t.Errorf("status %d, %+v", p.status, p.annotations)
		}
		for path, records := range map[string]int64{"outer": 1, "outer/step": n, "outer/inner": 1} {
			for rank := range int32(2) {
				if s := p.of(parquet.ProfilePhase, path)[[2]int32{rank}]; s.count != records || s.records != records {
					t.Errorf("%s on rank %d: %+v", path, rank, s)
				}
			}
		}
		if c := p.calls("outer/step"); c["MPI_Barrier"] != 2*n {
			t.Errorf("%v", c)
		}
		if c := p.calls("outer/inner"); c["MPI_Barrier"] != 2 {
			t.Errorf("%v", c)
		}
	}
}

// Where ranks have different numbers of instances, each instance says how many have it.
func TestUnevenPhases(t *testing.T) {
	t.Parallel()
	const n = 30
	for p := range eachPhased(t, "phases", "uneven", fmt.Sprint(n)) {
		whole, calls := p.overall(parquet.InstanceWhole, "step", ""), p.overall(parquet.InstanceMPI, "step", "MPI_Barrier")
		if len(whole) != n+n/2 || len(calls) != len(whole) {
			t.Fatalf("%d instances, %d with calls", len(whole), len(calls))
		}
		for i, r := range whole {
			want := int64(2)
			if i >= n {
				want = 1
			}
			if r.Instance != int64(i) || r.Count != want || r.Calls != want || calls[i].Calls != want || want == 1 && r.MostRank != 1 {
				t.Errorf("instance %d: %+v, %+v", i, r, calls[i])
			}
		}
	}
}

// 10⁵ instances are as many points as fit, each of as many instances; the longest is known by its number.
func TestManyPhases(t *testing.T) {
	t.Parallel()
	const n, slow, most = 100_000, 77_777, 1024
	p := runPhases(t, keepDefault, "phases", "many", fmt.Sprint(n), fmt.Sprint(slow))
	whole := p.overall(parquet.InstanceWhole, "step", "")
	if len(whole) < 256 {
		t.Fatalf("%d points", len(whole))
	}
	group := whole[0].Instances
	if points := (n + group - 1) / group; int64(len(whole)) != points || group > most {
		t.Fatalf("%d points of %d instances, not %d", len(whole), group, points)
	}
	longest := 0
	for i, r := range whole {
		if first := int64(i) * group; r.Instance != first || r.Instances != min(group, n-first) || r.Count != 2 || r.Calls != 2*r.Instances {
			t.Errorf("point %d: %+v", i, r)
		}
		if r.LongestNS > whole[longest].LongestNS {
			longest = i
		}
	}
	other := max(p.says(0)[0], p.says(1)[0])
	if r := whole[slow/group]; r.LongestNS < slept(500_000_000) || other < slept(500_000_000) && (r.LongestInstance != slow || r.MostRank != 1 || int64(longest) != slow/group) {
		t.Errorf("slow is %+v, the slowest %+v", r, whole[longest])
	}
	if c := p.calls("step"); c["MPI_Barrier"] != 2*n/100 {
		t.Errorf("%v", c)
	}
}

// MPI by phase is MPI by function of the call path, where each phase is a function, to the nanosecond.
func TestSolvers(t *testing.T) {
	t.Parallel()
	testenv.NeedLibrary(t, "libunwind.so.8")
	for p := range eachPhased(t, "bt", fmt.Sprint(instances), fmt.Sprint(slowest)) {
		p.checkSlow()
		table, err := rundir.ReadCallPaths(p.out)
		if err != nil {
			t.Fatal(err)
		}
		callers := make(map[string]string) // by name of a call path, which of the three functions calls
		for _, path := range table.Paths {
			for _, f := range path.Frames {
				if function := table.Frames[f].Function; function != nil && strings.HasSuffix(table.Functions[*function].Name, "_solve") {
					callers[path.Name] = table.Functions[*function].Name
				}
			}
		}
		type key struct{ solver, function string }
		type value struct{ calls, ns int64 }
		byPhase, byFunction := make(map[key]value), make(map[key]value)
		for i := range p.profile {
			r := &p.profile[i]
			if r.Kind != parquet.ProfileMPI {
				continue
			}
			if r.WholeNS != r.TimeNS {
				t.Errorf("a call crosses a border: %+v", *r)
			}
			function, _, _ := strings.Cut(r.CallPath, "@")
			add := func(to map[key]value, solver string) {
				v := to[key{solver, function}]
				to[key{solver, function}] = value{v.calls + r.Count, v.ns + r.TimeNS}
			}
			if names := namesOf(r.InPhase, r.Phase); len(names) == 2 {
				add(byPhase, names[1])
			} else if len(names) != 0 {
				t.Errorf("%+v", *r)
			}
			if solver := callers[r.CallPath]; solver != "" {
				add(byFunction, solver)
			}
		}
		if d := cmp.Diff(byFunction, byPhase, cmp.AllowUnexported(key{}, value{})); d != "" {
			t.Errorf("MPI differs (-by function +by phase):\n%s", d)
		}
		for solver, times := range map[string]int64{"x_solve": 1, "y_solve": 1, "z_solve": 2} {
			for function, calls := range map[string]int64{"MPI_Isend": 1, "MPI_Irecv": 1, "MPI_Wait": 2} {
				if got := byPhase[key{solver, function}]; got.calls != 2*instances*times*calls {
					t.Errorf("%s in %s: %+v", function, solver, got)
				}
			}
		}
	}
}
