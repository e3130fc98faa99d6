package profiling

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/app/pairing"
	"moriens/internal/hint"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// plant writes a run directory and opens it.
func plant(t testing.TB, p *rundirtest.Profiled) *Source {
	t.Helper()
	dir := t.TempDir()
	write := rundirtest.WriteProfile
	if p.Profile.Format == 1 {
		write = rundirtest.WriteEarlier
	}
	if err := write(dir, p, p.Manifest()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sums are of each node, by the names that lead to it, the time and calls of all threads, and its metrics.
type sums map[string][4]int64

func nodeText(n *calltree.Node) string {
	text := string(n.Type) + ":" + n.Name
	if n.Line > 0 {
		text += fmt.Sprintf("@%s:%d", n.File[strings.LastIndex(n.File, "/")+1:], n.Line)
	}
	return text
}

func sumsOf(t testing.TB, tree *calltree.Tree) sums {
	t.Helper()
	all := make(sums)
	next := 0
	err := tree.Each(func(thread int, v *calltree.Values) error {
		if thread != next || len(v.NS) != len(tree.Nodes) || len(v.Metrics) != len(tree.Metrics) {
			t.Fatalf("thread %d of %d with %d of %d nodes", thread, next, len(v.NS), len(tree.Nodes))
		}
		next++
		for i := range tree.Nodes {
			var names []string
			for _, k := range tree.Stack(int32(i)) {
				names = append(names, nodeText(&tree.Nodes[k]))
			}
			name := strings.Join(names[1:], " > ")
			x := all[name]
			x[0] += v.NS[i]
			x[1] += v.Calls[i]
			x[2] += v.Metrics[0][i] // instructions
			x[3] += v.Metrics[2][i] + v.Metrics[3][i]
			all[name] = x
		}
		return nil
	})
	if err != nil || next != len(tree.Threads) {
		t.Fatalf("%v, %d of %d threads", err, next, len(tree.Threads))
	}
	for i, n := range tree.Nodes {
		if n.Parent >= int32(i) || (i == 0) != (n.Parent < 0) {
			t.Fatalf("node %d has the parent %d", i, n.Parent)
		}
	}
	return all
}

// compare compares trees by what is in them.
func (s sums) compare(t *testing.T, what string, want sums) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if s[name] != want[name] {
			t.Errorf("%s: %q has %v, want %v", what, name, s[name], want[name])
		}
	}
	for name, x := range s {
		if _, there := want[name]; !there {
			t.Errorf("%s: %q, with %v", what, name, x)
		}
	}
}

// frames are the functions that lead to the calls of the planted profile, as nodes have them.
var frames = map[string]string{
	rundirtest.WaitX:   "function:main > function:adi@bt.f:20 > function:x_solve@adi.f:7 > mpi:MPI_Wait@x_solve.f:72",
	rundirtest.WaitY:   "function:main > function:adi@bt.f:20 > function:sweep@adi.f:7 > function:y_solve@sweep.f:3 > mpi:MPI_Wait@y_solve.f:81",
	rundirtest.SendX:   "function:main > function:adi@bt.f:20 > function:x_solve@adi.f:7 > mpi:MPI_Isend@x_solve.f:60",
	rundirtest.Reduce:  "function:main > function:error_norm@bt.f:31 > mpi:MPI_Allreduce@error.f:17",
	rundirtest.Read:    "function:main > function:descend@bt.f:12 > function:…@io.c:8 > function:descend > mpi:MPI_File_read@io.c:9",
	rundirtest.Missing: "mpi:MPI_Barrier",
}

