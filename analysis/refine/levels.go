package refine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/sequence"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A refinement at work.
type refinement struct {
	bursts  *Bursts
	options *Options
	own     int   // bursts of this member's threads, which come first
	sizes   []int // bursts of each group, of all members
	totalNS int64 // of the bursts of all groups

	labels []int32 // of the last level, of all bursts here
	ways   *lineages
	noise  []Node // of the last level, by group
	tree   Tree
	lastID int32
	past   [][]int32 // by level: labels; nil for one that can no longer be any group's answer
	scores []*sequence.Score
	parts  [][]float64 // by level and group: the mean score of the group's time

	stopped  bool
	unscored bool // the answer has no score: there was no time for it
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
		if step > 0 {
			if over, err := r.over(); err != nil || over {
				r.stopped = over
				return err
			}
		}
		changed, err := r.step(step)
		if errors.Is(err, ErrHalted) && step > 0 {
			r.stopped = true
			return nil
		}
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := r.evaluate(); errors.Is(err, ErrHalted) { // what cannot be evaluated is not better than what was
			last := len(r.tree.Levels) - 1
			r.tree.Levels, r.stopped = r.tree.Levels[:last], true
			return nil
		} else if err != nil {
			return err
		}
		level := &r.tree.Levels[len(r.tree.Levels)-1]
		if math.IsNaN(level.Score) || !slices.ContainsFunc(level.Nodes, func(n Node) bool { return !n.Frozen }) {
			return nil
		}
	}
	return nil
}

// over reports whether a member wants the refinement to end.
func (r *refinement) over() (bool, error) {
	return team.Any(r.bursts.Team, r.options.Stop != nil && r.options.Stop())
}

// Halted is ErrHalted at all members where halt, which may be nil, is true at one.
func Halted(t team.Team, halt func() bool) error {
	halted, err := team.Any(t, halt != nil && halt())
	if err == nil && halted {
		err = ErrHalted
	}
	return err
}

// agree makes of an error of one member one of all, and of ErrHalted what it is.
func (r *refinement) agree(err error) error {
	halted := errors.Is(err, ErrHalted)
	if halted {
		err = nil
	}
	if err := team.Explain(r.bursts.Team, err); err != nil {
		return err
	}
	halted, err = team.Any(r.bursts.Team, halted)
	if err == nil && halted {
		err = ErrHalted
	}
	return err
}

// begin puts every burst where it is before the first step: in no cluster.
func (r *refinement) begin() error {
	r.labels = make([]int32, len(r.bursts.DurationNS)) // noise
	r.ways = newLineages(0)
	if !r.options.Unscored {
		r.ways = newLineages(r.own)
	}
	r.noise = make([]Node, len(r.bursts.Groups))
	sums, err := r.place()
	if err := team.Explain(r.bursts.Team, err); err != nil {
		return err
	}
	if err := r.bursts.Team.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	last := len(r.bursts.Groups)
	r.totalNS = sums[last]
	for _, n := range sums[:last] {
		r.sizes = append(r.sizes, int(n))
	}
	return r.bringHome(r.labels)
}

// manyRows is how many bursts of a group several workers share.
const manyRows = 1 << 14

func (r *refinement) workersFor(rows int) int {
	if rows < manyRows {
		return 1
	}
	return max(1, r.options.Workers)
}

// place marks the bursts that are in no group. It returns how many each group has here, and the time of all of them.
func (r *refinement) place() ([]int64, error) {
	sums, rows := make([]int64, len(r.bursts.Groups)+1), 0
	placed := make([]bool, len(r.labels))
	for i := range r.bursts.Groups {
		g := part{Group: &r.bursts.Groups[i]}
		threads := r.workersFor(len(g.Rows))
		timeNS, bad := make([]int64, threads), make([][]int32, threads)
		workers.Chunks(len(g.Rows), threads, func(w, from, to int) {
			for at, row := range g.Rows[from:to] {
				if row < 0 || int(row) >= len(r.labels) || from+at > 0 && row <= g.Rows[from+at-1] || placed[row] {
					bad[w] = []int32{row}
					return
				}
				placed[row] = true
				timeNS[w] += r.bursts.DurationNS[row]
			}
		})
		for _, row := range slices.Concat(bad...) {
			return nil, fmt.Errorf("refine: group %d: burst %d of %d is out of range or in two groups, or comes after a later one", i, row, len(r.labels))
		}
		for _, ns := range timeNS {
			sums[len(r.bursts.Groups)] += ns
		}
		sums[i] = int64(g.bursts())
		rows += len(g.Rows)
	}
	if rows < len(r.labels) {
		workers.Chunks(len(r.labels), r.options.Workers, func(_, from, to int) {
			for row := from; row < to; row++ {
				if !placed[row] {
					r.labels[row] = Absent
				}
			}
		})
	}
	return sums, nil
}

// bringHome gives the bursts of this member's threads the labels that they have where they are clustered.
func (r *refinement) bringHome(labels []int32) error {
	if r.bursts.Team.Size() == 1 {
		return nil
	}
	return r.bursts.Home(labels)
}

