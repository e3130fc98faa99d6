package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"moriens/trace/rundir"
)

// waitsFloor is the share of the ranks' time from which on the summary speaks of waits.
const waitsFloor = .01

// waitWords has the sentences about waits, which summary and `moriens waits` share.
type waitWords struct {
	*rundir.WaitsTable
	worlds  bool // ranks have to be named with their worlds
	windows bool // windows have a table beside it
}

func waitWordsOf(t *rundir.WaitsTable) waitWords {
	w := waitWords{WaitsTable: t}
	for _, c := range t.Causes {
		w.worlds = w.worlds || c.World > 0
	}
	for _, r := range t.ByRank {
		w.worlds = w.worlds || r.World > 0
	}
	return w
}

// who names a location.
func (w waitWords) who(n rundir.ThreadName) string {
	text := n.Short(w.worlds)
	if n.Thread == 0 && w.Locations > w.Ranks {
		text += " thread 0"
	}
	return text
}

// notRecorded is what files call outside.
const notRecorded = "not recorded"

// outside says that a cause, or a part of the path, is what was not recorded.
func (w waitWords) outside() bool {
	is := func(what string) bool { return what == rundir.CauseOutside }
	return slices.ContainsFunc(w.Causes, func(c rundir.WaitsCause) bool { return is(c.What) }) ||
		slices.ContainsFunc(w.Path.Parts, func(p rundir.WaitsPathPart) bool { return is(p.What) }) ||
		slices.ContainsFunc(w.Links, func(l rundir.WaitsLink) bool { return l.Outside > 0 })
}

// place is what a thread did, with details about the cluster.
func place(what string, cluster *int32, details []string) string {
	switch {
	case what == rundir.CauseOutside:
		return "time " + notRecorded
	case what == rundir.CauseMPI:
		return "MPI"
	case cluster == nil:
		return "bursts of no cluster"
	}
	text := fmt.Sprintf("cluster %d", *cluster)
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text
}

// before adds the call that ends what was computed, or in which it was.
func before(text, what, call string) string {
	switch {
	case call == "":
	case what == rundir.CauseMPI:
		return call
	case what == rundir.CauseComputing:
		return text + " before " + call
	}
	return text
}

// details are which clusters of its kind a cause is in, if long, and who has that kind, where few have.
func (w waitWords) details(c *rundir.WaitsCause, long bool) (details []string) {
	if c.Cluster == nil {
		return nil
	}
	if long {
		details = variantsText(c.Variants)
	}
	switch n := w.having(*c.Cluster); {
	case n == 0 || n >= int64(w.Locations):
	case n == 1:
		details = append(details, "no other "+w.location()+" has it")
	case long:
		details = append(details, fmt.Sprintf("only %d of %d %ss have it", n, w.Locations, w.location()))
	}
	return details
}

// having is how many locations have bursts of the kind of a cluster; 0: that is not known.
func (w waitWords) having(cluster int32) int64 {
	k := slices.IndexFunc(w.Clusters, func(c rundir.WaitsCluster) bool { return c.Cluster == cluster })
	if k < 0 {
		return 0
	}
	return w.Clusters[k].Locations
}

// fewVariants is how many variants are named where there are more.
const fewVariants = 4

// variantsText names clusters of a kind, if any.
func variantsText(ids []int32) []string {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("variant %d", ids[0])}
	}
	var names []string
	for _, id := range ids {
		names = append(names, fmt.Sprint(id))
	}
	more := ""
	if n := len(names) - fewVariants; n > 1 {
		names, more = names[:fewVariants], fmt.Sprintf(" and %d more", n)
	}
	return []string{"variants " + strings.Join(names, ", ") + more}
}

// did says by how much longer than others a location was in what: long with the call.
func (w waitWords) did(c *rundir.WaitsCause, long bool) string {
	text := place(c.What, c.Cluster, w.details(c, long))
	if long {
		text = before(text, c.What, c.CallPath)
	}
	if text = "in " + text; c.More > 0 {
		text = spent(c.More) + " longer " + text
	}
	return text
}

// cause is the sentence about a cause.
func (w waitWords) cause(c *rundir.WaitsCause) string {
	return fmt.Sprintf("%s makes others wait %s (%s of all waits): %s", w.who(c.ThreadName), spent(c.Seconds), percent(float64(c.Share)), w.did(c, true))
}

