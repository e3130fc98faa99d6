package sequence

import (
	"fmt"
	"slices"
)

// commonAnchors returns for each thread where the anchors are that all threads with bursts have.
func (a *aligner) commonAnchors() ([][]int, error) {
	if a.Anchors == nil || a.sequences < 2 {
		return nil, nil
	}
	var first []Anchor // of the first thread with bursts
	same := true
	for t, anchors := range a.Anchors {
		begin, end := a.span(t)
		for i, x := range anchors {
			if x.At < 0 || x.At > end-begin || i > 0 && x.At < anchors[i-1].At {
				return nil, fmt.Errorf("sequence: anchor %d of thread %d is at burst %d of %d", i, t, x.At, end-begin)
			}
		}
		if begin == end {
			continue
		}
		if first == nil {
			first = anchors
		}
		same = same && slices.EqualFunc(first, anchors, func(x, y Anchor) bool { return x.Event == y.Event })
	}
	common := func(uint64) bool { return true }
	if !same {
		threads, err := a.countAnchors()
		if err != nil {
			return nil, err
		}
		common = func(event uint64) bool { return threads[event] == a.sequences }
	}
	cuts := make([][]int, len(a.Ends))
	var order []uint64
	for t, anchors := range a.Anchors {
		begin, end := a.span(t)
		if begin == end {
			continue
		}
		var mine []uint64
		for _, x := range anchors {
			if common(x.Event) {
				cuts[t] = append(cuts[t], x.At)
				if !same {
					mine = append(mine, x.Event)
				}
			}
		}
		if order == nil {
			order = mine
		}
		if !slices.Equal(mine, order) {
			return nil, errAnchorOrder
		}
	}
	return cuts, nil
}

// countAnchors says for each event how many threads with bursts name it.
func (a *aligner) countAnchors() (map[uint64]int, error) {
	threads := make(map[uint64]int)
	for t, anchors := range a.Anchors {
		if begin, end := a.span(t); begin == end {
			continue
		}
		seen := make(map[uint64]bool, len(anchors))
		for _, x := range anchors {
			if seen[x.Event] {
				return nil, fmt.Errorf("sequence: thread %d names anchor %#x twice", t, x.Event)
			}
			seen[x.Event] = true
			threads[x.Event]++
		}
	}
	return threads, nil
}
