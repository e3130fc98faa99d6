package dbscan

import (
	"fmt"
	"slices"

	"moriens/analysis/cell"
)

// WeightedCurve is Shared.Curve of the points of cells, taken to be all at the means of their cells. In 1-D, too, at
// most queries of the points are asked. Errors are as for Weighted, and sums of coordinates that are no numbers.
func WeightedCurve(dims int, cells []cell.Cell, k, queries, threads int) (*Curve, error) {
	if err := checkCells(cells, dims); err != nil {
		return nil, err
	}
	p := Points{Dims: dims, Coords: make([]float64, 0, len(cells)*dims)}
	weights := make([]int64, len(cells))
	for i := range cells {
		mean, err := meanOf(&cells[i], dims)
		if err != nil {
			return nil, fmt.Errorf("dbscan: cell %d: %w", i, err)
		}
		p.Coords, weights[i] = append(p.Coords, mean...), cells[i].Count
	}
	curve, err := WeightedKDistance(p, weights, k, queries, threads)
	return WholeCurve(curve), err
}

// AtMeans is the best that can be done where the answer is not exact and the points are not to be had: the exact answer
// for cells of which those in question have all their points at their mean. Where that brings others into question, so
// have those. Its Questions are all that were taken so. Of an exact answer it is that answer.
func (w *Weighting) AtMeans() (*Weighting, error) {
	if w.Exact {
		return w, nil
	}
	ask := w.asked
	ask.cells = slices.Clone(ask.cells)
	var taken []int32
	for !w.Exact {
		for _, i := range w.Questions {
			c := &ask.cells[i]
			mean, err := meanOf(c, ask.dims)
			if err != nil {
				return nil, fmt.Errorf("dbscan: cell %d: %w", i, err)
			}
			*c = cell.Of(mean, c.Count)
		}
		taken = append(taken, w.Questions...)
		var err error
		if w, err = Weighted(ask.dims, ask.cells, ask.eps, ask.minPts, ask.threads); err != nil {
			return nil, err
		}
	}
	slices.Sort(taken)
	return &Weighting{Labels: w.Labels, Clusters: w.Clusters, Questions: taken, asked: ask}, nil
}

// meanOf is the mean of a cell's points, which no rounding takes out of the cell's box.
func meanOf(c *cell.Cell, dims int) ([]float64, error) {
	mean := make([]float64, dims)
	for j := range mean {
		v := c.Sum[j] / float64(c.Count)
		if v != v {
			return nil, fmt.Errorf("dimension %d: the sum is %v", j, c.Sum[j])
		}
		mean[j] = min(max(v, c.Lo[j]), c.Hi[j])
	}
	return mean, nil
}
