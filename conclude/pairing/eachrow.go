package pairing

import (
	"cmp"
	"slices"

	"moriens/analysis/pairs"
	"moriens/trace"
	"moriens/trace/parquet"
)

// A pairCount counts the ranks that exchange messages: each pair at its lower rank, and where the other has no record.
type pairCount struct {
	d      *describer
	rank   int32
	marks  []int32 // by peer with a record: the last rank that exchanged something with it, plus 1
	others map[[2]int32]bool
	pairs  int64
}

func (c *pairCount) add(r *parquet.PairsRow) {
	own, peer := c.d.index(r.World, r.Rank), c.d.index(r.PeerWorld, r.Peer)
	if r.Peer < 0 || peer == own {
		return
	}
	if c.marks == nil {
		c.marks = make([]int32, len(c.d.known.Ranks))
	}
	if c.rank != own {
		c.rank, c.others = own, nil
	}
	k := [2]int32{r.PeerWorld, r.Peer}
	switch {
	case peer > own && c.marks[peer] != own+1:
		c.marks[peer] = own + 1
		c.pairs++
	case peer < 0 && !c.others[k]:
		if c.others == nil {
			c.others = make(map[[2]int32]bool)
		}
		c.others[k] = true
		c.pairs++
	}
}

// each hands out all rows, rank by rank. What it hands out is changed by the next call.
func (d *describer) each(give func(r *parquet.PairsRow)) {
	if d.counted {
		d.eachRoute(give)
	} else {
		d.eachFlow(give)
		d.eachOther(give)
	}
	d.eachShare(give)
}

// row is one between two ranks with a record.
func (d *describer) row(rank, peer int32, kind string) parquet.PairsRow {
	a, b := d.known.Ranks[rank], d.known.Ranks[peer]
	return parquet.PairsRow{
		Kind: kind, World: a.World, Rank: a.Rank, PeerWorld: b.World, Peer: b.Rank, SameHost: d.sameHost(rank, peer), FromBytes: -1, ToBytes: -1, LateNS: -1, LateErrorNS: -1,
	}
}

var flowKinds = map[trace.TransferKind]pairs.Kind{trace.Sent: pairs.Sent, trace.Received: pairs.Received}

var kindOf = map[pairs.Kind]string{pairs.Sent: parquet.PairsSent, pairs.Received: parquet.PairsReceived}

// eachFlow hands out what is known of messages one by one, with their sizes.
func (d *describer) eachFlow(give func(r *parquet.PairsRow)) {
	for i := range d.known.Flows {
		f := &d.known.Flows[i]
		r := d.row(f.Rank, f.Peer, kindOf[f.Kind])
		r.Messages, r.Bytes, r.BlockedNS, r.LongestNS, r.FirstNS = f.Messages, f.Bytes, f.BlockedNS, f.LongestNS, f.FirstNS
		if d.late != nil {
			r.LateNS, r.LateErrorNS = f.LateNS, 0
		}
		give(&r)
		d.sizesOf(f, give)
	}
}

// sizesOf hands out the sizes of a flow, if it is that of a receiver.
func (d *describer) sizesOf(f *pairs.Flow, give func(r *parquet.PairsRow)) {
	if f.Kind != pairs.Received {
		return
	}
	like := func(s pairs.Size, f *pairs.Flow) int {
		return cmp.Or(cmp.Compare(s.Rank, f.Rank), cmp.Compare(s.Peer, f.Peer), cmp.Compare(s.Kind, f.Kind))
	}
	for i, _ := slices.BinarySearchFunc(d.known.Sizes, f, like); i < len(d.known.Sizes) && like(d.known.Sizes[i], f) == 0; i++ {
		s := &d.known.Sizes[i]
		x := d.row(s.Rank, s.Peer, parquet.PairsReceived)
		x.FromBytes, x.ToBytes = binOf(s.Bin)
		x.Messages, x.Bytes, x.BlockedNS = s.Messages, s.Bytes, s.BlockedNS
		give(&x)
	}
}

// flow is what is known one by one of what a rank exchanged with a peer; nil: nothing, or too little for an estimate.
func (d *describer) flow(rank, peer int32, kind pairs.Kind) *pairs.Flow {
	i, found := slices.BinarySearchFunc(d.known.Flows, rank, func(f pairs.Flow, rank int32) int {
		return cmp.Or(cmp.Compare(f.Rank, rank), cmp.Compare(f.Peer, peer), cmp.Compare(f.Kind, kind))
	})
	if !found || d.counted && d.known.Flows[i].Known < fewest {
		return nil
	}
	return &d.known.Flows[i]
}

// eachOther hands out what calls have put and got, and sent to ranks without a record.
func (d *describer) eachOther(give func(r *parquet.PairsRow)) {
	for from := 0; from < len(d.others); {
		own, to := d.known.RankOf[from], from
		sums := make(map[other]*parquet.PairsRow)
		for ; to < len(d.others) && d.known.RankOf[to] == own; to++ {
			for w := range slices.Chunk(d.others[to], otherWords) {
				x := other{trace.TransferKind(w[0]), int32(w[1]), int32(w[2])}
				peer, rank := d.index(x.world, x.peer), d.known.Ranks[own]
				if x.kind == trace.Sent && peer >= 0 {
					continue // a message, which is known
				}
				r := sums[x]
				if r == nil {
					r = &parquet.PairsRow{
						Kind: x.kind.String(), World: rank.World, Rank: rank.Rank, PeerWorld: x.world, Peer: x.peer, SameHost: d.sameHost(own, peer),
						FromBytes: -1, ToBytes: -1, LateNS: -1, LateErrorNS: -1,
					}
					sums[x] = r
				}
				r.Messages += w[3]
				r.Bytes += w[4]
			}
		}
		giveAll(sums, give)
		from = to
	}
}

