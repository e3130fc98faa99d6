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
		Places: run.Places(), Clusters: len(run.Clusters), UncertaintyNS: o.UncertaintyNS, Clock: o.Clock, DurationNS: run.DurationNS, Workers: o.Workers,
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
		sent := sentRows(run)
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

// sentRows are, for each message, the row of the call that completed its send; -1: it is not known.
func sentRows(run *trace.Run) []int32 {
	taken := make([][]bool, len(run.Threads)) // by transfer of a thread: a message has it
	rows := make([]int32, len(run.Messages))
	for i := range run.Messages {
		m := &run.Messages[i]
		rows[i] = -1
		t := &run.Threads[m.From]
		x := &t.Transfers
		call := t.Calls.EnteredAt(m.SendNS)
		if call < 0 || x.Len() == 0 {
			continue
		}
		if taken[m.From] == nil {
			taken[m.From] = make([]bool, x.Len())
		}
		k, _ := slices.BinarySearch(x.Call, uint32(call))
		for ; k < x.Len() && x.Call[k] == uint32(call); k++ {
			fits := x.Kind[k] == trace.Sent && int64(x.Tag[k]) == m.Tag && x.Bytes[k] == m.Bytes && int(x.Peer[k]) == run.Threads[m.To].Rank
			if fits && !taken[m.From][k] {
				taken[m.From][k], rows[i] = true, x.Done[k]
				break
			}
		}
	}
	return rows
}
