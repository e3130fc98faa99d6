package otf2

// thisCollective finds the collective that a call is, -1 = none; calls come in their order.
func (s *stream) thisCollective(call int) int {
	var is bool
	if s.collective, is = s.t.Collectives.CallAt(uint32(call), s.collective); is {
		return s.collective
	}
	return -1
}

// collectiveBegin reports a collective, and of one that does not block that it was asked for.
func (s *stream) collectiveBegin(x item, f *function) {
	i := s.thisCollective(x.index)
	switch {
	case i < 0 || !f.collective:
	case f.immediate:
		s.put(event{timeNS: x.beginNS, kind: eventNonBlocking, args: [5]uint64{s.collectiveRequest(i)}})
	default:
		s.put(event{timeNS: x.beginNS, kind: eventCollective})
	}
}

// collectiveEnd reports what a collective moved. Where OTF2 has no such operation, attributes of the leave do.
func (s *stream) collectiveEnd(x item, f *function, leave *event) {
	i := s.thisCollective(x.index)
	if i < 0 {
		return
	}
	c := &s.t.Collectives
	if !f.collective {
		leave.attribute(attrSent, uint64(c.Sent[i]))
		leave.attribute(attrReceived, uint64(c.Received[i]))
		return
	}
	e := event{timeNS: x.endNS, kind: eventCollectiveEnd, ref: undefined}
	if k := c.Comm[i]; k >= 0 && int(k) < len(s.d.commOf) {
		e.ref = s.d.commOf[k]
	}
	e.args = [5]uint64{f.op, uint64(rootOf(c.Root[i])), uint64(c.Sent[i]), uint64(c.Received[i])}
	if f.immediate {
		// When it was done no file shows.
		e.kind, e.args[4] = eventNonBlockingEnd, s.collectiveRequest(i)
	}
	s.put(e)
}

// collectiveRequest numbers those that do not block, behind the requests of messages.
func (s *stream) collectiveRequest(i int) uint64 { return uint64(len(s.run.Messages) + i) }

// rootOtherGroup stands in trace.Collectives.Root for a root in an intercommunicator's other group.
const rootOtherGroup = -3

func rootOf(root int32) uint32 {
	switch {
	case root >= 0:
		return uint32(root)
	case root == rootOtherGroup:
		return rootSelf
	}
	return rootNone
}
