package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"moriens/analysis/program"
	"moriens/internal/units"
)

// Variables that are no loop's: how often a body was executed so far, and the depth of a recursion.
const executions, depth = "n", "depth"

// words are those of an expression.
var words = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// named is an expression with a variable, which is marked where its loop is not shown.
func (e *expander) named(expression, variable string, loops []string) string {
	if variable == "" || variable == executions || variable == depth || slices.Contains(loops, variable) {
		return expression
	}
	e.marks[markOuter] = true
	return words.ReplaceAllStringFunc(expression, func(word string) string {
		if word == variable {
			return word + "'"
		}
		return word
	})
}

// condition makes the row of an if; before are the branches that it is the else of.
func (e *expander) condition(r *row, before []*program.Node, loops []string) {
	n := r.node
	switch text := e.conditionText(n, loops); {
	case n.Else && completes(n, before, e.ranks):
		r.before = "ELSE"
	case n.Else:
		r.before = "ELSE IF " + text
	default:
		r.before = "IF " + text
	}
}

func (e *expander) conditionText(n *program.Node, loops []string) string {
	var list []string
	if n.Ranks != nil {
		text := n.RanksText
		if text == "" {
			text = ranksText(n.Ranks)
		}
		list = append(list, text)
	}
	if n.When != nil {
		list = append(list, e.whenText(n, loops))
	}
	return strings.Join(list, " and ")
}

func (e *expander) whenText(n *program.Node, loops []string) string {
	c := n.When
	if c.Kind == program.WhenUnknown {
		e.marks[markNoRule] = true
		return fmt.Sprintf("(%s of %s times, %s)", units.Integer(int(n.Happened)), units.Integer(int(n.Of)), markNoRule)
	}
	switch {
	case c.Variable == executions:
		e.marks[markCalls] = true
	case c.Kind != program.WhenDepth && c.Kind != program.WhenLast && c.Kind != program.WhenNotLast && c.Variable != depth:
		e.marks[markTrips] = true
	}
	return e.named(cmp.Or(n.WhenText, whenWords(c)), c.Variable, loops)
}

// whenWords are those of a condition that has none.
func whenWords(c *program.When) string {
	variable := c.Variable
	switch c.Rank {
	case 1:
		variable = "(" + variable + " + rank)"
	case -1:
		variable = "(" + variable + " - rank)"
	}
	switch c.Kind {
	case program.WhenEvery:
		return fmt.Sprintf("%s %% %d == %d", variable, c.Period, c.Offset)
	case program.WhenNotEvery:
		return fmt.Sprintf("%s %% %d != %d", variable, c.Period, c.Offset)
	case program.WhenAt:
		return fmt.Sprintf("%s == %d", variable, c.Trip)
	case program.WhenNotAt:
		return fmt.Sprintf("%s != %d", variable, c.Trip)
	case program.WhenFrom:
		return fmt.Sprintf("%s >= %d", variable, c.Trip)
	case program.WhenTo:
		return fmt.Sprintf("%s <= %d", variable, c.Trip)
	case program.WhenRange:
		if c.Stride > 1 {
			return fmt.Sprintf("%s in %d..%d:%d", variable, c.First, c.Last, c.Stride)
		}
		return fmt.Sprintf("%s in %d..%d", variable, c.First, c.Last)
	case program.WhenLast:
		return variable + " == last"
	case program.WhenNotLast:
		return variable + " != last"
	}
	return fmt.Sprintf("depth == %d", c.Trip)
}

// completes reports whether a branch takes all that the branches before it leave.
func completes(n *program.Node, before []*program.Node, ranks int) bool {
	if n.RanksText == "" && n.WhenText == "" && (n.When == nil || n.When.Kind != program.WhenUnknown) {
		return true // who has found the condition gives it no words where it closes the chain
	}
	if slices.ContainsFunc(append(before[:len(before):len(before)], n), func(b *program.Node) bool { return b.Threads != nil }) {
		return false // what ranks there are decides nothing
	}
	if happened := n.Happened; n.When != nil && n.When.Kind == program.WhenUnknown {
		for _, b := range before {
			happened += b.Happened
		}
		return n.Of > 0 && happened == n.Of // branches exclude each other
	}
	if len(before) == 1 && slices.Equal(n.Ranks, before[0].Ranks) && n.When != nil && before[0].When != nil {
		return exclude(n.When, before[0].When) || exclude(before[0].When, n.When)
	}
	taken := make(map[int]bool)
	for _, b := range append(before[:len(before):len(before)], n) {
		if b.When != nil {
			return false
		}
		for _, r := range b.Ranks {
			taken[r] = true
		}
	}
	return len(taken) == ranks
}

// exclude reports whether two conditions exclude and complete each other.
func exclude(a, b *program.When) bool {
	if a.Variable != b.Variable || a.Rank != b.Rank {
		return false
	}
	switch a.Kind {
	case program.WhenEvery:
		return b.Kind == program.WhenNotEvery && a.Period == b.Period && a.Offset == b.Offset || a.Period == 2 && b.Kind == a.Kind && b.Period == 2 && a.Offset != b.Offset
	case program.WhenAt:
		return b.Kind == program.WhenNotAt && a.Trip == b.Trip
	case program.WhenFrom:
		return b.Kind == program.WhenTo && b.Trip == a.Trip-1
	case program.WhenLast:
		return b.Kind == program.WhenNotLast
	}
	return false
}

// mostSpans is how many stretches of ranks are named.
const mostSpans = 6

// ranksText names ranks that have no rule.
func ranksText(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank == %d", ranks[0])
	}
	return "rank in " + Numbers(ranks)
}

// Numbers are those of ranks or threads, as stretches.
func Numbers(list []int) string {
	var spans []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		span := strconv.Itoa(list[i])
		if end > i {
			span += "-" + strconv.Itoa(list[end])
		}
		spans = append(spans, span)
		i = end + 1
	}
	if len(spans) > mostSpans {
		return fmt.Sprintf("%s,… (%s)", strings.Join(spans[:mostSpans], ","), units.Integer(len(list)))
	}
	return strings.Join(spans, ",")
}
