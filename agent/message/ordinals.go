package message

import (
	"slices"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// maxWaiting bounds the receives of a process that have ended and wait to learn their ordinal.
	maxWaiting = 4096
	// maxCounted bounds the streams of a process that are counted. Where more turn up, as in a program that never uses a tag twice, counting begins
	// anew: a new epoch.
	maxCounted = 1 << 15
)

// A lane is the sends or the receives of one process with one communicator, peer and tag.
type lane struct {
	receive   bool
	comm      uint32
	peer, tag int32
}

// A posting is a send or a receive in the order of all that the process has posted.
type posting struct {
	lane       // as it was asked for; when it is settled, what it became
	start, end uint64
	epoch      uint32
	number     uint64 // of all postings
	ordinal    uint64 // in its lane, as far as it is known
	open       bool   // its order among others is: calls of several threads, or one that starts several
	passed     bool   // later ones of its lane have been sent off without an ordinal
	counted    bool   // in a lane
	wild       bool   // nothing tells yet which lane it is in
	waiters    []*posting
	held       *held
}

// held is a receive that has ended and waits.
type held struct {
	o   operation
	by  *Thread
	row uint64
}

// ordinals number what a process posts, lane by lane. Messages of one lane do not overtake each other, so that the k-th send is the k-th
// receive's. A receive takes its place when it is posted, but one from anybody, or of any tag, has none until it has ended: until then later
// receives that could have got the same messages wait.
type ordinals struct {
	epoch   uint32
	next    uint64
	counts  map[lane]uint64     // postings so far
	live    map[lane][]*posting // that are not sent off, in order
	sent    map[lane]uint64     // number of the latest posting that was sent off, while others are live
	wild    map[uint32][]*posting
	active  map[lane][]*posting // by communicator and side: those whose calls may still be going on
	waiting []*posting
	old     []held // that waited when the agent was started again
	void    bool
	unknown uint64
}

func newOrdinals() ordinals {
	return ordinals{
		counts: make(map[lane]uint64), live: make(map[lane][]*posting), sent: make(map[lane]uint64),
		wild: make(map[uint32][]*posting), active: make(map[lane][]*posting),
	}
}

// placeOf is a posting for an operation of a call, nil where none can have an ordinal.
func (t *Thread) placeOf(o *operation, start, end uint64) *posting {
	_, defined := t.m.peers[o.comm]
	if !o.message() || o.peer == ring.ProcNull || o.channel >= 0 || !defined {
		return nil
	}
	return &posting{lane: lane{o.receives(), o.comm, o.peer, o.tag}, start: start, end: end}
}

// post gives a posting its place behind all before it.
func (m *Matcher) post(p *posting) {
	r := &m.order
	if len(r.counts) >= maxCounted {
		m.recount()
	}
	p.epoch, p.number = r.epoch, r.next
	r.next++
	if m.gaps > 0 {
		p.open = true
	}
	side := lane{receive: p.receive, comm: p.comm}
	going := slices.DeleteFunc(r.active[side], func(q *posting) bool { return q.end <= p.start })
	for _, q := range going {
		if fits(p.peer, q.peer) && fits(p.tag, q.tag) {
			p.open, q.open = true, true
		}
	}
	r.active[side] = append(going, p)
	if p.peer == ring.Any || p.tag == ring.Any {
		p.wild = true
		r.wild[p.comm] = append(r.wild[p.comm], p)
		return
	}
	m.count(p)
}

// count puts a posting into its lane: behind those that were posted before.
func (m *Matcher) count(p *posting) {
	r := &m.order
	live := r.live[p.lane]
	at := len(live)
	for at > 0 && live[at-1].number > p.number {
		at--
		live[at].ordinal++
	}
	p.ordinal = r.counts[p.lane] - uint64(len(live)-at)
	p.counted = true
	r.counts[p.lane]++
	r.live[p.lane] = slices.Insert(live, at, p)
}

