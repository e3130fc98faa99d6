package journal

import (
	"math"
	"time"
)

const (
	// spentStep is by how much the processor time of the process grows until it is written again: the journal of a run
	// that does nothing shall not grow each second.
	spentStep = 100 * time.Millisecond
	// mostSpent bounds what a process may have used; more is not true.
	mostSpent = math.MaxInt64 / 1024
)

// A spent is the processor time that the collectors of a volume have used until the run ended, each as it last wrote.
type spent struct {
	before  time.Duration // all but the latest
	latest  time.Duration
	unknown bool // of one of them: its records do not say, or what cannot be
}

// start says that another collector begins.
func (s *spent) start(ns *uint64) {
	s.before += s.latest
	s.latest = 0
	s.unknown = s.unknown || ns == nil
	s.add(ns)
}

// add is what the latest one has used by now; nil: nothing is said of that.
func (s *spent) add(ns *uint64) {
	switch {
	case ns == nil:
	case *ns > mostSpent:
		s.unknown = true
	default:
		s.latest = max(s.latest, time.Duration(*ns))
	}
}

// Spent is the processor time that this process and the collectors before it have used for the run, until it ended; 0:
// not known of one of them.
func (j *Journal) Spent() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.spent()
}

func (j *Journal) spent() time.Duration {
	var sum time.Duration
	for _, v := range j.volumes {
		if v.spent.unknown {
			return 0
		}
		sum += v.spent.before + v.spent.latest
	}
	switch {
	case j.end != nil:
		return sum
	case j.over:
		return sum + j.usedAtEnd
	}
	return sum + j.used()
}

// own is what this process has used, as the collector's own volume has it; in others that it continues it is nothing.
func (j *Journal) own(v *volume, used time.Duration) *uint64 {
	ns := uint64(0)
	if v == j.volumes[0] {
		ns = uint64(used)
	}
	return &ns
}
