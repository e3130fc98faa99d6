package grouping

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/internal/team"
)

// wholeBursts is how many bursts a group has at most for one member of a team to cluster all of them: to ask each other
// again and again would take the members longer. A run has few groups that are larger, and may have thousands that are
// not.
var wholeBursts = 1 << 16

// everywhere is the place of a group whose bursts stay where they are: all members cluster it together.
const everywhere = -1

// A spread has the bursts that are not clustered by the member that has their threads.
type spread struct {
	sent       [][]int32 // by member: rows of bursts here that it clusters
	received   [][]int32 // by member: rows of its bursts, which follow those here
	durationNS []int64   // of the bursts here, and of those received
}

// place says who clusters which group.
func (c *computation) place(groups []*group) {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(groups[b].Bursts, groups[a].Bursts) })
	load := make([]int, c.team.Size())
	for _, i := range order {
		g := groups[i]
		switch {
		case len(load) == 1:
			g.place = 0
		case g.Bursts < g.MinPts || g.Bursts > wholeBursts:
			g.place = everywhere
		default:
			g.place = slices.Index(load, slices.Min(load))
			load[g.place] += g.Bursts
		}
	}
}

// spreadOut sends the bursts of groups to the members that cluster them.
func (c *computation) spreadOut(groups []*group) error {
	own := c.bursts.DurationNS
	c.spread.durationNS = own
	for _, g := range groups {
		if g.at = nil; g.place == everywhere || c.team.Size() == 1 {
			g.at = g.rows
		}
	}
	if c.team.Size() == 1 {
		return nil
	}
	size := c.team.Size()
	c.spread.sent, c.spread.received = make([][]int32, size), make([][]int32, size)
	heads := make([][]int32, size) // group, thread, how many bursts
	durations, coords := make([][]int64, size), make([][]float64, size)
	for i, g := range groups {
		if g.place == everywhere {
			continue
		}
		to := g.place
		c.spread.sent[to] = append(c.spread.sent[to], g.rows...)
		for rows := g.rows; len(rows) > 0; {
			thread := c.threadOf(rows[0])
			n, _ := slices.BinarySearch(rows, int32(c.bursts.ThreadEnds[thread]))
			heads[to] = append(heads[to], int32(i), int32(thread), int32(n))
			for _, row := range rows[:n] {
				durations[to] = append(durations[to], own[row])
			}
			rows = rows[n:]
		}
		coords[to] = append(coords[to], g.points.Coords...)
		g.points.Coords = nil
	}
	var err error
	if heads, err = team.Exchange(c.team, heads); err != nil {
		return err
	}
	if durations, err = team.Exchange(c.team, durations); err != nil {
		return err
	}
	if coords, err = team.Exchange(c.team, coords); err != nil {
		return err
	}
	return team.Explain(c.team, c.receive(groups, heads, durations, coords))
}

// A part is the bursts of a thread in a group.
type part struct {
	group, thread, bursts int32
	from                  int // member
	row                   int32
}

// receive puts the bursts of other members into the order of the threads, group after group.
func (c *computation) receive(groups []*group, heads [][]int32, durations [][]int64, coords [][]float64) error {
	var parts []*part // in the order of their coming
	for from, words := range heads {
		for ; len(words) > 0; words = words[3:] {
			parts = append(parts, &part{group: words[0], thread: words[1], bursts: words[2], from: from})
		}
	}
	own := c.bursts.Len()
	sorted := slices.Clone(parts)
	slices.SortFunc(sorted, func(a, b *part) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.thread, b.thread)) })
	next := own
	for _, p := range sorted {
		p.row = int32(next)
		g := groups[p.group]
		if next += int(p.bursts); next > math.MaxInt32 {
			return errors.New("grouping: too many bursts for one member: take more")
		}
		for row := p.row; row < int32(next); row++ {
			g.at = append(g.at, row)
		}
	}
	dims := len(c.options.Dims)
	for _, g := range groups {
		if g.place == c.team.Rank() {
			g.points = dbscan.Points{Dims: dims, Coords: make([]float64, dims*len(g.at))}
		}
	}
	c.spread.durationNS = append(slices.Grow(slices.Clone(c.bursts.DurationNS), next-own), make([]int64, next-own)...)
	for _, p := range parts {
		g, n := groups[p.group], int(p.bursts)
		copy(c.spread.durationNS[p.row:], durations[p.from][:n])
		copy(g.points.Coords[dims*int(p.row-g.at[0]):], coords[p.from][:dims*n])
		durations[p.from], coords[p.from] = durations[p.from][n:], coords[p.from][dims*n:]
		for i := range p.bursts {
			c.spread.received[p.from] = append(c.spread.received[p.from], p.row+i)
		}
	}
	return nil
}

// home gives the bursts here that are clustered elsewhere their labels, of all bursts that are clustered here.
func (c *computation) home(labels []int32) error {
	parts := make([][]int32, len(c.spread.received))
	for to, rows := range c.spread.received {
		parts[to] = make([]int32, len(rows))
		for i, row := range rows {
			parts[to][i] = labels[row]
		}
	}
	parts, err := team.Exchange(c.team, parts)
	if err != nil {
		return err
	}
	for from, rows := range c.spread.sent {
		for i, row := range rows {
			labels[row] = parts[from][i]
		}
	}
	return nil
}

// threadOf is the thread of a burst here.
func (c *computation) threadOf(row int32) int {
	thread, _ := slices.BinarySearch(c.bursts.ThreadEnds, int(row)+1)
	return thread
}

// among numbers the bursts of a group that are here among those of all members, in the order of the threads.
func (c *computation) among(g *group) ([]int64, error) {
	bursts := make([]int64, len(c.bursts.ThreadEnds))
	for _, row := range g.rows {
		bursts[c.threadOf(row)]++
	}
	here := slices.Clone(bursts)
	if err := c.team.AllReduce(bursts, team.Sum); err != nil {
		return nil, err
	}
	places := make([]int64, 0, len(g.rows))
	first := int64(0)
	for thread, n := range bursts {
		for i := range here[thread] {
			places = append(places, first+i)
		}
		first += n
	}
	return places, nil
}