// handedOn says what of a cause's waits other ranks have passed on; "": nothing.
func handedOn(c *rundir.WaitsCause) string {
	const by = "handed on by ranks that wait for it"
	switch rest := c.Seconds - c.Direct; {
	case !(c.Direct > 0):
		return "all of it " + by
	case rest > c.Seconds/1000:
		return fmt.Sprintf("%s of it %s", spent(rest), by)
	}
	return ""
}

// matter says that the waits of a run are worth a line of its summary.
func (w waitWords) matter() bool {
	return len(w.Causes) > 0 && w.Waiting > 0 && w.Waiting >= waitsFloor*w.Seconds*rundir.Number(w.Locations)
}

// line is the waits and their largest cause in one line of a width, 0: of any.
func (w waitWords) line(width int) string {
	c := &w.Causes[0]
	who, share := w.who(c.ThreadName), percent(float64(w.Waiting/w.MPI))
	limits, briefly := "", ""
	if w.Basis == rundir.WaitsCollectives {
		limits, briefly = "; blocking collectives only", "; collectives only"
	}
	if w.Marked {
		limits, briefly = limits+"; clocks do not agree well", briefly+"; uncertain"
	}
	where := *c // without by how much longer it took there
	where.More = 0
	more := "" // where to see what is not in it, as far as there is room
	if w.windows && w.Basis == rundir.WaitsCollectives {
		more = "; messages: moriens waits --windows"
	}
	fits := func(text string) bool { return width == 0 || utf8.RuneCountInString(text) <= width }
	forms := []string{
		fmt.Sprintf("waits: %s (%s of the time in MPI%s): %s makes others wait %s: %s", spent(w.Waiting), share, limits, who, spent(c.Seconds), w.did(c, true)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s: %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), w.did(c, true)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s: %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), w.did(c, false)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), w.did(&where, false)),
	}
	for _, text := range forms {
		switch {
		case fits(text + more):
			return text + more
		case fits(text):
			return text
		}
	}
	return clauses(forms[len(forms)-1], width)
}

// partName is what something costs, in a word.
func partName(what string, cluster *int32) string {
	switch {
	case what == rundir.CauseMPI:
		return "MPI"
	case what == rundir.CauseOutside:
		return notRecorded
	case cluster == nil:
		return "no cluster"
	}
	return fmt.Sprintf("cluster %d", *cluster)
}

// pathLine is the critical path in one line of a width, 0: of any, by cluster.
func (w waitWords) pathLine(width int) string {
	type part struct {
		name  string
		share rundir.Number
	}
	var parts []part
	kinds := make(map[int32]int)
	for i := range w.Clusters {
		c := &w.Clusters[i]
		kind := cmp.Or(c.Kind, c.Cluster)
		k, known := kinds[kind]
		if !known {
			k, kinds[kind] = len(parts), len(parts)
			parts = append(parts, part{name: partName(rundir.CauseComputing, &kind)})
		}
		parts[k].share += c.PathShare
	}
	for _, x := range w.Others {
		parts = append(parts, part{name: partName(x.What, nil), share: x.PathShare})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	const least = .01 // of a part that is named
	text := ""
	for i, p := range parts {
		next := fmt.Sprintf("%s %s", p.name, percent(float64(p.share)))
		switch {
		case i == 0:
			text = "critical path: " + next
		case p.share < least || width > 0 && utf8.RuneCountInString(text+", "+next) > width:
			return text
		default:
			text += ", " + next
		}
	}
	return text
}

// waitsOf are the words of the waits within main; nil where they are not known, or do not matter.
func waitsOf(r *Results) *waitWords {
	if r.Waits == nil || r.Waits.WholeRun == nil {
		return nil
	}
	w := waitWordsOf(r.Waits.Within(rundir.WithinMain))
	if w.windows = r.Waits.Windows != nil; w.matter() {
		return &w
	}
	return nil
}

// writeWaits prints, in up to two lines of a width, who makes others wait and why, and what the critical path is.
func writeWaits(b *strings.Builder, r *Results, width int) {
	w := waitsOf(r)
	if w == nil {
		return
	}
	fmt.Fprintf(b, "%s\n", w.line(width))
	if text := w.pathLine(width); text != "" {
		fmt.Fprintf(b, "%s\n", text)
	}
}

// waitedFor is the cluster that the line about waits names; 0: none.
func waitedFor(r *Results) int32 {
	w := waitsOf(r)
	if w == nil || w.Causes[0].Cluster == nil {
		return 0
	}
	return *w.Causes[0].Cluster
}
