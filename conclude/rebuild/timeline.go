package rebuild

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// A timeline converts the ticks of one node's clock to nanoseconds since the Unix epoch. It goes through
// the node's first clock sample and takes its rate from the longest baseline, so that a clock which is
// stepped or slewed during the run does not bend the run.
type timeline struct {
	ticks     uint64 // of the first sample
	ns        int64  // since the epoch, then
	nsPerTick float64
	// uncertaintyNS bounds the error of a time against the node's own clocks.
	uncertaintyNS int64
}

// newTimeline also returns how many ticks the samples span.
func newTimeline(samples []*moriensv1.ClockSample) (timeline, uint64, error) {
	if len(samples) < 2 {
		return timeline{}, 0, fmt.Errorf("%d clock samples, two are needed", len(samples))
	}
	byTicks := func(a, b *moriensv1.ClockSample) int { return cmp.Compare(a.Ticks, b.Ticks) }
	first, last := slices.MinFunc(samples, byTicks), slices.MaxFunc(samples, byTicks)
	if last.Ticks == first.Ticks || last.MonotonicNs <= first.MonotonicNs {
		return timeline{}, 0, fmt.Errorf("the clock stood still between two samples at %d and %d ticks", first.Ticks, last.Ticks)
	}
	return timeline{
		ticks:         first.Ticks,
		ns:            first.RealtimeNs,
		nsPerTick:     float64(last.MonotonicNs-first.MonotonicNs) / float64(last.Ticks-first.Ticks),
		uncertaintyNS: max(first.UncertaintyNs, last.UncertaintyNs),
	}, last.Ticks - first.Ticks, nil
}

// at returns the time of a tick reading, in nanoseconds since the Unix epoch.
func (t timeline) at(ticks uint64) int64 {
	// The difference is exact in a float64 for 2^53 ticks, a month of a 3 GHz counter.
	return t.ns + int64(math.Round(float64(int64(ticks-t.ticks))*t.nsPerTick))
}

// duration turns ticks into nanoseconds, as many as there can be at most.
func (t timeline) duration(ticks uint64) int64 {
	return int64(min(math.Round(float64(ticks)*t.nsPerTick), 1<<62))
}
