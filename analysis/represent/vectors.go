package represent

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/dbscan"
)

// vectors are threads as points. A coordinate is a quantity in units of its scale, linear up to that and logarithmic
// above, so that a thread that has a thousand times what others have is far away, but does not press all others into
// one place.
type vectors struct {
	n, dims int
	x       []float64 // row-major
	scale   [allScales]float64
}

// effects is how many times longer calls must be than computing to distinguish threads as well. On a busy machine,
// waiting times are random. Elsewhere ranks wait because others compute longer, which shows as computing of those.
// Noise bursts are mostly bursts that something interrupted.
const effects = 4

// newVectors scales. The scale of computing, and that of bytes, is the largest mean over threads of any of its
// quantities: half of the threads doing something else, or one thread with all of it, changes that by a small factor
// only. Quantities share the scale, so that a second counts the same in every cluster. Calls and noise have effects
// times the larger of their scale and that of computing: in a job that mostly computes they count little, and in one
// that mostly waits they do not hide the computing.
func newVectors(r *Ranks) *vectors {
	v := &vectors{n: r.Len(), dims: len(r.Quantities), x: make([]float64, len(r.Values))}
	means := make([]float64, v.dims)
	for i := range v.n {
		for q, value := range r.row(i) {
			means[q] += value / float64(v.n) // a sum of large values could overflow
		}
	}
	for q, mean := range means {
		s := r.Quantities[q].scale()
		v.scale[s] = max(v.scale[s], mean)
	}
	v.scale[calling] = effects * max(v.scale[calling], v.scale[computing])
	for i, value := range r.Values {
		if scale := v.scale[r.Quantities[i%v.dims].scale()]; scale > 0 {
			v.x[i] = value / scale
			if v.x[i] > 1 {
				v.x[i] = 1 + math.Log(v.x[i])
			}
		}
	}
	return v
}

func (v *vectors) row(thread int32) []float64 {
	return v.x[int(thread)*v.dims : (int(thread)+1)*v.dims]
}

// mean returns the center of some threads.
func (v *vectors) mean(threads []int32) []float64 {
	centroid := make([]float64, v.dims)
	for _, t := range threads {
		for d, x := range v.row(t) {
			centroid[d] += x
		}
	}
	for d := range centroid {
		centroid[d] /= float64(len(threads))
	}
	return centroid
}

func distance2(a, b []float64) float64 {
	var sum float64
	for i, x := range a {
		sum += (x - b[i]) * (x - b[i])
	}
	return sum
}

// reduced returns the vectors in as many dimensions as package dbscan takes. Where more of them vary, the first
// coordinates are the principal components with most variance, of the mostVaried quantities with most, and the last one
// is the length of what these leave of a vector. Distances become smaller by that, if anything; a thread that is unlike
// all others in one small quantity keeps its distance in the last coordinate.
func (v *vectors) reduced() dbscan.Points {
	all := make([]int32, v.n)
	for i := range all {
		all[i] = int32(i)
	}
	centroid := v.mean(all)
	variance := make([]float64, v.dims)
	for _, t := range all {
		for d, x := range v.row(t) {
			variance[d] += (x - centroid[d]) * (x - centroid[d])
		}
	}
	var varied []int
	for d := range v.dims {
		if slices.ContainsFunc(all, func(t int32) bool { return v.row(t)[d] != v.row(0)[d] }) {
			varied = append(varied, d)
		}
	}
	slices.SortStableFunc(varied, func(a, b int) int { return cmp.Compare(variance[b], variance[a]) })
	if len(varied) <= dbscan.MaxDims {
		p := dbscan.Points{Dims: max(1, len(varied)), Coords: make([]float64, 0, v.n*max(1, len(varied)))}
		for _, t := range all {
			for _, d := range varied {
				p.Coords = append(p.Coords, v.row(t)[d])
			}
			if len(varied) == 0 {
				p.Coords = append(p.Coords, 0)
			}
		}
		return p
	}
	return v.project(centroid, varied)
}

// mostVaried bounds the work of finding principal components, which grows with the square of the quantities.
const mostVaried = 64

func (v *vectors) project(centroid []float64, varied []int) dbscan.Points {
	used := varied[:min(len(varied), mostVaried)]
	m := len(used)
	covariance := make([]float64, m*m)
	offset := make([]float64, m)
	for t := range int32(v.n) {
		row := v.row(t)
		for i, d := range used {
			offset[i] = row[d] - centroid[d]
		}
		for i, a := range offset {
			for j := i; j < m; j++ {
				covariance[i*m+j] += a * offset[j]
			}
		}
	}
	for i := range m {
		for j := range i {
			covariance[i*m+j] = covariance[j*m+i]
		}
	}
	axes := principal(covariance, m)[:dbscan.MaxDims-1]
	p := dbscan.Points{Dims: dbscan.MaxDims, Coords: make([]float64, 0, v.n*dbscan.MaxDims)}
	for t := range int32(v.n) {
		row := v.row(t)
		rest := distance2(row, centroid)
		for _, axis := range axes {
			var along float64
			for i, d := range used {
				along += axis[i] * (row[d] - centroid[d])
			}
			rest -= along * along
			p.Coords = append(p.Coords, along)
		}
		p.Coords = append(p.Coords, math.Sqrt(max(0, rest)))
	}
	return p
}
