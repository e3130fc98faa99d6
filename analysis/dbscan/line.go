package dbscan

import (
	"sort"

	"moriens/analysis/workers"
)

// A line is 1-D points in ascending order. There every question is a sweep of two ends of a window,
// and nothing is quadratic, however many points share a place.
type line struct {
	x    []float64
	rows []int32 // of each point in the input
}

func newLine(coords []float64, threads int) *line {
	l := &line{x: make([]float64, len(coords)), rows: make([]int32, len(coords))}
	copy(l.x, coords)
	for i := range l.rows {
		l.rows[i] = int32(i)
	}
	sortRows(l.x, l.rows, threads)
	return l
}

// near reports whether the points at i ≤ j are within Eps. Rounding keeps differences in order, so that near
// points are a window round each point; and it keeps apart the squares of what is not equal, so that none are
// needed.
func (l *line) near(i, j int, eps float64) bool { return l.x[j]-l.x[i] <= eps }

func (l *line) cluster(eps float64, minPts, threads int) *Result {
	n := len(l.x)
	r := &Result{Labels: make([]int32, n), Core: make([]bool, n)}
	core := make([]bool, n) // in the line's order
	workers.Chunks(n, threadsFor(n, threads), func(_, begin, end int) {
		if begin == end {
			return
		}
		left := sort.Search(begin, func(i int) bool { return l.near(i, begin, eps) })
		right := begin
		for i := begin; i < end; i++ {
			for !l.near(left, i, eps) {
				left++
			}
			right = max(right, i+1)
			for right < n && right-left < minPts && l.near(i, right, eps) {
				right++
			}
			core[i] = right-left >= minPts
		}
	})
	cluster := Noise
	lastCore := -1
	pending := 0 // points from here to i are no core points and near none on their left
	for i := range n {
		if !core[i] {
			// All core points within Eps on the left are near each other: one cluster, and the one
			// with the smaller key.
			if lastCore >= 0 && pending == i && l.near(lastCore, i, eps) {
				r.Labels[l.rows[i]] = cluster
				pending = i + 1
			}
			continue
		}
		if lastCore < 0 || !l.near(lastCore, i, eps) {
			cluster++
		}
		for ; pending < i; pending++ {
			label := Noise
			if l.near(pending, i, eps) {
				label = cluster
			}
			r.Labels[l.rows[pending]] = label
		}
		r.Labels[l.rows[i]] = cluster
		r.Core[l.rows[i]] = true
		lastCore, pending = i, i+1
	}
	for ; pending < n; pending++ {
		r.Labels[l.rows[pending]] = Noise
	}
	r.Clusters = int(cluster) + 1
	return r
}

// kDistance returns the distances to the k-th neighbour in the line's order, for k < n.
func (l *line) kDistance(k, threads int) []float64 {
	n := len(l.x)
	out := make([]float64, n)
	workers.Chunks(n, threadsFor(n, threads), func(_, begin, end int) {
		// The point and its k nearest neighbours are a window of k+1 points, which only ever moves to
		// the right from one point to the next. It has to move while the point that it would gain is
		// nearer than the one it would lose.
		left := max(0, begin-k)
		for i := begin; i < end; i++ {
			for left+k+1 < n && l.x[left+k+1]-l.x[i] < l.x[i]-l.x[left] {
				left++
			}
			out[i] = max(l.x[i]-l.x[left], l.x[left+k]-l.x[i])
		}
	})
	return out
}
