package retention

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/represent"
	"moriens/conclude/levels"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// plantDeep is a run whose two places are reached on many call paths: iterations take turns.
func plantDeep(ranks, iterations, paths int) *trace.Run {
	random := rand.New(rand.NewPCG(7, 1))
	run := plant(ranks, iterations, func(rank, _ int, ns int64) int64 { return ns + int64(rank%2)*ns + random.Int64N(ns/50) })
	frame := func(function string, line int) trace.Frame {
		return trace.Frame{Module: "app", Offset: uint64(100*len(function) + line), Function: function, File: "/src/" + function + ".c", Line: line}
	}
	first := uint32(len(run.CallPaths))
	for _, path := range []uint32{2, 3} {
		p := &run.CallPaths[path]
		p.Frames = []trace.Frame{frame("exchange", int(path)), frame("main", 1)}
		for k := range paths {
			run.CallPaths = append(run.CallPaths, trace.CallPath{Function: p.Function, Frames: []trace.Frame{p.Frames[0], frame("solve", 10+k), frame("main", 2)}})
		}
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		for k, path := range t.Calls.Path {
			if turn := k / 2 % (paths + 1); (path == 2 || path == 3) && turn > 0 {
				t.Calls.Path[k] = first + (path-2)*uint32(paths) + uint32(turn-1)
			}
		}
		for k := range t.Bursts.After {
			t.Bursts.Before[k], t.Bursts.After[k] = t.Calls.Path[k], t.Calls.Path[k+1]
		}
		t.Phases = []trace.Phase{{Name: 0, Depth: 0, BeginNS: t.Calls.EnterNS[3], EndNS: t.Calls.ExitNS[t.Calls.Len()/2]}}
	}
	run.MarkNames = []string{"solver"}
	return run
}

// sums are figures of rows by what these have in common.
type sums map[string][]any

func (s sums) add(key string, r *parquet.ProfileRow) {
	if s[key] == nil {
		s[key] = []any{int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), r.MinNS, r.MaxNS, float64(0)}
	}
	x := s[key]
	for i, v := range []int64{r.Count, r.Records, r.TimeNS, r.WholeNS, r.SentBytes, r.ReceivedBytes} {
		x[i] = x[i].(int64) + v
	}
	if r.Records > 0 {
		x[6], x[7] = min(x[6].(int64), r.MinNS), max(x[7].(int64), r.MaxNS)
	}
	x[8] = x[8].(float64) + r.SquaresNS2
}

