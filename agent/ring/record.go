package ring

import (
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// Record is one outermost MPI call of a thread, or a mark that the program set. Times are ticks of the
// process's clock.
type Record struct {
	Enter  uint64     // of a mark, its time
	Exit   uint64     // likewise
	Call   mpicall.ID // 0 in a mark
	Path   uint32     // call path of the process's log, 0 = unknown
	Lost   bool       // records were dropped just before this one: the burst before it is unknown
	Paused bool       // the program had paused recording before this one: likewise
	// Polls are the further calls of a run of polls, by the places that they were made from in the order of
	// their first: Enter is the entry of the run's first call, Exit the exit of its last.
	Polls []Polls
	// Counts are the values of Identity.Events in the burst before the call, of a mark in the burst until then,
	// shmabi.NoCount for one that could not be read; empty where none were.
	Counts []int64

	// What the call means.
	Transfers    []Transfer // MPI_Sendrecv has two
	Collective   Collective
	IsCollective bool
	Requests     []Request // that the call started or ended, in the order of its array

	// What a mark says.
	Mark  MarkKind // 0 in a call
	Name  uint32   // of the process's log, 0 = unknown
	Value int64    // of an event
}

// keptRequests is for how many requests a Record keeps its memory: MPI_Waitall may be of many thousands.
const keptRequests = 128

// Clear makes it empty and keeps the memory of its slices, except that of many requests.
func (r *Record) Clear() {
	r.Enter, r.Exit, r.Call, r.Path, r.Lost, r.Paused = 0, 0, 0, 0, false, false
	r.Collective, r.IsCollective = Collective{}, false
	r.Mark, r.Name, r.Value = 0, 0, 0
	r.Polls, r.Counts, r.Transfers, r.Requests = r.Polls[:0], r.Counts[:0], r.Transfers[:0], r.Requests[:0]
	if cap(r.Requests) > keptRequests {
		r.Requests = nil
	}
}

// Polls are calls of one function from one place, none of which found anything.
type Polls struct {
	Call  mpicall.ID
	Path  uint32
	First uint64 // entry of the first
	Count uint64
}

// What stands for a peer, a root or a tag where it is none.
const (
	Any      = shmabi.RankAny      // MPI_ANY_SOURCE or MPI_ANY_TAG, which nothing has resolved; also no peer, root or tag
	ProcNull = shmabi.RankProcNull // MPI_PROC_NULL
	Root     = shmabi.RankRoot     // MPI_ROOT
)

// Transfer is what a call moves between its rank and one other.
type Transfer struct {
	Kind    TransferKind
	Bytes   uint64 // of the message's data, by the size of its datatype; of a receive with a request, the room for it
	Request uint64 // handle of the request that the call made, or of the message that a probe matched; 0 = none
	Peer    int32  // rank in the communicator (of an intercommunicator, in its remote group), or Any, ProcNull
	Tag     int32  // or Any
	Comm    uint32 // of the process's log, 0 = unknown
}

// TransferKind says which way the bytes go.
type TransferKind uint32

// The kinds of transfers.
const (
	Sent     TransferKind = shmabi.SlotSent
	Received TransferKind = shmabi.SlotReceived
	Probed   TransferKind = shmabi.SlotProbed // a message that waits to be received
	Put      TransferKind = shmabi.SlotPut    // into the peer's part of a window
	Got      TransferKind = shmabi.SlotGot    // out of it
	Written  TransferKind = shmabi.SlotWritten
	Read     TransferKind = shmabi.SlotRead
)

// Collective is what a collective call moves.
type Collective struct {
	Sent     uint64 // bytes that the rank contributes, in place or not
	Received uint64 // bytes that it is given, in place or not
	Ordinal  uint32 // of the call in its communicator, from 0, modulo 2^32: the same on all ranks
	Root     int32  // as a peer; Any = it has none
	Comm     uint32 // of the process's log, 0 = unknown
}

// Request is what a call did to a request. Several requests of a process can have one handle at a time.
type Request struct {
	Event  RequestEvent
	Handle uint64
	Bytes  uint64 // received, by its status; BytesUnknown: MPI has not reported
	Source int32  // by its status; of use only where the request receives
	Tag    int32
}

// BytesUnknown stands for the bytes of a receive without a status: Source and Tag are what it asked for.
const BytesUnknown = shmabi.BytesUnknown

// RequestEvent is what happened to a request.
type RequestEvent uint32

// The events of requests.
const (
	Made      RequestEvent = shmabi.RequestMade    // by a call without a Transfer that says so
	Started   RequestEvent = shmabi.RequestStarted // a persistent or partitioned one
	Completed RequestEvent = shmabi.RequestCompleted
	Cancelled RequestEvent = shmabi.RequestCancelled // completed, but nothing was moved
	Freed     RequestEvent = shmabi.RequestFreed     // complete or not
	Matched   RequestEvent = shmabi.RequestMatched   // the message of an MPI_Mprobe, which the call receives
)

// MarkKind is what a mark says.
type MarkKind uint16

// The kinds of marks.
const (
	Begin MarkKind = shmabi.MarkBegin // of a phase
	End   MarkKind = shmabi.MarkEnd   // of the innermost phase of that name
	Event MarkKind = shmabi.MarkEvent // with a value
)

// Known reports whether it is one of these.
func (k MarkKind) Known() bool { return k == Begin || k == End || k == Event }

// firstMark is the first value that a mark can have where a call slot has its call.
const firstMark = 0xff00
