package represent

import (
	"fmt"
	"math"

	"moriens/analysis/dbscan"
	"moriens/internal/mix"
)

const (
	// mostParts is how many classes k-means may make of one crowd.
	mostParts = 8
	// strongSilhouette is from where on Kaufman and Rousseeuw (Finding Groups in Data, 1990, table 4 of chapter 2) call a
	// structure strong. Evenly spread threads cut in two reach .6, a normal crowd .55: neither is to be cut.
	strongSilhouette = .71
	// sampled is how many threads decide the number of classes; the silhouette is quadratic in them.
	sampled  = 1000
	restarts = 8
	// asGood is how far below the best silhouette that of fewer classes may be.
	asGood = .05
)

// split divides points by k-means with the k from 2 on whose silhouette (Rousseeuw, 1987) is greatest, or the first
// that is as good, where that is strong and all centers are more than apart from each other. Else it returns nil. How
// says what was seen.
func split(p dbscan.Points, apart float64) (labels []int32, how string) {
	sample := thin(p, sampled)
	var best float64
	var centroids [][]float64
	for k := 2; k <= min(mostParts, sample.Len()-1); k++ {
		found := kmeans(sample, k)
		if len(found) < k || closest(found) <= apart {
			continue
		}
		if s := silhouette(sample, nearest(sample, found), k); s > best+asGood || centroids == nil {
			best, centroids = s, found
		}
	}
	if centroids == nil {
		return nil, "one class"
	}
	if best < strongSilhouette {
		return nil, fmt.Sprintf("one class: k-means does not split it (silhouette %.2f, strong from %.2f)", best, strongSilhouette)
	}
	centroids = settle(p, centroids)
	return nearest(p, centroids), fmt.Sprintf("%d classes by k-means (silhouette %.2f)", len(centroids), best)
}

// thin takes so many points, one from each of as many stretches of the order.
func thin(p dbscan.Points, n int) dbscan.Points {
	if p.Len() <= n {
		return p
	}
	return pick(p, thinRows(p.Len(), n))
}

// thinRows are n rows of all.
func thinRows(all, n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		from, to := i*all/n, (i+1)*all/n
		rows[i] = int32(from + int(mix.Bits(uint64(i))%uint64(to-from)))
	}
	return rows
}

func pick(p dbscan.Points, rows []int32) dbscan.Points {
	some := dbscan.Points{Dims: p.Dims, Coords: make([]float64, 0, len(rows)*p.Dims)}
	for _, i := range rows {
		some.Coords = append(some.Coords, point(p, int(i))...)
	}
	return some
}

func point(p dbscan.Points, i int) []float64 { return p.Coords[i*p.Dims : (i+1)*p.Dims] }

// kmeans returns the best centers of a few starts. Fewer than k come back where there are fewer places.
func kmeans(p dbscan.Points, k int) [][]float64 {
	var best [][]float64
	least := math.Inf(1)
	for start := range uint64(restarts) {
		centroids := settle(p, seed(p, k, start))
		var sum float64
		for i, c := range nearest(p, centroids) {
			sum += distance2(point(p, i), centroids[c])
		}
		if sum < least {
			best, least = centroids, sum
		}
	}
	return best
}

// seed is k-means++ (Arthur and Vassilvitskii, SODA'07) with numbers of a hash: the same in every run.
func seed(p dbscan.Points, k int, start uint64) [][]float64 {
	n := p.Len()
	centroids := [][]float64{point(p, int(mix.Bits(start)%uint64(n)))}
	far := make([]float64, n)
	for i := range far {
		far[i] = math.Inf(1)
	}
	for len(centroids) < k {
		var sum float64
		for i := range far {
			far[i] = min(far[i], distance2(point(p, i), centroids[len(centroids)-1]))
			sum += far[i]
		}
		if sum == 0 {
			break
		}
		at := float64(mix.Bits(start<<32+uint64(len(centroids)))>>11) / (1 << 53) * sum
		next := -1
		for i, d := range far {
			if d > 0 {
				next = i
			}
			if at -= d; at < 0 {
				break
			}
		}
		centroids = append(centroids, point(p, next))
	}
	return centroids
}

// settle moves centers to the middle of the points that are nearest to them until none changes its center (Lloyd).
func settle(p dbscan.Points, centroids [][]float64) [][]float64 {
	var before []int32
	for range 100 {
		labels := nearest(p, centroids)
		changed := before == nil
		sums := make([][]float64, len(centroids))
		counts := make([]float64, len(centroids))
		for c := range sums {
			sums[c] = make([]float64, p.Dims)
		}
		for i, c := range labels {
			changed = changed || before[i] != c
			counts[c]++
			for d, x := range point(p, i) {
				sums[c][d] += x
			}
		}
		if !changed {
			break
		}
		for c := range sums {
			for d := range sums[c] {
				if counts[c] > 0 {
					sums[c][d] /= counts[c]
				} else {
					sums[c][d] = centroids[c][d]
				}
			}
		}
		centroids, before = sums, labels
	}
	return centroids
}

// nearest gives each point its nearest center, the first of several.
func nearest(p dbscan.Points, centroids [][]float64) []int32 {
	labels := make([]int32, p.Len())
	for i := range labels {
		least := math.Inf(1)
		for c, centroid := range centroids {
			if d := distance2(point(p, i), centroid); d < least {
				labels[i], least = int32(c), d
			}
		}
	}
	return labels
}

// closest returns the least distance between two centers.
func closest(centroids [][]float64) float64 {
	least := math.Inf(1)
	for i, a := range centroids {
		for _, b := range centroids[:i] {
			least = min(least, distance2(a, b))
		}
	}
	return math.Sqrt(least)
}

// silhouette is the mean over points of (b-a)/max(a,b), a being the mean distance to the others of its group and b that
// to the group that is nearest by this measure; 0 for a point alone in its group.
func silhouette(p dbscan.Points, labels []int32, k int) float64 {
	counts := make([]float64, k)
	for _, c := range labels {
		counts[c]++
	}
	var sum float64
	to := make([]float64, k)
	for i, own := range labels {
		if counts[own] < 2 {
			continue
		}
		clear(to)
		for j, c := range labels {
			to[c] += math.Sqrt(distance2(point(p, i), point(p, j)))
		}
		a, b := to[own]/(counts[own]-1), math.Inf(1)
		for c := range to {
			if int32(c) != own && counts[c] > 0 {
				b = min(b, to[c]/counts[c])
			}
		}
		if m := max(a, b); m > 0 && !math.IsInf(b, 1) {
			sum += (b - a) / m
		}
	}
	return sum / float64(len(labels))
}
