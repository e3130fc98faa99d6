package refine

import (
	"maps"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// An outcome is what a step did in one group, of all members together.
type outcome struct {
	moved    bool
	clusters []gained
	noise    gained
}

// gained is what a new cluster, or noise, has got.
type gained struct {
	minPts int // 0 for noise
	bursts int
	timeNS int64
	from   map[int32]int // bursts by the node that they were in; empty at the first step
}

// sumUp adds up the moves of all members.
func (r *refinement) sumUp(step int, moves []move) ([]outcome, error) {
	sizes := make([]int, len(moves))
	for i := range moves {
		if moves[i].moved {
			sizes[i] = len(moves[i].density.labels)
		}
	}
	here := make([][]gained, len(moves))
	workers.Every(sizes, r.options.Workers, func(i int) {
		if moves[i].moved {
			here[i] = r.gains(step, &moves[i])
		}
	})
	var words []int64 // per group that was moved: its index, how many clusters; noise, and the clusters
	for i, all := range here {
		if !moves[i].moved {
			continue
		}
		words = append(words, int64(i), int64(len(all)-1))
		for k := range all {
			words = all[k].encode(words)
		}
	}
	gathered, err := team.Gather(r.bursts.Team, words)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(moves))
	for _, words := range gathered {
		for len(words) > 0 {
			o, clusters := &outcomes[words[0]], int(words[1])
			words = words[2:]
			if !o.moved {
				o.moved, o.clusters = true, make([]gained, clusters)
			}
			words = o.noise.add(words)
			for k := range o.clusters {
				words = o.clusters[k].add(words)
			}
		}
	}
	return outcomes, nil
}

// gains are what noise, and then the new clusters, have got here of one group.
func (r *refinement) gains(step int, m *move) []gained {
	all := make([]gained, 1+len(m.density.minPts))
	for k, minPts := range m.density.minPts {
		all[1+k].minPts = minPts
	}
	for k := range all {
		all[k].from = make(map[int32]int)
	}
	for j, k := range m.density.labels {
		x := &all[0]
		if k != dbscan.Noise {
			x = &all[1+k]
		}
		row, bursts := m.part.row(j), m.part.burstsOf(j)
		x.bursts += bursts
		x.timeNS += r.bursts.DurationNS[row]
		if step > 0 {
			x.from[r.labels[row]] += bursts
		}
	}
	return all
}

func (x *gained) encode(words []int64) []int64 {
	words = append(words, int64(x.minPts), int64(x.bursts), x.timeNS, int64(len(x.from)))
	for _, id := range slices.Sorted(maps.Keys(x.from)) {
		words = append(words, int64(id), int64(x.from[id]))
	}
	return words
}

// add adds what encode has written and returns what follows.
func (x *gained) add(words []int64) []int64 {
	x.minPts = int(words[0])
	x.bursts += int(words[1])
	x.timeNS += words[2]
	parents := int(words[3])
	words = words[4:]
	if x.from == nil {
		x.from = make(map[int32]int)
	}
	for range parents {
		x.from[int32(words[0])] += int(words[1])
		words = words[2:]
	}
	return words
}
