package agent

import (
	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/agent/window"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// perMessage is how many rows of collectives or gaps go into one message.
const perMessage = 4096

// meaning is what the rows of a ring mean, of which the messages wait to be sent.
type meaning struct {
	thread      *message.Thread
	waits       bool
	collectives *moriensv1.Collectives
	lastCall    uint64 // in collectives
	gaps        *moriensv1.Gaps
}

// means are those of a process, and a message.Sink.
type means struct {
	of    map[*message.Thread]*meaning
	last  *meaning   // that was asked for
	waits []*meaning // of which something does
	out   *outgoing
	send  func(*moriensv1.ReportRequest)
}

func newMeans(out *outgoing, send func(*moriensv1.ReportRequest)) *means {
	return &means{of: make(map[*message.Thread]*meaning), out: out, send: send}
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

// Moved has a move wait for the next transaction.
func (s *means) Moved(t *message.Thread, m *message.Move) {
	x := window.Move{
		Ring: t.ID(), Epoch: m.Epoch,
		Lane:     section.Lane{Kind: section.MoveKind(m.Kind), Comm: m.Comm, Peer: m.Peer, Tag: m.Tag},
		Transfer: section.Transfer{Row: m.Row, Bytes: m.Bytes, Ordinal: m.Ordinal, Channel: uint32(m.Channel + 1), Untold: m.Untold},
	}
	if m.By != nil {
		if x.Done = int64(m.Done - m.Row); x.Done >= 0 {
			x.Done++
		}
		if m.By != t {
			x.Transfer.Ring = m.By.ID()
		}
	}
	s.out.moves = append(s.out.moves, x)
	s.out.rows++
	s.out.begin()
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
		s.sendCollectives(of)
		s.sendGaps(of)
		of.waits = false
		if of.thread.Ended() {
			delete(s.of, of.thread)
		}
	}
	s.waits, s.last = s.waits[:0], nil
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
