// Package blame says who made whom wait: it puts a trace.Run into the terms of analysis/waits, and the answer into the
// run, and into the words of waits.json.
package blame

import (
	"slices"

	"moriens/analysis/waits"
	"moriens/trace"
)

// inputOf is a run as analysis/waits takes it. messages says whether messages are taken in: where those of some windows
// alone are known, they are not.
func inputOf(run *trace.Run, o Options, messages bool) *waits.Run {
	in := &waits.Run{
		Threads: make([]waits.Thread, len(run.Threads)), Functions: make([]string, len(run.CallPaths)), Comms: make([]waits.Comm, len(run.Communicators)),
		Places: run.Places(), Clusters: len(run.Clusters), UncertaintyNS: o.UncertaintyNS, Clock: o.Clock, DurationNS: run.DurationNS, Main: o.Main, Workers: o.Workers,
	}
	for i := range run.CallPaths {
		in.Functions[i] = run.CallPaths[i].Function
	}
	for i := range run.Communicators {
		c := &run.Communicators[i]
		in.Comms[i] = waits.Comm{World: int32(c.World), Ranks: make([]int32, len(c.Ranks)), Inter: c.Inter}
		for k, rank := range c.Ranks {
			in.Comms[i].Ranks[k] = int32(rank)
		}
	}
	for i := range run.Clusters {
		in.Kinds = append(in.Kinds, run.Clusters[i].Kind())
	}
	numbered := numbered(run)
	for i := range run.Threads {
		in.Threads[i] = threadOf(&run.Threads[i], numbered)
	}
	if messages {
		sent := SentRows(run)
		in.Messages = len(run.Messages)
		in.Message = func(i int) waits.Message {
			m := &run.Messages[i]
			return waits.Message{From: int32(m.From), To: int32(m.To), SendNS: m.SendNS, RecvNS: m.RecvNS, DoneNS: m.PhysicalRecvNS, Bytes: m.Bytes, Sent: sent[i]}
		}
	}
	return in
}

// numbered says whether the collectives of a run have numbers in their communicators: those of traces have none.
func numbered(run *trace.Run) bool {
	for i := range run.Threads {
		for _, n := range run.Threads[i].Collectives.Ordinal {
			if n != 0 {
				return true
			}
		}
	}
	return false
}

func threadOf(t *trace.Thread, numbered bool) waits.Thread {
	c := &t.Collectives
	x := waits.Thread{
		World: int32(t.World), Rank: int32(t.Rank), Node: int32(t.Node), EndNS: t.EndNS,
		EnterNS: t.Calls.EnterNS, ExitNS: t.Calls.ExitNS, Path: t.Calls.Path, Unfinished: t.Calls.Unfinished,
		StartNS: t.Bursts.StartNS, DurationNS: t.Bursts.DurationNS, Cluster: t.Bursts.Cluster,
		Collectives: waits.Collectives{Call: c.Call, Comm: c.Comm, Sent: c.Sent, Received: c.Received, Root: c.Root, Done: c.Done, Instance: c.Instance},
	}
	if numbered {
		x.Collectives.Ordinal = c.Ordinal
	}
	for _, s := range t.Kept {
		x.Kept = append(x.Kept, waits.Span{BeginNS: s.BeginNS, EndNS: s.EndNS})
	}
	return x
}

// SentRows are, for each message, the row of the call that completed its send; -1: it is not known.
func SentRows(run *trace.Run) []int32 {
	senders := make([]sender, len(run.Threads))
	rows := make([]int32, len(run.Messages))
	for i := range run.Messages {
		m := &run.Messages[i]
		rows[i] = -1
		t := &run.Threads[m.From]
		if t.Transfers.Len() == 0 {
			continue
		}
		if call := t.Calls.EnteredAt(m.SendNS); call >= 0 {
			rows[i] = senders[m.From].take(&t.Transfers, uint32(call), parcel{m.Tag, m.Bytes, run.Threads[m.To].Rank})
		}
	}
	return rows
}

// A parcel is what distinguishes the sends of a call.
type parcel struct {
	tag, bytes int64
	to         int
}

// A sender hands out the sends of a thread, call by call: messages are in the order of the calls that sent them.
type sender struct {
	begun bool
	call  uint32
	one   []int            // the only transfer of the call, until it is handed out
	left  map[parcel][]int // those of a call that has several
}

// take is the row of the call that completed the next send of a call that is alike; -1: there is none.
func (s *sender) take(x *trace.Transfers, call uint32, p parcel) int32 {
	if !s.begun || s.call != call {
		s.begin(x, call)
	}
	list := s.left[p]
	if len(s.one) > 0 && parcelOf(x, s.one[0]) == p {
		list, s.one = s.one, s.one[:0]
	}
	if len(list) == 0 {
		return -1
	}
	if s.left != nil {
		s.left[p] = list[1:]
	}
	return x.Done[list[0]]
}

// begin takes in the sends of a call.
func (s *sender) begin(x *trace.Transfers, call uint32) {
	*s = sender{begun: true, call: call, one: s.one[:0]}
	first, _ := slices.BinarySearch(x.Call, call)
	after := first
	for after < x.Len() && x.Call[after] == call {
		after++
	}
	if after-first > 1 {
		s.left = make(map[parcel][]int)
	}
	for k := first; k < after; k++ {
		switch p := parcelOf(x, k); {
		case x.Kind[k] != trace.Sent:
		case s.left == nil:
			s.one = append(s.one, k)
		default:
			s.left[p] = append(s.left[p], k)
		}
	}
}

func parcelOf(x *trace.Transfers, k int) parcel {
	return parcel{int64(x.Tag[k]), x.Bytes[k], int(x.Peer[k])}
}
