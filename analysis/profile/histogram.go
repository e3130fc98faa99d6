package profile

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// newHistograms makes empty histograms of all labels that rows have, from the shortest to the longest burst of each.
func newHistograms(rows []Row, buckets int, label func(*Key) int32) []Histogram {
	at := make(map[int32]int)
	var list []Histogram
	for i := range rows {
		r := &rows[i]
		if r.Kind != Computation || r.Time.N == 0 { // which has but parts of bursts of others
			continue
		}
		of := label(&r.Key)
		k, ok := at[of]
		if !ok {
			k = len(list)
			at[of] = k
			list = append(list, Histogram{Cluster: of, MinNS: r.Time.Min, MaxNS: r.Time.Max})
		}
		list[k].MinNS, list[k].MaxNS = min(list[k].MinNS, r.Time.Min), max(list[k].MaxNS, r.Time.Max)
	}
	slices.SortFunc(list, func(a, b Histogram) int { return cmp.Compare(a.Cluster, b.Cluster) })
	for k := range list {
		n := buckets
		if list[k].width() == 0 {
			n = 1
		}
		list[k].Count, list[k].TimeNS = make([]int64, n), make([]int64, n)
	}
	return list
}

// logarithm takes 0 for 1 ns, the shortest time that can be distinguished from nothing.
func logarithm(ns int64) float64 { return math.Log(float64(max(ns, 1))) }

// width is that of all buckets together in ln(duration): 0 where all durations are equal.
func (h *Histogram) width() float64 { return logarithm(h.MaxNS) - logarithm(h.MinNS) }

// A Ruler finds the bucket of a duration.
type Ruler struct {
	origin, factor float64
	last           int
}

// Ruler is that of the histogram.
func (h *Histogram) Ruler() Ruler {
	if len(h.Count) == 1 {
		return Ruler{}
	}
	return Ruler{logarithm(h.MinNS), float64(len(h.Count)) / h.width(), len(h.Count) - 1}
}

// Bucket is the one of a duration; what lies outside is in the first or the last one.
func (r Ruler) Bucket(ns int64) int {
	if r.last == 0 {
		return 0
	}
	return min(max(int((logarithm(ns)-r.origin)*r.factor), 0), r.last)
}

// Step is the width of a bucket in ln(duration).
func (h *Histogram) Step() float64 { return h.width() / float64(len(h.Count)) }

// Edge is the lower bound of a bucket, in ns; Edge(len(Count)) is the upper one of the last.
func (h *Histogram) Edge(bucket int) float64 {
	switch bucket {
	case 0:
		return float64(h.MinNS)
	case len(h.Count):
		return float64(h.MaxNS)
	}
	return math.Exp(logarithm(h.MinNS) + h.Step()*float64(bucket))
}

// fillHistograms adds a thread's bursts, the labels of which all have one.
func fillHistograms(all []Histogram, labels []int32, durationNS []int64, mu *sync.Mutex) {
	if len(all) == 0 {
		return
	}
	// A cluster's place among all: labels are few and next to each other.
	first := all[0].Cluster
	place := make([]int32, all[len(all)-1].Cluster-first+1)
	rulers := make([]Ruler, len(all))
	own := make([]Histogram, len(all))
	for k := range all {
		h := &all[k]
		place[h.Cluster-first] = int32(k)
		rulers[k] = h.Ruler()
		own[k] = Histogram{Count: make([]int64, len(h.Count)), TimeNS: make([]int64, len(h.Count))}
	}
	for i, d := range durationNS {
		k := place[labels[i]-first]
		b := rulers[k].Bucket(d)
		own[k].Count[b]++
		own[k].TimeNS[b] += d
	}
	mu.Lock()
	defer mu.Unlock()
	for k := range all {
		for b := range own[k].Count {
			all[k].Count[b] += own[k].Count[b]
			all[k].TimeNS[b] += own[k].TimeNS[b]
		}
	}
}
