package structure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// why prints the evidence for a line.
func (s *Shell) why(id string) error {
	n, err := s.node(id)
	if err != nil {
		return err
	}
	list := []string{s.line(n)}
	say := func(format string, args ...any) { list = append(list, "  "+fmt.Sprintf(format, args...)) }
	switch n.Kind {
	case program.KindLoop:
		whyLoop(n, say)
	case program.KindIf:
		whyIf(n, say)
	case program.KindMPI:
		whyCalls(n, say)
	case program.KindCompute:
		s.whyComputation(n, say)
	case program.KindCall:
		say("call paths of the lines in it pass this call")
		if n.Recursive {
			say("on some of them it is open already: the calls of it in it are not expanded")
		}
	case program.KindRecursion:
		if n.Count == 0 {
			say("called while a call of it is not over yet, it is not known how often: what it does stands there")
			break
		}
		say("called %s while a call of it is not over yet: what it does stands there", units.Counted(int(n.Count), "time"))
	case program.KindOther:
		say("%s were summed up when the file was written: it has 1 MiB at most", units.Counted(n.Lines, "line"))
	}
	if n.Note != "" {
		say("note: %s", n.Note)
	}
	_, err = fmt.Fprintln(s.Out, strings.Join(list, "\n"))
	return err
}

// evidence says what the evidence of a loop or a condition is.
func evidence(by string) string {
	return map[string]string{
		program.ByCode:     "the machine code has it",
		program.ByOrder:    "the order of lines or addresses is so; the machine code is not known, or left aside",
		program.BySequence: "calls repeat, or come and stay away, like that",
	}[by]
}

// tripsOfRanks says which ranks have how many trips each time.
func tripsOfRanks(t *program.Trips) string {
	var list []string
	for _, x := range t.ByRank {
		list = append(list, fmt.Sprintf("%s on %s %s", units.Counted(int(x.Count), "trip"), units.Plural(len(x.Ranks), "rank"), text.Numbers(x.Ranks)))
	}
	return cmp.Or(strings.Join(list, "; "), "1.."+t.Expression)
}

func whyLoop(n *program.Node, say func(string, ...any)) {
	t := n.Trips
	say("by %s: %s", n.By, evidence(n.By))
	say("entered %s, over all ranks; %s in all", units.Counted(int(t.Entries), "time"), units.Counted(int(t.Total), "trip"))
	switch t.Kind {
	case program.TripsConstant:
		say("%s each time", units.Counted(int(t.Most), "trip"))
	case program.TripsCycle:
		say("in turn %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Cycle), " ", ", "), "[]"))
	case program.TripsByRank:
		say("the same each time on each rank: %s", tripsOfRanks(t))
	case program.TripsLinear:
		say("each time as 1..%s says", t.Expression)
	default:
		say("from %d to %d, %s on average", t.Least, t.Most, units.Significant(t.Mean))
		if len(t.Quartiles) == 3 {
			say("quartiles %g, %g, %g", t.Quartiles[0], t.Quartiles[1], t.Quartiles[2])
		}
	}
	if t.AtLeast {
		say("at least: another trip may have begun where trips of a loop in it, or of a function that it calls, are taken to go on")
	}
	if t.AtMost {
		say("at most: some of these trips may belong to another entry")
	}
	if t.Likely {
		say("likely: another trip may have begun where calls are taken to go on; with these trips what happens in them is regular")
	}
	if t.WithCalls {
		say("trips with calls: the machine code allows trips without MPI calls, which are not seen and not counted")
	}
	if n.StandsFor > 1 {
		say("stands for %d loops round each other, with nothing between them", n.StandsFor)
	}
	if n.Unrolled > 1 {
		say("the machine code has %d copies of the body", n.Unrolled)
	}
	say("the ranks spend %.1f %% of their elapsed time in it", 100*n.Explains)
}

func whyIf(n *program.Node, say func(string, ...any)) {
	say("by %s: %s", n.By, evidence(n.By))
	if n.Of > 0 {
		say("happened %s of %s times, over all ranks", units.Integer(int(n.Happened)), units.Integer(int(n.Of)))
	}
	if n.Ranks != nil {
		say("on %s: %s", units.Counted(len(n.Ranks), "rank"), rundir.RankList(n.Ranks))
	}
	switch w := n.When; {
	case w != nil && w.Kind == program.WhenUnknown:
		say("neither rank nor trip says when: a rule that a single trip breaks is none")
	case w != nil:
		say("the rule holds for each of these times")
	case n.Else:
		say("whenever the branches before it do not")
	}
}

func whyCalls(n *program.Node, say func(string, ...any)) {
	say("%s, over all ranks", units.Counted(int(n.Count), "call"))
	for _, p := range n.Peers {
		say("%s %s: of all ranks that make the call (%s)", p.Way, p.Text, p.Kind)
	}
	if b := n.Bytes; b != nil && b.Least == b.Most {
		say("%s a call", units.Counted(int(b.Least), "byte"))
	} else if b != nil {
		say("%d to %d bytes a call, %s on average", b.Least, b.Most, units.Significant(b.Mean))
	}
	sayPaths(n.Paths, say)
}

func sayPaths(paths []int, say func(string, ...any)) {
	if len(paths) > 0 {
		say("call paths %s of %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(paths), " ", ", "), "[]"), rundir.CallPathsFile)
	}
}

func (s *Shell) whyComputation(n *program.Node, say func(string, ...any)) {
	say("%s, over all ranks, of %s on average (standard deviation %s)", units.Counted(int(n.Count), "burst"), units.Duration(n.MeanNS), units.Duration(n.StdNS))
	for _, c := range n.Clusters {
		name := fmt.Sprintf("in cluster %d", c.Cluster)
		if c.Cluster <= 0 {
			name = "in no cluster"
		}
		say("%s %s, %.1f %% of the line's time", units.Counted(int(c.Bursts), "burst"), name, 100*c.Share)
	}
	for _, a := range n.Around {
		say("between %s and %s (call paths %d and %d of %s)", s.callOf(a[0]), s.callOf(a[1]), a[0], a[1], rundir.CallPathsFile)
	}
}

// callOf is the call of a path, as the first line of it has it.
func (s *Shell) callOf(path int) string {
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[id]; n.Kind == program.KindMPI && slices.Contains(n.Paths, path) {
			return strings.TrimSpace(n.Function + " " + inBrackets(place(n)))
		}
	}
	return "a call that has no line"
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}
