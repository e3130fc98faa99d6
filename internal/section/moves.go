package section

// A Gatherer puts transfers into blocks, lane by lane. The zero Gatherer is ready.
type Gatherer struct{ numbers map[laneKey]uint16 }

type laneKey struct {
	kind      MoveKind
	comm      uint32
	peer, tag int32
}

// Add adds a transfer of a lane to a block, which has none yet or was filled by this Gatherer alone. Bytes and ordinal
// of a lane that is new to the block are those from which its first transfer follows.
func (g *Gatherer) Add(b *Block, l Lane, x Transfer) {
	if g.numbers == nil {
		g.numbers = make(map[laneKey]uint16)
	}
	if len(b.Transfers) == 0 {
		clear(g.numbers)
	}
	key := laneKey{l.Kind, l.Comm, l.Peer, l.Tag}
	number, known := g.numbers[key]
	if !known {
		number = uint16(len(b.Lanes))
		g.numbers[key] = number
		l.Bytes, l.Ordinal = x.Bytes, max(x.Ordinal, 1)-1
		b.Lanes = append(b.Lanes, l)
	}
	x.Lane = number
	b.Transfers = append(b.Transfers, x)
}
