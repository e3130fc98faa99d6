package grouping

import (
	"cmp"
	"math"
	"slices"

	"moriens/internal/mix"
	"moriens/internal/team"
)

// fewest bursts that stand for those of a group whose durations are alike, where there are so many: kinds that are rare
// and long are not to be missed.
const fewest = 32

// A draw is a burst that may be in the sample. Each member makes the same sample, however the threads are distributed.
type draw struct {
	stratum int    // group and step of the duration
	hash    uint64 // of id: the least ones are taken
	id      uint64 // of the burst among those of all members
	weight  int64  // how many bursts it stands for
	ns      int64
	at      []float64
}

func compareDraws(a, b draw) int {
	return cmp.Or(cmp.Compare(a.stratum, b.stratum), cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
}

// strata counts the bursts of all members by group and step of their durations.
func (c *computation) strata(groups []*group) ([]int64, error) {
	counts := make([]int64, len(groups)*steps)
	for i, g := range groups {
		for _, row := range g.rows {
			counts[i*steps+Step(c.bursts.DurationNS[row])]++
		}
	}
	return counts, c.team.AllReduce(counts, team.Sum)
}

// quotas are how many bursts of each stratum are in the sample: as large a part as of all, but some of each.
func quotas(counts []int64, sample int) []int {
	var all, strata int64
	for _, n := range counts {
		if n > 0 {
			all += n
			strata++
		}
	}
	least := min(max(int64(sample)/(2*max(strata, 1)), 1), fewest)
	list := make([]int, len(counts))
	for i, n := range counts {
		part := int64(math.Ceil(float64(n) / float64(all) * float64(sample)))
		list[i] = int(min(n, max(least, part)))
	}
	return list
}

// draw takes the bursts of the sample, of all members, by group and then in the order of the run.
func (c *computation) draw(groups []*group, counts []int64) ([]draw, error) {
	quota := quotas(counts, c.options.Sample)
	lists := make([][]draw, len(groups))
	c.everyGroup(groups, func(i int) { lists[i] = c.drawOf(i, groups[i], quota) })
	var words []uint64 // stratum, id, duration, coordinates
	for _, list := range lists {
		for _, d := range list {
			words = append(words, uint64(d.stratum), d.id, uint64(d.ns))
			for _, v := range d.at {
				words = append(words, math.Float64bits(v))
			}
		}
	}
	gathered, err := team.Gather(c.team, words)
	if err != nil {
		return nil, err
	}
	var all []draw
	width := 3 + len(c.options.Dims)
	for _, words := range gathered {
		for ; len(words) >= width; words = words[width:] {
			d := draw{stratum: int(words[0]), hash: mix.Bits(words[1]), id: words[1], ns: int64(words[2])}
			for _, bits := range words[3:width] {
				d.at = append(d.at, math.Float64frombits(bits))
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, compareDraws)
	taken := all[:0]
	inStratum, last := 0, -1
	for _, d := range all {
		if d.stratum != last {
			inStratum, last = 0, d.stratum
		}
		if n, m := counts[d.stratum], int64(quota[d.stratum]); int64(inStratum) < m {
			d.weight = n / m
			if int64(inStratum) < n%m {
				d.weight++
			}
			taken = append(taken, d)
			inStratum++
		}
	}
	slices.SortFunc(taken, func(a, b draw) int {
		return cmp.Or(cmp.Compare(a.stratum/steps, b.stratum/steps), cmp.Compare(a.id, b.id))
	})
	return taken, nil
}

// drawOf are the bursts here that may be in the sample of a group: of each stratum no more than that has in it.
func (c *computation) drawOf(group int, g *group, quota []int) []draw {
	type candidate struct {
		hash uint64
		row  int32
	}
	least := func(list []candidate, n int) []candidate {
		slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row)) })
		return list[:min(len(list), n)]
	}
	var lists [steps][]candidate
	var bound [steps]uint64 // the largest hash that may still be among the least
	for s := range bound {
		bound[s] = math.MaxUint64
	}
	ids := c.ids()
	for _, row := range g.rows {
		s := Step(c.bursts.DurationNS[row])
		hash := mix.Bits(ids(row))
		if hash > bound[s] {
			continue
		}
		lists[s] = append(lists[s], candidate{hash, row})
		if n := quota[group*steps+s]; len(lists[s]) >= 2*n+64 {
			lists[s] = least(lists[s], n)
			bound[s] = lists[s][n-1].hash
		}
	}
	var drawn []draw
	for s, list := range lists {
		list = least(list, quota[group*steps+s])
		slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
		ids := c.ids()
		for _, x := range list {
			drawn = append(drawn, draw{
				stratum: group*steps + s, id: ids(x.row), ns: c.bursts.DurationNS[x.row], at: c.space.Coordinates(nil, []int32{x.row}),
			})
		}
	}
	return drawn
}

// ids numbers bursts alike at all members, by thread and place in it. It is asked in ascending order.
func (c *computation) ids() func(row int32) uint64 {
	thread, begin := 0, 0
	ends := c.bursts.ThreadEnds
	return func(row int32) uint64 {
		for thread < len(ends) && int(row) >= ends[thread] {
			begin = ends[thread]
			thread++
		}
		return uint64(thread)<<32 | uint64(int(row)-begin)
	}
}
