package live

import (
	"cmp"
	"slices"

	"moriens/analysis/dbscan"
)

// identify gives each cluster the id of the one before with which it shares most time. Of several that would have an
// id, the one that shares most has it; the others take the next that they share time with, or a new one.
func (g *group) identify(labels []int32, lastID *int32) []int32 {
	type claim struct{ cluster, id int32 }
	shared := make(map[claim]int64)
	for i, label := range labels {
		if label != dbscan.Noise && g.id[i] != 0 {
			shared[claim{label, g.id[i]}] += g.timeNS[i]
		}
	}
	claims := make([]claim, 0, len(shared))
	for c := range shared {
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a.id, b.id), cmp.Compare(a.cluster, b.cluster))
	})
	ids := make([]int32, len(g.clusters))
	taken := make(map[int32]bool)
	for _, c := range claims {
		if ids[c.cluster] == 0 && !taken[c.id] {
			ids[c.cluster] = c.id
			taken[c.id] = true
		}
	}
	fresh := make([]int, 0, len(ids))
	for k, id := range ids {
		if id == 0 {
			fresh = append(fresh, k)
		}
	}
	slices.SortStableFunc(fresh, func(a, b int) int { return cmp.Compare(g.clusters[b].TimeNS, g.clusters[a].TimeNS) })
	for _, k := range fresh {
		*lastID++
		ids[k] = *lastID
	}
	return ids
}
