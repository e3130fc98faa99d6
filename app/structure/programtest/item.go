package programtest

import (
	"fmt"
	"maps"
	"slices"
)

// An item is a loop, a function, or a call of MPI, of an outline or of what was inferred, with the conditions round it:
// in this form both say the same in one way only.
type item struct {
	at         string // for messages: the line of the outline, or the node
	kind, name string
	conditions []*condition // those since the loop or function round it
	ranks      []int64      // that can come here
	body       []*item

	want *line     // of an outline
	got  *inferred // of what was inferred
}

// A condition holds, or not, for a rank in trips of the loops round it.
type condition struct {
	text         string
	holds        func(v variables) bool
	uses         map[string]bool
	unknown      bool // without a rule
	happened, of int64
	otherwise    bool // an ELSE, or ELSE IF
	chain        *int // the same for an IF and what is ELSE of it
}

// A scope is what is round an item.
type scope struct {
	size  int64
	ranks []int64
	loops []trips // the innermost first
}

// trips are those of a loop, of which the variable may have a name.
type trips struct {
	least, most int64
	variable    string
}

// names are those of variables in conditions of outlines, of the innermost loop first.
var names = []string{"i", "j", "k", "l", "m"}

// name is that of a variable in outlines. Of a loop of one trip it is none.
func (s *scope) name(variable string) string {
	for k, l := range s.loops[:min(len(s.loops), len(names))] {
		if l.variable == variable {
			return names[k]
		}
	}
	return ""
}

// manyTrips is how many trips of a loop are tried: rules with longer periods or later trips are not planted.
const manyTrips = 240

// each calls do with each rank, and each trip of the loops of which the variables are used, until it returns false.
func (s *scope) each(uses map[string]bool, do func(v variables) bool) bool {
	type domain struct {
		name string
		n    trips
	}
	var domains []domain
	for k, name := range names {
		if !uses[name] && (k > 0 || !uses["last"]) {
			continue
		}
		n := trips{least: manyTrips, most: manyTrips}
		if k < len(s.loops) {
			n = s.loops[k]
		}
		domains = append(domains, domain{name, n})
	}
	for name, most := range map[string]int64{"n": manyTrips, "depth": 16} {
		if uses[name] {
			domains = append(domains, domain{name, trips{least: most, most: most}})
		}
	}
	var within func(v variables, k int) bool
	within = func(v variables, k int) bool {
		if k == len(domains) {
			return do(v)
		}
		d := domains[k]
		for n := d.n.least; n <= min(d.n.most, d.n.least+manyTrips); n++ {
			for x := range min(n, manyTrips) {
				v[d.name] = x
				v["last "+d.name] = n - 1
				if d.name == names[0] {
					v["last"] = n - 1
				}
				if !within(v, k+1) {
					return false
				}
			}
		}
		return true
	}
	for _, rank := range s.ranks {
		if !within(shape(rank, s.size), 0) {
			return false
		}
	}
	return true
}

// usesOf are the variables of conditions.
func usesOf(lists ...[]*condition) map[string]bool {
	uses := make(map[string]bool)
	for _, list := range lists {
		for _, c := range list {
			maps.Copy(uses, c.uses)
		}
	}
	return uses
}

// all says whether all conditions hold, as far as they are known.
func all(list []*condition, v variables) bool {
	return !slices.ContainsFunc(list, func(c *condition) bool { return !c.unknown && !c.holds(v) })
}

