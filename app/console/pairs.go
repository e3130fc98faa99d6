package console

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"moriens/app/pairing"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// A PairsForm says how pairs are printed.
type PairsForm struct {
	Dir                string
	Top                int    // pairs that are listed
	Ranks              bool   // pairs are limited to those of some ranks
	Cut                bool   // the groups are of a cut that was asked for
	Order, OrderFormat string // file that the advised order was written to; empty: none

	Manifest *rundir.Manifest // nil: not known
}

// How many entries the text has of each list.
const (
	mostFindings    = 8
	mostGroups      = 12
	mostPairCauses  = 5
	mostPairPaths   = 3
	mostPlaced      = 16
	mostOddSizes    = 3
	mostNamedOfThem = 8 // spans of ranks in a list
)

// Pairs prints who exchanged what with whom, and what it cost.
func Pairs(to io.Writer, r *pairing.Result, form PairsForm) error {
	w := pairWordsOf(plain.Of(r))
	var b strings.Builder
	w.writeHead(&b, form)
	w.writeFindings(&b, form)
	w.writeGroups(&b, form)
	w.writePairs(&b, form)
	w.writeDendrogram(&b, form)
	w.writeLines(&b)
	w.writeCauses(&b)
	w.writePlacement(&b, form)
	w.writeLeftOut(&b)
	w.writeNext(&b, form)
	_, err := io.WriteString(to, b.String())
	return err
}

func (w pairWords) writeHead(b *strings.Builder, form PairsForm) {
	t := w.Totals
	on := units.Counted(w.nodes, "node")
	if p := w.Placement; p != nil && p.RanksPerNode > 0 {
		on += fmt.Sprintf(" of %s, assumed", units.Counted(p.RanksPerNode, "rank"))
	}
	elapsed, of := w.Seconds, ""
	if form.Manifest != nil && form.Manifest.Seconds > w.Seconds {
		elapsed, of = form.Manifest.Seconds, ", MPI_Init to MPI_Finalize"
	}
	fmt.Fprintf(b, "%s: %s on %s%s%s\n", plain.Line(form.Dir), units.Counted(len(w.Ranks), "rank"), on, separator, spent(elapsed))
	if m := form.Manifest; m != nil {
		if text := warning(plain.Of(m)); text != "" {
			fmt.Fprintf(b, "%s; blocked and late times include waiting for a core\n", reasons(text))
		}
	}
	fmt.Fprintf(b, "messages: %s, %v in %s", count(t.Messages), units.Bytes(t.Bytes), units.Counted(int(t.Pairs), "pair"))
	if w.nodes > 1 {
		fmt.Fprintf(b, "; between nodes %s, %v (%s of the bytes)", count(t.InternodeMessages), units.Bytes(t.InternodeBytes), ratioText(float64(t.InternodeBytes)/float64(t.Bytes)))
	}
	fmt.Fprintf(b, "\nblocked: %s in calls that completed receives, %s of the ranks' time (%s × %s%s); %s in calls that completed sends alone\n", spent(t.Blocked), w.ofRanks(t.Blocked), units.Integer(len(w.Ranks)), spent(w.Seconds), of, spent(t.Send))
	if math.IsNaN(float64(t.LateSender)) {
		b.WriteString("late senders and receivers: not known\n")
	} else {
		of := " of the time in receives"
		if w.probed() {
			of = ", probes and polls included"
		}
		fmt.Fprintf(b, "late senders: %s; late receivers: %s (%s)", w.lateOf(t.LateSender, t.LateSenderError, of), w.lateOf(t.LateReceiver, t.LateReceiverError, " of that in sends"), w.basis())
		if t.Unexplained > 0 {
			fmt.Fprintf(b, "; cause not recorded: %s", spent(t.Unexplained))
		}
		b.WriteByte('\n')
	}
	if t.Collectives > 0 {
		fmt.Fprintf(b, "collectives: %s of waits, which are in no pair; moriens waits shows them\n", spent(t.Collectives))
	}
	if w.sendsLonger() {
		next := "--by late lists pairs by waits for late receivers too"
		if math.IsNaN(float64(t.LateReceiver)) {
			next = keepAll + " shows late receivers"
		}
		fmt.Fprintf(b, "sends take longer than receives, and blocked times are of receives alone: %s\n", next)
	}
}

