package conclude

import (
	"cmp"
	"slices"
	"strings"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/trace"
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
	rank, root int32
	function   int32 // number in the list of functions
	moves      bool  // data of its own
	place      clock.Place
}

// A function is one of flows.
type function struct {
	name string
	flow clock.Flow
}

// functionsOf gives for each call path its function's number in the list; -1: of that it is not known who waits for whom.
func functionsOf(paths []trace.CallPath) (of []int32, list []function) {
	of = make([]int32, len(paths))
	for i := range paths {
		name := strings.TrimSuffix(paths[i].Function, "_c")
		flow, has := flows[name]
		if !has {
			of[i] = -1
			continue
		}
		k := slices.IndexFunc(list, func(f function) bool { return f.name == name })
		if k < 0 {
			k = len(list)
			list = append(list, function{name, flow})
		}
		of[i] = int32(k)
	}
	return of, list
}

// causes are who waited for whom, as far as that is known: messages that were matched, and collectives.
type causes struct {
	waits *clock.Traffic // what calls of this member's threads waited for
	told  told
}

// told is what a member knows of that for the comparison of clocks: of the threads only the calls that count.
type told struct {
	traffic *clock.Traffic
	threads []clock.Thread
}

func noCauses() causes { return causes{new(clock.Traffic), told{traffic: new(clock.Traffic)}} }

// causes is collective. The times of the calls are still those of their nodes. What it tells of clocks is told at some member, not always at that of the threads.
func (h *history) causes() (causes, error) {
	t := new(clock.Traffic)
	for _, p := range h.matching.pairs {
		t.Messages = append(t.Messages, clock.Message{Send: p.send.clock(), Recv: p.done.clock()})
	}
	of, functions := functionsOf(h.run.CallPaths)
	keys := make([][]meetingKey, len(h.rings))
	visits := make([][]visitor, len(h.rings))
	h.each(func(thread int) {
		for k := range h.rings[thread].Collectives {
			h.visit(h.comms, thread, &h.rings[thread].Collectives[k], of, functions, func(key meetingKey, v visitor) {
				keys[thread], visits[thread] = append(keys[thread], key), append(visits[thread], v)
			})
		}
	})
	if h.team.Size() == 1 {
		for _, visitors := range together(keys, visits) {
			if m, ok := meeting(visitors, functions); ok {
				t.Collectives = append(t.Collectives, m)
			}
		}
		return causes{t, told{t, h.threads()}}, nil
	}
	k := newKnown(h, h.threads())
	k.messages(h.matching.pairs)
	list, err := k.meet(keys, visits, functions)
	t.Collectives = list
	return causes{t, told{&k.traffic, k.threads}}, err
}

// together gives the visitors of each meeting, in the order of the threads, by communicator and ordinal.
func together(keys [][]meetingKey, visits [][]visitor) [][]visitor {
	numbers := make(map[meetingKey]int32)
	var order []meetingKey // by number
	var count []int        // of visitors
	var before, now []int32
	number := make([][]int32, len(keys))
	for thread, list := range keys {
		now = make([]int32, len(list))
		for i, key := range list {
			// Threads go to the same meetings, most of them.
			if i < len(before) && order[before[i]] == key {
				now[i] = before[i]
			} else if n, known := numbers[key]; known {
				now[i] = n
			} else {
				now[i] = int32(len(order))
				numbers[key] = now[i]
				order, count = append(order, key), append(count, 0)
			}
			count[now[i]]++
		}
		number[thread], before = now, now
	}
	meetings := make([][]visitor, len(order))
	for n := range meetings {
		meetings[n] = make([]visitor, 0, count[n])
	}
	for thread, list := range visits {
		for i, v := range list {
			n := number[thread][i]
			meetings[n] = append(meetings[n], v)
		}
		visits[thread] = nil
	}
	byKey := make([]int32, len(order))
	for n := range byKey {
		byKey[n] = int32(n)
	}
	slices.SortFunc(byKey, func(a, b int32) int {
		return cmp.Or(cmp.Compare(order[a].comm, order[b].comm), cmp.Compare(order[a].ordinal, order[b].ordinal))
	})
	sorted := make([][]visitor, len(order))
	for i, n := range byKey {
		sorted[i] = meetings[n]
	}
	return sorted
}

// visit goes through collectives of a thread of which it is known who waits for whom.
func (h *history) visit(c *communicators, thread int, x *store.Collectives, of []int32, functions []function, add func(meetingKey, visitor)) {
	p, calls := &h.processes[h.processOf[thread]], &h.run.Threads[thread].Calls
	var member store.Member
	counts := false // the communicator's collectives
	for i, row := range x.Row {
		if i == 0 || x.Comm[i] != x.Comm[i-1] {
			var known bool
			member, known = p.Comms[x.Comm[i]]
			counts = known && !c.doubtful[member.Info.Id] && !member.Info.Inter
		}
		unfinished := calls.Unfinished && int(row) == calls.Len()-1
		k := of[calls.Path[row]]
		if !counts || unfinished || k < 0 {
			continue
		}
		root := member.Rank == int(x.Root[i])
		flow := functions[k].flow
		moves := functions[k].name == "MPI_Barrier"
		switch {
		case flow == clock.FromRoot:
			moves = x.Received[i] > 0 || root
		case !moves:
			moves = x.Sent[i] > 0 || flow == clock.ToRoot && root
		}
		add(meetingKey{member.Info.Id, x.Ordinal[i]}, visitor{
			int32(member.Rank), x.Root[i], k, moves, clock.Place{Thread: int32(thread), Row: int32(row)},
		})
	}
}

// meeting makes a collective of its visitors; not where they do not agree on what it is.
func meeting(visitors []visitor, functions []function) (clock.Collective, bool) {
	byRank := func(a, b visitor) int { return cmp.Compare(a.rank, b.rank) }
	if !slices.IsSortedFunc(visitors, byRank) {
		slices.SortStableFunc(visitors, byRank)
	}
	first := visitors[0]
	c := clock.Collective{Flow: functions[first.function].flow, Root: -1, Members: make([]clock.Member, 0, len(visitors))}
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
