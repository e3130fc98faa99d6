package otf2

import (
	"moriens/trace"
)

// A looseEvent is of no call.
type looseEvent struct {
	timeNS int64
	event  event
	end    endRef
}

// Sides of a call: behind its enter, before its leave.
const (
	atEnter = iota
	atLeave
)

// A callEvent belongs to one side of a call.
type callEvent struct {
	call, side int
	event      event
	end        endRef
}

// looseUntil emits the events up to a time that belong to no call.
func (s *stream) looseUntil(nowNS int64) {
	for len(s.loose) > 0 && s.loose[0].timeNS <= nowNS && s.err == nil {
		e := s.loose[0].event
		e.timeNS = s.loose[0].timeNS
		s.putAs(e, anything, s.loose[0].end)
		s.loose = s.loose[1:]
	}
}

// callEvents emits what belongs to one side of a call.
func (s *stream) callEvents(call, side int, timeNS int64) {
	for len(s.atCall) > 0 && s.atCall[0].call == call && s.atCall[0].side == side && s.err == nil {
		e := s.atCall[0].event
		e.timeNS = timeNS
		s.putAs(e, anything, s.atCall[0].end)
		s.atCall = s.atCall[1:]
	}
}

// placeMarks takes phases, events, windows and the critical path: they lie anywhere.
func (s *stream) placeMarks() {
	s.placePhases()
	for _, c := range s.t.Critical {
		s.placeCritical(c.BeginNS, 1)
		s.placeCritical(c.EndNS, 0)
	}
	for _, e := range s.t.Events {
		s.loosely(e.TimeNS, event{kind: eventInt, ref: s.d.event[e.Name], args: [5]uint64{uint64(e.Value)}})
	}
	for i, k := range s.t.Kept {
		s.loosely(k.BeginNS, event{kind: eventString, ref: s.d.window, args: [5]uint64{uint64(s.d.windows[k.Window])}})
		if i+1 == len(s.t.Kept) || s.t.Kept[i+1].BeginNS > k.EndNS {
			s.loosely(k.EndNS, event{kind: eventString, ref: s.d.window})
		}
	}
}

func (s *stream) placePhases() {
	put := func(timeNS int64, p *trace.Phase, name uint32) {
		s.loosely(timeNS, event{kind: eventString, ref: s.d.phaseLevel[p.Depth], args: [5]uint64{uint64(name)}})
	}
	s.t.EachPhase(func(p *trace.Phase) { put(p.BeginNS, p, s.d.marks[p.Name]) }, func(p *trace.Phase) { put(p.EndNS, p, 0) })
}

func (s *stream) placeCritical(timeNS int64, value uint64) {
	s.loosely(timeNS, event{kind: eventValues, ref: 1, args: [5]uint64{value}})
	s.loosely(timeNS, event{kind: eventMetric, ref: s.d.critical})
}

func (s *stream) loosely(timeNS int64, e event) {
	s.loose = append(s.loose, looseEvent{timeNS: timeNS, event: e})
}

// A messageEnd is a send or a receive on a thread.
type messageEnd struct {
	message int32
	channel int32
	sent    bool
}

// messageEnds lists those of each thread.
func (d *definitions) messageEnds(run *trace.Run) [][]messageEnd {
	ends := make([][]messageEnd, len(run.Threads))
	for i := range run.Messages {
		m := &run.Messages[i]
		ends[m.From] = append(ends[m.From], messageEnd{int32(i), d.channelOf[i], true})
		ends[m.To] = append(ends[m.To], messageEnd{int32(i), d.channelOf[i], false})
	}
	return ends
}

// placeMessages puts sends behind the enter of the call that posted them, receives before the leave of the call that
// completed them, and the posting of receives that another call completed behind the enter of their call.
func (s *stream) placeMessages(ends []messageEnd) {
	for _, x := range ends {
		m := &s.run.Messages[x.message]
		from, to := &s.run.Threads[m.From], &s.run.Threads[m.To]
		ref, peer := s.d.between(from, to, x)
		request := uint64(x.message)
		if x.sent {
			call := s.t.Calls.EnteredAt(m.SendNS)
			e := event{kind: eventSend, ref: ref, args: [5]uint64{uint64(peer), uint64(uint32(m.Tag)), uint64(m.Bytes)}}
			if call >= 0 && !s.d.functions[s.t.Calls.Path[call]].sends {
				e.kind, e.args[3] = eventIsend, request
			}
			s.attach(call, atEnter, m.SendNS, e, sendOf(x.message))
			continue
		}
		posted, done := s.t.Calls.EnteredAt(m.RecvNS), s.t.Calls.LeftAt(m.PhysicalRecvNS)
		e := event{kind: eventRecv, ref: ref, args: [5]uint64{uint64(peer), uint64(uint32(m.Tag)), uint64(m.Bytes)}}
		if posted >= 0 && (posted < done || done < 0 && m.RecvNS < m.PhysicalRecvNS) {
			e.kind, e.args[3] = eventIrecv, request
			s.attach(posted, atEnter, m.RecvNS, event{kind: eventIrecvRequest, args: [5]uint64{request}}, 0)
		}
		s.attach(done, atLeave, m.PhysicalRecvNS, e, receiveOf(x.message))
	}
}

// between gives the communicator of a message, and the peer's rank in it.
func (d *definitions) between(from, to *trace.Thread, x messageEnd) (ref, peer uint32) {
	other := from
	if x.sent {
		other = to
	}
	list := d.channels[x.channel]
	if from.World == to.World {
		return list[from.World], uint32(other.Rank)
	}
	return list[len(list)-1], d.ranks.of(other.World, other.Rank)
}

func (s *stream) attach(call, side int, timeNS int64, e event, end endRef) {
	if call < 0 {
		s.loose = append(s.loose, looseEvent{timeNS, e, end})
		return
	}
	s.atCall = append(s.atCall, callEvent{call, side, e, end})
}
