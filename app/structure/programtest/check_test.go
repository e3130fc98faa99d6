package programtest

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
)

const planted = `
# An outline with one of each.
MPI_Init  calls=size
CALL tree  recursive
  IF depth == 2
    MPI_Barrier  calls=4*size
  ELSE
    RECURSION tree
FOR 100
  CALL halo
    MPI_Isend  calls=100*size  bytes=2048  to (rank+1) mod size
    MPI_Wait  calls=100*size
  FOR 3,4,5 in turn
    MPI_Allreduce  calls=399*size
  IF i % 10 == 0
    CALL? report
      IF rank == 0
        FOR size-1
          MPI_Recv  calls=10*(size-1)  from each of 1..size-1
      ELSE
        MPI_Send  calls=10*here  to 0
  IF unknown  happened=7*size  of=100*size
    MPI_Bcast  calls=7*size  root=0
FOR rank+1
  FOR i+1
    MPI_Scan
MPI_Finalize  calls=size
`

// inferredJSON is what should be inferred of it, with 4 ranks.
const inferredJSON = `{"format":1,"ranks":4,"certain":{"calls":0.99,"time":1},"basis":"code","body":[
 {"id":1,"kind":"call","function":"main","body":[
  {"id":2,"kind":"mpi","function":"MPI_Init","count":4},
  {"id":3,"kind":"compute"},
  {"id":4,"kind":"call","function":"tree.constprop.0","recursive":true,"body":[
   {"id":5,"kind":"if","when":{"kind":"depth","variable":"depth","trip":2},"happened":16,"of":28,"body":[
    {"id":6,"kind":"mpi","function":"MPI_Barrier","count":16}]},
   {"id":7,"kind":"if","else":true,"when":{"kind":"depth","variable":"depth","trip":2},"body":[
    {"id":8,"kind":"recursion","function":"tree"}]}]},
  {"id":9,"kind":"loop","variable":"a","trips":{"least":100,"most":100,"entries":4,"total":400,"kind":"constant","expression":"100"},"body":[
   {"id":10,"kind":"call","function":"halo","body":[
    {"id":11,"kind":"mpi","function":"MPI_Isend","count":400,"bytes":{"least":2048,"most":2048,"mean":2048},"peers":[{"way":"to","kind":"ring","text":"(rank+1) mod size"}]},
    {"id":12,"kind":"mpi","function":"MPI_Wait","count":400}]},
   {"id":13,"kind":"loop","variable":"a","trips":{"least":3,"most":5,"kind":"cycle","cycle":[3,4,5],"expression":"(3,4,5 in turn)"},"body":[
    {"id":14,"kind":"compute"},
    {"id":15,"kind":"mpi","function":"MPI_Allreduce","count":1596}]},
   {"id":16,"kind":"if","when":{"kind":"every","variable":"a","period":10,"offset":0},"when_text":"i % 10 == 0","happened":40,"of":400,"body":[
    {"id":17,"kind":"call","function":"report","body":[
     {"id":18,"kind":"if","ranks":[0],"ranks_text":"rank == 0","body":[
      {"id":19,"kind":"loop","variable":"a","trips":{"least":3,"most":3,"kind":"constant","expression":"3"},"body":[
       {"id":20,"kind":"mpi","function":"MPI_Recv","count":30,"peers":[{"way":"from","kind":"each","text":"each of 1..3"}]}]}]},
     {"id":21,"kind":"if","else":true,"ranks":[1,2,3],"body":[
      {"id":22,"kind":"mpi","function":"MPI_Send","count":30,"peers":[{"way":"to","kind":"constant","text":"0"}]}]}]}]},
   {"id":23,"kind":"if","when":{"kind":"unknown"},"happened":28,"of":400,"body":[
    {"id":24,"kind":"mpi","function":"MPI_Bcast","count":28,"root":0}]}]},
  {"id":25,"kind":"loop","variable":"a","trips":{"least":1,"most":4,"kind":"by rank","expression":"rank+1"},"body":[
   {"id":26,"kind":"loop","variable":"a","trips":{"least":1,"most":4,"kind":"linear","expression":"i"},"body":[
    {"id":27,"kind":"call","function":"step","inlined":true,"body":[{"id":28,"kind":"mpi","function":"MPI_Scan","count":40}]}]}]},
  {"id":29,"kind":"mpi","function":"MPI_Finalize","count":4}]}]}`

