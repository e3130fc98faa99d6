package uplink

import "time"

const (
	// paceLast is the time between two sendings of what can wait: each has its price, at both ends, however little it
	// brings. paceFirst is the same after the first one on a stream, so that a run is seen at once. It doubles from there.
	paceFirst = 100 * time.Millisecond
	paceLast  = time.Second
	// pressing is how many bytes that wait for the collector do not wait for the time: half of what the outbox keeps
	// uncompressed. pressingShare is the reciprocal of the part of what may wait that does not either.
	pressing      = 512 << 10
	pressingShare = 4
)

// A pace says when what can wait is sent: messages, and where threads are.
type pace struct {
	next    time.Time // zero: at once
	pause   time.Duration
	sending bool // it is time, and not everything is sent
}

// begin reports whether it is time, at a moment when something waits.
func (p *pace) begin(now time.Time, hurry bool) bool {
	p.sending = p.sending || hurry || !now.Before(p.next)
	return p.sending
}

// end says that all is sent.
func (p *pace) end(now time.Time) {
	if p.sending {
		p.sending = false
		p.pause = min(max(2*p.pause, paceFirst), paceLast)
		p.next = now.Add(p.pause)
	}
}

// hurry reports whether what waits is to be sent at once, with u.mu held.
func (u *Uplink) hurry() bool {
	if u.flushing > 0 {
		return true
	}
	waiting, room := u.outbox.Waiting()
	return waiting >= min(pressing, room/pressingShare)
}

// due reports whether there is something to be sent now, with u.mu held. What is to be sent later has the alarm set.
func (u *Uplink) due() bool {
	if u.round.due() || u.spool.due() || len(u.answers.queue) > 0 {
		return true
	}
	if !u.greeted {
		return false
	}
	now := time.Now()
	if !u.ready() && !u.standing.due() {
		u.pace.end(now)
		return false
	}
	if u.pace.begin(now, u.hurry()) {
		return true
	}
	if u.alarm == nil {
		u.alarm = time.AfterFunc(u.pace.next.Sub(now), u.ring)
	}
	return false
}

// ring makes the sender look again.
func (u *Uplink) ring() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.alarm = nil
	u.changed.Broadcast()
}

// renewPace begins again, on another stream, with u.mu held.
func (u *Uplink) renewPace() {
	u.pace = pace{}
	if u.alarm != nil {
		u.alarm.Stop()
		u.alarm = nil
	}
}

// committed makes the sender look again if there is something to be sent now. It does not otherwise: there are many
// transactions, and each time it looks a thread is woken.
func (u *Uplink) committed() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lives && u.due() {
		u.changed.Broadcast()
	}
}
