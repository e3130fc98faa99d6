package pairing

import (
	"fmt"
	"slices"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/trace/rundir"
)

// lateRanks finds the ranks that make others wait, as senders or as receivers.
func (d *describer) lateRanks(n *named) {
	c := &d.charges
	if c.totalNS == 0 {
		return
	}
	asReceiver, asSender := make([]int64, len(c.ofRank)), make([]int64, len(c.ofRank))
	longest := make([]*pairs.Flow, len(c.ofRank)) // by who waited most for it
	for i := range d.known.Flows {
		f := &d.known.Flows[i]
		if f.Kind == pairs.Sent {
			asReceiver[f.Peer] += f.LateNS
		} else {
			asSender[f.Peer] += f.LateNS
		}
		if x := longest[f.Peer]; f.LateNS > 0 && (x == nil || f.LateNS > x.LateNS) {
			longest[f.Peer] = f
		}
	}
	for rank, ns := range c.ofRank {
		others := float64(c.totalNS-ns) / float64(max(len(c.ofRank)-1, 1))
		if float64(ns) < max(lateShare*float64(c.totalNS), leastLate*d.runNS(), unlike*others) {
			continue
		}
		rank := int32(rank)
		errorNS := d.errorOf(rank, float64(ns))
		if float64(ns) < leastErrors*errorNS {
			continue
		}
		f := rundir.PairsFinding{Kind: rundir.PairsLateSender, Seconds: seconds(ns), Ranks: []int{int(rank)}, Node: d.node(rank), Factor: unknown}
		share := 100 * float64(ns) / float64(c.totalNS)
		of := "late-sender"
		if asReceiver[rank] > asSender[rank] {
			f.Kind, of = rundir.PairsLateReceiver, "late-receiver"
		} else if slices.ContainsFunc(asReceiver, func(ns int64) bool { return ns > 0 }) {
			of = "late-sender and late-receiver"
		}
		f.Text = fmt.Sprintf("%s makes others wait %s (%.0f %% of all %s time)", d.name(rank), duration(float64(ns))+d.doubt(errorNS), share, of)
		x := longest[rank]
		if x != nil {
			f.Messages = x.Messages
		}
		if f.Kind == rundir.PairsLateReceiver && x != nil {
			f.CallPath = d.pathOf(x)
			f.Text += fmt.Sprintf(": %s waits%s %s a message for it", d.name(x.Rank), in(f.CallPath), duration(float64(x.LateNS)/float64(max(x.Messages, 1))))
		} else if text, path := d.doing(rank, x); text != "" {
			f.CallPath = path
			f.Text += ": " + text
		}
		if d.crowded[d.known.Ranks[rank].Node] {
			f.Text += "; waiting for a core included"
		}
		d.find(f)
		n.ranks[rank] = true
	}
}

// errorOf is the standard error of what a rank causes: as large a part of it as that of the waits for the rank is of
// these.
func (d *describer) errorOf(rank int32, ns float64) float64 {
	if !d.counted {
		return 0
	}
	e := &d.errors.For[rank]
	return ns * e.ErrorNS() / float64(max(e.NS, 1))
}

// doubt says how good an estimate is.
func (d *describer) doubt(errorNS float64) string {
	if !d.counted {
		return ""
	}
	return " ± " + duration(errorNS)
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// pathOf is where a flow has taken most time.
func (d *describer) pathOf(f *pairs.Flow) string {
	best := (*pairs.End)(nil)
	for i := range d.known.Ends {
		e := &d.known.Ends[i]
		if e.Rank == f.Rank && e.Peer == f.Peer && e.Kind == f.Kind && (best == nil || e.BlockedNS > best.BlockedNS) {
			best = e
		}
	}
	if best == nil || int(best.Path) >= len(d.names) {
		return ""
	}
	return d.names[best.Path]
}

// doing says what a rank does for longer than the one that waits for it most.
func (d *describer) doing(rank int32, waits *pairs.Flow) (text, path string) {
	for _, x := range d.charges.order {
		if x.rank != rank || x.peer >= 0 {
			continue
		}
		s := d.charges.sums[x]
		more := ""
		if s.Waits > 0 {
			more = duration(float64(s.MoreNS)/float64(s.Waits)) + " "
		}
		text = d.wordsOf(x, more)
		if waits != nil {
			text += " than " + d.name(waits.Rank)
		}
		return text, x.place
	}
	return "", ""
}

func (d *describer) wordsOf(x deed, more string) string {
	switch {
	case x.what == waits.MPI:
		return "it is " + more + "longer" + in(x.place) + ", without waiting,"
	case x.what == waits.Outside:
		return "it spends " + more + "longer in what is not recorded"
	case x.place == "":
		return "it computes " + more + "longer"
	}
	return "it computes " + more + "longer before " + x.place
}