// reach are the ranks for which conditions can hold.
func (s *scope) reach(list []*condition) (ranks []int64) {
	uses := usesOf(list)
	for _, rank := range s.ranks {
		one := &scope{s.size, []int64{rank}, s.loops}
		if !one.each(uses, func(v variables) bool { return !all(list, v) }) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// always says whether a condition holds on all ranks in all trips.
func (s *scope) always(c *condition) bool {
	return !c.unknown && s.each(c.uses, c.holds)
}

// equal says whether two lists of conditions hold for the same ranks and trips; where they have no rule, whether both
// have none.
func (s *scope) equal(a, b []*condition) bool {
	unknown := func(list []*condition) int {
		return len(slices.DeleteFunc(slices.Clone(list), func(c *condition) bool { return !c.unknown }))
	}
	return unknown(a) == unknown(b) && s.each(usesOf(a, b), func(v variables) bool { return all(a, v) == all(b, v) })
}

// exclusive says whether two lists of conditions never hold together, so that which of two items comes first means
// nothing.
func (s *scope) exclusive(a, b []*condition) bool {
	for _, x := range a {
		for _, y := range b {
			if x != y && x.chain == y.chain {
				return true
			}
		}
	}
	return s.each(usesOf(a, b), func(v variables) bool { return !all(a, v) || !all(b, v) })
}

// not makes the condition that holds where none of a chain does.
func not(chain []*condition) (holds func(v variables) bool, uses map[string]bool, unknown bool) {
	unknown = slices.ContainsFunc(chain, func(c *condition) bool { return c.unknown })
	earlier := slices.Clone(chain)
	return func(v variables) bool {
		return !slices.ContainsFunc(earlier, func(c *condition) bool { return c.holds(v) })
	}, usesOf(chain), unknown
}

// called is a function that is called under so many loops.
type called struct {
	name  string
	loops int
}

// wanted makes the items of an outline for a number of ranks.
type wanted struct {
	debug bool
	// named are the functions that were inferred: the compiler may inline one call of a function and leave another one.
	named map[called]bool
	err   error
}

func (w *wanted) value(l *line, text string, v variables) int64 {
	e, err := parse(text)
	if err == nil {
		var x int64
		if x, err = e.eval(v); err == nil {
			return x
		}
	}
	if w.err == nil {
		w.err = fmt.Errorf("line %d: %s: %w", l.number, text, err)
	}
	return 0
}

func (w *wanted) items(lines []*line, s scope, round []*condition) (items []*item) {
	var chain []*condition
	for _, l := range lines {
		it := &item{at: l.text, kind: l.kind, name: l.name, conditions: round, want: l, ranks: s.reach(round)}
		v := it.figures(s.size)
		inner := scope{s.size, it.ranks, s.loops}
		switch l.kind {
		case "IF", "ELSE IF", "ELSE":
			if l.kind == "IF" {
				chain = nil
			}
			c := w.condition(l, chain, v)
			if chain = append(chain, c); len(s.reach(append(slices.Clone(round), c))) == 0 {
				continue
			}
			if s.always(c) {
				items = append(items, w.items(l.body, s, round)...)
			} else {
				items = append(items, w.items(l.body, s, append(slices.Clone(round), c))...)
			}
			continue
		case "FOR":
			n := w.trips(l, &inner)
			switch {
			case n.most == 0:
				continue
			case n.least == 1 && n.most == 1:
				items = append(items, w.items(l.body, s, round)...)
				continue
			}
			inner.loops = append([]trips{n}, s.loops...)
		case "CALL":
			if l.maybe && !w.debug && !w.named[called{l.name, len(s.loops)}] {
				items = append(items, w.items(l.body, s, round)...)
				continue
			}
		}
		it.body = w.items(l.body, inner, nil)
		items = append(items, it)
	}
	return items
}

func (w *wanted) condition(l *line, chain []*condition, v variables) *condition {
	c := &condition{text: l.text, unknown: l.unknown, otherwise: l.kind != "IF", chain: new(int), happened: -1, of: -1}
	for key, to := range map[string]*int64{"happened": &c.happened, "of": &c.of} {
		if text, ok := l.options[key]; ok {
			*to = w.value(l, text, v)
		}
	}
	c.uses, c.holds = make(map[string]bool), func(variables) bool { return true }
	if len(chain) > 0 && c.otherwise {
		c.chain = chain[0].chain
		c.holds, c.uses, c.unknown = not(chain)
		c.unknown = c.unknown || l.unknown
	}
	if l.when != nil {
		before := c.holds
		c.holds = func(v variables) bool { return before(v) && l.when.holds(v) }
		maps.Copy(c.uses, l.when.uses)
	}
	return c
}