// giveAll hands out rows in the order of the file.
func giveAll[K comparable](sums map[K]*parquet.PairsRow, give func(r *parquet.PairsRow)) {
	list := make([]parquet.PairsRow, 0, len(sums))
	for _, r := range sums {
		list = append(list, *r)
	}
	parquet.SortPairs(list)
	for i := range list {
		give(&list[i])
	}
}

var routeKinds = [...]string{trace.Sent: parquet.PairsSent, trace.Received: parquet.PairsReceived, trace.Put: parquet.PairsPut, trace.Got: parquet.PairsGot}

// A routed is a route by what distinguishes the rows of a rank.
type routed struct {
	kind        trace.TransferKind
	world, peer int32
	route       int32
}

func (a routed) compare(b routed) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.world, b.world), cmp.Compare(a.peer, b.peer), cmp.Compare(a.route, b.route))
}

// eachRoute hands out what ranks have counted.
func (d *describer) eachRoute(give func(r *parquet.PairsRow)) {
	var list []routed
	var routes []trace.TrafficRoute
	var r parquet.PairsRow
	for i := range d.run.Traffic.Ranks {
		rank := &d.run.Traffic.Ranks[i]
		own := d.index(int32(rank.World), int32(rank.Rank))
		if own < 0 {
			continue
		}
		list, routes = list[:0], routes[:0]
		for x := range rank.EachRoute {
			k := len(routes)
			routes = append(routes, x)
			switch {
			case int(x.Kind) >= len(routeKinds) || routeKinds[x.Kind] == "":
			case x.Peer < 0 || x.PeerWorld < 0:
				list = append(list, routed{x.Kind, -1, -1, int32(k)})
			default:
				list = append(list, routed{x.Kind, x.PeerWorld, x.Peer, int32(k)})
			}
		}
		if !slices.IsSortedFunc(list, routed.compare) {
			slices.SortFunc(list, routed.compare)
		}
		for from := 0; from < len(list); {
			to, x := from, list[from]
			for to < len(list) && list[to].kind == x.kind && list[to].world == x.world && list[to].peer == x.peer {
				to++
			}
			r = d.routes(rank, own, list[from:to], routes)
			give(&r)
			if x.kind == trace.Received && r.Peer >= 0 {
				if f := d.flow(own, d.index(r.PeerWorld, r.Peer), pairs.Received); f != nil {
					d.sizesOf(f, give)
				}
			}
			from = to
		}
	}
}

// routes are those of a rank to one peer, in all communicators, among all of its own.
func (d *describer) routes(rank *trace.RankTraffic, own int32, list []routed, all []trace.TrafficRoute) parquet.PairsRow {
	x := list[0]
	peer := d.index(x.world, x.peer)
	r := parquet.PairsRow{
		Kind: routeKinds[x.kind], World: int32(rank.World), Rank: int32(rank.Rank), PeerWorld: x.world, Peer: x.peer, SameHost: d.sameHost(own, peer),
		FromBytes: -1, ToBytes: -1, LateNS: -1, LateErrorNS: -1,
	}
	if kind, known := flowKinds[x.kind]; known && peer >= 0 && d.late != nil {
		if f := d.flow(own, peer, kind); f != nil {
			r.LateNS, r.LateErrorNS = f.LateNS, errorNS(d.errors.Of(own, peer, kind))
		}
	}
	for _, of := range list {
		route := &all[of.route]
		r.Messages += route.Count
		r.Bytes += route.Bytes
		if x.kind != trace.Received && x.kind != trace.Sent {
			continue
		}
		if r.BlockedNS += route.BlockedNS; r.Peer >= 0 {
			if r.LongestNS = max(r.LongestNS, route.LongestNS); r.FirstNS == 0 {
				r.FirstNS = route.FirstNS
			}
		}
	}
	return r
}

// eachShare hands out what collectives of a part of the ranks move, rank by rank: of all ranks together it may be far
// more than there is room for.
func (d *describer) eachShare(give func(r *parquet.PairsRow)) {
	type place struct{ clique, own int32 } // a communicator, and a rank of the run in it
	of := make([][]place, len(d.known.Ranks))
	ranks := make([][]int32, len(d.cliques))
	for i := range d.cliques {
		c := &d.cliques[i]
		ranks[i] = make([]int32, len(c.ranks))
		for k, rank := range c.ranks {
			r := d.index(c.world, int32(rank))
			if ranks[i][k] = r; r >= 0 {
				of[r] = append(of[r], place{int32(i), int32(k)})
			}
		}
	}
	sums := make([]int64, len(d.known.Ranks)) // by peer, of the rank at hand
	var peers []int32                         // those with any
	var r parquet.PairsRow
	add := func(peer int32, bytes int64) {
		if peer < 0 || bytes <= 0 {
			return
		}
		if sums[peer] == 0 {
			peers = append(peers, peer)
		}
		sums[peer] += bytes
	}
	for rank, places := range of {
		for _, at := range places {
			c := &d.cliques[at.clique]
			for _, peer := range ranks[at.clique] {
				add(peer, c.shares[at.own])
			}
			for root, bytes := range c.toRoot[at.own] {
				add(ranks[at.clique][root], bytes)
			}
		}
		slices.Sort(peers)
		for _, peer := range peers {
			if peer != int32(rank) {
				r = d.row(int32(rank), peer, parquet.PairsCollective)
				r.Bytes = sums[peer]
				give(&r)
			}
			sums[peer] = 0
		}
		peers = peers[:0]
	}
}
