package period

import (
	"slices"
)

// A section is a part of one thread that repeats one loop: runs of it with little between, where iterations were
// damaged.
type section struct {
	runs     []int32
	kind     int32   // of the loop
	lag      int32   // of the loop, in tokens
	repeated int64   // bursts in runs
	tokens   int64   // in runs
	from, to int32   // bursts
	begins   []int32 // of iterations, and the end of the last
	anchors  []int32 // at begins; nil: iterations do not begin at anchors
	period   int     // bursts, median
	// The first iteration begins at no anchor, or the last ends at none, where the others do: anchors has the one before,
	// or the one behind.
	looseFirst, looseLast bool
	correlation           float64 // of durations, where these alone repeat and symbols say nothing; else 0
	// Of iterations between delimiters: which one it is, from 1; the begins of all; and which of these is the first here.
	delimiter int
	byCalls   bool // they are known to the burst, so that how many there are on a thread is no doubt
	whole     []int32
	first     int
}

func (s *section) iterations() int { return max(0, len(s.begins)-1) }

// damagedIterations is how many iterations without a good one between may be bridged. Where more are in disorder it is
// no longer clear that they are iterations at all.
const damagedIterations = 2

// worthAPhase is the share of a thread's bursts or of its time below which a repetition is not reported as a phase: the
// error of what is kept shall be below 1 %, so that less than this is not missed.
const worthAPhase = 1. / 100

// sections gives the parts of the thread that are iterations, in the order of time.
func (f *folder) sections(t *Thread, compared []int32) []section {
	list := f.join()
	list = f.rejoin(slices.DeleteFunc(list, func(s section) bool { return !f.worth(&s) }))
	for i := range list {
		if i > 0 {
			f.shareBorder(&list[i-1], &list[i], t)
		}
	}
	kept := list[:0]
	end := int32(0)
	for i := range list {
		s := &list[i]
		f.place(s, t, end)
		next := int32(len(t.Symbols))
		if i+1 < len(list) {
			next = list[i+1].from
		}
		f.widen(s, t, end, next)
		f.byDurations(s)
		if s.iterations() >= 3 && f.regular(s, compared) {
			end = s.to
			kept = append(kept, *s)
		}
	}
	return f.notScattered(kept)
}

// looksLike reports whether the bursts between are those of the loop but for damage, which is less than half of them.
// Where so many iterations of another kind are that they matter, these are a section of their own, and nothing is
// bridged.
func (f *folder) looksLike(kind, from, to int32) bool {
	set := f.contentsOf(kind)
	inside := 0
	for _, k := range f.raw[from:to] {
		inside += truth(set[k])
	}
	return 2*inside >= int(to-from)
}

func (f *folder) worth(s *section) bool {
	n := len(f.totalNS) - 1
	return float64(s.to-s.from) >= worthAPhase*float64(n) ||
		float64(f.totalNS[s.to]-f.totalNS[s.from]) >= worthAPhase*float64(f.totalNS[n])
}

// begin begins a section with a run.
func (f *folder) begin(r int32) section {
	here := &f.runs[r]
	s := section{kind: here.kind, lag: int32(len(f.loop(here.kind).body)), from: here.from}
	s.add(here, r)
	return s
}

func (s *section) add(here *run, r int32) {
	s.runs = append(s.runs, r)
	s.to = here.to
	s.repeated += int64(here.to - here.from)
	s.tokens += int64(here.end - here.begin)
}

// usual is how many bursts an iteration has on the average.
func (s *section) usual() float64 {
	return float64(s.repeated) * float64(s.lag) / float64(s.tokens)
}

// alike is how much of iterations must be as usual: all but one burst in twelve. Of Fibonacci's word, which has no
// period, 9 in 100 differ from the nearest thing to one; of a body of twenty bursts with 6 % noise 6 in 100.
const alike = 11. / 12

// regular reports whether the bursts of iterations are mostly those of others.
func (f *folder) regular(s *section, compared []int32) bool {
	x := f.inside(compared)
	return x.agreement(spans(s.begins)) >= alike
}

// medianGap is the median distance of neighbours, the lower one of two.
func medianGap(list []int32) int {
	if len(list) < 2 {
		return 0
	}
	gaps := make([]int32, len(list)-1)
	for i := range gaps {
		gaps[i] = list[i+1] - list[i]
	}
	slices.Sort(gaps)
	return int(gaps[(len(gaps)-1)/2])
}
