package refine

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/sequence"
)

// evaluate scores the last level and decides what the next step leaves alone.
func (r *refinement) evaluate() error {
	last := len(r.tree.Levels) - 1
	level := &r.tree.Levels[last]
	if r.options.Unscored {
		return r.leaveUnscored(level)
	}
	score, err := r.align(r.labels)
	if errors.Is(err, ErrHalted) && last == 0 {
		score, err = r.unknown(), nil
	}
	if err != nil {
		return err
	}
	if r.dissolve(level, score) && !r.unscored {
		score, err = r.align(r.labels)
		if errors.Is(err, ErrHalted) && last == 0 {
			score, err = r.unknown(), nil
		}
		if err != nil {
			return err
		}
	}
	if err := r.ways.extend(r.bursts.Team, last, r.labels[:r.own], r.order); err != nil {
		return err
	}
	level.Score = score.Global
	for i := range level.Nodes {
		n := &level.Nodes[i]
		n.Score = scoreOf(score, n.ID)
		n.Frozen = n.Score >= r.options.Freeze
	}
	r.past, r.scores = append(r.past, slices.Clone(r.labels)), append(r.scores, score)
	r.parts = append(r.parts, r.partsOf(level, scoreOf(score, Noise)))
	r.forget()
	return nil
}

// unknown is the score of an answer for which there was no time.
func (r *refinement) unknown() *sequence.Score {
	r.stopped, r.unscored = true, true
	return &sequence.Score{Global: math.NaN()}
}

// forget lets go of the labels of levels that no group will choose any more: memory.
func (r *refinement) forget() {
	best := slices.Clone(r.parts[0])
	for _, parts := range r.parts {
		for g := range best {
			best[g] = max(best[g], parts[g])
		}
	}
	for i := range len(r.parts) - 1 {
		wanted := false
		for g := range best {
			wanted = wanted || r.parts[i][g] >= best[g]-r.options.Tolerance
		}
		if r.options.Strict || !wanted {
			r.past[i], r.scores[i] = nil, nil
		}
	}
}

func scoreOf(s *sequence.Score, id int32) float64 {
	if !s.Defined() {
		return math.NaN()
	}
	return s.Labels[id].Score
}

// dissolve makes noise of the new clusters of a level that two neighbours made and the sequences do not
// confirm, and reports whether there were any.
func (r *refinement) dissolve(level *Level, score *sequence.Score) bool {
	gone := make(map[int32]bool)
	var noise Node
	from := make(map[int32]int)
	level.Nodes = slices.DeleteFunc(level.Nodes, func(n Node) bool {
		unsure := n.ID != Noise && n.MinPts == tentative && r.bursts.Groups[n.Group].MinPts > tentative
		isOld := len(n.Parents) == 1 && n.Parents[0] == Parent{n.ID, n.Bursts}
		if !unsure || isOld || scoreOf(score, n.ID) >= r.options.Freeze {
			return false
		}
		gone[n.ID] = true
		noise.Bursts += n.Bursts
		noise.TimeNS += n.TimeNS
		r.noise[n.Group].Bursts += n.Bursts
		r.noise[n.Group].TimeNS += n.TimeNS
		for _, p := range n.Parents {
			from[p.ID] += p.Bursts
		}
		return true
	})
	if len(gone) == 0 {
		return false
	}
	for i, label := range r.labels {
		if gone[label] {
			r.labels[i] = Noise
		}
	}
	if len(level.Nodes) == 0 || level.Nodes[0].ID != Noise {
		level.Nodes = slices.Insert(level.Nodes, 0, Node{Group: -1})
	}
	n := &level.Nodes[0]
	n.Bursts += noise.Bursts
	n.TimeNS += noise.TimeNS
	for _, p := range n.Parents {
		from[p.ID] += p.Bursts
	}
	n.Parents = listParents(from)
	return true
}

// partsOf are the mean scores of the groups' time: that of their clusters and their noise; of their bursts where those
// have no length, as in package sequence.
func (r *refinement) partsOf(level *Level, noise float64) []float64 {
	score, weight := make([]float64, len(r.noise)), make([]float64, len(r.noise))
	timeNS := make([]int64, len(r.noise))
	for _, n := range level.Nodes {
		if n.ID != Noise {
			timeNS[n.Group] += n.TimeNS
		}
	}
	for i, n := range r.noise {
		timeNS[i] += n.TimeNS
	}
	add := func(group int, n *Node, s float64) {
		w := float64(n.TimeNS)
		if timeNS[group] == 0 {
			w = float64(n.Bursts)
		}
		if w > 0 {
			score[group] += s * w
			weight[group] += w
		}
	}
	for i := range level.Nodes {
		if n := &level.Nodes[i]; n.ID != Noise {
			add(n.Group, n, n.Score)
		}
	}
	for i := range r.noise {
		add(i, &r.noise[i], noise)
		score[i] /= max(weight[i], 1)
	}
	return score
}

// choose finds each group's answer among the levels so far.
func (r *refinement) choose() []int {
	chosen := make([]int, len(r.noise))
	last := len(r.parts) - 1
	for g := range chosen {
		if r.options.Strict {
			chosen[g] = last
			continue
		}
		best := r.parts[0][g]
		for _, parts := range r.parts {
			best = max(best, parts[g])
		}
		for chosen[g] < last && r.parts[chosen[g]][g] < best-r.options.Tolerance {
			chosen[g]++
		}
	}
	return chosen
}

// order is a number for a burst of this member's threads that is the larger the later it comes in the run.
func (r *refinement) order(row int) int64 {
	thread, _ := slices.BinarySearch(r.bursts.Ends, row+1)
	first := 0
	if thread > 0 {
		first = r.bursts.Ends[thread-1]
	}
	return int64(thread)<<32 | int64(row-first)
}

