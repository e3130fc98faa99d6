package grouping

import (
	"cmp"
	"slices"

	"moriens/analysis/moment"
	"moriens/internal/team"
)

// A GroupTally is what a group's clusters and its noise come to here.
type GroupTally struct {
	Noise         moment.Exact     // durations
	Columns       [][]moment.Exact // by cluster: the durations, and the counters where they were read
	Before, After [][]PathCount    // by cluster: by path
}

// tally counts and measures the clusters of a group, by the labels of its bursts here.
func (c *computation) tally(g *group, labels []int32) *GroupTally {
	t := &GroupTally{
		Columns: make([][]moment.Exact, len(g.Clusters)), Before: make([][]PathCount, len(g.Clusters)), After: make([][]PathCount, len(g.Clusters)),
	}
	noise, of := members(g, labels)
	add(&t.Noise, c.bursts.DurationNS, noise)
	for k := range g.Clusters {
		t.Columns[k] = make([]moment.Exact, 1+len(c.bursts.Counters))
		add(&t.Columns[k][0], c.bursts.DurationNS, of(k))
		for i, column := range c.bursts.Counters {
			add(&t.Columns[k][1+i], column, of(k))
		}
		switch rows := of(k); {
		case len(rows) == 0 || c.bursts.Before == nil:
		case c.options.By == ByCalls:
			t.Before[k], t.After[k] = []PathCount{{g.Before, len(rows)}}, []PathCount{{g.After, len(rows)}}
		default:
			t.Before[k], t.After[k] = countPaths(c.bursts.before, rows), countPaths(c.bursts.after, rows)
		}
	}
	return t
}

// members returns the rows of noise, and a function that gives a cluster's, ascending.
func members(g *group, labels []int32) (noise []int32, of func(cluster int) []int32) {
	ends := make([]int, 1+len(g.Clusters)) // of noise, and of the clusters
	for _, row := range g.rows {
		ends[1+labels[row]]++
	}
	if len(g.Clusters) == 1 && ends[0] == 0 {
		return nil, func(int) []int32 { return g.rows }
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	rows := make([]int32, sum)
	for _, row := range g.rows {
		at := &ends[1+labels[row]]
		rows[*at] = row
		*at++
	}
	return rows[:ends[0]], func(cluster int) []int32 { return rows[ends[cluster]:ends[1+cluster]] }
}

// add takes in the values that are not negative.
func add(e *moment.Exact, column []int64, rows []int32) {
	for _, row := range rows {
		if v := column[row]; v >= 0 {
			e.Add(uint64(v))
		}
	}
}

// countPaths counts bursts, which are some, by path, ascending.
func countPaths(path func(row int32) uint32, rows []int32) []PathCount {
	same := true
	for _, row := range rows {
		same = same && path(row) == path(rows[0])
	}
	if same {
		return []PathCount{{path(rows[0]), len(rows)}}
	}
	ids := make([]uint32, len(rows))
	for i, row := range rows {
		ids[i] = path(row)
	}
	slices.Sort(ids)
	var counts []PathCount
	for i, id := range ids {
		if i == 0 || id != ids[i-1] {
			counts = append(counts, PathCount{Path: id})
		}
		counts[len(counts)-1].Bursts++
	}
	return counts
}

// Describe gives the clusters of groups their figures, of what the members have counted. It is collective.
func Describe(t team.Threads, groups []*Clustered, tallies []*GroupTally) error {
	var sums []int64
	for i, g := range groups {
		of := tallies[i]
		sums = of.Noise.Split(sums)
		for k := range g.Clusters {
			for _, e := range of.Columns[k] {
				sums = e.Split(sums)
			}
		}
	}
	if err := t.AllReduce(sums, team.Sum); err != nil {
		return err
	}
	next := func() moment.Exact {
		e := moment.Join(sums)
		sums = sums[moment.Parts:]
		return e
	}
	for i, g := range groups {
		noise := next()
		for _, columns := range tallies[i].Columns {
			for j := range columns {
				columns[j] = next()
			}
		}
		g.Describe(noise, tallies[i].Columns)
	}
	before, after := make([][][]PathCount, len(groups)), make([][][]PathCount, len(groups))
	for i, of := range tallies {
		before[i], after[i] = of.Before, of.After
	}
	if err := addPaths(t, before); err != nil {
		return err
	}
	if err := addPaths(t, after); err != nil {
		return err
	}
	for i, g := range groups {
		for k := range g.Clusters {
			g.Clusters[k].Before, g.Clusters[k].After = before[i][k], after[i][k]
		}
	}
	return nil
}

// addPaths makes of this member's counts of paths, by group and cluster, those of all members, the most frequent path
// first.
func addPaths(t team.Threads, counts [][][]PathCount) error {
	var words []int64 // group, cluster, path, bursts
	for i, clusters := range counts {
		for k, list := range clusters {
			for _, p := range list {
				words = append(words, int64(i), int64(k), int64(p.Path), int64(p.Bursts))
			}
			clusters[k] = nil
		}
	}
	all, err := team.Gather(t, words)
	if err != nil {
		return err
	}
	for _, words := range all {
		for ; len(words) > 0; words = words[4:] {
			list := &counts[words[0]][words[1]]
			*list = append(*list, PathCount{uint32(words[2]), int(words[3])})
		}
	}
	for _, clusters := range counts {
		for k, list := range clusters {
			clusters[k] = addUp(list)
		}
	}
	return nil
}

// addUp adds the counts of the same path, and puts the most frequent first.
func addUp(list []PathCount) []PathCount {
	slices.SortFunc(list, func(a, b PathCount) int { return cmp.Compare(a.Path, b.Path) })
	sums := list[:0]
	for _, p := range list {
		if n := len(sums); n > 0 && sums[n-1].Path == p.Path {
			sums[n-1].Bursts += p.Bursts
		} else {
			sums = append(sums, p)
		}
	}
	slices.SortStableFunc(sums, func(a, b PathCount) int { return cmp.Compare(b.Bursts, a.Bursts) })
	return sums
}
