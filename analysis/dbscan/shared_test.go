package dbscan_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/internal/mpix"
)

// A spread says which member has each point.
type spread []int

func drawSpread(t *rapid.T, n, members int) spread {
	s := make(spread, n)
	switch rapid.SampledFrom([]string{"any", "one", "blocks", "some"}).Draw(t, "spread") {
	case "any":
		for i := range s {
			s[i] = rapid.IntRange(0, members-1).Draw(t, "member")
		}
	case "one":
		m := rapid.IntRange(0, members-1).Draw(t, "member")
		for i := range s {
			s[i] = m
		}
	case "blocks":
		for i := range s {
			s[i] = i * members / n
		}
	case "some":
		m := rapid.IntRange(0, members-1).Draw(t, "member")
		for i := range s {
			s[i] = m * (i % 2)
		}
	}
	return s
}

// share returns the points of a member, and their rows.
func (s spread) share(p dbscan.Points, member int) (own dbscan.Points, rows []int64) {
	own.Dims = p.Dims
	rows = []int64{}
	for i, m := range s {
		if m == member {
			own.Coords = append(own.Coords, p.Coords[i*p.Dims:(i+1)*p.Dims]...)
			rows = append(rows, int64(i))
		}
	}
	return own, rows
}

// shared answers a question about points that several members have, and puts the results together.
func shared(p dbscan.Points, s spread, size, threads int, ask func(x *dbscan.Shared) (*dbscan.Result, error)) (*dbscan.Result, error) {
	all := &dbscan.Result{Labels: make([]int32, p.Len()), Core: make([]bool, p.Len())}
	clusters := make([]int, size)
	err := mpix.Each(size, func(t mpix.Transport) error {
		own, rows := s.share(p, t.Rank())
		x, err := dbscan.NewSharedRows(t, own, rows, threads)
		if err != nil {
			return err
		}
		r, err := ask(x)
		if err != nil {
			return err
		}
		if len(r.Labels) != len(rows) || len(r.Core) != len(rows) {
			return fmt.Errorf("%d labels and %d core flags for %d points", len(r.Labels), len(r.Core), len(rows))
		}
		for i, row := range rows {
			all.Labels[row], all.Core[row] = r.Labels[i], r.Core[i]
		}
		clusters[t.Rank()] = r.Clusters
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.Clusters = clusters[0]
	for _, n := range clusters {
		if n != all.Clusters {
			return nil, fmt.Errorf("members know of %v clusters", clusters)
		}
	}
	return all, nil
}

func sharedCluster(p dbscan.Points, s spread, size, threads int, eps float64, minPts int) (*dbscan.Result, error) {
	return shared(p, s, size, threads, func(x *dbscan.Shared) (*dbscan.Result, error) { return x.Cluster(eps, minPts) })
}

func TestSharedIsTheReference(t *testing.T) {
	for _, few := range []int64{0, 30} {
		for _, c := range []struct{ maxDims, maxPoints int }{{1, 120}, {4, 120}, {8, 60}} {
			t.Run(fmt.Sprintf("to%dD-together%d", c.maxDims, few), func(t *testing.T) {
				dbscan.GatherUpTo(t, few)
				rapid.Check(t, func(t *rapid.T) {
					p, eps := drawPoints(t, c.maxDims, c.maxPoints)
					minPts := rapid.IntRange(1, 10).Draw(t, "minPts")
					size := rapid.IntRange(1, 8).Draw(t, "members")
					s := drawSpread(t, p.Len(), size)
					input := slices.Clone(p.Coords)
					got, err := sharedCluster(p, s, size, rapid.IntRange(1, 2).Draw(t, "threads"), eps, minPts)
					if err != nil {
						t.Fatal(err)
					}
					if err := sameResult(got, reference(p, eps, minPts)); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(input, p.Coords) {
						t.Fatal("the input was changed")
					}
				})
			})
		}
	}
}

// Cells give the answer also where few of them decide anything.
func TestSharedCellsAreTheReference(t *testing.T) {
	dbscan.GatherUpTo(t, -1)
	tried, numbered := 0, 0
	property := func(t *rapid.T) {
		p, eps := drawPoints(t, 4, 120)
		if p.Len() == 0 {
			return
		}
		minPts := rapid.IntRange(1, 12).Draw(t, "minPts")
		size := rapid.IntRange(2, 8).Draw(t, "members")
		s := drawSpread(t, p.Len(), size)
		got, err := shared(p, s, size, rapid.IntRange(1, 2).Draw(t, "threads"), func(x *dbscan.Shared) (*dbscan.Result, error) {
			r, err := x.ClusterOnGrid(eps, minPts)
			if r == nil && err == nil {
				return nil, errNotNumbered
			}
			return r, err
		})
		if tried++; errors.Is(err, errNotNumbered) {
			return
		}
		if numbered++; err != nil {
			t.Fatal(err)
		}
		if err := sameResult(got, reference(p, eps, minPts)); err != nil {
			t.Fatal(err)
		}
	}
	// Chance may draw as few as a short test takes with points mostly too far apart for cells.
	for try := 0; (tried == 0 || numbered < tried/2) && try < 100; try++ {
		rapid.Check(t, property)
	}
	if numbered < tried/2 {
		t.Errorf("in %d of %d cases only there are cells", numbered, tried)
	}
}

var errNotNumbered = errors.New("too many cells")

// Eps at a distance to the MinPts-th point, as for one process.
func TestSharedAtTheThreshold(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	random := rand.New(rand.NewPCG(3, 2))
	for trial := range 100 {
		dbscan.PileUp(t, []int{2, 5, 64}[trial%3])
		dims := 1 + trial%7
		p, _ := kindsOfPoints(random, 50+random.IntN(250), dims)
		minPts := 2 + random.IntN(9)
		if trial%5 == 0 {
			minPts = 20 + random.IntN(40)
		}
		minPts = min(minPts, p.Len())
		curve := referenceCurve(p, minPts-1)
		eps := curve[random.IntN(len(curve))]
		size := 1 + random.IntN(8)
		s := make(spread, p.Len())
		for i := range s {
			s[i] = min(random.IntN(size), random.IntN(size))
		}
		got, err := sharedCluster(p, s, size, 1, eps, minPts)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameResult(got, reference(p, eps, minPts)); err != nil {
			t.Fatalf("trial %d, %d-D, %d points, Eps %v, MinPts %d, %d members: %v", trial, dims, p.Len(), eps, minPts, size, err)
		}
	}
}

// Points enough for full cells, samples, questions and several threads.
func TestSharedIsBatch(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	random := rand.New(rand.NewPCG(8, 8))
	for i, c := range []struct {
		dims, n int
		eps     float64
		minPts  int
		lattice float64
	}{
		{1, 40_000, .001, 10, 0}, {1, 40_000, .002, 40, 2000},
		{2, 40_000, .01, 10, 0}, {2, 40_000, .004, 4, 0}, {2, 40_000, .005, 10, 1000}, {2, 40_000, .05, 300, 0}, {2, 40_000, 1e-9, 2, 1000},
		{3, 30_000, .02, 10, 0}, {3, 30_000, .014, 10, 500}, {4, 30_000, .03, 10, 0}, {4, 30_000, .02, 8, 400},
		{5, 6_000, .05, 8, 0}, {6, 6_000, .05, 8, 200},
	} {
		p := dbscan.Crowds(random, c.n, c.dims, .02, c.lattice)
		want, err := dbscan.Cluster(p, c.eps, c.minPts, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want.Clusters < 2 {
			t.Fatalf("%+v: %d clusters; these points should show more", c, want.Clusters)
		}
		for _, size := range []int{2 + 2*((i+1)%4), 3} {
			s := make(spread, p.Len())
			for i := range s {
				if size == 3 {
					s[i] = i * 3 / len(s) // kinds follow each other, so that members have the same
				} else {
					s[i] = random.IntN(size)
				}
			}
			got, err := sharedCluster(p, s, size, 2, c.eps, c.minPts)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameResult(got, want); err != nil {
				t.Fatalf("%+v, %d members: another answer than one process", c, size)
			}
		}
	}
}

func TestSharedMistakes(t *testing.T) {
	four := dbscan.Points{Dims: 2, Coords: []float64{1, 2, 3, 4, 5, math.NaN(), 7, 8}}
	for _, few := range []int64{0, 100} {
		dbscan.GatherUpTo(t, few)
		_, err := sharedCluster(four, spread{1, 0, 2, 1}, 3, 1, 1, 1)
		var notFinite *dbscan.NotFiniteError
		if !errors.As(err, &notFinite) || notFinite.Row != 2 || notFinite.Dim != 1 || strings.Count(err.Error(), "row 2") != 3 {
			t.Errorf("%v, want all members to name row 2", err)
		}
	}
	for want, own := range map[string]func(rank int) (dbscan.Points, []int64){
		"points of 2 dimensions here, of 1 to 2": func(rank int) (dbscan.Points, []int64) { return dbscan.Points{Dims: 1 + rank}, nil },
		"1 rows for 0 points":                    func(rank int) (dbscan.Points, []int64) { return dbscan.Points{Dims: 1}, make([]int64, rank) },
		"3 coordinates are no whole number": func(rank int) (dbscan.Points, []int64) {
			return dbscan.Points{Dims: 2, Coords: make([]float64, 3*rank)}, nil
		},
		"point 1 is row 0": func(rank int) (dbscan.Points, []int64) {
			return dbscan.Points{Dims: 1, Coords: make([]float64, 2*rank)}, []int64{1, 0}[:2*rank]
		},
		"1 points with rows up to 1": func(rank int) (dbscan.Points, []int64) {
			return dbscan.Points{Dims: 1, Coords: make([]float64, rank)}, []int64{1}[:rank]
		},
	} {
		errs := make([]error, 2)
		_ = mpix.Each(2, func(t mpix.Transport) error {
			p, rows := own(t.Rank())
			_, errs[t.Rank()] = dbscan.NewSharedRows(t, p, rows, 1)
			return nil
		})
		if errs[0] == nil || errs[1] == nil || !strings.Contains(errs[1].Error(), want) {
			t.Errorf("%v and %v, want %q", errs[0], errs[1], want)
		}
	}
}

// What a stage costs is reported, and points stay where they are when counts decide.
func TestSharedCosts(t *testing.T) {
	p := burstLike(60_000, 2)
	s := make(spread, p.Len())
	for i := range s {
		s[i] = i % 2
	}
	var sent atomic.Int64
	_, err := shared(p, s, 2, 1, func(x *dbscan.Shared) (*dbscan.Result, error) {
		r, err := x.Cluster(.01, 10)
		for _, c := range x.Costs() {
			if c.Name == "" || c.Calls < 1 || c.Bytes < 0 || c.Seconds < 0 {
				return nil, fmt.Errorf("costs %+v", c)
			}
			sent.Add(c.Bytes)
		}
		return r, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if moved := int64(8 * len(p.Coords)); sent.Load() == 0 || sent.Load() > moved/2 {
		t.Errorf("%d bytes were sent about points of %d", sent.Load(), moved)
	}
}

// Where regions are narrow compared with Eps, most points of dense regions are not sent.
func TestSharedCrowdInAFewEps(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	random := rand.New(rand.NewPCG(6, 6))
	const dims, n, size = 5, 20_000, 4
	p := dbscan.Points{Dims: dims, Coords: make([]float64, n*dims)}
	for i := range p.Coords {
		p.Coords[i] = random.NormFloat64()
		if i/dims%400 == 0 {
			p.Coords[i] = 60 * random.Float64()
		}
	}
	const eps, minPts = 8, 30
	want, err := dbscan.Cluster(p, eps, minPts, 2)
	if err != nil {
		t.Fatal(err)
	}
	s := make(spread, n)
	for i := range s {
		s[i] = random.IntN(size)
	}
	var sent [2]atomic.Int64
	for i, places := range []int{64, n} {
		dbscan.PileUp(t, places)
		got, err := shared(p, s, size, 1, func(x *dbscan.Shared) (*dbscan.Result, error) {
			r, err := x.Cluster(eps, minPts)
			for _, c := range x.Costs() {
				sent[i].Add(c.Bytes)
			}
			return r, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameResult(got, want); err != nil {
			t.Fatalf("piles of %d: another answer than one process", places)
		}
	}
	if with, without := sent[0].Load(), sent[1].Load(); with > without/2 {
		t.Errorf("%d bytes were sent, %d without piles", with, without)
	} else {
		t.Logf("%d bytes were sent, %d without piles", with, without)
	}
}

// Members' points without rows follow each other.
func TestSharedByRank(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	p := burstLike(12_000, 2)
	want, err := kDistance(p, 5, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := dbscan.Cluster(p, .01, 6, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := mpix.Each(3, func(t mpix.Transport) error {
		begin, end := []int{0, 7000, 7000, 12_000}[t.Rank()], []int{0, 7000, 7000, 12_000}[t.Rank()+1]
		x, err := dbscan.NewShared(t, dbscan.Points{Dims: 2, Coords: p.Coords[2*begin : 2*end]}, 1)
		if err != nil {
			return err
		}
		got, _, err := wholeCurve(x, 5, 0)
		if err != nil {
			return err
		}
		r, err := x.Cluster(.01, 6)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) || !slices.Equal(r.Labels, clusters.Labels[begin:end]) || r.Clusters != clusters.Clusters {
			return fmt.Errorf("member %d has another answer", t.Rank())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
