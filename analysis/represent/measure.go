package represent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// An oddKind says what is unusual.
type oddKind int

const (
	notOdd      oddKind = iota
	rareCluster         // bursts of a cluster that has few, on few threads
	likeNoOther         // bursts in no cluster
	farDuration         // bursts far outside the spread of their cluster's durations
	farLength           // an iteration that takes much longer or shorter than the phase's median
)

// An oddity is the unusual bursts of one cluster in one piece.
type oddity struct {
	piece   int
	kind    oddKind
	cluster int32 // 0 of likeNoOther
	bursts  int
	worstNS int64 // the most unusual time of one
	thread  int32 // whose that is
	burst   int32
	ns      int64 // that it takes
}

func (o oddity) compare(p oddity) int {
	return cmp.Or(cmp.Compare(o.piece, p.piece), cmp.Compare(p.worstNS, o.worstNS), cmp.Compare(o.kind, p.kind), cmp.Compare(o.cluster, p.cluster))
}

// mostCells bounds the table of a stretch to 128 MiB.
const mostCells = 1 << 24

// measure fills the pieces of a stretch and the table of their computing times, and returns what is unusual, by piece,
// the worst first.
func (s *stretch) measure(run *Run, all []usual, threads int) []oddity {
	s.choose(run, all)
	s.timeNS = make([]int64, len(s.pieces)*len(s.clusters))
	column := make([]int32, len(all))
	for c := range column {
		column[c] = -1
	}
	for i, c := range s.clusters {
		column[c] = int32(i)
	}
	lists := make([][]oddity, threads)
	workers.Chunks(len(s.pieces), threads, func(w, from, to int) { // each has pieces of its own: nothing is shared, and nothing to be merged
		lists[w] = s.measurePieces(run, all, column, from, to)
	})
	s.addUp(run.team)
	lengths := make([]float64, len(s.pieces))
	for i, p := range s.pieces {
		lengths[i] = float64(p.endNS - p.beginNS)
	}
	median, _ := medianSpread(lengths)
	s.wallNS = int64(median)
	return uniteOddities(run.team, slices.Concat(lists...))
}

// choose takes the clusters of a stretch as columns, those with most time in the run first, as many as there is room
// for.
func (s *stretch) choose(run *Run, all []usual) {
	there := make([]int64, len(all))
	for t, at := range s.at {
		if len(at) == 0 || !run.team.Mine(t) {
			continue
		}
		for _, c := range run.Threads[t].Cluster[at[0]:at[len(at)-1]] {
			there[max(c, 0)] = 1
		}
	}
	run.team.Reduce(team.Max, there)
	for c := 1; c < len(all); c++ {
		if there[c] != 0 {
			s.clusters = append(s.clusters, int32(c))
		}
	}
	slices.SortStableFunc(s.clusters, func(a, b int32) int { return cmp.Compare(all[b].timeNS, all[a].timeNS) })
	if room := max(1, mostCells/len(s.pieces)); len(s.clusters) > room {
		s.cutColumns = len(s.clusters) - room
		s.clusters = s.clusters[:room]
	}
}

func (s *stretch) measurePieces(run *Run, all []usual, column []int32, from, to int) []oddity {
	for u := from; u < to; u++ {
		s.pieces[u].beginNS, s.pieces[u].endNS = math.MaxInt64, math.MinInt64
	}
	type key struct {
		piece   int
		kind    oddKind
		cluster int32
	}
	found := make(map[key]oddity)
	for t, at := range s.at {
		if len(at) == 0 || !run.team.Mine(t) {
			continue
		}
		thread := &run.Threads[t]
		for u := from; u < to; u++ {
			first, behind := at[u], at[u+1]
			if first == behind {
				continue
			}
			p := &s.pieces[u]
			p.beginNS = min(p.beginNS, thread.BeginNS[first])
			if u+2 < len(at) && at[u+2] == behind { // in the next piece it has no burst
				p.endNS = max(p.endNS, thread.BeginNS[behind-1]+thread.DurationNS[behind-1])
			} else {
				p.endNS = max(p.endNS, thread.endNS(behind))
			}
			p.bursts += int64(behind - first)
			row := s.row(u)
			for b := first; b < behind; b++ {
				c, ns := thread.Cluster[b], thread.DurationNS[b]
				p.timeNS += ns
				if c > 0 && column[c] >= 0 {
					row[column[c]] += ns
				}
				kind, unusualNS := s.odd(all, thread, b)
				if kind == notOdd {
					continue
				}
				k := key{u, kind, max(c, 0)}
				o := found[k]
				o.bursts++
				if unusualNS > o.worstNS || o.bursts == 1 {
					o.worstNS, o.thread, o.burst, o.ns = unusualNS, int32(t), b, ns
				}
				found[k] = o
			}
		}
	}
	list := make([]oddity, 0, len(found))
	for k, o := range found {
		o.piece, o.kind, o.cluster = k.piece, k.kind, k.cluster
		list = append(list, o)
	}
	slices.SortFunc(list, oddity.compare)
	return list
}

// endNS is when what belongs to the burst before one ends: when that begins, or else when the last burst ends.
func (t *Thread) endNS(behind int32) int64 {
	if int(behind) < len(t.BeginNS) {
		return t.BeginNS[behind]
	}
	return t.BeginNS[behind-1] + t.DurationNS[behind-1]
}

// warning says what measure left out.
func (s *stretch) warning() string {
	if s.cutColumns == 0 {
		return ""
	}
	return fmt.Sprintf("phase %d: only the %d clusters with most time are used, not the other %d: it has %d pieces", s.phase, len(s.clusters), s.cutColumns, len(s.pieces))
}
