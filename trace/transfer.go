package trace

import "slices"

// A TransferKind says which way the bytes of a Transfer go.
type TransferKind uint8

// The kinds of transfers.
const (
	Sent TransferKind = iota + 1
	Received
	Put     // into the peer's part of a window
	Got     // out of it
	Written // to a file
	Read    // from a file
)

var transferKinds = [...]string{Sent: "send", Received: "receive", Put: "put", Got: "get", Written: "write", Read: "read"}

// String returns the word that files have for it; empty for none.
func (k TransferKind) String() string {
	if int(k) < len(transferKinds) {
		return transferKinds[k]
	}
	return ""
}

// Outgoing reports whether the bytes leave the rank; else they come to it.
func (k TransferKind) Outgoing() bool { return k == Sent || k == Put || k == Written }

// ParseTransferKind is the inverse of String.
func ParseTransferKind(word string) (k TransferKind, known bool) {
	i := slices.Index(transferKinds[:], word)
	return TransferKind(max(i, 0)), i > 0
}

// Transfers are what a thread's calls move between its rank and one other, or a file, in the order of the calls that
// posted them; all columns have one length. A call can have several, most have none.
type Transfers struct {
	Call []uint32 // row of Calls that posted it
	Kind []TransferKind
	// Peer is a rank in the MPI_COMM_WORLD of the thread's own world, or of PeerWorld; -1 = none or unknown.
	Peer      []int32
	PeerWorld []int32 // index into Run.Worlds; nil where all peers are of the thread's own
	Tag       []int32 // -1 = none or unknown
	Comm      []int32 // index into Run.Communicators; -1 = unknown
	Bytes     []int64
	Done      []int32 // row of Calls that completed it; -1 = another thread's, or none that is known
}

// Len returns the number of transfers.
func (t *Transfers) Len() int { return len(t.Call) }

// Collectives are the collective calls of a thread, in the order of time; all columns have one length.
type Collectives struct {
	Call           []uint32 // row of Calls
	Comm           []int32  // index into Run.Communicators; -1 = unknown
	Ordinal        []int64  // of the call in its communicator, from 0: the same on all ranks
	Sent, Received []int64  // bytes that the rank contributes, and that it is given
	// Root is a rank in the communicator (of an intercommunicator, in the other group); -1 = none or unknown, -3 = this
	// rank is the other group's.
	Root []int32
}

// Len returns the number of collective calls.
func (c *Collectives) Len() int { return len(c.Call) }
