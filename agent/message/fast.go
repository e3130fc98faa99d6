package message

import (
	"math/bits"

	"moriens/agent/ring"
	"moriens/internal/index"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A fast is what a Matcher knows of a process in which all is simple: one thread, no records missing, no receive from
// any rank or of any tag, one request at a time for each handle. Then a posting has its ordinal at once, and a request
// is found by its handle alone. Where something else comes, all of it moves to the tables of the general way.
type fast struct {
	on       bool
	lanes    []fastLane
	laneAt   index.Index
	latest   uint32 // lane that was posted to last
	requests []fastRequest
	at       index.Index // of requests, by handle
	last     uint32
	open     int
	places   []*place
	placeAt  index.Index
	here     *place // of the latest call
	landed   []fastLanding
	received int  // of landed, receives
	alone    bool // the call at hand completes one message, or none
	folds    int  // of the sums, that lanes know
}

// A fastLane is a lane with what was posted in it.
type fastLane struct {
	asked asked
	Lane
	next   uint32 // that was posted to after this one, the latest time
	null   bool   // to MPI_PROC_NULL: nothing is moved
	posted uint64
	open   int    // requests under way
	sent   uint64 // number of the latest posting that was sent off, while others are under way
	row    int    // in the sums, plus 1
}

// asked is a lane as records have it.
type asked struct {
	kind      ring.TransferKind
	comm      uint32
	peer, tag int32
}

// A fastRequest is a handle, with its request if it has one.
type fastRequest struct {
	handle  uint64
	next    uint32 // that was used after this one, the latest time
	active  bool
	moves   bool // something, in its lane
	null    bool // from or to MPI_PROC_NULL, with the tag of its lane
	met     bool // it is a collective's
	lane    uint32
	comm    uint32 // of a collective
	at      *place // of the call that made it
	row     uint64
	ticks   uint64 // exit of the call that made it
	bytes   uint64
	ordinal uint64 // in its lane, of a collective in its communicator, plus 1
	number  uint64 // of the posting
}

// A place is where calls are made, with what is known of what they move.
type place struct {
	placeKey
	then *place                                         // the one after it, the latest time
	sums [shmabi.SlotRead - shmabi.SlotSent + 1]pending // by kind: what calls from here posted
	ends [messageKinds]pending                          // likewise: what they completed
	with [messageKinds]*sums.Place                      // with whom they exchange messages; nil = with none so far
}

type placeKey struct {
	function mpicall.ID
	path     uint32
}

// simply takes a record the simple way, and reports whether all of it has gone it; else how many of its transfers and
// of its requests have.
func (t *Thread) simply(row uint64, r *ring.Record) (moved, ended int, all bool) {
	if !t.m.fast.on || r.Enter < max(t.lastExit, t.lastTicks) || r.Lost || r.Paused || t.gap {
		return 0, 0, false
	}
	if n := len(r.Transfers) + len(r.Requests); n > 0 {
		t.m.fast.alone = n == 1
		if persistent(r.Call) || len(r.Transfers) > 0 && len(r.Requests) > 0 {
			return 0, 0, false
		}
		moved, ended = t.simplyMoved(row, r), t.simplyEnded(row, r)
		if moved < len(r.Transfers) || ended < len(r.Requests) {
			return moved, ended, false
		}
		if f := &t.m.fast; len(f.landed) > 0 {
			f.land(t.m, t.place(r.Call, r.Path), t.lasts(r))
		}
		t.lastTicks = max(t.lastTicks, r.Exit)
	}
	t.lastExit = r.Exit
	return moved, ended, true
}

func (t *Thread) simplyMoved(row uint64, r *ring.Record) int {
	if len(r.Transfers) == 0 {
		return 0
	}
	at := t.place(r.Call, r.Path)
	for i := range r.Transfers {
		x := &r.Transfers[i]
		if x.Request != 0 && len(r.Transfers) > 1 || i > 0 && x.Kind == r.Transfers[i-1].Kind || !t.post(at, row, r, x) {
			return i
		}
	}
	return len(r.Transfers)
}

func (t *Thread) simplyEnded(row uint64, r *ring.Record) int {
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Event == ring.Made && len(r.Requests) > 1 || !t.event(r, row, q) {
			return i
		}
	}
	return len(r.Requests)
}

// place is that of calls. They mostly recur in the same order.
func (t *Thread) place(function mpicall.ID, path uint32) *place {
	f := &t.m.fast
	if f.here != nil {
		if next := f.here.then; next != nil && next.function == function && next.path == path {
			f.here = next
			return next
		}
	}
	key := index.Spread(uint64(function)<<32 | uint64(path))
	n, known := f.placeAt.Get(key, nil)
	if !known {
		n = uint32(len(f.places))
		f.places = append(f.places, &place{placeKey: placeKey{function, path}})
		f.placeAt.Put(key, n)
	}
	at := f.places[n]
	if f.here != nil {
		f.here.then = at
	}
	f.here = at
	return at
}

