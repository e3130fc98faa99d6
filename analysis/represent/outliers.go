package represent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
)

// An Unlike is an outlier: a thread that is far from its class's median, or that others wait for.
type Unlike struct {
	Thread   int
	Class    int      // index into Classes: the nearest, where density says that it belongs to none
	Quantity Quantity // in which it differs most, causes before effects
	Value    float64
	Median   float64 // of its class; of all threads for CausedNS
	// Distance from the center of its class, in scales of the quantities: 1 is as much as threads spend on the largest of
	// a kind.
	Distance float64
	Reason   string // without the thread's name
}

const (
	// A thread is unlike its class if a quantity is madLimit robust standard deviations from the median, and that is
	// minShare of the scale of its kind, and a floor of the median itself.
	madLimit = 5
	minShare = .01
	// A thread is waited for if it costs others callsTheMedian times as much as the median thread, and each of them
	// minShare of the scale of times.
	callsTheMedian = 5
	// perOutlier is how many threads of a class there are for one outlier, and fewOutliers how many there can always be.
	perOutlier, fewOutliers = 16, 3
	// ownSpread is how many threads a class must have for a spread of its own. In smaller ones it takes highest times as
	// much of the median to be unlike.
	ownSpread = 5
)

// spread is the median of each quantity over the threads of a class, and the median distance from it; in classes that
// are too small for that, at least that of all threads from the medians of their classes.
type spread struct{ median, mad []float64 }

func (c *Classes) medians(r *Ranks, threads int) []spread {
	list := make([]spread, len(c.Classes))
	sizes := make([]int, len(r.Quantities))
	for i := range list {
		list[i] = spread{make([]float64, len(sizes)), make([]float64, len(sizes))}
	}
	for q := range sizes {
		sizes[q] = r.Len()
	}
	workers.Every(sizes, threads, func(q int) {
		var values []float64
		for i, class := range c.Classes {
			values = values[:0]
			for _, t := range class.Threads {
				values = append(values, r.row(int(t))[q])
			}
			list[i].median[q], list[i].mad[q] = medianSpread(values)
		}
		values = values[:0]
		for t, class := range c.Of {
			values = append(values, math.Abs(r.row(t)[q]-list[class].median[q]))
		}
		slices.Sort(values)
		all := values[(len(values)-1)/2]
		for i, class := range c.Classes {
			if len(class.Threads) < ownSpread {
				list[i].mad[q] = max(list[i].mad[q], all)
			}
		}
	})
	return list
}

// medianSpread returns the lower median of values, which are not empty, and the lower median of the distances from it.
// It overwrites values.
func medianSpread(values []float64) (median, mad float64) {
	slices.Sort(values)
	median = values[(len(values)-1)/2]
	for i, x := range values {
		values[i] = math.Abs(x - median)
	}
	slices.Sort(values)
	return median, values[(len(values)-1)/2]
}

// findOutliers fills Outliers.
func (c *Classes) findOutliers(r *Ranks, v *vectors, apart []bool, medians []spread, o ClassOptions) {
	waited := waitedFor(r, v)
	for i := range c.Classes {
		class := &c.Classes[i]
		core := slices.DeleteFunc(slices.Clone(class.Threads), func(t int32) bool { return apart[t] })
		centroid := v.mean(core)
		floor := o.Floor
		if len(class.Threads) < ownSpread {
			floor *= highest
		}
		var list []Unlike
		for _, t := range class.Threads {
			if int(t) == class.Exemplar {
				continue
			}
			u := Unlike{Thread: int(t), Class: i, Distance: math.Sqrt(distance2(v.row(t), centroid))}
			if u.differs(r, v, medians[i], floor) {
				list = append(list, u)
			}
		}
		slices.SortStableFunc(list, func(a, b Unlike) int { return cmp.Compare(b.Distance, a.Distance) })
		if most := max(fewOutliers, (len(class.Threads)+perOutlier-1)/perOutlier); o.Outliers < 0 && len(list) > most {
			list = list[:most]
		}
		c.Outliers = append(c.Outliers, list...)
	}
	c.addWaitedFor(v, waited, apart)
	slices.SortStableFunc(c.Outliers, func(a, b Unlike) int {
		return cmp.Or(cmp.Compare(b.Distance, a.Distance), cmp.Compare(a.Thread, b.Thread))
	})
	if o.Outliers >= 0 && len(c.Outliers) > o.Outliers {
		c.Outliers = c.Outliers[:o.Outliers]
	}
}

