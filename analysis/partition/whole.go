package partition

import (
	"math/bits"

	"moriens/analysis/space"
)

// keepWhole takes out of the groups the bursts that the automatic duration filter leaves out, but for
// those of a kind through which it would cut: bursts shorter than its limit stay where durations of
// the same group lie in every step between theirs and the limit. A limit that knows nothing of kinds
// else drops the quicker half of one and clusters the slower.
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

// wholeLimit is the step down to which a group's short bursts stay.
func (c *computation) wholeLimit(rows []int32, selection *space.Selection) int {
	var occupied [steps]bool // by a short burst
	lowest := steps          // of the bursts that the filter keeps
	for _, row := range rows {
		s := step(c.bursts.DurationNS[row])
		if selection.Status[row] == space.Short {
			occupied[s] = true
		} else {
			lowest = min(lowest, s)
		}
	}
	for lowest > 0 && occupied[lowest-1] {
		lowest--
	}
	return lowest
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
