package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// mostClasses is how many classes of ranks, and how many ranks that are unlike theirs, are printed; manifest.json has
// all.
const mostClasses = 8

// writeRanks says how the ranks differ: a row for each class of ranks that behave alike, with its figures and how it
// differs from the first, and a line for each rank that is unlike its class.
func writeRanks(b *strings.Builder, k *rundir.Kept, e *rundir.Efficiency, worlds bool) {
	if len(k.Classes) == 0 {
		return
	}
	of := "ranks"
	if e != nil && len(e.Runs) == 1 && e.Runs[0].Locations > e.Runs[0].Ranks {
		of = "threads"
	}
	fmt.Fprintf(b, "%s: %s\n", of, classesText(k, of))
	writeTable(b, classTable(k, e, of, worlds))
	for _, o := range k.Outliers[:min(len(k.Outliers), mostClasses)] {
		fmt.Fprintf(b, "unlike its class: %s\n", outlierText(k, &o, worlds))
	}
	if rest := len(k.Outliers) - mostClasses; rest > 0 {
		fmt.Fprintf(b, "unlike their class: %d more, in %s\n", rest, rundir.ManifestFile)
	}
}

// classesText is the first line, about ranks or threads; of two, each a class, how they differ.
func classesText(k *rundir.Kept, of string) string {
	size := 0
	for _, c := range k.Classes {
		size += c.Size
	}
	text := fmt.Sprintf("%s of %s that behave alike", units.Counted(len(k.Classes), "class"), of)
	switch {
	case size == 1:
		return "1"
	case size == 2 && len(k.Classes) == 2:
		if k.Differ != "" {
			return k.Differ
		}
		return "2 that differ little"
	case size == 2 && len(k.Classes) == 1 && len(k.Outliers) == 0:
		return "both behave alike"
	case len(k.Classes) == 1 && len(k.Outliers) == 0:
		return fmt.Sprintf("all %s behave alike", units.Integer(size))
	case len(k.Classes) == 1:
		text = fmt.Sprintf("%s of %s behave alike", units.Integer(size-len(k.Outliers)), units.Integer(size))
	}
	if n := len(k.Outliers); n > 0 {
		text += fmt.Sprintf(", %s unlike", units.Integer(n))
		if len(k.Classes) > 1 {
			text += " their class"
		}
	}
	return text
}

// classTable has computing time and share in MPI as means over the ranks, or threads, of a class, within main.
func classTable(k *rundir.Kept, e *rundir.Efficiency, of string, worlds bool) table {
	t := table{
		head: []string{"  class", of, "computing", "in MPI", "bursts", "time spent"},
		left: []bool{true, false, false, false, false, true},
	}
	if len(k.Classes) > 1 {
		t.head[5] = "time spent; of the others: difference from the first"
	}
	groups := make(map[string]rundir.EfficiencyGroup)
	if e != nil && len(e.Runs) == 1 {
		for _, g := range e.Runs[0].Classes {
			groups[g.Name] = g
		}
	}
	shown := min(len(k.Classes), mostClasses)
	for i, c := range k.Classes[:shown] {
		name := c.Exemplar.Short(worlds)
		computing, mpi, bursts := "-", "-", "-"
		if g, known := groups["like "+name]; known {
			computing, mpi = elapsed(g.Mean), ratioText(float64(g.MPI))
		}
		if c.Bursts != nil {
			bursts = units.Integer(*c.Bursts)
		}
		if c.Size > 1 {
			name = "like " + name
		}
		t.rows = append(t.rows, []string{"  " + name, units.Integer(c.Size), computing, mpi, bursts, classText(&c, i == 0)})
	}
	if rest := k.Classes[shown:]; len(rest) > 0 {
		size := 0
		for _, c := range rest {
			size += c.Size
		}
		t.rows = append(t.rows, []string{fmt.Sprintf("  %d more", len(rest)), units.Integer(size), "", "", "", "in " + rundir.ManifestFile})
	}
	return t
}

