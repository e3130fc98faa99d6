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
	u.stay = time.Duration(r.StayMs) * time.Millisecond
}

// Stay is how long, from when all is acknowledged, the collector may still ask for windows: as it has told last; 0 where it has ended, or will
// not have this agent.
func (u *Uplink) Stay() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fatal != nil || errors.Is(u.broke, fs.ErrNotExist) {
		return 0
	}
	return u.stay
}