func (w pairWords) writeFindings(b *strings.Builder, form PairsForm) {
	b.WriteByte('\n')
	switch {
	case len(w.Findings) == 0 && w.blameUnknown():
		fmt.Fprintf(b, "findings: none; which rank makes others wait is not known: %s\n", keepAll)
		return
	case len(w.Findings) == 0 && form.Manifest != nil && warning(plain.Of(form.Manifest)) != "":
		b.WriteString("findings: none; where ranks had to wait for a core most kinds are not looked for\n")
		return
	case len(w.Findings) == 0:
		b.WriteString("findings: none; no pair, rank or node stands out\n")
		return
	}
	dir, advised := quoted(plain.Line(form.Dir)), make(map[string]bool)
	for i := range w.Findings[:min(mostFindings, len(w.Findings))] {
		f := &w.Findings[i]
		fmt.Fprintf(b, "%s: %s\n", f.Kind, f.Text)
		if text, _ := w.AdviceOn(&f.PairsFinding, dir); !advised[text] {
			advised[text] = true
			fmt.Fprintf(b, "  → %s\n", text)
		}
	}
	writeMore(b, len(w.Findings)-mostFindings, "more finding")
}

// sendsLonger reports whether blocked times, by which pairs are listed, miss most of the time in calls for messages.
func (w pairWords) sendsLonger() bool {
	return w.Totals.Send > w.Totals.Blocked && w.By == pairing.Blocked
}

// writeMore says how many there are besides those that are printed.
func writeMore(b *strings.Builder, n int, what string) {
	if n > 0 {
		fmt.Fprintf(b, "%s: --json\n", units.Counted(n, what))
	}
}

func (w pairWords) writeGroups(b *strings.Builder, form PairsForm) {
	b.WriteByte('\n')
	q := fmt.Sprintf("modularity %.2f, %.2f if all pairs weighed the same", w.Modularity, w.TopologyModularity)
	switch {
	case math.IsNaN(float64(w.Modularity)):
		fmt.Fprintf(b, "groups: none; no pair has any %s\n", w.what())
		return
	case w.GroupsFollowTopology:
		fmt.Fprintf(b, "groups follow the topology: by %s ranks are grouped as by who exchanges messages at all (%s)\n", w.what(), q)
		return
	case len(w.Groups) == 1 && !form.Cut:
		fmt.Fprintf(b, "groups: one; there are no communities by %s (modularity of the best cut %.2f)\n", w.what(), w.Modularity)
		return
	}
	fmt.Fprintf(b, "groups by %s (%s linkage, %s):\n", w.what(), w.Linkage, q)
	groups := slices.Clone(w.Groups)
	slices.SortStableFunc(groups, func(x, y pairing.Group) int { return cmp.Compare(y.Blocked, x.Blocked) })
	var single []int
	groups = slices.DeleteFunc(groups, func(g pairing.Group) bool {
		if len(g.Ranks) == 1 {
			single = append(single, g.Ranks[0])
		}
		return len(g.Ranks) == 1
	})
	for _, g := range groups[:min(mostGroups, len(groups))] {
		fmt.Fprintf(b, "  %s: %s of blocked time\n", w.list(g.Ranks), w.ofBlocked(g.Blocked))
	}
	writeMore(b, len(groups)-mostGroups, "more group")
	if len(single) > 0 {
		slices.Sort(single)
		fmt.Fprintf(b, "  each by itself: %s\n", w.list(single))
	}
}

func (w pairWords) writeCauses(b *strings.Builder) {
	if len(w.Causes) == 0 {
		return
	}
	fmt.Fprintf(b, "\ncauses of late time, and their share (%s)\n", w.basis())
	for i := range w.Causes[:min(mostPairCauses, len(w.Causes))] {
		fmt.Fprintf(b, "  %s\n", w.pairCause(&w.Causes[i]))
	}
	writeMore(b, len(w.Causes)-mostPairCauses, "more cause")
}

func (w pairWords) pairCause(c *rundir.PairsCause) string {
	text := "?"
	switch {
	case c.Rank != nil && c.What == rundir.CauseMPI:
		text = "rank " + w.Name(*c.Rank) + " in " + cmp.Or(c.CallPath, "MPI") + " without waiting"
	case c.Rank != nil && c.What == rundir.CauseOutside:
		text = "rank " + w.Name(*c.Rank) + " in time that is not recorded"
	case c.Rank != nil:
		text = "rank " + w.Name(*c.Rank) + " in no cluster"
		if c.Cluster != nil {
			text = fmt.Sprintf("rank %s in cluster %d", w.Name(*c.Rank), *c.Cluster)
		}
		if c.CallPath != "" {
			text += " before " + c.CallPath
		}
	case c.Pair != nil:
		text = fmt.Sprintf("transfers %s–%s", w.Name(c.Pair[0]), w.Name(c.Pair[1]))
	}
	text += fmt.Sprintf(": %s (%s)", spent(c.Seconds), ratioText(float64(c.Share)))
	if rest := c.Seconds - c.Direct; rest > c.Seconds/1000 {
		text += fmt.Sprintf(", %s of it indirectly, through ranks that wait for it", spent(rest))
	}
	return text
}

