package conclude

import (
	"cmp"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// inOrder sorts the postings of one side, and marks those whose order is open.
func inOrder(side []posting) []posting {
	slices.SortFunc(side, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.startNS, b.startNS), cmp.Compare(a.thread, b.thread), cmp.Compare(a.row, b.row), cmp.Compare(a.doneRow, b.doneRow))
	})
	for i := 0; i < len(side); {
		endNS := side[i].endNS
		end := i + 1
		for end < len(side) && (side[end].startNS < endNS || sameCall(side[end], side[end-1])) {
			endNS = max(endNS, side[end].endNS)
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

func sameCall(a, b posting) bool { return a.thread == b.thread && a.row == b.row }

// cutOf is the time from the first to the last gap of one side of a stream.
func (m *matching) cutOf(h *history, process int32, key stream, receive bool) interval {
	cut := h.processes[process].cut
	peer := key.from
	if !receive {
		peer = key.to
	}
	for _, o := range [...]open{
		{process, key.comm, peer, key.tag, receive}, {process, key.comm, -1, key.tag, receive},
		{process, key.comm, peer, -1, receive}, {process, key.comm, -1, -1, receive},
	} {
		if at, there := m.opens[o]; there {
			cut = cut.union(at)
		}
	}
	return cut
}

// pair pairs the postings of a stream.
func (m *matching) pair(h *history, key stream, s *streamSides) {
	sendCut, receiveCut := m.cutOf(h, key.from, key, false), m.cutOf(h, key.to, key, true)
	n := min(before(s.sends, sendCut), before(s.receives, receiveCut))
	sound := true
	for i := 0; i < n && sound; i++ {
		sound = m.draw(key, &s.sends[i], &s.receives[i])
	}
	gaps := sendCut != never || receiveCut != never
	back := 0
	if gaps && sound && key.channel < 0 && finalized(h, key.from) && finalized(h, key.to) {
		back = min(after(s.sends, sendCut), after(s.receives, receiveCut), len(s.sends)-n, len(s.receives)-n)
	}
	sends, receives := s.sends[len(s.sends)-back:], s.receives[len(s.receives)-back:]
	for i := range sends {
		sound = sound && receives[i].takes(&sends[i]) // else the last do not belong together either
	}
	if sound {
		for i := range sends {
			m.draw(key, &sends[i], &receives[i])
		}
	} else {
		mismatch(s.sends)
		mismatch(s.receives)
	}
	rest := whyRest(h, key, gaps)
	for _, o := range s.sends {
		m.unpairedFor(o.fate, rest, true)
	}
	for _, o := range s.receives {
		m.unpairedFor(o.fate, rest, false)
	}
}

// pairByOrdinals pairs those postings of a stream of which both sides tell the ordinal, each once. What is left may have its counterpart among what
// did not come.
func (m *matching) pairByOrdinals(key stream, s *streamSides) {
	receives, received := make(map[uint64]*posting), make(map[uint64]int)
	for i := range s.receives {
		o := &s.receives[i]
		receives[o.ordinal] = o
		received[o.ordinal]++
	}
	sent := make(map[uint64]int)
	for i := range s.sends {
		sent[s.sends[i].ordinal]++
	}
	for i := range s.sends {
		o := &s.sends[i]
		// Of several that say they are the same none is known to be.
		if r := receives[o.ordinal]; r != nil && o.ordinal > 0 && sent[o.ordinal] == 1 && received[o.ordinal] == 1 && r.doneRow >= 0 && r.takes(o) {
			m.draw(key, o, r)
		}
	}
}

// whyRest is why what is left of a stream has no counterpart.
func whyRest(h *history, key stream, gaps bool) string {
	switch {
	case h.processes[key.from].cut != never || h.processes[key.to].cut != never:
		return whyGap
	case gaps:
		return whyNear
	}
	return whyNone
}

// unpairedFor counts a posting without a counterpart; rest is why there is none for it where its fate does not tell.
func (m *matching) unpairedFor(f fate, rest string, send bool) {
	switch {
	case f == paired:
	case f == concurrent:
		m.count(whyConcurrent, send, 1)
	case f == mismatched:
		m.count(whyMismatch, send, 1)
	default:
		m.count(rest, send, 1)
	}
}

// draw pairs a send with a receive, unless the order of either is open; false where they cannot belong together.
func (m *matching) draw(key stream, send, receive *posting) bool {
	if send.fate == concurrent || receive.fate == concurrent {
		send.fate, receive.fate = concurrent, concurrent
		return true
	}
	if !receive.takes(send) && key.channel < 0 {
		return false
	}
	send.fate, receive.fate = paired, paired
	m.pairs = append(m.pairs, pair{
		place{send.thread, send.row}, place{receive.thread, receive.row}, place{receive.doneThread, uint32(receive.doneRow)}, key.tag, send.bytes, send.startNS,
	})
	return true
}

// takes says whether a receive can have received what was sent, by its bytes.
func (receive *posting) takes(send *posting) bool {
	return send.bytes == receive.bytes || receive.most && send.bytes < receive.bytes
}

// mismatch marks what is left of a side that does not tell what it seems to.
func mismatch(side []posting) {
	for i := range side {
		if side[i].fate == unmatched {
			side[i].fate = mismatched
		}
	}
}

func finalized(h *history, process int32) bool {
	return h.processes[process].End.GetHow() == moriensv1.ProcessEnd_HOW_FINALIZED
}

// before counts the postings that are over when a gap begins.
func before(side []posting, gap interval) int {
	for i := range side {
		if gap != never && side[i].endNS > gap.startNS {
			return i
		}
	}
	return len(side)
}

// after counts the postings that begin when a gap has ended.
func after(side []posting, gap interval) int {
	for i := range side {
		if last := side[len(side)-1-i]; gap != never && last.startNS < gap.endNS {
			return i
		}
	}
	return len(side)
}
