package fidelity

import (
	"cmp"
	"math"
	"slices"
)

const (
	// agreed is which share of a kind's time what is rebuilt of it from windows may differ by from what weights say.
	agreed = .01
	// addUp is by which share of a part's bursts its weights may be off for that: clusters are drawn by their numbers, and
	// disturbed bursts are in several.
	addUp = .5
)

// An amount is how many bursts, and how long they took.
type amount struct {
	bursts int64
	ns     float64
}

// A rebuilder adds up the rebuilt times of all threads.
type rebuilder struct {
	*labels
	*exact
	kept, both stock
	any        []*source // by kind: what was kept of all of its parts
	counts     [][]times // by thread, of level 2
	byWindows  []bool    // by part: it is rebuilt from windows
	sums       []*source // by kind
	threads    []Time
	sources    Sources
}

// times are how often a symbol comes.
type times struct {
	symbol int32
	times  int64
}

// count counts what a thread does.
func (r *rebuilder) count(t *Thread) error {
	counts := make([]int64, len(r.ofSymbol))
	for _, symbol := range t.Sequence {
		if _, err := r.kind(symbol); err != nil {
			return err
		}
		counts[symbol]++
	}
	var list []times
	for symbol, n := range counts {
		if n > 0 {
			list = append(list, times{int32(symbol), n})
		}
	}
	r.counts = append(r.counts, list)
	return nil
}

// each goes through the parts of what a thread does: how many bursts of a symbol are of the part, and of what share of
// the thread's bursts of the kind.
func (r *rebuilder) each(thread int32, do func(symbol, part int32, bursts, share float64)) {
	own := owner{ofThread, thread}
	for _, c := range r.counts[thread] {
		parts := r.of[r.ofSymbol[c.symbol]]
		all := int64(0)
		for _, p := range parts {
			all += r.amounts[place{own, anySymbol, p}].bursts
		}
		for _, p := range parts {
			if n := r.amounts[place{own, anySymbol, p}].bursts; n > 0 {
				of := float64(c.times) / float64(all)
				do(c.symbol, p, float64(n)*of, of)
			}
		}
	}
}

// choose says which parts are rebuilt from windows.
func (r *rebuilder) choose(threads []Thread) {
	windows, weighted := make([]float64, len(r.parts)), make([]float64, len(r.parts))
	for i := range threads {
		t, class := int32(i), threads[i].Class
		r.each(t, func(symbol, part int32, bursts, _ float64) {
			if s, _ := r.fromWindows(t, class, symbol, part); s != nil {
				windows[part] += bursts * s.meanNS()
			}
			if s, _ := r.fromWeights(t, class, part); s != nil {
				weighted[part] += bursts * s.meanNS()
			}
		})
	}
	r.byWindows = make([]bool, len(r.parts))
	for kind, parts := range r.of {
		if r.alike(int32(kind)) {
			r.chooseOf(parts, windows, weighted)
		}
	}
}

func (r *rebuilder) chooseOf(parts []int32, windows, weighted []float64) {
	run := owner{ofRun, 0}
	total := 0.
	var known []int32
	for _, p := range parts {
		total += weighted[p]
		at := place{run, anySymbol, p}
		if r.kept[at] == nil {
			continue
		}
		known = append(known, p)
		if n := float64(r.amounts[at].bursts); math.Abs(r.both[at].bursts-n) > addUp*n { // weights say nothing of it
			weighted[p] = windows[p]
		}
	}
	off := func(p int32) float64 { return math.Abs(windows[p] - weighted[p]) }
	slices.SortStableFunc(known, func(a, b int32) int { return cmp.Compare(off(a)*weighted[b], off(b)*weighted[a]) })
	left := agreed * total
	for _, p := range known {
		if left -= off(p); left < 0 {
			break
		}
		r.byWindows[p] = true
	}
}

// thread rebuilds a thread and returns what stands for its bursts in curves, by symbol; 0 where nothing was kept.
func (r *rebuilder) thread(number int32, t *Thread) (typicalNS []float64) {
	typicalNS = make([]float64, len(r.ofSymbol))
	own := owner{ofThread, number}
	rebuilt := 0.
	of := make([]float64, len(r.ofSymbol))
	for _, c := range r.counts[number] {
		of[c.symbol] = float64(c.times)
	}
	r.each(number, func(symbol, part int32, bursts, share float64) {
		s, from := r.fromWeights(number, t.Class, part)
		if r.byWindows[part] {
			s, from = r.fromWindows(number, t.Class, symbol, part)
		}
		*from += partOf(r.amounts[place{own, anySymbol, part}].ns*share, r.total)
		if s == nil {
			return
		}
		kind := r.parts[part].kind
		r.sums[kind].take(s, bursts)
		typical := s.meanNS()
		rebuilt += bursts * typical
		if !r.alike(kind) {
			if alike, _ := r.from(r.both, number, t.Class, symbol, part); alike != nil {
				s = alike
			}
			typical = s.typicalNS()
		}
		typicalNS[symbol] += typical * bursts / of[symbol]
	})
	r.threads = append(r.threads, Time{r.threadNS[number], rebuilt})
	return typicalNS
}

// from gives the sources of a thread, else of its class, else of the run, and whose share they are; nil where there are
// none.
func (r *rebuilder) from(in stock, thread, class, symbol, part int32) (*source, *float64) {
	for _, o := range []struct {
		owner
		share *float64
	}{{owner{ofThread, thread}, &r.sources.Thread}, {owner{ofClass, class}, &r.sources.Class}, {owner{ofRun, 0}, &r.sources.Run}} {
		if s := in[place{o.owner, symbol, part}]; s != nil {
			return s, o.share
		}
	}
	return nil, &r.sources.Nothing
}

// fromWindows gives the bursts of kept windows from which those of a symbol and part are rebuilt, nil where there are
// none, and the share that they belong to.
func (r *rebuilder) fromWindows(thread, class, symbol, part int32) (*source, *float64) {
	if s, share := r.from(r.kept, thread, class, symbol, part); s != nil {
		return s, share
	}
	return r.from(r.kept, thread, class, anySymbol, part)
}

// fromWeights is fromWindows by weights.
func (r *rebuilder) fromWeights(thread, class, part int32) (*source, *float64) {
	s, share := r.both[place{owner{ofRun, 0}, anySymbol, part}], &r.sources.Run
	if s == nil {
		s = r.any[r.parts[part].kind]
	}
	if s.bursts == 0 {
		return nil, &r.sources.Nothing
	}
	for _, o := range []struct {
		owner
		share *float64
	}{{owner{ofThread, thread}, &r.sources.Thread}, {owner{ofClass, class}, &r.sources.Class}} {
		at := place{o.owner, anySymbol, part}
		// Weights are whole numbers, or close to.
		if own := r.both[at]; own != nil && math.Abs(own.bursts-float64(r.amounts[at].bursts)) < .5 {
			s, share = own, o.share
			break
		}
	}
	if s.sampled {
		share = &r.sources.Sample
	}
	return s, share
}
