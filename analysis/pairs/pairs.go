// Package pairs adds up who exchanged messages with whom, and what that cost.
//
//	blocked   of a call that completes receives: exit − entry, shared equally among them. Calls that complete sends
//	          and no receive share their time among the sends. A run of tests counts from the first test
//	late      what analysis/waits says that calls waited for the other side of a message, by who waited for whom
//	rest      blocked − late of a call, shared likewise: what the transfer took, as far as the call has seen it
//	seen      exit − entry of the send, of the message of a call that was sent last, when the call had begun: the
//	          receiver was there before. Of what lay in a buffer the time says nothing. Where the call completed others
//	          too, it may have waited for one of those: the time is the most that the transfer took
//	gap       from a send's end to the next one's entry, where both are for the same rank
//
// Of a run of which some messages are known, by chance, each stands for as many as its probability says (Horvitz,
// Thompson 1952): sums are estimates, and Estimate says how good those of waits are. Transfers that were seen are
// counted as they are.
//
// The form is Local → Merge → Solve: Local adds up what the threads of a member of the team completed, Merge gives the
// first member what all did, Solve adds up by rank. Times are whole nanoseconds, and shares are divided without
// remainder: the sums of a rank add up to its calls' time. Results depend neither on members nor on workers.
package pairs

import "moriens/analysis/waits"

// A Kind is which side of a message has counted it.
type Kind uint8

// The kinds.
const (
	Sent Kind = iota
	Received
)

// A Thread is what one thread did: its calls, in the order of time, and what they waited for.
type Thread struct {
	World, Rank, Node int32
	EnterNS, ExitNS   []int64
	Path              []uint32
	Waits             []waits.Wait // by row; each counts as often as it says
}

// A Place is a call of a thread; Row -1: it is not known.
type Place struct{ Thread, Row int32 }

// A Message is one transfer between two threads. Of calls of threads that another member has, nothing is known.
type Message struct {
	From, To   int32 // threads
	SendNS     int64 // entry of the call that posted the send
	Bytes      int64
	Send, Sent int32 // rows of the calls that posted and completed the send; -1: not known
	Done       Place // the call that completed the receive
	Halved     uint8 // it stands for 2^Halved messages: for itself alone where all are known
}

// A Run is what Local takes.
type Run struct {
	Threads  []Thread // by world, rank
	Tests    []bool   // of call paths: whether the function tests requests
	Messages int      // by SendNS
	Message  func(i int) Message
	Workers  int // that share the work; below 1 means 1
}

// Sums are what messages come to.
type Sums struct {
	Messages, Bytes, BlockedNS, RestNS int64
}

func (s *Sums) add(o Sums) {
	s.Messages, s.Bytes, s.BlockedNS, s.RestNS = s.Messages+o.Messages, s.Bytes+o.Bytes, s.BlockedNS+o.BlockedNS, s.RestNS+o.RestNS
}

// A Flow is what one rank counted of the messages that it sent to a peer, or received from it.
type Flow struct {
	Rank, Peer int32 // indices into Result.Ranks
	Kind       Kind
	Sums
	Known              int64 // messages that are known: Messages where all are
	LongestNS, FirstNS int64 // blocked, of one message: the longest, and the first one's
	FirstRestNS        int64 // rest of the first one
	LateNS             int64 // that it waited for the peer
}

// A Size is what of a flow is messages of some sizes: Bin bits long, 0 of 0 bytes, 1 of 1, 2 of 2 and 3, …
type Size struct {
	Rank, Peer int32
	Kind       Kind
	Bin        int32
	Sums
}

// An End is what of a flow calls of a call path completed.
type End struct {
	Rank, Peer int32
	Kind       Kind
	Path       uint32
	Sums
}

// A Seen is transfers that were seen from a peer to a rank, of one size, that took nearly the same time.
type Seen struct {
	Rank, Peer int32
	Bytes      int64 // of sizes that are put together, the least
	NS         int64 // of each: in the middle of those that took nearly the same
	Messages   int64
	Shared     bool // the calls completed others too: NS is the most that it took
}

// Apart is the Bin of sends before which the thread sent to another rank, or nothing.
const Apart = 64

// A Gap is sends of a rank to a peer that followed one another after nearly the same time; Bin is that time's bits.
type Gap struct {
	Rank, Peer int32
	Bytes      int64 // of the later one
	Bin        int32
	Messages   int64
	NS         int64 // from entry to entry, of all of them
}

// A Rank is one of the run.
type Rank struct{ World, Rank, Node int32 }

// A Result is what there is to know of the pairs of a run. Lists are in the order of their first fields.
type Result struct {
	Ranks    []Rank  // by world and rank
	RankOf   []int32 // of each thread
	Flows    []Flow
	Sizes    []Size
	Ends     []End
	Seen     []Seen
	Gaps     []Gap
	OneSided int64 // messages of which the call that completed the receive is not known: they have no time
}
