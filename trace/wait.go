package trace

import "slices"

// A WaitKind says what a call waited for.
type WaitKind uint8

// The kinds of waits, in the order of files.
const (
	LateSender    WaitKind = iota + 1 // the send of a message that it received
	WrongOrder                        // likewise, while another message was there that the rank took later
	LateReceiver                      // the receive of a message that it sent
	AtBarrier                         // the last member of a barrier
	AtNToN                            // the last member of another collective in which all wait for all
	LateBroadcast                     // the root of a broadcast or scatter
	EarlyReduce                       // of the root of a reduction or gather: the last member
	AtScan                            // the last of the lower ranks of a scan
	AtWindow                          // the last member of a collective call of a window: fence, creation, …
	AtStart                           // the last rank that entered MPI_Init
	AtEnd                             // the last rank that entered MPI_Finalize
)

var waitKinds = [...]string{
	LateSender: "late sender", WrongOrder: "late sender, wrong order", LateReceiver: "late receiver", AtBarrier: "barrier", AtNToN: "N-to-N",
	LateBroadcast: "late broadcast", EarlyReduce: "early reduce", AtScan: "scan", AtWindow: "window", AtStart: "start", AtEnd: "end",
}

// WaitKinds is how many kinds of waits there are, plus 1 for none.
const WaitKinds = len(waitKinds)

// String returns the word that files have for it; empty for none.
func (k WaitKind) String() string {
	if int(k) < len(waitKinds) {
		return waitKinds[k]
	}
	return ""
}

// ParseWaitKind is the inverse of String.
func ParseWaitKind(word string) (k WaitKind, known bool) {
	i := slices.Index(waitKinds[:], word)
	return WaitKind(max(i, 0)), i > 0
}

// Waits are what calls of a thread waited for, in the order of the calls; all columns have one length. A call waits
// from its entry on, if it does. Calls that waited for nobody have no row.
type Waits struct {
	Call    []uint32 // row of Calls, ascending, each once
	Kind    []WaitKind
	UntilNS []int64 // when what it waited for was there: after the entry, at the exit at the latest
	For     []int32 // index into Run.Threads: who was waited for; -1 = a thread that is not in the run
}

// Len returns the number of waits.
func (w *Waits) Len() int { return len(w.Call) }
