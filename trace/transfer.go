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

// Collectives are the collective calls of a thread, and starts of persistent ones of which it is known which call
// completed them, in the order of time; all columns have one length. A call is one collective, or has started several.
type Collectives struct {
	Call []uint32 // row of Calls; of a start that of MPI_Start or MPI_Startall
	Comm []int32  // index into Run.Communicators; -1 = unknown
	// Ordinal is that of the call in its communicator, from 0: the same on all ranks. A start has that of the call that
	// made its request.
	Ordinal        []int64
	Sent, Received []int64 // bytes that the rank contributes, and that it is given
	// Root is a rank in the communicator (of an intercommunicator, in the other group); -1 = none or unknown, -3 = this
	// rank is the other group's.
	Root []int32
	// Done is the row of Calls that completed it: the own one of a call that blocks; -1 = another thread's, or none that
	// is known, as of one that has only made a persistent request. nil: of a call that blocks its own, of others none.
	Done []int32
	// Instance is, of a start, its number among those of its request, from 0: those with one Comm, Ordinal and Instance
	// belong together on all ranks. -1 = it is no start. nil: there is none. A row that has only made a persistent request
	// (MPI_Allreduce_init) is no start. Making it is collective, and moves nothing: its Sent, Received and Root are what
	// each of its starts moves, which have them too where that row is among the process's, and else 0, 0 and -1.
	Instance []int32
}

// Len returns the number of rows.
func (c *Collectives) Len() int { return len(c.Call) }

// Started reports whether a row is a start of a persistent collective. What is counted by calls, or said of them, is
// that of the call that made the request: not all starts are known.
func (c *Collectives) Started(row int) bool { return c.Instance != nil && c.Instance[row] >= 0 }

// Calls counts the rows that are calls, not starts.
func (c *Collectives) Calls() (n int) {
	for row := range c.Len() {
		if !c.Started(row) {
			n++
		}
	}
	return n
}

// CallAt is the row, from one on, of the collective that a call is; not of what it has started. If the call is none, it
// is the row of the next call that is one, or the number of rows.
func (c *Collectives) CallAt(call uint32, from int) (row int, is bool) {
	for from < c.Len() && (c.Call[from] < call || c.Started(from)) {
		from++
	}
	return from, from < c.Len() && c.Call[from] == call
}
