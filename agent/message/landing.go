package message

import (
	"math"
	"math/bits"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A landing is a message that the call at hand of a thread has completed. It is counted when that call is left: only
// then is it known how many messages share the time in it.
type landing struct {
	kind     moriensv1.Transfers_Kind
	comm     uint32
	peer     int32
	function mpicall.ID // of the call that posted it
	path     uint32     // likewise
	bytes    uint64
}

// A fastLanding is one of the simple way.
type fastLanding struct {
	at    *place // of the call that posted it
	lane  uint32
	bytes uint64
}

// The kinds of messages, as places in what is kept for each.
const (
	ofSends = iota
	ofReceives
	messageKinds
)

// messageKind is each of them.
var messageKind = [messageKinds]moriensv1.Transfers_Kind{ofSends: moriensv1.Transfers_KIND_SENT, ofReceives: moriensv1.Transfers_KIND_RECEIVED}

func placeOfKind(kind moriensv1.Transfers_Kind) int {
	if kind == moriensv1.Transfers_KIND_RECEIVED {
		return ofReceives
	}
	return ofSends
}

// keptLandings is for how many landings memory is kept: MPI_Waitall may be of many thousands.
const keptLandings = 4096

// pending is what has moved and is not in the table of sums yet.
type pending struct{ count, bytes, blocked uint64 }

func (p *pending) add(count, bytes, blocked uint64) {
	p.count += count
	p.bytes += min(bytes, math.MaxUint64-p.bytes)
	p.blocked += blocked
}

// take empties it into a row of the sums.
func (p *pending) take(s *sums.Table, key sums.Key) {
	if p.count > 0 {
		s.Sum(s.Row(key), p.count, p.bytes, p.blocked)
		*p = pending{}
	}
}

// sizes are messages by kind and by the bits of their number of bytes.
type sizes [messageKinds][65]pending

// A sharing gives each of the messages that a call has completed its share of the time in it: of its receives, or of
// its sends where it has completed no receive. The first of them get what a division leaves.
type sharing struct {
	of         moriensv1.Transfers_Kind
	each, more uint64
}

// sharingOf shares ticks among messages, of which so many are received.
func sharingOf(ticks uint64, received, messages int) sharing {
	s, n := sharing{of: moriensv1.Transfers_KIND_RECEIVED}, uint64(received)
	if received == 0 {
		s.of, n = moriensv1.Transfers_KIND_SENT, uint64(messages)
	}
	s.each = ticks / n
	s.more = ticks - s.each*n
	return s
}

// next is the share of the next message.
func (s *sharing) next(kind moriensv1.Transfers_Kind) uint64 {
	if kind != s.of {
		return 0
	}
	if s.more > 0 {
		s.more--
		return s.each + 1
	}
	return s.each
}

// lasts is how long the record at hand lasts. A test that has completed something lasts from the first one on of
// those in a row before it, without the time between them, that found nothing.
func (t *Thread) lasts(r *ring.Record) uint64 {
	enter := max(r.Enter, t.lastExit)
	return t.polled + max(r.Exit, enter) - enter
}

// polls takes a record of tests, or of a run of polls.
func (t *Thread) polls(r *ring.Record) {
	if t.found || r.Lost || r.Paused {
		t.polled = 0
	}
	if t.found = completes(r); t.found {
		return
	}
	t.poll(r, max(r.Enter, t.lastExit))
}

// poll adds a record to the tests in a row that found nothing: those of its calls that are tests and that no other
// one follows.
func (t *Thread) poll(r *ring.Record, enter uint64) {
	tests, from := r.Call.Tests(), enter
	until := func(ticks uint64) {
		ticks = min(max(ticks, from), max(r.Exit, from))
		if tests {
			t.polled += ticks - from
		} else {
			t.polled = 0
		}
		from = ticks
	}
	for _, p := range r.Polls {
		if p.Call == r.Call && p.Path == r.Path { // counts to the first
			continue
		}
		until(p.First)
		tests = p.Call.Tests()
	}
	until(r.Exit)
}

// land counts what a call of a thread has completed, which is left now.
func (m *Matcher) land(t *Thread, function mpicall.ID, path uint32, ticks uint64) {
	list := t.landed
	if t.landed = list[:0]; cap(list) > keptLandings {
		t.landed = nil
	}
	if len(list) == 1 {
		x := &list[0]
		m.addUp(x, ticks)
		m.sums.Sum(m.sums.Row(sums.End(x.kind, function, path)), 1, x.bytes, ticks)
		return
	}
	if len(list) == 0 {
		return
	}
	received := 0
	for i := range list {
		received += placeOfKind(list[i].kind)
	}
	share := sharingOf(ticks, received, len(list))
	var all [messageKinds]pending
	for i := range list {
		x := &list[i]
		blocked := share.next(x.kind)
		m.addUp(x, blocked)
		all[placeOfKind(x.kind)].add(1, x.bytes, blocked)
	}
	for kind := range all {
		all[kind].take(&m.sums, sums.End(messageKind[kind], function, path))
	}
}

// addUp adds a transfer to the sums of its call path and of its peer, and a message to those of its size and of the
// partners of its call path.
func (m *Matcher) addUp(x *landing, blocked uint64) {
	m.sums.Sum(m.sums.Row(sums.Site(x.kind, x.function, x.path)), 1, x.bytes, 0)
	m.sums.Add(m.sums.Row(sums.Peer(x.kind, x.comm, x.peer)), x.bytes, blocked)
	if message(x.kind) {
		m.sizes[placeOfKind(x.kind)][bits.Len64(x.bytes)].add(1, x.bytes, blocked)
		if m.partners != nil {
			m.partners.Place(x.kind, x.function, x.path).Add(x.comm, x.peer, x.bytes)
		}
	}
	m.counted++
}

// settleSums puts what is pending into the table of sums.
func (m *Matcher) settleSums() {
	for kind := range m.sizes {
		for n := range m.sizes[kind] {
			m.sizes[kind][n].take(&m.sums, sums.Size(messageKind[kind], 1<<n>>1))
		}
	}
	for _, at := range m.fast.places {
		for kind := range at.sums {
			at.sums[kind].take(&m.sums, sums.Site(kindOf(ring.Sent+ring.TransferKind(kind)), at.function, at.path))
		}
		for kind := range at.ends {
			at.ends[kind].take(&m.sums, sums.End(messageKind[kind], at.function, at.path))
		}
	}
}

// addEnded adds an operation to the sums for which no call took time.
func (m *Matcher) addEnded(o *operation) {
	comm, peer := m.known(o.comm, o.peer)
	m.addUp(&landing{o.kind, comm, peer, o.function, o.path, o.bytes}, 0)
}

// leaves says that everything that a record has completed has been passed on.
func (t *Thread) leaves(row uint64, r *ring.Record, ticks uint64) {
	switch {
	case t.direct(r.Enter):
		if len(t.landed) > 0 {
			t.m.land(t, r.Call, r.Path, ticks)
		}
	case len(t.landed) > 0 || completes(r):
		call := request{operations: [2]operation{{thread: t, row: row, function: r.Call, path: r.Path}}}
		t.addEvent(&event{what: left, ticks: r.Enter, row: row, bytes: ticks, request: call})
	}
}

// completes reports whether a call has completed something that may be a message.
func completes(r *ring.Record) bool {
	for i := range r.Requests {
		if _, ends := ending(r.Requests[i].Event); ends {
			return true
		}
	}
	for i := range r.Transfers {
		if r.Transfers[i].Request == 0 && message(kindOf(r.Transfers[i].Kind)) {
			return true
		}
	}
	return false
}

// land counts what a call has completed, in the simple way.
func (f *fast) land(m *Matcher, by *place, ticks uint64) {
	list := f.landed
	f.landed = list[:0]
	share := sharingOf(ticks, f.received, len(list))
	f.received = 0
	var all [messageKinds]pending
	for i := range list {
		x := &list[i]
		l := &f.lanes[x.lane]
		kind, blocked := placeOfKind(l.Kind), share.next(l.Kind)
		m.sum(x.at, l, x.bytes, blocked)
		m.sizes[kind][bits.Len64(x.bytes)].add(1, x.bytes, blocked)
		all[kind].add(1, x.bytes, blocked)
	}
	for kind := range all {
		by.ends[kind].add(all[kind].count, all[kind].bytes, all[kind].blocked)
	}
	if cap(list) > keptLandings {
		f.landed = nil
	}
}

// generally makes what the call at hand has completed in the simple way landings of the general one.
func (f *fast) generally(t *Thread) {
	for i := range f.landed {
		x := &f.landed[i]
		l := &f.lanes[x.lane]
		t.landed = append(t.landed, landing{l.Kind, l.Comm, l.Peer, x.at.function, x.at.path, x.bytes})
	}
	f.landed, f.received = f.landed[:0], 0
}
