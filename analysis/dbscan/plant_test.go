package dbscan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every tree holds all points once, in boxes that are tight, and is the same with any number of threads.
func TestPlant(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	for name, at := range map[string]func(i, axis int) float64{
		"anywhere":         func(int, int) float64 { return random.Float64() },
		"in crowds":        func(i, _ int) float64 { return float64(i%7) + 1e-4*random.NormFloat64() },
		"nearly all apart": func(i, _ int) float64 { return float64(i/(n-1))*1e9 + 1e-3*random.Float64() },
		"at one place":     func(int, int) float64 { return 3 },
		"at few places":    func(i, _ int) float64 { return float64(i % 5) },
		"on one axis":      func(i, axis int) float64 { return float64(i) * float64(1-min(axis, 1)) },
		"at all scales":    func(i, _ int) float64 { return math.Ldexp(random.Float64(), -i%1000) },
		"at the limits":    func(i, _ int) float64 { return math.MaxFloat64 * (2*random.Float64() - 1) },
		"hardly apart":     func(i, _ int) float64 { return math.Float64frombits(uint64(i % 100)) },
	} {
		for _, dims := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/%d", name, dims), func(t *testing.T) {
				p := Points{Dims: dims, Coords: make([]float64, n*dims)}
				for i := range p.Coords {
					p.Coords[i] = at(i/dims, i%dims)
				}
				for _, leaf := range []int{smallLeaf, largeLeaf} {
					tree := newTree(p, leaf, 1)
					checkTree(t, tree, p)
					for _, threads := range []int{2, 8} {
						other := newTree(p, leaf, threads)
						if !slices.Equal(tree.rows, other.rows) || !slices.Equal(tree.nodes, other.nodes) || !slices.Equal(tree.boxes, other.boxes) {
							t.Fatalf("%d threads plant another tree", threads)
						}
					}
				}
			})
		}
	}
}

func checkTree(t *testing.T, x *tree, p Points) {
	t.Helper()
	seen := make([]bool, p.Len())
	for i, row := range x.rows {
		if seen[row] || !slices.Equal(x.point(int32(i)), p.Coords[int(row)*p.Dims:(int(row)+1)*p.Dims]) {
			t.Fatalf("row %d is there twice or elsewhere", row)
		}
		seen[row] = true
	}
	var check func(nd, begin, end int32) (next int32)
	check = func(nd, begin, end int32) int32 {
		at := x.nodes[nd]
		if at.begin != begin || at.end != end || begin >= end {
			t.Fatalf("node %d holds %d to %d, want %d to %d", nd, at.begin, at.end, begin, end)
		}
		tight := make([]float64, 2*x.dims)
		x.boxOf(int(begin), int(end), tight)
		b := x.box(nd)
		if !slices.Equal(tight[:x.dims], b.lo) || !slices.Equal(tight[x.dims:], b.hi) {
			t.Fatalf("node %d has the box %v, want %v", nd, b, tight)
		}
		if at.right == 0 {
			if int(end-begin) > x.leaf && !slices.Equal(b.lo, b.hi) {
				t.Fatalf("%d points in a leaf", end-begin)
			}
			return nd + 1
		}
		middle := x.nodes[at.right].begin
		if next := check(nd+1, begin, middle); next != at.right {
			t.Fatalf("the right child of node %d is %d, want %d", nd, at.right, next)
		}
		return check(at.right, middle, end)
	}
	if last := check(0, 0, int32(p.Len())); int(last) != len(x.nodes) {
		t.Fatalf("%d of %d nodes reached", last, len(x.nodes))
	}
}
