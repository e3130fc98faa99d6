package refine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/sequence"
	"moriens/analysis/workers"
)

// A refinement at work.
type refinement struct {
	bursts  *Bursts
	options *Options
	count   int   // bursts in groups
	totalNS int64 // theirs

	labels []int32 // of the last level
	noise  []Node  // of the last level, by group
	tree   Tree
	lastID int32
	past   [][]int32 // by level: labels; nil for one that can no longer be any group's answer
	scores []*sequence.Score
	parts  [][]float64 // by level and group: the mean score of the group's time
}

func (r *refinement) run() error {
	if err := r.begin(); err != nil {
		return err
	}
	steps := 1
	for _, g := range r.bursts.Groups {
		steps = max(steps, len(g.Eps))
	}
	for step := range steps {
		changed, err := r.step(step)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := r.judge(); err != nil {
			return err
		}
		level := &r.tree.Levels[len(r.tree.Levels)-1]
		if math.IsNaN(level.Score) || !slices.ContainsFunc(level.Nodes, func(n Node) bool { return !n.Frozen }) {
			return nil
		}
	}
	return nil
}

// begin puts every burst where it is before the first step: in no cluster.
func (r *refinement) begin() error {
	r.labels = make([]int32, len(r.bursts.DurationNS))
	r.noise = make([]Node, len(r.bursts.Groups))
	for i := range r.labels {
		r.labels[i] = Absent
	}
	for i, g := range r.bursts.Groups {
		for _, row := range g.Rows {
			if row < 0 || int(row) >= len(r.labels) || r.labels[row] != Absent {
				return fmt.Errorf("refine: group %d: burst %d of %d is out of range or in two groups", i, row, len(r.labels))
			}
			r.labels[row] = Noise
			r.count++
			r.totalNS += r.bursts.DurationNS[row]
		}
	}
	return nil
}

// A move is what a step does in one group.
type move struct {
	rows    []int32 // the bursts that were clustered anew; nil = none were
	density *density
}

// step makes a level of the last one; not changed says that there was nothing left to cluster anew.
func (r *refinement) step(step int) (changed bool, err error) {
	groups := r.bursts.Groups
	moves := make([]move, len(groups))
	sizes := make([]int, len(groups))
	open := r.openNodes()
	for i := range groups {
		if step < len(groups[i].Eps) {
			sizes[i] = len(groups[i].Rows)
		}
	}
	if err := workers.Each(sizes, r.options.Workers, func(i, threads int) error {
		if step >= len(groups[i].Eps) {
			return nil
		}
		var err error
		moves[i], err = r.move(&groups[i], step, open, threads)
		if step == len(groups[i].Eps)-1 { // most groups are done after the first step: memory
			groups[i].Points, groups[i].Index = dbscan.Points{}, nil
		}
		return err
	}); err != nil {
		return false, err
	}
	if !slices.ContainsFunc(moves, func(m move) bool { return m.rows != nil }) {
		return false, nil
	}
	r.apply(step, moves, open)
	return true, nil
}

// openNodes are those of the last level that are not frozen.
func (r *refinement) openNodes() map[int32]bool {
	open := make(map[int32]bool)
	if n := len(r.tree.Levels); n > 0 {
		for _, node := range r.tree.Levels[n-1].Nodes {
			open[node.ID] = !node.Frozen
		}
	}
	return open
}

// move clusters what a step clusters anew in one group.
func (r *refinement) move(g *Group, step int, open map[int32]bool, threads int) (move, error) {
	if len(g.Rows) < g.MinPts {
		if step > 0 || len(g.Rows) == 0 {
			return move{}, nil
		}
		return move{g.Rows, &density{labels: make([]int32, len(g.Rows)), minPts: []int{g.MinPts}}}, nil
	}
	rows, points, index := g.Rows, g.Points, g.Index
	if step > 0 {
		var at []int32
		for i, row := range g.Rows {
			if open[r.labels[row]] {
				at = append(at, int32(i))
			}
		}
		if len(at) == 0 {
			return move{}, nil
		}
		if len(at) < len(g.Rows) {
			points, index, rows = gather(g.Points, at), nil, make([]int32, len(at))
			for i, k := range at {
				rows[i] = g.Rows[k]
			}
		}
	}
	if index == nil {
		var err error
		if index, err = dbscan.NewIndex(points, threads); err != nil {
			return move{}, err
		}
	}
	d, err := r.dense(g, rows, points, index, g.Eps[step], threads)
	return move{rows, d}, err
}

