package grouping

import (
	"math/bits"
	"slices"

	"moriens/analysis/space"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// keepWhole takes out of the groups the bursts that the automatic duration filter leaves out, except those of a kind
// that the filter would cut through: the limit ignores kinds, and would drop the quicker half of one and cluster the
// slower half.
//
// A kind is a hill in the group's histogram of durations (steps of a tenth). It ends where a step holds less than a
// twentieth of its peak. It is kept whole if the filter keeps at least a tenth of it: a long tail of slow bursts does
// not make a quick kind worth keeping. Both limits are shares, so that a longer run of the same program is filtered
// alike.
func (c *computation) keepWhole(groups []*group, selection *space.Selection) error {
	limits, err := c.wholeLimits(groups, selection)
	if err != nil {
		return err
	}
	readmitted := make([][]int32, len(groups))
	c.everyGroup(groups, func(i int) {
		for _, row := range groups[i].rows {
			if selection.Status[row] == space.Short && Step(c.bursts.DurationNS[row]) >= limits[i] {
				readmitted[i] = append(readmitted[i], row)
			}
		}
	})
	if err := c.space.Readmit(selection, slices.Concat(readmitted...)); err != nil {
		return err
	}
	c.everyGroup(groups, func(i int) {
		g := groups[i]
		g.rows = slices.DeleteFunc(g.rows, func(row int32) bool { return selection.Status[row] != space.Complete })
		if len(g.rows) < cap(g.rows)/2 {
			g.rows = slices.Clone(g.rows) // memory
		}
	})
	return nil
}

// everyGroup does something with every group, with several at a time.
func (c *computation) everyGroup(groups []*group, do func(i int)) {
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g.rows)
	}
	workers.Every(sizes, c.workers, do)
}

const (
	hillEnds  = 20 // the reciprocal of the share of the peak below which a hill has ended
	worthPart = 10 // the reciprocal of the share that the filter has to keep
)

// wholeLimits finds for each group the step down to which its short bursts stay.
func (c *computation) wholeLimits(groups []*group, selection *space.Selection) ([]int, error) {
	const together = 64 // groups; a histogram has 4 KiB
	limits := make([]int, 0, len(groups))
	for some := range slices.Chunk(groups, together) {
		counts := make(Kinds, len(some)*2*steps)
		c.everyGroup(some, func(i int) {
			kinds := counts[i*2*steps : (i+1)*2*steps]
			for _, row := range some[i].rows {
				kinds.Add(c.bursts.DurationNS[row], 1, selection.Status[row] == space.Complete)
			}
		})
		if err := c.team.AllReduce(counts, team.Sum); err != nil {
			return nil, err
		}
		for kinds := range slices.Chunk(counts, 2*steps) {
			limits = append(limits, kinds.Limit())
		}
	}
	return limits, nil
}

// Kinds are the durations of a group's bursts: how many there are by Step, and then, how many of them the filter keeps.
type Kinds []int64

// NewKinds returns a histogram of none.
func NewKinds() Kinds { return make(Kinds, 2*steps) }

// Add counts bursts of one duration.
func (h Kinds) Add(durationNS, bursts int64, kept bool) {
	s := Step(durationNS)
	h[s] += bursts
	if kept {
		h[steps+s] += bursts
	}
}

// Limit is the step down to which short bursts stay.
func (h Kinds) Limit() int {
	all, kept := h[:steps], h[steps:]
	limit := slices.IndexFunc(kept, func(n int64) bool { return n > 0 }) // the shortest burst that the filter keeps
	if limit < 0 {
		return steps
	}
	peak, low, high := all[limit], limit, limit
	for high+1 < steps && all[high+1] > 0 && all[high+1] >= peak/hillEnds {
		high++
		peak = max(peak, all[high])
	}
	for low > 0 && all[low-1] > 0 && all[low-1] >= peak/hillEnds {
		low--
		peak = max(peak, all[low])
	}
	inHill, keptOfIt := int64(0), int64(0)
	for s := low; s <= high; s++ {
		inHill += all[s]
		keptOfIt += kept[s]
	}
	if keptOfIt < inHill/worthPart {
		return steps // the filter alone decides
	}
	return low
}

// Step numbers durations ascending, in steps of a tenth of themselves: 8 to a power of two, so that
// one is 7 to 12 % wide.
func Step(durationNS int64) int {
	const stepBits = 3
	shift := max(0, bits.Len64(uint64(durationNS))-stepBits-1)
	return shift<<stepBits + int(durationNS>>shift)
}

// steps is more than the step of any duration.
const steps = 63 * 8
