package moriens

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/collector/store"
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

func newTimeline(samples []*moriensv1.ClockSample) (timeline, error) {
	if len(samples) < 2 {
		return timeline{}, fmt.Errorf("%d clock samples, two are needed", len(samples))
	}
	byTicks := func(a, b *moriensv1.ClockSample) int { return cmp.Compare(a.Ticks, b.Ticks) }
	first, last := slices.MinFunc(samples, byTicks), slices.MaxFunc(samples, byTicks)
	if last.Ticks == first.Ticks || last.MonotonicNs <= first.MonotonicNs {
		return timeline{}, fmt.Errorf("the clock stood still between two samples at %d and %d ticks", first.Ticks, last.Ticks)
	}
	return timeline{
		ticks:         first.Ticks,
		ns:            first.RealtimeNs,
		nsPerTick:     float64(last.MonotonicNs-first.MonotonicNs) / float64(last.Ticks-first.Ticks),
		uncertaintyNS: max(first.UncertaintyNs, last.UncertaintyNs),
	}, nil
}

// at returns the time of a tick reading, in nanoseconds since the Unix epoch.
func (t timeline) at(ticks uint64) int64 {
	// The difference is exact in a float64 for 2^53 ticks, a month of a 3 GHz counter.
	return t.ns + int64(math.Round(float64(int64(ticks-t.ticks))*t.nsPerTick))
}

type clockKey struct {
	agent *store.Agent
	clock moriensv1.Clock
}

// timelines fits the clock of every node. Where a node's agent died before its second sample, the rate
// of another node's clock of the same kind has to do; a note says so.
func timelines(f store.Frozen) (map[clockKey]timeline, []string) {
	lines := make(map[clockKey]timeline)
	rates := make(map[moriensv1.Clock]float64)
	var notes []string
	for _, a := range f.Agents {
		for clock, samples := range a.Samples {
			if t, err := newTimeline(samples); err == nil {
				lines[clockKey{a, clock}] = t
				rates[clock] = t.nsPerTick
			}
		}
	}
	for _, a := range f.Agents {
		for clock, samples := range a.Samples {
			key := clockKey{a, clock}
			if _, fitted := lines[key]; fitted {
				continue
			}
			rate, known := rates[clock]
			if clock == moriensv1.Clock_CLOCK_MONOTONIC_RAW {
				rate, known = 1, true
			}
			if !known {
				continue
			}
			s := samples[0]
			lines[key] = timeline{ticks: s.Ticks, ns: s.RealtimeNs, nsPerTick: rate, uncertaintyNS: s.UncertaintyNs}
			notes = append(notes, fmt.Sprintf("host %s: its clock was read once only; its rate is taken from elsewhere", a.Hello.Host))
		}
	}
	return lines, notes
}
