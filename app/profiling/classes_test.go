package profiling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/analysis/program"
	"moriens/app/pairing"
	"moriens/app/question"
	"moriens/conclude/levels"
	"moriens/internal/hint"
	"moriens/trace/calltree"
	"moriens/trace/rundir/rundirtest"
)

// deep is the run directory of rundirtest.Deep twice: with call paths of each rank, and of classes: even and odd ranks.
func deep(t *testing.T, ranks int) (byRank, byClass string) {
	t.Helper()
	p := rundirtest.Deep(ranks)
	byRank, byClass = t.TempDir(), t.TempDir()
	write := func(dir string) {
		putProgram(t, dir, deepProgram())
		if err := rundirtest.WriteProfile(dir, p, p.Manifest()); err != nil {
			t.Fatal(err)
		}
	}
	write(byRank)
	classes := make([]int32, ranks)
	for r := range classes {
		classes[r] = int32(r % 2)
	}
	summed, done := levels.ByClass(&p.Profile, p.Paths, classes)
	if done == nil || done.Places != 3 || done.CallPaths != 48 || len(summed.Rows) >= len(p.Profile.Rows) {
		t.Fatalf("%+v, %d rows of %d", done, len(summed.Rows), len(p.Profile.Rows))
	}
	p.Profile = *summed
	write(byClass)
	return byRank, byClass
}

// deepProgram has a loop for each function that calls MPI in rundirtest.Deep, and one of the first round the others.
func deepProgram() *program.Program {
	p := &program.Program{Format: program.Format, Ranks: 8, Certain: program.Certain{Calls: 1, Time: 1}, Basis: program.ByCode}
	id := 0
	node := func(n program.Node) *program.Node {
		id++
		n.ID = id
		return &n
	}
	body := &p.Body
	for outer := range 4 {
		loop := node(program.Node{
			Kind: program.KindLoop, Function: "solve", File: "/src/solve.c", Line: 30 + outer, By: program.ByCode,
			Trips: &program.Trips{Least: 2, Most: 2, Mean: 2, Entries: 8, Total: 16, Kind: program.TripsConstant, Expression: "2"},
		})
		*body = append(*body, loop)
		for place := range 3 {
			for line := range 4 {
				path := 1 + 16*place + 4*outer + line
				loop.Body = append(loop.Body, node(program.Node{Kind: program.KindCompute, Count: 1, Around: [][2]int{{path, path}}}), node(program.Node{Kind: program.KindMPI, Function: "MPI_Send", Paths: []int{path}}))
			}
		}
		if outer == 0 {
			body = &loop.Body
		}
	}
	p.Body = append(p.Body, node(program.Node{Kind: program.KindCompute, Count: 1, Around: [][2]int{{0, 49}}}), node(program.Node{Kind: program.KindMPI, Function: "MPI_Barrier", Paths: []int{49}}))
	return p
}

// likeness is the JSON of an answer without its notes; what a file of classes does not know is left out of both.
func likeness(t *testing.T, a *Answer, unknown map[string]bool) (found map[string]any, lacking int) {
	t.Helper()
	var text bytes.Buffer
	if err := a.JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	delete(found, "notes")
	var strip func(at string, x any)
	strip = func(at string, x any) {
		switch x := x.(type) {
		case map[string]any:
			_, spread := x["imbalance"]
			if spread {
				if x["most"] == nil {
					if x["sum"] != nil { // else it is a ratio, which has none without bursts
						lacking++
					}
					unknown[at] = true
				}
				if unknown[at] {
					for _, of := range []string{"most", "most_thread", "least", "std", "imbalance", "threads"} {
						delete(x, of)
					}
					if _, ratio := x["overall"]; ratio {
						delete(x, "mean")
					}
				}
			}
			for name, y := range x {
				strip(at+"/"+name, y)
			}
		case []any:
			for _, y := range x {
				name := at
				if row, is := y.(map[string]any); is {
					name += fmt.Sprint(row["type"], row["stack"], row["phase"], row["file"], row["line"], row["rank"])
				}
				strip(name, y)
			}
		}
	}
	strip("", found)
	return found, lacking
}

