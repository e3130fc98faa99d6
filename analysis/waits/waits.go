// Package waits finds out what each MPI call of a run waited for, who caused the waits, and the critical path.
//
//	skeleton   each call: entry e, exit x, and what it waits for: others' entries, the latest of which, cut to x, is D
//	wait       max(0, D − e); residual = x − max(e, D): e + wait + residual = x, to the nanosecond
//	causes     what was waited for did more than those that waited, since both last met (delay costs: Böhme, Geimer,
//	           Wolf, Arnold, Identifying the root causes of wait states in large-scale parallel applications, ICPP 2010)
//	path       from the run's end backwards: at a wait on the thread that was waited for, at D
//
// The form is Local → Merge → Solve: Local makes a lane of each thread that a member of the team has, Merge makes the
// lanes of all known to the first member, Solve needs the lanes alone. All times are whole nanoseconds, and charges are
// divided without remainder: Σ charges = Σ waits, and Σ path = T. Results depend neither on members nor on workers.
//
// docs/waits.md has the kinds of waits and what is not explained.
package waits

// A Kind is what a call waited for.
type Kind uint8

// The kinds of waits.
const (
	None Kind = iota
	LateSender
	WrongOrder // a late sender, while another message was there that the rank took later
	LateReceiver
	Barrier
	NToN
	LateBroadcast
	EarlyReduce
	Scan
	Window
	Start // MPI_Init
	End   // MPI_Finalize
	Kinds // how many there are, with None
)

// InMessages says that it is a wait for the other side of a message.
func (k Kind) InMessages() bool { return None < k && k <= LateReceiver }

// A Span is a part of a thread's time.
type Span struct{ BeginNS, EndNS int64 }

// Within is how much of a time lies in it.
func (s Span) Within(beginNS, endNS int64) int64 {
	return max(0, min(endNS, s.EndNS)-max(beginNS, s.BeginNS))
}

// A Thread is what one thread did. Calls and bursts are in the order of time, and no two of them overlap.
type Thread struct {
	World, Rank int32
	Node        int32 // index into Run.UncertaintyNS
	EndNS       int64 // of its last record
	EnterNS     []int64
	ExitNS      []int64
	Path        []uint32 // of calls: index into Run.Calls
	Unfinished  bool     // the process ended inside the last call
	Kept        []Span   // what of its time is here, by begin; nil = all

	StartNS, DurationNS []int64 // of bursts
	Cluster             []int32 // of bursts: a cluster from 1 on, 0, or a label from -3 to -1

	Collectives Collectives
	// Waits of its collectives that are known already, by row, where not all members of these are here; their ForRow does
	// not count.
	Known []Wait
}

// Collectives are the collective operations of a thread, in the order of their calls; all columns have one length.
type Collectives struct {
	Call           []uint32 // row of the call that began it
	Done           []int32  // row of the call that completed it, -1 = none that is known; nil = those that began them
	Comm           []int32  // index into Run.Comms; -1 = not known
	Ordinal        []int64  // in its communicator, the same on all ranks; nil = counted here
	Instance       []int32  // of persistent ones the number of the start; -1 = none; nil = none is persistent
	Sent, Received []int64  // bytes
	Root           []int32  // rank in the communicator; -1 = none or unknown, -2 = nobody of this group, -3 = this one
}

// A Comm is the group of a communicator or window.
type Comm struct {
	World int32
	Ranks []int32 // of the world, in the order of the communicator
	Inter bool    // an intercommunicator, whose ranks are not known
}

// A Message is one transfer between two threads, as package trace has it.
type Message struct {
	From, To       int32 // threads
	SendNS, RecvNS int64 // entries of the calls that posted it
	DoneNS         int64 // exit of the call that completed the receive
	Bytes          int64
	Sent           int32 // row of the sender's call that completed the send; -1: not known
	// It stands for 2^Halved messages like it: it is known by chance, with the probability 2^-Halved. So do waits for it:
	// they count so often in what is said of waits in messages.
	Halved uint8
}

// A Run is what Solve takes, but for the threads.
type Run struct {
	Threads       []Thread // sorted by world, rank
	Functions     []string // of call paths: the MPI function
	Places        []uint32 // of call paths: the one that stands for its place; nil = each itself
	Clusters      int      // how many there are
	Kinds         []int32  // of each cluster, from 1 on: the one that stands for its kind of computation; nil = all differ
	Comms         []Comm
	Messages      int // how many there are, by SendNS
	Message       func(i int) Message
	UncertaintyNS []int64 // by node: how far its clock may be off
	Clock         []int32 // by node: which clock it has; nil = each its own
	Known         bool    // waits of collectives are known: threads have them
	DurationNS    int64   // of the run
	Main          Span    // from the latest exit of MPI_Init to the earliest entry of MPI_Finalize
	Workers       int     // that share the work; below 1 means 1
}

