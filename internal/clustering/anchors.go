package clustering

import (
	"moriens/analysis/sequence"
	"moriens/trace"
)

// anchors gives for each thread the collective calls that cut its sequence of bursts: those on the communicator of all ranks
// that has most of them. One communicator only, for MPI asks all its ranks to make their collective calls in one order, but not
// to keep that order between communicators where the calls need not wait. nil where there is no such communicator, or where the
// numbers of the calls are not known.
func anchors(run *trace.Run) [][]sequence.Anchor {
	comm := worldCommunicator(run)
	if comm < 0 {
		return nil
	}
	list := make([][]sequence.Anchor, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		c := &t.Collectives
		last := int64(-1)
		burst := 0
		for k, of := range c.Comm {
			if of != comm {
				continue
			}
			if c.Ordinal[k] <= last {
				return nil
			}
			last = c.Ordinal[k]
			enterNS := t.Calls.EnterNS[c.Call[k]]
			for burst < t.Bursts.Len() && t.Bursts.StartNS[burst]+t.Bursts.DurationNS[burst] <= enterNS {
				burst++
			}
			list[i] = append(list[i], sequence.Anchor{At: burst, Event: uint64(last)})
		}
	}
	return list
}

// worldCommunicator is the index of the communicator of all ranks with most collective calls; -1: there is none, as in a run of
// several worlds.
func worldCommunicator(run *trace.Run) int32 {
	if len(run.Worlds) != 1 {
		return -1
	}
	calls := make([]int, len(run.Communicators))
	for i := range run.Threads {
		for _, comm := range run.Threads[i].Collectives.Comm {
			if comm >= 0 {
				calls[comm]++
			}
		}
	}
	best := int32(-1)
	for i, n := range calls {
		c := &run.Communicators[i]
		if n == 0 || c.Inter || c.Window || c.File || len(c.Ranks) != run.Worlds[0].Size {
			continue
		}
		if best < 0 || n > calls[best] {
			best = int32(i)
		}
	}
	return best
}
