package clock

import (
	"fmt"

	"moriens/analysis/workers"
	"moriens/internal/team"
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

// The flows. A call that moves no data for a rank makes it no member: only MPI_Barrier synchronises without (MPI-5.0,
// 6.1).
const (
	AllToAll Flow = iota // none leaves before the last has arrived: Barrier, Allreduce, Allgather, Alltoall, …
	FromRoot             // none leaves before the root has arrived: Bcast, Scatter
	ToRoot               // the root does not leave before the last has arrived: Reduce, Gather
	Prefix               // none leaves before those before it have arrived: Scan, Exscan
)

// A Collective is one collective operation. Members are in the order of their ranks.
//
// Where members of a team know of one collective, Members are those whose threads are here, and in addition, of
// FromRoot, the root, of Prefix all. The others of AllToAll, and for the root those of ToRoot, are reported by the
// members of the team that have them.
type Collective struct {
	Flow    Flow
	Root    int // of Members; -1 = of ToRoot, it is elsewhere
	Members []Member

	ID     uint64  // of one that several members of the team know of, the same at all of them
	Others []int32 // the other members of the team that report its threads, or, of ToRoot with the root elsewhere, get reports
}

// A Member takes part from the entry of the call that starts the operation to the exit of the one that completes it.
type Member struct{ Start, End Place }

// A Traffic is who waited for whom.
type Traffic struct {
	Messages    []Message
	Collectives []Collective
}

// Check reports whether all places are there, as far as they are of this member's threads.
func (t *Traffic) Check(threads []Thread, of team.Threads) error {
	if err := of.Check(len(threads)); err != nil {
		return err
	}
	whole := of.Size() == 1
	here := make([]bool, len(threads))
	for i := range here {
		here[i] = whole || of.Mine(i)
	}
	there := func(p Place) bool {
		return p.Thread >= 0 && int(p.Thread) < len(threads) && p.Row >= 0 && (!here[p.Thread] || int(p.Row) < len(threads[p.Thread].EnterNS))
	}
	for i, m := range t.Messages {
		if !there(m.Send) || !there(m.Recv) || !here[m.Recv.Thread] {
			return fmt.Errorf("clock: message %d: from %v to %v is not there", i, m.Send, m.Recv)
		}
	}
	for i, c := range t.Collectives {
		if (c.Root < 0 || c.Root >= max(len(c.Members), 1)) && !(c.Root == -1 && c.Flow == ToRoot && len(c.Others) == 1) {
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

// Bounds are the bounds that traffic between nodes puts on their clocks, in the order of the traffic. credible says
// whether a node's clock can have shown a time: traffic with other times gives no bound, and refused counts it. atOnce
// collectives are processed in parallel.
//
// A collective bounds the clocks of one member's node and of each other node against each other, as tightly as its
// calls allow. All members of a node share one clock, so the last of them to enter and the first to leave give the
// node's bounds. The last node to enter bounds all others, whichever node is chosen.
func (t *Traffic) Bounds(threads []Thread, credible func(node int, ns int64) bool, atOnce int) (bounds []Bound, refused int) {
	nodes := 0
	for i := range threads {
		nodes = max(nodes, threads[i].Node+1)
	}
	l := boundList{threads: threads, credible: credible}
	for _, m := range t.Messages {
		l.between(m.Send, m.Recv)
	}
	parts := make([]boundList, max(1, min(atOnce, len(t.Collectives))))
	workers.Chunks(len(t.Collectives), len(parts), func(k, from, to int) {
		part := boundList{threads: threads, credible: credible, ends: make([]ends, nodes)}
		for i := from; i < to; i++ {
			part.collective(&t.Collectives[i])
		}
		parts[k] = part
	})
	for k := range parts {
		l.bounds = append(l.bounds, parts[k].bounds...)
		l.refused += parts[k].refused
	}
	return l.bounds, l.refused
}

// A boundList takes bounds as they are found.
type boundList struct {
	threads  []Thread
	credible func(node int, ns int64) bool
	bounds   []Bound
	refused  int
	ends     []ends // by node, of the collective that is looked at
	nodes    []int  // of that, in the order of their first members
}

// ends are the times of a node's members that count in a collective: the last entry of those that others wait for, and
// the first exit of those that wait.
type ends struct {
	awaited, waits  bool
	lastNS, firstNS int64
}

func (l *boundList) add(from, to int, sendNS, recvNS int64) {
	if from != to {
		l.bounds = append(l.bounds, Bound{from, to, sendNS, recvNS})
	}
}

func (l *boundList) between(send, recv Place) {
	a, b := &l.threads[send.Thread], &l.threads[recv.Thread]
	if a.Node == b.Node {
		return
	}
	sendNS, recvNS := a.EnterNS[send.Row], b.ExitNS[recv.Row]
	if !l.credible(a.Node, sendNS) || !l.credible(b.Node, recvNS) {
		l.refused++
		return
	}
	l.add(a.Node, b.Node, sendNS, recvNS)
}

func (l *boundList) collective(c *Collective) {
	if c.Flow == Prefix {
		for i := 1; i < len(c.Members); i++ {
			l.between(c.Members[i-1].Start, c.Members[i].End)
		}
		return
	}
	if len(c.Members) == 0 {
		return
	}
	for _, node := range l.nodes {
		l.ends[node] = ends{}
	}
	l.nodes = l.nodes[:0]
	for i, m := range c.Members {
		root := i == c.Root
		if c.Flow == AllToAll || root == (c.Flow == FromRoot) {
			l.arrive(m.Start)
		}
		if c.Flow == AllToAll || root == (c.Flow == ToRoot) {
			l.leaves(m.End)
		}
	}
	hub := l.threads[c.Members[c.Root].Start.Thread].Node
	h := &l.ends[hub]
	for _, node := range l.nodes {
		n := &l.ends[node]
		if h.awaited && n.waits {
			l.add(hub, node, h.lastNS, n.firstNS)
		}
		if n.awaited && h.waits {
			l.add(node, hub, n.lastNS, h.firstNS)
		}
	}
}

// of is what there is of a node in the collective that is looked at.
func (l *boundList) of(node int) *ends {
	e := &l.ends[node]
	if !e.awaited && !e.waits {
		l.nodes = append(l.nodes, node)
	}
	return e
}

// arrive takes in a call for which others wait.
func (l *boundList) arrive(p Place) {
	t := &l.threads[p.Thread]
	ns := t.EnterNS[p.Row]
	if !l.credible(t.Node, ns) {
		l.refused++
		return
	}
	if e := l.of(t.Node); !e.awaited || ns > e.lastNS {
		e.awaited, e.lastNS = true, ns
	}
}

// leaves takes in a call that waits for others.
func (l *boundList) leaves(p Place) {
	t := &l.threads[p.Thread]
	ns := t.ExitNS[p.Row]
	if !l.credible(t.Node, ns) {
		l.refused++
		return
	}
	if e := l.of(t.Node); !e.waits || ns < e.firstNS {
		e.waits, e.firstNS = true, ns
	}
}
