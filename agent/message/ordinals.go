package message

import (
	"cmp"
	"slices"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// maxWaiting bounds the receives of a process that have ended and wait to learn their ordinal.
	maxWaiting = 4096
	// maxCounted bounds the streams of a process that are counted. With more, as in a program that never uses a tag twice,
	// counting restarts in a new epoch.
	maxCounted = 1 << 15
)

// A lane is the sends or the receives of one process with one communicator, peer and tag.
type lane struct {
	receive   bool
	comm      uint32
	peer, tag int32
}

// A stream is what a lane has had in the epoch.
type stream struct {
	lane  lane
	count uint64     // postings so far
	live  []*posting // that are not sent off, in order
	sent  uint64     // number of the latest posting that was sent off, while others are live
	then  *stream    // that was posted to next after this one, the latest time
}

// A side is the sends or the receives of one process with one communicator.
type side struct {
	receive bool
	comm    uint32
	wild    []*posting // of which nothing shows yet which lane they are in
	active  []*posting // those whose calls may not have returned yet
	other   *side      // of the same communicator
}

// A posting is a send or a receive in the order in which the process has posted them.
type posting struct {
	lane       // as it was asked for; when it is settled, what it became
	start, end uint64
	epoch      uint32
	number     uint64 // of all postings; 0: it has no place yet
	ordinal    uint64 // in its lane, as far as it is known
	open       bool   // its order among others is: calls of several threads, or one that starts several
	passed     bool   // later ones of its lane have been sent off without an ordinal
	wild       bool   // nothing shows yet which lane it is in
	side       *side
	stream     *stream // its lane's; nil: it is not counted
	waiters    []*posting
	held       *held
}

// held is a receive that has ended and waits.
type held struct {
	o   operation
	by  *Thread
	row uint64
}

// ordinals number what a process posts, lane by lane. Messages of one lane do not overtake each other, so that the k-th
// send is the k-th receive's. A receive takes its place when it is posted, but one from anybody, or of any tag, has
// none until it has ended: until then later receives that could have got the same messages wait.
type ordinals struct {
	epoch   uint32
	next    uint64 // number of the next posting, from 1
	streams map[lane]*stream
	latest  *stream
	sides   map[lane]*side // by communicator, of any peer and tag
	last    *side          // that was asked for last
	waiting []*posting
	old     []held // that waited when the agent was started again
	void    bool
	unknown uint64
	room    []posting // that are not used yet
}

func newOrdinals() ordinals {
	return ordinals{next: 1, streams: make(map[lane]*stream), sides: make(map[lane]*side)}
}

// stream is a lane's. Postings mostly recur in the same order.
func (r *ordinals) stream(at lane) *stream {
	if r.latest != nil {
		if next := r.latest.then; next != nil && next.lane == at {
			r.latest = next
			return next
		}
	}
	s := r.streams[at]
	if s == nil {
		s = &stream{lane: at}
		r.streams[at] = s
	}
	if r.latest != nil {
		r.latest.then = s
	}
	r.latest = s
	return s
}

// side is that of a communicator.
func (r *ordinals) side(receive bool, comm uint32) *side {
	if s := r.last; s != nil && s.comm == comm {
		if s.receive == receive {
			return s
		}
		return s.other
	}
	at := lane{receive: receive, comm: comm}
	if r.sides[at] == nil {
		s := &side{receive: receive, comm: comm}
		s.other = &side{receive: !receive, comm: comm, other: s}
		r.sides[at], r.sides[lane{receive: !receive, comm: comm}] = s, s.other
	}
	r.last = r.sides[at]
	return r.last
}

// roomPostings is for how many postings there is made room at a time.
const roomPostings = 32

func (r *ordinals) posting() *posting {
	if len(r.room) == 0 {
		r.room = make([]posting, roomPostings)
	}
	p := &r.room[0]
	r.room = r.room[1:]
	return p
}

// placeOf is a posting for an operation of a call, nil where none can have an ordinal.
func (t *Thread) placeOf(o *operation, start, end uint64) *posting {
	if !o.message() || o.peer == ring.ProcNull || o.channel >= 0 || !t.m.Defined(o.comm) {
		return nil
	}
	p := t.m.order.posting()
	p.lane, p.start, p.end = lane{o.receives(), o.comm, o.peer, o.tag}, start, end
	return p
}

// post gives a posting its place after all earlier ones.
func (m *Matcher) post(p *posting) {
	r := &m.order
	if len(r.streams) >= maxCounted {
		m.recount()
	}
	p.epoch, p.number = r.epoch, r.next
	r.next++
	if m.gaps > 0 {
		p.open = true
	}
	side := r.side(p.receive, p.comm)
	p.side = side
	going := slices.DeleteFunc(side.active, func(q *posting) bool { return q.end <= p.start })
	for _, q := range going {
		if fits(p.peer, q.peer) && fits(p.tag, q.tag) {
			p.open, q.open = true, true
		}
	}
	side.active = append(going, p)
	if p.peer == ring.Any || p.tag == ring.Any {
		p.wild = true
		side.wild = append(side.wild, p)
		return
	}
	m.count(p)
}

// count puts a posting into its lane: after those that were posted before.
func (m *Matcher) count(p *posting) {
	s := m.order.stream(p.lane)
	at := len(s.live)
	for at > 0 && s.live[at-1].number > p.number {
		at--
		s.live[at].ordinal++
	}
	p.ordinal = s.count - uint64(len(s.live)-at)
	p.stream = s
	s.count++
	s.live = slices.Insert(s.live, at, p)
}

// retire takes a posting out of those that are not sent off.
func (m *Matcher) retire(p *posting) {
	s := p.stream
	if s == nil || p.epoch != m.order.epoch {
		return
	}
	if s.live, _ = without(s.live, p); len(s.live) == 0 {
		s.sent = 0
	}
}

