package uplink

import (
	"errors"
	"io/fs"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// setLinger takes from a response how long to linger.
func (u *Uplink) setLinger(r *moriensv1.ReportResponse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.linger, u.lingerSet = time.Duration(r.StayMs)*time.Millisecond, time.Now()
}

// LingerUntil is the time until which the collector may still request what is kept here, by its latest response; the
// zero time where it has ended, or refuses this agent.
func (u *Uplink) LingerUntil() (until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fatal != nil || errors.Is(u.broke, fs.ErrNotExist) {
		return time.Time{}
	}
	return u.lingerSet.Add(u.linger)
}
