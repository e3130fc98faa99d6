//go:build mpi

package mpix

import (
	"runtime"
	"time"
)

// patience is how long to wait before asking again whether others have arrived: the longer, the longer it has been, so
// that a member that waits for seconds takes next to nothing of its core, and one that waits for microseconds loses
// none.
type patience struct{ since time.Time }

func (p *patience) rest() {
	const busy, short, long = 50 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond
	if p.since.IsZero() {
		p.since = time.Now()
	}
	waited := time.Since(p.since)
	if waited < busy {
		runtime.Gosched()
		return
	}
	time.Sleep(min(waited/8, short+waited/500, long))
}
