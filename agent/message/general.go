package message

import (
	"cmp"
	"slices"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// general has the Matcher go the general way from now on.
func (m *Matcher) general() {
	f := &m.fast
	if !f.on {
		return
	}
	f.on = false
	t := m.threads[0]
	streams := make([]*stream, len(f.lanes))
	for i := range f.lanes {
		if l := &f.lanes[i]; l.posted > 0 {
			s := m.order.stream(l.key())
			s.count, s.sent = l.posted, l.sent
			streams[i] = s
		}
	}
	f.generally(t)
	m.room.taken -= f.open // each is counted again
	for _, r := range f.underWay() {
		q := m.requests.queue(r.handle)
		q.last = r.ticks
		x := request{active: true, by: t}
		switch {
		case r.moves:
			x.count = 1
			x.operations[0] = m.operationOf(t, r, streams[r.lane])
		case r.null:
			x.count = 1
			x.operations[0] = m.nullOf(t, r)
		case r.met:
			x.count = 1
			x.operations[0] = t.meeting(r.row, r.comm, r.ordinal)
		}
		m.requests.add(q, x)
	}
	f.empty()
}

func (f *fast) empty() {
	f.lanes, f.requests, f.open, f.latest, f.last = f.lanes[:0], f.requests[:0], 0, 0, 0
	f.laneAt.Clear()
	f.at.Clear()
}

// key is the lane as ordinals have it.
func (l *fastLane) key() lane {
	return lane{receive: l.asked.kind == ring.Received, comm: l.Comm, peer: l.Peer, tag: l.Tag}
}

// underWay are the requests in the order in which they were posted.
func (f *fast) underWay() (list []*fastRequest) {
	for i := range f.requests {
		if f.requests[i].active {
			list = append(list, &f.requests[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *fastRequest) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.number, b.number)) })
	return list
}

// operationOf is what a request is to move, with its place in its lane.
func (m *Matcher) operationOf(t *Thread, r *fastRequest, s *stream) operation {
	l := &m.fast.lanes[r.lane]
	p := m.order.posting()
	*p = posting{
		lane: l.key(), start: r.ticks, end: r.ticks, epoch: m.order.epoch, number: r.number, ordinal: r.ordinal - 1,
		side: m.order.side(l.key().receive, l.Comm), stream: s,
	}
	s.live = append(s.live, p)
	return operation{
		kind: l.Kind, thread: t, row: r.row, function: r.at.function, path: r.at.path, peer: l.Peer, tag: l.Tag, comm: l.Comm, bytes: r.bytes,
		channel: -1, posting: p,
	}
}

// nullOf is what a request is to send to MPI_PROC_NULL, or receive from it.
func (m *Matcher) nullOf(t *Thread, r *fastRequest) operation {
	l := &m.fast.lanes[r.lane]
	return operation{kind: l.Kind, thread: t, row: r.row, function: r.at.function, path: r.at.path, peer: ring.ProcNull, tag: l.Tag, comm: l.Comm, bytes: r.bytes, channel: -1}
}

// Simplify has the Matcher go the simple way from now on, if what the process does allows it.
func (m *Matcher) Simplify() {
	if m.fast.on || !m.simple() {
		return
	}
	f := &m.fast
	f.on, f.folds = true, m.sums.Folds()
	numbers := make(map[lane]uint32, len(m.order.streams))
	for at, s := range m.order.streams {
		l, _ := m.newLane(at.asked())
		l.posted, l.sent = s.count, s.sent
		numbers[at] = uint32(len(f.lanes))
		f.lanes = append(f.lanes, l)
		f.laneAt.Put(at.asked().key(), uint32(len(f.lanes)-1))
	}
	for handle, q := range m.requests.queues {
		if len(q.list) == 0 {
			continue
		}
		r, o := f.request(handle), &q.list[0].operations[0]
		has := q.list[0].count == 1
		r.active, r.ticks, r.met = true, q.last, has && o.collective()
		r.moves, r.null = has && !r.met && o.peer != ring.ProcNull, has && !r.met && o.peer == ring.ProcNull
		r.row, r.bytes, r.at = o.row, o.bytes, m.threads[0].place(o.function, o.path)
		switch {
		case r.met:
			r.comm, r.ordinal = o.comm, o.ordinal
		case r.moves:
			r.lane = numbers[o.posting.lane]
			r.ordinal, r.number = o.posting.ordinal+1, o.posting.number
			f.lanes[r.lane].open++
		case r.null:
			m.lane(lane{o.receives(), o.comm, ring.ProcNull, o.tag}.asked())
			r = f.known(handle)
			r.lane = f.latest
		}
		f.open++
	}
	m.room.taken += f.open - m.requests.open
	m.requests.open = 0
	clear(m.requests.queues)
	clear(m.order.streams)
	m.order.latest = nil
	for _, s := range m.order.sides {
		s.active = nil // those calls have returned before any that goes the simple way
	}
}

