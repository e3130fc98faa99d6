package represent

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/internal/units"
)

const (
	// What is unusual matters if it is longer than this share of the median piece of its stretch.
	oddShare = .05
	// An iteration is far from the median if the logarithm of its length is over farSpreads robust standard deviations
	// from it, and farIteration at least.
	farIteration = 1.25
	// spreadPieces is how many iterations there must be for that.
	spreadPieces = 5
	// mostMerged is how many unusual pieces in a row become one window, and mostShown how many threads it names.
	mostMerged, mostShown = 4, 8
	// Of anomalies of one kind in one cluster and phase there is a window for no more than one in kinds of all windows,
	// but for minOfKind at least: a hundred are no more to learn from than a few.
	kinds, minOfKind = 4, 2
)

// An anomaly is an unusual piece.
type anomaly struct {
	stretch, piece int
	unusualNS      int64
	oddities       []oddity // that matter, the worst first
	lengthNS       int64    // of an iteration that is far from the median; 0 of one that is not
	kind           oddKind
	cluster        int32
}

// anomalies are the pieces with unusual bursts or of unusual length that matter. It marks them odd.
func (s *stretch) anomalies(index int, oddities []oddity) []anomaly {
	var list []anomaly
	far := s.farIterations()
	limit := max(1, int64(oddShare*float64(s.wallNS)))
	for u := range s.pieces {
		behind := 0
		for behind < len(oddities) && oddities[behind].piece == u {
			behind++
		}
		a := anomaly{stretch: index, piece: u, oddities: oddities[:behind]}
		oddities = oddities[behind:]
		a.oddities = slices.DeleteFunc(slices.Clone(a.oddities), func(o oddity) bool { return o.worstNS < limit })
		if len(a.oddities) > 0 {
			a.unusualNS, a.kind, a.cluster = a.oddities[0].worstNS, a.oddities[0].kind, a.oddities[0].cluster
		}
		if length := s.pieces[u].endNS - s.pieces[u].beginNS; far != nil && far(length) {
			a.lengthNS = length
			excess := max(length-s.wallNS, s.wallNS-length)
			if a.unusualNS < excess/2 { // else the burst is what makes it long
				a.kind, a.cluster = farLength, 0
			}
			a.unusualNS = max(a.unusualNS, excess)
		}
		if a.kind != notOdd {
			s.pieces[u].odd = true
			list = append(list, a)
		}
	}
	return list
}

// farIterations says which lengths of iterations are far from the median; nil where there are too few to say.
func (s *stretch) farIterations() func(ns int64) bool {
	if !s.iterations || len(s.pieces) < spreadPieces || s.wallNS <= 0 {
		return nil
	}
	var logs []float64
	for _, p := range s.pieces {
		logs = append(logs, math.Log(float64(max(1, p.endNS-p.beginNS))))
	}
	median, deviation := medianSpread(logs)
	far := max(farSpreads*toStandard*deviation, math.Log(farIteration))
	return func(ns int64) bool { return math.Abs(math.Log(float64(max(1, ns)))-median) > far }
}

// chooseAnomalies makes windows of the worst of each kind, then of the second of each, and so on; neighbours share one.
// more counts those that are left out.
func chooseAnomalies(run *Run, stretches []stretch, all []usual, list []anomaly, o FindOptions) (windows []Window, more int) {
	most := max(0, o.Anomalies)
	ofKind := max(minOfKind, most/kinds)
	type place struct{ stretch, piece int }
	at := make(map[place]int, len(list))
	order := make([]int, len(list))
	for i, a := range list {
		at[place{a.stretch, a.piece}] = i
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].unusualNS, list[a].unusualNS) })
	type sort struct {
		stretch int
		kind    oddKind
		cluster int32
	}
	seen := make(map[sort]int)
	turn := make([]int, len(list))
	for _, i := range order {
		k := sort{list[i].stretch, list[i].kind, list[i].cluster}
		turn[i] = seen[k]
		seen[k]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(turn[a], turn[b]) })
	clear(seen)
	taken := make([]bool, len(list))
	for _, i := range order {
		a := &list[i]
		if taken[i] {
			continue
		}
		k := sort{a.stretch, a.kind, a.cluster}
		if len(windows) == most || seen[k] == ofKind {
			more++
			continue
		}
		seen[k]++
		taken[i] = true
		from, to := a.piece, a.piece+1
		for grown := true; grown && to-from < mostMerged; {
			grown = false
			for _, next := range []int{to, from - 1} {
				j, unusual := at[place{a.stretch, next}]
				if !unusual || taken[j] || to-from == mostMerged || !stretches[a.stretch].fits(min(from, next), max(to, next+1), cmp.Or(o.Near, o.MaxBursts)) {
					continue
				}
				taken[j], grown = true, true
				from, to = min(from, next), max(to, next+1)
			}
		}
		windows = append(windows, a.window(run, &stretches[a.stretch], all, from, to, o.Near))
		for u := from; u < to; u++ {
			stretches[a.stretch].pieces[u].kept = true
		}
	}
	slices.SortStableFunc(windows, func(a, b Window) int { return cmp.Compare(b.ExplainsNS, a.ExplainsNS) })
	return windows, more
}

