package clock

import (
	"fmt"
	"iter"
)

// A Thread is the MPI calls of one thread, one a row, in time order.
type Thread struct {
	Node            int
	EnterNS, ExitNS []int64
	// Gaps are the rows, ascending, before which there is no burst: the time before them was not measured.
	Gaps []int32
}

// A Place is a row of a thread.
type Place struct{ Thread, Row int32 }

// A Message is sent at the entry of one call at the earliest, and there at the exit of another at the latest.
type Message struct{ Send, Recv Place }

// A Flow says which of a collective's data depend on which.
type Flow int

// The flows. A call that moves no data for a rank makes it no member: only MPI_Barrier synchronises without (MPI-5.0, 6.1).
const (
	AllToAll Flow = iota // none leaves before the last has come: Barrier, Allreduce, Allgather, Alltoall, …
	FromRoot             // none leaves before the root has come: Bcast, Scatter
	ToRoot               // the root does not leave before the last has come: Reduce, Gather
	Prefix               // none leaves before those before it have come: Scan, Exscan
)

// A Collective is one collective operation. Members are in the order of their ranks.
type Collective struct {
	Flow    Flow
	Root    int // of Members
	Members []Member
}

// A Member takes part from the entry of the call that starts the operation to the exit of the one that completes it.
type Member struct{ Start, End Place }

// A Traffic is who waited for whom.
type Traffic struct {
	Messages    []Message
	Collectives []Collective
}

// Check says whether all places are there.
func (t *Traffic) Check(threads []Thread) error {
	there := func(p Place) bool {
		return p.Thread >= 0 && int(p.Thread) < len(threads) && p.Row >= 0 && int(p.Row) < len(threads[p.Thread].EnterNS)
	}
	for i, m := range t.Messages {
		if !there(m.Send) || !there(m.Recv) {
			return fmt.Errorf("clock: message %d: from %v to %v is not there", i, m.Send, m.Recv)
		}
	}
	for i, c := range t.Collectives {
		if c.Root < 0 || c.Root >= max(len(c.Members), 1) {
			return fmt.Errorf("clock: collective %d: member %d of %d is its root", i, c.Root, len(c.Members))
		}
		for _, m := range c.Members {
			if !there(m.Start) || !there(m.End) {
				return fmt.Errorf("clock: collective %d: from %v to %v is not there", i, m.Start, m.End)
			}
		}
	}
	return nil
}

// Bounds are what traffic between nodes says of their clocks. Of a collective that synchronises it is what
// the first member and each other say of each other: whoever came last bounds all, whoever asks.
func (t *Traffic) Bounds(threads []Thread) iter.Seq[Bound] {
	return func(yield func(Bound) bool) {
		bound := func(send, recv Place) bool {
			a, b := &threads[send.Thread], &threads[recv.Thread]
			return a.Node == b.Node || yield(Bound{a.Node, b.Node, a.EnterNS[send.Row], b.ExitNS[recv.Row]})
		}
		for _, m := range t.Messages {
			if !bound(m.Send, m.Recv) {
				return
			}
		}
		for _, c := range t.Collectives {
			hub := c.Root
			if c.Flow == AllToAll {
				hub = 0
			}
			for i, m := range c.Members {
				h := c.Members[hub]
				if c.Flow == Prefix {
					h = c.Members[max(i-1, 0)]
				}
				if (c.Flow != ToRoot) && !bound(h.Start, m.End) || (c.Flow == AllToAll || c.Flow == ToRoot) && !bound(m.Start, h.End) {
					return
				}
			}
		}
	}
}
