package moriens

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/clock"
	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A posting is a send or a receive, by the calls that posted and completed it.
type posting struct {
	thread, doneThread int32 // of the run
	row                uint32
	doneRow            int64 // -1: none that is known
	bytes              uint64
	startNS, endNS     int64 // of the posting call
	fate               fate
}

// A fate is what became of a posting in the matching.
type fate uint8

const (
	unmatched fate = iota
	paired
	concurrent // calls of several threads, or one that starts several, leave the order open
	mismatched // the bytes of the two sides differ: something is not as it seems
)

// A stream is the messages from one process to another that overtake each other never: those of one communicator
// and one tag (MPI-4.1, section 3.5).
type stream struct {
	comm     uint64 // id
	from, to int32  // of the history's processes
	tag      int32
	channel  int64 // of partitioned ones; -1
}

// streamSides are the postings of a stream's two sides.
type streamSides struct {
	sends, receives []posting
}

// An open is postings of which no end or no peer is known and that fit many streams: what they took or sent, if anything, nobody saw.
type open struct {
	process   int32
	comm      uint64
	peer, tag int32 // of peer the process; -1 any
	receive   bool
}

// A place is a call of the run.
type place struct {
	thread int32
	row    uint32
}

// A pair is a send and the receive that it went to, by the calls that posted them and the one that completed the receive.
type pair struct {
	send, receive, done place
	tag                 int32
	bytes               uint64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.thread, q.thread), cmp.Compare(p.row, q.row))
}

func (p place) clock() clock.Place { return clock.Place{Thread: p.thread, Row: int32(p.row)} }

// matching is what became of a run's messages.
type matching struct {
	pairs           []pair
	sends, receives int64
	unpaired        map[string]*trouble // by reason
	streams         map[stream]*streamSides
	opens           map[open]interval
}

// trouble counts sends and receives without a counterpart.
type trouble struct{ sends, receives int64 }

// Why a send or receive has no counterpart.
const (
	whyGap          = "records are missing"
	whyUnrecorded   = "the other side has not recorded"
	whyElsewhere    = "the other side is of another MPI world, which is not known"
	whyCommunicator = "its communicator is not known"
	whyConcurrent   = "threads or a call that starts several leave the order open"
	whyMismatch     = "the bytes of both sides differ"
	whyNear         = "of others like it the end was not seen"
	whyUnended      = "its end was not seen"
	whyNone         = "the other side has none"
)

// match pairs the run's sends with its receives: in each stream the first with the first, the second with the second and so
// on, since messages of one stream do not overtake each other and receives that fit them take them in the order in which they were
// posted. What a wildcard became counts. Where records are missing on either side the order holds from the beginning to
// the first gap and, if both processes have called MPI_Finalize, by when everything that was sent has been
// received, from the end back to the last. Between two gaps nothing is paired: a message can be under way across any collective, so
// that equal numbers of sends and receives between two of them prove nothing.
func match(h *history, c *communicators) *matching {
	m := &matching{
		unpaired: make(map[string]*trouble), streams: make(map[stream]*streamSides), opens: make(map[open]interval),
	}
	for i := range h.processes {
		cutAtGaps(h, i)
		for _, thread := range h.processes[i].threads {
			m.post(h, c, i, thread)
		}
	}
	for key, sides := range m.streams {
		sides.sends = inOrder(sides.sends)
		sides.receives = inOrder(sides.receives)
		m.pair(h, key, sides)
	}
	m.streams, m.opens = nil, nil
	return m
}

// never and always are cuts: nothing is missing, and anything may be.
var (
	never  = interval{math.MaxInt64, math.MinInt64}
	always = interval{math.MinInt64, math.MaxInt64}
)

// cutAtGaps finds the time from the first to the last gap in what a process tells.
func cutAtGaps(h *history, i int) {
	p := &h.processes[i]
	p.cut = never
	if p.TransfersEnd == nil || len(p.Agent.Refused) > 0 || p.End.GetThreadsFailed() > 0 {
		p.cut = always
		return
	}
	for _, fault := range p.Agent.Faults { // a ring that could not even be opened is named in the text alone
		if strings.Contains(fault.Corrupt, fmt.Sprintf("%016x", p.Info.Process)) {
			p.cut = always
			return
		}
	}
	for _, r := range p.Rings {
		if r.Calls == 0 && len(r.Gaps.Before) > 0 {
			p.cut = always
		}
	}
	for _, thread := range p.threads {
		calls, r := &h.run.Threads[thread].Calls, h.rings[thread]
		for _, row := range r.Gaps.Before {
			gap := always
			if row > 0 {
				gap.startNS = calls.ExitNS[row-1]
			}
			if row < r.Calls {
				gap.endNS = calls.EnterNS[row]
			}
			p.cut = p.cut.union(gap)
		}
		for _, row := range r.Gaps.Inside {
			p.cut = p.cut.union(interval{calls.EnterNS[row], calls.ExitNS[row]})
		}
	}
}

