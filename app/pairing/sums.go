package pairing

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A gathering adds up the rows of pairs.parquet by pair.
type gathering struct {
	exact    bool // late times are of all messages
	number   *numbering
	at       map[[2]int32]int32 // by pair: its place in pairs
	pairs    pairTable
	sizes    []sizeSums
	unpaired Unpaired
	// Blocked time of what is unpaired.
	summedNS, ownNS, unrecordedNS int64
	rows                          int64
	total                         counts // of all messages, as the totals have them
}

// A pairTable grows without copying what it has: a large run has millions of pairs.
type pairTable struct{ blocks [][]pairSums }

const pairBlock = 1 << 13

func (t *pairTable) add(p pairSums) (at int32) {
	n := len(t.blocks)
	if n == 0 || len(t.blocks[n-1]) == pairBlock {
		t.blocks = append(t.blocks, make([]pairSums, 0, pairBlock))
		n++
	}
	last := &t.blocks[n-1]
	*last = append(*last, p)
	return int32((n-1)*pairBlock + len(*last) - 1)
}

func (t *pairTable) of(at int32) *pairSums { return &t.blocks[at/pairBlock][at%pairBlock] }

// all are the pairs in the order in which they were added, with their places.
func (t *pairTable) all() iter.Seq2[int32, *pairSums] {
	return func(yield func(int32, *pairSums) bool) {
		for n, block := range t.blocks {
			for i := range block {
				if !yield(int32(n*pairBlock+i), &block[i]) {
					return
				}
			}
		}
	}
}

// pairSums are what the rows of a pair, a < b, add up to. Ways are from a to b, and from b to a.
type pairSums struct {
	a, b     int32
	way      [2]waySums
	moved    int64 // bytes of one-sided communication and of collectives
	blocked  int64
	send     int64
	longest  int64
	first    int64
	sender   lateSums // waits for late senders
	receiver lateSums // and for late receivers
}

// waySums are the messages of one way: as the receiver counts them, and as the sender does.
type waySums struct{ received, sent counts }

type counts struct {
	there           bool
	messages, bytes int64
}

// counted are the messages of the way: as its receiver counts them, where it does.
func (w *waySums) counted() counts {
	if w.received.there {
		return w.received
	}
	return w.sent
}

// lateSums are the waits for one side. The standard errors of both ways add up: they are of the same windows.
type lateSums struct {
	ns, errorNS int64
	unknown     bool
}

func (l *lateSums) add(ns, errorNS int64, exact bool) {
	if exact && ns >= 0 {
		errorNS = 0
	}
	if ns < 0 || errorNS < 0 {
		l.unknown = true
		return
	}
	l.ns += ns
	l.errorNS += errorNS
}

// sizeSums are messages of a pair and of some sizes, as one side of one way counts them.
type sizeSums struct {
	pair            int32
	way             uint8
	received        bool
	from, to        int64
	messages, bytes int64
	blocked         int64
}

func newGathering(ranks []Rank, exact bool) *gathering {
	return &gathering{exact: exact, number: newNumbering(ranks), at: make(map[[2]int32]int32)}
}

var errImpossible = errors.New("it has figures that cannot be")