// TestByClass holds each answer on a directory with classes against that on the one with all ranks.
func TestByClass(t *testing.T) {
	byRank, byClass := deep(t, 8)
	ranksOf := func(text string) (list pairing.RankList) {
		if err := list.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return list
	}
	even, three := ranksOf("0,2,4,6"), ranksOf("1-3")
	phase := func(in bool) *Pattern {
		if !in {
			return nil
		}
		p, err := PatternOf("adi")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, metric := range []string{metricTime, metricCalls, metricBytes, metricIPC, instructions} {
		for _, by := range []struct {
			By
			nested bool
		}{{ByCall, false}, {ByCallPath, false}, {ByCallPath, true}, {ByFunctions, false}, {ByPhase, false}, {ByPhase, true}, {ByLoop, false}, {ByLoop, true}, {ByCluster, false}, {ByRank, false}, {ByNode, false}} {
			for _, in := range []bool{false, true} {
				for _, ranks := range []pairing.RankList{nil, even, three} {
					q := Question{By: by.By, Nested: by.nested, Metric: metric, In: phase(in), Ranks: ranks, Found: -1, Sort: SortName}
					name := fmt.Sprint(by, metric, in, len(ranks))
					q.Dir = byRank
					want, err := Ask(q)
					if err != nil {
						t.Fatal(name, err)
					}
					q.Dir, q.In = byClass, phase(in)
					got, err := Ask(q)
					whole := by.By == ByCallPath || by.By == ByFunctions || by.By == ByLoop
					if whole && len(ranks) > 0 && ranks.Has(0, 1) {
						var mistake question.UsageError
						if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "is a part") && !strings.Contains(err.Error(), "are a part") && !strings.Contains(hint.Of(err), "--keep") {
							t.Fatalf("%s: a part of a class: %v", name, err)
						}
						continue
					}
					if err != nil {
						t.Fatal(name, err)
					}
					unknown := make(map[string]bool)
					likeness(t, got, unknown) // rows may have one name
					x, lacking := likeness(t, got, unknown)
					y, _ := likeness(t, want, unknown)
					if diff := cmp.Diff(y, x, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
						t.Fatalf("%s: -by rank +by class\n%s", name, diff)
					}
					if (lacking > 0) != whole {
						t.Errorf("%s: %d figures are not known", name, lacking)
					}
					noted := slices.ContainsFunc(got.Notes, func(note string) bool { return strings.Contains(note, "classes of ranks") })
					if noted != whole {
						t.Errorf("%s: %q", name, got.Notes)
					}
				}
			}
		}
	}
}

// TestTreeByClass: the values of a tree of classes are the sums over their ranks.
func TestTreeByClass(t *testing.T) {
	byRank, byClass := deep(t, 9)
	for _, shape := range []Shape{Exported, {}, {Phases: true, Calls: ByFunction}, {Calls: Together}, {Calls: ByPath}, {Calls: ByLoops}} {
		sums := func(dir string) (map[string][]int64, *calltree.Tree) {
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := s.Tree(shape, nil)
			if err != nil {
				t.Fatal(err)
			}
			found := make(map[string][]int64)
			err = tree.Each(func(thread int, v *calltree.Values) error {
				for i := range tree.Nodes {
					values := append([]int64{v.NS[i], v.Calls[i]}, v.Metrics[0][i], v.Metrics[1][i], v.Metrics[2][i], v.Metrics[3][i])
					if !slices.ContainsFunc(values, func(x int64) bool { return x != 0 }) {
						continue
					}
					key := fmt.Sprint(tree.Threads[thread].Rank % 2)
					for _, at := range tree.Stack(int32(i)) {
						n := tree.Nodes[at]
						key += fmt.Sprint("|", n.Type, n.Name, n.File, n.Line, n.Cluster)
					}
					if found[key] == nil {
						found[key] = make([]int64, len(values))
					}
					calltree.AddTo(found[key], values)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return found, tree
		}
		want, _ := sums(byRank)
		got, tree := sums(byClass)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v: -by rank +by class\n%s", shape, diff)
		}
		members := int32(0)
		for _, x := range tree.Threads {
			members += x.Members
		}
		if whole := shape.Calls == ByFrames || shape.Calls == ByPath || shape.Calls == ByLoops; whole && (len(tree.Threads) != 2 || members != 9 || tree.Ranks != 9) || !whole && (len(tree.Threads) != 9 || tree.Ranks != 0) {
			t.Errorf("%+v: %d threads of %d members, %d ranks", shape, len(tree.Threads), members, tree.Ranks)
		}
	}
}
