package sequence

import (
	"fmt"
	"slices"

	"moriens/internal/mix"
	"moriens/internal/team"
)

// commonAnchors returns for each thread here where the anchors are that all threads with bursts have, and finds how
// many segments they make.
func (a *aligner) commonAnchors() ([][]int32, error) {
	a.count = 1
	if a.Anchors == nil || a.sequences < 2 {
		return nil, nil
	}
	first, same, err := a.compareAnchors()
	if err := team.Explain(a.Team, err); err != nil {
		return nil, err
	}
	all, err := a.gatherDigests(eventsOf(first), same)
	if err != nil {
		return nil, err
	}
	cuts := make([][]int32, len(a.Ends))
	if slices.ContainsFunc(all, func(d digest) bool { return d != all[0] || !d.same }) {
		common, err := a.meetAnchors(first)
		if err != nil {
			return nil, err
		}
		if all, err = a.cutAtSome(cuts, common); err != nil {
			return nil, err
		}
	} else {
		a.cutAtAll(cuts)
	}
	a.count = 1 + int(all[0].events)
	return cuts, nil
}

// cutAtAll has all anchors cut the threads here.
func (a *aligner) cutAtAll(cuts [][]int32) {
	a.each(len(a.Ends), func(next func() (int, bool)) {
		for t, ok := next(); ok; t, ok = next() {
			if begin, end := a.span(t); begin == end {
				continue
			}
			cuts[t] = make([]int32, len(a.Anchors[t]))
			for i, x := range a.Anchors[t] {
				cuts[t][i] = int32(x.At)
			}
		}
	})
}

// cutAtSome has the anchors cut the threads here that all threads with bursts have. It returns the digests of these.
func (a *aligner) cutAtSome(cuts [][]int32, common map[uint64]bool) ([]digest, error) {
	var order []uint64
	ordered := true
	for t, anchors := range a.Anchors {
		begin, end := a.span(t)
		if begin == end {
			continue
		}
		var mine []uint64
		for _, x := range anchors {
			if common[x.Event] {
				cuts[t] = append(cuts[t], int32(x.At))
				mine = append(mine, x.Event)
			}
		}
		if order == nil {
			order = mine
		}
		ordered = ordered && slices.Equal(mine, order)
	}
	all, err := a.gatherDigests(order, ordered)
	if err == nil && slices.ContainsFunc(all, func(d digest) bool { return d != all[0] || !d.same }) {
		err = errAnchorOrder
	}
	return all, err
}

// compareAnchors returns those of the first thread with bursts here, and whether the others here have the same.
func (a *aligner) compareAnchors() (first []Anchor, same bool, err error) {
	same = true
	seen := false
	for t, anchors := range a.Anchors {
		begin, end := a.span(t)
		for i, x := range anchors {
			if x.At < 0 || x.At > end-begin || i > 0 && x.At < anchors[i-1].At {
				return nil, false, fmt.Errorf("sequence: anchor %d of thread %d is at burst %d of %d", i, t, x.At, end-begin)
			}
		}
		if begin == end {
			continue
		}
		if !seen {
			first, seen = anchors, true
		}
		same = same && slices.EqualFunc(first, anchors, func(x, y Anchor) bool { return x.Event == y.Event })
	}
	return first, same, nil
}

func eventsOf(anchors []Anchor) []uint64 {
	events := make([]uint64, len(anchors))
	for i, x := range anchors {
		events[i] = x.Event
	}
	return events
}

// A digest stands for a list of events, which all threads of a member have if they are the same.
type digest struct {
	events int64
	hash   Hash
	same   bool
}

// gatherDigests returns the digests of the lists of the members that have sequences.
func (a *aligner) gatherDigests(events []uint64, same bool) ([]digest, error) {
	d := digest{events: int64(len(events)), same: same}
	d.hash.begin(len(events))
	for _, event := range events {
		d.hash.add(event)
	}
	words := []uint64{uint64(d.events), d.hash[0], d.hash[1], 0}
	if same {
		words[3] = 1
	}
	all, err := team.Gather(a.Team, words)
	if err != nil {
		return nil, err
	}
	var list []digest
	for _, rank := range a.members {
		w := all[rank]
		list = append(list, digest{events: int64(w[0]), hash: Hash{w[1], w[2]}, same: w[3] != 0})
	}
	return list, nil
}

// meetAnchors finds the events that all threads with bursts name, of those of the first thread here. For each
// there is a member that learns who has it.
func (a *aligner) meetAnchors(first []Anchor) (map[uint64]bool, error) {
	threads, err := a.countAnchors()
	if err := team.Explain(a.Team, err); err != nil {
		return nil, err
	}
	size := a.Team.Size()
	asked := make([][]uint64, size)
	for _, x := range first {
		if threads[x.Event] == a.own {
			to := mix.Bits(x.Event) % uint64(size)
			asked[to] = append(asked[to], x.Event)
		}
	}
	received, err := team.Exchange(a.Team, asked)
	if err != nil {
		return nil, err
	}
	members := make(map[uint64]int)
	for _, events := range received {
		for _, event := range events {
			members[event]++
		}
	}
	answers := make([][]bool, size)
	for rank, events := range received {
		for _, event := range events {
			answers[rank] = append(answers[rank], members[event] == len(a.members))
		}
	}
	isCommon, err := team.Exchange(a.Team, answers)
	if err != nil {
		return nil, err
	}
	common := make(map[uint64]bool)
	for rank, events := range asked {
		for i, event := range events {
			if isCommon[rank][i] {
				common[event] = true
			}
		}
	}
	return common, nil
}

// countAnchors says for each event how many threads with bursts here name it.
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