// expect makes of rows, one by one, what a tree has: the test's own reading of the rules.
func expect(p *rundirtest.Profiled, shape Shape, has func(rank int32) bool) sums {
	want := sums{"": {}}
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		if !has(r.Rank) {
			continue
		}
		var way []string
		visit := func(part string) {
			way = append(way, part)
			name := strings.Join(way, " > ")
			if _, there := want[name]; !there {
				want[name] = [4]int64{} // even where nothing is directly in it
			}
		}
		if shape.Phases && r.InPhase && r.Kind != parquet.ProfileTraffic {
			for _, name := range trace.PhaseNames(r.Phase) {
				visit("phase:" + name)
			}
		}
		x := [4]int64{r.TimeNS, r.Count}
		calls := strings.Split(frames[r.CallPath], " > ")
		leaf := calls[len(calls)-1]
		switch r.Kind {
		case parquet.ProfilePhase:
			x = [4]int64{0, r.Records}
			if !shape.Phases && r.InPhase {
				continue
			}
		case parquet.ProfileMPI, parquet.ProfileTraffic:
			x[3] = r.SentBytes + r.ReceivedBytes
			if r.Kind == parquet.ProfileTraffic {
				x[0], x[1] = 0, 0
				if shape.Phases {
					break
				}
			}
			switch shape.Calls {
			case ByFrames:
				for _, f := range calls {
					visit(f)
				}
			case ByFunction:
				leaf, _, _ = strings.Cut(leaf, "@")
				visit(leaf)
			case ByPath:
				visit("mpi:" + r.CallPath)
			case Together:
				visit("mpi:MPI")
			}
		case parquet.ProfileComputation:
			if shape.Calls == ByFrames && r.Context > 0 {
				for _, f := range calls[:r.Context] {
					visit(f)
				}
			}
			visit("cluster:" + map[int32]string{1: "Cluster 1", 2: "Cluster 2", 3: "Cluster 3", 4: "Cluster 4", -1: "Noise"}[r.Cluster])
			x[2] = r.Counters[0].Sum
		case parquet.ProfilePaused:
			visit("paused:Paused")
		case parquet.ProfileUnrecorded:
			visit("unrecorded:Unrecorded")
		}
		name := strings.Join(way, " > ")
		sum := want[name]
		for k := range x {
			sum[k] += x[k]
		}
		want[name] = sum
	}
	return want
}

func everyone(int32) bool { return true }

var shapes = map[string]Shape{
	"exported": Exported, "call paths": {}, "phases": {Phases: true, Calls: ByFunction}, "functions": {Calls: ByFunction}, "paths": {Calls: ByPath}, "together": {Calls: Together},
}

