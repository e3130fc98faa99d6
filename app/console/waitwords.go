package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// waitsFloor is the share of the ranks' time from which on the summary speaks of waits.
const waitsFloor = .01

// waitWords has the sentences about waits, which summary and `moriens waits` share.
type waitWords struct {
	*rundir.WaitsTable
	worlds  bool          // ranks have to be named with their worlds
	windows bool          // windows have a table beside it
	outside rundir.Number // seconds of waits outside of it
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

// place is what a thread did, with details about the cluster.
func place(what string, cluster *int32, details []string) string {
	switch {
	case what == rundir.CauseOutside:
		return "time " + notRecorded
	case what == rundir.CauseMPI:
		return "MPI"
	case cluster == nil:
		return "bursts in no cluster"
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
	where := *c
	where.More = 0
	text := fmt.Sprintf("%s makes others wait %s (%s of all waits) %s", w.who(c.ThreadName), spent(c.Seconds), percent(float64(c.Share)), w.did(&where, true))
	if c.Waits > 0 && c.More > 0 {
		text += fmt.Sprintf(": %s, on average %s longer than on the waiting %s", units.Counted(int(c.Waits), "wait"), spent(c.More), w.location())
	}
	return text
}

// indirect says what of a cause's waits other ranks have passed on; "": nothing.
func (w waitWords) indirect(c *rundir.WaitsCause) string {
	by := fmt.Sprintf("indirectly, through %ss that wait for it", w.location())
	switch rest := c.Seconds - c.Direct; {
	case !(c.Direct > 0):
		return "all of it " + by
	case rest > c.Seconds/1000:
		return fmt.Sprintf("%s of it %s", spent(rest), by)
	}
	return ""
}

// causing are those who make others wait, the one with most first: of those that are not among the ranks of the table
// as much as its causes say.
func (w waitWords) causing() []rundir.WaitsRank {
	list := slices.Clone(w.ByRank)
	for i := range w.Causes {
		c := &w.Causes[i]
		is := func(r rundir.WaitsRank) bool { return r.ThreadName == c.ThreadName }
		if slices.ContainsFunc(w.ByRank, is) {
			continue
		}
		k := slices.IndexFunc(list, is)
		if k < 0 {
			k = len(list)
			list = append(list, rundir.WaitsRank{ThreadName: c.ThreadName})
		}
		list[k].Caused += c.Seconds
	}
	list = slices.DeleteFunc(list, func(r rundir.WaitsRank) bool { return !(r.Caused > 0) })
	slices.SortStableFunc(list, func(a, b rundir.WaitsRank) int { return cmp.Compare(b.Caused, a.Caused) })
	return list
}

// largest is the largest cause of one who makes others wait; nil: none is listed.
func (w waitWords) largest(of rundir.ThreadName) *rundir.WaitsCause {
	k := slices.IndexFunc(w.Causes, func(c rundir.WaitsCause) bool { return c.ThreadName == of })
	if k < 0 {
		return nil
	}
	return &w.Causes[k]
}

// The line of those who make others wait names so many, and those beside the first that cause that share of all waits.
const (
	mostCausing  = 4
	leastCausing = .05
)

// causingLine is who makes others wait most, in a line; "": nobody does.
func (w waitWords) causingLine() string {
	list, text, named := w.causing(), "", 0
	for _, r := range list[:min(mostCausing, len(list))] {
		share := float64(r.Caused / w.Waiting)
		if named == 0 {
			text = fmt.Sprintf("%s makes others wait %s (%s of all waits)", w.who(r.ThreadName), spent(r.Caused), ratioText(share))
		} else if share >= leastCausing {
			text += fmt.Sprintf(", %s %s (%s)", w.who(r.ThreadName), spent(r.Caused), ratioText(share))
		} else {
			break
		}
		named++
	}
	switch rest := len(list) - named; {
	case named > 0 && len(w.ByRank) < w.Locations: // of the others it is not known here who does
		text += fmt.Sprintf(", other %ss less", w.location())
	case rest > 0:
		text += ", " + units.Counted(rest, "more "+w.location())
	}
	return text
}

// all are those whose waits add up.
func (w waitWords) all() string { return "all " + w.location() + "s" }

// matter says that the waits of a run are worth a line of its summary.
func (w waitWords) matter() bool {
	return len(w.causing()) > 0 && w.Waiting > 0 && w.Waiting >= waitsFloor*w.Seconds*rundir.Number(w.Locations)
}

// line is the waits, who causes most of them, and the largest cause of that one, in one line of a width, 0: of any.
func (w waitWords) line(width int) string {
	first := w.causing()[0]
	limits, briefly, shortest := "", "", ""
	if w.Basis == rundir.WaitsCollectives {
		limits, briefly, shortest = "; collectives only", "; collectives only", "; collectives"
	}
	if w.Marked {
		limits, briefly, shortest = limits+"; clocks do not agree well", briefly+"; uncertain", shortest+"; uncertain"
	}
	more := "" // where to see what is not in it, as far as there is room
	if w.windows && w.Basis == rundir.WaitsCollectives {
		more = "; messages: moriens waits --windows"
	}
	if w.outside >= w.Waiting {
		more = fmt.Sprintf("; %s more outside of main", spent(w.outside))
	}
	fits := func(text string) bool { return width == 0 || utf8.RuneCountInString(text) <= width }
	head := func(of, limits, causes string) string {
		return fmt.Sprintf("waits, %s: %s (%s of %s%s): %s %s %s", w.all(), spent(w.Waiting), percent(float64(w.Waiting/w.MPI)), of, limits, w.who(first.ThreadName), causes, spent(first.Caused))
	}
	brief := head("MPI", briefly, "causes")
	forms := []string{head("MPI", shortest, "causes")}
	if c := w.largest(first.ThreadName); c != nil {
		where, there := *c, place(c.What, c.Cluster, nil)
		where.More = 0 // without by how much longer it took there
		of, part := ": ", " "
		if text := spent(c.Seconds); text != spent(first.Caused) {
			of, part = fmt.Sprintf(", %s of it ", text), fmt.Sprintf(", %s ", text)
		}
		forms = []string{
			head("the time in MPI", limits, "makes others wait") + of + w.did(c, true),
			brief + of + w.did(c, true),
			brief + of + w.did(c, false),
			brief + strings.TrimPrefix(of, ":") + w.did(&where, false),
			brief + part + w.did(&where, false),
			brief + part + "in " + there,
			forms[0] + part + "in " + there,
			forms[0],
		}
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
func (w waitWords) partName(what string, cluster *int32) string {
	switch {
	case what == rundir.CauseMPI:
		return w.mpi()
	case what == rundir.CauseOutside:
		return notRecorded
	case cluster == nil:
		return "no cluster"
	}
	return fmt.Sprintf("cluster %d", *cluster)
}

// mpi is what is in MPI without being known as waiting.
func (w waitWords) mpi() string {
	if w.Basis == rundir.WaitsCollectives {
		return "MPI with waits for messages"
	}
	return "MPI"
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
			parts = append(parts, part{name: w.partName(rundir.CauseComputing, &kind)})
		}
		parts[k].share += c.PathShare
	}
	for _, x := range w.Others {
		parts = append(parts, part{name: w.partName(x.What, nil), share: x.PathShare})
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
	w.windows, w.outside = r.Waits.Windows != nil, r.Waits.Outside()
	if w.matter() {
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
	if w == nil {
		return 0
	}
	if c := w.largest(w.causing()[0].ThreadName); c != nil && c.Cluster != nil {
		return *c.Cluster
	}
	return 0
}
