package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/mpicall"
)

// lookedAt is how many ranks are looked at for what was planted.
const lookedAt = 1000

// A plantedKind is a way through the program and a class.
type plantedKind struct {
	before, place int
	class         class
}

func (k plantedKind) String() string {
	return fmt.Sprintf("%s between places %d and %d", k.class, k.before, k.place)
}

// functions are those of the calls by path; the last, of path 0, ends the program.
func functions(path int) uint32 {
	for _, phase := range phases {
		if path <= len(phase) && path > 0 {
			return uint32(phase[path-1].function)
		}
		path -= len(phase)
	}
	return 0
}

// numbers are those of the call paths round a burst.
func (p *planted) numbers() (before, after uint32) {
	before, after = number(uint32(mpicall.Init), 0), number(uint32(mpicall.Finalize), 0)
	if p.before > 0 {
		before = number(functions(int(p.before)), p.before)
	}
	if p.place > 0 {
		after = number(functions(p.place), uint32(p.place))
	}
	return before, after
}

// coordinates are those of a burst.
func coordinates(dims []space.Dim, p *planted) ([]float64, error) {
	columns := space.Columns{DurationNS: []int64{int64(p.ns)}, CounterNames: []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, Counters: [][]int64{{p.counts[0]}, {p.counts[1]}}}
	s, err := space.New(columns, dims)
	if err != nil {
		return nil, err
	}
	return s.Coordinates(nil, []int32{0}), nil
}

// check compares with what was planted, and with the clustering of all bursts if that is wanted: every kind whose
// bursts are clustered must be a cluster of its own, except for a tenth of its bursts: so many DBSCAN may leave out as
// noise at the ends of a kind.
func (r *run) check(result *microcell.Result) error {
	step := r.ranks()/lookedAt | 1 // odd: ranks of all classes
	labels := make(map[plantedKind]map[int32]int)
	kindsOf := make(map[int32]map[plantedKind]int)
	for rank := 0; rank < r.ranks(); rank += step {
		for _, p := range r.of(rank) {
			label, err := r.labelOf(result, &p)
			if err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			k := plantedKind{int(p.before), p.place, p.class}
			if labels[k] == nil {
				labels[k] = make(map[int32]int)
			}
			labels[k][label]++
			if kindsOf[label] == nil {
				kindsOf[label] = make(map[plantedKind]int)
			}
			kindsOf[label][k]++
		}
	}
	byKind := func(a, b plantedKind) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.place, b.place), cmp.Compare(a.class, b.class))
	}
	for _, k := range slices.SortedFunc(maps.Keys(labels), byKind) {
		label, most := mostOf(labels[k])
		all := total(labels[k])
		if label == grouping.LabelFiltered && most == all {
			continue
		}
		r.end.Kinds++
		switch own := kindsOf[label][k]; {
		case label < 1 || 10*most < 9*all:
			r.end.Lost = append(r.end.Lost, fmt.Sprintf("%v: %d of %d bursts have label %d, all %v", k, most, all, label, labels[k]))
		case r.apart() && 10*own < 9*total(kindsOf[label]):
			r.end.Lost = append(r.end.Lost, fmt.Sprintf("%v: of the %d bursts of cluster %d it has %d", k, total(kindsOf[label]), label, own))
		default:
			r.end.Found++
		}
	}
	if err := r.checkSums(result); err != nil {
		return err
	}
	if r.options.equal {
		return r.compare(result)
	}
	return nil
}

// apart reports whether kinds of different places cannot be in one cluster.
func (r *run) apart() bool { return !r.Counters }

func mostOf(labels map[int32]int) (label int32, most int) {
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		if labels[l] > most {
			label, most = l, labels[l]
		}
	}
	return label, most
}

func total[K comparable](counts map[K]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// labelOf is what a burst's unit is labelled.
func (r *run) labelOf(result *microcell.Result, p *planted) (int32, error) {
	at, err := coordinates(r.dims, p)
	if err != nil {
		return 0, err
	}
	var before, after uint32
	if !r.Counters {
		before, after = p.numbers()
	}
	unit, ok := r.coordinator.Locate(before, after, at)
	if !ok {
		return 0, fmt.Errorf("no unit has the burst of %d ns at place %d", p.ns, p.place)
	}
	return result.Labels[unit], nil
}

// checkSums reports whether the agents' sums have the bursts of the clusters.
func (r *run) checkSums(result *microcell.Result) error {
	want := map[int32]int64{grouping.LabelNoise: int64(result.Noise.Bursts), grouping.LabelFiltered: int64(result.Filtered.Bursts)}
	for _, c := range result.Clusters {
		want[c.ID] = int64(c.Bursts)
	}
	for label, bursts := range want {
		if r.sums[label] != bursts {
			return fmt.Errorf("the agents' sums have %d bursts of label %d: want %d", r.sums[label], label, bursts)
		}
	}
	return nil
}

// compare clusters all bursts at the densities of the clustering, and reports whether the labels are the same.
func (r *run) compare(result *microcell.Result) error {
	b := grouping.Bursts{}
	if r.Counters {
		b.CounterNames, b.Counters = []string{"PAPI_TOT_INS", "PAPI_TOT_CYC"}, make([][]int64, 2)
	}
	var labels []int32
	for rank := range r.ranks() {
		var anchors []sequence.Anchor
		for i, p := range r.of(rank) {
			label, err := r.labelOf(result, &p)
			if err != nil {
				return err
			}
			before, after := p.numbers()
			labels = append(labels, label)
			b.DurationNS, b.Before, b.After = append(b.DurationNS, int64(p.ns)), append(b.Before, before), append(b.After, after)
			for k := range b.Counters {
				b.Counters[k] = append(b.Counters[k], p.counts[k])
			}
			if p.place > 0 && functions(p.place) == uint32(mpicall.Allreduce) {
				anchors = append(anchors, sequence.Anchor{At: i + 1, Event: uint64(len(anchors))})
			}
		}
		b.ThreadEnds, b.Anchors = append(b.ThreadEnds, len(labels)), append(b.Anchors, anchors)
	}
	o := r.partition()
	o.Dims = r.dims
	o.Kinds = grouping.KindsByScore // as micro-cells are clustered
	all, err := grouping.Compute(b, o)
	if err != nil {
		return err
	}
	different := 0
	for i, label := range all.Labels {
		if labels[i] != label {
			different++
		}
	}
	r.end.Equal = fmt.Sprintf("%d of %d labels differ, %d and %d clusters, score %.6f and %.6f", different, len(labels), len(result.Clusters), len(all.Clusters), result.Score, all.Score)
	r.end.Differ = different
	if math.Abs(result.Score-all.Score) > 1e-12 || len(result.Clusters) != len(all.Clusters) {
		r.end.Differ = max(different, 1)
	}
	r.end.SameEps = slices.EqualFunc(result.Groups, all.Groups, func(x, y grouping.Group) bool { return x.Eps == y.Eps && x.MinPts == y.MinPts })
	if !r.end.SameEps {
		r.end.Equal += ", at other densities"
	}
	return nil
}