// scored reports whether anything shows what the threads did.
func (r *refinement) scored() bool {
	return r.bursts.Ends != nil || r.bursts.Score != nil || r.bursts.Even != nil
}

// align scores labels, which are IDs of nodes.
func (r *refinement) align(labels []int32) (*sequence.Score, error) {
	if r.bursts.Score != nil {
		count := int(r.lastID) + 1
		score, err := r.bursts.Score(labels, count)
		if err == nil && len(score.Labels) != count {
			err = fmt.Errorf("refine: the score is of %d labels: want %d", len(score.Labels), count)
		}
		return score, err
	}
	ends := r.bursts.Ends
	if ends == nil {
		return &sequence.Score{Global: math.NaN()}, nil
	}
	t := sequence.Threads{
		Count: int(r.lastID) + 1, Labels: make([]int32, 0, r.own), DurationNS: make([]int64, 0, r.own), Team: r.bursts.Team, Halt: r.options.Halt,
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

// result puts together what the groups have chosen.
func (r *refinement) result() (*Result, error) {
	t := &r.tree
	if len(t.Levels) == 0 { // no group has bursts
		score, err := r.align(r.labels)
		return &Result{
			Labels: r.labels[:r.own], Lineage: r.ways.of, Score: score, Tree: Tree{Why: "no bursts to cluster", Lineages: r.ways.all},
		}, err
	}
	t.Chosen = r.choose()
	t.Why = r.why()
	most := slices.Max(t.Chosen)
	t.Lineages = r.ways.all
	result := &Result{Labels: r.past[most], Lineage: r.ways.of, Score: r.scores[most]}
	for g, level := range t.Chosen {
		if level != most {
			for _, row := range r.bursts.Groups[g].Rows {
				result.Labels[row] = r.past[level][row]
			}
		}
		for _, n := range t.Levels[level].Nodes {
			if n.ID != Noise && n.Group == g {
				result.Nodes = append(result.Nodes, n)
			}
		}
	}
	slices.SortFunc(result.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	r.past = nil
	if err := r.bringHome(result.Labels); err != nil {
		return nil, err
	}
	result.Labels = result.Labels[:r.own]
	if slices.Min(t.Chosen) < most {
		if err := r.rescore(result); err != nil {
			return nil, err
		}
	}
	t.Merged = Alternatives(result.Score, result.Nodes)
	if r.options.Strict && len(t.Merged) > 0 {
		r.merge(result)
		if err := r.rescore(result); err != nil {
			return nil, err
		}
	}
	result.Tree = *t
	return result, nil
}

// rescore scores the answer; where there is no time for that its nodes keep the scores of their steps.
func (r *refinement) rescore(result *Result) (err error) {
	result.Score, err = r.align(result.Labels)
	if errors.Is(err, ErrHalted) {
		result.Score = r.unknown()
		return nil
	}
	if err != nil {
		return err
	}
	for i := range result.Nodes {
		result.Nodes[i].Score = scoreOf(result.Score, result.Nodes[i].ID)
	}
	return nil
}

// why says how the levels were chosen.
func (r *refinement) why() string {
	t := &r.tree
	last := len(t.Levels) - 1
	best := 0
	for i, l := range t.Levels {
		if l.Score > t.Levels[best].Score {
			best = i
		}
	}
	top := t.Levels[best].Score
	switch chosen := t.Chosen[0]; {
	case r.unscored && len(t.Levels) == 1:
		return "the only step: no time to compare the ranks' sequences, so there is no score"
	case math.IsNaN(t.Levels[0].Score):
		return "fewer than two sequences: no score, the knee of the distances decides"
	case r.options.Strict:
		return fmt.Sprintf("the last step, of %d (score %.4f; the best is %.4f at step %d)", last+1, t.Levels[last].Score, top, best+1)
	case last == 0:
		return fmt.Sprintf("the only step (score %.4f)", top)
	case len(t.Chosen) > 1:
		first := 0
		for _, level := range t.Chosen {
			if level == 0 {
				first++
			}
		}
		return fmt.Sprintf("each group's first step whose score is within %g of its best, of up to %d steps: the first one in %d of %d groups",
			r.options.Tolerance, last+1, first, len(t.Chosen))
	case chosen == best:
		return fmt.Sprintf("step %d of %d has the best score (%.4f), and no earlier one is within %g of it",
			best+1, last+1, top, r.options.Tolerance)
	default:
		return fmt.Sprintf("step %d of %d is the first whose score (%.4f) is within %g of the best (%.4f at step %d)",
			chosen+1, last+1, t.Levels[chosen].Score, r.options.Tolerance, top, best+1)
	}
}

// Alternatives are the sets of clusters, by the IDs of their nodes, that only ever share columns: wherever one of them
// is, there are all of them. Such sets have no cluster in common. Clusters of different groups are never alternatives:
// a group is what distinguishes them.
func Alternatives(score *sequence.Score, nodes []Node) [][]int32 {
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

// merge makes one cluster of each set of alternatives.
func (r *refinement) merge(result *Result) {
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
	place := make(map[int32]int) // in merged
	var merged []Node
	for _, n := range result.Nodes { // by ID, so that the first of a set comes first
		i, seen := place[into[n.ID]]
		if !seen {
			place[n.ID] = len(merged)
			merged = append(merged, n)
			continue
		}
		merged[i].Bursts += n.Bursts
		merged[i].TimeNS += n.TimeNS
	}
	result.Nodes = merged
}
