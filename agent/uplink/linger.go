package uplink

import (
	"errors"
	"io/fs"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// setLinger takes what a response says of how long to stay.
func (u *Uplink) setLinger(r *moriensv1.ReportResponse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.linger, u.lingerSet = time.Duration(r.StayMs)*time.Millisecond, time.Now()
}

// LingerUntil is until when the collector may still ask for what is kept here, as it has reported last; the zero time where it has ended, or will not have this agent.
func (u *Uplink) LingerUntil() (until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fatal != nil || errors.Is(u.broke, fs.ErrNotExist) {
		return time.Time{}
	}
	return u.lingerSet.Add(u.linger)
}
