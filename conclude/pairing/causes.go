package pairing

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/trace/rundir"
)

// A deed is what makes others wait in messages: what a rank does, at a place, or the transfers of a pair.
type deed struct {
	rank, peer int32 // peer -1: it is a rank
	what       waits.What
	cluster    int32 // that stands for the kind; 0: none
	place      string
}

func (a deed) compare(b deed) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.peer, b.peer), cmp.Compare(a.what, b.what), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.place, b.place))
}

// charges are what deeds come to.
type charges struct {
	sums    map[deed]*waits.Charge
	order   []deed // the largest first
	ofRank  []int64
	totalNS int64 // all waits in messages
}

func (c *charges) add(x deed, of waits.Charge) {
	s := c.sums[x]
	if s == nil {
		s = new(waits.Charge)
		c.sums[x] = s
	}
	s.NS, s.DirectNS, s.Waits, s.MoreNS = s.NS+of.NS, s.DirectNS+of.DirectNS, s.Waits+of.Waits, s.MoreNS+of.MoreNS
}

// leastCause is the share of the waits from which on a cause is listed.
const leastCause = .001

// takeCauses adds up what waits in messages are charged to: to ranks, and what is residual in MPI to the pairs whose
// messages the calls completed, by how long these took without waiting.
func (d *describer) takeCauses() {
	c := &d.charges
	c.sums, c.ofRank = make(map[deed]*waits.Charge), make([]int64, len(d.known.Ranks))
	if d.late == nil {
		d.file.Rest = 0
		return
	}
	c.totalNS = d.late.MessagesWaitNS
	for i := range d.late.Causes {
		of := &d.late.Causes[i]
		if of.Messages.NS == 0 {
			continue
		}
		rank, k := d.known.RankOf[of.Thread], d.late.Keys[of.Key]
		x := deed{rank: rank, peer: -1, what: k.What}
		switch {
		case k.What == waits.MPI && d.transfers(rank, k.Path, of.Messages):
			continue
		case k.What == waits.Computing && k.Cluster > 0:
			x.cluster = d.run.Clusters[k.Cluster-1].Kind()
			fallthrough
		case k.What == waits.Computing, k.What == waits.MPI:
			if int(k.Path) < len(d.names) && k.Path > 0 {
				x.place = d.names[k.Path]
			}
		default:
			x.what = waits.Outside
		}
		c.add(x, of.Messages)
	}
	for x, s := range c.sums {
		c.order = append(c.order, x)
		if x.peer < 0 {
			c.ofRank[x.rank] += s.NS
		}
	}
	slices.SortFunc(c.order, func(a, b deed) int { return cmp.Or(cmp.Compare(c.sums[b].NS, c.sums[a].NS), a.compare(b)) })
	rest := int64(0)
	for _, x := range c.order {
		s := c.sums[x]
		share := float64(s.NS) / float64(max(c.totalNS, 1))
		if share < leastCause {
			rest += s.NS
			continue
		}
		p := rundir.PairsCause{What: wordOf[x.what], Share: rundir.WaitsShare(share), Seconds: seconds(s.NS), Direct: seconds(s.DirectNS), CallPath: x.place}
		if rank := int(x.rank); x.peer < 0 {
			p.Rank = &rank
		} else {
			p.Pair = &[2]int{int(x.rank), int(x.peer)}
		}
		if x.cluster > 0 {
			p.Cluster = &x.cluster
		}
		d.file.Causes = append(d.file.Causes, p)
	}
	d.file.Rest = seconds(rest)
}

var wordOf = map[waits.What]string{waits.Computing: rundir.CauseComputing, waits.MPI: rundir.CauseMPI, waits.Outside: rundir.CauseOutside}

// transfers charges the residual in calls of a path to the pairs whose messages these completed; it says whether there
// are any.
func (d *describer) transfers(rank int32, path uint32, of waits.Charge) bool {
	first, _ := slices.BinarySearchFunc(d.known.Ends, rank, func(e pairs.End, rank int32) int { return cmp.Compare(e.Rank, rank) })
	var list []*pairs.End
	total, largest := int64(0), 0
	for i := first; i < len(d.known.Ends) && d.known.Ends[i].Rank == rank; i++ {
		if e := &d.known.Ends[i]; e.Path == path && e.RestNS > 0 && e.Peer != rank {
			if list = append(list, e); e.RestNS > list[largest].RestNS {
				largest = len(list) - 1
			}
			total += e.RestNS
		}
	}
	if total == 0 {
		return false
	}
	left := of
	give := func(e *pairs.End, ns, directNS int64) {
		d.charges.add(deed{rank: min(rank, e.Peer), peer: max(rank, e.Peer), what: waits.MPI}, waits.Charge{NS: ns, DirectNS: directNS})
	}
	for i, e := range list {
		if i != largest {
			ns, directNS := part(of.NS, e.RestNS, total), part(of.DirectNS, e.RestNS, total)
			left.NS, left.DirectNS = left.NS-ns, left.DirectNS-directNS
			give(e, ns, directNS)
		}
	}
	give(list[largest], left.NS, left.DirectNS)
	return true
}

// part is ns · of / whole, rounded down; of ≤ whole.
func part(ns, of, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(ns), uint64(of))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(min(q, math.MaxInt64))
}
