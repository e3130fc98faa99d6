package represent

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// explained is the share of a stretch's time in clusters up to which windows are taken for it, and
	// aStretch the share of the run's computing time that a stretch must have to get windows for itself.
	explained, aStretch = .95, .01
	// newNamed is how many clusters a reason names.
	newNamed = 4
)

// A cover is a set of pieces that hold bursts of all clusters, or of most: weighted set cover by the greedy rule
// (Chvátal, 1979), which takes the piece that explains most time for what it costs to keep, again and again. A
// cluster's time is explained where one of its bursts is kept.
type cover struct {
	stretches []stretch
	of        []int   // the stretches whose pieces may be taken
	worthNS   []int64 // per cluster: the time that a burst of it explains; 0 where it is explained already
	threads   int
	fresh     bool // pieces that anomalies keep anyway are not taken
}

// A taken piece.
type taken struct {
	stretch, piece int
	gainNS         int64
	clusters       []int32 // that it explains first, those with most time first
}

// take takes pieces until what is explained reaches goalNS, or nothing is gained, or there are most.
func (c *cover) take(goalNS int64, most int) []taken {
	gain := make([][]int64, len(c.of))
	for i, k := range c.of {
		s := &c.stretches[k]
		gain[i] = make([]int64, len(s.pieces))
		for u := range s.pieces {
			for column, ns := range s.row(u) {
				if ns > 0 {
					gain[i][u] += c.worthNS[s.clusters[column]]
				}
			}
		}
	}
	var list []taken
	var sum int64
	for sum < goalNS && len(list) < most {
		bestI, bestU := -1, -1
		var best float64
		for i, k := range c.of {
			for u, ns := range gain[i] {
				p := &c.stretches[k].pieces[u]
				value := float64(ns) / float64(p.bursts+int64(c.threads))
				switch {
				case c.fresh && p.kept:
					continue
				case p.odd: // rather one that is as usual
					value /= 4
				}
				if value > best {
					bestI, bestU, best = i, u, value
				}
			}
		}
		if bestI < 0 {
			break
		}
		t := c.explain(c.of[bestI], bestU, gain)
		sum += t.gainNS
		list = append(list, t)
	}
	return list
}

// explain takes a piece, and what it explains from the gain of all others.
func (c *cover) explain(stretch, piece int, gain [][]int64) taken {
	t := taken{stretch: stretch, piece: piece}
	s := &c.stretches[stretch]
	for column, ns := range s.row(piece) {
		if cluster := s.clusters[column]; ns > 0 && c.worthNS[cluster] > 0 {
			t.clusters = append(t.clusters, cluster)
			t.gainNS += c.worthNS[cluster]
		}
	}
	for i, k := range c.of {
		other := &c.stretches[k]
		for column, cluster := range other.clusters {
			if !slices.Contains(t.clusters, cluster) {
				continue
			}
			for u := range other.pieces {
				if other.timeNS[u*len(other.clusters)+column] > 0 {
					gain[i][u] -= c.worthNS[cluster]
				}
			}
		}
	}
	slices.SortStableFunc(t.clusters, func(a, b int32) int { return cmp.Compare(c.worthNS[b], c.worthNS[a]) })
	for _, cluster := range t.clusters {
		c.worthNS[cluster] = 0
	}
	return t
}

// window makes one of a piece. whole is the time of which it explains a share, of says of what.
func (t *taken) window(run *Run, stretches []stretch, why Why, whole int64, of string) Window {
	s := &stretches[t.stretch]
	w := s.window(run, t.piece, t.piece+1)
	w.Why, w.ExplainsNS = why, t.gainNS
	w.Threads = s.having(run, t.piece, t.clusters)
	thing := "cluster "
	if len(t.clusters) > 1 {
		thing = "clusters "
	}
	var names []string
	for _, c := range t.clusters[:min(newNamed, len(t.clusters))] {
		names = append(names, strconv.Itoa(int(c)))
	}
	if more := len(t.clusters) - newNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	w.Reason = fmt.Sprintf("%s: has %s%s, which no earlier window has (%s of %s)",
		s.name(t.piece, t.piece+1), thing, strings.Join(names, ", "), percent(float64(t.gainNS)/float64(max(1, whole))), of)
	return w
}

// having are threads that have bursts of clusters in a piece: for each cluster the one with most time.
func (s *stretch) having(run *Run, piece int, clusters []int32) []int32 {
	who := make([]foremost, len(clusters))
	for i := range who {
		who[i] = noneYet
	}
	for t, at := range s.at {
		if len(at) == 0 || !run.team.Mine(t) {
			continue
		}
		own := make(map[int32]int64)
		for b := at[piece]; b < at[piece+1]; b++ {
			own[run.Threads[t].Cluster[b]] += run.Threads[t].DurationNS[b]
		}
		for i, c := range clusters {
			if own[c] > 0 {
				who[i].take(foremost{own[c], spot{thread: t}})
			}
		}
	}
	var list []int32
	for _, x := range foremostOf(run.team, who) {
		if t := int32(x.thread); x != noneYet && !slices.Contains(list, t) && len(list) < mostShown {
			list = append(list, t)
		}
	}
	return list
}
