package sequence

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

type aligner struct {
	Threads
	workers   int
	sequences int // threads with a burst
	labels    []LabelScore
	gain      []int64  // of a match, by label
	sign      []uint64 // what a label is known by, however it is numbered
}

// A segment is what lies between two anchors that all threads have.
type segment struct {
	pieces []piece // distinct
	result counts
}

// A piece is a part of a sequence that some threads have in common.
type piece struct {
	labels  []int32
	threads int64 // that have it
	sign    uint64
}

// measure sums up the labels.
func (a *aligner) measure() error {
	a.labels = make([]LabelScore, a.Count)
	var mu sync.Mutex
	var bad error
	a.each(len(a.Ends), func(next func() (int, bool)) {
		local := make([]LabelScore, a.Count)
		for t, ok := next(); ok; t, ok = next() {
			begin, end := a.span(t)
			durations := a.DurationNS[begin:end]
			for i, label := range a.Labels[begin:end] {
				if uint(label) >= uint(len(local)) || durations[i] < 0 {
					mu.Lock()
					bad = fmt.Errorf("sequence: burst %d of thread %d has label %d and lasts %d ns: want a label from 0 to %d",
						i, t, label, durations[i], a.Count-1)
					mu.Unlock()
					return
				}
				local[label].Bursts++
				local[label].TimeNS += durations[i]
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, l := range local {
			a.labels[i].Bursts += l.Bursts
			a.labels[i].TimeNS += l.TimeNS
		}
	})
	if bad != nil {
		return bad
	}
	for t := range a.Ends {
		if begin, end := a.span(t); end > begin {
			a.sequences++
		}
	}
	return nil
}

func (a *aligner) span(thread int) (begin, end int) {
	if thread > 0 {
		begin = a.Ends[thread-1]
	}
	return begin, a.Ends[thread]
}

// each shares the numbers below n out to the workers.
func (a *aligner) each(n int, work func(next func() (int, bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	var wg sync.WaitGroup
	for range min(a.workers, n) {
		wg.Go(func() { work(next) })
	}
	wg.Wait()
}

// cut cuts the sequences into segments and finds what is equal in each.
func (a *aligner) cut() ([]segment, error) {
	cuts, err := a.commonAnchors()
	if err != nil {
		return nil, err
	}
	count := 1
	for _, c := range cuts {
		count = max(count, len(c)+1)
	}
	segments := make([]segment, count)
	a.each(count, func(next func() (int, bool)) {
		for s, ok := next(); ok; s, ok = next() {
			segments[s].pieces = a.distinct(func(thread int) []int32 {
				begin, end := a.span(thread)
				from, to := begin, end
				if s > 0 {
					from = begin + cuts[thread][s-1]
				}
				if s < count-1 {
					to = begin + cuts[thread][s]
				}
				return a.Labels[from:to]
			})
		}
	})
	return segments, nil
}

// distinct finds the different pieces among those of all threads with bursts.
func (a *aligner) distinct(of func(thread int) []int32) []piece {
	byHash := make(map[uint64][]int) // indices of pieces
	var pieces []piece
	for t := range a.Ends {
		if begin, end := a.span(t); begin == end {
			continue
		}
		labels := of(t)
		if len(pieces) > 0 && slices.Equal(pieces[0].labels, labels) { // the rule; spares the hash
			pieces[0].threads++
			continue
		}
		h := uint64(len(labels))
		for _, label := range labels {
			h = mix(h ^ uint64(uint32(label)))
		}
		same := slices.IndexFunc(byHash[h], func(i int) bool { return slices.Equal(pieces[i].labels, labels) })
		if same >= 0 {
			pieces[byHash[h][same]].threads++
			continue
		}
		byHash[h] = append(byHash[h], len(pieces))
		pieces = append(pieces, piece{labels: labels, threads: 1})
	}
	return pieces
}
