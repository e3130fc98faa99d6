package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/trace/rundir"
)

// A slowness is by how much a pair's transfers are slower than what others take.
type slowness struct {
	t      *seenTie
	factor float64
	costNS float64
	seen   int64
	bytes  int64 // the size that costs most
	shown  bool
}

// slow finds slow nodes and slow links, those that cost most first. Where calls complete several messages, and both
// ranks of a pair have a slow link already, their calls may have waited for messages on those.
func (d *describer) slow(n *named) {
	var list []slowness
	for i := range d.seen.ties {
		t := &d.seen.ties[i]
		if x := d.slowness(t); x.seen >= fewSeen && !d.queued(t.a, t.b) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b slowness) int { return cmp.Compare(b.costNS, a.costNS) })
	d.slowNodes(list, n)
	for i := range list {
		x := &list[i]
		if x.shown || x.factor < slowFactor || !d.ofRun(x.costNS) || x.t.shared && n.slow[x.t.a] && n.slow[x.t.b] {
			continue
		}
		where := "between nodes"
		if x.t.same {
			where = "within a node"
		}
		n.take(x.t)
		f := rundir.PairsFinding{
			Kind: rundir.PairsSlowLink, Seconds: number(x.costNS / 1e9), Ranks: []int{int(x.t.a), int(x.t.b)}, Pairs: [][2]int{{int(x.t.a), int(x.t.b)}}, Factor: number(x.factor), Bytes: x.bytes, Messages: x.seen,
			Text: fmt.Sprintf("%s takes %s × what other pairs %s take for %s", d.pair(x.t.a, x.t.b), times(x.factor), where, size(x.bytes)),
		}
		if x.t.same {
			f.Node = d.node(x.t.a)
			f.Text += ", on " + f.Node
		} else {
			f.Text += fmt.Sprintf(", from %s to %s", d.node(x.t.a), d.node(x.t.b))
		}
		d.find(f)
	}
}

// slowness compares what a pair's transfers took with what such usually take, and adds what was handed on.
func (d *describer) slowness(t *seenTie) (x slowness) {
	x.t = t
	var factors []weighed
	costs := make(map[int64]float64)
	for _, s := range t.list {
		usual := d.seen.expected(t.same, s.Bytes)
		if usual <= 0 {
			continue
		}
		factors = append(factors, weighed{float64(s.NS) / usual, s.Messages})
		more := (float64(s.NS) - usual) * float64(s.Messages)
		x.costNS += more
		costs[s.Bytes] += more
		x.seen += s.Messages
	}
	if len(factors) == 0 {
		return x
	}
	x.factor = quantile(factors, .5)
	for bytes, ns := range costs {
		if best, known := costs[x.bytes]; !known || ns > best || ns == best && bytes > x.bytes {
			x.bytes = bytes
		}
	}
	x.costNS = max(0, x.costNS) * t.hidden * d.scaled(t)
	if c := d.charges.sums[deed{rank: t.a, peer: t.b, what: waits.MPI}]; c != nil {
		x.costNS += float64(c.NS)
	}
	return x
}

// scaled is for how many messages one stands that is known.
func (d *describer) scaled(t *seenTie) float64 {
	if !d.counted {
		return 1
	}
	all, known := d.ties.of(t.a, t.b), int64(0)
	for _, of := range [][2]int32{{t.a, t.b}, {t.b, t.a}} {
		i, found := slices.BinarySearchFunc(d.known.Flows, of, func(f pairs.Flow, of [2]int32) int {
			return cmp.Or(cmp.Compare(f.Rank, of[0]), cmp.Compare(f.Peer, of[1]))
		})
		for ; found && i < len(d.known.Flows) && d.known.Flows[i].Rank == of[0] && d.known.Flows[i].Peer == of[1]; i++ {
			if d.known.Flows[i].Kind == pairs.Received {
				known += d.known.Flows[i].Known
			}
		}
	}
	if all == nil || known == 0 {
		return 1
	}
	return max(1, float64(all.messages)/float64(known))
}

// slowNodes finds nodes of which all pairs with others are slow.
func (d *describer) slowNodes(list []slowness, n *named) {
	for node := range d.run.Nodes {
		var own []*slowness
		var others []float64
		for i := range list {
			x := &list[i]
			a, b := int(d.known.Ranks[x.t.a].Node), int(d.known.Ranks[x.t.b].Node)
			switch {
			case a == b:
			case a == node || b == node:
				own = append(own, x)
			default:
				others = append(others, x.factor)
			}
		}
		if len(own) < slowNodePairs || len(others) == 0 {
			continue
		}
		slices.Sort(others)
		median := others[(len(others)-1)/2]
		least, costNS, messages := math.Inf(1), 0., int64(0)
		f := rundir.PairsFinding{Kind: rundir.PairsSlowNode, Node: d.run.NodeName(node)}
		ranks := make(map[int]bool)
		for _, x := range own {
			least = min(least, x.factor)
			costNS += x.costNS
			messages += x.seen
			f.Pairs = append(f.Pairs, [2]int{int(x.t.a), int(x.t.b)})
			for _, r := range []int32{x.t.a, x.t.b} {
				if int(d.known.Ranks[r].Node) == node {
					ranks[int(r)] = true
				}
			}
		}
		if least < slowNodeFactor*median || !d.ofRun(costNS) {
			continue
		}
		for _, x := range own {
			x.shown = true
			n.take(x.t)
		}
		for r := range ranks {
			f.Ranks = append(f.Ranks, r)
		}
		slices.Sort(f.Ranks)
		f.Seconds, f.Factor, f.Messages = number(costNS/1e9), number(least/median), messages
		which := fmt.Sprintf("all its %d pairs", len(own))
		if all := d.pairsToOthers(node); all > len(own) {
			which = fmt.Sprintf("%d of its %d pairs, all that can be compared,", len(own), all)
		}
		f.Text = fmt.Sprintf("node %s is slow: %s with other nodes take %s × and more of what pairs of other nodes take", f.Node, which, times(least/median))
		d.find(f)
	}
}

// pairsToOthers is how many pairs a node has with others.
func (d *describer) pairsToOthers(node int) (n int) {
	for i := range d.ties.list {
		t := &d.ties.list[i]
		if a, b := int(d.known.Ranks[t.a].Node), int(d.known.Ranks[t.b].Node); a != b && (a == node || b == node) && t.messages > 0 {
			n++
		}
	}
	return n
}
