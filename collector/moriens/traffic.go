package moriens

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"moriens/analysis/clock"
	"moriens/collector/store"
)

// flows are the blocking collectives of which it is known who waits for whom. Those with a length of its own for each pair of
// ranks are not among them: what one gets of another can be nothing.
var flows = map[string]clock.Flow{
	"MPI_Barrier": clock.AllToAll, "MPI_Allreduce": clock.AllToAll, "MPI_Allgather": clock.AllToAll, "MPI_Allgatherv": clock.AllToAll,
	"MPI_Alltoall": clock.AllToAll, "MPI_Reduce_scatter_block": clock.AllToAll,
	"MPI_Bcast": clock.FromRoot, "MPI_Scatter": clock.FromRoot, "MPI_Scatterv": clock.FromRoot,
	"MPI_Reduce": clock.ToRoot, "MPI_Gather": clock.ToRoot, "MPI_Gatherv": clock.ToRoot,
	"MPI_Scan": clock.Prefix, "MPI_Exscan": clock.Prefix,
}

// A meetingKey is one collective operation.
type meetingKey struct {
	comm, ordinal uint64
}

// A visitor is a rank that took part in it.
type visitor struct {
	rank     int
	root     int
	function string
	place    clock.Place
	moves    bool // data of its own
}

// traffic is who waited for whom, as far as that is known: the messages that were matched, and collectives.
func (h *history) traffic(c *communicators) *clock.Traffic {
	t := new(clock.Traffic)
	for _, p := range h.matching.pairs {
		t.Messages = append(t.Messages, clock.Message{Send: p.send.clock(), Recv: p.done.clock()})
	}
	meetings := make(map[meetingKey][]visitor)
	for i := range h.processes {
		for _, thread := range h.processes[i].threads {
			for k := range h.rings[thread].Collectives {
				h.visit(c, i, thread, &h.rings[thread].Collectives[k], meetings)
			}
		}
	}
	byKey := func(a, b meetingKey) int {
		return cmp.Or(cmp.Compare(a.comm, b.comm), cmp.Compare(a.ordinal, b.ordinal))
	}
	for _, key := range slices.SortedFunc(maps.Keys(meetings), byKey) {
		if m, ok := meeting(meetings[key]); ok {
			t.Collectives = append(t.Collectives, m)
		}
	}
	return t
}

// visit adds collectives of a thread to the meetings.
func (h *history) visit(c *communicators, of, thread int, x *store.Collectives, meetings map[meetingKey][]visitor) {
	p, calls := &h.processes[of], &h.run.Threads[thread].Calls
	for i, row := range x.Row {
		member, known := p.Comms[x.Comm[i]]
		unfinished := calls.Unfinished && int(row) == calls.Len()-1
		if !known || c.doubtful[member.Info.Id] || member.Info.Inter || unfinished {
			continue
		}
		function := strings.TrimSuffix(h.run.CallPaths[calls.Path[row]].Function, "_c")
		flow, has := flows[function]
		if !has {
			continue
		}
		moves := function == "MPI_Barrier"
		switch {
		case flow == clock.FromRoot:
			moves = x.Received[i] > 0 || member.Rank == int(x.Root[i])
		case !moves:
			moves = x.Sent[i] > 0 || flow == clock.ToRoot && member.Rank == int(x.Root[i])
		}
		key := meetingKey{member.Info.Id, x.Ordinal[i]}
		meetings[key] = append(meetings[key], visitor{
			member.Rank, int(x.Root[i]), function, clock.Place{Thread: int32(thread), Row: int32(row)}, moves,
		})
	}
}

// meeting makes a collective of its visitors; not where they do not agree on what it is.
func meeting(visitors []visitor) (clock.Collective, bool) {
	slices.SortStableFunc(visitors, func(a, b visitor) int { return cmp.Compare(a.rank, b.rank) })
	first := visitors[0]
	c := clock.Collective{Flow: flows[first.function], Root: -1}
	for i, v := range visitors {
		if v.function != first.function || v.root != first.root || i > 0 && v.rank == visitors[i-1].rank {
			return c, false
		}
		if !v.moves {
			continue
		}
		if v.rank == v.root {
			c.Root = len(c.Members)
		}
		c.Members = append(c.Members, clock.Member{Start: v.place, End: v.place})
	}
	if c.Flow == clock.AllToAll || c.Flow == clock.Prefix {
		c.Root = 0
	}
	return c, c.Root >= 0 && len(c.Members) > 1
}
