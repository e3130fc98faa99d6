package waits

import (
	"math"
	"slices"
)

// eagerShare is the part of the sizes that were seen to be sent without waiting up to which a message counts as one.
const eagerShare = .99

// An ack is a message of which the call that completed the send is known, and the one that posted the receive.
type ack struct {
	sent, posted place
	bytes        int64
	sameNode     bool
	synchronous  bool
}

// messages makes edges of the messages of the run.
func (s *solver) messages() {
	n := len(s.lanes)
	hints := make([][3]int, n) // of searches in each thread's calls, as neighbours are near each other
	var acks []ack
	var proofs [2][]int64 // sizes that were sent without waiting, to another node and on the same one
	for i := range s.run.Messages {
		m := s.run.Message(i)
		from, to := &s.lanes[m.From], &s.lanes[m.To]
		send := enteredAt(from.EnterNS, m.SendNS, &hints[m.From][0])
		done, row := s.completing(&m, hints)
		if send < 0 || row < 0 {
			s.result.OneSided++
			continue
		}
		if done != m.From {
			s.edges[done] = append(s.edges[done], edge{int32(row), place{m.From, int32(send)}, LateSender})
		}
		of := s.calls[s.function[from.Path[send]]]
		sent := int(m.Sent)
		if sent < 0 && !of.begins {
			sent = send
		}
		if of.sends != standard && of.sends != synchronous || sent < 0 || from.World == to.World && from.Rank == to.Rank {
			continue
		}
		posted := enteredAt(to.EnterNS, m.RecvNS, &hints[m.To][1])
		if posted < 0 {
			continue
		}
		a := ack{place{m.From, int32(sent)}, place{m.To, int32(posted)}, m.Bytes, from.Node == to.Node, of.sends == synchronous}
		acks = append(acks, a)
		if left := from.ExitNS[sent]; !a.synchronous && left < m.RecvNS && m.RecvNS-left > s.uncertainNS(m.From, m.To) {
			k := 0
			if a.sameNode {
				k = 1
			}
			proofs[k] = append(proofs[k], m.Bytes)
		}
	}
	var eager [2]int64
	for k, sizes := range proofs {
		eager[k] = -1
		if len(sizes) > 0 {
			slices.Sort(sizes)
			eager[k] = sizes[int(math.Ceil(eagerShare*float64(len(sizes))))-1]
		}
	}
	s.result.Eager = []Eager{{true, eager[1]}, {false, eager[0]}}
	for i := range acks {
		a := &acks[i]
		limit := eager[0]
		if a.sameNode {
			limit = eager[1]
		}
		if a.synchronous || a.bytes > limit {
			s.edges[a.sent.thread] = append(s.edges[a.sent.thread], edge{a.sent.row, a.posted, LateReceiver})
		}
	}
}

// completing is the call that completed the receive of a message: the one that ended when it was there, on the thread
// that has posted it, or else on another of the rank; or the one that posted it and was still inside. -1 = none.
func (s *solver) completing(m *Message, hints [][3]int) (thread int32, row int) {
	own := &s.lanes[m.To]
	if row := leftAt(own.ExitNS, m.DoneNS, &hints[m.To][2]); row >= 0 {
		return m.To, row
	}
	if row := enteredAt(own.EnterNS, m.RecvNS, &hints[m.To][1]); row >= 0 && m.DoneNS >= m.RecvNS && m.DoneNS < own.ExitNS[row] {
		return m.To, row
	}
	same := func(i int32) bool {
		return i >= 0 && int(i) < len(s.lanes) && s.lanes[i].World == own.World && s.lanes[i].Rank == own.Rank
	}
	first := m.To
	for same(first - 1) {
		first--
	}
	for i := first; same(i); i++ {
		if row := leftAt(s.lanes[i].ExitNS, m.DoneNS, &hints[i][2]); row >= 0 {
			return i, row
		}
	}
	return -1, -1
}

// firstFrom is the first place in a column that ascends at which there is ns or more, near the hint most of the time.
func firstFrom(column []int64, ns int64, hint *int) int {
	lo, hi, step := 0, len(column), 1
	at := min(*hint, len(column))
	if at < len(column) && column[at] < ns {
		for lo = at + 1; lo+step <= len(column) && column[lo+step-1] < ns; step *= 2 {
			lo += step
		}
		hi = min(lo+step, len(column))
	} else {
		for hi = at; hi-step >= 0 && column[hi-step] >= ns; step *= 2 {
			hi -= step
		}
		lo = max(hi-step, 0)
	}
	i, _ := slices.BinarySearch(column[lo:hi], ns)
	*hint = lo + i
	return lo + i
}

// enteredAt is the call that began at a time, -1 = none; of several the last, because those before it have no length.
func enteredAt(enterNS []int64, ns int64, hint *int) int {
	i := firstFrom(enterNS, ns, hint)
	if i == len(enterNS) || enterNS[i] != ns {
		return -1
	}
	for i+1 < len(enterNS) && enterNS[i+1] == ns {
		i++
	}
	return i
}

// leftAt is the call that ended at a time, -1 = none; of several the first.
func leftAt(exitNS []int64, ns int64, hint *int) int {
	i := firstFrom(exitNS, ns, hint)
	if i == len(exitNS) || exitNS[i] != ns {
		return -1
	}
	return i
}
