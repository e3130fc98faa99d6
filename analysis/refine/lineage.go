package refine

import (
	"cmp"
	"slices"

	"moriens/internal/team"
)

// lineages follows the bursts through the levels. Few ways are taken by many bursts, so that each burst needs but a
// number.
type lineages struct {
	of   []uint32 // per burst: index into all
	all  []Lineage
	next map[step]uint32
	// By label: the step into it that was taken last. Bursts that come to a node mostly come from one.
	last []taken
}

// A step takes a burst from one lineage to a node.
type step struct {
	from uint32
	node int32
}

type taken struct {
	from, to uint32
}

func newLineages(bursts int) *lineages {
	return &lineages{of: make([]uint32, bursts), all: []Lineage{{Node: Absent}}, next: make(map[step]uint32)}
}

// extend takes note of where the bursts are at a level, by their labels. The members of a team have the same lineages:
// numbered in the order of the first bursts to take them, whose place in the run order gives by their place here,
// ascending in it.
func (l *lineages) extend(t team.Team, level int, labels []int32, order func(row int) int64) error {
	clear(l.next) // a way that parts at this level parts from all before
	clear(l.last)
	before := len(l.all)
	var firsts []int // rows
	for i, label := range labels {
		from := l.of[i]
		if l.all[from].Node == label {
			continue
		}
		for int(label) >= len(l.last) {
			l.last = append(l.last, taken{})
		}
		if last := l.last[label]; last.to > 0 && last.from == from {
			l.of[i] = last.to
			continue
		}
		to, known := l.next[step{from, label}]
		if !known {
			to = uint32(len(l.all))
			l.all = append(l.all, Lineage{From: from, Level: level, Node: label})
			l.next[step{from, label}] = to
			firsts = append(firsts, i)
		}
		l.last[label] = taken{from, to}
		l.of[i] = to
	}
	if t.Size() == 1 {
		return nil
	}
	return l.agree(t, level, before, firsts, order)
}

// agree has the members number alike the lineages that they have found from known on, first taken by these rows.
func (l *lineages) agree(t team.Team, level, known int, firsts []int, order func(row int) int64) error {
	var mine []int64
	for i, row := range firsts {
		x := &l.all[known+i]
		mine = append(mine, order(row), int64(x.From), int64(x.Node))
	}
	all, err := team.Gather(t, mine)
	if err != nil {
		return err
	}
	type found struct {
		order int64
		step  step
	}
	var steps []found
	for _, list := range all {
		for ; len(list) > 0; list = list[3:] {
			steps = append(steps, found{list[0], step{uint32(list[1]), int32(list[2])}})
		}
	}
	slices.SortFunc(steps, func(a, b found) int { return cmp.Compare(a.order, b.order) })
	number := make(map[step]uint32)
	fresh := slices.Clone(l.all[known:])
	l.all = l.all[:known]
	for _, x := range steps {
		if _, seen := number[x.step]; !seen {
			number[x.step] = uint32(len(l.all))
			l.all = append(l.all, Lineage{From: x.step.from, Level: level, Node: x.step.node})
		}
	}
	for i, from := range l.of {
		if int(from) >= known {
			x := &fresh[int(from)-known]
			l.of[i] = number[step{x.From, x.Node}]
		}
	}
	return nil
}
