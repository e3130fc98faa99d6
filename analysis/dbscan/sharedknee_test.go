package dbscan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/internal/mpix"
)

// The curve is that of an index of all points in the order of their rows.
func TestSharedKDistance(t *testing.T) {
	for _, few := range []int64{0, 30} {
		dbscan.GatherUpTo(t, few)
		rapid.Check(t, func(t *rapid.T) {
			p, _ := drawPoints(t, 6, 200)
			k := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, p.Len()+2)).Draw(t, "k")
			queries := rapid.SampledFrom([]int{0, 7, 50}).Draw(t, "queries")
			want, err := kDistance(p, k, queries, 1)
			if err != nil {
				t.Fatal(err)
			}
			size := rapid.IntRange(1, 8).Draw(t, "members")
			s := drawSpread(t, p.Len(), size)
			if err := sameCurves(p, s, size, k, queries, want); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func sameCurves(p dbscan.Points, s spread, size, k, queries int, want []float64) error {
	return mpix.Each(size, func(t mpix.Transport) error {
		own, rows := s.share(p, t.Rank())
		x, err := dbscan.NewSharedRows(t, own, rows, 2)
		if err != nil {
			return err
		}
		got, c, err := wholeCurve(x, k, queries)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%d-D, %d members, k %d, %d queries: another curve than that of one process", p.Dims, size, k, queries)
		}
		knee, ok, err := c.Knee()
		if wantKnee, wantOK := dbscan.FindKnee(want); err != nil || knee != wantKnee || ok != wantOK {
			return fmt.Errorf("knee %+v %v, want %+v %v; %w", knee, ok, wantKnee, wantOK, err)
		}
		if n := len(want); n > 0 {
			got, err := c.At(n-1, 0, n/2)
			if err != nil || got[0] != want[n-1] || got[1] != want[0] || got[2] != want[n/2] {
				return fmt.Errorf("distances %v, want %v, %v and %v; %w", got, want[n-1], want[0], want[n/2], err)
			}
		}
		return nil
	})
}

// Many neighbours among many points are found by medians.
func TestSharedKDistanceOfManyPoints(t *testing.T) {
	dbscan.GatherUpTo(t, 0)
	random := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct{ dims, k, lattice int }{{1, 100, 0}, {2, 60, 0}, {2, 200, 0}, {2, 2000, 0}, {2, 1500, 64}, {3, 500, 0}, {4, 7_990, 0}} {
		p := burstLike(8_000, c.dims)
		if c.lattice > 0 {
			for i, v := range p.Coords {
				p.Coords[i] = math.Round(v*float64(c.lattice)) / float64(c.lattice)
			}
		}
		want, err := kDistance(p, c.k, 100, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{2, 5} {
			at := make(spread, p.Len())
			for i := range at {
				switch {
				case size == 2:
					at[i] = random.IntN(2)
				case p.Coords[i*p.Dims] < .7: // by place, so that members know little of each other's
					at[i] = int(p.Coords[i*p.Dims]*5) & 3
				default:
					at[i] = 4
				}
			}
			if err := sameCurves(p, at, size, c.k, 100, want); err != nil {
				t.Error(err)
			}
		}
	}
}

// wholeCurve gives a member the whole curve, also where it has but a part of it.
func wholeCurve(x *dbscan.Shared, k, queries int) ([]float64, *dbscan.Curve, error) {
	c, err := x.Curve(k, queries)
	if err != nil {
		return nil, nil, err
	}
	places := make([]int, c.Len())
	for i := range places {
		places[i] = i
	}
	all, err := c.At(places...)
	return all, c, err
}

func knee(c *dbscan.Curve) error {
	if c == nil {
		return nil
	}
	_, _, err := c.Knee()
	return err
}
