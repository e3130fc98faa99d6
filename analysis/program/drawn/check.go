package drawn

import (
	"fmt"
	"slices"

	"moriens/analysis/program"
)

// Check compares what was inferred of a program with what was drawn: nesting, trips, conditions by the ranks and times
// that they hold for, numbers of calls, and the order of what happens in one time. It lists what differs.
func (p *Program) Check(got []*program.Node) (faults []string) {
	c := &check{p: p, names: make(map[string]*Node)}
	c.body(p.Truth, got)
	return c.faults
}

type check struct {
	p      *Program
	names  map[string]*Node // of the variables of loops that are round what is looked at
	faults []string
}

func (c *check) add(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// A found is a node of what was inferred, with the conditions round it since its parent.
type found struct {
	node       *program.Node
	conditions []holds
	text       string
	more       int // loops of one trip that are left out round it
}

// A holds says whether a condition holds on a rank in one of its times.
type holds func(rank, k int, t Time, last int) bool

// body compares the body of a node.
func (c *check) body(n *Node, nodes []*program.Node) {
	list := c.flat(nodes, nil, "")
	place := make([]int, len(n.Body))
	taken := make([]bool, len(list))
	for i, child := range n.Body {
		place[i] = -1
		for k := range list {
			if !taken[k] && c.is(child, list[k].node) {
				place[i], taken[k] = k, true
				break
			}
		}
		if place[i] < 0 {
			c.add("%s is missing in %s", c.name(child), c.name(n))
			continue
		}
		c.one(n, child, &list[place[i]])
	}
	for k, f := range list {
		if !taken[k] {
			c.add("%s %s in line %d is there, and not written in %s", f.node.Kind, f.node.Function, f.node.Line, c.name(n))
		}
	}
	for b := range n.Body {
		for a := range b {
			if place[a] >= 0 && place[b] >= 0 && place[a] > place[b] && together(n.Body[a], n.Body[b]) {
				c.add("%s stands before %s", c.name(n.Body[b]), c.name(n.Body[a]))
			}
		}
	}
}

// together says whether two nodes happen in one time of that round them.
func together(a, b *Node) bool {
	for rank, list := range a.happened {
		for _, k := range list {
			if _, ok := slices.BinarySearch(b.happened[rank], k); ok {
				return true
			}
		}
	}
	return false
}

func (c *check) name(n *Node) string {
	switch n.Kind {
	case Loop:
		return fmt.Sprintf("FOR in line %d", n.Line)
	case MPI:
		return fmt.Sprintf("%s in line %d", n.MPI, n.Line)
	}
	return fmt.Sprintf("%s() in line %d", c.p.Functions[n.Callee].Name, n.Line)
}

// is says whether an inferred node can be a drawn one.
func (c *check) is(n *Node, got *program.Node) bool {
	switch n.Kind {
	case Loop:
		return got.Kind == program.KindLoop && slices.Contains(n.Lines, got.Line)
	case MPI:
		return got.Kind == program.KindMPI && got.Line == n.Line && got.Function == n.MPI
	case Recursion:
		return got.Kind == program.KindRecursion && got.Line == n.Line && got.Function == c.p.Functions[n.Callee].Name
	}
	return got.Kind == program.KindCall && got.Line == n.Line && got.Function == c.p.Functions[n.Callee].Name
}

// flat takes conditions away, and leaves them beside what is in them.
func (c *check) flat(nodes []*program.Node, round []holds, text string) (list []found) {
	var chain []holds
	for _, g := range nodes {
		switch g.Kind {
		case program.KindCompute:
		case program.KindLoop:
			if c.isOuter(g) {
				below := c.flat(g.Body, round, text)
				for k := range below {
					below[k].more++
				}
				list = append(list, below...)
				continue
			}
			list = append(list, found{node: g, conditions: round, text: text})
		case program.KindIf:
			if !g.Else {
				chain = nil
			}
			h := c.condition(g, slices.Clone(chain))
			chain = append(chain, h)
			list = append(list, c.flat(g.Body, append(slices.Clone(round), h), text+" IF "+g.RanksText+" "+g.WhenText)...)
		default:
			list = append(list, found{node: g, conditions: round, text: text})
		}
	}
	return list
}

// isOuter says whether an inferred loop, of one trip, is the outer one of two with nothing between: the calls do not
// show where it begins its next.
func (c *check) isOuter(g *program.Node) bool {
	if g.Trips == nil || g.Trips.Most != 1 {
		return false
	}
	for _, f := range c.p.Functions {
		for _, l := range f.loops {
			if l.line == g.Line && len(l.body) == 1 && l.body[0].kind == Loop {
				return true
			}
		}
	}
	return false
}

func (c *check) condition(g *program.Node, chain []holds) holds {
	if g.Else && g.Ranks == nil && (g.When == nil || g.When.Kind == program.WhenDepth) {
		return func(rank, k int, t Time, last int) bool {
			return !slices.ContainsFunc(chain, func(h holds) bool { return h(rank, k, t, last) })
		}
	}
	if g.Ranks == nil && g.When == nil || g.When != nil && g.When.Kind == program.WhenUnknown {
		c.add("a condition has no rule (%d of %d times)", g.Happened, g.Of)
	}
	return func(rank, k int, t Time, last int) bool {
		return (g.Ranks == nil || slices.Contains(g.Ranks, rank)) && (g.When == nil || c.when(g.When, rank, k, t, last))
	}
}

func (c *check) when(w *program.When, rank, k int, t Time, last int) bool {
	x := int64(t.Trip)
	switch w.Variable {
	case "n":
		x = int64(k)
	case "depth":
		x = int64(t.Depth)
	case "":
	default:
		loop := c.names[w.Variable]
		r := t.Round
		for r != nil && r.Loop != loop {
			r = r.Up
		}
		if loop == nil || r == nil {
			c.add("a condition depends on %s, which is no loop round it", w.Variable)
			return false
		}
		x, last = int64(r.Trip), r.Last
	}
	x += w.Rank * int64(rank)
	switch w.Kind {
	case program.WhenEvery:
		return (x-w.Offset)%max(w.Period, 1) == 0
	case program.WhenNotEvery:
		return (x-w.Offset)%max(w.Period, 1) != 0
	case program.WhenAt:
		return x == w.Trip || slices.Contains(w.Trips, x)
	case program.WhenDepth:
		return int64(t.Depth) == w.Trip
	case program.WhenNotAt:
		return x != w.Trip && !slices.Contains(w.Trips, x)
	case program.WhenFrom:
		return x >= w.Trip
	case program.WhenTo:
		return x <= w.Trip
	case program.WhenRange:
		return x >= w.First && x <= w.Last && (x-w.First)%max(w.Stride, 1) == 0
	case program.WhenLast:
		return x == int64(last)
	case program.WhenNotLast:
		return x != int64(last)
	}
	return false
}

// one compares a node with the one that was found.
func (c *check) one(parent, n *Node, f *found) {
	calls := 0
	for rank := range c.p.Ranks {
		happened := n.Happened(parent, rank)
		calls += n.Calls(rank)
		last := parent.lasts(rank)
		for k, t := range parent.Times[rank] {
			want := !slices.ContainsFunc(f.conditions, func(h holds) bool { return !h(rank, k, t, last[k]) })
			if want != happened[k] {
				c.add("%s: on rank %d, in trip %d of entry %d, depth %d, it happened: %v; the text has it in%s", c.name(n), rank, t.Trip, t.Entry, t.Depth, happened[k], f.text)
				break
			}
		}
	}
	g := f.node
	switch n.Kind {
	case MPI:
		if g.Count != int64(calls) {
			c.add("%s: %d calls, want %d", c.name(n), g.Count, calls)
		}
		return
	case Recursion:
		return
	case Loop:
		c.trips(n, g)
		if stands := max(g.StandsFor, 1); stands != n.StandsFor && stands+f.more != n.StandsFor {
			c.add("%s stands for %d loops, want %d", c.name(n), stands, n.StandsFor)
		}
		if old, had := c.names[g.Variable]; had {
			defer func() { c.names[g.Variable] = old }()
		} else {
			defer delete(c.names, g.Variable)
		}
		c.names[g.Variable] = n
	}
	c.body(n, g.Body)
}

// lasts are, by time of a loop, the last trip of the same entry.
func (n *Node) lasts(rank int) []int {
	times := n.Times[rank]
	lasts := make([]int, len(times))
	for k := len(times) - 1; k >= 0; k-- {
		if lasts[k] = times[k].Trip; k+1 < len(times) && times[k+1].Trip > 0 {
			lasts[k] = lasts[k+1]
		}
	}
	return lasts
}

func (c *check) trips(n *Node, g *program.Node) {
	if g.Trips == nil {
		c.add("%s has no trips", c.name(n))
		return
	}
	var all []int
	least, enough := 1<<30, true
	for rank := range c.p.Ranks {
		trips := n.Trips(rank)
		all = append(all, trips...)
		enough = enough && len(trips) >= 2*n.from.period
		for k, x := range trips {
			if cycle := g.Trips.Cycle; g.Trips.Kind == program.TripsCycle && (len(cycle) == 0 || cycle[k%len(cycle)] != int64(x)) {
				c.add("%s: entry %d of rank %d has %d trips, not those of %v in turn", c.name(n), k, rank, x, cycle)
				return
			}
		}
	}
	total := int64(0)
	for _, x := range all {
		least = min(least, x)
		total += int64(x)
	}
	most := slices.Max(all)
	if t := g.Trips; t.Least != int64(least) || t.Most != int64(most) || t.Total != total || t.Entries != int64(len(all)) {
		c.add("%s: trips are %d to %d, %d in %d entries; want %d to %d, %d in %d", c.name(n), t.Least, t.Most, t.Total, t.Entries, least, most, total, len(all))
	}
	switch kind := g.Trips.Kind; {
	case (kind == program.TripsConstant) != (least == most):
		c.add("%s: trips of %d to %d are %s", c.name(n), least, most, kind)
	case kind == program.TripsVaries && enough:
		c.add("%s: trips of %d to %d have a rule that was not found", c.name(n), least, most)
	}
}
