package message

import (
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// perMessage is how many rows go into one message.
const perMessage = 4096

// transfer appends an operation to what is sent of its thread; by is nil where no call completed it.
func (t *Thread) transfer(o *operation, by *Thread, done uint64) {
	t.gather()
	if t.transfers == nil {
		t.transfers, t.lastRow = t.emptyTransfers(), 0
		t.transfers.Ring, t.transfers.Epoch = t.ring, t.m.order.epoch
	}
	x := t.transfers
	n := uint32(len(x.Kind))
	x.Kind = append(x.Kind, o.kind)
	x.Row = append(x.Row, int64(o.row-t.lastRow))
	t.lastRow = o.row
	distance := int64(0)
	if by != nil {
		if distance = int64(done - o.row); distance >= 0 {
			distance++
		}
		if by != t {
			x.Elsewhere = append(x.Elsewhere, n)
			x.DoneRing = append(x.DoneRing, by.ring)
		}
	}
	x.Done = append(x.Done, distance)
	comm, peer := t.m.known(o.comm, o.peer)
	x.Peer = append(x.Peer, peer)
	x.Tag = append(x.Tag, max(o.tag, ring.Any))
	x.Comm = append(x.Comm, comm)
	x.Bytes = append(x.Bytes, o.bytes)
	t.m.moved.add(o, comm, peer)
	x.Ordinal = append(x.Ordinal, t.m.ordinalOf(o))
	if o.channel >= 0 {
		x.Partitioned = append(x.Partitioned, n)
		x.Channel = append(x.Channel, uint32(o.channel))
	}
	if o.unreported {
		x.Untold = append(x.Untold, n)
	}
	t.m.stats.Transfers++
	if n+1 == perMessage {
		t.flushTransfers()
	}
}

// Reuse takes back a message that the Matcher has sent of this thread and that is no longer needed, to reuse its
// memory.
func (t *Thread) Reuse(x *moriensv1.Transfers) { t.spare.Put(x) }

// emptyTransfers is a message without rows.
func (t *Thread) emptyTransfers() *moriensv1.Transfers {
	x := t.spare.Take()
	if x == nil {
		return new(moriensv1.Transfers)
	}
	x.Kind, x.Row, x.Done, x.Peer, x.Tag = x.Kind[:0], x.Row[:0], x.Done[:0], x.Peer[:0], x.Tag[:0]
	x.Comm, x.Bytes, x.Ordinal = x.Comm[:0], x.Bytes[:0], x.Ordinal[:0]
	x.Elsewhere, x.DoneRing, x.Partitioned, x.Channel, x.Untold = x.Elsewhere[:0], x.DoneRing[:0], x.Partitioned[:0], x.Channel[:0], x.Untold[:0]
	return x
}

func (t *Thread) collective(row uint64, c *ring.Collective) {
	t.gather()
	if t.collectives == nil {
		t.collectives, t.lastCall = &moriensv1.Collectives{Ring: t.ring}, 0
	}
	x := t.collectives
	x.Row = append(x.Row, int64(row-t.lastCall))
	t.lastCall = row
	comm, root := t.m.known(c.Comm, c.Root)
	if c.Root == ring.Root {
		root = ring.Root
	}
	x.Comm = append(x.Comm, comm)
	x.Ordinal = append(x.Ordinal, t.m.ordinal(c.Comm, c.Ordinal))
	x.Sent = append(x.Sent, c.Sent)
	x.Received = append(x.Received, c.Received)
	x.Root = append(x.Root, root)
	if len(x.Row) == perMessage {
		t.flushCollectives()
	}
}

// known makes a communicator that is not defined, and a peer that it does not have, unknown ones: a program that
// overwrites its own memory may have hit its ring.
func (m *Matcher) known(comm uint32, peer int32) (uint32, int32) {
	peers, defined := m.peersOf(comm)
	if !defined {
		return 0, max(peer, ring.Any)
	}
	if peer < 0 || int(peer) >= peers {
		return comm, ring.Any
	}
	return comm, peer
}

// gather has the thread's columns sent with the next Flush.
func (t *Thread) gather() {
	if !t.ready {
		t.ready = true
		t.m.ready = append(t.m.ready, t)
	}
}

// gapBefore says that calls are missing before a row.
func (t *Thread) gapBefore(row uint64) {
	g := t.gapsColumn()
	g.Before = append(g.Before, row)
}

// gapInside says that a row moved what nothing describes.
func (t *Thread) gapInside(row uint64) {
	g := t.gapsColumn()
	g.Inside = append(g.Inside, row)
}

func (t *Thread) gapsColumn() *moriensv1.Gaps {
	t.gather()
	if t.gaps == nil || len(t.gaps.Before)+len(t.gaps.Inside) >= perMessage {
		t.flushGaps()
		t.gaps = &moriensv1.Gaps{Ring: t.ring}
	}
	return t.gaps
}

func (t *Thread) flush() {
	t.flushTransfers()
	t.flushCollectives()
	t.flushGaps()
}

func (t *Thread) flushTransfers() {
	if t.transfers != nil {
		t.m.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: t.transfers}})
		t.transfers = nil
	}
}

func (t *Thread) flushCollectives() {
	if t.collectives != nil {
		t.m.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: t.collectives}})
		t.collectives = nil
	}
}

func (t *Thread) flushGaps() {
	if t.gaps != nil {
		t.m.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: t.gaps}})
		t.gaps = nil
	}
}
