package trace

import (
	"cmp"
	"slices"
)

// MostPaths is how many whole call paths a cluster has for each side, the most frequent ones.
const MostPaths = 10

// A PathTally counts the whole call paths round bursts, by cluster. What several have counted can be added up as rows.
type PathTally struct {
	counts map[pathTallied]*int64
	recent [1024]struct {
		key pathTallied
		n   *int64
	}
}

type pathTallied struct {
	cluster int32
	after   uint32 // 0 = the call before the burst
	path    uint32
}

// TallyWidth is how many figures of a row of PathTally.Rows say what was counted: cluster, side, call path. One more is
// the count.
const TallyWidth = 3

// Add counts the calls round bursts with these labels; those in no cluster are left out.
func (t *PathTally) Add(b *Bursts, labels []int32) {
	for k, label := range labels {
		if label < 1 {
			continue
		}
		*t.of(pathTallied{label, 0, b.Before[k]})++
		*t.of(pathTallied{label, 1, b.After[k]})++
	}
}

// of finds most counts where they were last: the bursts of a thread come in few kinds.
func (t *PathTally) of(key pathTallied) *int64 {
	r := &t.recent[(uint32(key.cluster)*7+key.path*31+key.after*131)%uint32(len(t.recent))]
	if r.n == nil || r.key != key {
		if t.counts == nil {
			t.counts = make(map[pathTallied]*int64)
		}
		n := t.counts[key]
		if n == nil {
			n = new(int64)
			t.counts[key] = n
		}
		r.key, r.n = key, n
	}
	return r.n
}

// Rows are what was counted, in order.
func (t *PathTally) Rows() []int64 {
	rows := make([]int64, 0, (TallyWidth+1)*len(t.counts))
	keys := make([]pathTallied, 0, len(t.counts))
	for key := range t.counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b pathTallied) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.after, b.after), cmp.Compare(a.path, b.path))
	})
	for _, key := range keys {
		rows = append(rows, int64(key.cluster), int64(key.after), int64(key.path), *t.counts[key])
	}
	return rows
}

// TakePaths gives clusters WholeBefore and WholeAfter from rows of PathTally.Rows.
func TakePaths(clusters []Cluster, rows []int64) {
	for i := range clusters {
		clusters[i].WholeBefore, clusters[i].WholeAfter = nil, nil
	}
	for row := range slices.Chunk(rows, TallyWidth+1) {
		x := &clusters[row[0]-1]
		side := &x.WholeBefore
		if row[1] == 1 {
			side = &x.WholeAfter
		}
		*side = append(*side, PathCount{uint32(row[2]), int(row[3])})
	}
	for i := range clusters {
		for _, side := range []*[]PathCount{&clusters[i].WholeBefore, &clusters[i].WholeAfter} {
			slices.SortStableFunc(*side, func(a, b PathCount) int { return cmp.Compare(b.Bursts, a.Bursts) })
			if len(*side) > MostPaths {
				*side = slices.Clip((*side)[:MostPaths])
			}
		}
	}
}

// TallyPaths gives the run's clusters WholeBefore and WholeAfter from the labelled bursts of these threads.
func (r *Run) TallyPaths(threads []Thread) {
	var t PathTally
	for i := range threads {
		b := &threads[i].Bursts
		t.Add(b, b.Cluster)
	}
	TakePaths(r.Clusters, t.Rows())
}
