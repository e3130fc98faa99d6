package waits

import (
	"cmp"
	"slices"
	"sort"
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

// ties finds where the threads of a wait were last together.
type ties struct {
	s     *solver
	byFor [][]int32             // by thread, of those where it was asked for: its waits by whom they were for, and row
	comms []map[int32][]meeting // likewise: by communicator
	// Of the call that was asked for last as a cause: how many meetings and waits its thread has before it.
	source     place
	met, waits int
}

func newTies(s *solver) *ties {
	return &ties{s: s, byFor: make([][]int32, len(s.lanes)), comms: make([]map[int32][]meeting, len(s.lanes)), source: place{-1, -1}}
}

// ofThread are the waits of a thread by whom they were for, and row.
func (t *ties) ofThread(thread int32) []int32 {
	if t.byFor[thread] != nil {
		return t.byFor[thread]
	}
	waits := t.s.waits[thread]
	list := make([]int32, len(waits))
	for k := range list {
		list[k] = int32(k)
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Or(cmp.Compare(waits[a].For, waits[b].For), cmp.Compare(a, b)) })
	t.byFor[thread] = list
	return list
}

// look finds what the thread of a cause has before it. Causes are mostly asked for several times in a row.
func (t *ties) look(source place) {
	if t.source == source {
		return
	}
	met, waits := t.s.met[source.thread], t.s.waits[source.thread]
	t.source = source
	t.met = sort.Search(len(met), func(n int) bool { return met[n].row >= source.row })
	t.waits = sort.Search(len(waits), func(n int) bool { return waits[n].Row >= source.row })
}

// of is the tie of a wait of a thread. It is the latest of
//
//   - a blocking collective that both have left after all had entered it: from its residual on, for both;
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
	if a, b, met := t.lastMeeting(thread, w); met {
		take(tie{from{row: a}, from{row: b}})
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
	return found
}

// lastWait is the last wait of a thread for another before a call.
func (t *ties) lastWait(before place, other int32) *wait {
	list, waits := t.ofThread(before.thread), t.s.waits[before.thread]
	n := sort.Search(len(list), func(n int) bool {
		w := &waits[list[n]]
		return w.For > other || w.For == other && w.Row >= before.row
	})
	if n == 0 || waits[list[n-1]].For != other {
		return nil
	}
	return &waits[list[n-1]]
}

// lastMeeting gives the calls by which both were last in one collective.
func (t *ties) lastMeeting(thread int32, w *wait) (waiting, cause int32, met bool) {
	if w.met < 0 {
		return 0, 0, false
	}
	a, other := t.s.met[thread][w.met], t.s.met[w.For]
	if t.met == 0 {
		return 0, 0, false
	}
	if b := other[t.met-1]; a.op == b.op { // as most of the time
		return a.row, b.row, true
	}
	mine, theirs := t.ofComms(thread), t.ofComms(w.For)
	waiting = -1
	for comm, list := range mine {
		a, b := until(list, w.Row), until(theirs[comm], w.ForRow)
		for len(a) > 0 && len(b) > 0 && a[len(a)-1].op != b[len(b)-1].op {
			if a[len(a)-1].op > b[len(b)-1].op {
				a = a[:len(a)-1]
			} else {
				b = b[:len(b)-1]
			}
		}
		if len(a) > 0 && len(b) > 0 && a[len(a)-1].row > waiting {
			waiting, cause = a[len(a)-1].row, b[len(b)-1].row
		}
	}
	return waiting, cause, waiting >= 0
}

// until are those of a list before a row.
func until(list []meeting, row int32) []meeting {
	return list[:sort.Search(len(list), func(n int) bool { return list[n].row >= row })]
}

// ofComms are the meetings of a thread by communicator; the operations of one have ascending numbers.
func (t *ties) ofComms(thread int32) map[int32][]meeting {
	if t.comms[thread] == nil {
		t.comms[thread] = make(map[int32][]meeting)
		for _, m := range t.s.met[thread] {
			comm := t.s.commOf[m.op]
			t.comms[thread][comm] = append(t.comms[thread][comm], m)
		}
	}
	return t.comms[thread]
}
