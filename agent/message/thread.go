package message

import (
	"math"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Thread is one ring of the process.
type Thread struct {
	m         *Matcher
	ring      uint64
	queue     []event // that wait for other threads, from next on
	next      int
	lastTicks uint64 // of its latest event
	lastExit  uint64 // of its latest record
	until     uint64 // it was read to this time
	gap       bool   // calls are missing since its latest record, and that is known already
	taken     operation
	moves     []operation // of the record at hand
	took      bool        // taken is to be received by the next request
	landed    []landing   // by the call at hand
	polled    uint64      // ticks of the tests in a row, up to now, that found nothing
	found     bool        // the latest record is a test that has completed something: polled are those before it
	ended     bool
}

// Thread adds a ring.
func (m *Matcher) Thread(id uint64) *Thread {
	m.general()
	t := &Thread{m: m, ring: id}
	m.threads = append(m.threads, t)
	m.threadsSeen++
	return t
}

// Missing says that calls are missing after what was read so far, before the next record can say so.
func (t *Thread) Missing() { t.missing(max(t.lastExit, t.until)) }

func (t *Thread) missing(since uint64) {
	t.m.general()
	if !t.gap {
		t.gap = true
		t.addEvent(&event{what: gapBegins, ticks: since})
	}
}

// Read says that everything of the thread that happened before a time has been added.
func (t *Thread) Read(until uint64) { t.until = max(t.until, until) }

// End says that nothing more will arrive from the thread, of so many rows, and whether calls are missing after the last
// of them.
func (t *Thread) End(rows uint64, missing bool) {
	t.m.general()
	if missing {
		t.Missing()
	}
	if t.gap {
		t.gapBefore(rows)
		behind := t.lastTicks // they may have ended what other threads made up to now
		for _, other := range t.m.threads {
			behind = max(behind, other.lastTicks)
		}
		t.addEvent(&event{what: gapEnds, ticks: behind})
	}
	t.until, t.ended = math.MaxUint64, true
}

// Add takes a record, which is row number row of the ring; unfinished says that the process died inside it.
func (t *Thread) Add(row uint64, r *ring.Record, unfinished bool) {
	ticks := uint64(0)
	if !unfinished {
		if r.Call.Tests() || len(r.Polls) > 0 {
			t.polls(r)
		} else if t.polled > 0 && r.Mark == 0 {
			t.polled = 0
		}
		moved, ended, all := t.simply(row, r)
		if all {
			return
		}
		if moved+ended > 0 {
			rest := *r
			rest.Transfers, rest.Requests = r.Transfers[moved:], r.Requests[ended:]
			r = &rest
		}
		ticks = t.lasts(r)
	}
	t.m.general()
	if r.Lost || r.Paused {
		t.missing(min(max(t.lastExit, t.until), r.Enter))
	}
	if t.gap {
		t.gap = false
		t.gapBefore(row)
		t.addEvent(&event{what: gapEnds, ticks: r.Enter})
	}
	t.lastExit = r.Exit
	if unfinished {
		t.lastExit = r.Enter
	}
	if len(r.Transfers) == 0 && len(r.Requests) == 0 {
		return
	}
	message := t.ends(row, r)
	t.begins(row, r, message, unfinished)
	t.leaves(row, r, ticks)
}

// ends passes on what the call ended, at its entry, and reports whether it received the message of a matched probe.
func (t *Thread) ends(row uint64, r *ring.Record) (message bool) {
	for i := range r.Requests {
		q := &r.Requests[i]
		what, ends := ending(q.Event)
		if !ends {
			continue
		}
		e := event{what: what, ticks: r.Enter, row: row, handle: q.Handle, bytes: q.Bytes, peer: q.Source, tag: q.Tag}
		if what == matched {
			message = true
			e.request = t.received(row, r)
		}
		t.addEvent(&e)
	}
	return message
}

// order gives what a call posts its places, at its entry.
func (t *Thread) order(r *ring.Record, message bool) {
	if persistent(r.Call) {
		return // that is done when they are started
	}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		o := t.moves[i]
		if x.Kind == ring.Probed {
			if x.Request == 0 {
				continue
			}
			o.kind = moriensv1.Transfers_KIND_RECEIVED
		} else if message && x.Kind == ring.Received { // it has its place from the probe
			continue
		}
		p := t.placeOf(&o, r.Enter, r.Exit)
		if p == nil {
			continue
		}
		t.moves[i].posting = p
		if t.direct(r.Enter) {
			t.m.post(p)
		} else {
			t.addEvent(&event{what: posts, ticks: r.Enter, posting: p})
		}
	}
}