// fits reports whether no thread has more than so many bursts in pieces [from, to).
func (s *stretch) fits(from, to, maxBursts int) bool {
	return maxBursts == 0 || !slices.ContainsFunc(s.at, func(at []int32) bool {
		return len(at) > 0 && int(at[to]-at[from]) > maxBursts
	})
}

func (a *anomaly) window(run *Run, s *stretch, all []usual, from, to, near int) Window {
	w := s.window(run, from, to)
	part := near > 0 && w.longest() > 2*near
	if part {
		thread, burst := a.at(run, &w)
		w.narrow(run, thread, burst, near)
	}
	w.Why, w.ExplainsNS = Anomaly, a.unusualNS
	w.Threads = s.shown(run, all, &w)
	where := s.name(from, to)
	if part {
		where += ", of which this is the worst part"
	} else if to-from > 1 {
		where += ", most of it in " + s.place(run, a.piece)
	}
	w.Reason = where
	if a.lengthNS > 0 {
		w.Reason += fmt.Sprintf(": takes %s (%s, median %s)", compared(float64(a.lengthNS), float64(s.wallNS), "time")+" the phase's median", seconds(float64(a.lengthNS)), seconds(float64(s.wallNS)))
	}
	for i, o := range a.oddities[:min(2, len(a.oddities))] {
		separator := "; "
		if i == 0 && a.lengthNS == 0 {
			separator = ": "
		}
		w.Reason += separator + o.words(run, all)
	}
	return w
}

// shown are the threads with bursts that are unusual and matter, those with most unusual time in one first; where there
// are none, the one that takes longest.
func (s *stretch) shown(run *Run, all []usual, w *Window) []int32 {
	limit := max(1, int64(oddShare*float64(s.wallNS)))
	var own []int64 // thread and its worst time
	for t := range w.First {
		if !run.team.Mine(t) {
			continue
		}
		worst := int64(0)
		for b := w.First[t]; b < w.Behind[t]; b++ {
			if _, ns := s.odd(all, &run.Threads[t], b); ns >= limit {
				worst = max(worst, ns)
			}
		}
		if worst > 0 {
			own = append(own, int64(t), worst)
		}
	}
	worst := make(map[int32]int64)
	var list []int32
	for _, theirs := range gather(run.team, own) {
		for x := range slices.Chunk(theirs, 2) {
			list = append(list, int32(x[0]))
			worst[int32(x[0])] = x[1]
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Or(cmp.Compare(worst[b], worst[a]), cmp.Compare(a, b)) })
	if len(list) == 0 { // it is long by what happens within calls
		return w.slowest(run)
	}
	return list[:min(len(list), mostShown)]
}

// at is where the most unusual burst is or, of an iteration that is long by what happens within calls, the burst before
// the longest of them.
func (a *anomaly) at(run *Run, w *Window) (thread int, burst int32) {
	if len(a.oddities) > 0 {
		return int(a.oddities[0].thread), a.oddities[0].burst
	}
	most := []foremost{noneYet}
	for t := range w.First {
		if !run.team.Mine(t) {
			continue
		}
		x := &run.Threads[t]
		for b := w.First[t]; b < w.Behind[t]; b++ {
			most[0].take(foremost{x.endNS(b+1) - x.BeginNS[b] - x.DurationNS[b], spot{t, b}})
		}
	}
	if most = foremostOf(run.team, most); most[0] == noneYet {
		return 0, 0
	}
	return most[0].thread, most[0].burst
}

// name says what pieces are of: "iterations 412-413 of phase 1". When a part of a phase without iterations was, the
// window that it becomes says: that depends on whose calls it holds.
func (s *stretch) name(from, to int) string {
	if !s.iterations {
		return fmt.Sprintf("in phase %d", s.phase)
	}
	thing := "iterations"
	if to-from == 1 {
		thing = "iteration"
	}
	return fmt.Sprintf("%s %s of phase %d", thing, span(from, to), s.phase)
}

// place says which of a stretch's pieces one is.
func (s *stretch) place(run *Run, piece int) string {
	if s.iterations {
		return s.name(piece, piece+1)
	}
	w := s.window(run, piece, piece+1)
	return Between(w.BeginNS, w.EndNS)
}

// words say what is unusual.
func (o *oddity) words(run *Run, all []usual) string {
	ns := o.ns
	took := seconds(float64(ns))
	name := run.Name.name(int(o.thread))
	switch u := &all[o.cluster]; {
	case o.kind == likeNoOther && o.bursts == 1:
		return fmt.Sprintf("a burst in no dense region takes %s on %s", took, name)
	case o.kind == likeNoOther:
		return fmt.Sprintf("%s are in no dense region; the longest takes %s on %s", units.Count(o.bursts, "burst"), took, name)
	case o.kind == rareCluster:
		return fmt.Sprintf("cluster %d, of which the run has %s on %s, takes %s on %s", o.cluster, units.Count(int(u.bursts), "burst"), units.Count(u.threads, "thread"), took, name)
	case o.bursts == 1:
		return fmt.Sprintf("a burst of cluster %d on %s takes %s its median (%s, median %s)", o.cluster, name, compared(float64(ns), float64(u.medianNS), "time"), took, seconds(float64(u.medianNS)))
	default:
		return fmt.Sprintf("%s of cluster %d are far from its median, %s: one on %s takes %s", units.Count(o.bursts, "burst"), o.cluster, seconds(float64(u.medianNS)), name, took)
	}
}
