package refine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/sequence"
)

// judge scores the last level and decides what the next step leaves alone.
func (r *refinement) judge() error {
	last := len(r.tree.Levels) - 1
	level := &r.tree.Levels[last]
	score, err := r.align(r.labels)
	if err != nil {
		return err
	}
	level.Score = score.Global
	for i := range level.Nodes {
		n := &level.Nodes[i]
		n.Score = math.NaN()
		if score.Defined() {
			n.Score = score.Labels[n.ID].Score
		}
		n.Frozen = n.Score >= r.options.Freeze
	}
	r.kept = append(r.kept, &kept{slices.Clone(r.labels), score})
	best := r.best()
	for i := range last {
		if r.options.Strict || !r.near(i, best) {
			r.kept[i] = nil
		}
	}
	return nil
}

// best is the first level with the best score.
func (r *refinement) best() int {
	best := 0
	for i, l := range r.tree.Levels {
		if l.Score > r.tree.Levels[best].Score {
			best = i
		}
	}
	return best
}

func (r *refinement) near(level, best int) bool {
	return r.tree.Levels[level].Score >= r.tree.Levels[best].Score-r.options.Tolerance
}

// align scores labels, which are IDs of nodes.
func (r *refinement) align(labels []int32) (*sequence.Score, error) {
	ends := r.bursts.Ends
	if ends == nil {
		return &sequence.Score{Global: math.NaN()}, nil
	}
	t := sequence.Threads{
		Count: int(r.lastID) + 1, Labels: make([]int32, 0, r.count), DurationNS: make([]int64, 0, r.count),
	}
	if r.bursts.Anchors != nil {
		t.Anchors = make([][]sequence.Anchor, len(ends))
	}
	begin := 0
	for thread, end := range ends {
		first := len(t.Labels)
		var anchors []sequence.Anchor
		if r.bursts.Anchors != nil {
			anchors = slices.Clone(r.bursts.Anchors[thread])
		}
		at := 0 // the next anchor
		for i, label := range labels[begin:end] {
			for ; at < len(anchors) && anchors[at].At <= i; at++ {
				anchors[at].At = len(t.Labels) - first
			}
			if label != Absent {
				t.Labels = append(t.Labels, label)
				t.DurationNS = append(t.DurationNS, r.bursts.DurationNS[begin+i])
			}
		}
		for ; at < len(anchors); at++ {
			anchors[at].At = len(t.Labels) - first
		}
		if t.Anchors != nil {
			t.Anchors[thread] = anchors
		}
		t.Ends = append(t.Ends, len(t.Labels))
		begin = end
	}
	return sequence.Align(t, r.options.Workers)
}

// result chooses the level that is returned.
func (r *refinement) result() (*Result, error) {
	t := &r.tree
	if len(t.Levels) == 0 { // no group has bursts
		score, err := r.align(r.labels)
		return &Result{Labels: r.labels, Score: score, Tree: Tree{Why: "there are no bursts to cluster"}}, err
	}
	best := r.best()
	last := len(t.Levels) - 1
	switch {
	case math.IsNaN(t.Levels[0].Score):
		t.Why = "fewer than two sequences: there is no score, and the knee of the distances alone decides"
	case r.options.Strict:
		t.Chosen = last
		t.Why = fmt.Sprintf("the last step (score %.4f); the best is step %d (%.4f)", t.Levels[last].Score, best+1, t.Levels[best].Score)
	case last == 0:
		t.Why = fmt.Sprintf("the only step (score %.4f)", t.Levels[0].Score)
	default:
		for !r.near(t.Chosen, best) {
			t.Chosen++
		}
		if t.Chosen == best {
			t.Why = fmt.Sprintf("step %d of %d has the best score (%.4f), and none before it comes within %g of that",
				best+1, last+1, t.Levels[best].Score, r.options.Tolerance)
		} else {
			t.Why = fmt.Sprintf("step %d of %d is the first whose score (%.4f) is within %g of the best (%.4f at step %d)",
				t.Chosen+1, last+1, t.Levels[t.Chosen].Score, r.options.Tolerance, t.Levels[best].Score, best+1)
		}
	}
	chosen := r.kept[t.Chosen]
	result := &Result{Labels: chosen.labels, Score: chosen.score}
	for _, n := range t.Levels[t.Chosen].Nodes {
		if n.ID != Noise {
			result.Nodes = append(result.Nodes, n)
		}
	}
	t.Merged = alternatives(chosen.score, t.Levels[t.Chosen].Nodes)
	var err error
	if r.options.Strict && len(t.Merged) > 0 {
		err = r.merge(result)
	}
	result.Tree = *t
	return result, err
}

// alternatives are the sets of clusters that only ever share columns: wherever one of them is, there are
// all of them. Such sets have no cluster in common. Clusters of different groups are never alternatives: a
// group is what tells them apart.
func alternatives(score *sequence.Score, nodes []Node) [][]int32 {
	group := make(map[int32]int)
	for _, n := range nodes {
		group[n.ID] = n.Group
	}
	var sets [][]int32
	for _, s := range score.Shared {
		if s.Labels[0] != Noise && !slices.ContainsFunc(s.Labels, func(id int32) bool {
			return score.Labels[id].Columns != s.Columns || group[id] != group[s.Labels[0]]
		}) {
			sets = append(sets, s.Labels)
		}
	}
	slices.SortStableFunc(sets, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	return sets
}

// merge makes one cluster of each set of alternatives, and scores again.
func (r *refinement) merge(result *Result) error {
	into := make([]int32, r.lastID+1)
	for id := range into {
		into[id] = int32(id)
	}
	for _, set := range r.tree.Merged {
		for _, id := range set {
			into[id] = set[0]
		}
	}
	for i, id := range result.Labels {
		if id > Noise {
			result.Labels[i] = into[id]
		}
	}
	sums := make(map[int32]Node)
	for _, n := range result.Nodes {
		sum, seen := sums[into[n.ID]]
		if !seen {
			sum = n
			sum.Bursts, sum.TimeNS = 0, 0
		}
		sum.Bursts += n.Bursts
		sum.TimeNS += n.TimeNS
		sums[into[n.ID]] = sum
	}
	score, err := r.align(result.Labels)
	if err != nil {
		return err
	}
	result.Score = score
	result.Nodes = slices.DeleteFunc(result.Nodes, func(n Node) bool { return into[n.ID] != n.ID })
	for i := range result.Nodes {
		n := &result.Nodes[i]
		*n = sums[n.ID]
		n.Score = score.Labels[n.ID].Score
	}
	return nil
}
