package dbscan

import (
	"slices"

	"moriens/internal/team"
)

// partOf is what all know the cluster of a root as.
func (s *sharedGrid) partOf(root int32) part { return wholeOf(s.whole, s.Rank(), root) }

// numbers is grid.numbers for the clusters of all members.
func (s *sharedGrid) numbers() (number []int32, clusters int, err error) {
	var mine []part
	var columns []float64
	number = slices.Repeat([]int32{Noise}, len(s.keys)) // at first places in mine
	for c, key := range s.keys {
		if !s.core[c] || s.others[c] {
			continue
		}
		root, column := s.sets[c], float64(s.column(key))
		if i := number[root]; i == Noise {
			number[root] = int32(len(mine))
			mine, columns = append(mine, s.partOf(root)), append(columns, column)
		} else {
			columns[i] = min(columns[i], column)
		}
	}
	list, column, err := leastKeys(s.meter, mine, columns, 1)
	if err != nil {
		return nil, 0, err
	}
	tied := make(map[part]float64) // clusters of which others begin in the same column
	for i, p := range list {
		if i > 0 && column[i-1][0] == column[i][0] || i+1 < len(list) && column[i+1][0] == column[i][0] {
			tied[p] = column[i][0]
		}
	}
	if len(tied) > 0 {
		rank, err := s.rankTied(tied)
		if err != nil {
			return nil, 0, err
		}
		for i, end := 0, 0; i < len(list); i = end {
			for end = i + 1; end < len(list) && column[end][0] == column[i][0]; end++ {
			}
			slices.SortFunc(list[i:end], func(a, b part) int { return rank[a] - rank[b] })
		}
	}
	order := make(map[part]int32, len(list))
	for i, p := range list {
		order[p] = int32(i)
	}
	for c := range number {
		number[c] = Noise
		if s.core[c] && s.sets[c] == int32(c) {
			number[c] = order[s.partOf(int32(c))]
		}
	}
	return number, len(list), nil
}

// rankTied ranks clusters by their smallest core points, which are in the columns that are given.
func (s *sharedGrid) rankTied(tied map[part]float64) (map[part]int, error) {
	var clusters []part
	var points []float64
	place := make(map[int32]int) // per root: in clusters
	take := func(c int32, p []float64) {
		root := s.sets[c]
		i, ok := place[root]
		if !ok {
			i = len(clusters)
			place[root] = i
			clusters, points = append(clusters, s.partOf(root)), append(points, p...)
		}
		if least := points[i*s.dims : (i+1)*s.dims]; slices.Compare(p, least) < 0 {
			copy(least, p)
		}
	}
	ask := make([]bool, len(s.keys))
	for c, key := range s.keys {
		if !s.core[c] || s.others[c] {
			continue
		}
		if column, ok := tied[s.partOf(s.sets[c])]; !ok || column != float64(s.column(key)) {
			continue
		}
		if ask[c] = s.full[c]; ask[c] {
			continue
		}
		for i, end := s.openIn(span{int32(c), int32(c) + 1}); i < end; i++ {
			if s.state[i] == isCore {
				take(int32(c), s.openAt(i))
			}
		}
	}
	got, err := s.fetch(false, func(m, j int) (uint8, *reachBox) { return flag(ask[s.home.in[m][j]], theLeast), nil })
	if err != nil {
		return nil, err
	}
	got.each(s.dims, func(_, c int32, coords []float64) {
		if len(coords) > 0 {
			take(c, coords)
		}
	})
	list, _, err := leastKeys(s.meter, clusters, points, s.dims)
	if err != nil {
		return nil, err
	}
	rank := make(map[part]int, len(list))
	for i, p := range list {
		rank[p] = i
	}
	return rank, nil
}

// label gives this member's points their labels, which the owners of their cells know.
func (s *sharedGrid) label(number []int32, clusters int) (*Result, error) {
	sum := 0
	for _, list := range s.replies {
		sum += len(list)
	}
	open := &Result{Labels: make([]int32, sum), Core: make([]bool, sum)}
	s.labelOpen(number, open)
	parts := make([][]int32, s.Size())
	for m, list := range s.replies {
		for _, i := range list {
			parts[m] = append(parts[m], packLabel(open.Labels[i], open.Core[i]))
		}
	}
	answers, err := team.Exchange(s, parts)
	if err != nil {
		return nil, err
	}
	cells := make([]int32, len(s.local.keys))
	err = along(s, s.home.back(), func(c int32) int32 {
		if s.full[c] {
			return packLabel(number[s.sets[c]], true)
		}
		return packLabel(Noise, false)
	}, func(c int32, v int32) { cells[c] = v })
	if err != nil {
		return nil, err
	}
	n := s.mine.Len()
	r := &Result{Labels: s.local.ids, Core: make([]bool, n), Clusters: clusters}
	writeLabels(s.local.ids, cells, r, s.threads)
	for m, rows := range s.sent {
		if len(answers[m]) != len(rows) {
			return nil, misfit(m, len(answers[m]), len(rows))
		}
		for i, row := range rows {
			r.Labels[row], r.Core[row] = answers[m][i]>>1, answers[m][i]&1 != 0
		}
	}
	return r, nil
}

// packLabel is what writeLabels reads.
func packLabel(label int32, core bool) int32 {
	if core {
		return label<<1 | 1
	}
	return label << 1
}