// A What is what a thread does in a part of its time.
type What uint8

// What threads do.
const (
	Computing What = iota
	MPI            // residual
	Outside        // before the first record, or not recorded
	NotKept        // in what was dropped
)

// A Key distinguishes what threads do.
type Key struct {
	What    What
	Cluster int32  // label of a burst
	Path    uint32 // of computing the call that ends the burst, of MPI the call
}

// A Wait is that of one call.
type Wait struct {
	Row     int32 // of the call
	For     int32 // thread that it waited for
	ForRow  int32 // its call; -1: it is not here
	Kind    Kind
	Halved  uint8 // of one in messages: as of the message
	UntilNS int64
}

// A Cause is what a thread did for longer than those that waited for it.
type Cause struct {
	Thread int32
	Key    int32 // index into Result.Keys
	Charge
	Main     Charge // of waits in Run.Main: what is charged for the part of them that lies there
	Messages Charge // of waits in messages, each as often as it counts; those that go with them may differ from a part of Charge by some ns
}

// A Charge is what waits come to that are charged to something.
type Charge struct {
	NS       int64
	DirectNS int64 // of that by waits for this very thread
	Waits    int64 // such
	MoreNS   int64 // by how much longer it took than on the waiting thread, sum of these
}

// A Direct is how many waits for a thread are charged, among others, to a deed: what it did for longer, of one kind of
// computation, or of none, and at one place. A wait that is charged to several keys of one deed is one.
type Direct struct {
	Thread    int32
	Key       int32 // the first one of the deed, index into Result.Keys
	Waits     int64
	MainWaits int64 // of those, in Run.Main
}

// A Link is the waits of a thread for another in messages.
type Link struct {
	Thread, For int32
	LinkSums
	Main LinkSums // of waits in Run.Main, the part of them that lies there
}

// LinkSums are what waits for another thread come to.
type LinkSums struct {
	Waits                                       int64
	NS                                          int64
	ComputingNS, MPINS, OutsideNS, NotExplained int64 // what of it is charged to what the other did,
	HandedOnNS                                  int64 // and to those for whom it waited itself
}

// A Part is a part of the critical path: what a thread does from one time to another.
type Part struct {
	Thread         int32
	BeginNS, EndNS int64
}

// A Share is what the critical path has of what a thread does.
type Share struct {
	Thread int32
	Key    int32
	NS     int64
	MainNS int64 // of that, within Run.Main
}

// NotExplained is time in calls of which it is not recorded for whom they wait: none of it is in waits.
type NotExplained struct {
	What              string
	Calls, NS         int64
	MainCalls, MainNS int64 // of those, in Run.Main
}

// An Eager is up to which size messages did not wait for their receivers; Bytes -1: none was seen.
type Eager struct {
	SameNode bool
	Bytes    int64
}

// A Result is what there is to know of the waits of a run.
type Result struct {
	Keys   []Key
	Waits  [][]Wait // by thread, by row
	Causes []Cause  // by thread and key
	Direct []Direct // by thread and deed
	Links  []Link   // by threads
	Path   []Part   // by time: the parts follow each other from 0 to the run's end
	Shares []Share  // of the path, by thread and key

	MPINS         int64   // in calls, of all threads
	WaitNS        int64   // of that, waits
	WaitedNS      []int64 // by thread
	UncertainNS   int64   // would be waits, but are shorter than clocks agree
	UnexplainedNS int64   // of the waits: their cause lies in what was not kept

	MessagesWaitNS        int64 // waits in messages, each as often as it counts: the sum of Cause.Messages,
	MessagesUnexplainedNS int64 // and of this

	MainMPINS         int64 // what of MPINS lies within Run.Main
	MainWaitNS        int64 // what of WaitNS lies there
	MainUncertainNS   int64 // what of UncertainNS lies there
	MainUnexplainedNS int64 // what of UnexplainedNS is for waits there

	Contradictions   int64 // calls that were left before what they waited for was there
	ContradictionNS  int64
	Incomplete       int64 // operations of which not all members are known
	NotSynchronising int64 // operations that a member left before the last one entered, though all might have waited for all
	OneSided         int64 // messages of which a call is not known
	NotExplained     []NotExplained
	Eager            []Eager
}