// A profile that takes more than an eighth of the budget has call paths by classes, which are the sums of their ranks,
// and places of each rank.
func TestProfileByClass(t *testing.T) {
	t.Run("bursts are here", func(t *testing.T) { checkByClass(t, plantDeep(48, 200, 30), nil) })
	t.Run("bursts stay on their nodes", func(t *testing.T) {
		run := plantDeep(48, 200, 30)
		all, err := levels.Profile(run, team.Threads{}, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		totals := &Sums{Rows: all.Rows, Phases: &Phases{Paths: all.Phases.Paths, Sums: all.Phases.Sums, Idle: all.Phases.Idle}, Classes: &represent.Classes{Of: make([]int32, 48), Classes: make([]represent.Class, 2)}}
		for i := range run.Threads {
			class := int32(i % 2)
			totals.Classes.Of[i] = class
			totals.Classes.Classes[class].Threads = append(totals.Classes.Classes[class].Threads, int32(i))
			if i >= 8 {
				t := &run.Threads[i]
				*t = trace.Thread{Rank: t.Rank, BeginNS: t.BeginNS, EndNS: t.EndNS}
			}
		}
		totals.Classes.Classes[1].Exemplar = 1
		checkByClass(t, run, totals)
	})
}

func checkByClass(t *testing.T, run *trace.Run, totals *Sums) {
	write := func(budget units.Bytes) (string, *rundir.Manifest, *parquet.Profile) {
		c, _ := reduce(t, run, Options{Budget: budget, Windows: 2, Outliers: -1, Workers: 2, Sums: totals})
		dir := t.TempDir()
		if _, err := rundir.Write(c, dir); err != nil {
			t.Fatal(err)
		}
		p, err := parquet.ReadProfileFile(filepath.Join(dir, rundir.ProfileFile))
		if err != nil {
			t.Fatal(err)
		}
		return dir, c.Manifest, p
	}
	fileOf := func(m *rundir.Manifest) int64 {
		return m.Files[slices.IndexFunc(m.Files, func(f rundir.File) bool { return f.Name == rundir.ProfileFile })].Bytes
	}
	_, large, whole := write(DefaultBudget)
	if large.Reduction.ProfileByClass != nil || whole.Classes {
		t.Fatalf("%+v of %v", large.Reduction.ProfileByClass, units.Bytes(fileOf(large)))
	}
	const budget = 400 << 10
	dir, m, p := write(budget)
	by := m.Reduction.ProfileByClass
	if by == nil || !p.Classes || by.Places != 2 || by.CallPaths != 62 || by.Bytes != fileOf(large) || fileOf(m) >= by.Bytes/2 || m.Reduction.Bytes > budget {
		t.Fatalf("%+v, %d bytes of %d, the directory has %d", by, fileOf(m), fileOf(large), m.Reduction.Bytes)
	}
	t.Logf("profile.parquet: %d rows in %d bytes, by class %d in %d", len(whole.Rows), by.Bytes, len(p.Rows), fileOf(m))
	if !slices.ContainsFunc(m.Notes, func(note string) bool { return strings.Contains(note, "62 call paths, which lead to 2 places") }) {
		t.Errorf("notes %q", m.Notes)
	}
	rundirtest.CheckProfilePhases(t, dir)
	classOf := make(map[int32]int32)
	for class, c := range m.Kept.Classes {
		for _, r := range c.Threads {
			for i := r[0]; i <= r[1]; i++ {
				classOf[int32(i)] = int32(class)
			}
		}
	}
	if len(m.Kept.Classes) < 2 || len(classOf) != 48 {
		t.Fatalf("classes %+v", m.Kept.Classes)
	}
	names, places := run.Names(), run.PlaceNames()
	placeOf := make(map[string]string)
	for i, name := range names {
		placeOf[name] = places[i]
	}
	rest := func(r *parquet.ProfileRow) string {
		return fmt.Sprint(r.Cluster, r.OfKind, r.InPhase, r.Phase, r.Iterations)
	}
	want, got := make(sums), make(sums) // by class and call path
	wantOf, gotOf := make(sums), make(sums)
	threads, wantThreads := make(map[string]int32), make(map[string]map[int32]bool)
	for i := range whole.Rows {
		r := &whole.Rows[i]
		kind, is := parquet.ClassKind(r.Kind)
		if !is {
			continue
		}
		wantOf.add(fmt.Sprint(r.Kind, r.Rank, placeOf[r.CallPath], rest(r)), r)
		key := fmt.Sprint(kind, classOf[r.Rank], r.CallPath, r.Context, rest(r))
		if placeOf[r.CallPath] == "MPI_Init" || placeOf[r.CallPath] == "MPI_Finalize" {
			continue
		}
		want.add(key, r)
		if wantThreads[key] == nil {
			wantThreads[key] = make(map[int32]bool)
		}
		wantThreads[key][r.Rank] = true
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if _, of := r.OfClass(); of {
			key := fmt.Sprint(r.Kind, r.Class, r.CallPath, r.Context, rest(r))
			got.add(key, r)
			threads[key] = r.Threads
			continue
		}
		if _, is := parquet.ClassKind(r.Kind); !is {
			continue
		}
		if r.Class != classOf[r.Rank] {
			t.Fatalf("%+v is of class %d", r, classOf[r.Rank])
		}
		place := r.CallPath
		if r.Paths == 0 {
			place = placeOf[r.CallPath]
		}
		gotOf.add(fmt.Sprint(r.Kind, r.Rank, place, rest(r)), r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by class: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(wantOf, gotOf); diff != "" {
		t.Errorf("by rank: -want +got\n%s", diff)
	}
	for key, list := range wantThreads {
		if int(threads[key]) != len(list) {
			t.Errorf("%s: %d threads, not %d", key, threads[key], len(list))
		}
	}
	if len(slices.Collect(maps.Keys(got))) == 0 {
		t.Error("no row of a class")
	}
}

// Members of a team write the same directory.
func TestTeamByClass(t *testing.T) {
	run := plantDeep(12, 200, 30)
	o := Options{Budget: 150 << 10, Windows: 2, Outliers: -1, Workers: 2}
	if c, _ := reduce(t, run, o); c.Manifest.Reduction.ProfileByClass == nil {
		t.Fatal("nothing is by class")
	}
	checkTeams(t, run, rundir.Clusters{}, o, nil, []int32{0, 1, 2, 1, 0, 2, 2, 1, 0, 0, 1, 2}, slices.Repeat([]int32{1}, 12))
}