// received is what a call that received a probed message has received at once, if it has.
func (t *Thread) received(row uint64, r *ring.Record) request {
	q := request{operations: [2]operation{t.operation(row, r, &ring.Transfer{Kind: ring.Received})}}
	for i := range r.Transfers {
		if x := &r.Transfers[i]; x.Kind == ring.Received && x.Request == 0 {
			q.operations[0], q.count = t.operation(row, r, x), 1
		}
	}
	return q
}

// begins passes on what the call has moved, and what it has made or started, at its exit.
func (t *Thread) begins(row uint64, r *ring.Record, message, unfinished bool) {
	rest := persistent(r.Call)
	t.moves = t.moves[:0]
	for i := range r.Transfers {
		t.moves = append(t.moves, t.operation(row, r, &r.Transfers[i]))
	}
	t.order(r, message)
	for i := range r.Transfers {
		x := &r.Transfers[i]
		o := &t.moves[i]
		switch {
		case x.Kind == ring.Probed:
			if x.Request != 0 {
				o.kind = moriensv1.Transfers_KIND_RECEIVED
				t.addEvent(&event{what: probed, ticks: r.Exit, row: row, handle: x.Request, request: request{operations: [2]operation{*o}}})
			}
		case unfinished:
			t.m.leave(o)
		case x.Request == 0:
			switch {
			case message && x.Kind == ring.Received: // the probe shows whose message it is
			case t.direct(r.Exit):
				t.m.complete(o, t, row)
			default:
				t.addEvent(&event{what: moved, ticks: r.Exit, row: row, request: request{operations: [2]operation{*o}}})
			}
		case i > 0 && r.Transfers[i-1].Request == x.Request: // made together with the one before
		default:
			made := event{what: made, ticks: r.Exit, row: row, handle: x.Request, request: t.request(r, i, rest)}
			t.meet(row, r, &made.request)
			t.addEvent(&made)
		}
	}
	for i := range r.Requests {
		switch q := &r.Requests[i]; q.Event {
		case ring.Made:
			made := event{what: made, ticks: r.Exit, row: row, handle: q.Handle}
			made.request = request{persistent: rest, active: !rest, by: t}
			t.meet(row, r, &made.request)
			t.addEvent(&made)
		case ring.Started:
			call := request{operations: [2]operation{{thread: t, row: row, function: r.Call, path: r.Path}}}
			t.addEvent(&event{what: started, ticks: r.Exit, began: r.Enter, row: row, handle: q.Handle, request: call})
		}
	}
}

// request is the one that a call's transfer number i belongs to. What is no message is sent off at once.
func (t *Thread) request(r *ring.Record, i int, rest bool) request {
	q := request{persistent: rest, active: !rest, by: t}
	for ; i < len(r.Transfers) && r.Transfers[i].Request != 0 && int(q.count) < len(q.operations); i++ {
		o := t.moves[i]
		switch {
		case q.count > 0 && r.Transfers[i].Request != r.Transfers[i-1].Request:
			return q
		case !o.message():
			t.m.leave(&o)
		default:
			if r.Call.Class() == mpicall.Partitioned {
				o.channel = t.m.channel(&o)
			}
			q.operations[q.count] = o
			q.count++
		}
	}
	return q
}

// meet adds the collective to a call's request, where the call is one.
func (t *Thread) meet(row uint64, r *ring.Record, q *request) {
	if r.IsCollective && int(q.count) < len(q.operations) {
		comm, _, ordinal := t.m.Collective(&r.Collective)
		q.operations[q.count] = t.meeting(row, comm, ordinal+1)
		q.count++
	}
}

// meeting is a collective that a row has begun, of an ordinal plus 1.
func (t *Thread) meeting(row uint64, comm uint32, ordinal uint64) operation {
	return operation{
		kind: moriensv1.Transfers_KIND_COLLECTIVE, thread: t, row: row, peer: ring.Any, tag: ring.Any, comm: comm, ordinal: ordinal, channel: -1,
	}
}

func (m *Matcher) channel(o *operation) int64 {
	c := channel{o.kind, o.comm, o.peer, o.tag}
	n := m.channels[c]
	m.channels[c] = n + 1
	return int64(n)
}

func (t *Thread) operation(row uint64, r *ring.Record, x *ring.Transfer) operation {
	return operation{
		kind: kindOf(x.Kind), thread: t, row: row, function: r.Call, path: r.Path, peer: x.Peer, tag: x.Tag, comm: x.Comm, bytes: x.Bytes, channel: -1,
	}
}
