package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// slow finds slow nodes and slow links, those that cost most first.
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
	c := contestOf(list, &d.seen, d.ties.list)
	for _, x := range c.all {
		if x.shown || !x.proven || !d.ofRun(x.costNS) {
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
		x.finding = len(d.file.Findings)
		d.find(f)
	}
	for _, of := range c.unproven() {
		d.contested(c, of, n)
	}
}

// slowness compares what a pair's transfers took with what such usually take, and adds what was handed on.
func (d *describer) slowness(t *seenTie) (x slowness) {
	x.t, x.finding = t, -1
	costs := make(map[int64]float64)
	for _, s := range t.list {
		usual := d.seen.expected(t.same, s.Bytes)
		if usual <= 0 {
			continue
		}
		more := (float64(s.NS) - usual) * float64(s.Messages)
		x.costNS += more
		costs[s.Bytes] += more
		x.seen += s.Messages
	}
	if x.seen == 0 {
		return x
	}
	x.factor = d.seen.factor(t.same, t.list)
	for _, list := range t.ends {
		if t.shared && list != nil { // it is as quick as it is seen to be at either end
			x.factor = min(x.factor, d.seen.factor(t.same, list))
		}
	}
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

// factor is how many times what is usual a half of messages takes at most.
func (s *seen) factor(same bool, list []pairs.Seen) float64 {
	var factors []weighed
	for _, x := range list {
		if usual := s.expected(same, x.Bytes); usual > 0 {
			factors = append(factors, weighed{float64(x.NS) / usual, x.Messages})
		}
	}
	return quantile(factors, .5)
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

// slowNodes finds nodes of which all pairs with others are slow. Most of them must have been seen: what a few ranks
// have may be due to slow links of theirs.
func (d *describer) slowNodes(list []slowness, n *named) {
	far := make([]*slowness, 0, len(list)) // pairs between nodes, the quickest first
	for i := range list {
		if !list[i].t.same {
			far = append(far, &list[i])
		}
	}
	slices.SortStableFunc(far, func(a, b *slowness) int { return cmp.Compare(a.factor, b.factor) })
	of := make([][]int, len(d.run.Nodes)) // by node: its pairs with others, as places in far, ascending
	for k, x := range far {
		for _, rank := range x.ranks() {
			node := d.known.Ranks[rank].Node
			of[node] = append(of[node], k)
		}
	}
	toOthers := d.pairsToOthers()
	for node, places := range of {
		others := len(far) - len(places)
		all := toOthers[node]
		if len(places) < slowNodePairs || 2*len(places) <= all || others == 0 {
			continue
		}
		median := far[besides(places, (others-1)/2)].factor
		least, costNS, messages := math.Inf(1), 0., int64(0)
		f := rundir.PairsFinding{Kind: rundir.PairsSlowNode, Node: d.run.NodeName(node)}
		ranks := make(map[int]bool)
		for _, k := range places {
			x := far[k]
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
		for _, k := range places {
			far[k].shown = true
			n.take(far[k].t)
		}
		for r := range ranks {
			f.Ranks = append(f.Ranks, r)
		}
		slices.Sort(f.Ranks)
		slices.SortFunc(f.Pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		f.Seconds, f.Factor, f.Messages = number(costNS/1e9), number(least/median), messages
		which := fmt.Sprintf("all its %d pairs", len(places))
		if all > len(places) {
			which = fmt.Sprintf("%d of its %d pairs, all that can be compared,", len(places), all)
		}
		f.Text = fmt.Sprintf("node %s is slow: %s with other nodes take %s × and more of what pairs of other nodes take", f.Node, which, times(least/median))
		d.find(f)
	}
}

// besides is number n of the places that are not among these, which ascend.
func besides(places []int, n int) int {
	for _, k := range places {
		if k > n {
			break
		}
		n++
	}
	return n
}

// pairsToOthers is by node how many pairs it has with others.
func (d *describer) pairsToOthers() []int {
	n := make([]int, len(d.run.Nodes))
	for i := range d.ties.list {
		t := &d.ties.list[i]
		if a, b := d.known.Ranks[t.a].Node, d.known.Ranks[t.b].Node; a != b && t.messages > 0 {
			n[a]++
			n[b]++
		}
	}
	return n
}

// contested says of pairs that are not proven slow that some of them are; or where proven ones explain all that was
// seen of them, that they may be. What some of them cost is what the cheapest one costs of a rank that must have one.
func (d *describer) contested(c *contest, of []*slowness, n *named) {
	least, proven := make(map[int32]float64), (*slowness)(nil) // the one that costs most of those that a finding names
	for _, x := range of {
		for end, rank := range x.ranks() {
			if x.t.ends[end] == nil {
				continue
			}
			alibi := false
			for _, o := range c.at[rank] { // those that cost most first
				if !o.proven || !o.explains(x, end) {
					continue
				}
				if alibi = true; o.finding >= 0 {
					if proven == nil || o.costNS > proven.costNS {
						proven = o
					}
					break
				}
			}
			if ns, is := least[rank]; !alibi && (!is || x.costNS < ns) {
				least[rank] = x.costNS
			}
		}
	}
	if len(least) == 0 {
		d.mayBeSlow(of, proven, n)
		return
	}
	costNS := 0.
	for _, ns := range least {
		costNS = max(costNS, ns)
	}
	if !d.ofRun(costNS) {
		return
	}
	most := of[0]
	f := rundir.PairsFinding{Kind: rundir.PairsSlowLink, Seconds: number(costNS / 1e9)}
	for _, x := range of {
		if f.Messages += x.seen; x.factor > most.factor {
			most = x
		}
	}
	d.about(&f, of, n)
	for rank := range least {
		for _, t := range c.unseen[rank] {
			f.Pairs = append(f.Pairs, [2]int{int(t.a), int(t.b)})
		}
	}
	tidy(&f)
	f.Factor, f.Bytes = number(most.factor), most.bytes
	f.Text = fmt.Sprintf("some of the links %s are slow, up to %s × what others take for %s; which ones is not known: their ranks wait for them in the same calls", d.listed(f.Pairs), times(most.factor), size(most.bytes))
	d.find(f)
}

// mayBeSlow adds pairs to the finding about a proven one that explains what was seen of them. Of a slow node, nil,
// nothing is added.
func (d *describer) mayBeSlow(of []*slowness, proven *slowness, n *named) {
	if proven == nil {
		return
	}
	f, maybe := &d.file.Findings[proven.finding], rundir.PairsFinding{}
	d.about(&maybe, of, n)
	f.Text += fmt.Sprintf("; whether %s %s slow too is not known: the ranks wait for slow links in the same calls", d.listed(maybe.Pairs), isOrAre(len(of)))
	d.about(f, of, n)
}

// about adds pairs to those of a finding.
func (d *describer) about(f *rundir.PairsFinding, of []*slowness, n *named) {
	for _, x := range of {
		n.take(x.t)
		f.Pairs = append(f.Pairs, [2]int{int(x.t.a), int(x.t.b)})
	}
	tidy(f)
}

// tidy sorts the pairs of a finding, and makes its ranks theirs.
func tidy(f *rundir.PairsFinding) {
	slices.SortFunc(f.Pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	f.Pairs = slices.Compact(f.Pairs)
	f.Ranks = ranksOf(f.Pairs)
}

// mostListed is how many pairs a text names.
const mostListed = 6

func (d *describer) listed(pairs [][2]int) string {
	var names []string
	for _, p := range pairs[:min(mostListed, len(pairs))] {
		names = append(names, d.pair(int32(p[0]), int32(p[1])))
	}
	if rest := len(pairs) - len(names); rest > 0 {
		names = append(names, units.Counted(rest, "more pair"))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
