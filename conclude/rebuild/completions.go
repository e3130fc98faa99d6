package rebuild

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// met is the kind of moves that say which call has completed a collective.
const met = uint8(moriensv1.Transfers_KIND_COLLECTIVE)

// A completion is what a move of a collective says: which row of a thread has completed what one of its rows began.
type completion struct {
	row      uint32
	comm     int32
	ordinal  int64
	done     int32 // -1: another thread's
	instance int32 // of a start, its number; else -1
}

// A meeting is a collective by what all ranks have alike.
type meeting struct {
	comm    int32
	ordinal int64
}

// completed gives a thread its collectives, with which call completed each as far as chunks of its ring say it. What it
// had of that before is void. The run is not changed.
func (h *Threads) completed(run *trace.Run, c *communicators, thread int, chunks []store.Transfers) trace.Collectives {
	calls := called(&run.Threads[thread].Collectives)
	list := completions(c, h.ProcessOf[thread], chunks)
	if len(list) == 0 {
		return calls
	}
	path := run.Threads[thread].Calls.Path
	calls.Done = make([]int32, calls.Len())
	for k, call := range calls.Call {
		id, _ := mpicall.ByName(run.CallPaths[path[call]].Function)
		if calls.Done[k] = int32(call); id.HasRequest() {
			calls.Done[k] = -1
		}
	}
	begun := 0 // of list, those that are no starts
	for ; begun < len(list) && list[begun].instance < 0; begun++ {
		x := &list[begun]
		if k, is := slices.BinarySearch(calls.Call, x.row); is {
			calls.Done[k] = x.done
		}
	}
	if begun == len(list) {
		return calls
	}
	return withStarts(&calls, list[begun:], h.making(run, thread, list[begun:]))
}

// completions are those of chunks of a ring of a process: first those of calls, then those of starts, by row.
func completions(c *communicators, of int, chunks []store.Transfers) (list []completion) {
	for k := range chunks {
		x := &chunks[k]
		for i, kind := range x.Kind {
			if kind != met {
				continue
			}
			one := completion{row: x.Row[i], comm: c.comm(of, x.Comm[i]), ordinal: -1, done: int32(x.Done[i]), instance: x.Tag[i]}
			if x.Ordinal != nil {
				one.ordinal = int64(x.Ordinal[i]) - 1
			}
			if x.DoneRing[i] != nil {
				one.done = -1
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b completion) int {
		return cmp.Or(
			cmp.Compare(min(a.instance, 0), min(b.instance, 0)), cmp.Compare(a.row, b.row), cmp.Compare(a.comm, b.comm), cmp.Compare(a.ordinal, b.ordinal),
			cmp.Compare(a.instance, b.instance), cmp.Compare(a.done, b.done),
		)
	})
	return list
}

// called are the rows of calls, without those of starts and without what completed them.
func called(x *trace.Collectives) trace.Collectives {
	c := *x
	c.Done, c.Instance = nil, nil
	if x.Instance == nil {
		return c
	}
	var rows []int
	for k := range x.Len() {
		if !x.Started(k) {
			rows = append(rows, k)
		}
	}
	c.Call, c.Comm, c.Ordinal = at(x.Call, rows), at(x.Comm, rows), at(x.Ordinal, rows)
	c.Sent, c.Received, c.Root = at(x.Sent, rows), at(x.Received, rows), at(x.Root, rows)
	return c
}

func at[T any](column []T, rows []int) []T {
	some := make([]T, len(rows))
	for i, k := range rows {
		some[i] = column[k]
	}
	return some
}

// A made is a row that has made a persistent request.
type made struct {
	sent, received int64
	root           int32
}

// making finds the rows, of any thread of a thread's process, that have made the requests of starts.
func (h *Threads) making(run *trace.Run, thread int, starts []completion) map[meeting]made {
	found := make(map[meeting]made)
	for _, x := range starts {
		found[meeting{x.comm, x.ordinal}] = made{root: -1}
	}
	for _, i := range h.Processes[h.ProcessOf[thread]].Threads {
		x := &run.Threads[i].Collectives
		for k, comm := range x.Comm {
			if x.Started(k) || comm < 0 {
				continue
			}
			key := meeting{comm, x.Ordinal[k]}
			if _, wanted := found[key]; wanted {
				found[key] = made{x.Sent[k], x.Received[k], x.Root[k]}
			}
		}
	}
	return found
}

// withStarts are the rows of calls and those of starts, in the order of their calls.
func withStarts(calls *trace.Collectives, starts []completion, of map[meeting]made) trace.Collectives {
	n := calls.Len() + len(starts)
	c := trace.Collectives{
		Call: make([]uint32, 0, n), Comm: make([]int32, 0, n), Ordinal: make([]int64, 0, n), Sent: make([]int64, 0, n), Received: make([]int64, 0, n),
		Root: make([]int32, 0, n), Done: make([]int32, 0, n), Instance: make([]int32, 0, n),
	}
	add := func(call uint32, comm int32, ordinal int64, moves made, done, instance int32) {
		c.Call, c.Comm, c.Ordinal = append(c.Call, call), append(c.Comm, comm), append(c.Ordinal, ordinal)
		c.Sent, c.Received, c.Root = append(c.Sent, moves.sent), append(c.Received, moves.received), append(c.Root, moves.root)
		c.Done, c.Instance = append(c.Done, done), append(c.Instance, instance)
	}
	for k := 0; k < calls.Len() || len(starts) > 0; {
		if len(starts) > 0 && (k == calls.Len() || starts[0].row < calls.Call[k]) {
			x := starts[0]
			starts = starts[1:]
			add(x.row, x.comm, x.ordinal, of[meeting{x.comm, x.ordinal}], x.done, x.instance)
			continue
		}
		add(calls.Call[k], calls.Comm[k], calls.Ordinal[k], made{calls.Sent[k], calls.Received[k], calls.Root[k]}, calls.Done[k], -1)
		k++
	}
	return c
}

// complete gives the threads that are here which calls completed their collectives.
func (h *Threads) complete(run *trace.Run, c *communicators, chunks func(thread int) []store.Transfers) {
	all := make([]trace.Collectives, len(run.Threads))
	h.each(func(i int) { all[i] = h.completed(run, c, i, chunks(i)) })
	for _, i := range h.Own {
		run.Threads[i].Collectives = all[i]
	}
}
