package represent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/analysis/dbscan"
	"moriens/internal/units"
)

// ClassOptions say how threads are grouped.
type ClassOptions struct {
	// Outliers is how many there are to be at most, in all classes together. Below 0, in each class a sixteenth of its
	// threads, but three at least. Threads that differ by nothing that matters are never outliers.
	Outliers int
	// Floor is how far apart threads are that are never distinguished, as a share of what they spend on the largest
	// quantity of a kind. 0 = DefaultFloor.
	Floor   float64
	Workers int // below 1 means 1
}

// DefaultFloor of ClassOptions: threads within 3 % of each other are alike.
const DefaultFloor = .03

// Classes are the threads in groups that behave alike.
type Classes struct {
	Of       []int32  // per thread: index into Classes
	Classes  []Class  // by size, descending, ties by their first thread
	Outliers []Unlike // those that matter most first
	Method   string   // how the groups were found, in words and figures
	Differ   string   // in what the two threads of a run of two differ most, which are a class each; empty: in nothing that matters
}

// A Class is a group of threads.
type Class struct {
	Threads  []int32 // ascending, outliers included
	Exemplar int     // the one nearest to the center
	Reason   string  // why it is, in words and figures
	Profile  string  // what the class spends its time on: "61 % in cluster 1, 20 % in collective calls"
	// Differs says in what its median differs most from that of the first class: "30 % more time in cluster 2 (1.30 s
	// instead of 1.00 s)"; empty: it is the first.
	Differs string
}

// Classify groups threads that behave alike, names the one that stands for each group, and those that are unlike
// theirs.
func Classify(r Ranks, o ClassOptions) (*Classes, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if o.Floor == 0 {
		o.Floor = DefaultFloor
	}
	if !(o.Floor > 0) {
		return nil, fmt.Errorf("represent: floor %v: want a number above 0", o.Floor)
	}
	if r.Len() == 0 {
		return &Classes{Method: "there are no threads"}, nil
	}
	v := newVectors(&r)
	labels, how, err := group(v.reduced(), o)
	if err != nil {
		return nil, fmt.Errorf("represent: %w", err)
	}
	c := &Classes{Method: how}
	apart := c.assign(v, labels)
	medians := c.medians(&r, o.Workers)
	for i := range c.Classes {
		c.describe(&r, v, i, apart, medians[i])
		if i > 0 {
			c.Classes[i].Differs = differs(r.Quantities, v, medians[i].median, medians[0].median)
		}
	}
	c.findOutliers(&r, v, apart, medians, o)
	if r.Len() == 2 && len(c.Classes) == 2 {
		c.Differ = pairOf(&r, v)
	}
	return c, nil
}

// scattered: where more than one thread in so many is in no crowd, what is dense is so by chance.
const scattered = 3

// group returns a label for each thread, dbscan.Noise for those that are in no crowd, and says how.
func group(p dbscan.Points, o ClassOptions) (labels []int32, how string, err error) {
	n := p.Len()
	found, err := findCrowds(p, o)
	if err != nil {
		return nil, "", err
	}
	noise := 0
	for _, l := range found.labels {
		if l == dbscan.Noise {
			noise++
		}
	}
	if found.count > 1 && noise <= n/scattered {
		return found.labels, fmt.Sprintf("%s %s, %s in no class", units.Count(found.count, "class"), found.how, units.Count(noise, "thread")), nil
	}
	crowd := found.labels
	if found.count == 0 || noise > n/scattered { // nothing is dense
		crowd = make([]int32, n)
	}
	parts, how := split(members(p, crowd), o.Floor)
	how += "; " + found.how
	if parts == nil {
		return crowd, how, nil
	}
	labels = slices.Clone(crowd)
	for i, l := range crowd {
		if l != dbscan.Noise {
			labels[i], parts = parts[0], parts[1:]
		}
	}
	return labels, how, nil
}

// members are the points that are not noise.
func members(p dbscan.Points, labels []int32) dbscan.Points {
	if !slices.Contains(labels, dbscan.Noise) {
		return p
	}
	m := dbscan.Points{Dims: p.Dims}
	for i, l := range labels {
		if l != dbscan.Noise {
			m.Coords = append(m.Coords, point(p, i)...)
		}
	}
	return m
}

// assign makes classes of labels and puts noise into the class whose center is nearest. It says which threads that
// were.
func (c *Classes) assign(v *vectors, labels []int32) (apart []bool) {
	groups := make([][]int32, slices.Max(labels)+1)
	apart = make([]bool, len(labels))
	for t, l := range labels {
		if l == dbscan.Noise {
			apart[t] = true
		} else {
			groups[l] = append(groups[l], int32(t))
		}
	}
	centroids := make([][]float64, len(groups))
	for g, threads := range groups {
		centroids[g] = v.mean(threads)
	}
	for t := range labels {
		if !apart[t] {
			continue
		}
		best := 0
		for g := range centroids {
			if distance2(v.row(int32(t)), centroids[g]) < distance2(v.row(int32(t)), centroids[best]) {
				best = g
			}
		}
		groups[best] = append(groups[best], int32(t))
	}
	for _, threads := range groups {
		slices.Sort(threads)
	}
	slices.SortFunc(groups, func(a, b []int32) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0], b[0]))
	})
	c.Of = make([]int32, len(labels))
	for i, threads := range groups {
		c.Classes = append(c.Classes, Class{Threads: threads})
		for _, t := range threads {
			c.Of[t] = int32(i)
		}
	}
	return apart
}

// describe finds the exemplar of a class and says what the class is like.
func (c *Classes) describe(r *Ranks, v *vectors, i int, apart []bool, m spread) {
	class := &c.Classes[i]
	core := slices.DeleteFunc(slices.Clone(class.Threads), func(t int32) bool { return apart[t] })
	centroid := v.mean(core)
	best := core[0]
	for _, t := range core[1:] {
		if distance2(v.row(t), centroid) < distance2(v.row(best), centroid) {
			best = t
		}
	}
	class.Exemplar = int(best)
	class.Profile = profile(r.Quantities, m.median)
	name := r.Name.name(int(best))
	switch {
	case r.Len() == 1:
		class.Reason = name + " is the only one"
	case len(class.Threads) == 1:
		class.Reason = name + " is unlike all others"
	case slices.IndexFunc(core, func(t int32) bool { return distance2(v.row(t), v.row(best)) > 0 }) < 0:
		class.Reason = fmt.Sprintf("%s is the first of %d with identical values", name, len(core))
	default:
		class.Reason = fmt.Sprintf("%s is closest to the mean of its class of %d", name, len(class.Threads))
	}
}

// profile says where the time goes, the largest parts first.
func profile(quantities []Quantity, median []float64) string {
	var list []int
	var sum float64
	for q, of := range quantities {
		if (of.Kind == ComputeNS || of.Kind == CallNS) && median[q] > 0 {
			list = append(list, q)
			sum += median[q]
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(median[b], median[a]) })
	var parts []string
	for _, q := range list[:min(3, len(list))] {
		parts = append(parts, percent(median[q]/sum)+" in "+quantities[q].place())
	}
	return strings.Join(parts, ", ")
}
