package agent

import (
	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/agent/spare"
	moriensv1 "moriens/proto/moriens/v1"
)

// perMessage is how many rows of moves, collectives or gaps go into one message.
const perMessage = 4096

// meaning is what the rows of a ring mean, of which the messages wait to be sent.
type meaning struct {
	thread      *message.Thread
	waits       bool
	transfers   *moriensv1.Transfers
	lastRow     uint64 // in transfers
	spare       spare.List[moriensv1.Transfers]
	collectives *moriensv1.Collectives
	lastCall    uint64 // in collectives
	gaps        *moriensv1.Gaps
}

// means are those of a process, and a message.Sink.
type means struct {
	of    map[*message.Thread]*meaning
	last  *meaning   // that was asked for
	waits []*meaning // of which something does
	send  func(*moriensv1.ReportRequest)
}

func newMeans(send func(*moriensv1.ReportRequest)) *means {
	return &means{of: make(map[*message.Thread]*meaning), send: send}
}

// thread is that of a ring, of which something is about to wait.
func (s *means) thread(t *message.Thread) *meaning {
	if s.last == nil || s.last.thread != t {
		s.last = s.of[t]
		if s.last == nil {
			s.last = &meaning{thread: t}
			s.of[t] = s.last
		}
	}
	if !s.last.waits {
		s.last.waits = true
		s.waits = append(s.waits, s.last)
	}
	return s.last
}

// Moved appends a move to what is sent of its thread.
func (s *means) Moved(t *message.Thread, m *message.Move) {
	of := s.thread(t)
	if of.transfers != nil && (of.transfers.Epoch != m.Epoch || len(of.transfers.Kind) == perMessage) {
		s.sendTransfers(of)
	}
	if of.transfers == nil {
		of.transfers, of.lastRow = of.emptyTransfers(), 0
		of.transfers.Ring, of.transfers.Epoch = t.ID(), m.Epoch
	}
	x := of.transfers
	n := uint32(len(x.Kind))
	x.Kind = append(x.Kind, m.Kind)
	x.Row = append(x.Row, int64(m.Row-of.lastRow))
	of.lastRow = m.Row
	distance := int64(0)
	if m.By != nil {
		if distance = int64(m.Done - m.Row); distance >= 0 {
			distance++
		}
		if m.By != t {
			x.Elsewhere = append(x.Elsewhere, n)
			x.DoneRing = append(x.DoneRing, m.By.ID())
		}
	}
	x.Done = append(x.Done, distance)
	x.Peer, x.Tag, x.Comm = append(x.Peer, m.Peer), append(x.Tag, m.Tag), append(x.Comm, m.Comm)
	x.Bytes, x.Ordinal = append(x.Bytes, m.Bytes), append(x.Ordinal, m.Ordinal)
	if m.Channel >= 0 {
		x.Partitioned = append(x.Partitioned, n)
		x.Channel = append(x.Channel, uint32(m.Channel))
	}
	if m.Untold {
		x.Untold = append(x.Untold, n)
	}
}

// emptyTransfers is a message without rows.
func (of *meaning) emptyTransfers() *moriensv1.Transfers {
	x := of.spare.Take()
	if x == nil {
		return new(moriensv1.Transfers)
	}
	x.Kind, x.Row, x.Done, x.Peer, x.Tag = x.Kind[:0], x.Row[:0], x.Done[:0], x.Peer[:0], x.Tag[:0]
	x.Comm, x.Bytes, x.Ordinal = x.Comm[:0], x.Bytes[:0], x.Ordinal[:0]
	x.Elsewhere, x.DoneRing, x.Partitioned, x.Channel, x.Untold = x.Elsewhere[:0], x.DoneRing[:0], x.Partitioned[:0], x.Channel[:0], x.Untold[:0]
	return x
}

// collective appends the collective call of a row.
func (s *means) collective(t *message.Thread, m *message.Matcher, row uint64, c *ring.Collective) {
	of := s.thread(t)
	if of.collectives == nil {
		of.collectives, of.lastCall = &moriensv1.Collectives{Ring: t.ID()}, 0
	}
	x := of.collectives
	x.Row = append(x.Row, int64(row-of.lastCall))
	of.lastCall = row
	comm, root, ordinal := m.Collective(c)
	x.Comm, x.Ordinal, x.Root = append(x.Comm, comm), append(x.Ordinal, ordinal), append(x.Root, root)
	x.Sent, x.Received = append(x.Sent, c.Sent), append(x.Received, c.Received)
	if len(x.Row) == perMessage {
		s.sendCollectives(of)
	}
}

// Gap says that calls are missing before a row, or that nothing describes what it has moved.
func (s *means) Gap(t *message.Thread, row uint64, inside bool) {
	of := s.thread(t)
	if of.gaps != nil && len(of.gaps.Before)+len(of.gaps.Inside) == perMessage {
		s.sendGaps(of)
	}
	if of.gaps == nil {
		of.gaps = &moriensv1.Gaps{Ring: t.ID()}
	}
	if inside {
		of.gaps.Inside = append(of.gaps.Inside, row)
	} else {
		of.gaps.Before = append(of.gaps.Before, row)
	}
}

// flush sends what waits. A thread that has ended may still have a move that ends later.
func (s *means) flush() {
	for _, of := range s.waits {
		s.sendTransfers(of)
		s.sendCollectives(of)
		s.sendGaps(of)
		of.waits = false
		if of.thread.Ended() {
			delete(s.of, of.thread)
		}
	}
	s.waits, s.last = s.waits[:0], nil
}

func (s *means) sendTransfers(of *meaning) {
	if of.transfers != nil {
		s.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: of.transfers}})
		of.transfers = nil
	}
}

func (s *means) sendCollectives(of *meaning) {
	if of.collectives != nil {
		s.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: of.collectives}})
		of.collectives = nil
	}
}

func (s *means) sendGaps(of *meaning) {
	if of.gaps != nil {
		s.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: of.gaps}})
		of.gaps = nil
	}
}

// reuse takes back a message that is no longer needed, to reuse its memory.
func (s *means) reuse(x *moriensv1.Transfers) {
	for t, of := range s.of {
		if t.ID() == x.Ring {
			of.spare.Put(x)
		}
	}
}