// retire takes a posting out of those that are not sent off.
func (m *Matcher) retire(p *posting) {
	r := &m.order
	live := r.live[p.lane]
	i := slices.Index(live, p)
	if i < 0 {
		return
	}
	if live = slices.Delete(live, i, i+1); len(live) == 0 {
		delete(r.live, p.lane)
		delete(r.sent, p.lane)
		return
	}
	r.live[p.lane] = live
}

// cancel takes back a posting that has moved nothing.
func (m *Matcher) cancel(p *posting) {
	r := &m.order
	if p == nil || p.epoch != r.epoch {
		return
	}
	if p.wild {
		m.tame(p)
		return
	}
	if !p.counted {
		return
	}
	if r.sent[p.lane] > p.number {
		r.void = true
	}
	for _, q := range r.live[p.lane] {
		if q.number > p.number {
			q.ordinal--
		}
	}
	r.counts[p.lane]--
	m.retire(p)
}

// tame takes a posting off those of which nothing tells what they become, and goes on with who waited for it.
func (m *Matcher) tame(p *posting) {
	p.wild = false
	list := m.order.wild[p.comm]
	if i := slices.Index(list, p); i >= 0 {
		m.order.wild[p.comm] = slices.Delete(list, i, i+1)
	}
	waiters := p.waiters
	p.waiters = nil
	for _, q := range waiters {
		m.settle(q)
	}
}

// blocker is the first posting before p that may yet turn out to be in its lane.
func (m *Matcher) blocker(p *posting) *posting {
	for _, w := range m.order.wild[p.comm] {
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
	p.held = &held{*o, by, row}
	m.order.waiting = append(m.order.waiting, p)
	if p.wild {
		p.peer, p.tag = o.peer, o.tag
		m.count(p)
		m.tame(p)
	}
	m.settle(p)
	if len(m.order.waiting) > maxWaiting {
		m.pass()
	}
}

// peer says whether an operation's peer is one of its communicator.
func (m *Matcher) peer(o *operation) bool { return int(o.peer) < m.peers[o.comm] }

// settle sends a posting off that has ended, if nothing before it is open any more.
func (m *Matcher) settle(p *posting) {
	if p.held == nil {
		return
	}
	if p.receive {
		if w := m.blocker(p); w != nil {
			w.waiters = append(w.waiters, p)
			return
		}
	}
	if i := slices.Index(m.order.waiting, p); i >= 0 {
		m.order.waiting = slices.Delete(m.order.waiting, i, i+1)
	}
	m.sendOff(p)
}

func (m *Matcher) sendOff(p *posting) {
	h := p.held
	p.held = nil
	m.retire(p)
	if len(m.order.live[p.lane]) > 0 {
		m.order.sent[p.lane] = max(m.order.sent[p.lane], p.number)
	}
	h.o.thread.transfer(&h.o, h.by, h.row)
}

// pass gives up the ordinals of all that wait. They count nevertheless, so that later ones are right; but what they have waited for cannot be put before them any more.
func (m *Matcher) pass() {
	for _, list := range m.order.wild {
		for _, w := range list {
			w.passed, w.waiters = true, nil
		}
	}
	waiting := m.order.waiting
	m.order.waiting = nil
	for _, p := range waiting {
		p.open = true
		m.sendOff(p)
	}
}

// lost says that what became of an operation nobody knows: a receive may have taken a message or not.
func (m *Matcher) lost(o *operation) {
	if p := o.posting; p != nil && p.epoch == m.order.epoch && (p.receive || o.peer < 0) {
		m.recount()
	}
}

// recount begins a new epoch, in which all counting starts again.
func (m *Matcher) recount() {
	m.pass()
	for _, t := range m.ready {
		t.flushTransfers()
	}
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
	if p := o.posting; p != nil && p.epoch == m.order.epoch && p.counted && !p.open && !p.passed {
		return p.ordinal + 1
	}
	if o.kind == moriensv1.Transfers_KIND_SENT || o.kind == moriensv1.Transfers_KIND_RECEIVED {
		m.order.unknown++
	}
	return 0
}
