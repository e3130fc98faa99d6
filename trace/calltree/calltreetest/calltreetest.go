// Package calltreetest makes trees for the tests of the formats of profiles: a small one whose figures are known, and
// random ones whose names are as bad as names get. Dump writes one as plain JSON, for readers that share no code with
// moriens. Only tests import it.
package calltreetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moriens/trace/calltree"
)

// Planted are the values of a tree's threads.
type Planted struct {
	Tree   *calltree.Tree
	Values []*calltree.Values // of threads
}

func (p *Planted) each(give func(thread int, v *calltree.Values) error) error {
	columns := p.Tree.NewValues() // the same ones each time, as a tree of a run has them
	for i, v := range p.Values {
		copy(columns.NS, v.NS)
		copy(columns.Calls, v.Calls)
		for m := range v.Metrics {
			copy(columns.Metrics[m], v.Metrics[m])
		}
		if err := give(i, columns); err != nil {
			return err
		}
	}
	return nil
}

// plant makes the values of a tree with f.
func plant(t *calltree.Tree, f func(thread, node int, v *calltree.Values)) *Planted {
	p := &Planted{Tree: t}
	for thread := range t.Threads {
		v := t.NewValues()
		for node := range t.Nodes {
			f(thread, node, v)
		}
		p.Values = append(p.Values, v)
	}
	t.Each = p.each
	return p
}

// Small is a tree by hand: two ranks; main, adi, x_solve with MPI_Wait at two places and a cluster; a function in
// itself; time that is not recorded.
func Small() *Planted {
	t := &calltree.Tree{
		Title: "mpirun -n 2 ./bt",
		Nodes: []calltree.Node{
			{Type: calltree.Program, Name: "bt", Parent: -1},
			{Type: calltree.Function, Name: "main", Parent: 0},
			{Type: calltree.Function, Name: "adi", Parent: 1, File: "bt.f", Line: 7},
			{Type: calltree.Function, Name: "x_solve", Parent: 2, File: "adi.f", Line: 11},
			{Type: calltree.MPI, Name: "MPI_Wait", Parent: 3, File: "x_solve.f", Line: 72},
			{Type: calltree.MPI, Name: "MPI_Wait", Parent: 3, File: "x_solve.f", Line: 80},
			{Type: calltree.Cluster, Name: "Cluster 3", Parent: 3, Cluster: 3},
			{Type: calltree.Function, Name: "adi", Parent: 2, File: "adi.f", Line: 30},
			{Type: calltree.MPI, Name: "MPI_Wait", Parent: 7, File: "adi.f", Line: 31},
			{Type: calltree.Unrecorded, Name: "unrecorded", Parent: 0},
		},
		Metrics: []calltree.Metric{{Name: "PAPI_TOT_INS"}, {Name: "sent", Unit: "bytes"}},
		Threads: []calltree.Thread{{Rank: 0, Host: "node1"}, {Rank: 1, Host: "node2"}},
		Facts:   []calltree.Fact{{Name: "mpi", Value: "Open MPI 4.1.4"}, {Name: "hosts", Value: "node1, node2"}},
	}
	ns := [2][10]int64{{0, 0, 0, 0, 1_000_400, 2_000_400, 5_000_000, 0, 400, 7}, {0, 0, 0, 0, 3_000_000, 0, 6_000_000, 0, 500, 8}}
	calls := [2][10]int64{{0, 0, 0, 0, 2, 3, 5, 0, 1, 1}, {0, 0, 0, 0, 4, 0, 6, 0, 1, 1}}
	return plant(t, func(thread, node int, v *calltree.Values) {
		v.NS[node], v.Calls[node] = ns[thread][node], calls[thread][node]
		switch t.Nodes[node].Type {
		case calltree.Cluster:
			v.Metrics[0][node] = 1000 * v.NS[node]
		case calltree.MPI:
			v.Metrics[1][node] = 8 * v.Calls[node]
		}
	})
}

// names are what programs, compilers and languages make of names, and worse.
var names = []string{
	"main", "x_solve", "x_solve", "solve/iteration", `solve\iteration`, "a => b", "a=>b", "a -> b", "a->b", `say "hello"`, "say 'hello'", "tab\there", "tab here", "line\nend", "line\r\nend",
	"a;b", "a:b", "größe", "解く", "", " ", " leading", "trailing ", "leading", "Cluster 3", "Cluster_3", "t 1.5", "t_1.5", "std::vector<int, std::allocator<int> >::operator[](unsigned long)", "(no name)", "f [{a.c} {7}]",
	"f [(a.c} {7}]", "x phase", "x", "MPI_Wait", "MPI_Wait()", "phase:x", "nul\x00", "esc\x1b[31m", "100%s%d", "<b>&amp;</b>", "\u2028", "[@] C x", " C ", "f (2)", "=>", "==>>", "aggregates", "\"", "x (inc)", ".TAU application", "unrecorded", "\ufeffbom",
}

