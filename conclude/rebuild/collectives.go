package rebuild

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/trace"
)

// flows are the blocking collectives for which it is known which rank waits for which. Those with a length of its own
// for each pair of ranks are not among them: what one gets of another can be nothing.
var flows = map[string]clock.Flow{
	"MPI_Barrier": clock.AllToAll, "MPI_Allreduce": clock.AllToAll, "MPI_Allgather": clock.AllToAll, "MPI_Allgatherv": clock.AllToAll,
	"MPI_Alltoall": clock.AllToAll, "MPI_Reduce_scatter_block": clock.AllToAll,
	"MPI_Bcast": clock.FromRoot, "MPI_Scatter": clock.FromRoot, "MPI_Scatterv": clock.FromRoot,
	"MPI_Reduce": clock.ToRoot, "MPI_Gather": clock.ToRoot, "MPI_Gatherv": clock.ToRoot,
	"MPI_Scan": clock.Prefix, "MPI_Exscan": clock.Prefix,
}

// An operation is one collective operation.
type operation struct {
	comm, ordinal uint64
}

// A participant is a rank that took part in it.
type participant struct {
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

// functionsOf gives for each call path its function's number in the list; -1: it is not known which rank waits for
// which.
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

// collectiveRows are collectives of a thread.
type collectiveRows struct {
	run     *unpacked
	comms   *communicators
	thread  int
	columns *store.Collectives
}

// operations goes through the collectives for which it is known which rank waits for which.
func operations(x collectiveRows, of []int32, functions []function) iter.Seq2[operation, participant] {
	return func(yield func(operation, participant) bool) {
		process, calls := x.run.ProcessOf[x.thread], &x.run.run.Threads[x.thread].Calls
		var member store.Member
		counts := false // the communicator's collectives
		for i, row := range x.columns.Row {
			if i == 0 || x.columns.Comm[i] != x.columns.Comm[i-1] {
				var known bool
				member, known = x.comms.member(process, x.columns.Comm[i])
				counts = known && !member.Info.Inter
			}
			unfinished := calls.Unfinished && int(row) == calls.Len()-1
			k := of[calls.Path[row]]
			if !counts || unfinished || k < 0 {
				continue
			}
			root := member.Rank == int(x.columns.Root[i])
			flow := functions[k].flow
			moves := functions[k].name == "MPI_Barrier"
			switch {
			case flow == clock.FromRoot:
				moves = x.columns.Received[i] > 0 || root
			case !moves:
				moves = x.columns.Sent[i] > 0 || flow == clock.ToRoot && root
			}
			if !yield(operation{member.Info.Id, x.columns.Ordinal[i]}, participant{
				int32(member.Rank), x.columns.Root[i], k, moves, clock.Place{Thread: int32(x.thread), Row: int32(row)},
			}) {
				return
			}
		}
	}
}

// together gives the participants of each operation, in the order of the threads, by communicator and ordinal.
func together(keys [][]operation, entries [][]participant) [][]participant {
	numbers := make(map[operation]int32)
	var order []operation // by number
	var count []int       // of participants
	var before, now []int32
	number := make([][]int32, len(keys))
	rows := 0
	for _, list := range keys {
		rows += len(list)
	}
	room := make([]int32, rows)
	for thread, list := range keys {
		now, room = room[:len(list)], room[len(list):]
		for i, key := range list {
			// Threads take part in the same operations, most of them.
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
	lists := make([][]participant, len(order))
	for n := range lists {
		lists[n] = make([]participant, 0, count[n])
	}
	for thread, list := range entries {
		for i, v := range list {
			n := number[thread][i]
			lists[n] = append(lists[n], v)
		}
		entries[thread] = nil
	}
	byKey := make([]int32, len(order))
	for n := range byKey {
		byKey[n] = int32(n)
	}
	slices.SortFunc(byKey, func(a, b int32) int {
		return cmp.Or(cmp.Compare(order[a].comm, order[b].comm), cmp.Compare(order[a].ordinal, order[b].ordinal))
	})
	sorted := make([][]participant, len(order))
	for i, n := range byKey {
		sorted[i] = lists[n]
	}
	return sorted
}

// collective makes one of its participants; not where they do not agree on what it is.
func collective(participants []participant, functions []function) (clock.Collective, bool) {
	byRank := func(a, b participant) int { return cmp.Compare(a.rank, b.rank) }
	if !slices.IsSortedFunc(participants, byRank) {
		slices.SortStableFunc(participants, byRank)
	}
	first := participants[0]
	c := clock.Collective{Flow: functions[first.function].flow, Root: -1, Members: make([]clock.Member, 0, len(participants))}
	for i, v := range participants {
		if v.function != first.function || v.root != first.root || i > 0 && v.rank == participants[i-1].rank {
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
