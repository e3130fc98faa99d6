package dbscan

import (
	"errors"
	"fmt"
)

// NewWeightedIncremental is NewIncremental for points that may stand for several at one place: InsertWeighted
// and Grow say for how many. The answer is that for all of them, given once for each place.
func NewWeightedIncremental(dims int, eps float64, minPts int) (*Incremental, error) {
	x, err := NewIncremental(dims, eps, minPts)
	if err == nil {
		x.weight = []int32{}
	}
	return x, err
}

// InsertWeighted is Insert for points of which each stands for weights[i], above 0, at its place.
func (x *Incremental) InsertWeighted(p Points, weights []int64) error {
	if x.weight == nil {
		return errors.New("dbscan: weights for points without")
	}
	if err := checkWeights(p, weights); err != nil {
		return err
	}
	return x.insertAll(p, weights)
}

// Grow adds more points, above 0, at the place of one that was inserted with weights before; at are its
// coordinates, which are kept nowhere once nothing depends on them.
func (x *Incremental) Grow(row int, at []float64, by int64) error {
	switch {
	case row < 0 || row >= len(x.weight):
		return fmt.Errorf("dbscan: no point %d has a weight", row)
	case len(at) != x.dims:
		return fmt.Errorf("dbscan: point %d of %d dimensions among points of %d", row, len(at), x.dims)
	case by < 1:
		return fmt.Errorf("dbscan: point %d grows by %d: want at least 1", row, by)
	}
	more := int32(min(by, int64(x.minPts)-int64(x.weight[row])))
	if more == 0 {
		return nil
	}
	x.weight[row] += more
	c := x.rows.at(row)
	if x.calm[c] >= quiet {
		return nil
	}
	cell := &x.cells[c]
	x.enlarge(c, more)
	for _, b := range cell.sure {
		x.enlarge(b, more)
	}
	p := x.place(at)
	x.notifyAround(c, &p, more)
	return nil
}

// weightOf says for how many a point counts.
func (x *Incremental) weightOf(row int32) int32 {
	if x.weight == nil {
		return 1
	}
	return x.weight[row]
}

// population counts the points of a cell, some number ≥ MinPts if they are that many.
func (x *Incremental) population(cell *growingCell) int {
	if x.weight == nil {
		return cell.cores.n + len(cell.waiting)
	}
	sum := 0
	for _, row := range cell.coreRows {
		if sum += int(x.weight[row]); sum >= x.minPts {
			return sum
		}
	}
	for i := range cell.waiting {
		sum += int(x.weight[cell.waiting[i].row])
	}
	return sum
}

// weighCores is coresNear where points have weights; these are at different places, so that they are few.
func (x *Incremental) weighCores(cell *growingCell, at []float64, enough int) int {
	found, rows := 0, cell.coreRows
	for _, run := range cell.cores.parts() {
		for ; len(run) > 0; run, rows = run[x.dims:], rows[1:] {
			if distance2(at, run[:x.dims]) <= x.eps2 {
				if found += int(x.weight[rows[0]]); found >= enough {
					return found
				}
			}
		}
	}
	return found
}
