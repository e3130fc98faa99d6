package dbscan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// crowds returns points of which all but a share are in narrow kinds; a lattice above 0 rounds them, so
// that duplicates and distances of exactly Eps are common.
func crowds(random *rand.Rand, n, dims int, scattered, lattice float64) Points {
	p := Points{Dims: dims, Coords: make([]float64, n*dims)}
	for i := range n {
		kind, width := random.IntN(12), .002*math.Exp(2*random.Float64())
		alone := random.Float64() < scattered
		for d := range dims {
			x := random.Float64()
			if !alone {
				x = float64((kind*7+d*5)%12)/12 + width*random.NormFloat64()
			}
			if lattice > 0 {
				x = math.Round(x*lattice) / lattice
			}
			p.Coords[i*dims+d] = x
		}
	}
	return p
}

// The grid gives the tree's answer, with any number of threads and in any order, on points enough for all
// of its stages: the tree shares no line with it but distances.
func TestGridIsTheTree(t *testing.T) {
	for _, c := range []struct {
		dims               int
		n                  int
		scattered, lattice float64
		eps                float64
		minPts             int
		sorted             bool // most points are in cells that are not full
	}{
		{2, 40_000, .02, 0, .01, 10, false},
		{2, 40_000, .02, 0, .004, 4, false},
		{2, 40_000, .1, 1000, .005, 10, false}, // 3-4-5 triangles of Eps
		{2, 40_000, .02, 0, .05, 300, false},
		{2, 20_000, 1, 0, .0126, 10, true},
		{2, 20_000, 1, 200, .015, 15, true},
		{3, 30_000, .02, 0, .02, 10, false},
		{3, 30_000, .05, 500, .014, 10, false},
		{3, 10_000, 1, 0, .062, 10, true},
		{4, 30_000, .02, 0, .03, 10, false},
		{4, 30_000, .05, 400, .02, 8, false},
		{4, 8_000, 1, 0, .125, 10, true},
		{4, 8_000, 1, 20, .1, 8, true},
		{4, 12_000, .02, 0, .007, 10, true}, // crowds, but not in any one cell
		{3, 12_000, .02, 2000, .002, 10, true},
	} {
		name := fmt.Sprintf("%dD-scattered%v-lattice%v-eps%v-minPts%d", c.dims, c.scattered, c.lattice, c.eps, c.minPts)
		t.Run(name, func(t *testing.T) {
			p := crowds(rand.New(rand.NewPCG(uint64(c.dims), uint64(c.minPts))), c.n, c.dims, c.scattered, c.lattice)
			want := newTree(p, smallLeaf, 2).cluster(c.eps, c.minPts, 2)
			if want.Clusters < 2 || !slices.Contains(want.Labels, Noise) || !slices.Contains(want.Core, false) {
				t.Fatalf("%d clusters: these points show little", want.Clusters)
			}
			g, err := newGrid(p, cliques(c.dims, 1, c.eps), c.minPts, 1)
			if err != nil || g == nil {
				t.Fatal(g, err)
			}
			if g.tooOpen() != c.sorted {
				t.Fatalf("%d of %d points are in open cells", g.openPoints(), c.n)
			}
			order := rand.New(rand.NewPCG(5, 6)).Perm(c.n)
			permuted := Points{Dims: c.dims, Coords: make([]float64, len(p.Coords))}
			for to, from := range order {
				copy(permuted.Coords[to*c.dims:(to+1)*c.dims], p.Coords[from*c.dims:])
			}
			for _, threads := range []int{1, 2, 8} {
				got, err := clusterOnGrid(p, c.eps, c.minPts, threads)
				if err != nil || got == nil {
					t.Fatalf("%d threads: %v, %v", threads, got, err)
				}
				if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Core, want.Core) || got.Clusters != want.Clusters {
					t.Fatalf("%d threads: another answer than the tree's", threads)
				}
				again, err := clusterOnGrid(permuted, c.eps, c.minPts, threads)
				if err != nil || again == nil {
					t.Fatalf("%d threads, permuted: %v, %v", threads, again, err)
				}
				for to, from := range order {
					if again.Labels[to] != want.Labels[from] || again.Core[to] != want.Core[from] {
						t.Fatalf("%d threads: point %d has another answer when permuted", threads, from)
					}
				}
			}
		})
	}
}

