package uplink

import moriensv1 "moriens/proto/moriens/v1"

// standingNews is where the node's threads are. Only the latest counts, and nothing of it is kept.
type standingNews struct {
	latest *moriensv1.Standing
	sent   *moriensv1.Standing // on the present stream
}

// due reports whether there is something to say.
func (s *standingNews) due() bool { return s.latest != s.sent }

// renew has the latest said again, on a stream that may be to another collector.
func (s *standingNews) renew() { s.sent = nil }

// ReportStanding reports to the collector where the threads are, once on each stream. The message is not changed any
// more.
func (u *Uplink) ReportStanding(m *moriensv1.Standing) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.standing.latest = m
	if u.lives && u.due() {
		u.changed.Broadcast()
	}
}
