package drawn

import (
	"fmt"
	"slices"
)

// A runner goes through a program as one rank.
type runner struct {
	p     *Program
	rank  int
	steps []Step
	paths map[string]int
	round *Round
	open  []int           // how often each function is open
	entry map[*Node]int   // of loops
	at    map[int][]*Node // by function: the nodes of it that are open
}

// mostCalls is where a rank stops to draw attention to a program that does not end.
const mostCalls = 1 << 20

func (p *Program) run() {
	p.Truth = &Node{Kind: Call, Callee: 0}
	p.Sequences = make([][]int, p.Ranks)
	paths := make(map[string]int)
	for rank := range p.Ranks {
		r := &runner{p: p, rank: rank, paths: paths, open: make([]int, len(p.Functions)), entry: make(map[*Node]int), at: make(map[int][]*Node)}
		r.function(0, p.Truth)
	}
	p.Truth.finish(p.Ranks)
}

// function goes through one, and returns how many calls of MPI it has made.
func (r *runner) function(f int, n *Node) int {
	r.open[f]++
	calls := r.time(n, Time{Depth: r.open[f] - 1, Round: r.round}, r.p.Functions[f].body, state{rank: r.rank, ranks: r.p.Ranks, depth: r.open[f] - 1})
	r.open[f]--
	return calls
}

// time goes once through the body of a node. It is one of its times if it makes a call.
func (r *runner) time(n *Node, t Time, body []*statement, s state) int {
	n.Times = room(n.Times, r.rank)
	me := len(n.Times[r.rank])
	n.Times[r.rank] = append(n.Times[r.rank], t) // calls of the same function in it come behind
	calls, children := 0, []*Node(nil)
	r.statements(n, body, s, func(child *Node, made int) {
		if calls += made; made > 0 {
			children = append(children, child)
		}
	})
	if calls == 0 {
		n.Times[r.rank] = n.Times[r.rank][:me]
	}
	for _, child := range children {
		child.happened = room(child.happened, r.rank)
		child.happened[r.rank] = append(child.happened[r.rank], me)
	}
	return calls
}

func room[T any](list [][]T, rank int) [][]T {
	for len(list) <= rank {
		list = append(list, nil)
	}
	return list
}

func (r *runner) statements(n *Node, list []*statement, s state, made func(*Node, int)) {
	for _, x := range list {
		switch x.kind {
		case condition:
			if x.rule.holds(s) {
				r.statements(n, x.body, s, made)
			} else {
				r.statements(n, x.other, s, made)
			}
		case Loop:
			made(r.loop(n, x, s))
		case Call:
			callee := x.callee[s.trip%len(x.callee)]
			made(r.call(n, x, callee))
		case MPI:
			child := n.child(x, -1)
			child.MPI = x.mpi
			r.steps = append(r.steps, Step{x.function, x.site})
			r.record(x.mpi)
			r.steps = r.steps[:len(r.steps)-1]
			made(child, 1)
		}
	}
}

// child is the node of a statement, and of a function that it calls, below a node.
func (n *Node) child(x *statement, callee int) *Node {
	for _, c := range n.Body {
		if c.from == x && c.Callee == callee {
			return c
		}
	}
	c := &Node{Kind: x.kind, Function: x.function, Line: x.line, Callee: callee, from: x}
	n.Body = append(n.Body, c)
	return c
}

func (r *runner) call(n *Node, x *statement, callee int) (*Node, int) {
	child := n.child(x, callee)
	r.steps = append(r.steps, Step{x.function, x.site})
	defer func() { r.steps = r.steps[:len(r.steps)-1] }()
	if r.open[callee] > 0 {
		child.Kind = Recursion
		opened := r.at[callee]
		return child, r.function(callee, opened[len(opened)-1])
	}
	r.at[callee] = append(r.at[callee], child)
	calls := r.function(callee, child)
	r.at[callee] = r.at[callee][:len(r.at[callee])-1]
	return child, calls
}

func (r *runner) loop(n *Node, x *statement, s state) (*Node, int) {
	child := n.child(x, -1)
	entry, trips := r.entry[child], x.trips(r.rank, r.entry[child])
	r.entry[child]++
	body, outer, up := x.body, 1, r.round
	if len(body) == 1 && body[0].kind == Loop { // the calls show the inner one alone
		outer, trips = trips, body[0].trips(r.rank, 0)
		child.StandsFor, child.Lines = 2, []int{x.line, body[0].line}
		body = body[0].body
	} else {
		child.StandsFor, child.Lines = 1, []int{x.line}
	}
	calls, trip := 0, 0
	for range outer {
		for k := range trips {
			r.round = &Round{child, trip, outer*trips - 1, up}
			calls += r.time(child, Time{entry, trip, s.depth, r.round}, body, state{s.rank, s.ranks, k, trips - 1, s.depth})
			trip++
		}
	}
	r.round = up
	return child, calls
}

func (r *runner) record(mpi string) {
	key := fmt.Sprint(r.steps)
	k, ok := r.paths[key]
	if !ok {
		k = len(r.p.Paths)
		r.paths[key] = k
		r.p.Paths = append(r.p.Paths, Path{slices.Clone(r.steps), mpi})
	}
	if r.p.Sequences[r.rank] = append(r.p.Sequences[r.rank], k); len(r.p.Sequences[r.rank]) > mostCalls {
		panic("the program makes too many calls")
	}
}

// finish leaves out what no rank has done, and puts nodes in the order of the source.
func (n *Node) finish(ranks int) {
	n.Times = room(n.Times, ranks-1)
	n.happened = room(n.happened, ranks-1)
	n.Body = slices.DeleteFunc(n.Body, func(c *Node) bool {
		c.finish(ranks)
		return !slices.ContainsFunc(c.happened, func(list []int) bool { return len(list) > 0 })
	})
	for _, list := range n.happened {
		slices.Sort(list)
	}
	slices.SortStableFunc(n.Body, func(a, b *Node) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Callee - b.Callee
	})
}
