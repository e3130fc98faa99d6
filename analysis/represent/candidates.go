package represent

import (
	"cmp"
	"fmt"
	"slices"
)

// A Candidate is a window of some threads that could be kept. What is kept or not is one thread's part of one window.
type Candidate struct {
	Window  int // the caller's number of it; candidates may share one
	Why     Why
	Threads []int32 // the most important first
	Bytes   []int64 // per Threads: what keeping its part of the window takes
	// Rank says when its turn comes among candidates of one Why: those of rank 0 first, with their first thread, then
	// those of rank 1 with theirs, and those of rank 0 with their second.
	Rank      int
	BenefitNS int64 // among those whose turn it is the one with more comes first
	Reason    string
}

// Keeping says what keeping costs, and who talks to whom. The functions are asked about windows and threads in the
// order of both; they are pure.
type Keeping struct {
	// Bytes are what a thread's part of a window takes; 0 = it has nothing to keep.
	Bytes func(w *Window, thread int) int64
	// Peers are the threads that exchange messages with one inside a window, the most important first; nil = not known.
	Peers func(w *Window, thread int) []int32
	// OnPath are how long the critical path is on which threads in a window; nil = not known.
	OnPath func(w *Window) map[int32]int64
}

// Candidates turns classes and windows into candidates: Windows[i] has number i, Anomalies[i] len(Windows)+i. In each
// window that stands for a phase the exemplars come first, that of the largest class before others, and outliers are
// candidates of their own. Anomalies are shown by the threads that have them and their peers, and by exemplars to
// compare with, of which those that they exchange messages with would explain nothing. Windows for what these leave out
// have the threads alone that show it. In a run without iterations all threads of all windows are candidates.
func Candidates(c *Classes, f *Selection, k Keeping, name Namer) []Candidate {
	b := builder{classes: c, keeping: k, name: name}
	all := !slices.ContainsFunc(f.Windows, func(w Window) bool { return w.Why == Representative })
	for i := range f.Windows {
		b.add(i, &f.Windows[i], all)
	}
	for i := range f.Anomalies {
		b.add(len(f.Windows)+i, &f.Anomalies[i], all)
	}
	return b.list
}

type builder struct {
	classes *Classes
	keeping Keeping
	name    Namer
	list    []Candidate
}

// add makes the candidates of one window.
func (b *builder) add(number int, w *Window, all bool) {
	var exemplars []int32
	for i := range b.classes.Classes {
		exemplars = append(exemplars, int32(b.classes.Classes[i].Exemplar))
	}
	first := Candidate{Window: number, Why: w.Why, BenefitNS: w.ExplainsNS, Reason: w.Reason}
	switch {
	case w.Why == Anomaly:
		first.Threads = distinct(w.Threads, exemplars)
	case w.Why == Fallback && !all: // it is there for some clusters, which these threads have
		first.Threads = w.Threads
	default:
		first.Threads = distinct(exemplars, w.Threads)
	}
	chosen := slices.Clone(first.Threads)
	b.append(w, first)
	if w.Why == Representative {
		for i := range b.classes.Outliers {
			u := &b.classes.Outliers[i]
			b.append(w, Candidate{
				Window: number, Why: Outlier, Threads: []int32{int32(u.Thread)}, Rank: i, BenefitNS: w.ExplainsNS, Reason: b.name.name(u.Thread) + " " + u.Reason,
			})
			chosen = append(chosen, int32(u.Thread))
		}
		chosen = b.onPath(number, w, chosen)
	}
	chosen = distinct(chosen, nil)
	if all {
		var outliers, rest []int32
		for i := range b.classes.Outliers {
			outliers = append(outliers, int32(b.classes.Outliers[i].Thread))
		}
		for t := range w.First {
			rest = append(rest, int32(t))
		}
		others := distinct(chosen, outliers, rest)[len(chosen):]
		b.append(w, Candidate{Window: number, Why: Fallback, Threads: others, Rank: len(chosen), BenefitNS: w.ExplainsNS, Reason: w.Reason})
		return // that holds all peers
	}
	switch w.Why {
	case Anomaly:
		b.peers(number, w, chosen, w.Threads)
	case Representative:
		b.peers(number, w, chosen, chosen)
	}
}

// leastOnPath is for which share of a window the critical path has to be on a thread that is kept for that.
const leastOnPath = .05

// onPath adds the threads that the critical path is on, those with most of it first, and returns them with those that
// are chosen already.
func (b *builder) onPath(number int, w *Window, chosen []int32) []int32 {
	if b.keeping.OnPath == nil {
		return chosen
	}
	for _, x := range MostOnPath(b.keeping.OnPath(w)) {
		if slices.Contains(chosen, x.Thread) {
			continue
		}
		b.append(w, Candidate{
			Window: number, Why: CriticalPath, Threads: []int32{x.Thread}, Rank: len(chosen), BenefitNS: w.ExplainsNS,
			Reason: fmt.Sprintf("the critical path is on %s for %.0f %% of this window", b.name.name(int(x.Thread)), 100*x.Share),
		})
		chosen = append(chosen, x.Thread)
	}
	return chosen
}

// A PathShare is the part of a window, 0–1, in which the critical path is on a thread.
type PathShare struct {
	Thread int32
	Share  float64
}

// MostOnPath are the threads that are kept because the critical path is on them, those with most of it first.
func MostOnPath(onNS map[int32]int64) (list []PathShare) {
	total := int64(0)
	for _, ns := range onNS {
		total += ns
	}
	for thread, ns := range onNS {
		if share := float64(ns) / float64(total); share >= leastOnPath {
			list = append(list, PathShare{thread, share})
		}
	}
	slices.SortFunc(list, func(a, b PathShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Thread, b.Thread))
	})
	return list
}

// peers adds those of threads, each once, that are not chosen for another reason.
func (b *builder) peers(number int, w *Window, chosen, of []int32) {
	if b.keeping.Peers == nil {
		return
	}
	known := make(map[int32]bool, len(chosen))
	for _, t := range chosen {
		known[t] = true
	}
	for rank, t := range of {
		if b.keeping.Bytes(w, int(t)) <= 0 {
			continue
		}
		var list []int32
		for _, p := range b.keeping.Peers(w, int(t)) {
			if !known[p] {
				known[p] = true
				list = append(list, p)
			}
		}
		b.append(w, Candidate{
			Window: number, Why: Peer, Threads: list, Rank: rank, BenefitNS: w.ExplainsNS,
			Reason: fmt.Sprintf("exchanges messages with %s in this window", b.name.name(int(t))),
		})
	}
}

// append adds a candidate with those of its threads that have something to keep, if any.
func (b *builder) append(w *Window, c Candidate) {
	c.Threads = slices.DeleteFunc(slices.Clone(c.Threads), func(t int32) bool {
		bytes := b.keeping.Bytes(w, int(t))
		if bytes > 0 {
			c.Bytes = append(c.Bytes, bytes)
		}
		return bytes <= 0
	})
	if len(c.Threads) > 0 {
		b.list = append(b.list, c)
	}
}

// distinct joins lists, each thread where it comes first.
func distinct(lists ...[]int32) []int32 {
	var joined []int32
	seen := make(map[int32]bool)
	for _, list := range lists {
		for _, t := range list {
			if !seen[t] {
				seen[t] = true
				joined = append(joined, t)
			}
		}
	}
	return joined
}