// A tree has what its rows have, in each shape, in whatever order the rows are.
func TestTree(t *testing.T) {
	p := rundirtest.Profile(6)
	for _, order := range []string{"by thread", "by kind", "at random"} {
		rows := slices.Clone(p.Profile.Rows)
		switch order {
		case "by kind":
			slices.SortStableFunc(rows, func(a, b parquet.ProfileRow) int { return strings.Compare(a.Kind, b.Kind) })
		case "at random":
			r := rand.New(rand.NewPCG(1, 2))
			r.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
		}
		other := *p
		other.Profile.Rows = rows
		s := plant(t, &other)
		for name, shape := range shapes {
			tree, err := s.Tree(shape, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(tree.Threads) != 6 || tree.Threads[5] != (calltree.Thread{Rank: 5, Host: "nb"}) || tree.Threads[3].Host != "na" {
				t.Errorf("%s: threads %+v", order, tree.Threads)
			}
			sumsOf(t, tree).compare(t, order+", "+name, expect(p, shape, everyone))
		}
	}
}

// Of some ranks, and of some phases.
func TestTreeOfSome(t *testing.T) {
	p := rundirtest.Profile(6)
	s := plant(t, p)
	var list pairing.RankList
	if err := list.UnmarshalText([]byte("1,3-4")); err != nil {
		t.Fatal(err)
	}
	tree, err := s.Tree(Exported, list)
	if err != nil || len(tree.Threads) != 3 {
		t.Fatalf("%v, %+v", err, tree)
	}
	sumsOf(t, tree).compare(t, "ranks", expect(p, Exported, func(r int32) bool { return r == 1 || r == 3 || r == 4 }))
	for pattern, phases := range map[string][]string{
		"adi/x_solve": {rundirtest.XSolve}, "**/x_solve": {rundirtest.XSolve, rundirtest.Strange}, "x_solve": {rundirtest.XSolve, rundirtest.Strange}, "y_solve": {rundirtest.YSolve},
		"adi": {rundirtest.Adi, rundirtest.XSolve, rundirtest.YSolve}, "*/?_solve": nil, "a*/*_solve": {rundirtest.XSolve, rundirtest.YSolve}, `read\/*`: {rundirtest.Strange}, "read/*": nil, "**": {rundirtest.Adi, rundirtest.XSolve, rundirtest.YSolve, rundirtest.Strange},
	} {
		in, err := PatternOf(pattern)
		if err != nil {
			t.Fatal(err)
		}
		shape := Shape{Phases: true, In: in}
		tree, err := s.Tree(shape, nil)
		if phases == nil {
			if err == nil || !strings.Contains(err.Error(), "there is no phase") {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		some := *p
		some.Profile.Rows = slices.DeleteFunc(slices.Clone(p.Profile.Rows), func(r parquet.ProfileRow) bool {
			return !slices.Contains(phases, r.Phase) && !(strings.HasPrefix(r.Phase, "read") && slices.Contains(phases, rundirtest.Strange))
		})
		if strings.HasSuffix(pattern, "x_solve") {
			some.Profile.Rows = slices.DeleteFunc(some.Profile.Rows, func(r parquet.ProfileRow) bool { return r.InPhase && len(trace.PhaseNames(r.Phase)) == 1 })
		}
		sumsOf(t, tree).compare(t, pattern, expect(&some, shape, everyone))
	}
	if _, err := s.Tree(Exported, mustRanks(t, "2,17-20")); err == nil || !strings.Contains(err.Error(), "no rank 17-20 is recorded") {
		t.Error(err)
	}
}

func mustRanks(t *testing.T, text string) (list pairing.RankList) {
	t.Helper()
	if err := list.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return list
}

// Bytes that are known by rank alone are the program's where phases are nodes.
func TestTreeOfTraffic(t *testing.T) {
	p := rundirtest.Profile(3)
	for i := range p.Profile.Rows {
		if r := &p.Profile.Rows[i]; r.Kind == parquet.ProfileMPI && r.CallPath == rundirtest.WaitX {
			r.SentBytes, r.ReceivedBytes, r.InTraffic = 0, 0, true
		}
	}
	for rank := range int32(3) {
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{Kind: parquet.ProfileTraffic, Rank: 2 - rank, CallPath: rundirtest.WaitX, Context: -1, Iterations: -1, Count: 5, Records: 5, SentBytes: 1, ReceivedBytes: 100})
	}
	s := plant(t, p)
	for name, shape := range shapes {
		tree, err := s.Tree(shape, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := sumsOf(t, tree)
		got.compare(t, name, expect(p, shape, everyone))
		bytes := int64(0)
		for _, x := range got {
			bytes += x[3]
		}
		if want := int64(3 * (64 + 6<<20 + 1<<16 + 6<<20 + 101)); bytes != want {
			t.Errorf("%s: %d bytes, want %d", name, bytes, want)
		}
	}
}

// Time of a phase that no row explains is its own.
func TestTreeOfSlack(t *testing.T) {
	p := rundirtest.Profile(2)
	for i := range p.Profile.Rows {
		if r := &p.Profile.Rows[i]; r.Kind == parquet.ProfilePhase && r.Phase == rundirtest.YSolve {
			r.ExclusiveNS += 77 // that no row explains
		}
	}
	s := plant(t, p)
	tree, err := s.Tree(Exported, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sumsOf(t, tree)["phase:adi > phase:y_solve"]; got[0] != 2*77 {
		t.Errorf("time that no row explains: %d", got[0])
	}
}

// Own times of a damaged file that no row explains stop at the largest number, whether rows of a thread stand together
// or not.
func TestTreeOfSlackSaturates(t *testing.T) {
	for _, together := range []bool{true, false} {
		p := rundirtest.Profile(2)
		rows := &p.Profile.Rows
		i := slices.IndexFunc(*rows, func(r parquet.ProfileRow) bool { return r.Kind == parquet.ProfilePhase && r.Phase == rundirtest.YSolve })
		(*rows)[i].ExclusiveNS = math.MaxInt64
		if again := (*rows)[i]; together {
			*rows = slices.Insert(*rows, i, again)
		} else {
			*rows = append(*rows, again)
		}
		tree, err := plant(t, p).Tree(Exported, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sumsOf(t, tree)["phase:adi > phase:y_solve"][0]; got < math.MaxInt64/2 {
			t.Errorf("together: %t; time that no row explains: %d", together, got)
		}
	}
}

// A file whose phases lie deeper than those of any run is damaged: few bytes of it would make many nodes.
func TestTreeTooDeep(t *testing.T) {
	names := slices.Repeat([]string{"a", "/"}, trace.MostPhaseDepth/2)
	for deeper, names := range [][]string{names, append(names, "c")} {
		p := rundirtest.Profile(1)
		row := p.Profile.Rows[slices.IndexFunc(p.Profile.Rows, func(r parquet.ProfileRow) bool { return r.Kind == parquet.ProfilePhase && r.InPhase })]
		row.Phase = trace.PhasePath(names...)
		p.Profile.Rows = append(p.Profile.Rows, row)
		s := plant(t, p)
		tree, err := s.Tree(Exported, nil)
		_, asked := Ask(Question{Dir: s.Dir, By: ByPhase, Found: -1, Top: -1})
		if deeper == 0 {
			if err != nil || asked != nil {
				t.Errorf("%d phases in each other: %v, %v", len(names), err, asked)
			} else if last := int32(len(tree.Nodes) - 1); tree.PhasePath(last) != row.Phase {
				t.Errorf("the last node is in %q, want %q", tree.PhasePath(last), row.Phase)
			}
			continue
		}
		for _, err := range []error{err, asked} {
			if err == nil || !strings.Contains(err.Error(), rundir.ProfileFile) || hint.Of(err) == "" {
				t.Errorf("%d phases in each other: %v, %q", len(names), err, hint.Of(err))
			}
		}
	}
}
