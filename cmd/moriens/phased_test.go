package main_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// recountPhases has a script that shares no code with moriens sum up the MPI calls of a run, of which everything was
// kept, by phase and by instance, from its tables.
func recountPhases(t *testing.T, out, tables string) {
	t.Helper()
	testenv.Need(t, systemPython)
	var said struct {
		Profile   [][]any `json:"profile"`
		Instances [][]any `json:"instances"`
	}
	profile, instances := rundirtest.CheckPhases(t, out)
	for i := range profile.Rows {
		if r := &profile.Rows[i]; r.Kind == parquet.ProfileMPI {
			said.Profile = append(said.Profile, []any{r.World, r.Rank, r.Thread, namesOf(r.InPhase, r.Phase), r.CallPath, r.Count, r.TimeNS})
		}
	}
	grouped := false
	for i := range instances {
		r := &instances[i]
		grouped = grouped || r.Iterations < 0 && r.Instances > 1
		if r.OfThread && r.Iterations < 0 && r.What == parquet.InstanceMPI && (r.DirectNS > 0 || r.Calls > 0) {
			said.Instances = append(said.Instances, []any{r.World, r.Rank, r.Thread, namesOf(r.InPhase, r.Phase), r.Instance, r.Function, r.Calls, r.DirectNS})
		}
	}
	if grouped {
		said.Instances = nil
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	figures := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(figures, text, 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(mpitest.Root(t), "testdata", "recount", "phases.py")
	if said, err := exec.Command(systemPython, script, tables, figures).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// namesOf are the names of a phase and of those round it; none of the program itself.
func namesOf(in bool, path string) []string {
	if !in {
		return []string{}
	}
	return trace.PhaseNames(path)
}

// A phased run is one whose phases are known.
type phased struct {
	testing.TB
	out, measured string // run directory, and what the program has said
	profile       []parquet.ProfileRow
	instances     []parquet.InstanceRow
	annotations   annotations
	status        int
}

// runPhases runs a program of two ranks, checks that what its run directory says of phases adds up, and returns that.
func runPhases(t *testing.T, keep []string, program string, args ...string) phased {
	t.Helper()
	mpi := mpitest.OpenMPI
	testenv.Need(t, mpi.CC, mpi.Launcher)
	app := mpi.App(t, program, "-I"+filepath.Join(mpitest.Root(t), "cshim", "include"))
	p := phased{TB: t, measured: t.TempDir(), out: filepath.Join(t.TempDir(), "run")}
	command := append(append([]string{binary(t), "run", "--moriens-timeout", "10m", "--out", p.out}, keep...), "--")
	o := execute(t, []string{"MINIAPP_OUT=" + p.measured, "OMPI_MCA_mpi_yield_when_idle=1"}, append(command, mpi.Args(2, "", append([]string{app}, args...)...)...)...)
	p.status = o.status
	m := readManifest(t, p.out)
	calls := m.MPICalls
	if o.status != 0 { // a rank is killed while the other waits for it
		delete(calls, "MPI_Recv")
	}
	if d := cmp.Diff(sum(mpitest.Counts(t, p.measured)), calls); d != "" || m.Dropped != 0 {
		t.Errorf("%d dropped; MPI calls differ (-made +recorded):\n%s", m.Dropped, d)
	}
	text, err := os.ReadFile(filepath.Join(p.out, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &p.annotations); err != nil {
		t.Fatal(err)
	}
	profile, instances := rundirtest.CheckPhases(t, p.out)
	p.profile, p.instances = profile.Rows, instances
	if slices.Contains(keep, "all") {
		recountPhases(t, p.out, exported(t, p.out))
	}
	return p
}

var keepAll, keepDefault = []string{"--keep-bursts", "all"}, []string(nil)

// eachPhased runs a program and keeps all of it, and once more as is the default.
func eachPhased(t *testing.T, program string, args ...string) iter.Seq[phased] {
	return func(yield func(phased) bool) {
		for _, keep := range [][]string{keepAll, keepDefault} {
			if !yield(runPhases(t, keep, program, args...)) {
				return
			}
		}
	}
}

// calls counts the calls directly in a phase by function, over both ranks.
func (p *phased) calls(path string) map[string]int64 {
	counts := make(map[string]int64)
	for i := range p.profile {
		if r := &p.profile[i]; r.Kind == parquet.ProfileMPI && r.InPhase && r.Phase == path && r.Count > 0 {
			function, _, _ := strings.Cut(r.CallPath, "@")
			counts[function] += r.Count
		}
	}
	return counts
}

// A spell is time of a thread in a phase.
type spell struct{ count, records, timeNS, exclusiveNS, estimatedNS int64 }

// of sums up the rows of a kind in a phase, by rank and thread.
func (p *phased) of(kind, path string) map[[2]int32]spell {
	sums := make(map[[2]int32]spell)
	for i := range p.profile {
		if r := &p.profile[i]; r.Kind == kind && r.InPhase && r.Phase == path {
			at := [2]int32{r.Rank, r.Thread}
			s := sums[at]
			sums[at] = spell{s.count + r.Count, s.records + r.Records, s.timeNS + r.TimeNS, s.exclusiveNS + r.ExclusiveNS, s.estimatedNS + r.EstimatedNS}
		}
	}
	return sums
}

// paths are all phases, in the order of their texts.
func (p *phased) paths() (list []string) {
	for i := range p.profile {
		if r := &p.profile[i]; r.Kind == parquet.ProfilePhase && r.InPhase {
			list = append(list, r.Phase)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// slept is what a thread slept at least, in ns: the clocks of moriens and of the system differ by less than a
// thousandth.
func slept(ns int64) int64 { return ns - ns/1000 }

// overall are the rows over all threads of a thing in the instances of a phase.
func (p *phased) overall(what, path, function string) (list []parquet.InstanceRow) {
	for _, r := range p.instances {
		if !r.OfThread && r.Iterations < 0 && r.InPhase && r.Phase == path && r.What == what && r.Function == function {
			list = append(list, r)
		}
	}
	return list
}

// says are the times that a rank has measured itself, in ns.
func (p *phased) says(rank int) (list []int64) {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.measured, fmt.Sprint("instances.", rank)))
	if err != nil {
		p.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var ns int64
		if _, err := fmt.Sscan(line, &ns); err != nil {
			p.Fatal(err)
		}
		list = append(list, ns)
	}
	return list
}

// checkSlow checks that of the instances of ITERATE, 92 on each rank, number 51 is found, which took a second more. On
// a machine that held another one up as long, as the program itself has seen, that one may have taken longest.
func (p *phased) checkSlow() {
	p.Helper()
	whole := p.overall(parquet.InstanceWhole, "ITERATE", "")
	if len(whole) != instances {
		p.Fatalf("%d instances", len(whole))
	}
	most, heldUp := 0, false
	for i := range whole {
		r := &whole[i]
		if r.Instance != int64(i) || r.Instances != 1 || r.Count != 2 || r.Calls != 2 || r.LongestInstance != int64(i) {
			p.Errorf("instance %d: %+v", i, *r)
		}
		if r.MostNS > whole[most].MostNS {
			most = i
		}
		for rank := range 2 {
			heldUp = heldUp || i != slowest && p.says(rank)[i] > slept(1_000_000_000)
		}
	}
	if whole[slowest].MostNS < slept(1_000_000_000) || most != slowest && !heldUp {
		p.Errorf("most is in instance %d, slow was %d: %+v", most, slowest, whole[slowest])
	}
	for rank := range int32(2) {
		if s := p.of(parquet.ProfilePhase, "ITERATE")[[2]int32{rank}]; s.count != instances || s.records != instances {
			p.Errorf("rank %d: %+v", rank, s)
		}
	}
}

const instances, slowest = 92, 51
