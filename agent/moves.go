package agent

import (
	"moriens/agent/message"
	"moriens/agent/window"
	"moriens/internal/section"
)

// Moved has a move wait for the next transaction.
func (o *outgoing) Moved(t *message.Thread, m *message.Move) {
	x := window.Move{
		Ring: t.ID(), Epoch: m.Epoch,
		Lane:     section.Lane{Kind: section.MoveKind(m.Kind), Comm: m.Comm, Peer: m.Peer, Tag: m.Tag},
		Transfer: section.Transfer{Row: m.Row, Bytes: m.Bytes, Ordinal: m.Ordinal, Channel: uint32(m.Channel + 1), Untold: m.Untold},
	}
	if m.By != nil {
		if x.Done = int64(m.Done - m.Row); x.Done >= 0 {
			x.Done++
		}
		if m.By != t {
			x.Transfer.Ring = m.By.ID()
		}
	}
	o.moves = append(o.moves, x)
	o.begin()
}

// A gap is a row of a ring before which calls are missing, or that has moved what nothing describes.
type gap struct {
	ring, row uint64
	inside    bool
}

// Gap has a gap wait for the next transaction.
func (o *outgoing) Gap(t *message.Thread, row uint64, inside bool) {
	o.gaps = append(o.gaps, gap{t.ID(), row, inside})
	o.begin()
}

// place puts the gaps into the latest blocks of their rings. Of a ring without one a block is made, behind its rows.
func (o *outgoing) place(rows func(ring uint64) (uint64, bool)) {
	var b *section.Block
	for _, g := range o.gaps {
		if b == nil || b.Ring != g.ring {
			b = o.block(g, rows)
		}
		if g.inside {
			b.GapsInside = append(b.GapsInside, g.row)
		} else {
			b.GapsBefore = append(b.GapsBefore, g.row)
		}
	}
	o.gaps = o.gaps[:0]
}

// block is the one for a gap.
func (o *outgoing) block(g gap, rows func(ring uint64) (uint64, bool)) *section.Block {
	for i := len(o.blocks) - 1; i >= 0; i-- {
		if o.blocks[i].Ring == g.ring {
			return o.blocks[i]
		}
	}
	b := &section.Block{Ring: g.ring, First: g.row}
	if n, known := rows(g.ring); known {
		b.First = n
	}
	o.blocks = append(o.blocks, b)
	return b
}
