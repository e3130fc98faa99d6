package clustering

import (
	"path/filepath"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/period"
	"moriens/analysis/space"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/prv"
)

// recorded is a run of testdata/recorded with the kinds of its bursts.
func recorded(t *testing.T, name string, crowded bool) *trace.Run {
	t.Helper()
	read, err := prv.ReadFile(filepath.Join("..", "..", "testdata", "recorded", name+".prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Cluster(read.Run, grouping.Options{By: grouping.ByCalls, Filter: space.Filter{Auto: true}, Kinds: grouping.KindsByOrder, Crowded: crowded, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	return read.Run
}

// LAMMPS computes forces in each step of each rank, but for every twentieth, in which it rebuilds the neighbour lists
// first: two kinds, whatever the machine does.
func TestKindsOfLAMMPS(t *testing.T) {
	for _, c := range []struct {
		name    string
		crowded bool
	}{{"lammps-slow-core", false}, {"lammps-two-busy-loops", true}} {
		run := recorded(t, c.name, c.crowded)
		bursts, timeNS, total := make(map[int32]int), make(map[int32]int64), int64(0)
		for i := range run.Threads {
			b := &run.Threads[i].Bursts
			for k, kind := range b.Kinds() {
				bursts[kind]++
				timeNS[kind] += b.DurationNS[k]
				total += b.DurationNS[k]
			}
		}
		var force, rebuild int32
		for kind, ns := range timeNS {
			switch {
			case ns > timeNS[force]:
				force, rebuild = kind, force
			case ns > timeNS[rebuild]:
				rebuild = kind
			}
		}
		share := func(kind int32) float64 { return float64(timeNS[kind]) / float64(total) }
		if force < 1 || bursts[force] < 690 || bursts[force] > 760 || share(force) < .65 || share(force) > .8 {
			t.Errorf("%s: most time is in kind %d: %d bursts, %.3f of it; want 690 to 760 force computations, with .65 to .8", c.name, force, bursts[force], share(force))
		}
		if rebuild < 1 || bursts[rebuild] < 36 || bursts[rebuild] > 42 || share(rebuild) < .15 || share(rebuild) > .25 {
			t.Errorf("%s: kind %d comes next: %d bursts, %.3f of the time; want 36 to 42 rebuilds, with .15 to .25", c.name, rebuild, bursts[rebuild], share(rebuild))
		}
		if n := iterations(t, run); n != 20 {
			t.Errorf("%s: %d iterations of 20", c.name, n)
		}
	}
}

// Four kinds between the same two calls on eight ranks that share two cores, one of them slow: over nine bursts of ten
// waited for a core.
func TestKindsOfCrowdedRanks(t *testing.T) {
	for _, name := range []string{"kinds-eight-ranks-on-two-cores", "kinds-most-of-a-kind-slow", "kinds-beside-a-build"} {
		run := recorded(t, name, true)
		var truth, found []int32
		for i := range run.Threads {
			b, made := &run.Threads[i].Bursts, int32(0)
			for k, kind := range b.Kinds() {
				if b.Before[k] == b.After[k] && b.Before[k] != 0 {
					truth, found = append(truth, made%4), append(found, kind)
					made++
				}
			}
		}
		if len(truth) != 8*4*60 {
			t.Fatalf("%s: %d bursts between the same two calls, want %d", name, len(truth), 8*4*60)
		}
		a := plant.Compare(truth, found, nil)
		t.Logf("%s: purity %.3f, ARI %.3f", name, a.Purity, a.ARI)
		if a.Purity < .95 {
			t.Errorf("%s: purity %.3f, want .95", name, a.Purity)
		}
	}
}

// iterations of the phase that covers most time.
func iterations(t *testing.T, run *trace.Run) int {
	t.Helper()
	table, err := levels.Symbols(run, team.Threads{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var list []period.Thread
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		list = append(list, period.Thread{Symbols: table.Threads[i], BeginNS: b.StartNS, DurationNS: b.DurationNS})
	}
	r, err := period.Find(list, period.Options{Workers: 2, Calls: table.Calls()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Phases) == 0 {
		return 0
	}
	most := r.Phases[0]
	for _, p := range r.Phases {
		if int64(p.Iterations)*p.MedianNS > int64(most.Iterations)*most.MedianNS {
			most = p
		}
	}
	return most.Iterations
}
