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
	fmt.Fprintf(b, "%s: %s on %s%s%s\n", plain.Line(form.Dir), units.Counted(len(w.Ranks), "rank"), on, separator, spent(w.Seconds))
	if m := form.Manifest; m != nil {
		if text := warning(plain.Of(m)); text != "" {
			fmt.Fprintf(b, "%s; blocked and late times include waiting for a core\n", reasons(text))
		}
	}
	fmt.Fprintf(b, "messages: %s, %v in %s", count(t.Messages), units.Bytes(t.Bytes), units.Counted(int(t.Pairs), "pair"))
	if w.nodes > 1 {
		fmt.Fprintf(b, "; between nodes %s, %v (%s of the bytes)", count(t.InternodeMessages), units.Bytes(t.InternodeBytes), ratioText(float64(t.InternodeBytes)/float64(t.Bytes)))
	}
	fmt.Fprintf(b, "\nblocked: %s in calls that completed receives, %s of the ranks' time; %s in calls that completed sends alone\n", spent(t.Blocked), w.ofRanks(t.Blocked), spent(t.Send))
	if math.IsNaN(float64(t.LateSender)) {
		b.WriteString("late senders and receivers: not known\n")
	} else {
		fmt.Fprintf(b, "late senders: %s; late receivers: %s (%s)", w.lateOf(t.LateSender, t.LateSenderError, " of the time in receives"), w.lateOf(t.LateReceiver, t.LateReceiverError, " of that in sends"), w.basis())
		if t.Unexplained > 0 {
			fmt.Fprintf(b, "; cause not recorded: %s", spent(t.Unexplained))
		}
		b.WriteByte('\n')
	}
	if t.Collectives > 0 {
		fmt.Fprintf(b, "collectives: %s of waits, which are in no pair; moriens waits shows them\n", spent(t.Collectives))
	}
	if t.Send > t.Blocked && w.By == pairing.Blocked {
		next := "--by late lists pairs by waits for late receivers too"
		if math.IsNaN(float64(t.LateReceiver)) {
			next = keepAll + " shows late receivers"
		}
		fmt.Fprintf(b, "sends take longer than receives, and blocked times are of receives alone: %s\n", next)
	}
}

// next is what to do about a kind of finding.
func (w pairWords) next(f *rundir.PairsFinding, dir string) string {
	switch f.Kind {
	case rundir.PairsLateSender:
		return "give other ranks part of its work, or send earlier; moriens waits --by callpath " + dir
	case rundir.PairsLateReceiver:
		return "post the receive earlier (MPI_Irecv before computing), or send without waiting (MPI_Isend)"
	case rundir.PairsSlowLink:
		if f.Node != "" {
			return "compare where the two ranks run with others: cores, sockets, NUMA domains (mpirun --report-bindings); bind them next to each other"
		}
		return "compare the link of these nodes with others; place the ranks elsewhere"
	case rundir.PairsSlowNode:
		return "run without the node, and report it"
	case rundir.PairsSmallMessages:
		return "pack messages to the same rank into one"
	case rundir.PairsFirstMessage:
		return "connections are set up here; exchange a message with each neighbour before what is timed"
	case rundir.PairsIrregular:
		return "view Pairs of the page, size and time over run time: one time, one node, or always"
	case rundir.PairsHeavyPair:
		if len(f.Pairs) > 0 {
			p := f.Pairs[0]
			return fmt.Sprintf("moriens pairs --ranks %s,%s %s shows both", w.name(p[0]), w.name(p[1]), dir)
		}
	case rundir.PairsPlacing:
		return w.orderCommand(dir)
	}
	return ""
}

