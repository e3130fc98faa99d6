package waits

import (
	"math"
	"slices"
)

// eagerShare is the part of the sizes that were seen to be sent without waiting up to which a message counts as one.
const eagerShare = .99

// A located is a message by the calls that posted and completed it; -1: not known.
type located struct {
	send, sent int32 // on the sender's thread
	done       place // of the receive: on that thread of the receiver's rank
	posted     int32 // on the receiver's thread
}

// locate finds the calls of messages, as far as they are of threads that are here.
func locate(run *Run, lanes []lane, m *meaning, mine func(thread int) bool) []located {
	list := make([]located, run.Messages)
	hints := make([][3]int, len(lanes)) // of searches in each thread's calls, as neighbours are near each other
	for i := range list {
		x, of := run.Message(i), located{-1, -1, place{-1, -1}, -1}
		if mine(int(x.From)) {
			from := &lanes[x.From]
			of.send, of.sent = int32(enteredAt(from.EnterNS, x.SendNS, &hints[x.From][0])), x.Sent
			if of.send >= 0 && of.sent < 0 && !m.of(from.Path[of.send]).begins {
				of.sent = of.send
			}
		}
		if mine(int(x.To)) {
			of.done = place{x.To, completing(&lanes[x.To], &x, &hints[x.To])}
			of.posted = int32(enteredAt(lanes[x.To].EnterNS, x.RecvNS, &hints[x.To][1]))
		}
		if of.done.row < 0 {
			of.done = elsewhere(lanes, &x, hints, mine)
		}
		list[i] = of
	}
	return list
}

// messages makes edges of the messages of the run.
func (s *solver) messages() {
	eager := s.eager()
	s.result.Eager = []Eager{{true, eager[1]}, {false, eager[0]}}
	room := make([]int, len(s.lanes))
	for i := range s.located {
		if of := &s.located[i]; of.send >= 0 && of.done.row >= 0 {
			room[of.done.thread]++
		}
	}
	for i, n := range room {
		s.edges[i] = slices.Grow(s.edges[i], n)
	}
	counted := slices.Repeat([]int32{-1}, len(s.lanes)) // by thread: the last send that is counted as not explained
	for i := range s.located {
		m, of := s.run.Message(i), &s.located[i]
		if of.send < 0 || of.done.row < 0 {
			s.result.OneSided++
			continue
		}
		if of.sent < 0 && counted[m.From] != of.send && s.mayWait(&m, of, eager[s.near(&m)]) {
			counted[m.From] = of.send
			l := &s.lanes[m.From]
			l.unexplained(ofSends, of.send, s.run.Main)
		}
		if of.done.thread != m.From && s.completes(of.done) {
			s.edges[of.done.thread] = append(s.edges[of.done.thread], edge{row: of.done.row, from: place{m.From, of.send}, kind: LateSender, halved: m.Halved})
		}
		// A send that was over before its receive began has not waited for it, however large it is.
		waits := func() bool { return m.Bytes > eager[s.near(&m)] && s.lanes[m.From].ExitNS[of.sent] >= m.RecvNS }
		if kind := s.sends(&m, of); of.sent >= 0 && (kind == synchronous || kind == standard && waits()) && s.completes(place{m.From, of.sent}) {
			s.edges[m.From] = append(s.edges[m.From], edge{row: of.sent, from: place{m.To, of.posted}, kind: LateReceiver, halved: m.Halved})
		}
	}
}

// completes says that a call may complete requests: it is no collective or the like, begins none, and is not the one in
// which its process ended, of which it is not known for what it waited.
func (s *solver) completes(p place) bool {
	l := &s.lanes[p.thread]
	of := s.of(l.Path[p.row])
	return of.flow == noFlow && !of.begins && !(l.Unfinished && int(p.row) == l.calls()-1)
}

// mayWait says that whatever completes a send waits for the receive, which is posted later: in a window it may be
// outside.
func (s *solver) mayWait(m *Message, of *located, eager int64) bool {
	l, kind := &s.lanes[m.From], s.sends(m, of)
	died := l.Unfinished && int(of.send) == l.calls()-1
	return (kind == synchronous || kind == standard && m.Bytes > eager) && m.RecvNS > m.SendNS && !s.run.Known && !died
}

// sends is how a message was sent; not where it is not known when its receive was begun, or where both are of one rank.
func (s *solver) sends(m *Message, of *located) sending {
	from, to := &s.lanes[m.From], &s.lanes[m.To]
	if of.send < 0 || of.posted < 0 || from.World == to.World && from.Rank == to.Rank {
		return noSend
	}
	return s.of(from.Path[of.send]).sends
}

// near is 1 of a message within a node, else 0.
func (s *solver) near(m *Message) int {
	if s.lanes[m.From].Node == s.lanes[m.To].Node {
		return 1
	}
	return 0
}

// eager is up to which size messages do not wait for their receivers, between nodes and within one, by those that did
// not; -1: none was seen.
func (s *solver) eager() (limits [2]int64) {
	var proofs [2][]int64
	for i := range s.located {
		m, of := s.run.Message(i), &s.located[i]
		if of.sent < 0 || s.sends(&m, of) != standard {
			continue
		}
		if left := s.lanes[m.From].ExitNS[of.sent]; m.RecvNS-left > s.uncertainNS(m.From, m.To) {
			proofs[s.near(&m)] = append(proofs[s.near(&m)], m.Bytes)
		}
	}
	for k, sizes := range proofs {
		limits[k] = -1
		if len(sizes) > 0 {
			slices.Sort(sizes)
			limits[k] = sizes[int(math.Ceil(eagerShare*float64(len(sizes))))-1]
		}
	}
	return limits
}

// completing is the call that completed the receive of a message, on the thread that has posted it: the one that ended
// when it was there, or the one that posted it and was still inside. -1 = none.
func completing(l *lane, m *Message, hints *[3]int) int32 {
	if row := leftAt(l.ExitNS, m.DoneNS, &hints[2]); row >= 0 {
		return int32(row)
	}
	if row := enteredAt(l.EnterNS, m.RecvNS, &hints[1]); row >= 0 && m.DoneNS >= m.RecvNS && m.DoneNS < l.ExitNS[row] {
		return int32(row)
	}
	return -1
}

// elsewhere is the call on another thread of the rank that ended when a message was there: on the first such thread
// that is here.
func elsewhere(lanes []lane, m *Message, hints [][3]int, mine func(thread int) bool) place {
	to := &lanes[m.To]
	same := func(i int32) bool {
		return i >= 0 && int(i) < len(lanes) && lanes[i].World == to.World && lanes[i].Rank == to.Rank
	}
	first := m.To
	for same(first - 1) {
		first--
	}
	for i := first; same(i); i++ {
		if i == m.To || !mine(int(i)) {
			continue
		}
		if row := leftAt(lanes[i].ExitNS, m.DoneNS, &hints[i][2]); row >= 0 {
			return place{i, int32(row)}
		}
	}
	return place{-1, -1}
}

// firstFrom is the first place in a column that ascends at which there is ns or more, near the hint most of the time.
func firstFrom(column []int64, ns int64, hint *int) int {
	var lo, hi int
	step, at := 1, min(*hint, len(column))
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
