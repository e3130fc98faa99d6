package window

import "moriens/internal/section"

const (
	// usualWindows is how many of the latest windows of one sequence of calls show what is usual.
	usualWindows = 31
	// usualFrom is from how many on they do.
	usualFrom = 9
	// unusualTimes is how many times their median a window takes that is unusual.
	unusualTimes = 3
	// usualSequences bounds the sequences of a process that are followed. With more, all restart: no sequence recurs often
	// enough to have anything usual.
	usualSequences = 256
)

// A sequence is what a thread has done in the window so far, by function and call path. Polls do not count: how many
// there are is chance.
type sequence struct {
	hash  uint64
	since uint64 // ticks
	begun bool
	torn  bool // part of it was not seen
}

func (q *sequence) add(at section.Site) {
	q.hash = (q.hash ^ uint64(at.Function)<<32 ^ uint64(at.Path)) * 0x9e3779b97f4a7c15
	q.hash ^= q.hash >> 29
}

func (q *sequence) begin(ticks uint64) { *q = sequence{since: ticks, begun: true} }

// usual holds how long a process's windows were, by their sequence of calls.
type usual map[uint64]*durations

type durations struct {
	ticks [usualWindows]uint64
	n     int
}

// unusual reports whether a window took far longer than those with the same calls before it, and counts it among them.
func (u *usual) unusual(hash, ticks uint64) bool {
	if *u == nil || len(*u) >= usualSequences && (*u)[hash] == nil {
		*u = make(usual)
	}
	d := (*u)[hash]
	if d == nil {
		d = new(durations)
		(*u)[hash] = d
	}
	far := false
	if d.n >= usualFrom {
		known := d.ticks[:min(d.n, usualWindows)]
		shorter := 0 // so many that the median is one of them
		for _, usual := range known {
			if usual < ticks/unusualTimes {
				shorter++
			}
		}
		far = shorter > len(known)/2
	}
	d.ticks[d.n%usualWindows] = ticks
	d.n++
	return far
}
