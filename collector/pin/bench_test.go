package pin

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"moriens/collector/pace"
	"moriens/collector/store"
)

// What looks take of each second of a job, in processor time of the process, in its first three minutes, in which all
// is new, and later; and how long it takes until a new kind of iteration has its pin: of other calls, and of the same
// calls with other durations.
func BenchmarkRound(b *testing.B) {
	for _, x := range []struct {
		name        string
		ranks, rate int
		noise       float64
		irregular   bool
	}{
		{"steady", 1, 15000, .05, false}, {"steady", 2, 15000, .05, false}, {"steady", 2, 1000, .05, false}, {"steady", 16, 15000, .05, false},
		{"noisy", 2, 15000, .5, false}, {"irregular", 2, 15000, .05, true},
	} {
		b.Run(fmt.Sprintf("%s/ranks=%d/rate=%d", x.name, x.ranks, x.rate), func(b *testing.B) {
			for b.Loop() {
				s := store.New()
				j := newJob(b, s, x.ranks, x.rate)
				j.noise, j.irregular = x.noise, x.irregular
				p := New(s, nil, asRun, quiet)
				first, _ := j.minutes(p, 3, 0)
				later, _ := j.minutes(p, 2, 0)
				_, other := j.minutes(p, 4, 3)
				j.rate /= 2
				_, slower := j.minutes(p, 4, 3)
				b.ReportMetric(float64(first)/180e6, "first-ms/s")
				b.ReportMetric(float64(later)/120e6, "later-ms/s")
				b.ReportMetric(float64(later)/120/float64(x.ranks*x.rate), "later-ns/call")
				b.ReportMetric(other.Seconds(), "s-to-other-calls")
				b.ReportMetric(slower.Seconds(), "s-to-other-durations")
			}
		})
	}
}

// minutes has the job do iterations of a kind, and returns what looks have taken, and when a kind was pinned first.
func (j *job) minutes(p *Pins, n, kind int) (took, pinned time.Duration) {
	for second := range 60 * n {
		j.second(kind)
		now := time.Duration(second+1) * time.Second
		if now%interval != 0 {
			continue
		}
		runtime.GC() // what the job has left is not part of it, what a round leaves is
		before := pace.Process()
		list := p.round(interval)
		took += pace.Process() - before
		for _, x := range list {
			if pinned == 0 && strings.HasPrefix(x.reason, "represents") {
				pinned = now
			}
		}
	}
	return took, pinned
}
