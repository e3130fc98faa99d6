package match

import (
	"cmp"
	"slices"
)

// inOrder sorts the postings of one side, and marks those whose order is open.
func inOrder(side []Posting) []Posting {
	slices.SortFunc(side, func(a, b Posting) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Row, b.Row), cmp.Compare(a.DoneRow, b.DoneRow))
	})
	for i := 0; i < len(side); {
		endNS := side[i].EndNS
		end := i + 1
		for end < len(side) && (side[end].StartNS < endNS || sameCall(side[end], side[end-1])) {
			endNS = max(endNS, side[end].EndNS)
			end++
		}
		if end > i+1 {
			for k := i; k < end; k++ {
				side[k].fate = concurrent
			}
		}
		i = end
	}
	return side
}

func sameCall(a, b Posting) bool { return a.Thread == b.Thread && a.Row == b.Row }

// ends are a stream and what is known of its two ends.
type ends struct {
	stream              Stream
	from, to            Process
	sendGap, receiveGap Gap // of the process, and of postings that fit this stream among others
}

// pairInOrder pairs the postings of a stream, which are in order, and counts those that are left.
func pairInOrder(e ends, s *sides, unpaired Unpaired) []Pair {
	var pairs []Pair
	n := min(before(s.sends, e.sendGap), before(s.receives, e.receiveGap))
	sound := true
	for i := 0; i < n && sound; i++ {
		pairs, sound = join(pairs, e.stream, &s.sends[i], &s.receives[i])
	}
	gaps := e.sendGap != NoGap || e.receiveGap != NoGap
	back := 0
	if gaps && sound && e.stream.Channel < 0 && e.from.Finalized && e.to.Finalized {
		back = min(after(s.sends, e.sendGap), after(s.receives, e.receiveGap), len(s.sends)-n, len(s.receives)-n)
	}
	sends, receives := s.sends[len(s.sends)-back:], s.receives[len(s.receives)-back:]
	for i := range sends {
		sound = sound && receives[i].takes(&sends[i]) // else the last do not belong together either
	}
	if sound {
		for i := range sends {
			pairs, _ = join(pairs, e.stream, &sends[i], &receives[i])
		}
	} else {
		mismatch(s.sends)
		mismatch(s.receives)
	}
	why := rest(e.from, e.to, gaps)
	for _, o := range s.sends {
		unpaired.addFate(o.fate, why, true)
	}
	for _, o := range s.receives {
		unpaired.addFate(o.fate, why, false)
	}
	return pairs
}

// join pairs a send with a receive, unless the order of either is open; false where they cannot belong together.
func join(pairs []Pair, key Stream, send, receive *Posting) ([]Pair, bool) {
	if send.fate == concurrent || receive.fate == concurrent {
		send.fate, receive.fate = concurrent, concurrent
		return pairs, true
	}
	if !receive.takes(send) && key.Channel < 0 {
		return pairs, false
	}
	send.fate, receive.fate = paired, paired
	return append(pairs, pairOf(key, send, receive)), true
}

// mismatch marks what is left of a side whose records contradict the other's.
func mismatch(side []Posting) {
	for i := range side {
		if side[i].fate == unmatched {
			side[i].fate = mismatched
		}
	}
}

// before counts the postings that are over when a gap begins.
func before(side []Posting, gap Gap) int {
	for i := range side {
		if gap != NoGap && side[i].EndNS > gap.StartNS {
			return i
		}
	}
	return len(side)
}

// after counts the postings that begin when a gap has ended.
func after(side []Posting, gap Gap) int {
	for i := range side {
		if last := side[len(side)-1-i]; gap != NoGap && last.StartNS < gap.EndNS {
			return i
		}
	}
	return len(side)
}