func outline(t *testing.T, text string) *Outline {
	t.Helper()
	o, err := Parse("planted.want", text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func decode(t *testing.T, text string) *program.Program {
	t.Helper()
	type bare program.Program // of which not all is asked that a file must have
	p := new(bare)
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return (*program.Program)(p)
}

// find finds a node by its number.
func find(nodes []*program.Node, id int) (parent *[]*program.Node, at int) {
	for k, n := range nodes {
		if n.ID == id {
			return &nodes, k
		}
		if parent, at := find(n.Body, id); parent != nil {
			return parent, at
		}
	}
	return nil, 0
}

func node(t *testing.T, p *program.Program, id int) *program.Node {
	t.Helper()
	list, k := find(p.Body, id)
	if list == nil {
		t.Fatalf("no node %d", id)
	}
	return (*list)[k]
}

func TestRightPasses(t *testing.T) {
	for _, debug := range []bool{true, false} {
		r := outline(t, planted).Check(decode(t, inferredJSON), Variant{Debug: debug})
		if r.Faults != nil || r.Essentials != 19 || r.Right != 19 {
			t.Errorf("debug = %v: %d of %d\n%s", debug, r.Right, r.Essentials, strings.Join(r.Faults, "\n"))
		}
	}
}

// Each mistake is found, and reported with the line of the outline, or the node, that it is in.
func TestEachMistakeIsFound(t *testing.T) {
	// replace puts other nodes in the place of one.
	replace := func(t *testing.T, p *program.Program, id int, by func(n *program.Node) []*program.Node) {
		root := &program.Node{Body: p.Body}
		var walk func(n *program.Node) bool
		walk = func(n *program.Node) bool {
			for k, child := range n.Body {
				if child.ID == id {
					n.Body = slices.Replace(slices.Clone(n.Body), k, k+1, by(child)...)
					return true
				}
				if walk(child) {
					return true
				}
			}
			return false
		}
		if !walk(root) {
			t.Fatalf("no node %d", id)
		}
		p.Body = root.Body
	}
	for _, c := range []struct {
		name   string
		break_ func(t *testing.T, p *program.Program)
		want   string // part of a fault
	}{
		{"a missing loop", func(t *testing.T, p *program.Program) {
			replace(t, p, 13, func(n *program.Node) []*program.Node { return n.Body })
		}, "planted.want:13: FOR 3,4,5 in turn: is missing"},
		{"a missing call", func(t *testing.T, p *program.Program) {
			replace(t, p, 12, func(*program.Node) []*program.Node { return nil })
		}, "planted.want:12: MPI_Wait  calls=100*size: is missing"},
		{"one trip more", func(t *testing.T, p *program.Program) {
			n := node(t, p, 9).Trips
			n.Least, n.Most, n.Expression = 101, 101, "101"
		}, "planted.want:9: FOR 100: trips are 101"},
		{"other trips in turn", func(t *testing.T, p *program.Program) {
			node(t, p, 13).Trips.Cycle = []int64{3, 5, 4}
		}, "planted.want:13: FOR 3,4,5 in turn: trips are"},
		{"trips that vary", func(t *testing.T, p *program.Program) {
			node(t, p, 26).Trips.Kind = program.TripsVaries
		}, "planted.want:25: FOR i+1: trips are"},
		{"trips of other ranks", func(t *testing.T, p *program.Program) {
			node(t, p, 25).Trips.Expression = "4-rank"
		}, "planted.want:24: FOR rank+1: trips are 4-rank"},
		{"another order", func(t *testing.T, p *program.Program) {
			b := node(t, p, 9).Body
			b[0], b[1] = b[1], b[0]
		}, "planted.want:13: FOR 3,4,5 in turn: stands as"},
		{"another order of calls", func(t *testing.T, p *program.Program) {
			b := node(t, p, 10).Body
			b[0], b[1] = b[1], b[0]
		}, "planted.want:12: MPI_Wait  calls=100*size: stands as"},
		{"an IF more", func(t *testing.T, p *program.Program) {
			replace(t, p, 15, func(n *program.Node) []*program.Node {
				return []*program.Node{{ID: 99, Kind: program.KindIf, Ranks: []int{0, 1}, Body: []*program.Node{n}}}
			})
		}, "planted.want:14: MPI_Allreduce  calls=399*size: stands in IF ranks [0 1] [node 99]"},
		{"an IF that always holds", func(t *testing.T, p *program.Program) {
			replace(t, p, 15, func(n *program.Node) []*program.Node {
				return []*program.Node{{ID: 99, Kind: program.KindIf, Ranks: []int{0, 1, 2, 3}, Body: []*program.Node{n}}}
			})
		}, "[node 99]: it always holds"},
		{"an IF less", func(t *testing.T, p *program.Program) {
			replace(t, p, 16, func(n *program.Node) []*program.Node { return n.Body })
		}, "planted.want:16: CALL? report: stands in no condition, want IF i % 10 == 0"},
		{"another IF", func(t *testing.T, p *program.Program) {
			node(t, p, 16).When.Offset = 1
		}, "planted.want:16: CALL? report: stands in"},
		{"an IF without a rule", func(t *testing.T, p *program.Program) {
			node(t, p, 16).When = &program.When{Kind: program.WhenUnknown}
		}, "planted.want:16: CALL? report: stands in"},
		{"a rule that was made up", func(t *testing.T, p *program.Program) {
			node(t, p, 23).When = &program.When{Kind: program.WhenEvery, Variable: "a", Period: 14}
		}, "planted.want:23: MPI_Bcast  calls=7*size  root=0: stands in"},
		{"how often it happened", func(t *testing.T, p *program.Program) {
			node(t, p, 23).Happened = 27
		}, "happened 27 of 400 times, want 28 of 400"},
		{"other ranks", func(t *testing.T, p *program.Program) {
			node(t, p, 21).Ranks = []int{1, 2}
		}, "planted.want:21: MPI_Send  calls=10*here  to 0: stands in"},
		{"no ELSE", func(t *testing.T, p *program.Program) {
			node(t, p, 21).Else = false
		}, "planted.want:21: MPI_Send  calls=10*here  to 0: is not an ELSE"},
		{"another depth", func(t *testing.T, p *program.Program) {
			node(t, p, 5).When.Trip = 3
		}, "planted.want:6: MPI_Barrier  calls=4*size: stands in"},
		{"another count", func(t *testing.T, p *program.Program) {
			node(t, p, 15).Count = 1595
		}, "planted.want:14: MPI_Allreduce  calls=399*size: 1595 calls, want 1596"},
		{"other bytes", func(t *testing.T, p *program.Program) {
			node(t, p, 11).Bytes.Most = 4096
		}, "planted.want:11: MPI_Isend"},
		{"another root", func(t *testing.T, p *program.Program) {
			*node(t, p, 24).Root = 1
		}, "the root is not 0"},
		{"other peers", func(t *testing.T, p *program.Program) {
			node(t, p, 11).Peers[0].Text = "rank^1"
		}, "planted.want:11: MPI_Isend  calls=100*size  bytes=2048  to (rank+1) mod size: to \"rank^1\" of rank 1 is [0], want [2]"},
		{"fewer peers", func(t *testing.T, p *program.Program) {
			node(t, p, 20).Peers[0].Text = "each of 1..2"
		}, "of rank 0 is [1 2], want [1 2 3]"},
		{"peers in a table", func(t *testing.T, p *program.Program) {
			node(t, p, 11).Peers[0] = program.Peer{Way: "to", Kind: "table", Text: "0→1, 1→2"}
		}, "names no peer that can be evaluated"},
		{"no peers", func(t *testing.T, p *program.Program) {
			node(t, p, 22).Peers = nil
		}, "planted.want:21: MPI_Send  calls=10*here  to 0: peers are []"},
		{"a loop more", func(t *testing.T, p *program.Program) {
			replace(t, p, 15, func(n *program.Node) []*program.Node {
				return []*program.Node{{ID: 99, Kind: program.KindLoop, Trips: &program.Trips{Least: 2, Most: 2, Expression: "2"}, Body: []*program.Node{n}}}
			})
		}, "planted.want: FOR 2 [node 99] is there and not in the outline"},
		{"two loops in one", func(t *testing.T, p *program.Program) {
			node(t, p, 9).StandsFor = 2
		}, "planted.want:9: FOR 100: stands for 2 loops"},
		{"a call more", func(t *testing.T, p *program.Program) {
			l := node(t, p, 9)
			l.Body = append(l.Body, &program.Node{ID: 99, Kind: program.KindMPI, Function: "MPI_Test", Count: 1})
		}, "planted.want: MPI_Test calls=1 [node 99] is there and not in the outline"},
		{"a function more", func(t *testing.T, p *program.Program) {
			node(t, p, 27).Inlined = false
		}, "CALL step [node 27] is there and not in the outline"},
		{"no function", func(t *testing.T, p *program.Program) {
			replace(t, p, 10, func(n *program.Node) []*program.Node { return n.Body })
		}, "planted.want:10: CALL halo: is missing"},
		{"no recursion", func(t *testing.T, p *program.Program) {
			node(t, p, 4).Recursive = false
		}, "planted.want:4: CALL tree  recursive: recursive is false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := decode(t, inferredJSON)
			c.break_(t, p)
			r := outline(t, planted).Check(p, Variant{Debug: true})
			faults := r.Faults
			if r.Right >= r.Essentials {
				t.Errorf("%d of %d are right", r.Right, r.Essentials)
			}
			if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, c.want) }) {
				t.Errorf("want %q in\n%s", c.want, strings.Join(faults, "\n"))
			}
		})
	}
}

