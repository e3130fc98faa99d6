package message

import (
	"math"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// Snapshot returns what Restore needs to continue. Communicators are left out: the
// process's log has them.
func (m *Matcher) Snapshot() *moriensv1.MatcherState {
	w := writer{places: make(map[*Thread]uint32), postings: make(map[*posting]uint32), state: &moriensv1.MatcherState{
		Came: uint32(m.threadsSeen), Coming: uint32(m.coming), Gaps: uint32(m.gaps), Unrecorded: m.unrecorded,
		Request: &moriensv1.MatcherRequests{Operation: &moriensv1.MatcherOperations{}},
		Probed:  &moriensv1.MatcherOperations{},
		Channel: &moriensv1.MatcherOperations{},
		Posting: &moriensv1.MatcherPostings{},
		Stats: &moriensv1.MatcherStats{
			Transfers: m.stats.Transfers, EndsUnknown: m.stats.EndsUnknown, StartsUnknown: m.stats.StartsUnknown, Lost: m.stats.Lost,
			Open: m.stats.Open, Unfollowed: m.stats.Unfollowed, Shared: m.stats.Shared, Cancelled: m.stats.Cancelled, Late: m.stats.Late,
			Unordered: m.order.unknown, Void: m.order.void, Collectives: m.stats.Collectives,
		},
		Sums: m.Sums(),
	}}
	if m.fast.on {
		w.lanes(m)
	} else {
		w.order(&m.order)
	}
	for _, t := range m.threads {
		w.place(t).Gone = false
	}
	for i, t := range m.threads {
		w.thread(w.state.Thread[i], t)
	}
	grow(w.state, m.requests.open+m.fast.open)
	w.requests(&m.requests, m.settled())
	w.underWay(m)
	for handle, list := range m.messages {
		w.state.Message = append(w.state.Message, handle)
		w.state.MessageLength = append(w.state.MessageLength, uint32(len(list)))
		for i := range list {
			w.operation(w.state.Probed, &list[i])
		}
	}
	for handle, u := range m.unfollowed {
		w.state.Unfollowed = append(w.state.Unfollowed, handle)
		w.state.UnfollowedEnds = append(w.state.UnfollowedEnds, u.ends)
		w.state.UnfollowedPersistent = append(w.state.UnfollowedPersistent, u.persistent)
	}
	w.waiting(m)
	for comm, last := range m.meetings.last {
		w.state.Comm = append(w.state.Comm, comm)
		w.state.Ordinal = append(w.state.Ordinal, *last)
	}
	for c, n := range m.channels {
		w.operation(w.state.Channel, &operation{kind: c.kind, comm: c.comm, peer: c.peer, tag: c.tag})
		w.state.Channels = append(w.state.Channels, n)
	}
	return w.state
}

// settled is the time before which nothing can arrive any more: events of a thread ascend, and a thread that is not yet
// known here begins later than what was applied.
func (m *Matcher) settled() uint64 {
	if m.threadsSeen < m.coming {
		return 0
	}
	time := uint64(math.MaxUint64)
	if len(m.threads) < 2 {
		return time
	}
	for _, t := range m.threads {
		if at, waits := t.head(); waits {
			time = min(time, at)
		} else if !t.ended {
			time = min(time, t.lastTicks)
		}
	}
	return time
}

// grow makes room for so many requests, most of which are a send or a receive and have a handle of their own.
func grow(s *moriensv1.MatcherState, n int) {
	s.Handle, s.Last, s.Length = slices.Grow(s.Handle, n), slices.Grow(s.Last, n), slices.Grow(s.Length, n)
	r := s.Request
	r.Flags, r.By, r.Held = slices.Grow(r.Flags, n), slices.Grow(r.By, n), slices.Grow(r.Held, n)
	o := r.Operation
	o.Kind, o.Thread, o.Row, o.Peer = slices.Grow(o.Kind, n), slices.Grow(o.Thread, n), slices.Grow(o.Row, n), slices.Grow(o.Peer, n)
	o.Tag, o.Comm, o.Bytes = slices.Grow(o.Tag, n), slices.Grow(o.Comm, n), slices.Grow(o.Bytes, n)
	o.Channel, o.Posting = slices.Grow(o.Channel, n), slices.Grow(o.Posting, n)
	o.Function, o.Path, o.Ordinal = slices.Grow(o.Function, n), slices.Grow(o.Path, n), slices.Grow(o.Ordinal, n)
}

// A writer puts a Matcher into a MatcherState.
type writer struct {
	state  *moriensv1.MatcherState
	places map[*Thread]uint32 // in state.Thread, from 1
	latest *Thread            // whose place was asked for
	at     uint32

	epoch    uint32
	kept     bool                // lanes are
	postings map[*posting]uint32 // in state.Posting, from 1
}

// place gives a thread a place, if it has none. One that is not the Matcher's any more is gone.
func (w *writer) place(t *Thread) *moriensv1.MatcherThread {
	n := w.places[t]
	if n == 0 {
		w.state.Thread = append(w.state.Thread, &moriensv1.MatcherThread{Ring: t.ring, Gone: true})
		n = uint32(len(w.state.Thread))
		w.places[t] = n
	}
	return w.state.Thread[n-1]
}

func (w *writer) number(t *Thread) uint32 {
	if t == nil {
		return 0
	}
	if t != w.latest {
		w.place(t)
		w.latest, w.at = t, w.places[t]
	}
	return w.at
}

func (w *writer) thread(s *moriensv1.MatcherThread, t *Thread) {
	s.LastTicks, s.LastExit, s.Until = t.lastTicks, t.lastExit, t.until
	s.Gap, s.Ended, s.Took = t.gap, t.ended, t.took
	if t.took {
		s.Taken = &moriensv1.MatcherOperations{}
		w.operation(s.Taken, &t.taken)
	}
	if !t.found {
		s.Polled = t.polled
	}
	if len(t.landed) > 0 {
		s.Landed = &moriensv1.MatcherOperations{}
	}
	for i := range t.landed {
		x := &t.landed[i]
		w.operation(s.Landed, &operation{kind: x.kind, comm: x.comm, peer: x.peer, function: x.function, path: x.path, bytes: x.bytes})
	}
	if len(t.queue) == t.next {
		return
	}
	s.Request = &moriensv1.MatcherRequests{Operation: &moriensv1.MatcherOperations{}}
	for i := range t.queue[t.next:] {
		e := &t.queue[t.next+i]
		s.What = append(s.What, uint32(e.what))
		s.Ticks = append(s.Ticks, e.ticks)
		s.Row = append(s.Row, e.row)
		s.Handle = append(s.Handle, e.handle)
		s.Bytes = append(s.Bytes, e.bytes)
		s.Peer = append(s.Peer, e.peer)
		s.Tag = append(s.Tag, e.tag)
		s.Posting = append(s.Posting, w.posting(e.posting))
		w.request(s.Request, &e.request)
	}
}

// waiting are receives that have ended and are not sent off.
func (w *writer) waiting(m *Matcher) {
	s := w.state
	s.Epoch, s.Waiting = m.order.epoch, &moriensv1.MatcherOperations{}
	add := func(h *held) {
		w.operation(s.Waiting, &h.o)
		s.WaitingBy = append(s.WaitingBy, w.number(h.by))
		s.WaitingRow = append(s.WaitingRow, h.row)
	}
	for i := range m.order.old {
		add(&m.order.old[i])
	}
	for _, p := range m.order.waiting {
		add(p.held)
	}
}

// requests leaves out handles without a request for which nothing before the latest event can arrive.
func (w *writer) requests(t *table, settled uint64) {
	s := w.state
	for handle, q := range t.queues {
		if len(q.list) == 0 && q.last <= settled {
			continue
		}
		s.Handle = append(s.Handle, handle)
		s.Last = append(s.Last, q.last)
		s.Length = append(s.Length, uint32(len(q.list)))
		for i := range q.list {
			w.request(s.Request, &q.list[i])
		}
	}
}

// Bits of MatcherRequests.flags.
const (
	flagPersistent = 1
	flagActive     = 2
	countShift     = 2
)

// flagUnreported is a bit of MatcherOperations.kind.
const flagUnreported = 1 << 8

func (w *writer) request(s *moriensv1.MatcherRequests, r *request) {
	flags := uint32(r.count) << countShift
	if r.persistent {
		flags |= flagPersistent
	}
	if r.active {
		flags |= flagActive
	}
	held := len(r.operations)
	for held > 0 && r.operations[held-1] == (operation{}) {
		held--
	}
	s.Flags = append(s.Flags, flags)
	s.By = append(s.By, w.number(r.by))
	s.Held = append(s.Held, uint32(held))
	for i := range r.operations[:held] {
		w.operation(s.Operation, &r.operations[i])
	}
}

func (w *writer) operation(s *moriensv1.MatcherOperations, o *operation) {
	kind := uint32(o.kind)
	if o.unreported {
		kind |= flagUnreported
	}
	s.Kind = append(s.Kind, kind)
	s.Thread = append(s.Thread, w.number(o.thread))
	s.Row = append(s.Row, o.row)
	s.Peer = append(s.Peer, o.peer)
	s.Tag = append(s.Tag, o.tag)
	s.Comm = append(s.Comm, o.comm)
	s.Bytes = append(s.Bytes, o.bytes)
	s.Channel = append(s.Channel, o.channel)
	s.Posting = append(s.Posting, w.posting(o.posting))
	s.Function = append(s.Function, uint32(o.function))
	s.Path = append(s.Path, o.path)
	s.Ordinal = append(s.Ordinal, o.ordinal)
}
