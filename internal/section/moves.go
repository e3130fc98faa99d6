package section

import "moriens/internal/index"

// A Gatherer puts transfers into blocks, lane by lane. The zero Gatherer is ready. It remembers which lane followed
// each the last time: a loop of calls costs one comparison a transfer.
type Gatherer struct {
	numbers index.Index
	keys    []laneKey // of the block's lanes
	next    []uint16  // the lane that followed each, and at the end the one after none
	last    int       // lane, plus 1
}

type laneKey struct {
	kind      MoveKind
	comm      uint32
	peer, tag int32
}

func (k *laneKey) spread() uint64 {
	return index.Spread(uint64(k.kind)<<56 ^ uint64(k.comm)<<32 ^ uint64(uint32(k.peer)) ^ index.Spread(uint64(uint32(k.tag))))
}

// Add adds a transfer of a lane to a block, which has none yet or was filled by this Gatherer alone. Bytes and ordinal
// of a lane that is new to the block are those from which its first transfer follows.
func (g *Gatherer) Add(b *Block, l Lane, x Transfer) {
	if len(b.Transfers) == 0 {
		g.keys, g.next, g.last = g.keys[:0], append(g.next[:0], 0), 0
		g.numbers.Clear()
	}
	key := laneKey{l.Kind, l.Comm, l.Peer, l.Tag}
	number := g.next[g.last]
	if int(number) >= len(g.keys) || g.keys[number] != key {
		number = g.find(b, key, x)
		g.next[g.last] = number
	}
	g.last = int(number) + 1
	x.Lane = number
	b.Transfers = append(b.Transfers, x)
}

// find is the number of a lane, which is new to the block or not.
func (g *Gatherer) find(b *Block, key laneKey, x Transfer) uint16 {
	spread := key.spread()
	if n, known := g.numbers.Get(spread, func(n uint32) bool { return g.keys[n] == key }); known {
		return uint16(n)
	}
	number := uint16(len(g.keys))
	g.numbers.Put(spread, uint32(number))
	g.keys, g.next = append(g.keys, key), append(g.next, 0)
	b.Lanes = append(b.Lanes, Lane{Kind: key.kind, Comm: key.comm, Peer: key.peer, Tag: key.tag, Bytes: x.Bytes, Ordinal: max(x.Ordinal, 1) - 1})
	return number
}