// apply gives what was clustered anew its labels and describes the level.
func (r *refinement) apply(step int, moves []move, open map[int32]bool) {
	var level Level
	var nodes []Node
	first := make([]int, len(moves)) // of a group's new nodes
	noise := Node{Group: -1}
	noiseFrom := make(map[int32]int)
	for i, m := range moves {
		level.Eps = append(level.Eps, r.epsOf(i, step))
		first[i] = len(nodes)
		if m.rows == nil {
			noiseFrom[Noise] += r.noise[i].Bursts
			continue
		}
		if open[Noise] {
			r.noise[i] = Node{}
		} else {
			noiseFrom[Noise] += r.noise[i].Bursts
		}
		from := make([]map[int32]int, len(m.density.minPts))
		for k, minPts := range m.density.minPts {
			nodes = append(nodes, Node{Group: i, Eps: level.Eps[i], MinPts: minPts})
			from[k] = make(map[int32]int)
		}
		for j, row := range m.rows {
			sum, parents := &r.noise[i], noiseFrom
			if k := m.density.labels[j]; k != dbscan.Noise {
				sum, parents = &nodes[first[i]+int(k)], from[k]
			}
			sum.Bursts++
			sum.TimeNS += r.bursts.DurationNS[row]
			if step > 0 {
				parents[r.labels[row]]++
			}
		}
		for k := range from {
			nodes[first[i]+k].Parents = listParents(from[k])
		}
	}
	r.nameNodes(nodes)
	for i, m := range moves {
		for j, row := range m.rows {
			r.labels[row] = Noise
			if k := m.density.labels[j]; k != dbscan.Noise {
				r.labels[row] = nodes[first[i]+int(k)].ID
			}
		}
	}
	if n := len(r.tree.Levels); n > 0 {
		for _, node := range r.tree.Levels[n-1].Nodes {
			if node.ID != Noise && (moves[node.Group].rows == nil || !open[node.ID]) {
				node.Parents = []Parent{{node.ID, node.Bursts}}
				nodes = append(nodes, node)
			}
		}
	}
	for _, sum := range r.noise {
		noise.Bursts += sum.Bursts
		noise.TimeNS += sum.TimeNS
	}
	if noise.Bursts > 0 {
		noise.Parents = listParents(noiseFrom)
		nodes = append(nodes, noise)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	level.Nodes = nodes
	r.tree.Levels = append(r.tree.Levels, level)
}

// epsOf is the Eps of a group at a step.
func (r *refinement) epsOf(group, step int) float64 {
	g := &r.bursts.Groups[group]
	if len(g.Rows) < g.MinPts {
		return 0
	}
	return g.Eps[min(step, len(g.Eps)-1)]
}

func listParents(bursts map[int32]int) []Parent {
	var list []Parent
	for _, id := range slices.Sorted(maps.Keys(bursts)) {
		if bursts[id] == 0 {
			continue
		}
		list = append(list, Parent{id, bursts[id]})
	}
	return list
}

// nameNodes gives new nodes their IDs, those with the most time first: the smallest of a parent that none has yet, else a
// new one.
func (r *refinement) nameNodes(fresh []Node) {
	order := make([]int, len(fresh))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fresh[b].TimeNS, fresh[a].TimeNS) })
	taken := map[int32]bool{Noise: true} // frozen nodes are nobody's parents
	for _, i := range order {
		for _, p := range fresh[i].Parents {
			if !taken[p.ID] {
				fresh[i].ID = p.ID
				break
			}
		}
		if fresh[i].ID == Noise {
			r.lastID++
			fresh[i].ID = r.lastID
		}
		taken[fresh[i].ID] = true
	}
}
