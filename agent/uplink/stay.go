package uplink

import (
	"errors"
	"io/fs"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// told takes what a response says of how long to stay.
func (u *Uplink) told(r *moriensv1.ReportResponse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stay, u.toldStay = time.Duration(r.StayMs)*time.Millisecond, time.Now()
}

// Stay is until when the collector may still ask for what is kept here, as it has told last; the zero time where it has ended, or will not have this agent.
func (u *Uplink) Stay() (until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fatal != nil || errors.Is(u.broke, fs.ErrNotExist) {
		return time.Time{}
	}
	return u.toldStay.Add(u.stay)
}
