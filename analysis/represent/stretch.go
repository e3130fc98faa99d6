package represent

import (
	"math"
	"slices"

	"moriens/internal/team"
)

// A stretch is a phase in the pieces that windows are made of: its iterations, or what lies between anchors.
type stretch struct {
	phase      int
	iterations bool
	at         [][]int32 // per thread: the bursts at which pieces begin, and the end of the last
	pieces     []piece
	clusters   []int32 // per column of timeNS, the clusters with most time first
	timeNS     []int64 // row-major: computing time by piece and column
	cutColumns int     // clusters that the stretch has and columns has not, as there are too many
	wallNS     int64   // median of the pieces' lengths
}

// A piece of a stretch, over all threads.
type piece struct {
	beginNS, endNS int64
	timeNS         int64 // computing
	bursts         int64
	odd            bool // something unusual is in it
	kept           bool // in the window of an anomaly
}

func (s *stretch) row(piece int) []int64 {
	n := len(s.clusters)
	return s.timeNS[piece*n : (piece+1)*n]
}

const (
	// mostPieces bounds what a stretch without iterations is cut into at its anchors, and mostCuts its pieces times the
	// threads: 128 MiB.
	mostPieces, mostCuts = 4096, 1 << 25
	// aPiece is how many bursts of a thread make a piece worth cutting where no anchors do, and pieces how many pieces are
	// aimed at.
	aPiece, pieces = 16, 64
)

// cut cuts phases into pieces. Those without a burst are left out.
func (r *Run) cut(o FindOptions) []stretch {
	var list []stretch
	for i, p := range r.phases() {
		most := int32(0)
		for t := range r.Threads {
			most = max(most, p.Behind[t]-p.First[t])
		}
		if most == 0 {
			continue
		}
		s := stretch{phase: i}
		if p.Iterations > 0 {
			s.at = r.iterations(&p)
			s.iterations = o.MaxBursts == 0 || longest(s.at) <= o.MaxBursts
		}
		if !s.iterations {
			limit := max(aPiece, int(most)/pieces)
			if o.MaxBursts > 0 {
				limit = min(limit, o.MaxBursts)
			}
			s.at = r.cutLong(r.cutAtAnchors(&p), limit)
		}
		s.pieces = make([]piece, len(s.at[0])-1)
		list = append(list, s)
	}
	return list
}

// longest is how many bursts of one thread a piece has at most.
func longest(at [][]int32) int {
	most := 0
	for _, list := range at {
		for i := 1; i < len(list); i++ {
			most = max(most, int(list[i]-list[i-1]))
		}
	}
	return most
}

// iterations are the begins of iterations, also on threads that have none: there, they begin when the first of the
// others begins.
func (r *Run) iterations(p *Phase) [][]int32 {
	at := slices.Clone(p.Begins)
	if !slices.ContainsFunc(at, func(list []int32) bool { return len(list) == 0 }) {
		return at
	}
	beginNS := r.beginNS(p)
	for t := range at {
		if len(at[t]) == 0 && r.team.Mine(t) {
			at[t] = r.cutAt(t, p.First[t], p.Behind[t], beginNS)
		}
	}
	return byThread(r.team, at)
}

// beginNS is when each iteration begins on the first thread that has it.
func (r *Run) beginNS(p *Phase) []int64 {
	list := make([]int64, p.Iterations)
	for k := range list {
		list[k] = math.MaxInt64
	}
	for t, begins := range p.Begins {
		for k := range max(0, len(begins)-1) {
			if b := begins[k]; int(b) < len(r.Threads[t].BeginNS) {
				list[k] = min(list[k], r.Threads[t].BeginNS[b])
			}
		}
	}
	r.team.Reduce(team.Min, list)
	for k := 1; k < len(list); k++ {
		list[k] = max(list[k], list[k-1]) // one that no thread has left begins where the next would
	}
	return list
}

// cutAt cuts the bursts [first, behind) of a thread into as many pieces as there are times: the first one begins with
// the first burst.
func (r *Run) cutAt(thread int, first, behind int32, ns []int64) []int32 {
	list := []int32{first}
	begins := r.Threads[thread].BeginNS[first:behind]
	for _, x := range ns[1:] {
		n, _ := slices.BinarySearch(begins, x)
		list = append(list, first+int32(n))
	}
	return append(list, behind)
}

// cutAtAnchors cuts a phase at the anchors within, or every second of them, or third, where there are very many.
func (r *Run) cutAtAnchors(p *Phase) [][]int32 {
	from, to := p.FromAnchor+1, min(p.ToAnchor, r.anchors)
	most := max(pieces, min(mostPieces, mostCuts/max(1, len(r.Threads))))
	step := max(1, (to-from+most-1)/most)
	at := make([][]int32, len(r.Threads))
	for t := range at {
		if !r.team.Mine(t) {
			continue
		}
		anchors := r.Threads[t].Anchors
		at[t] = []int32{p.First[t]}
		for k := max(0, from) + step - 1; k < to; k += step {
			burst := p.Behind[t] // a thread that has ended, or knows no anchors
			if k < len(anchors) {
				burst = min(max(anchors[k], p.First[t]), p.Behind[t])
			}
			at[t] = append(at[t], burst)
		}
		at[t] = append(at[t], p.Behind[t])
	}
	return byThread(r.team, at)
}

// cutLong cuts pieces in which any thread has more bursts than limit, at times that leave the thread with most of them
// about equal parts.
func (r *Run) cutLong(at [][]int32, limit int) [][]int32 {
	type parts struct{ piece, cuts int }
	var list []parts
	var where []spot // of the cuts
	for u := 1; u < len(at[0]); u++ {
		busiest, most := 0, 0
		for t := range at {
			if n := int(at[t][u] - at[t][u-1]); n > most {
				busiest, most = t, n
			}
		}
		if most == 0 && u < len(at[0])-1 {
			continue // between two anchors that follow each other at once
		}
		x := parts{piece: u}
		for i, parts := 1, (most+limit-1)/limit; i < parts; i++ {
			where = append(where, spot{busiest, at[busiest][u-1] + int32(i*most/parts)})
			x.cuts++
		}
		list = append(list, x)
	}
	ns := r.beginsAt(where)
	cut := make([][]int32, len(at))
	for t := range at {
		if !r.team.Mine(t) {
			continue
		}
		cut[t] = []int32{at[t][0]}
		ns := ns
		for _, x := range list {
			times := append([]int64{0}, ns[:x.cuts]...)
			ns = ns[x.cuts:]
			cut[t] = append(cut[t], r.cutAt(t, at[t][x.piece-1], at[t][x.piece], times)[1:]...)
		}
	}
	return byThread(r.team, cut)
}
