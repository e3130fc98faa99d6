// Package folded writes a profile as folded stacks, which flamegraph.pl, inferno and speedscope read: a line for each
// stack, with frames from the root on, ";" between them, a space and a whole number. What comes in is a calltree.Tree;
// what goes out is the time of all threads in micro- or nanoseconds. docs/format/profiles.md describes it.
package folded

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"moriens/trace/calltree"
)

// Write writes lines in their order, in the unit: time.Microsecond or time.Nanosecond.
//
// Each line is the difference of two rounded sums: of all lines up to it, and of those before it. So a line is less
// than a unit off, and the sum of lines that follow each other, as those of stacks that begin alike do, at most one;
// the sum of the file at most half of one. Lines that are 0 are left out. In nanoseconds all are exact.
func Write(w io.Writer, t *calltree.Tree, unit time.Duration) error {
	sum, err := t.Total()
	if err != nil {
		return err
	}
	names := t.Frames(frame)
	stacks := make([]string, len(t.Nodes))
	ns := make(map[string]int64)
	for i, n := range t.Nodes {
		stacks[i] = names[i]
		if n.Parent >= 0 {
			stacks[i] = stacks[n.Parent] + between + names[i]
		}
		if sum.NS[i] != 0 {
			ns[stacks[i]] = calltree.Sum(ns[stacks[i]], sum.NS[i])
		}
	}
	out := bufio.NewWriter(w)
	var exact, written int64 // ns before; units before
	for _, stack := range slices.Sorted(maps.Keys(ns)) {
		exact = calltree.Sum(exact, ns[stack])
		to := rounded(exact, int64(unit))
		if to == written {
			continue
		}
		out.WriteString(strings.ReplaceAll(stack, between, ";"))
		out.WriteByte(' ')
		out.WriteString(strconv.FormatInt(to-written, 10))
		out.WriteByte('\n')
		written = to
	}
	return out.Flush()
}

// between stands between frames while stacks are sorted: no name has it, and it is below whatever a name has, so that
// stacks that begin alike follow each other, the shortest first.
const between = "\x00"

func rounded(ns, unit int64) int64 {
	n := ns / unit
	if 2*(ns%unit) >= unit {
		n++
	}
	return n
}

// frame makes a name one that stands between semicolons. A line end ends the stack; and a number behind a space at the
// end of a stack is taken for a second value, as in lines of two profiles: the space becomes "_".
func frame(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		return calltree.NoName
	}
	if i := strings.LastIndexByte(name, ' '); i >= 0 && strings.Trim(name[i+1:], "0123456789.") == "" {
		name = name[:i] + "_" + name[i+1:]
	}
	return name
}