// The MPI calls of an outline are counted by function, where it has all figures.
func TestCallsOfAnOutline(t *testing.T) {
	got, err := outline(t, planted).Calls(4)
	want := map[string]int64{
		"MPI_Init": 4, "MPI_Barrier": 16, "MPI_Isend": 400, "MPI_Wait": 400, "MPI_Allreduce": 1596, "MPI_Recv": 30, "MPI_Send": 30, "MPI_Bcast": 28,
		"MPI_Finalize": 4, // MPI_Scan has no figure
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := outline(t, "MPI_Send  calls=3*nothing\n").Calls(4); err == nil {
		t.Error("what is not there can be counted")
	}
}

// A function that was inlined is needed where there is debugging information.
func TestInlinedFunctions(t *testing.T) {
	o := outline(t, "CALL? part\n  MPI_Scan  calls=2\n")
	bare := decode(t, `{"ranks":2,"certain":{"calls":1},"body":[{"id":1,"kind":"mpi","function":"MPI_Scan","count":2}]}`)
	if r := o.Check(bare, Variant{}); r.Faults != nil {
		t.Error(r.Faults)
	}
	if r := o.Check(bare, Variant{Debug: true}); len(r.Faults) != 2 {
		t.Error(r.Faults)
	}
	scoped := decode(t, `{"ranks":2,"certain":{"calls":1},"body":[{"id":1,"kind":"call","function":"part","inlined":true,"body":[{"id":2,"kind":"mpi","function":"MPI_Scan","count":2}]}]}`)
	if r := o.Check(scoped, Variant{Debug: true}); r.Faults != nil {
		t.Error(r.Faults)
	}
	// Of two calls one may be inlined alone.
	o = outline(t, "CALL? part\n  MPI_Scan  calls=2\nFOR 3\n  CALL? part\n    MPI_Scan  calls=6\n")
	one := decode(t, `{"ranks":2,"certain":{"calls":1},"body":[{"id":1,"kind":"call","function":"part","body":[{"id":2,"kind":"mpi","function":"MPI_Scan","count":2}]},
		{"id":3,"kind":"loop","variable":"a","trips":{"least":3,"most":3,"kind":"constant","expression":"3"},"body":[{"id":4,"kind":"mpi","function":"MPI_Scan","count":6}]}]}`)
	if r := o.Check(one, Variant{}); r.Faults != nil {
		t.Error(r.Faults)
	}
	if r := o.Check(one, Variant{Debug: true}); len(r.Faults) == 0 {
		t.Error("an inlined call is missing though there is debugging information")
	}
	o, scoped.Certain.Calls = outline(t, "CALL? part\n  MPI_Scan  calls=2\n"), .5
	if r := o.Check(scoped, Variant{Debug: true}); len(r.Faults) != 1 {
		t.Error(r.Faults)
	}
}

// What excludes each other may stand in any order.
func TestOrderOfAlternatives(t *testing.T) {
	o := outline(t, "FOR 6\n  IF i % 2 == 0\n    MPI_Scan\n  IF i % 2 == 1\n    MPI_Exscan\n  IF i % 3 == 0\n    MPI_Barrier\n")
	const body = `{"ranks":1,"certain":{"calls":1},"body":[{"id":1,"kind":"loop","variable":"a","trips":{"least":6,"most":6,"kind":"constant","expression":"6"},"body":[`
	at := func(id, function, period, offset string) string {
		return `{"id":` + id + `,"kind":"if","when":{"kind":"every","variable":"a","period":` + period + `,"offset":` + offset + `},"body":[{"id":1` + id + `,"kind":"mpi","function":"` + function + `","count":1}]}`
	}
	scan, exscan, barrier := at("2", "MPI_Scan", "2", "0"), at("3", "MPI_Exscan", "2", "1"), at("4", "MPI_Barrier", "3", "0")
	if r := o.Check(decode(t, body+exscan+","+scan+","+barrier+`]}]}`), Variant{}); r.Faults != nil {
		t.Error(r.Faults)
	}
	if r := o.Check(decode(t, body+barrier+","+scan+","+exscan+`]}]}`), Variant{}); len(r.Faults) != 2 {
		t.Error(r.Faults)
	}
}

func TestNames(t *testing.T) {
	for symbol, want := range map[string]string{
		"tree.constprop.0": "tree", "__solver_MOD_sweep": "sweep", "solver::sweep": "sweep", "adi_": "adi", "step": "Ring::step", "Ring::step()": "Ring::step",
	} {
		if !isNamed(symbol, want) {
			t.Errorf("%s is not %s", symbol, want)
		}
	}
	for symbol, other := range map[string]string{"sweep": "weep", "Sum::step": "Ring::step", "": "step"} {
		if isNamed(symbol, other) {
			t.Errorf("%s is %s", symbol, other)
		}
	}
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]int64{
		"2+3*4": 14, "(2+3)*4": 20, "(rank-1) mod size": 7, "-1 % 3": 2, "rank ^ 1": 1, "size/2 - 1": 3, "rank == 0 && size > 4": 1,
		"rank != 0 or size < 4": 0, "rows*10 + columns": 42, "edge": 2, "7 / 2": 3, "rank<=0": 1, "size>=9": 0, "3 - 2 - 1": 0, "-5/2": -3,
	} {
		e, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.eval(shape(0, 8)); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1 +", "(1", "1 1", "a = b", "rank → 1", ")", "99999999999999999999"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q can be read", text)
		}
	}
	for _, text := range []string{"1 % 0", "1/(size-8)", "nothing"} {
		e, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if x, err := e.eval(shape(0, 8)); err == nil {
			t.Errorf("%s = %d", text, x)
		}
	}
	for size, want := range map[int64][3]int64{2: {2, 1, 1}, 4: {2, 2, 2}, 6: {3, 2, 2}, 8: {4, 2, 2}, 9: {3, 3, 3}} {
		v := shape(0, size)
		if got := [3]int64{v["rows"], v["columns"], v["edge"]}; got != want {
			t.Errorf("%d ranks: %v, want %v", size, got, want)
		}
	}
}

