package refine

import (
	"math"
	"slices"

	"moriens/analysis/sequence"
	"moriens/internal/team"
)

// leaveUnscored ends the refinement with the clusters of its first step. Their lineage is not needed.
func (r *refinement) leaveUnscored(level *Level) error {
	even, err := r.even(level)
	if err != nil {
		return err
	}
	r.dissolve(level, even)
	level.Score = math.NaN()
	for i := range level.Nodes {
		level.Nodes[i].Score = math.NaN()
	}
	r.past, r.scores = append(r.past, r.labels), append(r.scores, &sequence.Score{Global: math.NaN()})
	r.parts = append(r.parts, make([]float64, len(r.noise)))
	return nil
}

// even scores labels: 1 for those of clusters that two neighbours made and of which all threads that have bursts have
// as many, 0 for others.
func (r *refinement) even(level *Level) (*sequence.Score, error) {
	score := &sequence.Score{Labels: make([]sequence.LabelScore, r.lastID+1)}
	column := slices.Repeat([]int32{-1}, int(r.lastID)+1) // by ID
	count := 1                                            // the first is of all bursts
	for _, n := range level.Nodes {
		if n.ID != Noise && n.MinPts == tentative {
			column[n.ID] = int32(count)
			count++
		}
	}
	threads := len(r.bursts.Ends)
	if count > 1 && r.bursts.Even != nil {
		list, err := r.bursts.Even(r.labels, column, count)
		for _, n := range level.Nodes {
			if n.ID != Noise && column[n.ID] >= 0 && err == nil && list[column[n.ID]] {
				score.Labels[n.ID].Score = 1
			}
		}
		return score, err
	}
	if count == 1 || threads == 0 {
		return score, nil
	}
	sums := make([]int64, threads*count)
	begin := 0
	for t, end := range r.bursts.Ends {
		for _, label := range r.labels[begin:end] {
			sums[t*count]++
			if label > Noise && column[label] >= 0 {
				sums[t*count+int(column[label])]++
			}
		}
		begin = end
	}
	if err := r.bursts.Team.AllReduce(sums, team.Sum); err != nil {
		return nil, err
	}
	for _, n := range level.Nodes {
		if n.ID == Noise || column[n.ID] < 0 {
			continue
		}
		least, most, some := int64(math.MaxInt64), int64(0), 0
		for t := range threads {
			if sums[t*count] > 0 {
				of := sums[t*count+int(column[n.ID])]
				least, most = min(least, of), max(most, of)
				some++
			}
		}
		if some > 1 && least == most {
			score.Labels[n.ID].Score = 1
		}
	}
	return score, nil
}