// Random draws a tree: phases, iterations, functions, functions in themselves, several worlds and threads, ranks that
// are missing, values of which many are 0 and some very large. If onlyPhases, it has no functions.
func Random(r *rand.Rand, onlyPhases bool) *Planted {
	t := &calltree.Tree{Title: pick(r), Nodes: []calltree.Node{{Type: calltree.Program, Name: pick(r), Parent: -1}}}
	inner := []calltree.Type{calltree.Phase, calltree.Iterations}
	if !onlyPhases {
		inner = append(inner, calltree.Function, calltree.Function, calltree.Function)
	}
	leaves := []calltree.Type{calltree.MPI, calltree.MPI, calltree.Cluster, calltree.Paused, calltree.Unrecorded}
	open := []int32{0}
	for range 1 + r.IntN(60) {
		n := calltree.Node{Name: pick(r), Parent: open[r.IntN(len(open))]}
		if r.IntN(3) == 0 {
			n.Type = inner[r.IntN(len(inner))]
			open = append(open, int32(len(t.Nodes)))
			if p := &t.Nodes[n.Parent]; r.IntN(4) == 0 && p.Parent >= 0 { // in itself
				n.Type, n.Name = p.Type, p.Name
			}
		} else {
			n.Type = leaves[r.IntN(len(leaves))]
		}
		switch n.Type {
		case calltree.MPI, calltree.Function:
			if r.IntN(3) > 0 {
				n.File, n.Line = pick(r), r.IntN(100)
			}
		case calltree.Cluster:
			n.Cluster = int32(r.IntN(6) - 1)
			n.Name = fmt.Sprintf("Cluster %d", n.Cluster)
		}
		t.Nodes = append(t.Nodes, n)
	}
	for range r.IntN(4) {
		t.Metrics = append(t.Metrics, calltree.Metric{Name: pick(r), Unit: []string{"", "bytes"}[r.IntN(2)]})
	}
	for world := range int32(1 + r.IntN(3)) {
		for rank := range int32(1 + r.IntN(4)) {
			for thread := range int32(r.IntN(3)) { // none: the rank is missing
				t.Threads = append(t.Threads, calltree.Thread{World: world, Rank: rank, Thread: thread, Host: pick(r)})
			}
		}
	}
	for range r.IntN(4) {
		t.Facts = append(t.Facts, calltree.Fact{Name: pick(r), Value: pick(r)})
	}
	return plant(t, func(thread, node int, v *calltree.Values) {
		value := func(most int64) int64 {
			if r.IntN(3) == 0 {
				return 0
			}
			return r.Int64N(1 + r.Int64N(most))
		}
		v.NS[node], v.Calls[node] = value(1e15), value(1e9)
		for m := range v.Metrics {
			v.Metrics[m][node] = value(1e15)
		}
		if t.Nodes[node].Type == calltree.Function {
			v.Calls[node] = 0
		}
	})
}

func pick(r *rand.Rand) string { return names[r.IntN(len(names))] }

// Dump writes a tree as JSON: its nodes, metrics and threads, and the values of each thread.
func Dump(t testing.TB, tree *calltree.Tree) string {
	t.Helper()
	type values struct {
		NS      []int64   `json:"ns"`
		Calls   []int64   `json:"calls"`
		Metrics [][]int64 `json:"metrics"`
	}
	given := append([]calltree.Metric{}, tree.Metrics...) // not null
	threads := append([]calltree.Thread{}, tree.Threads...)
	dump := map[string]any{"title": tree.Title, "nodes": tree.Nodes, "metrics": given, "threads": threads, "facts": tree.Facts}
	all := []values{}
	err := tree.Each(func(_ int, v *calltree.Values) error {
		x := values{NS: append([]int64{}, v.NS...), Calls: append([]int64{}, v.Calls...), Metrics: [][]int64{}}
		for _, column := range v.Metrics {
			x.Metrics = append(x.Metrics, append([]int64{}, column...))
		}
		all = append(all, x)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dump["values"] = all
	text, err := json.Marshal(dump)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tree.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Python3 runs the readers; a test that runs one needs it.
const Python3 = "/usr/bin/python3"

// Python runs a reader and returns what it found to differ, which is nothing where it found all to agree.
func Python(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(Python3, args...).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// GoToolPprof runs the pprof of the Go distribution, which needs no network; a test that runs it needs go.
func GoToolPprof(t testing.TB, args ...string) string {
	t.Helper()
	program, err := exec.Command("go", "tool", "-n", "pprof").Output() // builds it where it is not in the cache
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), append([]string{"-symbolize=none"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pprof %v: %v\n%s", args, err, out)
	}
	return string(out)
}
