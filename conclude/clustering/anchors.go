package clustering

import (
	"moriens/analysis/sequence"
	"moriens/internal/team"
	"moriens/trace"
)

// anchors gives for each thread the collective calls that cut its sequence of bursts: those on the communicator of all
// ranks that has most of them. One communicator only, for MPI asks all its ranks to make their collective calls in one
// order, but not to keep that order between communicators where the calls need not wait. nil where there is no such
// communicator, or where the numbers of the calls are not known. It is collective; a member gets those of its own
// threads.
func anchors(run *trace.Run, owners team.Threads) ([][]sequence.Anchor, error) {
	meetings, err := Meetings(run, owners)
	if err != nil || meetings == nil {
		return nil, err
	}
	list := make([][]sequence.Anchor, len(meetings))
	for i := range meetings {
		list[i] = make([]sequence.Anchor, len(meetings[i]))
		for k, m := range meetings[i] {
			list[i][k] = sequence.Anchor{At: int(m.At), Event: uint64(m.Ordinal)}
		}
	}
	return list, nil
}

// A Meeting is a thread's call of a collective of all ranks.
type Meeting struct {
	Ordinal int64  // of the call on its communicator, the same on all ranks
	At      int32  // how many of the thread's bursts are before it
	Call    uint32 // row of the thread's calls
}

// Meetings gives for each thread its collective calls on one communicator of all ranks, that has most of them, in the
// order of their ordinals; nil where there is no such communicator, or where those are not known. It is collective; a
// member gets those of its own threads.
func Meetings(run *trace.Run, owners team.Threads) ([][]Meeting, error) {
	comm, err := worldCommunicator(run, owners)
	if err != nil || comm < 0 {
		return nil, err
	}
	list := meetingsOn(run, comm)
	unknown, err := team.Any(owners, list == nil)
	if err != nil || unknown {
		return nil, err
	}
	return list, nil
}

// meetingsOn gives for each thread its collective calls on a communicator; nil where their ordinals are not known.
func meetingsOn(run *trace.Run, comm int32) [][]Meeting {
	list := make([][]Meeting, len(run.Threads))
	for i := range run.Threads {
		t := &run.Threads[i]
		c := &t.Collectives
		last := int64(-1)
		burst := 0
		list[i] = make([]Meeting, 0, countOf(c.Comm, comm))
		for k, of := range c.Comm {
			if of != comm || c.Started(k) {
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
			list[i] = append(list[i], Meeting{At: int32(burst), Ordinal: last, Call: c.Call[k]})
		}
	}
	return list
}

func countOf(list []int32, value int32) int {
	n := 0
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// worldCommunicator is the index of the communicator of all ranks with most collective calls; -1: there is none, as in
// a run of several worlds. It is collective.
func worldCommunicator(run *trace.Run, owners team.Threads) (int32, error) {
	if len(run.Worlds) != 1 {
		return -1, nil
	}
	calls := make([]int64, len(run.Communicators))
	for i := range run.Threads {
		c := &run.Threads[i].Collectives
		for k, comm := range c.Comm {
			if comm >= 0 && !c.Started(k) {
				calls[comm]++
			}
		}
	}
	if err := owners.AllReduce(calls, team.Sum); err != nil {
		return -1, err
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
	return best, nil
}
