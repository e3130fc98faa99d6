// Package message turns the records of a process into the operations that the collector matches: each send and each
// receive, with the call that posted it, the call that completed it, and its peer. Collectives that do not block, and
// starts of persistent ones, go out with the call that completed them.
//
// In come the records of all threads of one process, those of a thread in order, in ticks, each with the number of its
// row. Out come, to a Sink, moves and gaps. A request is known by its handle only. Several requests can
// have the same handle, one after the other or, once complete, at the same time; time distinguishes them. A request is
// created or started at the exit of its call and ends at the entry of the call that ends it, so that a handle is free
// before it is used again. Where records are missing, the package gives up the pending requests that they may have
// ended, and counts them.
//
// The package never translates a rank: peers are ranks of their communicator.
package message

import (
	"math"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// MaxBytes bounds what one call can move, so that no sum overflows.
const MaxBytes = 1 << 62

// maxHeld bounds the events of a process that wait for its other threads to be read.
const maxHeld = 1 << 16

// Stats count what could not be determined.
type Stats struct {
	Transfers     uint64 // that went out
	Collectives   uint64 // that did not block and went out, with the call that completed each
	EndsUnknown   uint64 // requests that ended and whose making was not seen
	StartsUnknown uint64 // persistent requests that were started and whose making was not seen
	Lost          uint64 // requests that were under way when records were lost or recording was paused
	Unfollowed    uint64 // requests for which there was no room
	Open          uint64 // requests that never ended
	Shared        uint64 // ends of a request while others had the same handle
	Cancelled     uint64 // messages that were cancelled
	Late          uint64 // records that were read too late to be put in order
	Unordered     uint64 // sends and receives without an ordinal
	Void          bool   // ordinals that went out are not right
}

// A Matcher follows the requests of one process.
type Matcher struct {
	threads     []*Thread
	threadsSeen int // threads so far
	coming      int // threads that the process has, or more
	requests    table
	messages    map[uint64][]operation // that matched probes took, by handle
	probed      int                    // in messages
	meetings    meetings
	channels    map[channel]uint32 // partitioned requests so far
	held        int                // events in all threads' queues
	gaps        int                // threads of which records are missing just now
	peers       map[uint32]int     // of the communicators that are defined
	looked      struct {           // up last
		comm    uint32
		peers   int
		defined bool
	}
	order    ordinals
	sums     sums.Table
	partners *sums.Partners // nil: some were not counted
	sizes    sizes
	counted  uint64 // transfers in the sums
	stats    Stats
	sink     Sink
	fast     fast
	move     Move // that is handed on at present

	unrecorded bool

	room       *Room
	unfollowed map[uint64]unfollowed // by handle
}

// A Move is an operation whose outcome is known, as far as it will be. One of KIND_COLLECTIVE moves nothing: a call has
// completed the collective that another one has begun. Its tag is then the number of the start among those of its
// persistent request, from 0 and modulo 2^31; -1 where it is not persistent.
type Move struct {
	Lane
	Row     uint64  // of the call that posted it
	By      *Thread // whose call completed it; nil: none is known
	Done    uint64  // row of that call
	Bytes   uint64
	Ordinal uint64 // from 1, among those that the process posted in the lane in the epoch, of a collective in its communicator; 0 = not known
	Epoch   uint32
	Channel int64 // of a partitioned one: which of the process's requests in the lane it belongs to, from 0; else -1
	Untold  bool  // a receive whose result MPI has not reported: Bytes is the most that it can be
}

// A Lane is what the moves have in common that match in their order.
type Lane struct {
	Kind      moriensv1.Transfers_Kind
	Comm      uint32 // of the process's log, 0 = unknown
	Peer, Tag int32  // -1 = any
}

// A Sink takes what a Matcher finds out, of each thread.
type Sink interface {
	Moved(t *Thread, m *Move) // until it returns
	// Gap says that calls are missing before a row, or that the row moved what nothing describes.
	Gap(t *Thread, row uint64, inside bool)
}

// New returns a Matcher that hands what it finds to a Sink.
func New(sink Sink) *Matcher {
	room := NewRoom(0)
	return &Matcher{
		room: room, unfollowed: make(map[uint64]unfollowed),
		requests: table{queues: make(map[uint64]*queue), room: room}, messages: make(map[uint64][]operation),
		peers: make(map[uint32]int), meetings: newMeetings(), channels: make(map[channel]uint32), order: newOrdinals(), sink: sink,
		partners: new(sums.Partners),
	}
}

// Stats returns the counts so far.
func (m *Matcher) Stats() Stats {
	s := m.stats
	s.Unordered, s.Void = m.order.unknown, m.order.void
	return s
}

// complete sends an operation off with the call that completed it.
func (m *Matcher) complete(o *operation, by *Thread, row uint64) {
	switch {
	case o.collective():
		o.thread.met(Lane{o.kind, o.comm, ring.Any, o.tag}, o.row, o.ordinal, by, row)
	case o.peer != ring.ProcNull:
		if o.message() {
			comm, peer := m.known(o.comm, o.peer)
			by.landed = append(by.landed, landing{o.kind, comm, peer, o.function, o.path, o.bytes})
		} else {
			m.addEnded(o)
		}
		m.arrive(o, by, row)
	}
}

// leave sends an operation off of which no end was seen. Of a collective nothing but its end counts.
func (m *Matcher) leave(o *operation) {
	if o.peer != ring.ProcNull && !o.collective() {
		m.addEnded(o)
		m.lost(o)
		o.thread.transfer(o, nil, 0)
		if o.posting != nil {
			m.retire(o.posting)
		}
	}
}

// apply takes an event, in the order of time.
func (m *Matcher) apply(t *Thread, e *event) {
	switch e.what {
	case gapBegins:
		m.forget()
		m.recount()
		m.gaps++
	case posts:
		m.post(e.posting)
	case moved:
		m.complete(&e.request.operations[0], t, e.row)
	case left:
		o := &e.request.operations[0]
		m.land(t, o.function, o.path, e.bytes)
	case gapEnds:
		m.gaps--
	case made:
		m.make(t, e)
	case started:
		m.start(t, e)
	case matched:
		m.match(t, e)
	case probed:
		if m.gaps > 0 {
			m.stats.Lost++
			m.leave(&e.request.operations[0])
			return
		}
		if m.room.taken >= m.room.limit {
			m.stats.Unfollowed++
			m.leave(&e.request.operations[0])
			return
		}
		m.messages[e.handle] = append(m.messages[e.handle], e.request.operations[0])
		m.probe(1)
	default:
		m.end(t, e)
	}
}

func (m *Matcher) make(t *Thread, e *event) {
	r := e.request
	if t.took {
		t.took = false
		for i := range r.operations[:r.count] {
			if o := &r.operations[i]; o.receives() {
				bytes := o.bytes
				*o = t.taken
				o.bytes = bytes
			}
		}
	}
	if m.gaps > 0 {
		m.giveUp(&r)
		return
	}
	if m.crowded(e.handle) {
		m.passOver(t, e, &r)
		return
	}
	q := m.requests.queue(e.handle)
	if q.last > e.ticks { // it may have ended already
		m.stats.Late++
		m.giveUp(&r)
		return
	}
	q.last = e.ticks
	// No two receives under way have one handle: what seems to be one of two ended unseen.
	for i := 0; i < len(q.list); {
		if old := &q.list[i]; old.receives() {
			m.giveUp(old)
			m.requests.remove(q, i)
		} else {
			i++
		}
	}
	m.requests.add(q, r)
}

func (m *Matcher) start(t *Thread, e *event) {
	q := m.requests.queues[e.handle]
	if q == nil || q.last > e.ticks || m.gaps > 0 {
		m.startUnknown(t, e)
		return
	}
	for i := range q.list {
		r := &q.list[i]
		if !r.persistent || r.active {
			continue
		}
		r.active, r.by = true, t
		if m.threadsSeen > 1 {
			m.recount() // the order is known for calls' entries, and here only now
		}
		for k := range r.operations[:r.count] {
			o := &r.operations[k]
			o.thread, o.row = t, e.row
			o.function, o.path = e.request.operations[0].function, e.request.operations[0].path
			if o.collective() {
				o.tag = (o.tag + 1) & math.MaxInt32
			}
			if o.posting = t.placeOf(o, e.began, e.ticks); o.posting != nil {
				m.post(o.posting)
			}
		}
		q.last = e.ticks
		return
	}
	m.startUnknown(t, e)
}

func (m *Matcher) startUnknown(t *Thread, e *event) {
	m.stats.StartsUnknown++
	m.recount()
	t.gapInside(e.row)
}

// end finds the request that a call has ended: one of the same thread's if there is one, and the oldest.
func (m *Matcher) end(t *Thread, e *event) {
	if m.endUnfollowed(e) {
		return
	}
	q := m.requests.queues[e.handle]
	if q == nil || m.gaps > 0 {
		m.stats.EndsUnknown++
		return
	}
	if q.last > e.ticks {
		// The request it ended may belong to another call by now.
		m.stats.Late++
		m.forgetHandle(q)
		return
	}
	q.last = e.ticks
	found, candidates := -1, 0
	for i := range q.list {
		if !q.list[i].endsBy(e) {
			continue
		}
		candidates++
		if found < 0 || q.list[found].by != t && q.list[i].by == t {
			found = i
		}
	}
	if found < 0 {
		m.stats.EndsUnknown++
		return
	}
	if candidates > 1 {
		m.stats.Shared++
	}
	r := &q.list[found]
	if r.active {
		m.finish(t, e, r)
	}
	if r.persistent && e.what != freed {
		r.active = false
		return
	}
	m.requests.remove(q, found)
}

// finish sends off what an active request has moved.
func (m *Matcher) finish(t *Thread, e *event, r *request) {
	for k := range r.operations[:r.count] {
		o := r.operations[k]
		switch {
		case o.collective():
			if e.what == completed {
				m.complete(&o, t, e.row)
			}
		case e.what == cancelled:
			m.stats.Cancelled++
			m.cancel(o.posting)
		case e.what == freed, o.receives() && e.peer == ring.Any && e.bytes != ring.BytesUnknown: // with an error: what it took, if anything, is not reported
			m.leave(&o)
		default:
			// Only now is it known that the status is a receive's: those of sends hold anything.
			if o.receives() {
				o.peer, o.tag, o.unreported = e.peer, e.tag, e.bytes == ring.BytesUnknown
				if !o.unreported {
					o.bytes = min(e.bytes, MaxBytes)
				}
			}
			m.complete(&o, t, e.row)
		}
	}
}

// match takes the message that a matched probe gave.
func (m *Matcher) match(t *Thread, e *event) {
	o := e.request.operations[0]
	o.comm, o.peer, o.tag = 0, ring.Any, ring.Any
	if list := m.messages[e.handle]; len(list) > 0 && m.gaps == 0 {
		o, m.messages[e.handle] = list[0], list[1:]
		m.probe(-1)
		if len(list) == 1 {
			delete(m.messages, e.handle)
		}
	} else {
		m.stats.EndsUnknown++
		m.recount() // it took something of a lane that nothing shows
	}
	if e.request.count == 0 {
		t.taken, t.took = o, true // by the request that the same call makes
		return
	}
	o.bytes = e.request.operations[0].bytes
	m.complete(&o, t, e.row)
}

// forget gives up everything that is under way: it may end unseen.
func (m *Matcher) forget() {
	for _, q := range m.requests.queues {
		m.forgetHandle(q)
	}
	for _, list := range m.messages {
		for i := range list {
			m.stats.Lost++
			m.leave(&list[i])
		}
	}
	clear(m.messages)
	m.probe(-m.probed)
	clear(m.unfollowed)
}

// probe counts messages that matched probes took, and that were never received.
func (m *Matcher) probe(n int) {
	m.probed += n
	m.room.taken += n
}

func (m *Matcher) forgetHandle(q *queue) {
	for i := range q.list {
		m.giveUp(&q.list[i])
	}
	m.requests.clear(q)
}

// active counts what is under way, persistent requests at rest left out.
func (m *Matcher) active() uint64 {
	n := uint64(m.probed)
	for _, q := range m.requests.queues {
		for i := range q.list {
			if q.list[i].active {
				n++
			}
		}
	}
	return n
}

func (m *Matcher) giveUp(r *request) {
	m.stats.Lost++
	m.leaveAll(r)
}

// leaveAll sends off what a request was to move, its end unseen.
func (m *Matcher) leaveAll(r *request) {
	if r.active {
		for k := range r.operations[:r.count] {
			m.leave(&r.operations[k])
		}
	}
}

// Define says how many peers a communicator of the process has.
func (m *Matcher) Define(comm uint32, peers int) {
	m.peers[comm] = peers
	m.looked.defined = false
}

// Defined reports whether a communicator is.
func (m *Matcher) Defined(comm uint32) bool {
	_, defined := m.peersOf(comm)
	return defined
}

// peersOf is how many peers a communicator has, if it is defined. Mostly it is the one that was looked up last.
func (m *Matcher) peersOf(comm uint32) (peers int, defined bool) {
	l := &m.looked
	if !l.defined || l.comm != comm {
		l.comm = comm
		l.peers, l.defined = m.peers[comm]
	}
	return l.peers, l.defined
}

// Unrecorded says that the process has threads whose calls are not recorded: from now on no request is known to be its
// own thread's.
func (m *Matcher) Unrecorded() {
	if !m.unrecorded {
		m.general()
		m.unrecorded = true
		m.forget()
		m.recount()
		m.gaps++
	}
}

// End says that the process has ended, and all its threads before: what is still under way never ends.
func (m *Matcher) End() {
	m.general()
	m.coming = 0
	m.Advance()
	lost := m.stats.Lost
	m.stats.Open += m.active()
	m.forget()
	m.stats.Lost = lost
}

// persistent reports whether the requests that a call makes are at rest until they are started.
func persistent(call mpicall.ID) bool {
	return call.Class() == mpicall.Persistent || call.Class() == mpicall.Partitioned
}
