package sequence

import (
	"sort"
	"sync"

	"moriens/internal/mix"
	"moriens/internal/team"
)

// signLabels gives labels signs that distinguish them by what they are, not by their number: their time,
// how many bursts they have, and, by one round of colour refinement, where in which pieces they are.
// Of labels that agree in all that settle makes a choice.
func (a *aligner) signLabels(segments []segment) error {
	a.sign = make([]uint64, a.Count)
	for label, l := range a.labels {
		a.sign[label] = mix.Bits(mix.Bits(uint64(l.TimeNS)) + uint64(l.Bursts))
	}
	places := make([]int64, a.Count) // sums that wrap, and so in any order
	var mu sync.Mutex
	a.eachPiece(segments, func(next func() (*segment, *piece, bool)) {
		mine := make([]int64, a.Count)
		for s, x, ok := next(); ok; s, x, ok = next() {
			h := mix.Bits(a.signOf(x.labels) + uint64(x.threads) + uint64(s.number)<<32)
			for i, label := range x.labels {
				mine[label] += int64(mix.Bits(h + uint64(i)))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for label, sum := range mine {
			places[label] += sum
		}
	})
	if err := a.Team.AllReduce(places, team.Sum); err != nil {
		return err
	}
	for label := range a.sign {
		a.sign[label] = mix.Bits(a.sign[label] + uint64(places[label]))
	}
	return nil
}

func (a *aligner) signOf(labels []int32) uint64 {
	h := uint64(len(labels))
	for _, label := range labels {
		h = mix.Bits(h ^ a.sign[label])
	}
	return h
}

// eachPiece shares the pieces of segments out to the workers, but for those that have a segment to themselves.
func (a *aligner) eachPiece(segments []segment, work func(next func() (*segment, *piece, bool))) {
	ends := make([]int, len(segments))
	sum := 0
	for i := range segments {
		if n := len(segments[i].pieces); n > 1 {
			sum += n
		}
		ends[i] = sum
	}
	a.each(sum, func(next func() (int, bool)) {
		work(func() (*segment, *piece, bool) {
			i, ok := next()
			if !ok {
				return nil, nil, false
			}
			s := sort.SearchInts(ends, i+1)
			x := &segments[s].pieces[len(segments[s].pieces)-(ends[s]-i)]
			return &segments[s], x, true
		})
	})
}