// classText says what the ranks of a class spend their time on, or how that differs from the first one's, where they
// ran, and whether others wait for the one that stands for them.
func classText(c *rundir.Class, first bool) string {
	text := c.Differs
	if first || text == "" {
		text = c.Profile
	}
	if c.Where != "" {
		text += "; " + c.Where
	}
	if _, more, found := strings.Cut(c.Reason, "; "); found {
		text += "; " + more
	}
	return strings.TrimPrefix(text, "; ")
}

// outlierText says what is unusual about a rank, and against what.
func outlierText(k *rundir.Kept, o *rundir.Outlier, worlds bool) string {
	text := o.Short(worlds)
	if o.Node != "" {
		text += " on " + o.Node
	}
	if o.Class >= 0 && o.Class < len(k.Classes) && len(k.Classes) > 1 {
		text += fmt.Sprintf(" (class like %s)", k.Classes[o.Class].Exemplar.Short(worlds))
	}
	return text + " " + o.Reason
}

// A phase of iterations is named where it has namedPhase of the computing time at least; below longPhase only if its
// iterations take longIteration of the run each.
const namedPhase, longPhase, longIteration = .05, .25, .001

// mostPhases is how many phases of iterations are named.
const mostPhases = 3

// iterations describes the phases of iterations, the one with most computing time first; those that are next to nothing
// in one clause.
func iterations(phases []rundir.Iterations, computing float64) string {
	order, share := byTime(phases, computing)
	run := runOf(phases)
	short := func(i int) bool {
		return share(i) < namedPhase || share(i) < longPhase && float64(phases[i].MedianNS) < longIteration*run
	}
	if len(order) == 0 {
		if len(phases) > 0 {
			return "none: " + phases[0].Reason
		}
		return ""
	}
	var parts []string
	small, more := 0, 0
	for _, i := range order {
		switch {
		case short(i):
			small++
		case len(parts) == mostPhases:
			more++
		default:
			parts = append(parts, iterationsText(i, &phases[i], share(i)))
		}
	}
	if more > 0 {
		parts = append(parts, units.Counted(more, "more phase"))
	}
	switch {
	case len(parts) == 0: // which is no reason to name the largest of next to nothing first
		i := order[0]
		parts = append(parts, fmt.Sprintf("only %s, the largest: %s", units.Counted(small, "short phase"), iterationsText(i, &phases[i], share(i))))
	case small > 0:
		parts = append(parts, units.Counted(small, "short phase"))
	}
	return strings.Join(parts, "; ")
}

// byTime are the numbers of the phases that have iterations, the one with most time first, and what share each has: of
// the computing time, or where that is not known, of the run.
func byTime(phases []rundir.Iterations, computing float64) (order []int, share func(i int) float64) {
	run := runOf(phases)
	share = func(i int) float64 {
		p := &phases[i]
		if computed := float64(p.Computing); computed > 0 && computing > 0 {
			return computed / computing
		}
		return float64(p.Iterations) * float64(p.MedianNS) / run
	}
	for i := range phases {
		if phases[i].Iterations > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(share(b), share(a)) })
	return order, share
}

// runOf is how long the phases take together, in ns.
func runOf(phases []rundir.Iterations) float64 {
	begin, end := int64(math.MaxInt64), int64(0)
	for i := range phases {
		begin, end = min(begin, phases[i].BeginNS), max(end, phases[i].EndNS)
	}
	return max(float64(end-begin), 1)
}

func iterationsText(i int, p *rundir.Iterations, share float64) string {
	of := "computing time"
	if !(p.Computing > 0) {
		of = "run"
	}
	return fmt.Sprintf("phase %d: %s, median %s, %s each%s, %s of the %s",
		i, units.Counted(p.Iterations, "iteration"), Duration(float64(p.MedianNS)), units.Counted(p.PeriodBursts, "burst"), within(p.Inner), percent(min(share, 1)), of)
}
