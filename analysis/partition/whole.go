package partition

import (
	"math/bits"

	"moriens/analysis/space"
)

// keepWhole takes out of the groups the bursts that the automatic duration filter leaves out, but for
// those of a kind through which it would cut: the limit knows nothing of kinds, and would else drop the
// quicker half of one and cluster the slower.
//
// A kind is a hill in the group's histogram of durations (steps of a tenth): it ends where a step holds
// less than a twentieth of its peak. It stays whole if the filter keeps at least a tenth of it; a long
// tail of slow bursts does not make a quick kind worth keeping. Both are shares, so that a longer run
// of the same program is filtered alike.
func (c *computation) keepWhole(groups []*group, selection *space.Selection, labels []int32) []*group {
	kept := groups[:0]
	for _, g := range groups {
		limit := c.wholeLimit(g.rows, selection)
		rows := g.rows[:0]
		for _, row := range g.rows {
			if selection.Status[row] == space.Short && step(c.bursts.DurationNS[row]) >= limit {
				c.space.Readmit(selection, int(row))
			}
			switch selection.Status[row] {
			case space.Complete:
				rows = append(rows, row)
			case space.Missing:
				labels[row] = LabelMissing
			default:
				labels[row] = LabelFiltered
			}
		}
		if g.rows = rows; len(rows) > 0 {
			kept = append(kept, g)
		}
	}
	return kept
}

const (
	hillEnds  = 20 // the reciprocal of the share of the peak below which a hill has ended
	worthPart = 10 // the reciprocal of the share that the filter has to keep
)

// wholeLimit is the step down to which a group's short bursts stay.
func (c *computation) wholeLimit(rows []int32, selection *space.Selection) int {
	var all, kept [steps]int
	limit := steps // the shortest burst that the filter keeps
	for _, row := range rows {
		s := step(c.bursts.DurationNS[row])
		all[s]++
		if selection.Status[row] == space.Complete {
			kept[s]++
			limit = min(limit, s)
		}
	}
	if limit == steps {
		return limit
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
	inHill, keptOfIt := 0, 0
	for s := low; s <= high; s++ {
		inHill += all[s]
		keptOfIt += kept[s]
	}
	if keptOfIt < inHill/worthPart {
		return steps // the filter alone decides
	}
	return low
}

// step numbers durations ascending, in steps of a tenth of themselves: 8 to a power of two, so that
// one is 7 to 12 % wide.
func step(durationNS int64) int {
	const stepBits = 3
	shift := max(0, bits.Len64(uint64(durationNS))-stepBits-1)
	return shift<<stepBits + int(durationNS>>shift)
}

// steps is more than the step of any duration.
const steps = 63 * 8