// A move is what a step does here in one group.
type move struct {
	moved   bool
	part    part // the bursts that were clustered again
	density *density
}

// step makes a level from the last one. changed is false if nothing was left to cluster again.
func (r *refinement) step(step int) (changed bool, err error) {
	groups := r.bursts.Groups
	moves := make([]move, len(groups))
	sizes := make([]int, len(groups))
	open := r.openNodes()
	act := func(i, threads int) error {
		if step >= len(groups[i].Eps) {
			return nil
		}
		var err error
		moves[i], err = r.move(i, step, open, threads)
		if step == len(groups[i].Eps)-1 { // most groups are done after the first step: memory
			groups[i].Points, groups[i].Index = dbscan.Points{Dims: groups[i].Points.Dims}, nil
		}
		return err
	}
	for i := range groups {
		if step < len(groups[i].Eps) && !groups[i].Shared {
			sizes[i] = len(groups[i].Rows)
		}
	}
	err = workers.Each(sizes, r.options.Workers, func(i, threads int) error {
		if groups[i].Shared {
			return nil
		}
		return act(i, threads)
	})
	if err := r.agree(err); err != nil {
		return false, err
	}
	for i := range groups {
		if groups[i].Shared {
			if err := act(i, max(1, r.options.Workers)); err != nil {
				return false, err
			}
		}
	}
	outcomes, err := r.sumUp(step, moves)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(outcomes, func(o outcome) bool { return o.moved }) {
		return false, nil
	}
	r.apply(step, moves, outcomes, open)
	return true, r.bringHome(r.labels)
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

// move does in one group the clustering of a step.
func (r *refinement) move(group, step int, open map[int32]bool, threads int) (move, error) {
	g := &r.bursts.Groups[group]
	if r.sizes[group] < g.MinPts {
		if step > 0 || r.sizes[group] == 0 {
			return move{}, nil
		}
		return move{true, part{Group: g}, &density{labels: make([]int32, len(g.Rows)), minPts: []int{g.MinPts}}}, nil
	}
	if !g.Shared && len(g.Rows) == 0 { // another member does it
		return move{}, nil
	}
	p := part{Group: g}
	if step > 0 {
		some, _ := p.some(func(i int) bool { return open[r.labels[p.row(i)]] })
		again := []int64{int64(some.bursts())}
		if err := r.teamOf(g).AllReduce(again, team.Sum); err != nil {
			return move{}, err
		}
		if again[0] == 0 {
			return move{}, nil
		}
		if int(again[0]) < r.sizes[group] {
			p = some
		}
	}
	if err := Halted(r.teamOf(g), r.options.Halt); err != nil {
		return move{}, err
	}
	d, err := r.dense(p, g.Eps[step], threads)
	return move{true, p, d}, err
}

// apply gives the bursts that were clustered again their labels and describes the level.
func (r *refinement) apply(step int, moves []move, outcomes []outcome, open map[int32]bool) {
	var level Level
	var nodes []Node
	first := make([]int, len(moves)) // of a group's new nodes
	noise := Node{Group: -1}
	noiseFrom := make(map[int32]int)
	for i, o := range outcomes {
		level.Eps = append(level.Eps, r.epsOf(i, step))
		first[i] = len(nodes)
		if !o.moved || !open[Noise] {
			noiseFrom[Noise] += r.noise[i].Bursts
		} else {
			r.noise[i] = Node{}
		}
		for _, k := range o.clusters {
			nodes = append(nodes, Node{
				Group: i, Eps: level.Eps[i], MinPts: k.minPts, Bursts: k.bursts, TimeNS: k.timeNS, Parents: listParents(k.from),
			})
		}
		r.noise[i].Bursts += o.noise.bursts
		r.noise[i].TimeNS += o.noise.timeNS
		for id, bursts := range o.noise.from {
			noiseFrom[id] += bursts
		}
	}
	r.nameNodes(nodes)
	for i, m := range moves {
		if !m.moved {
			continue
		}
		workers.Chunks(len(m.density.labels), r.workersFor(len(m.density.labels)), func(_, from, to int) {
			for j, k := range m.density.labels[from:to] {
				row := m.part.row(from + j)
				r.labels[row] = Noise
				if k != dbscan.Noise {
					r.labels[row] = nodes[first[i]+int(k)].ID
				}
			}
		})
	}
	if n := len(r.tree.Levels); n > 0 {
		for _, node := range r.tree.Levels[n-1].Nodes {
			if node.ID != Noise && (!outcomes[node.Group].moved || !open[node.ID]) {
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
	if r.sizes[group] < g.MinPts {
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

// nameNodes gives new nodes their IDs, those with the most time first: the smallest of a parent that none has yet, else
// a new one.
func (r *refinement) nameNodes(fresh []Node) {
	order := make([]int, len(fresh))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fresh[b].TimeNS, fresh[a].TimeNS) })
	taken := map[int32]bool{Noise: true} // frozen nodes are no parents
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