// add adds rows. They are not kept.
func (g *gathering) add(rows []parquet.PairsRow) error {
	for i := range rows {
		if err := g.addRow(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) addRow(r *parquet.PairsRow) error {
	rank := g.number.of(r.World, r.Rank)
	if rank < 0 {
		return fmt.Errorf("rank %d of world %d is not in %s", r.Rank, r.World, rundir.PairsFile)
	}
	if min(r.Messages, r.Bytes, r.BlockedNS, r.LongestNS, r.FirstNS) < 0 {
		return errImpossible
	}
	g.rows++
	if r.FromBytes < 0 && (r.Kind == parquet.PairsReceived || r.Kind == parquet.PairsSent && r.Peer >= 0 && g.number.of(r.PeerWorld, r.Peer) < 0) {
		g.total.add(r)
	}
	if r.Peer < 0 {
		g.addSummed(r)
		return nil
	}
	peer := g.number.of(r.PeerWorld, r.Peer)
	messages := r.Kind == parquet.PairsSent || r.Kind == parquet.PairsReceived
	switch {
	case peer < 0:
		if messages && r.FromBytes < 0 {
			g.unpaired.UnrecordedMessages += r.Messages
			g.unpaired.UnrecordedBytes += r.Bytes
			if r.Kind == parquet.PairsReceived {
				g.unrecordedNS += r.BlockedNS
			}
		}
		return nil
	case peer == rank:
		if r.Kind == parquet.PairsReceived && r.FromBytes < 0 {
			g.unpaired.OwnMessages += r.Messages
			g.unpaired.OwnBytes += r.Bytes
			g.ownNS += r.BlockedNS
		}
		return nil
	}
	at := g.pair(min(rank, peer), max(rank, peer))
	p := g.pairs.of(at)
	outgoing := r.Kind == parquet.PairsSent
	way := 0
	if (rank == p.a) != outgoing {
		way = 1
	}
	switch {
	case !messages:
		p.moved += r.Bytes
	case r.FromBytes >= 0:
		g.sizes = append(g.sizes, sizeSums{at, uint8(way), !outgoing, r.FromBytes, r.ToBytes, r.Messages, r.Bytes, r.BlockedNS})
	case outgoing:
		p.way[way].sent.add(r)
		p.send += r.BlockedNS
		p.receiver.add(r.LateNS, r.LateErrorNS, g.exact)
	default:
		p.way[way].received.add(r)
		p.blocked += r.BlockedNS
		p.longest, p.first = max(p.longest, r.LongestNS), max(p.first, r.FirstNS)
		p.sender.add(r.LateNS, r.LateErrorNS, g.exact)
	}
	if min(p.moved, p.send, p.blocked, p.way[way].sent.bytes, p.way[way].received.bytes, p.way[way].sent.messages, p.way[way].received.messages, p.sender.ns, p.receiver.ns) < 0 {
		return errImpossible // the sum has more than 63 bits
	}
	return nil
}

func (c *counts) add(r *parquet.PairsRow) {
	c.there = true
	c.messages += r.Messages
	c.bytes += r.Bytes
}

// addSummed adds a row of several peers.
func (g *gathering) addSummed(r *parquet.PairsRow) {
	if r.Kind == parquet.PairsReceived && r.FromBytes < 0 {
		g.unpaired.SummedMessages += r.Messages
		g.unpaired.SummedBytes += r.Bytes
		g.summedNS += r.BlockedNS
	}
}

func (g *gathering) pair(a, b int32) int32 {
	at, known := g.at[[2]int32{a, b}]
	if !known {
		at = g.pairs.add(pairSums{a: a, b: b})
		g.at[[2]int32{a, b}] = at
	}
	return at
}

// messages are those of both ways.
func (p *pairSums) messages() (n, bytes int64) {
	for w := range p.way {
		c := p.way[w].counted()
		n, bytes = n+c.messages, bytes+c.bytes
	}
	return n, bytes
}

// listed reports whether the pair has exchanged messages.
func (p *pairSums) listed() bool {
	n, _ := p.messages()
	return n > 0
}

// known gives the time and its standard error; NaN where a way with messages has none. there says of a way that the
// side which waits has counted it.
func (p *pairSums) known(l *lateSums, there func(*waySums) bool) (seconds, standardError rundir.Number) {
	unknown := l.unknown
	for w := range p.way {
		unknown = unknown || p.way[w].counted().messages > 0 && !there(&p.way[w])
	}
	if unknown {
		return rundir.Number(math.NaN()), rundir.Number(math.NaN())
	}
	return inSeconds(l.ns), inSeconds(l.errorNS)
}

func inSeconds(ns int64) rundir.Number { return rundir.Number(float64(ns) / 1e9) }

// list makes the pairs that have exchanged messages, sorted, with their sizes.
func (g *gathering) list(node []int32) []Pair {
	sizes := g.sizesOf()
	order := make([]int32, 0, len(g.at))
	for at, p := range g.pairs.all() {
		if p.listed() {
			order = append(order, at)
		}
	}
	slices.SortFunc(order, func(i, k int32) int {
		x, y := g.pairs.of(i), g.pairs.of(k)
		return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	list := make([]Pair, len(order))
	for i, at := range order {
		p := g.pairs.of(at)
		x := &list[i]
		*x = Pair{A: int(p.a), B: int(p.b), SameNode: node[p.a] == node[p.b], Blocked: inSeconds(p.blocked), Send: inSeconds(p.send), Group: -1, Sizes: sizes[at]}
		x.Messages, x.Bytes = p.messages()
		x.Longest, x.First = rundir.Number(math.NaN()), rundir.Number(math.NaN())
		if p.way[0].received.there || p.way[1].received.there {
			x.Longest, x.First = inSeconds(p.longest), inSeconds(p.first)
		}
		x.LateSender, x.LateSenderError = p.known(&p.sender, func(w *waySums) bool { return w.received.there })
		x.LateReceiver, x.LateReceiverErr = p.known(&p.receiver, func(w *waySums) bool { return w.sent.there })
		if x.Sizes == nil {
			x.Sizes = []rundir.PairsSize{}
		}
	}
	return list
}

// sizesOf adds up the sizes of each pair, both ways together, ascending.
func (g *gathering) sizesOf() map[int32][]rundir.PairsSize {
	slices.SortFunc(g.sizes, func(x, y sizeSums) int {
		return cmp.Or(cmp.Compare(x.pair, y.pair), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	bySize := make(map[int32][]rundir.PairsSize)
	for i := range g.sizes {
		s := &g.sizes[i]
		if s.received != g.pairs.of(s.pair).way[s.way].received.there { // the other side's are those that count
			continue
		}
		list := bySize[s.pair]
		if n := len(list); n == 0 || list[n-1].FromBytes != s.from || list[n-1].ToBytes != s.to {
			list = append(list, rundir.PairsSize{FromBytes: s.from, ToBytes: s.to})
		}
		last := &list[len(list)-1]
		last.Messages += s.messages
		last.Bytes += s.bytes
		if s.received {
			last.Blocked += inSeconds(s.blocked)
		}
		bySize[s.pair] = list
	}
	return bySize
}
