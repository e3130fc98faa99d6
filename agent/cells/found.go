package cells

import (
	"fmt"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/moment"
	"moriens/analysis/profile"
	moriensv1 "moriens/proto/moriens/v1"
)

// Labels of rows in CellsLabels, besides clusters.
const (
	rowEmpty = 0
	rowNoise = grouping.LabelNoise
	rowShort = grouping.LabelFiltered
)

// each gives the rows of a ring, by its number among the member's, as they are now, with the cluster and the kind of
// their bursts.
func (f *outcome) each(now view, ring int, do func(row uint32, x rowOf, cluster, kind int32)) {
	i := f.first[ring]
	now.each(f.views[ring].end(), func(row uint32, x rowOf, _ uint32) {
		switch {
		case x.unit == none:
			do(row, x, rowEmpty, rowEmpty)
		case !f.clustered(x.unit):
			do(row, x, rowShort, rowShort)
		default:
			do(row, x, f.result.Labels[i], f.result.Kinds[i])
			i++
		}
	})
}

// rows answers with the labels of a ring's rows.
func (k *Store) rows(ask *moriensv1.CellsRows, to *reply) error {
	f := k.outcome()
	if f == nil {
		return fmt.Errorf("cells: no team has found labels of rows here")
	}
	ring := slices.IndexFunc(f.rings, func(r *ring) bool { return r.id == ask.Ring })
	if ring < 0 {
		return fmt.Errorf("cells: ring %016x had no part in it", ask.Ring)
	}
	message, next := new(moriensv1.CellsLabels), uint32(0)
	var failed error
	add := func(rows uint32, cluster, kind int32) {
		if n := len(message.Rows); n > 0 && message.Cluster[n-1] == cluster && message.Kind[n-1] == kind {
			message.Rows[n-1] += rows
			return
		}
		if len(message.Rows) >= partBytes/(3*5) && failed == nil {
			failed = to.labels(message)
			message = new(moriensv1.CellsLabels)
		}
		message.Rows, message.Cluster, message.Kind = append(message.Rows, rows), append(message.Cluster, cluster), append(message.Kind, kind)
	}
	k.mu.Lock()
	now := f.rings[ring].view()
	k.mu.Unlock()
	f.each(now, ring, func(row uint32, _ rowOf, cluster, kind int32) {
		if row > next { // rows that are gone
			add(row-next, rowEmpty, rowEmpty)
		}
		add(1, cluster, kind)
		next = row + 1
	})
	if failed != nil {
		return failed
	}
	return to.labels(message)
}

func (r *reply) labels(m *moriensv1.CellsLabels) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Labels{Labels: m}})
}

// A sharing is how a ring's bursts of one site and unit, which count in the same, are labelled.
type sharing struct {
	of      []labelled
	bursts  []int64
	lengths []float64 // sums, ns
	squares []float64
}

// sumUp puts the sums of one cluster and kind together, those of a site and a unit with several by how long the bursts
// of each are.
func (f *outcome) sumUp(ring, counters int) []sumRow {
	r := f.rings[ring]
	of := make(map[sumKey]*sharing)
	in := inWalker{runs: r.phases.runs}
	f.each(r.view(), ring, func(row uint32, x rowOf, cluster, kind int32) {
		if x.unit == none {
			return
		}
		key := sumKey{f.siteOf(x), x.unit - 1, in.at(row)}
		s := of[key]
		if s == nil {
			s = new(sharing)
			of[key] = s
		}
		s.add(labelled{sumLabel(cluster), sumLabel(kind)}, float64(kinds.OfStep(int32(x.step))))
	})
	rows := newSumRows(r, counters)
	for i, own := range r.sums.keys {
		key := own
		if f.by == grouping.ByCalls { // its unit gives the place, and sites of one place are labelled alike
			key.site = 0
		}
		s := of[key]
		if s == nil {
			s = sole(sumLabelOf(own.unit))
		}
		rows.add(i, s)
	}
	return rows.sorted()
}

// sumLabel is the label of a cluster's or a kind's sums, as it is reported.
func sumLabel(cluster int32) int32 {
	switch cluster {
	case rowNoise:
		return 0
	case rowShort:
		return absent
	}
	return cluster
}

// sumLabelOf is the label of bursts in no unit, and of bursts that arrived too late for a cluster.
func sumLabelOf(unit uint32) int32 {
	switch unit {
	case unitShort:
		return labelShort
	case unitMissing:
		return labelMissing
	}
	return 0
}

// siteOf is the site of a row's sums, where units do not give it.
func (f *outcome) siteOf(x rowOf) uint32 {
	if f.by == grouping.ByCalls {
		return 0
	}
	return x.site
}

func (s *sharing) add(of labelled, ns float64) {
	k := slices.Index(s.of, of)
	if k < 0 {
		k = len(s.of)
		s.of, s.bursts, s.lengths, s.squares = append(s.of, of), append(s.bursts, 0), append(s.lengths, 0), append(s.squares, 0)
	}
	s.bursts[k]++
	s.lengths[k] += ns
	s.squares[k] += ns * ns
}

// part is the part of a sum that bursts with one label have. durations says that the sum is one of these, and not of
// counts.
func (s *sharing) part(of moment.Sum, k int, durations bool) moment.Sum {
	if len(s.of) == 1 {
		return of
	}
	weights, squares := s.lengths, s.squares
	if !durations {
		weights, squares = nil, nil
	}
	return moment.Share(of, s.bursts, weights, squares)[k]
}

// sole is where all bursts have one label.
func sole(label int32) *sharing { return &sharing{of: []labelled{{label, label}}} }

// count is the part of a count that bursts with one label have: all parts together are the count.
func (s *sharing) count(of int64, k int) int64 {
	if len(s.of) == 1 {
		return of
	}
	all, until := int64(0), int64(0)
	for i, n := range s.bursts {
		if all += n; i < k {
			until += n
		}
	}
	part := func(n int64) int64 { return profile.Proportion(of, n, all) }
	return part(until+s.bursts[k]) - part(until)
}

// shareTable shares columns among rows in proportion to both: the elements of each row and of each column add up to it,
// where rows and columns add up to the same, and none is negative.
func shareTable(rows, columns []int64) [][]int64 {
	all := int64(0)
	left := slices.Clone(columns)
	for _, n := range columns {
		all += n
	}
	table := make([][]int64, len(rows))
	rest := slices.Clone(rows)
	for k := range rows {
		table[k] = make([]int64, len(columns))
		for q := range columns {
			if all > 0 {
				table[k][q] = profile.Proportion(columns[q], min(rows[k], all), all)
			}
			rest[k], left[q] = rest[k]-table[k][q], left[q]-table[k][q]
		}
	}
	for k := range rows { // what rounding has left over
		for q := range columns {
			n := max(0, min(rest[k], left[q]))
			table[k][q], rest[k], left[q] = table[k][q]+n, rest[k]-n, left[q]-n
		}
	}
	return table
}
