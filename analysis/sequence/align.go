package sequence

import "slices"

const (
	// longRun is how many bursts in a row have to agree for the differences around to be aligned apart.
	longRun = 8
	// runEdge is how many bursts at either end of a long run are left to the alignment with weights.
	runEdge = 2
	// mostCells is how many cells of a stretch are aligned with weights at most; a larger one is cut at
	// the matches that counting differences has found.
	mostCells = 1 << 18
)

// work is what a worker needs to align.
type work struct {
	*aligner
	edits editor
	cells affine
	main  []int32 // columns of the profile that at least half of the threads have
	at    []int32 // the result: a column per burst, or inserted

	block      block
	voter      voter
	mainLabels []int32 // of the main columns
	counted    int64   // bursts of the piece that were aligned by counting

	columns counts // of the segments that the worker has aligned
	set     []int32
	key     []byte
}

func newWork(a *aligner) *work {
	return &work{aligner: a, edits: editor{over: a.over}, columns: counts{labels: make([]labelCount, a.Count)}}
}

// align finds for every burst of a piece the column of the profile that it belongs to.
func (w *work) align(p *profile, labels []int32) []int32 {
	w.at = w.at[:0]
	w.counted = 0
	for range labels {
		w.at = append(w.at, inserted)
	}
	agree := func(c *column, label int32) bool { return c.label == label && 2*c.threads >= p.threads }
	begin, end, last := 0, len(labels), len(p.columns)
	for begin < min(end, last) && agree(&p.columns[begin], labels[begin]) {
		w.at[begin] = int32(begin)
		begin++
	}
	for end > begin && last > begin && agree(&p.columns[last-1], labels[end-1]) {
		end--
		last--
		w.at[end] = int32(last)
	}
	if begin == end || begin == last {
		return w.at
	}
	w.main = slices.Grow(w.main[:0], last-begin)
	for c := begin; c < last; c++ {
		if p.isMain(&p.columns[c]) {
			w.main = append(w.main, int32(c))
		}
	}
	if w.Counting {
		w.alignCounting(p, labels, stretch{begin, last, begin, end})
		return w.at
	}
	matches := w.edits.matches(len(w.main), end-begin, func(i, j int) bool {
		return p.threadsWith(&p.columns[w.main[i]], labels[begin+j]) > 0
	})
	for i := range matches {
		matches[i].column, matches[i].burst = w.main[matches[i].column], matches[i].burst+int32(begin)
	}
	w.stretches(p, labels, stretch{begin, last, begin, end}, matches)
	return w.at
}

// A stretch is a part of a profile and of a piece, which belong to each other.
type stretch struct{ column, lastColumn, burst, lastBurst int }

func (s stretch) cells() int { return (s.lastColumn - s.column) * (s.lastBurst - s.burst) }

// A match is a burst and the column that it belongs to.
type match struct{ column, burst int32 }

// stretches fixes the long runs of matches and aligns what lies between.
func (w *work) stretches(p *profile, labels []int32, all stretch, matches []match) {
	rest := all
	open := 0 // the first match after the last fixed one
	for begin := 0; begin < len(matches); {
		end := begin + 1
		for end < len(matches) && matches[end].burst == matches[end-1].burst+1 && w.follows(p, matches[end-1], matches[end]) {
			end++
		}
		if end-begin >= longRun {
			first, last := matches[begin+runEdge], matches[end-1-runEdge]
			w.between(p, labels, stretch{rest.column, int(first.column), rest.burst, int(first.burst)}, matches[open:begin+runEdge])
			for _, m := range matches[begin+runEdge : end-runEdge] {
				w.at[m.burst] = m.column
			}
			rest.column, rest.burst = int(last.column)+1, int(last.burst)+1
			open = end - runEdge
		}
		begin = end
	}
	w.between(p, labels, rest, matches[open:])
}

// follows reports whether no main column lies between two matches.
func (w *work) follows(p *profile, a, b match) bool {
	for c := a.column + 1; c < b.column; c++ {
		if p.isMain(&p.columns[c]) {
			return false
		}
	}
	return true
}

// between aligns a stretch with weights, in pieces if it is large.
func (w *work) between(p *profile, labels []int32, s stretch, matches []match) {
	if s.cells() <= mostCells {
		if s.cells() > 0 && !w.over() {
			w.cells.align(w.aligner, p, labels, s, w.at)
		}
		return
	}
	if len(matches) == 0 {
		return // nothing in common: each has columns of its own
	}
	middle := len(matches) / 2
	m := matches[middle]
	w.at[m.burst] = m.column
	w.between(p, labels, stretch{s.column, int(m.column), s.burst, int(m.burst)}, matches[:middle])
	w.between(p, labels, stretch{int(m.column) + 1, s.lastColumn, int(m.burst) + 1, s.lastBurst}, matches[middle+1:])
}