// asked is the lane as records have it.
func (l lane) asked() asked {
	if l.receive {
		return asked{ring.Received, l.comm, l.peer, l.tag}
	}
	return asked{ring.Sent, l.comm, l.peer, l.tag}
}

// simple reports whether all that is under way could have gone the simple way.
func (m *Matcher) simple() bool {
	o := &m.order
	if len(m.threads) != 1 || m.threadsSeen != 1 || m.coming > 1 || m.unrecorded || m.gaps > 0 || m.held > 0 || m.probed > 0 ||
		len(m.unfollowed) > 0 || len(o.waiting) > 0 || len(o.old) > 0 || len(o.streams)+m.requests.open >= maxCounted {
		return false
	}
	if t := m.threads[0]; t.gap || t.took || t.ended {
		return false
	}
	for _, s := range o.sides {
		if len(s.wild) > 0 {
			return false
		}
	}
	live := 0
	for at, s := range o.streams {
		live += len(s.live)
		if peers, defined := m.peersOf(at.comm); !defined || at.peer < 0 || int(at.peer) >= peers || at.tag < 0 {
			return false
		}
	}
	for _, q := range m.requests.queues {
		if len(q.list) == 0 {
			continue
		}
		r := &q.list[0]
		if len(q.list) > 1 || r.persistent || !r.active || r.count > 1 {
			return false
		}
		if r.count == 0 {
			continue
		}
		if r.operations[0].collective() {
			continue
		}
		if o := &r.operations[0]; o.peer == ring.ProcNull {
			if _, defined := m.peersOf(o.comm); !defined {
				return false
			}
			continue
		}
		if p := r.operations[0].posting; p == nil || p.epoch != o.epoch || p.open || p.passed || p.wild || p.stream == nil {
			return false
		}
		live--
	}
	return live == 0
}

// lanes writes down those of the simple way, if they are not too many.
func (w *writer) lanes(m *Matcher) {
	f := &m.fast
	posted := 0 // others, of what is no message, have nothing to continue
	for i := range f.lanes {
		if f.lanes[i].posted > 0 {
			posted++
		}
	}
	w.kept, w.epoch = posted <= keptLanes, m.order.epoch
	if !w.kept {
		return
	}
	w.state.NextPosting = m.order.next
	x := &moriensv1.MatcherLanes{}
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.posted == 0 {
			continue
		}
		x.Receive, x.Comm = append(x.Receive, l.key().receive), append(x.Comm, l.Comm)
		x.Peer, x.Tag = append(x.Peer, l.Peer), append(x.Tag, l.Tag)
		x.Count, x.Sent = append(x.Count, l.posted), append(x.Sent, l.sent)
	}
	w.state.Lane = x
}

// underWay writes down the requests of the simple way.
func (w *writer) underWay(m *Matcher) {
	s := w.state
	for _, r := range m.fast.underWay() {
		x := request{active: true, by: m.threads[0]}
		switch {
		case r.moves:
			x.count = 1
			x.operations[0] = m.operationOf(m.threads[0], r, new(stream))
		case r.null:
			x.count = 1
			x.operations[0] = m.nullOf(m.threads[0], r)
		case r.met:
			x.count = 1
			x.operations[0] = m.threads[0].meeting(r.row, r.comm, r.ordinal)
		}
		s.Handle, s.Last, s.Length = append(s.Handle, r.handle), append(s.Last, r.ticks), append(s.Length, 1)
		w.request(s.Request, &x)
		if n := w.posting(x.operations[0].posting); n > 0 {
			s.Posting.Flags[n-1] |= postingLive
		}
	}
}
