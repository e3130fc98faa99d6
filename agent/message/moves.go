package message

import (
	"moriens/agent/ring"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// transfer hands on an operation; by is nil where no call completed it.
func (t *Thread) transfer(o *operation, by *Thread, done uint64) {
	comm, peer := t.m.known(o.comm, o.peer)
	t.m.stats.Transfers++
	t.m.move = Move{
		Lane: Lane{o.kind, comm, peer, max(o.tag, ring.Any)}, Row: o.row, By: by, Done: done, Bytes: o.bytes,
		Ordinal: t.m.ordinalOf(o), Epoch: t.m.order.epoch, Channel: o.channel, Untold: o.unreported,
	}
	t.m.sink.Moved(t, &t.m.move)
}

// met hands on a collective of a row that another one has completed. It moves nothing: no sum has it.
func (t *Thread) met(l Lane, row, ordinal uint64, by *Thread, done uint64) {
	t.m.stats.Collectives++
	t.m.move = Move{Lane: l, Row: row, By: by, Done: done, Ordinal: ordinal, Epoch: t.m.order.epoch, Channel: -1}
	t.m.sink.Moved(t, &t.m.move)
}

// Sums are what the process has moved so far, what its open calls have completed left out. Whose they are the caller
// says.
func (m *Matcher) Sums() *moriensv1.Sums {
	m.settleSums()
	x := m.sums.Message()
	if m.partners != nil {
		x.Partners = sums.EncodePartners(m.partners.Rows())
	}
	return x
}

// Counted is how many transfers are in the sums.
func (m *Matcher) Counted() uint64 { return m.counted }

// Collective makes a collective's communicator and root what they can be, and its ordinal whole.
func (m *Matcher) Collective(c *ring.Collective) (comm uint32, root int32, ordinal uint64) {
	comm, root = m.known(c.Comm, c.Root)
	if c.Root == ring.Root {
		root = ring.Root
	}
	return comm, root, m.meetings.ordinal(c.Comm, c.Ordinal)
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

// gapBefore says that calls are missing before a row.
func (t *Thread) gapBefore(row uint64) { t.m.sink.Gap(t, row, false) }

// gapInside says that a row moved what nothing describes.
func (t *Thread) gapInside(row uint64) { t.m.sink.Gap(t, row, true) }

// ID is the ring's.
func (t *Thread) ID() uint64 { return t.ring }

// Ended reports whether nothing more will arrive from the thread.
func (t *Thread) Ended() bool { return t.ended }

// message reports whether what moves is one, which a peer sends or receives.
func message(kind moriensv1.Transfers_Kind) bool {
	return kind == moriensv1.Transfers_KIND_SENT || kind == moriensv1.Transfers_KIND_RECEIVED
}