// without takes a posting out of a list by number, if it is there. The last of them leaves its room to the next; the
// first one, which is the usual one to go, goes at once, however many there are.
func without(list []*posting, p *posting) (rest []*posting, was bool) {
	i, _ := slices.BinarySearchFunc(list, p.number, func(q *posting, number uint64) int { return cmp.Compare(q.number, number) })
	switch {
	case i == len(list) || list[i] != p:
		return list, false
	case len(list) == 1:
		list[0] = nil
		return list[:0], true
	case i == 0:
		list[0] = nil
		return list[1:], true
	}
	return slices.Delete(list, i, i+1), true
}

// cancel takes back a posting that has moved nothing.
func (m *Matcher) cancel(p *posting) {
	if p == nil || p.epoch != m.order.epoch {
		return
	}
	if p.wild {
		m.tame(p)
		return
	}
	s := p.stream
	if s == nil {
		return
	}
	if s.sent > p.number {
		m.order.void = true
	}
	for _, q := range s.live {
		if q.number > p.number {
			q.ordinal--
		}
	}
	s.count--
	m.retire(p)
}

// tame removes a posting from those without a visible outcome, and continues with what has waited for it.
func (m *Matcher) tame(p *posting) {
	p.wild = false
	p.side.wild, _ = without(p.side.wild, p)
	waiters := p.waiters
	p.waiters = nil
	for _, q := range waiters {
		m.settle(q)
	}
}

// blocker is the first posting before p that may yet turn out to be in its lane.
func (p *posting) blocker() *posting {
	if !p.receive {
		return nil
	}
	for _, w := range p.side.wild {
		if w.number > p.number {
			return nil
		}
		if fits(w.peer, p.peer) && fits(w.tag, p.tag) {
			return w
		}
	}
	return nil
}

// arrive takes an operation that has ended: it goes out when its ordinal is known.
func (m *Matcher) arrive(o *operation, by *Thread, row uint64) {
	p := o.posting
	if p == nil || p.epoch != m.order.epoch {
		o.posting = nil
		o.thread.transfer(o, by, row)
		return
	}
	if o.peer < 0 || o.tag < 0 || !m.peer(o) {
		m.lost(o)
		o.thread.transfer(o, by, row)
		return
	}
	if p.wild {
		p.peer, p.tag = o.peer, o.tag
		m.count(p)
		m.tame(p)
	}
	w := p.blocker()
	if w == nil {
		m.sendOff(p, o, by, row)
		return
	}
	p.held = &held{*o, by, row}
	w.waiters = append(w.waiters, p)
	m.order.waiting = append(m.order.waiting, p)
	if len(m.order.waiting) > maxWaiting {
		m.pass()
	}
}

// peer reports whether an operation's peer is one of its communicator.
func (m *Matcher) peer(o *operation) bool {
	peers, _ := m.peersOf(o.comm)
	return int(o.peer) < peers
}

// settle sends a posting off that waits, if nothing before it is open any more.
func (m *Matcher) settle(p *posting) {
	if p.held == nil {
		return
	}
	if w := p.blocker(); w != nil {
		w.waiters = append(w.waiters, p)
		return
	}
	if i := slices.Index(m.order.waiting, p); i >= 0 {
		m.order.waiting = slices.Delete(m.order.waiting, i, i+1)
	}
	m.sendHeld(p)
}

func (m *Matcher) sendHeld(p *posting) {
	h := p.held
	p.held = nil
	m.sendOff(p, &h.o, h.by, h.row)
}

// sendOff sends off the operation of a posting that has ended.
func (m *Matcher) sendOff(p *posting, o *operation, by *Thread, row uint64) {
	m.retire(p)
	if s := p.stream; s != nil && len(s.live) > 0 {
		s.sent = max(s.sent, p.number)
	}
	o.thread.transfer(o, by, row)
}

// pass gives up the ordinals of all requests that wait. They still count, so that later ordinals are right, but what
// they have waited for cannot be put before them any more.
func (m *Matcher) pass() {
	for _, s := range m.order.sides {
		for _, w := range s.wild {
			w.passed, w.waiters = true, nil
		}
	}
	waiting := m.order.waiting
	m.order.waiting = nil
	for _, p := range waiting {
		p.open = true
		m.sendHeld(p)
	}
}

// lost says that the outcome of an operation is unknown: a receive may have taken a message or not.
func (m *Matcher) lost(o *operation) {
	if p := o.posting; p != nil && p.epoch == m.order.epoch && (p.receive || o.peer < 0) {
		m.recount()
	}
}

// recount begins a new epoch, in which all counting starts again.
func (m *Matcher) recount() {
	m.pass()
	was := m.order
	m.order = newOrdinals()
	m.order.old, m.order.void, m.order.unknown, m.order.epoch, m.order.next = was.old, was.void, was.unknown, was.epoch+1, was.next
}

// sendOld sends off what waited when the agent was started again.
func (m *Matcher) sendOld() {
	for i := range m.order.old {
		h := &m.order.old[i]
		h.o.thread.transfer(&h.o, h.by, h.row)
	}
	m.order.old = nil
}

// ordinalOf is what goes out for an operation: its ordinal plus 1, or 0.
func (m *Matcher) ordinalOf(o *operation) uint64 {
	if p := o.posting; p != nil && p.epoch == m.order.epoch && p.stream != nil && !p.open && !p.passed {
		return p.ordinal + 1
	}
	if o.kind == moriensv1.Transfers_KIND_SENT || o.kind == moriensv1.Transfers_KIND_RECEIVED {
		m.order.unknown++
	}
	return 0
}
