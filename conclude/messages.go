package conclude

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A posting is a send or a receive, by the calls that posted and completed it.
type posting struct {
	thread, doneThread int32 // of the run
	row                uint32
	doneRow            int64 // -1: none that is known
	bytes              uint64
	ordinal            uint64 // of its kind in its stream, plus 1; 0: not known
	most               bool   // bytes are the most that it can have received
	startNS, endNS     int64  // of the posting call
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
	sentNS              int64 // entry of the send, by its node's clock
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.thread, q.thread), cmp.Compare(p.row, q.row))
}

func (p place) clock() clock.Place { return clock.Place{Thread: p.thread, Row: int32(p.row)} }

// matching is what became of a run's messages.
type matching struct {
	pairs           []pair
	sends, receives int64               // of all members
	lateSenderNS    int64               // how long the calls of all ranks that received waited for messages that had not been sent: each as long as the latest of its messages
	unpaired        map[string]*trouble // by reason
	streams         map[stream]*streamSides
	opens           map[open]interval
	untold          map[untold][]posting
}

// trouble counts sends and receives without a counterpart.
type trouble struct{ sends, receives int64 }

// Why a send or receive has no counterpart.
const (
	whyGap          = "records are missing"
	whyUnrecorded   = "the other side has not recorded"
	whyElsewhere    = "the other side is in another MPI world, which is not known"
	whyCommunicator = "its communicator is not known"
	whyConcurrent   = "the order is ambiguous: several threads, or one call that starts several"
	whyMismatch     = "the bytes of both sides differ"
	whyNear         = "the completion of similar ones was not recorded"
	whyUnended      = "its completion was not recorded"
	whyUntold       = "MPI did not report the received message"
	whyNone         = "no counterpart on the other side"
)

// match pairs the run's sends with its receives: in each stream the first with the first, the second with the second and so
// on, since messages of one stream do not overtake each other and receives that fit them take them in the order in which they were
// posted. What a wildcard became counts. Where records are missing on either side the order holds from the beginning to
// the first gap and, if both processes have called MPI_Finalize, by when everything that was sent has been
// received, from the end back to the last. Between two gaps nothing is paired: a message can be under way across any collective, so
// that equal numbers of sends and receives between two of them prove nothing.
//
// Where not all of a process's transfers came the order says nothing, and a send goes with the receive of the same ordinal.
//
// It is collective: each member pairs the streams that end at its processes.
func match(h *history, c *communicators) (*matching, error) {
	m := &matching{
		unpaired: make(map[string]*trouble), streams: make(map[stream]*streamSides), opens: make(map[open]interval), untold: make(map[untold][]posting),
	}
	for i := range h.processes {
		if h.mine(int32(i)) {
			cutAtGaps(h, i)
		}
	}
	if err := h.shareCuts(); err != nil {
		return nil, err
	}
	for i := range h.processes {
		if !h.mine(int32(i)) {
			continue
		}
		for _, thread := range h.processes[i].threads {
			m.post(h, c, i, thread)
		}
	}
	if err := m.shareOpens(h); err != nil {
		return nil, err
	}
	if err := m.deliver(h); err != nil {
		return nil, err
	}
	m.settleUntold(h)
	for key, sides := range m.streams {
		if !h.processes[key.from].whole || !h.processes[key.to].whole {
			m.pairByOrdinals(key, sides)
			continue
		}
		sides.sends = inOrder(sides.sends)
		sides.receives = inOrder(sides.receives)
		m.pair(h, key, sides)
	}
	m.streams, m.opens = nil, nil
	return m, m.addUp(h.team)
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
	chunks := h.frozen.Transfers(h.rings[thread])
	for k := range chunks {
		x := &chunks[k]
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
				thread: int32(thread), doneThread: int32(thread), row: row, doneRow: x.Done[i], bytes: x.Bytes[i], most: x.Untold[i],
				startNS: calls.EnterNS[row], endNS: calls.ExitNS[row],
			}
			if !p.TransfersEnd.GetOrdinalsVoid() {
				o.ordinal = x.OrdinalOf(i)
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
				if o.most && o.doneRow >= 0 {
					key := untold{int32(of), id, other, x.Tag[i]}
					m.untold[key] = append(m.untold[key], o)
					continue
				}
				m.leaveOpen(open{int32(of), id, other, x.Tag[i], !send}, o)
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
			sides := m.sidesOf(key)
			if send {
				sides.sends = append(sides.sends, o)
			} else {
				sides.receives = append(sides.receives, o)
			}
		}
	}
}

func (m *matching) sidesOf(key stream) *streamSides {
	sides := m.streams[key]
	if sides == nil {
		sides = new(streamSides)
		m.streams[key] = sides
	}
	return sides
}

// leaveOpen remembers when there was a posting of which nothing tells what it took or sent.
func (m *matching) leaveOpen(key open, o posting) {
	was, there := m.opens[key]
	if !there {
		was = never
	}
	m.opens[key] = was.union(interval{o.startNS, o.endNS})
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

// draw is collective: it draws the messages that the matching has found in the run's time, of all members at each, and adds up how long calls waited for messages that
// had not been sent.
func (h *history) draw() error {
	own, err := h.messages(h.run, h.matching)
	if err != nil {
		return err
	}
	late := make(trace.LateSenders)
	for i, p := range h.matching.pairs {
		late.Add(int(p.done.thread), int(p.done.row), own[i].LateNS)
	}
	sum := []int64{late.TotalNS()}
	if err := h.team.AllReduce(sum, team.Sum); err != nil {
		return err
	}
	h.matching.lateSenderNS = sum[0]
	h.run.Messages, err = h.shareMessages(own)
	return err
}

// messages is collective: it draws pairs in a run's time, and puts them and the messages into the order of those. Only the receivers' calls have to be here.
func (h *history) messages(run *trace.Run, m *matching) ([]trace.Message, error) {
	sends := make([]place, len(m.pairs))
	for i, p := range m.pairs {
		sends[i] = p.send
	}
	sentNS, err := h.entries(run, sends)
	if err != nil {
		return nil, err
	}
	type drawn struct {
		trace.Message
		pair
	}
	list := make([]drawn, len(m.pairs))
	for i, p := range m.pairs {
		to, by := &run.Threads[p.receive.thread].Calls, &run.Threads[p.done.thread].Calls
		enterNS, exitNS := by.EnterNS[p.done.row], by.ExitNS[p.done.row]
		list[i] = drawn{trace.Message{
			From: int(p.send.thread), To: int(p.receive.thread), SendNS: sentNS[i], PhysicalSendNS: sentNS[i],
			RecvNS: to.EnterNS[p.receive.row], PhysicalRecvNS: exitNS, Bytes: int64(p.bytes), Tag: int64(p.tag),
		}, p}
		list[i].LateNS = list[i].LateIn(enterNS, exitNS)
	}
	slices.SortFunc(list, func(a, b drawn) int {
		return cmp.Or(a.Message.Compare(b.Message), a.send.compare(b.send), a.receive.compare(b.receive), a.done.compare(b.done))
	})
	messages := slices.Grow([]trace.Message(nil), len(list))
	for i := range list {
		messages = append(messages, list[i].Message)
		m.pairs[i] = list[i].pair
	}
	return messages, nil
}
