package section

// A Gatherer puts transfers into blocks, lane by lane. The zero Gatherer is ready. It remembers which lane followed
// each the last time: a loop of calls costs one comparison a transfer.
type Gatherer struct {
	numbers map[laneKey]uint16
	keys    []laneKey // of the block's lanes
	next    []uint16  // the lane that followed each, and at the end the one after none
	last    int       // lane, plus 1
}

type laneKey struct {
	kind      MoveKind
	comm      uint32
	peer, tag int32
}

// Add adds a transfer of a lane to a block, which has none yet or was filled by this Gatherer alone. Bytes and ordinal
// of a lane that is new to the block are those from which its first transfer follows.
func (g *Gatherer) Add(b *Block, l Lane, x Transfer) {
	if len(b.Transfers) == 0 {
		g.keys, g.next, g.last = g.keys[:0], append(g.next[:0], 0), 0
		clear(g.numbers)
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
	if number, known := g.numbers[key]; known {
		return number
	}
	if g.numbers == nil {
		g.numbers = make(map[laneKey]uint16)
	}
	number := uint16(len(g.keys))
	g.numbers[key] = number
	g.keys, g.next = append(g.keys, key), append(g.next, 0)
	b.Lanes = append(b.Lanes, Lane{Kind: key.kind, Comm: key.comm, Peer: key.peer, Tag: key.tag, Bytes: x.Bytes, Ordinal: max(x.Ordinal, 1) - 1})
	return number
}
