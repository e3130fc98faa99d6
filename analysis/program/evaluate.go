package program

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoRule says that a program does not tell in which order a rank made its calls: a line has no rule.
var ErrNoRule = errors.New("a line has no rule")

// Counts are how often a thread of a rank made each MPI call, also where the order of calls has no rule.
func (p *Program) Counts(rank, thread int) (map[*Node]int64, error) {
	counts := make(map[*Node]int64)
	err := p.evaluate(rank, thread, true, func(n *Node) bool {
		if n.Each == nil {
			counts[n]++
		}
		return true
	})
	Walk(p.Body, func(n *Node, _ []*Node) {
		for _, x := range n.Each {
			if x.has(rank, thread) {
				counts[n] += x.Count
			}
		}
	})
	return counts, err
}

// Evaluate goes through the lines of a program as a thread of a rank does, and calls visit for each MPI call, until
// that returns false. Tests of one place in a row are one.
func (p *Program) Evaluate(rank, thread int, visit func(n *Node) bool) error {
	return p.evaluate(rank, thread, false, visit)
}

func (p *Program) evaluate(rank, thread int, skip bool, visit func(n *Node) bool) error {
	e := &evaluation{rank: rank, thread: thread, skip: skip, visit: visit, done: make(map[*Node]int64), number: make(map[*Node]int64), values: make(map[string]trip), entries: make(map[*Node]int64)}
	list := p.Body
	if len(list) > 0 && list[0].Kind == KindCall && list[0].Threads != nil { // functions in which threads began
		list = nil
		for _, n := range p.Body {
			if slices.Contains(n.Threads, thread) && (n.Ranks == nil || slices.Contains(n.Ranks, rank)) {
				list = n.Body
			}
		}
	}
	if err := e.body(list, new(Node)); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

var errEnough = errors.New("enough")

// A program that is read from a file may be anything: so many bodies are executed, and so many are open, at most.
const (
	mostExecutions = 1 << 33
	mostOpen       = 10_000
)

type trip struct{ at, last int64 }

type evaluation struct {
	rank    int
	thread  int
	skip    bool // lines without a rule
	visit   func(n *Node) bool
	done    map[*Node]int64 // executions of bodies that have begun
	number  map[*Node]int64 // of the execution of a body that is open, the innermost one in a recursion
	entries map[*Node]int64 // of loops
	values  map[string]trip // of the loops that are open
	open    []*Node         // calls
	depth   int64           // of the recursion

	executed int64
	level    int
}

// body goes through lines of the body of a node.
func (e *evaluation) body(list []*Node, owner *Node) error {
	e.level++
	defer func() { e.level-- }()
	if e.executed++; e.executed > mostExecutions || e.level > mostOpen {
		return fmt.Errorf("line %d: it is executed more often, or calls itself deeper, than can be", owner.ID)
	}
	taken := false // a branch of the last IF
	for _, n := range list {
		if n.Kind != KindIf {
			if err := e.node(n, owner); err != nil {
				return err
			}
			continue
		}
		if !n.Else {
			taken = false
		}
		if n.Else && taken {
			continue
		}
		holds, err := e.holds(n, owner)
		if e.skip && errors.Is(err, ErrNoRule) {
			continue
		}
		if err != nil {
			return err
		}
		if holds {
			taken = true
			if err := e.body(n.Body, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// execute goes through the body of a function or of a loop once.
func (e *evaluation) execute(n *Node) error {
	defer func(outer int64) { e.number[n] = outer }(e.number[n])
	e.number[n] = e.done[n]
	e.done[n]++
	return e.body(n.Body, n)
}

// holds says whether a condition holds now.
func (e *evaluation) holds(n, owner *Node) (bool, error) {
	if n.Ranks != nil {
		if _, is := slices.BinarySearch(n.Ranks, e.rank); !is {
			return false, nil
		}
	}
	if n.Threads != nil && !slices.Contains(n.Threads, e.thread) {
		return false, nil
	}
	if n.When == nil {
		return true, nil
	}
	switch w := n.When; {
	case w.Kind == WhenUnknown:
		return false, fmt.Errorf("line %d: %w", n.ID, ErrNoRule)
	case w.Variable == numberOfExecutions:
		return w.holds(e.number[owner], 0, int64(e.rank)), nil
	case w.Variable == depthOfRecursion:
		return w.holds(e.depth, 0, 0), nil
	default:
		v, ok := e.values[w.Variable]
		if !ok {
			return false, fmt.Errorf("line %d: no loop round it has a trip %q", n.ID, w.Variable)
		}
		return w.holds(v.at, v.last, int64(e.rank)), nil
	}
}

func (e *evaluation) node(n, owner *Node) error {
	switch n.Kind {
	case KindMPI:
		if !e.visit(n) {
			return errEnough
		}
	case KindCall:
		if n.Inlined {
			return e.body(n.Body, owner)
		}
		e.open = append(e.open, n)
		defer func(depth int64) { e.open, e.depth = e.open[:len(e.open)-1], depth }(e.depth)
		e.depth = 0
		return e.execute(n)
	case KindRecursion:
		for k, c := range slices.Backward(e.open) {
			if c.Function == n.Function {
				defer func(open []*Node) { e.open, e.depth = open, e.depth-1 }(e.open)
				e.open, e.depth = slices.Clone(e.open[:k+1]), e.depth+1
				return e.execute(c)
			}
		}
		return fmt.Errorf("line %d: no call of %s is open", n.ID, n.Function)
	case KindLoop:
		return e.loop(n)
	case KindOther:
		if n.Count > 0 && !e.skip {
			return fmt.Errorf("line %d: calls are summed up: %w", n.ID, ErrNoRule)
		}
	}
	return nil
}

func (e *evaluation) loop(n *Node) error {
	entry := e.entries[n]
	e.entries[n]++
	t := n.Trips
	var times int64
	switch t.Kind {
	case TripsConstant:
		times = t.Most
	case TripsCycle:
		times = t.Cycle[entry%int64(len(t.Cycle))]
	case TripsLinear:
		times = t.Linear.Slope*e.values[t.Linear.Variable].at + t.Linear.Offset
	case TripsByRank:
		for _, x := range t.ByRank {
			if slices.Contains(x.Ranks, e.rank) {
				times = x.Count
			}
		}
	default:
		if e.skip {
			return nil
		}
		return fmt.Errorf("line %d: %w", n.ID, ErrNoRule)
	}
	old, had := e.values[n.Variable]
	for k := range times {
		if n.Variable != "" {
			e.values[n.Variable] = trip{k, times - 1}
		}
		if err := e.execute(n); err != nil {
			return err
		}
	}
	if had {
		e.values[n.Variable] = old
	}
	return nil
}