// lane is that of a transfer; nil where the simple way has none for it.
func (m *Matcher) lane(x asked) *fastLane {
	f := &m.fast
	if len(f.lanes) > 0 {
		if n := f.lanes[f.latest].next; f.lanes[n].asked == x {
			f.latest = n
			return &f.lanes[n]
		}
	}
	key := x.key()
	n, known := f.laneAt.Get(key, func(n uint32) bool { return f.lanes[n].asked == x })
	if !known {
		l, simple := m.newLane(x)
		if !simple {
			return nil
		}
		n = uint32(len(f.lanes))
		f.lanes = append(f.lanes, l)
		f.laneAt.Put(key, n)
	}
	f.lanes[f.latest].next = n
	f.latest = n
	return &f.lanes[n]
}

func (x asked) key() uint64 {
	return index.Spread(uint64(x.kind)<<48 ^ uint64(x.comm)<<32 ^ uint64(uint32(x.peer))<<16 ^ index.Spread(uint64(uint32(x.tag))))
}

// newLane makes a lane of a transfer, if it is simple.
func (m *Matcher) newLane(x asked) (l fastLane, simple bool) {
	peers, defined := m.peersOf(x.comm)
	l.asked = x
	l.Lane = Lane{kindOf(x.kind), x.comm, x.peer, max(x.tag, ring.Any)}
	l.null = x.peer == ring.ProcNull
	switch {
	case !defined || l.Kind == 0 || len(m.fast.lanes) >= maxCounted:
		return l, false
	case l.null:
	case message(l.Kind) && (x.peer < 0 || int(x.peer) >= peers || x.tag < 0):
		return l, false
	case x.peer < 0 || int(x.peer) >= peers:
		l.Peer = ring.Any
	}
	return l, true
}

// sum adds a move to the sums of its place and of its peer, and a message to those of the partners of its place.
func (m *Matcher) sum(at *place, l *fastLane, bytes, blocked uint64) {
	at.sums[l.asked.kind-ring.Sent].add(1, bytes, 0)
	if l.row == 0 {
		l.row = m.sums.Row(sums.Peer(l.Kind, l.Comm, l.Peer)) + 1
		m.fast.refold(m.sums.Folds(), l)
	}
	m.sums.Add(l.row-1, bytes, blocked)
	if message(l.Kind) && m.partners != nil {
		kind := placeOfKind(l.Kind)
		if at.with[kind] == nil {
			at.with[kind] = m.partners.Place(l.Kind, at.function, at.path)
		}
		at.with[kind].Add(l.Comm, l.Peer, bytes)
	}
	m.counted++
}

// refold has all lanes but one forget their rows if peers have lost theirs.
func (f *fast) refold(folds int, but *fastLane) {
	if f.folds == folds {
		return
	}
	row := but.row
	for i := range f.lanes {
		f.lanes[i].row = 0
	}
	f.folds, but.row = folds, row
}

// post takes what a call moves, or makes a request for, and reports whether the simple way has it. Where not, nothing
// has changed.
func (t *Thread) post(at *place, row uint64, call *ring.Record, x *ring.Transfer) bool {
	m := t.m
	f := &m.fast
	l := m.lane(asked{x.Kind, x.Comm, x.Peer, x.Tag})
	if l == nil {
		return false
	}
	is := message(l.Kind)
	if x.Request == 0 {
		if l.null {
			return true
		}
		now := fastRequest{lane: f.latest, at: at, row: row, bytes: x.Bytes}
		if is {
			l.posted++
			now.ordinal, now.number = l.posted, m.order.next
			m.order.next++
			t.hasLanded(&now, call, at)
		} else {
			m.sum(at, l, x.Bytes, 0)
		}
		m.emit(t, &now, row, false)
		return true
	}
	if !is {
		return false
	}
	r := f.request(x.Request)
	if r.active || m.room.taken >= m.room.limit {
		return false
	}
	r.active, r.moves, r.met, r.row, r.ticks = true, !l.null, false, row, call.Exit
	r.lane, r.null, r.at, r.bytes = f.latest, l.null, at, x.Bytes
	if r.moves {
		r.ordinal, r.number = l.posted+1, m.order.next
		l.posted++
		l.open++
		m.order.next++
	}
	f.open++
	m.room.taken++
	return true
}

// request is that of a handle.
func (f *fast) request(handle uint64) *fastRequest {
	if r := f.following(handle); r != nil {
		return r
	}
	if len(f.requests) > 2*max(f.open, leastRequests) {
		f.sweep()
	}
	n, known := f.at.Get(index.Spread(handle), nil)
	if !known {
		n = uint32(len(f.requests))
		f.requests = append(f.requests, fastRequest{handle: handle})
		f.at.Put(index.Spread(handle), n)
	}
	return f.follow(n)
}

