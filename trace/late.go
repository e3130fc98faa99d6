package trace

// LateIn is how long a call that completed the receive of a message was inside MPI before the send was called.
func (m *Message) LateIn(enterNS, exitNS int64) int64 { return max(0, min(m.SendNS, exitNS)-enterNS) }

// LateSenders adds up how long calls waited for senders that were late: each call as long as for the latest of its
// messages.
type LateSenders map[[2]int]int64 // by thread and row of its calls

// Add adds a message that a call completed.
func (l LateSenders) Add(thread, call int, lateNS int64) {
	if lateNS > 0 {
		key := [2]int{thread, call}
		l[key] = max(l[key], lateNS)
	}
}

// TotalNS is the sum of all calls.
func (l LateSenders) TotalNS() int64 {
	total := int64(0)
	for _, ns := range l {
		total += ns
	}
	return total
}

// SettleLate fills in how late the senders of all messages were, by the calls that completed the receives, and adds it
// up. Messages of which no call is known to have done so are left as they are, and are counted.
func (r *Run) SettleLate() (total LateSenders, unknown int) {
	total = make(LateSenders)
	for i := range r.Messages {
		m := &r.Messages[i]
		thread, call := r.Completing(m)
		if call < 0 {
			unknown++
			continue
		}
		c := &r.Threads[thread].Calls
		m.LateNS = m.LateIn(c.EnterNS[call], c.ExitNS[call])
		total.Add(thread, call, m.LateNS)
	}
	return total, unknown
}

// Completing is the call that completed the receive of a message: the one that ended when it was there, on the thread
// that has posted it, or else on another of the rank; or the one that posted it and was still inside. -1 = none.
func (r *Run) Completing(m *Message) (thread, call int) {
	if call := r.CompletingOn(m, m.To); call >= 0 {
		return m.To, call
	}
	own := &r.Threads[m.To]
	same := func(i int) bool {
		return i >= 0 && i < len(r.Threads) && r.Threads[i].World == own.World && r.Threads[i].Rank == own.Rank
	}
	first := m.To
	for same(first - 1) {
		first--
	}
	for i := first; same(i); i++ {
		if call := r.CompletingOn(m, i); call >= 0 {
			return i, call
		}
	}
	return -1, -1
}

// CompletingOn is the call of a thread that would have completed the receive of a message; -1 = none.
func (r *Run) CompletingOn(m *Message, thread int) (call int) {
	c := &r.Threads[thread].Calls
	if call := c.LeftAt(m.PhysicalRecvNS); call >= 0 || thread != m.To {
		return call
	}
	if call := c.EnteredAt(m.RecvNS); call >= 0 && m.PhysicalRecvNS >= m.RecvNS && m.PhysicalRecvNS < c.ExitNS[call] {
		return call
	}
	return -1
}
