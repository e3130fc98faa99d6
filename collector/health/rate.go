package health

import "time"

// window is over how long a rate is taken.
const window = 10 * time.Second

// A Rate shows how fast a count grows. Only one goroutine at a time may use it.
type Rate struct {
	samples []sample // within the window, and one before it
}

type sample struct {
	at    time.Time
	count uint64
}

// Add takes a reading of the count, which never shrinks.
func (r *Rate) Add(at time.Time, count uint64) {
	r.samples = append(r.samples, sample{at, count})
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= window {
		r.samples = r.samples[1:]
	}
}

// PerSecond is how fast the count has grown recently; 0 with fewer than two readings.
func (r *Rate) PerSecond() float64 {
	if len(r.samples) < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.count-first.count) / seconds
}
