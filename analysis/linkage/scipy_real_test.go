//go:build !quick

package linkage_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/linkage"
	"moriens/internal/testenv"
)

// What scipy gives for the same distances: merges, heights, cophenetic distances.
const scipy = `
import json, sys
import numpy as np
from scipy.cluster.hierarchy import linkage, cophenet
from scipy.spatial.distance import squareform
out = []
for g in json.load(sys.stdin):
    n = g["vertices"]
    t = np.zeros((n, n))
    for a, b, w in g["edges"]:
        t[a, b] = t[b, a] = w
    far = 1e300
    d = np.where(t > 0, 1 / np.where(t > 0, t, 1), far)
    np.fill_diagonal(d, 0)
    single = linkage(squareform(d), "single")
    most = t.max()
    s = most - t
    np.fill_diagonal(s, 0)
    average = linkage(squareform(s), "average")
    average[:, 2] = 1 / np.maximum(most - average[:, 2], 1e-300)
    seen = squareform(t > 0)
    c = cophenet(single)[seen]
    out.append({"single": single.tolist(), "average": average.tolist(),
                "cophenetic": float(np.corrcoef(c, squareform(d)[seen])[0, 1]) if seen.sum() > 1 else None})
json.dump(out, sys.stdout)
`

// Merges are those of scipy, on 200 random graphs.
func TestScipy(t *testing.T) {
	const python = "/usr/bin/python3" // that of the system, whatever PATH says
	if err := exec.Command(python, "-c", "import scipy.cluster.hierarchy").Run(); err != nil {
		testenv.Lacking(t, "no python3-scipy")
	}
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	type given struct {
		Vertices int          `json:"vertices"`
		Edges    [][3]float64 `json:"edges"`
	}
	var graphs []given
	var edges [][]linkage.Edge
	for range 200 {
		n := 2 + r.IntN(40)
		list := graph(r, n, r.IntN(4*n), true)
		g := given{Vertices: n}
		for _, e := range list {
			g.Edges = append(g.Edges, [3]float64{float64(e.A), float64(e.B), e.Weight})
		}
		graphs, edges = append(graphs, g), append(edges, list)
	}
	in, err := json.Marshal(graphs)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "-c", scipy)
	command.Stdin = strings.NewReader(string(in))
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Single, Average [][4]float64
		Cophenetic      *float64
	}
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, g := range graphs {
		single, average := trees(t, g.Vertices, edges[i])
		sameTree(t, fmt.Sprint("graph ", i, ", single"), single, want[i].Single, 1e-9)
		// scipy's average is of most − T, of which small ones keep few digits: heights are compared where they have some.
		sameTree(t, fmt.Sprint("graph ", i, ", average"), average, want[i].Average, 1e-4)
		if c := want[i].Cophenetic; c != nil && !math.IsNaN(*c) && math.Abs(single.Cophenetic(edges[i])-*c) > 1e-6 {
			t.Errorf("graph %d: cophenetic correlation %g, want %g", i, single.Cophenetic(edges[i]), *c)
		}
	}
}

// sameTree compares the groups that merges make. Those of heights that rounding cannot tell apart may come in any
// order.
func sameTree(t *testing.T, name string, tree *linkage.Tree, want [][4]float64, near float64) {
	t.Helper()
	own := make([][3]float64, 0, len(tree.Merges))
	for _, m := range tree.Merges {
		own = append(own, [3]float64{float64(m.Left), float64(m.Right), m.Height})
	}
	theirs := make([][3]float64, 0, len(want))
	for _, m := range want {
		theirs = append(theirs, [3]float64{m[0], m[1], m[2]})
	}
	a, b := groupsOf(tree.Vertices, own), groupsOf(tree.Vertices, theirs)
	if len(a) != len(b) {
		t.Errorf("%s: %d merges, want %d", name, len(a), len(b))
	}
	for group, height := range b {
		got, ok := a[group]
		if !ok {
			t.Errorf("%s: %s at %g is no group", name, group, height)
			return
		}
		if height < 1e3 && math.Abs(got-height) > near*height {
			t.Errorf("%s: %s at %g, want %g", name, group, got, height)
		}
	}
}

func groupsOf(vertices int, merges [][3]float64) map[string]float64 {
	members := make([][]int, 0, vertices+len(merges))
	for v := range vertices {
		members = append(members, []int{v})
	}
	groups := make(map[string]float64)
	for _, m := range merges {
		all := slices.Concat(members[int(m[0])], members[int(m[1])])
		slices.Sort(all)
		members = append(members, all)
		groups[fmt.Sprint(all)] = m[2]
	}
	return groups
}
