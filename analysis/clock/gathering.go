package clock

import (
	"math"
	"slices"
)

// A gathering counts who has come to a collective that none leaves before all have come, where all of them are here and
// leave the call that they entered it by.
type gathering struct {
	counted bool
	missing int32   // members that have not come
	lastNS  int64   // entry of the latest of those that have
	queue   []int32 // threads that wait for all
}

// add takes in what had to be done elsewhere.
func (o *Ordered) add(p *Ordered) {
	o.Late += p.Late
	o.LargestNS = max(o.LargestNS, p.LargestNS)
	o.TotalNS += p.TotalNS
	o.OffNS = max(o.OffNS, p.OffNS)
}

// countMembers finds the meetings at which it is enough to count who comes.
func (o *ordering) countMembers() {
	for i := range o.meetings {
		m := &o.meetings[i]
		m.counted = m.collective.Flow == AllToAll && len(m.partials)+len(m.waiters) == 0
		for _, member := range m.collective.Members {
			m.counted = m.counted && member.Start == member.End && o.here(member.Start.Thread)
		}
		m.missing, m.lastNS = int32(len(m.collective.Members)), math.MinInt64
	}
}

// A walker is what a worker notes while it goes on with threads, side by side with others: what it means for meetings
// and for other threads is found when all have stopped.
type walker struct {
	Ordered
	arrived []arrival
	waiting []queue
	told    []int32 // threads that others may wait for
	asking  []int32 // those that wait, but not only for gatherings
}

// An arrival is members of a meeting that have come to it.
type arrival struct {
	meeting, members int32
	lastNS           int64
}

// A queue is threads that wait for a meeting.
type queue struct {
	meeting int32
	threads []int32
}

// arrive notes that a thread has come to the meetings of its row. Threads mostly come to the same one after the other.
func (w *walker) arrive(o *ordering, s *state, enterNS int64) {
	for k := 0; k < len(s.needs) && s.needs[k].row == s.row; k++ {
		n := s.needs[k].collective
		if n < 0 || !o.meetings[n].counted {
			continue
		}
		last := len(w.arrived) - 1
		if last < 0 || w.arrived[last].meeting != n {
			w.arrived = append(w.arrived, arrival{meeting: n, lastNS: math.MinInt64})
			last++
		}
		w.arrived[last].members++
		w.arrived[last].lastNS = max(w.arrived[last].lastNS, enterNS)
	}
}

func (w *walker) wait(meeting, thread int32) {
	last := len(w.waiting) - 1
	if last < 0 || w.waiting[last].meeting != meeting {
		w.waiting = slices.Grow(w.waiting, 1)[:last+2] // with the room of what was there
		last++
		w.waiting[last].meeting, w.waiting[last].threads = meeting, w.waiting[last].threads[:0]
	}
	w.waiting[last].threads = append(w.waiting[last].threads, thread)
}

// tell has those woken that wait for a thread.
func (w *walker) tell(s *state, thread int32) {
	if len(s.waiting)+len(s.awaited) > 0 {
		w.told = append(w.told, thread)
	}
}

// gather counts who has come to meetings, and has those go on that wait for the last.
func (o *ordering) gather(w *walker) {
	for _, q := range w.waiting {
		m := &o.meetings[q.meeting]
		if m.queue = append(m.queue, q.threads...); m.missing == 0 {
			o.release(m)
		}
	}
	for _, a := range w.arrived {
		m := &o.meetings[a.meeting]
		m.missing -= a.members
		if m.lastNS = max(m.lastNS, a.lastNS); m.missing == 0 {
			o.release(m)
		}
	}
	w.waiting, w.arrived = w.waiting[:0], w.arrived[:0]
}

// release has the threads go on that wait for a gathering.
func (o *ordering) release(m *meeting) {
	queue := m.queue
	m.queue = nil
	if !o.loose {
		o.ready = append(o.ready, queue...)
		return
	}
	for _, thread := range queue {
		o.wake(thread)
	}
}
