package programtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"moriens/analysis/program"
)

// An inferred is a node of a program.
type inferred struct {
	node *program.Node
}

// A reading makes items of what was inferred.
type reading struct {
	named  map[string]bool // functions that are levels of the outline
	base   string          // of the program: in Fortran it is the name of its main function
	faults []string
}

// clone is what compilers append to names of functions of which they make several: step.constprop.0.
var clone = regexp.MustCompile(`\.(constprop|isra|part|cold|lto_priv)(\.\d+)?|\(.*\)$`)

// nameOf is a function's name as it stands in its source: __solver_MOD_sweep is sweep, tree.isra.0 is tree.
func nameOf(symbol string) string {
	name := clone.ReplaceAllString(symbol, "")
	if _, in, ok := strings.Cut(name, "_MOD_"); ok && strings.HasPrefix(name, "__") {
		return in
	}
	return strings.TrimSuffix(name, "_")
}

// isNamed says whether an inferred function has a name: Ring::step may be reported as step, sweep as solver::sweep.
func isNamed(symbol, want string) bool {
	name := nameOf(symbol)
	return name == want || strings.HasSuffix(want, "::"+name) || strings.HasSuffix(name, "::"+want)
}

func (r *reading) isLevel(n *program.Node) bool {
	for name := range r.named {
		if isNamed(n.Function, name) {
			return true
		}
	}
	switch nameOf(n.Function) {
	case "main", "MAIN_", "MAIN__", "MAIN", r.base:
		return false
	}
	return !n.Inlined
}

func (r *reading) items(nodes []*program.Node, s scope, round []*condition) (items []*item) {
	var chain []*condition
	for _, n := range nodes {
		it := &item{at: describe(n), conditions: round, got: &inferred{n}, ranks: s.reach(round)}
		inner := scope{s.size, it.ranks, s.loops}
		switch n.Kind {
		case program.KindCompute:
			continue
		case program.KindIf:
			if !n.Else {
				chain = nil
			}
			c := conditionOf(n, &s, chain)
			chain = append(chain, c)
			if s.always(c) && len(n.Body) > 0 {
				r.faults = append(r.faults, fmt.Sprintf("%s: it always holds", it.at))
			}
			items = append(items, r.items(n.Body, s, append(slices.Clone(round), c))...)
			continue
		case program.KindLoop:
			if n.Trips == nil {
				r.faults = append(r.faults, fmt.Sprintf("%s has no trips", it.at))
				continue
			}
			if n.Trips.Least == 1 && n.Trips.Most == 1 {
				items = append(items, r.items(n.Body, s, round)...)
				continue
			}
			it.kind = "FOR"
			inner.loops = append([]trips{{n.Trips.Least, n.Trips.Most, n.Variable}}, s.loops...)
		case program.KindCall:
			if !r.isLevel(n) {
				items = append(items, r.items(n.Body, s, round)...)
				continue
			}
			it.kind, it.name = "CALL", n.Function
		case program.KindRecursion:
			it.kind, it.name = "RECURSION", n.Function
		case program.KindMPI:
			it.kind, it.name = "MPI", n.Function
		default:
			it.kind = n.Kind
		}
		it.body = r.items(n.Body, inner, nil)
		if it.kind == "CALL" && len(it.body) == 0 {
			continue // it only computes
		}
		items = append(items, it)
	}
	return items
}

func conditionOf(n *program.Node, s *scope, chain []*condition) *condition {
	c := &condition{
		text: describe(n), otherwise: n.Else, chain: new(int), happened: n.Happened, of: n.Of,
		uses: make(map[string]bool), holds: func(variables) bool { return true },
	}
	if n.Else && len(chain) > 0 {
		c.chain = chain[0].chain
		if n.Ranks == nil && (n.When == nil || n.When.Kind == program.WhenDepth) {
			c.holds, c.uses, c.unknown = not(chain)
			return c
		}
	}
	if n.Ranks == nil && n.When == nil {
		c.unknown = true
		return c
	}
	when, uses, known := whenOf(n.When, s)
	c.unknown = !known
	maps.Copy(c.uses, uses)
	c.holds = func(v variables) bool {
		return (n.Ranks == nil || slices.Contains(n.Ranks, int(v["rank"]))) && when(v)
	}
	return c
}

// whenOf makes a function of a condition on trips. known = false: it has no rule.
func whenOf(w *program.When, s *scope) (holds func(v variables) bool, uses map[string]bool, known bool) {
	if w == nil {
		return func(variables) bool { return true }, nil, true
	}
	name := w.Variable
	switch {
	case w.Kind == program.WhenDepth:
		name = "depth"
	case name != "n" && name != "depth":
		name = s.name(name)
	}
	uses = make(map[string]bool)
	if name != "" {
		uses[name] = true
	}
	if w.Rank != 0 {
		uses["rank"] = true
	}
	rules := map[string]func(x int64, v variables) bool{
		program.WhenEvery:    func(x int64, _ variables) bool { return w.Period > 0 && (x-w.Offset)%w.Period == 0 },
		program.WhenNotEvery: func(x int64, _ variables) bool { return w.Period > 0 && (x-w.Offset)%w.Period != 0 },
		program.WhenAt:       func(x int64, _ variables) bool { return x == w.Trip || slices.Contains(w.Trips, x) },
		program.WhenDepth:    func(x int64, _ variables) bool { return x == w.Trip },
		program.WhenNotAt:    func(x int64, _ variables) bool { return x != w.Trip && !slices.Contains(w.Trips, x) },
		program.WhenFrom:     func(x int64, _ variables) bool { return x >= w.Trip },
		program.WhenTo:       func(x int64, _ variables) bool { return x <= w.Trip },
		program.WhenRange: func(x int64, _ variables) bool {
			return x >= w.First && x <= w.Last && (x-w.First)%max(w.Stride, 1) == 0
		},
		program.WhenLast:    func(x int64, v variables) bool { return x == v["last "+name] },
		program.WhenNotLast: func(x int64, v variables) bool { return x != v["last "+name] },
	}
	rule := rules[w.Kind]
	if rule == nil {
		return func(variables) bool { return true }, nil, false
	}
	return func(v variables) bool { return rule(v[name]+w.Rank*v["rank"], v) }, uses, true
}

// describe names a node in messages.
func describe(n *program.Node) string {
	text := n.Kind
	switch n.Kind {
	case program.KindLoop:
		text = "FOR"
		if n.Trips != nil {
			text += " " + n.Trips.Expression
		}
	case program.KindCall, program.KindRecursion:
		text = strings.ToUpper(n.Kind) + " " + n.Function
	case program.KindMPI:
		text = fmt.Sprintf("%s calls=%d", n.Function, n.Count)
	case program.KindIf:
		text = "IF"
		if n.Else {
			text = "ELSE IF"
		}
		for _, part := range []string{n.RanksText, n.WhenText} {
			if part != "" {
				text += " " + part
			}
		}
		if n.RanksText == "" && n.WhenText == "" {
			switch {
			case n.Ranks != nil:
				text += fmt.Sprintf(" ranks %v", []int(n.Ranks))
			case n.When != nil:
				text += fmt.Sprintf(" %+v", *n.When)
			}
		}
	}
	if n.Line > 0 {
		text += fmt.Sprintf(" (%s:%d)", n.File, n.Line)
	}
	return fmt.Sprintf("%s [node %d]", text, n.ID)
}
