package period

import (
	"cmp"
	"math"
	"slices"
)

// A start is a place of the loop's body at which iterations may begin.
type start struct {
	place    int32
	head     int32 // tokens of the section before the first
	anchored bool  // every iteration begins at an anchor
	timeNS   int64 // of the tokens at this place
	times    int   // that it comes
	begins   []int32
	leadsIn  bool // the first iteration begins before what repeats
	// The first iteration has a burst in the place of this one that comes from outside of the loop; the last one likewise
	// has one that leads out.
	looseFirst, looseLast bool
}

// place chooses where iterations begin in the loop's body, and sets them. They begin at anchors if every
// iteration has one at the same place; then where there are most iterations, then where the section begins, then at the
// place that takes most time.
func (f *folder) place(s *section, t *Thread, floor int32) {
	lag := s.lag
	starts := make([]start, lag)
	hits := make([]int, lag)
	for p := range starts {
		starts[p] = start{place: int32(p), head: modulo(int32(p)-f.runs[s.runs[0]].turn, lag)}
	}
	for _, r := range s.runs {
		here := &f.runs[r]
		level := f.levels[here.level]
		anchor, _ := slices.BinarySearch(t.Anchors, here.from)
		for i := here.begin; i < here.end; i++ {
			p := &starts[(here.turn+i-here.begin)%lag]
			at := level.at[i]
			for anchor < len(t.Anchors) && t.Anchors[anchor] < at {
				anchor++
			}
			hits[p.place] += truth(at == 0 || anchor < len(t.Anchors) && t.Anchors[anchor] == at)
			p.times++
			p.timeNS += f.totalNS[level.at[i+1]] - f.totalNS[at]
		}
	}
	for i := range starts {
		starts[i].anchored = hits[i] == starts[i].times
		f.setBegins(s, t, &starts[i], floor)
	}
	best := slices.MaxFunc(starts, compareStarts)
	s.begins = best.begins
	if len(s.begins) == 0 {
		return
	}
	s.from = min(s.from, s.begins[0])
	s.to = max(s.to, s.begins[len(s.begins)-1])
	if best.anchored {
		s.looseFirst, s.looseLast = best.looseFirst, best.looseLast
		s.atAnchors(t)
	}
	s.period = medianGap(s.begins)
}

func compareStarts(a, b start) int {
	return cmp.Or(
		cmp.Compare(truth(a.anchored), truth(b.anchored)),
		cmp.Compare(len(a.begins), len(b.begins)),
		cmp.Compare(a.atBorder(), b.atBorder()),
		cmp.Compare(a.timeNS, b.timeNS),
		cmp.Compare(b.head, a.head),
	)
}