func TestOutlinesThatCannotBeRead(t *testing.T) {
	for _, text := range []string{
		"", "WHILE 3\n", "FOR 3\n  MPI_Send  count=3\n", "ELSE\n  MPI_Send\n", "IF rank = 0\n  MPI_Send\n", "MPI_Send\n  MPI_Recv\n",
		"MPI_Send  to somewhere else\n", "flags -O3\nMPI_Send\n", "needs: luck\nMPI_Send\n", "FOR 3  calls=2\n", "MPI_Send calls=3\n",
	} {
		if _, err := Parse("x.want", text); err == nil {
			t.Errorf("%q can be read", text)
		}
	}
}

// Each program has an outline that can be read, and each label of it is used.
func TestPlantedOutlines(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "testdata", "programs")
	paths, err := filepath.Glob(filepath.Join(folder, "*.want"))
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := filepath.Glob(filepath.Join(folder, "kernels", "*.want"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 18 || len(kernels) != 4 {
		t.Errorf("there are %d programs and %d kernels, want 18 and 4", len(paths), len(kernels))
	}
	for _, path := range append(paths, kernels...) {
		o, err := Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		used := make(map[string]bool)
		var walk func(lines []*line)
		walk = func(lines []*line) {
			for _, l := range lines {
				used[l.label] = true
				walk(l.body)
			}
		}
		walk(o.lines)
		for name, n := range o.labels {
			if !used[name] {
				t.Errorf("%s:%d: nothing is expected of @%s", o.Source(), n, name)
			}
		}
		for _, size := range []int{2, 4, 6, 8} { // what is planted can be evaluated, and an empty program has none of it
			r := o.Check(&program.Program{Ranks: size}, Variant{Debug: true})
			faults := r.Faults
			if r.Right != 0 || r.Essentials < 5 || !slices.ContainsFunc(faults, func(f string) bool { return strings.HasSuffix(f, "is missing") }) {
				t.Errorf("%s with %d ranks: %v", path, size, faults)
			}
		}
	}
}

// What texts say of partners in words is evaluated too.
func TestPeersInWords(t *testing.T) {
	for text, want := range map[string][]int64{
		"+1 in dimension 0 of 2×3":           {3, 4, 5, -1, -1, -1},
		"-1 in dimension 1 of 2×3":           {-1, 0, 1, -1, 3, 4},
		"+1 in dimension 1 of 2×3, periodic": {1, 2, 0, 4, 5, 3},
		"-1 in dimension 0 of 3×2, or none":  {-1, -1, 0, 1, 2, 3},
		"transpose of 2×2":                   {0, 2, 1, 3},
	} {
		peers, ok := peersOf(text, 6)
		if !ok {
			t.Errorf("%s cannot be evaluated", text)
			continue
		}
		for rank, peer := range want {
			set := make(map[int64]bool)
			if peer >= 0 {
				set[peer] = true
			}
			if got := peers(int64(rank)); !maps.Equal(got, set) {
				t.Errorf("%s of rank %d is %v, want %v", text, rank, keys(got), keys(set))
			}
		}
	}
	for _, text := range []string{"+1 in dimension 2 of 2×3", "+1 in dimension 0 of 2×2", "0→1; 1→0"} {
		if _, ok := peersOf(text, 6); ok {
			t.Errorf("%s is evaluated", text)
		}
	}
}
