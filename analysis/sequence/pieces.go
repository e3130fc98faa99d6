package sequence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Piece is all that some threads do in a segment, which is the same on each of them.
type Piece struct {
	Segment uint64  // how many of the anchors that all threads have are before it
	Labels  []int32 // of the bursts, in time order
	Threads int     // that do just this
}

// Sums are those of the bursts of a label.
type Sums struct {
	Bursts int
	TimeNS int64
}

// AlignPieces aligns and scores what all threads do where that is known by segment: the answer is that of Align on the
// threads themselves, with the segments as its anchors cut them, whatever the order of the pieces. Those that are alike
// may come several times.
//
// threads is how many have a burst; one that is in no piece of a segment does nothing there. The last segment is the
// last that a piece names. sums are by label.
//
// counting is Threads.Counting.
//
// Labels out of range, more than 2^31 segments, pieces of less than one thread or of more than there are, and negative
// sums are errors.
func AlignPieces(pieces []Piece, threads int, sums []Sums, counting bool, workers int) (*Score, error) {
	a := &aligner{Threads: Threads{Count: len(sums), Counting: counting}, workers: max(1, workers), sequences: threads}
	if threads < 0 {
		return nil, fmt.Errorf("sequence: %d threads: want at least 0", threads)
	}
	for label, s := range sums {
		if s.Bursts < 0 || s.TimeNS < 0 {
			return nil, fmt.Errorf("sequence: label %d has %d bursts of %d ns: want at least 0", label, s.Bursts, s.TimeNS)
		}
		a.labels = append(a.labels, LabelScore{Bursts: s.Bursts, TimeNS: s.TimeNS})
	}
	segments, err := a.assemble(pieces)
	if err != nil {
		return nil, err
	}
	return a.finish(segments)
}

// assemble puts the pieces of each segment together.
func (a *aligner) assemble(pieces []Piece) ([]segment, error) {
	order := make([]int, len(pieces))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(pieces[i].Segment, pieces[j].Segment) })
	var ends []int // in order, of the segments
	for k, i := range order {
		if pieces[i].Segment > math.MaxInt32 {
			return nil, fmt.Errorf("sequence: piece %d is of segment %d: want at most %d", i, pieces[i].Segment, math.MaxInt32)
		}
		if k+1 == len(order) || pieces[order[k+1]].Segment != pieces[i].Segment {
			ends = append(ends, k+1)
		}
	}
	segments, errs := make([]segment, len(ends)), make([]error, len(ends))
	a.each(len(ends), func(next func() (int, bool)) {
		for s, ok := next(); ok; s, ok = next() {
			begin := 0
			if s > 0 {
				begin = ends[s-1]
			}
			segments[s].number = int(pieces[order[begin]].Segment)
			segments[s].pieces, errs[s] = a.join(pieces, order[begin:ends[s]])
		}
	})
	for s, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("sequence: segment %d: %w", segments[s].number, err)
		}
	}
	if a.sequences < 2 { // nothing is cut where there is nothing to compare
		a.count = 1
		return []segment{{pieces: make([]piece, a.sequences)}}, nil
	}
	a.count = 1
	if n := len(segments); n > 0 {
		a.count += segments[n-1].number
	}
	a.idle = a.count - len(segments)
	return segments, nil
}

// join makes one of the pieces that are alike, of those of a segment, and one of the threads that are in none.
func (a *aligner) join(all []Piece, which []int) ([]piece, error) {
	places := make(map[Hash]int, len(which))
	var pieces []piece
	put := func(labels []int32, threads int) {
		h := HashOf(labels)
		at, seen := places[h]
		if !seen {
			at = len(pieces)
			places[h] = at
			pieces = append(pieces, piece{labels: labels})
		}
		pieces[at].threads += int64(threads)
	}
	rest := a.sequences
	for _, i := range which {
		x := &all[i]
		if x.Threads < 1 || x.Threads > rest {
			return nil, fmt.Errorf("piece %d is of %d threads, and those before it are of %d: want at least 1, and all together at most %d",
				i, x.Threads, a.sequences-rest, a.sequences)
		}
		rest -= x.Threads
		for k, label := range x.Labels {
			if uint(label) >= uint(a.Count) {
				return nil, fmt.Errorf("piece %d: burst %d has label %d: want a label from 0 to %d", i, k, label, a.Count-1)
			}
		}
		put(x.Labels, x.Threads)
	}
	if rest > 0 {
		put(nil, rest)
	}
	return pieces, nil
}