// probed says that late senders took longer than all calls that completed receives: some of it was in probes and polls.
func (w pairWords) probed() bool { return w.Exact && w.Totals.LateSender > w.Totals.Blocked }

// writeLeftOut says what is not known, estimated, or in no pair.
func (w pairWords) writeLeftOut(b *strings.Builder) {
	var list []string
	say := func(there bool, format string, args ...any) {
		if there {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	u := &w.Unpaired
	unknown, shared, sized := 0, false, len(w.Lines) > 0
	for i := range w.Pairs {
		p := &w.Pairs[i]
		shared, sized = shared || p.LateSender > 1.05*p.Blocked, sized || len(p.Sizes) > 0
		if math.IsNaN(float64(p.LateSender)) {
			unknown++
		}
	}
	known := !w.blameUnknown()
	say(known && !w.Exact, "exact: messages, bytes and blocked times; ± is the standard error of an estimate")
	say(!known, "not known: late times and causes; messages, bytes and blocked times are exact")
	say(!known && !w.Exact && sized, "estimated: lines and sizes of pairs are of the compared windows")
	say(known && unknown > 0, "not estimated: late times of %s; fewer than 30 of their messages are in windows, or a side is not recorded", units.Counted(unknown, "pair"))
	say(w.probed(), "late sender above blocked: waits in MPI_Probe, and in polls between which a rank computes, are no blocked time; --by late lists pairs by them")
	say(w.Exact && shared && !w.probed(), "late sender above blocked: a call that completes several receives is shared equally by their pairs, its wait is of the pair of the latest message")
	say(w.Table.Summed > 0, "added up: %s of single pairs had no room (%s blocked, %v); they count in the totals alone", units.Counted(int(w.Table.Summed), "row"), spent(w.Table.SummedBlocked), units.Bytes(w.Table.SummedBytes))
	say(u.SummedMessages > 0, "in no pair: %s, %v and %s blocked with peers that are added up", units.Counted(int(u.SummedMessages), "message"), units.Bytes(u.SummedBytes), spent(u.SummedBlocked))
	say(u.OwnMessages > 0, "in no pair: %s, %v of ranks to themselves", units.Counted(int(u.OwnMessages), "message"), units.Bytes(u.OwnBytes))
	say(u.UnrecordedMessages > 0, "in no pair: %s, %v with ranks that have no record", units.Counted(int(u.UnrecordedMessages), "message"), units.Bytes(u.UnrecordedBytes))
	for _, text := range w.Why {
		say(true, "note: %s", text)
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(list, "\n"))
	}
}

// writeNext names one command: that of the advice on the largest finding, where it has one.
func (w pairWords) writeNext(b *strings.Builder, form PairsForm) {
	dir := quoted(plain.Line(form.Dir))
	next, advised, order := "moriens waits "+dir, "", ""
	switch {
	case math.IsNaN(float64(w.Totals.Collectives)): // waits are not known
		next = "moriens efficiency " + dir
	case w.sendsLonger() && !math.IsNaN(float64(w.Totals.LateReceiver)):
		next = "moriens pairs --by late " + dir
	}
	if form.Order == "" {
		order = w.OrderCommand(dir)
	}
	var largest rundir.PairsFinding
	if len(w.Findings) > 0 {
		largest = w.Findings[0].PairsFinding
		_, advised = w.AdviceOn(&largest, dir)
	}
	done := largest.Kind == rundir.PairsPlacing && form.Order != "" || largest.Kind == rundir.PairsHeavyPair && form.Ranks
	switch {
	case advised != "" && !done:
		next = advised
	case order != "":
		next = order
	case len(largest.Ranks) > 0 && !form.Ranks:
		next = fmt.Sprintf("moriens pairs --ranks %s %s", w.Name(largest.Ranks[0]), dir)
	}
	fmt.Fprintf(b, "\nnext: %s; view Pairs of the page; docs/pairs.md\n", next)
}
