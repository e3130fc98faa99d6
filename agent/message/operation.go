package message

import (
	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// An operation is a transfer of which the end may not be known yet.
type operation struct {
	kind       moriensv1.Transfers_Kind
	thread     *Thread
	row        uint64
	function   mpicall.ID // of the call that posted it
	path       uint32     // likewise
	peer, tag  int32
	comm       uint32
	bytes      uint64
	channel    int64    // -1: not partitioned
	ordinal    uint64   // of a collective, in its communicator, plus 1
	unreported bool     // a receive that has ended of which MPI has not reported the bytes, nor a peer or tag that was any
	posting    *posting // nil: it has no ordinal
}

// A channel is what partitioned requests have in common that match in the order of their making.
type channel struct {
	kind      moriensv1.Transfers_Kind
	comm      uint32
	peer, tag int32
}

// kindOf is 0 for what moves nothing: a probe.
func kindOf(k ring.TransferKind) moriensv1.Transfers_Kind {
	switch k {
	case ring.Sent:
		return moriensv1.Transfers_KIND_SENT
	case ring.Received:
		return moriensv1.Transfers_KIND_RECEIVED
	case ring.Put:
		return moriensv1.Transfers_KIND_PUT
	case ring.Got:
		return moriensv1.Transfers_KIND_GOT
	case ring.Written:
		return moriensv1.Transfers_KIND_WRITTEN
	case ring.Read:
		return moriensv1.Transfers_KIND_READ
	}
	return 0
}

func (o *operation) receives() bool { return o.kind == moriensv1.Transfers_KIND_RECEIVED }

func (o *operation) message() bool { return message(o.kind) }

// collective reports whether it is one that does not block. Its tag is the number of its latest start where it is
// persistent, -1 before the first.
func (o *operation) collective() bool { return o.kind == moriensv1.Transfers_KIND_COLLECTIVE }