func (w pairWords) writeFindings(b *strings.Builder, form PairsForm) {
	b.WriteByte('\n')
	switch {
	case len(w.Findings) == 0 && w.blameUnknown():
		fmt.Fprintf(b, "findings: none; which rank makes others wait is not known: %s\n", keepAll)
		return
	case len(w.Findings) == 0:
		b.WriteString("findings: none; no pair, rank or node stands out\n")
		return
	}
	dir, advised := quoted(plain.Line(form.Dir)), make(map[string]bool)
	for i := range w.Findings[:min(mostFindings, len(w.Findings))] {
		f := &w.Findings[i]
		fmt.Fprintf(b, "%s: %s\n", f.Kind, f.Text)
		if text := w.next(f, dir); text != "" && !advised[text] {
			advised[text] = true
			fmt.Fprintf(b, "  → %s\n", text)
		}
	}
	writeMore(b, len(w.Findings)-mostFindings, "more finding")
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
		text = "rank " + w.name(*c.Rank) + " in " + cmp.Or(c.CallPath, "MPI") + " without waiting"
	case c.Rank != nil && c.What == rundir.CauseOutside:
		text = "rank " + w.name(*c.Rank) + " in time that is not recorded"
	case c.Rank != nil:
		text = "rank " + w.name(*c.Rank) + " in no cluster"
		if c.Cluster != nil {
			text = fmt.Sprintf("rank %s in cluster %d", w.name(*c.Rank), *c.Cluster)
		}
		if c.CallPath != "" {
			text += " before " + c.CallPath
		}
	case c.Pair != nil:
		text = fmt.Sprintf("transfers %s–%s", w.name(c.Pair[0]), w.name(c.Pair[1]))
	}
	text += fmt.Sprintf(": %s (%s)", spent(c.Seconds), ratioText(float64(c.Share)))
	if rest := c.Seconds - c.Direct; rest > c.Seconds/1000 {
		text += fmt.Sprintf(", %s of it indirectly, through ranks that wait for it", spent(rest))
	}
	return text
}

// writeLeftOut says what is not known, estimated, or in no pair.
func (w pairWords) writeLeftOut(b *strings.Builder) {
	var list []string
	say := func(there bool, format string, args ...any) {
		if there {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	u := &w.Unpaired
	say(!w.Exact, "estimated: late times, causes, lines and sizes of pairs are of the compared windows, ± standard error; messages, bytes and blocked times are exact")
	unknown, shared := 0, false
	for i := range w.Pairs {
		shared = shared || w.Pairs[i].LateSender > 1.05*w.Pairs[i].Blocked
		if math.IsNaN(float64(w.Pairs[i].LateSender)) {
			unknown++
		}
	}
	say(unknown > 0, "not estimated: late times of %s; fewer than 30 of their messages are in windows, or a side is not recorded", units.Counted(unknown, "pair"))
	say(w.Exact && shared, "late sender above blocked: a call that completes several receives is shared equally by their pairs, its wait is of the pair of the latest message")
	say(w.Table.Summed > 0, "added up: %s of single pairs had no room (%s blocked, %v); they count in the totals alone", units.Counted(int(w.Table.Summed), "row"), spent(w.Table.SummedBlocked), units.Bytes(w.Table.SummedBytes))
	say(u.SummedMessages > 0, "in no pair: %s, %v and %s blocked with peers that are added up", units.Counted(int(u.SummedMessages), "message"), units.Bytes(u.SummedBytes), spent(u.SummedBlocked))
	say(u.OwnMessages > 0, "in no pair: %s of ranks to themselves", units.Counted(int(u.OwnMessages), "message"))
	say(u.UnrecordedMessages > 0, "in no pair: %s, %v with ranks that have no record", units.Counted(int(u.UnrecordedMessages), "message"), units.Bytes(u.UnrecordedBytes))
	for _, text := range w.Why {
		say(true, "note: %s", text)
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(list, "\n"))
	}
}

func (w pairWords) writeNext(b *strings.Builder, form PairsForm) {
	dir := quoted(plain.Line(form.Dir))
	next := ""
	switch text := w.orderCommand(dir); {
	case text != "" && form.Order == "":
		next = text
	case len(w.Findings) > 0 && len(w.Findings[0].Ranks) > 0 && !form.Ranks:
		next = fmt.Sprintf("moriens pairs --ranks %s %s", w.name(w.Findings[0].Ranks[0]), dir)
	default:
		next = "moriens waits " + dir
	}
	fmt.Fprintf(b, "\nnext: %s; view Pairs of the page; docs/pairs.md\n", next)
}
