package waits

import (
	"cmp"
	"slices"
	"sort"
	"sync"
)

// A from is where a stretch of a thread begins: with a call as a whole, or with its residual; row -1: with the run.
type from struct {
	row   int32
	entry bool
}

// before says that a stretch begins earlier than another.
func (f from) before(o from) bool {
	return f.row < o.row || f.row == o.row && f.entry && !o.entry
}

// A tie is where two threads were last together: from there on their stretches are compared.
type tie struct{ waiting, cause from }

// ties finds where the threads of a wait were last together, for one goroutine.
type ties struct {
	*shared
	// Of the call that was asked for last as a cause: how many meetings and waits its thread has before it.
	source     place
	met, waits int
}

// waitLists are orders of what a thread has, made where they are asked for.
type waitLists struct {
	onceFor, onceComms sync.Once
	byFor              []int32             // its waits by whom they were for, and row
	comms              map[int32][]meeting // its meetings by communicator
}

// byFor are the waits of a thread by whom they were for, and row.
func (x *shared) byFor(thread int32) []int32 {
	lists := &x.lists[thread]
	lists.onceFor.Do(func() {
		waits := x.s.waits[thread]
		list := make([]int32, len(waits))
		for k := range list {
			list[k] = int32(k)
		}
		slices.SortFunc(list, func(a, b int32) int { return cmp.Or(cmp.Compare(waits[a].For, waits[b].For), cmp.Compare(a, b)) })
		lists.byFor = list
	})
	return lists.byFor
}

// look finds what the thread of a cause has before it. Causes are mostly asked for several times in a row.
func (t *ties) look(source place) {
	if t.source == source {
		return
	}
	met, waits := t.s.met[source.thread], t.s.waits[source.thread]
	t.source = source
	t.met = sort.Search(len(met), func(n int) bool { return met[n].start >= source.row })
	t.waits = sort.Search(len(waits), func(n int) bool { return waits[n].Row >= source.row })
}

// of is the tie of a wait of a thread. It is the latest of
//
//   - a collective that both have left after all had entered it, or a scan of which the other has a lower rank: from
//     its residual on, for both; of one that is not blocking, on the other from the entry of the call that began it;
//   - what the one that waits received of the other before: from the residual of that call on, on the other from the
//     entry of the call that sent it, so that what that call waited for comes behind it;
//   - what the other waited for it: likewise the other way round. What lay ready when the other asked for it does not
//     say that the one that now waits was in time then.
func (t *ties) of(thread int32, w *wait) tie {
	t.look(w.source())
	found := tie{from{row: -1}, from{row: -1}}
	take := func(x tie) {
		if found.waiting.before(x.waiting) {
			found = x
		}
	}
	mine := t.s.met[thread]
	n := w.met
	for n >= 0 && mine[n].done >= w.Row { // it has begun, and is not over
		n--
	}
	same := n >= 0 && t.met > 0 && mine[n].ties(t.s.met[w.For][t.met-1]) // as most of the time
	if same {
		take(tieOf(mine[n], t.s.met[w.For][t.met-1]))
	}
	if w.edge >= 0 {
		if e := &t.s.edges[thread][w.edge]; e.from.row < w.ForRow {
			take(tie{from{row: e.row}, from{e.from.row, true}})
		}
	}
	if waits := t.s.waits[w.For]; t.waits > 0 && waits[t.waits-1].Row > found.cause.row { // else it cannot be later
		if other := t.lastWait(w.source(), thread); other != nil && other.ForRow <= w.Row {
			take(tie{from{other.ForRow, true}, from{row: other.Row}})
		}
	}
	if !same {
		t.meetings(thread, n, w, take, &found)
	}
	return found
}

// ties says that a thread has left a meeting after another one has entered it.
func (m meeting) ties(cause meeting) bool {
	return m.op == cause.op && (m.rank < 0 || m.rank > cause.rank)
}

// tieOf is that of a meeting, as the one that waits and the other have it.
func tieOf(waiting, cause meeting) tie {
	if cause.start != cause.done {
		return tie{from{row: waiting.done}, from{cause.start, true}}
	}
	return tie{from{row: waiting.done}, from{row: cause.done}}
}

// meetings takes the last meeting of both, if it is later than what was found. The search goes no further back than
// that, so it takes no longer than the stretch that is compared then.
func (t *ties) meetings(thread, n int32, w *wait, take func(tie), found *tie) {
	mine, theirs := t.s.met[thread], t.comms(w.For)
	for ; n >= 0 && mine[n].start >= found.waiting.row; n-- {
		a := mine[n]
		list, of := theirs[t.s.commOf[a.op]], func(m meeting, op int32) int { return cmp.Compare(m.op, op) }
		k, both := slices.BinarySearchFunc(list, a.op, of)
		if both && a.ties(list[k]) && a.done < w.Row && list[k].start < w.ForRow {
			take(tieOf(a, list[k]))
			return
		}
	}
}

// lastWait is the last wait of a thread for another before a call.
func (t *ties) lastWait(before place, other int32) *wait {
	list, waits := t.byFor(before.thread), t.s.waits[before.thread]
	n := sort.Search(len(list), func(n int) bool {
		w := &waits[list[n]]
		return w.For > other || w.For == other && w.Row >= before.row
	})
	if n == 0 || waits[list[n-1]].For != other {
		return nil
	}
	return &waits[list[n-1]]
}

// comms are the meetings of a thread by communicator, and by operation.
func (x *shared) comms(thread int32) map[int32][]meeting {
	lists := &x.lists[thread]
	lists.onceComms.Do(func() {
		lists.comms = make(map[int32][]meeting)
		for _, m := range x.s.met[thread] {
			comm := x.s.commOf[m.op]
			lists.comms[comm] = append(lists.comms[comm], m)
		}
		for _, list := range lists.comms {
			slices.SortStableFunc(list, func(a, b meeting) int { return cmp.Compare(a.op, b.op) })
		}
	})
	return lists.comms
}
