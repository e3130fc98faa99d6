package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"moriens/internal/units"
	"moriens/trace/overview"
	"moriens/trace/pack"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// threadOf is the thread that a row of the profile is about.
func threadOf(r *parquet.ProfileRow) (rundir.ThreadName, bool) {
	about := r.Kind == parquet.ProfileComputation || r.Kind == parquet.ProfileMPI
	return rundir.ThreadName{World: int(r.World), Rank: int(r.Rank), Thread: int(r.Thread)}, about
}

// heat is what a group of threads spent in a cluster.
type heat struct {
	bursts, seconds float64
	counters        []float64
}

type heatKey struct{ group, cluster int32 }

// addRanks sums the profile up by groups of threads, and by clusters within them.
func (b *builder) addRanks() {
	groups := overview.Groups(b.doc.Threads, b.limits.Rows)
	b.doc.Groups = groups
	if len(groups) < b.doc.Threads {
		b.coarse = append(b.coarse, fmt.Sprintf("Ranks are summed in groups of %s threads.", units.Integer(groups[0][1]+1)))
	}
	groupOf := make([]int32, b.doc.Threads)
	for g, threads := range groups {
		for i := threads[0]; i <= threads[1]; i++ {
			groupOf[i] = int32(g)
		}
	}
	names := []string{"seconds_in_mpi", "computing_seconds", "sent_bytes", "received_bytes", "bursts"}
	sums := make([][]float64, len(names))
	for k := range sums {
		sums[k] = make([]float64, len(groups))
		for g := range sums[k] {
			if b.source.Profile == nil {
				sums[k][g] = math.NaN()
			}
		}
	}
	cells := make(map[heatKey]*heat)
	if p := b.source.Profile; p != nil {
		counters, firsts := b.countersOf(p), b.firstThreads()
		for i := range p.Rows {
			r := &p.Rows[i]
			thread, known := b.about(r, firsts)
			if !known {
				continue
			}
			g := groupOf[thread]
			switch r.Kind {
			case parquet.ProfileMPI:
				sums[0][g] += float64(r.TimeNS) / 1e9
				fallthrough
			case parquet.ProfileTraffic:
				sums[2][g] += float64(r.SentBytes)
				sums[3][g] += float64(r.ReceivedBytes)
				continue
			}
			sums[1][g] += float64(r.TimeNS) / 1e9
			sums[4][g] += float64(r.Count)
			cell := cells[heatKey{g, r.Cluster}]
			if cell == nil {
				cell = &heat{counters: make([]float64, len(b.doc.Counters))}
				cells[heatKey{g, r.Cluster}] = cell
			}
			cell.bursts += float64(r.Count)
			cell.seconds += float64(r.TimeNS) / 1e9
			for k, c := range counters {
				if c >= 0 && k < len(r.Counters) {
					cell.counters[c] += float64(r.Counters[k].Sum)
				}
			}
		}
	}
	for k, name := range names {
		pack.Add(&b.columns, "rank."+name, sums[k])
	}
	b.addHeat(cells)
}

// about is the number of the thread that a row of the profile is about. What a rank has moved, and nothing shows which
// of its threads, is with its first one.
func (b *builder) about(r *parquet.ProfileRow, firsts map[rankName]int) (thread int, known bool) {
	if r.Kind == parquet.ProfileTraffic {
		thread, known = firsts[rankName{r.World, r.Rank}]
	} else if name, ok := threadOf(r); ok {
		thread, known = b.threads[name]
	}
	return thread, known
}

type rankName struct{ world, rank int32 }

// firstThreads are the numbers of the first threads of all ranks.
func (b *builder) firstThreads() map[rankName]int {
	firsts := make(map[rankName]int)
	for name, i := range b.threads {
		of := rankName{int32(name.World), int32(name.Rank)}
		if first, known := firsts[of]; !known || i < first {
			firsts[of] = i
		}
	}
	return firsts
}

// countersOf gives the counters of a profile their numbers on the page, -1 where it has none.
func (b *builder) countersOf(p *parquet.Profile) []int {
	numbers := make([]int, len(p.Counters))
	for k, c := range p.Counters {
		numbers[k] = slices.IndexFunc(b.doc.Counters, func(d rundir.Counter) bool { return d.Name == c.Name })
	}
	return numbers
}

func (b *builder) addHeat(cells map[heatKey]*heat) {
	keys := slices.SortedFunc(maps.Keys(cells), func(x, y heatKey) int {
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.cluster, y.cluster))
	})
	group, cluster := make([]int32, len(keys)), make([]int32, len(keys))
	bursts, seconds := make([]float64, len(keys)), make([]float64, len(keys))
	counters := make([][]float64, len(b.doc.Counters))
	for i, k := range keys {
		x := cells[k]
		group[i], cluster[i], bursts[i], seconds[i] = k.group, k.cluster, x.bursts, x.seconds
		for c, v := range x.counters {
			counters[c] = append(counters[c], v)
		}
	}
	pack.Add(&b.columns, "heat.group", group)
	pack.Add(&b.columns, "heat.cluster", cluster)
	pack.Add(&b.columns, "heat.bursts", bursts)
	pack.Add(&b.columns, "heat.seconds", seconds)
	for c, column := range counters {
		pack.Add(&b.columns, fmt.Sprintf("heat.counter.%d", c), column)
	}
}