// atBorder says how well the first iteration begins where the section does: with the first burst that repeats, with the
// one that leads in, or later.
func (p *start) atBorder() int {
	switch {
	case p.head == 0:
		return 2
	case p.leadsIn:
		return 1
	}
	return 0
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// setBegins sets the begins of iterations that begin at the place. Between two runs there are as many as have room.
//
// The calls around a burst are part of its symbol, and the call before a loop is not in the loop: so the first burst
// never looks like those of later iterations in its place, nor the last like those before if the loop begins with its
// call. Where all of an iteration is there but this one burst, it belongs to it.
func (f *folder) setBegins(s *section, t *Thread, p *start, floor int32) {
	lag := s.lag
	if p.head == lag-1 {
		f.beginBefore(s, t, p, floor)
		p.leadsIn = len(p.begins) > 0
	}
	usual := s.usual()
	for n, r := range s.runs {
		here := &f.runs[r]
		level := f.levels[here.level]
		first := here.begin + modulo(p.place-here.turn, lag)
		for i := first; i <= here.end; i += lag {
			at := level.at[i]
			if len(p.begins) > 0 && at <= p.begins[len(p.begins)-1] {
				continue
			}
			if i == first && n > 0 && len(p.begins) > 0 {
				if m := len(p.begins); m > 1 && p.begins[m-1] == f.runs[s.runs[n-1]].to && float64(at-p.begins[m-2]) <= broken*usual {
					p.begins = p.begins[:m-1]
				}
				if next := min(i+lag, here.end); float64(level.at[next]-p.begins[len(p.begins)-1]) <= broken*usual {
					continue
				}
				p.begins = f.bridge(p.begins, at, usual)
			}
			p.begins = append(p.begins, at)
		}
	}
	if !p.anchored || len(p.begins) == 0 {
		return
	}
	last := &f.runs[s.runs[len(s.runs)-1]]
	switch tail := modulo(last.turn+last.end-last.begin-p.place, lag); {
	case tail == 0:
		p.looseLast = !t.anchored(last.to)
	case tail == lag-1 && int(last.to) < len(f.raw) && t.anchored(last.to+1):
		p.begins = append(p.begins, last.to+1)
	case tail == lag-1 && int(last.to) < len(f.raw) && f.asLong(last.to, f.timeOf(s, p.place-1)):
		p.begins = append(p.begins, last.to+1)
		p.looseLast = true
	}
}

// broken is up to how many times the usual length what is on both sides of a damaged place, and looks like two parts of
// iterations, is one: as when the damage is within a loop within, with which iterations begin.
const broken = 1.25

// anchored reports whether an anchor is before the burst, or whether it is where the thread's bursts begin or end.
func (t *Thread) anchored(burst int32) bool {
	_, ok := slices.BinarySearch(t.Anchors, burst)
	return ok || burst == 0 || int(burst) == len(t.Symbols)
}

// beginBefore puts the begin of the first iteration before what was found to repeat.
func (f *folder) beginBefore(s *section, t *Thread, p *start, floor int32) {
	first := &f.runs[s.runs[0]]
	at := first.from - 1
	before := at >= floor && !f.isLoop(f.loop(s.kind).body[p.place]) && f.asLong(at, float64(p.timeNS)/float64(p.times))
	// Of an iteration of one burst nothing is left to identify it by but anchors around it.
	alone := s.lag == 1
	switch {
	case before && p.anchored && t.anchored(at), before && !p.anchored && !alone:
		p.begins = append(p.begins, at)
	case alone:
	case p.anchored && t.anchored(first.from): // an inner loop has it
		p.begins = append(p.begins, first.from)
	case before:
		p.begins = append(p.begins, at)
		p.looseFirst = true
	}
}

// slowerFirst is how many times as long, or as short, as usual the first burst of a loop may be to count as its
// iteration's: caches are cold.
const slowerFirst = 4

func (f *folder) asLong(burst int32, usualNS float64) bool {
	ns := float64(f.totalNS[burst+1] - f.totalNS[burst])
	return ns <= slowerFirst*usualNS && usualNS <= slowerFirst*ns
}

// timeOf is the mean time of the tokens at a place of the loop, in ns; infinite if that is a loop.
func (f *folder) timeOf(s *section, place int32) float64 {
	lag := s.lag
	place = modulo(place, lag)
	if f.isLoop(f.loop(s.kind).body[place]) {
		return math.Inf(1)
	}
	ns, times := int64(0), 0
	for _, r := range s.runs {
		here := &f.runs[r]
		level := f.levels[here.level]
		for i := here.begin + modulo(place-here.turn, lag); i < here.end; i += lag {
			ns += f.totalNS[level.at[i+1]] - f.totalNS[level.at[i]]
			times++
		}
	}
	return float64(ns) / float64(max(1, times))
}

// bridge adds begins between the last and the next where there is room for several iterations: at the burst that looks
// like the one at which the last began, nearest to where it should be.
func (f *folder) bridge(begins []int32, next int32, usual float64) []int32 {
	last := begins[len(begins)-1]
	room := int(math.Round(float64(next-last) / usual))
	symbols := f.raw
	previous := last
	for k := 1; k < room; k++ {
		want := last + int32(math.Round(float64(next-last)*float64(k)/float64(room)))
		found := want
		for away := int32(0); float64(away) <= usual/2; away++ {
			if want-away > previous && symbols[want-away] == symbols[last] {
				found = want - away
				break
			}
			if want+away < next && symbols[want+away] == symbols[last] {
				found = want + away
				break
			}
		}
		if found > previous && found < next {
			begins = append(begins, found)
			previous = found
		}
	}
	return begins
}
