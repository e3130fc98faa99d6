package pairing

import (
	"io"
	"strings"
	"testing"

	"moriens/internal/hint"
)

// advised is six ranks of one world on two nodes.
func advised() *Result {
	r := &Result{Placement: &Placement{Nodes: []PlacementNode{{"n1", []int{0, 3, 5}}, {"n2", []int{4, 1, 2}}}}}
	for rank := range 6 {
		r.Ranks = append(r.Ranks, Rank{Rank: rank, Node: "n1"})
	}
	return r
}

func TestWriteOrder(t *testing.T) {
	for format, want := range map[string]string{
		OrderMPICH: "0,3,5\n1-2,4\n",
		OrderRankfile: "rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n2 slot=1\n" +
			"rank 3=n1 slot=1\nrank 4=n2 slot=2\nrank 5=n1 slot=2\n",
		OrderHostfile: "n1\nn2\nn2\nn1\nn2\nn1\n",
		OrderSlurm:    "n1\nn2\nn2\nn1\nn2\nn1\n",
	} {
		var out strings.Builder
		if err := WriteOrder(&out, format, advised()); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s, want\n%s", format, err, out.String(), want)
		}
	}
}

// An order that no launcher could follow is refused, with the reason.
func TestNoOrder(t *testing.T) {
	for want, change := range map[string]func(*Result) (format string){
		"none of mpich, rankfile, hostfile, slurm": func(*Result) string { return "pbs" },
		"no placement":                   func(r *Result) string { r.Placement = nil; return OrderSlurm },
		"several worlds, 0 and 1":        func(r *Result) string { r.Ranks[5] = Rank{World: 1}; return OrderSlurm },
		"rank 2 has no record":           func(r *Result) string { r.Ranks = append(r.Ranks[:2], r.Ranks[3:]...); r.fewer(); return OrderMPICH },
		"node name \"node 1\"":           func(r *Result) string { r.Placement.Nodes[0].Name = "node 1"; return OrderRankfile },
		"rank 5 lies on no node":         func(r *Result) string { r.Placement.Nodes[0].Ranks = []int{0, 3}; return OrderHostfile },
		"rank 0 lies on nodes n1 and n2": func(r *Result) string { r.Placement.Nodes[1].Ranks = []int{0, 1, 2, 4}; return OrderHostfile },
		"node n2 has rank 6 of 6":        func(r *Result) string { r.Placement.Nodes[1].Ranks = []int{1, 6}; return OrderHostfile },
	} {
		r := advised()
		format := change(r)
		var out strings.Builder
		if err := WriteOrder(&out, format, r); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%v, want %q; %d bytes were written", err, want, out.Len())
		}
	}
}

// A node name that no launcher can read is refused with what to do.
func TestNoOrderOfNames(t *testing.T) {
	r := advised()
	r.Placement.Nodes[1].Name = "node\t2"
	if err := WriteOrder(io.Discard, OrderSlurm, r); hint.Of(err) != "--order-format mpich names no nodes" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// fewer places five ranks.
func (r *Result) fewer() {
	r.Placement.Nodes = []PlacementNode{{"n1", []int{0, 3}}, {"n2", []int{4, 1, 2}}}
}
