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
	worlds bool // ranks have to be named with their worlds
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

// place is what a thread did, and where; call is empty where MPI is not named.
func place(what string, cluster *int32) string {
	switch {
	case what == rundir.CauseOutside:
		return "before its first MPI call, or where it was not recorded"
	case what == rundir.CauseMPI:
		return "in MPI"
	case cluster == nil:
		return "in bursts of no cluster"
	}
	return fmt.Sprintf("in cluster %d", *cluster)
}

// did says by how much longer than others a location was in what: long with the call.
func did(c *rundir.WaitsCause, long bool) string {
	text := place(c.What, c.Cluster)
	switch {
	case !long || c.CallPath == "":
	case c.What == rundir.CauseMPI:
		text = "in " + c.CallPath
	case c.What == rundir.CauseComputing:
		text += " before " + c.CallPath
	}
	if c.More > 0 {
		text = spent(c.More) + " longer " + text
	}
	return text
}

// cause is the sentence about a cause.
func (w waitWords) cause(c *rundir.WaitsCause) string {
	return fmt.Sprintf("%s makes others wait %s (%s of all waits): %s", w.who(c.ThreadName), spent(c.Seconds), percent(float64(c.Share)), did(c, true))
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
	forms := []string{
		fmt.Sprintf("waits: %s (%s of the time in MPI%s): %s makes others wait %s: %s", spent(w.Waiting), share, limits, who, spent(c.Seconds), did(c, true)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s: %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), did(c, true)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s: %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), did(c, false)),
		fmt.Sprintf("waits: %s (%s of MPI%s): %s causes %s %s", spent(w.Waiting), share, briefly, who, spent(c.Seconds), did(&where, false)),
	}
	for _, text := range forms {
		if width == 0 || utf8.RuneCountInString(text) <= width {
			return text
		}
	}
	return clauses(forms[len(forms)-1], width)
}

// pathLine is the critical path in one line of a width, 0: of any, by cluster.
func (w waitWords) pathLine(width int) string {
	type part struct {
		name  string
		share rundir.Number
	}
	var parts []part
	for _, p := range w.Path.Parts {
		name := "outside"
		switch {
		case p.What == rundir.CauseMPI:
			name = "MPI"
		case p.What == rundir.CauseComputing && p.Cluster == nil:
			name = "no cluster"
		case p.What == rundir.CauseComputing:
			name = fmt.Sprintf("cluster %d", *p.Cluster)
		}
		k := slices.IndexFunc(parts, func(x part) bool { return x.name == name })
		if k < 0 {
			k = len(parts)
			parts = append(parts, part{name: name})
		}
		parts[k].share += p.Share
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

// waitsOf are the words of the waits of the whole run; nil where they are not known, or do not matter.
func waitsOf(r *Results) *waitWords {
	if r.Waits == nil || r.Waits.WholeRun == nil {
		return nil
	}
	if w := waitWordsOf(r.Waits.WholeRun); w.matter() {
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
	id := *w.Causes[0].Cluster
	for i := range r.Run.Clusters {
		if x := &r.Run.Clusters[i]; x.ID == id {
			return x.Kind()
		}
	}
	return 0
}