// One far point, which a sample does not show, makes the grid look at all of them; points that are not
// finite are found wherever they are.
func TestPointsOutsideOfTheSample(t *testing.T) {
	const n = 2 * sampleRows
	for _, dims := range []int{2, 3} {
		p := crowds(rand.New(rand.NewPCG(1, 1)), n, dims, .01, 0)
		p.Coords[1*dims+1] = 3 // rows 0, 2, 4 … are sampled
		const eps = .02
		got, err := clusterOnGrid(p, eps, 5, 2)
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		want := newTree(p, smallLeaf, 2).cluster(eps, 5, 2)
		if !slices.Equal(got.Labels, want.Labels) || got.Labels[1] != Noise {
			t.Errorf("%d-D: another answer than the tree's", dims)
		}
		p.Coords[1*dims+1] = 1e12
		if got, err := clusterOnGrid(p, eps, 5, 2); got != nil || err != nil {
			t.Errorf("%d-D: cells without end: %v, %v", dims, got, err)
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p.Coords[1*dims+1] = v
			if _, err := clusterOnGrid(p, eps, 5, 2); err == nil {
				t.Errorf("%d-D: no error for %v", dims, v)
			}
		}
	}
}

// Where very many points have to be compared with each other the tree, which counts in bulk, is the way.
func TestTooMuchToCompare(t *testing.T) {
	p := crowds(rand.New(rand.NewPCG(1, 1)), 40_000, 2, 1, 0)
	if got, err := clusterOnGrid(p, .4, 30_000, 1); got != nil || err != nil {
		t.Errorf("the grid took it: %v", err)
	}
	r, err := Cluster(p, .4, 18_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := newTree(p, smallLeaf, 1).cluster(.4, 18_000, 1); !slices.Equal(r.Labels, want.Labels) || want.Clusters != 1 {
		t.Errorf("%d clusters, want %d", r.Clusters, want.Clusters)
	}
}

// The stencil holds every cell that can hold a neighbour, and only sure ones where all points are.
func TestStencil(t *testing.T) {
	for _, c := range []struct {
		dims, fineness, sure, near int
	}{{1, 2, 3, 4}, {2, 1, 1, 24}, {2, 2, 9, 40}, {3, 1, 1, 124}, {4, 1, 1, 840}} {
		f, ok := newFrame(c.dims, cliques(c.dims, c.fineness, 1), make([]float64, c.dims), make([]float64, c.dims), 0)
		if !ok {
			t.Fatal("no frame")
		}
		s := newStencil(&f)
		count := func(pieces []piece) (n int) {
			for _, p := range pieces {
				n += int(p.to-p.from) + 1
			}
			return n
		}
		if sure, near := count(s.sure), count(s.near); sure != c.sure || near != c.near {
			t.Errorf("%d-D, fineness %d: %d sure cells and %d near ones, want %d and %d", c.dims, c.fineness, sure, near, c.sure, c.near)
		}
	}
}

// The bands of a cell hold each cell that is not apart from it once, wherever it is along the last axis.
func TestBands(t *testing.T) {
	f, ok := newFrame(4, cliques(4, 1, 1), make([]float64, 4), []float64{9, 9, 9, 9}, 0)
	if !ok {
		t.Fatal("no frame")
	}
	bands := newBands(&f)
	for _, last := range []uint64{5, 10, 21} {
		key := uint64(9)<<48 | 11<<32 | 12<<16 | last
		near := 0
		for i := range uint64(11 * 11 * 11 * 11) {
			k := key + (i%11)<<48 + (i/11%11)<<32 + (i/121%11)<<16 + i/1331 - (5<<48 + 5<<32 + 5<<16 + 5)
			held := 0
			for _, p := range bands.near {
				if k-bands.base(key)-p.from <= p.to-p.from {
					held++
				}
			}
			if f.apart(key, k) {
				continue
			}
			if near++; held != 1 {
				t.Fatalf("cell %x is %d times in the bands of %x", k, held, key)
			}
		}
		if near != 841 {
			t.Errorf("%d cells are not apart from %x, want the 841 of its stencil", near, key)
		}
	}
	if len(bands.sure) != 0 {
		t.Error("bands know of no sure cells")
	}
}

// Cells with many points that are asked often get a tree, which counts as scanning does.
func TestLazyTree(t *testing.T) {
	p := crowds(rand.New(rand.NewPCG(2, 2)), 4*treeFrom, 2, 1, 0)
	g := gathered{first: []int32{0, int32(p.Len())}, coords: p.Coords, trees: make([]lazyTree, 1)}
	for i := range 3 * treeAfter {
		at := p.Coords[2*i : 2*i+2]
		want := countNear(at, p.Coords, .01, math.MaxInt)
		if got := g.countNear(at, 0, .01, math.MaxInt); got != want {
			t.Fatalf("asked %d times: %d near, want %d", i+1, got, want)
		}
	}
	if g.trees[0].tree == nil {
		t.Error("no tree has grown")
	}
}