// following is the request that followed the last one the last time, where that is the one of a handle; else nil.
func (f *fast) following(handle uint64) *fastRequest {
	if len(f.requests) == 0 {
		return nil
	}
	n := f.requests[f.last].next
	r := &f.requests[n]
	if r.handle != handle {
		return nil
	}
	f.last = n
	return r
}

// follow notes that a request follows the last one.
func (f *fast) follow(n uint32) *fastRequest {
	f.requests[f.last].next = n
	f.last = n
	return &f.requests[n]
}

// sweep forgets handles without a request.
func (f *fast) sweep() {
	kept := f.requests[:0]
	for i := range f.requests {
		if f.requests[i].active {
			kept = append(kept, f.requests[i])
		}
	}
	f.requests, f.last = kept, 0
	f.at.Clear()
	for i := range kept {
		kept[i].next = 0
		f.at.Put(index.Spread(kept[i].handle), uint32(i))
	}
}

// event takes what a call did to a request, and reports whether the simple way has it. Where not, nothing has changed.
func (t *Thread) event(call *ring.Record, row uint64, q *ring.Request) bool {
	m := t.m
	f := &m.fast
	if q.Event == ring.Made {
		r := f.request(q.Handle)
		if r.active || m.room.taken >= m.room.limit {
			return false
		}
		r.active, r.moves, r.null, r.row, r.ticks, r.at = true, false, false, row, call.Exit, t.place(call.Call, call.Path)
		if r.met = call.IsCollective; r.met {
			comm, _, ordinal := m.Collective(&call.Collective)
			r.comm, r.ordinal = comm, ordinal+1
		}
		f.open++
		m.room.taken++
		return true
	}
	if q.Event != ring.Completed {
		return false
	}
	r := f.known(q.Handle)
	if r == nil || !r.active {
		m.stats.EndsUnknown++
		return true
	}
	if r.null {
		if l := &f.lanes[r.lane]; l.Kind == moriensv1.Transfers_KIND_RECEIVED && !(fits(ring.ProcNull, q.Source) && fits(l.Tag, q.Tag)) {
			return false
		}
	}
	switch {
	case r.met:
		t.met(Lane{moriensv1.Transfers_KIND_COLLECTIVE, r.comm, ring.Any, ring.Any}, r.row, r.ordinal, t, row)
	case r.moves:
		untold := false
		l := &f.lanes[r.lane]
		if l.Kind == moriensv1.Transfers_KIND_RECEIVED {
			if q.Source != l.Peer || q.Tag != l.Tag {
				return false
			}
			if untold = q.Bytes == ring.BytesUnknown; !untold {
				r.bytes = min(q.Bytes, MaxBytes)
			}
		}
		l.open--
		var by *place
		if f.alone {
			by = t.place(call.Call, call.Path)
		}
		t.hasLanded(r, call, by)
		m.emit(t, r, row, untold)
	}
	r.active = false
	f.open--
	m.room.taken--
	return true
}

// known is the request of a handle; nil where the handle is new.
func (f *fast) known(handle uint64) *fastRequest {
	if r := f.following(handle); r != nil {
		return r
	}
	n, known := f.at.Get(index.Spread(handle), nil)
	if !known {
		return nil
	}
	return f.follow(n)
}

// hasLanded notes that a call has completed a message. One that completes no other counts at once, by its place.
func (t *Thread) hasLanded(r *fastRequest, call *ring.Record, by *place) {
	f := &t.m.fast
	l := &f.lanes[r.lane]
	kind := placeOfKind(l.Kind)
	if f.alone {
		ticks := t.lasts(call)
		t.m.sum(r.at, l, r.bytes, ticks)
		t.m.sizes[kind][bits.Len64(r.bytes)].add(1, r.bytes, ticks)
		by.ends[kind].add(1, r.bytes, ticks)
		return
	}
	f.landed = append(f.landed, fastLanding{r.at, r.lane, r.bytes})
	f.received += kind
}

// emit hands on what a request has moved, or a call at once, that a row has completed.
func (m *Matcher) emit(t *Thread, r *fastRequest, done uint64, untold bool) {
	l := &m.fast.lanes[r.lane]
	if l.open > 0 {
		l.sent = max(l.sent, r.number)
	} else {
		l.sent = 0
	}
	m.stats.Transfers++
	x := &m.move
	x.Lane, x.Row, x.By, x.Done, x.Bytes, x.Ordinal, x.Epoch = l.Lane, r.row, t, done, r.bytes, r.ordinal, m.order.epoch
	x.Channel, x.Untold = -1, untold
	m.sink.Moved(t, x)
}