// differs finds the quantity in which a thread differs most from the median of its class, and reports whether any does
// by what matters. Computing and bytes come before calls and waiting, which mostly follow from them, unless these are
// twice as far off.
func (u *Unlike) differs(r *Ranks, v *vectors, m spread, floor float64) bool {
	var most [2]float64
	best := [2]int{-1, -1}
	for q, of := range r.Quantities {
		if of.Kind == CausedNS {
			continue // compared with all threads, by waitedFor
		}
		value := r.row(u.Thread)[q]
		d, scale := math.Abs(value-m.median[q]), v.scale[of.scale()]
		if d < minShare*scale || d < floor*m.median[q] || d <= madLimit*toStandard*m.mad[q] {
			continue
		}
		effect := 0
		if of.scale() == calling {
			effect = 1
		}
		if d/scale > most[effect] {
			most[effect], best[effect] = d/scale, q
		}
	}
	q := best[0]
	if q < 0 || most[1] > 2*most[0] {
		q = best[1]
	}
	if q < 0 {
		return false
	}
	u.Quantity, u.Value, u.Median = r.Quantities[q], r.row(u.Thread)[q], m.median[q]
	u.Reason = u.Quantity.differs(u.Value, u.Median)
	return true
}

// A waited is a thread that others wait for.
type waited struct {
	thread        int
	value, median float64
	reason        string
}

// waitedFor are the threads that others wait for most, a sixteenth of them at most.
func waitedFor(r *Ranks, v *vectors) []waited {
	q := slices.IndexFunc(r.Quantities, func(q Quantity) bool { return q.Kind == CausedNS })
	n := r.Len()
	if q < 0 || n < 2 {
		return nil
	}
	values := make([]float64, n)
	for t := range values {
		values[t] = r.row(t)[q]
	}
	median, _ := medianSpread(values)
	var list []waited
	for t := range n {
		value := r.row(t)[q]
		if value < callsTheMedian*median || value < minShare*v.scale[calling]/effects*float64(n-1) || value == 0 {
			continue
		}
		w := waited{thread: t, value: value, median: median}
		usual := "none"
		if median > 0 {
			usual = seconds(median)
		}
		w.reason = fmt.Sprintf("is waited for %s in total at collective calls (median of all ranks: %s)", seconds(value), usual)
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(a, b waited) int { return cmp.Compare(b.value, a.value) })
	return list[:min(len(list), (n+perOutlier-1)/perOutlier)]
}

// addWaitedFor makes outliers of threads that others wait for, and adds to the reasons of those that are outliers or
// exemplars already.
func (c *Classes) addWaitedFor(v *vectors, list []waited, apart []bool) {
	for _, w := range list {
		class := &c.Classes[c.Of[w.thread]]
		at := slices.IndexFunc(c.Outliers, func(u Unlike) bool { return u.Thread == w.thread })
		switch {
		case at >= 0:
			c.Outliers[at].Reason += "; " + w.reason
		case class.Exemplar == w.thread:
			class.Reason += "; " + w.reason
		default:
			core := slices.DeleteFunc(slices.Clone(class.Threads), func(t int32) bool { return apart[t] })
			c.Outliers = append(c.Outliers, Unlike{
				Thread: w.thread, Class: int(c.Of[w.thread]), Quantity: Quantity{Kind: CausedNS}, Value: w.value, Median: w.median,
				Distance: math.Sqrt(distance2(v.row(int32(w.thread)), v.mean(core))), Reason: w.reason,
			})
		}
	}
}
