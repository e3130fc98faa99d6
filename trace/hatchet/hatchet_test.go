package hatchet

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/calltree"
	"moriens/trace/calltree/calltreetest"
)

func write(t *testing.T, tree *calltree.Tree) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, tree); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type node struct {
	Name       string
	Frame      map[string]string
	Metrics    map[string]float64
	Attributes map[string]any
	Children   []node
}

// A node of the tree whose figures are known: sums over ranks, their mean and the most.
func TestFigures(t *testing.T) {
	var list []node
	if err := json.Unmarshal(write(t, calltreetest.Small().Tree), &list); err != nil {
		t.Fatal(err)
	}
	solve := list[0].Children[0].Children[0].Children[0]
	want := node{
		Name: "MPI_Wait", Frame: map[string]string{"name": "MPI_Wait", "type": "mpi"}, Attributes: map[string]any{"file": "x_solve.f", "line": 72.},
		Metrics: map[string]float64{
			"time": .0040004, "time (inc)": .0040004, "time_mean": .0020002, "time_mean (inc)": .0020002, "time_max": .003, "time_max (inc)": .003, "calls": 6,
			"PAPI_TOT_INS": 0, "PAPI_TOT_INS (inc)": 0, "sent": 48, "sent (inc)": 48, "_hatchet_nid": 4,
		},
	}
	if d := cmp.Diff(want, solve.Children[0]); d != "" {
		t.Error(d)
	}
	if m := solve.Metrics; m["time"] != 0 || m["time (inc)"] != .0170008 || m["time_max (inc)"] != .009 || m["calls"] != 0 {
		t.Errorf("%v", m)
	}
}

// Texts that are not UTF-8, and columns that are named as ours are.
func TestNames(t *testing.T) {
	p := calltreetest.Small()
	p.Tree.Nodes[4].Name, p.Tree.Nodes[5].Name = "a\xff", "a\xfe"
	p.Tree.Metrics = []calltree.Metric{{Name: "time"}, {Name: "time (inc)"}}
	var list []node
	if err := json.Unmarshal(write(t, p.Tree), &list); err != nil {
		t.Fatal(err)
	}
	solve := list[0].Children[0].Children[0].Children[0]
	if a, b := solve.Children[0].Name, solve.Children[1].Name; a != "a\uFFFD" || b != "a\uFFFD (2)" {
		t.Errorf("%q, %q", a, b)
	}
	for _, column := range []string{"time", "time (inc)", "time (2)", "time (2) (inc)", "time (including)", "time (including) (inc)"} {
		if _, ok := list[0].Metrics[column]; !ok {
			t.Errorf("no column %q in %v", column, list[0].Metrics)
		}
	}
}
