package message

import "moriens/agent/ring"

// A table holds the requests of a process that are under way or at rest, by their handles.
type table struct {
	queues map[uint64]*queue
	open   int // requests in all queues
	room   *Room
}

// A queue is the requests that have one handle, oldest first.
type queue struct {
	list []request
	last uint64 // ticks of the latest event
}

// A request is what a call made that another one ends.
type request struct {
	operations [2]operation // MPI_Isendrecv's are two
	count      uint8
	persistent bool    // at rest when it is made, and again when it has ended
	active     bool    // not at rest
	by         *Thread // that made or started it
}

func (t *table) queue(handle uint64) *queue {
	q := t.queues[handle]
	if q == nil {
		if len(t.queues) > 2*max(t.open, leastRequests) {
			t.sweep()
		}
		q = new(queue)
		t.queues[handle] = q
	}
	return q
}

// sweep drops the handles that no request has.
func (t *table) sweep() {
	for handle, q := range t.queues {
		if len(q.list) == 0 {
			delete(t.queues, handle)
		}
	}
}

func (t *table) add(q *queue, r request) {
	q.list = append(q.list, r)
	t.open++
	t.room.taken++
}

func (t *table) remove(q *queue, i int) {
	q.list = append(q.list[:i], q.list[i+1:]...)
	t.open--
	t.room.taken--
}

func (t *table) clear(q *queue) {
	t.open -= len(q.list)
	t.room.taken -= len(q.list)
	q.list = q.list[:0]
}

// receives reports whether it can receive a message: then no other pending request has its handle.
func (r *request) receives() bool {
	for i := range r.operations[:r.count] {
		if o := &r.operations[i]; r.active && o.receives() && o.peer != ring.ProcNull {
			return true
		}
	}
	return false
}

// endsBy reports whether an event can be its end.
func (r *request) endsBy(e *event) bool {
	if e.what == freed {
		return true
	}
	if !r.active {
		return false
	}
	for i := range r.operations[:r.count] {
		o := &r.operations[i]
		if e.what == completed && o.receives() && !(fits(o.peer, e.peer) && fits(o.tag, e.tag)) {
			return false
		}
	}
	return true
}

// fits reports whether what a receive asked for can have become what its status says.
func fits(asked, got int32) bool { return asked == ring.Any || got == ring.Any || asked == got }