// post sorts the sends and receives of a thread into their streams.
func (m *matching) post(h *history, c *communicators, of, thread int) {
	p, calls := &h.processes[of], &h.run.Threads[thread].Calls
	for k := range h.rings[thread].Transfers {
		x := &h.rings[thread].Transfers[k]
		for i := range x.Len() {
			send := x.Kind[i] == uint8(moriensv1.Transfers_KIND_SENT)
			if !send && x.Kind[i] != uint8(moriensv1.Transfers_KIND_RECEIVED) {
				continue
			}
			if send {
				m.sends++
			} else {
				m.receives++
			}
			row := x.Row[i]
			o := posting{
				thread: int32(thread), doneThread: int32(thread), row: row, doneRow: x.Done[i], bytes: x.Bytes[i],
				startNS: calls.EnterNS[row], endNS: calls.ExitNS[row],
			}
			if r := x.DoneRing[i]; r != nil {
				o.doneThread = int32(h.threadOf[r])
			}
			unseen := calls.Unfinished && int(row) == calls.Len()-1
			if unseen {
				o.endNS = math.MaxInt64
			}
			member, known := p.Comms[x.Comm[i]]
			if !known || c.doubtful[member.Info.Id] {
				m.count(whyCommunicator, send, 1)
				continue
			}
			id := member.Info.Id
			other := int32(-1)
			if x.Peer[i] >= 0 {
				to := c.peer(h, of, x.Comm[i], x.Peer[i])
				if to == nobody {
					m.count(whyNobody(member), send, 1)
					continue
				}
				if other = int32(to.process); other < 0 {
					m.count(whyUnrecorded, send, 1)
					continue
				}
			}
			if other < 0 || x.Tag[i] < 0 || o.doneRow < 0 && (!send || p.cut != never) {
				key := open{int32(of), id, other, x.Tag[i], !send}
				was, there := m.opens[key]
				if !there {
					was = never
				}
				m.opens[key] = was.union(interval{o.startNS, o.endNS})
				m.count(whyUnended, send, 1)
				continue
			}
			key := stream{id, int32(of), other, x.Tag[i], -1}
			if channel, partitioned := x.Channel[i]; partitioned {
				key.channel = int64(channel)
			}
			if !send {
				key.from, key.to = other, int32(of)
			}
			sides := m.streams[key]
			if sides == nil {
				sides = new(streamSides)
				m.streams[key] = sides
			}
			if send {
				sides.sends = append(sides.sends, o)
			} else {
				sides.receives = append(sides.receives, o)
			}
		}
	}
}

// whyNobody says why a peer cannot be found.
func whyNobody(m store.Member) string {
	if m.Info.Cut {
		return whyCommunicator
	}
	return whyElsewhere
}

func (m *matching) count(why string, send bool, n int64) {
	t := m.unpaired[why]
	if t == nil {
		t = new(trouble)
		m.unpaired[why] = t
	}
	if send {
		t.sends += n
	} else {
		t.receives += n
	}
}

// lateSenderNS is how long the calls of all ranks that received waited for messages that had not been sent: each as long as the latest of
// its messages.
func (m *matching) lateSenderNS(messages []trace.Message) int64 {
	late := make(map[place]int64)
	for i, p := range m.pairs {
		if ns := messages[i].LateNS; ns > 0 {
			late[p.done] = max(late[p.done], ns)
		}
	}
	var sum int64
	for _, ns := range late {
		sum += ns
	}
	return sum
}

// messages draws the pairs in the run's time, and puts them into the order of their sends.
func (m *matching) messages(run *trace.Run) []trace.Message {
	sentNS := func(p pair) int64 { return run.Threads[p.send.thread].Calls.EnterNS[p.send.row] }
	slices.SortFunc(m.pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(sentNS(a), sentNS(b)), a.send.compare(b.send), a.receive.compare(b.receive), a.done.compare(b.done),
			cmp.Compare(a.tag, b.tag), cmp.Compare(a.bytes, b.bytes))
	})
	list := slices.Grow([]trace.Message(nil), len(m.pairs))
	for _, p := range m.pairs {
		from, to, by := &run.Threads[p.send.thread].Calls, &run.Threads[p.receive.thread].Calls, &run.Threads[p.done.thread].Calls
		sendNS := from.EnterNS[p.send.row]
		enterNS, exitNS := by.EnterNS[p.done.row], by.ExitNS[p.done.row]
		list = append(list, trace.Message{
			From: int(p.send.thread), To: int(p.receive.thread), SendNS: sendNS, PhysicalSendNS: sendNS,
			RecvNS: to.EnterNS[p.receive.row], PhysicalRecvNS: exitNS, Bytes: int64(p.bytes), Tag: int64(p.tag),
			LateNS: max(0, min(sendNS, exitNS)-enterNS),
		})
	}
	return list
}
