package clustering

import (
	"math"
	"slices"
	"testing"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/space"
	"moriens/trace"
)

// A burst has the label of its cell; of the nearest place where its cell was split; of the cell beside it where
// rounding has put it over the edge, though that be some cells for a burst of some nanoseconds; and none where there is
// nothing near.
func TestFromCells(t *testing.T) {
	const side = .025
	unit := func(ns ...float64) microcell.Unit {
		u := microcell.Unit{Place: len(ns) == 1}
		for i, x := range ns {
			c := cell.Of([]float64{math.Log(x)}, 1)
			if i == 0 {
				u.Cell = c
				u.Cell.Key[0] = int32(math.Floor(c.Lo[0] / side))
				continue
			}
			u.Cell.Count++
			u.Cell.Lo[0], u.Cell.Hi[0], u.Cell.Sum[0] = min(u.Cell.Lo[0], c.Lo[0]), max(u.Cell.Hi[0], c.Hi[0]), u.Cell.Sum[0]+c.Sum[0]
		}
		return u
	}
	edge := math.Exp(side * 552) // some 985,000 ns
	units := []microcell.Unit{unit(1.01e6, 1.011e6), unit(edge*.995, edge*.99), unit(30), {}, unit(5.01e6), unit(5.03e6)}
	c := Cells{
		Result: &microcell.Result{Units: units, Labels: []int32{1, 2, grouping.LabelFiltered, grouping.LabelNoise, 3, 4}, Clusters: make([]grouping.Cluster, 4)},
		Dims:   []space.Dim{{Num: space.Duration, Scale: space.Log}}, Side: side, Between: []microcell.Group{{Before: 1, After: 2}}, MinNS: 10,
		Locate: func(before, after uint32, at []float64) (int32, bool) {
			switch {
			case before != 1 || after != 2:
				return 0, false
			case math.Abs(at[0]-math.Log(5.02e6)) < side/2:
				return 3, true // which was split
			}
			i := slices.IndexFunc(units[:3], func(u microcell.Unit) bool { return u.Cell.Key[0] == int32(math.Floor(at[0]/side)) })
			return int32(i), i >= 0
		},
	}
	list := []struct {
		ns    int64
		after uint32
		want  int32
	}{
		{1_010_500, 2, 1}, {int64(edge * .992), 2, 2}, {int64(edge) + 1, 2, 2}, {5_012_000, 2, 3}, {5_029_000, 2, 4},
		{32, 2, grouping.LabelFiltered}, {9, 2, grouping.LabelFiltered}, {2_000_000, 2, grouping.LabelNoise}, {1_010_500, 3, grouping.LabelNoise}, {0, 2, grouping.LabelFiltered},
	}
	run := &trace.Run{CallPaths: make([]trace.CallPath, 4), Threads: make([]trace.Thread, 1)}
	b := &run.Threads[0].Bursts
	for _, x := range list {
		b.StartNS, b.DurationNS = append(b.StartNS, 0), append(b.DurationNS, x.ns)
		b.Before, b.After = append(b.Before, 1), append(b.After, x.after)
	}
	found, located, err := FromCells(run, c, grouping.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	found.Adopt(run)
	for i, x := range list {
		if b.Cluster[i] != x.want {
			t.Errorf("the burst of %d ns has label %d, want %d", x.ns, b.Cluster[i], x.want)
		}
	}
	if located != (Located{Moved: 2, Astray: 2}) {
		t.Errorf("%+v", located)
	}
}

// A burst that no cell can hold lacks data, as it did on its node, and is not taken for noise.
func TestOutsideOfCells(t *testing.T) {
	const side = .5
	u := microcell.Unit{Place: true, Cell: cell.Of([]float64{276}, 1)}
	u.Cell.Key[0] = 552
	c := Cells{
		Result: &microcell.Result{Units: []microcell.Unit{u}, Labels: []int32{1}, Clusters: make([]grouping.Cluster, 1)},
		Dims:   []space.Dim{{Num: space.Duration, Scale: space.Lin}}, Side: side, Between: []microcell.Group{{}}, By: grouping.ByNone,
		Locate: func(uint32, uint32, []float64) (int32, bool) { return 0, false },
	}
	run := &trace.Run{CallPaths: make([]trace.CallPath, 1), Threads: make([]trace.Thread, 1)}
	b := &run.Threads[0].Bursts
	b.StartNS, b.DurationNS = []int64{0, 0}, []int64{276, side*(1<<32) + 276}
	b.Before, b.After = make([]uint32, 2), make([]uint32, 2)
	found, located, err := FromCells(run, c, grouping.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	found.Adopt(run)
	if want := []int32{1, grouping.LabelMissing}; !slices.Equal(b.Cluster, want) || located != (Located{}) {
		t.Errorf("labels %v, %+v, want %v", b.Cluster, located, want)
	}
}
