package conclude

import (
	"slices"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// Add gives a run what has come of its windows: transfers, and the messages of which both sides came, to whichever member.
func (d *detail) Add(run *trace.Run) *trace.Run {
	h := d.history
	with := *run
	with.Threads = slices.Clone(run.Threads)
	sides := make(map[laneOrdinal]*pairOfSides)
	for _, i := range h.own {
		x := d.rings[h.rings[i]]
		of := h.processOf[i]
		var chunks []store.Transfers
		if x != nil {
			for _, t := range x.transfers {
				chunks = append(chunks, t.Transfers)
				d.post(sides, of, i, t)
			}
		}
		with.Threads[i].Transfers = transfers(h, h.comms, of, chunks)
	}
	if d.broken = h.deliverSides(sides); d.broken != nil {
		return &with
	}
	m := new(matching)
	for key, s := range sides {
		if s.sends == 1 && s.receives == 1 && s.send.bytes == s.receive.bytes {
			m.pairs = append(m.pairs, pair{
				place{s.send.thread, s.send.row}, place{s.receive.thread, s.receive.row}, place{s.receive.doneThread, uint32(s.receive.doneRow)},
				key.tag, s.send.bytes, s.send.startNS,
			})
		}
	}
	var own []trace.Message
	if own, d.broken = h.messages(&with, m); d.broken == nil {
		with.Messages, d.broken = h.shareMessages(own)
	}
	return &with
}

// A laneOrdinal is one message: the k-th of its communicator, sender, receiver and tag, which do not overtake each other.
type laneOrdinal struct {
	stream
	ordinal uint64
}

// pairOfSides is its send and its receive.
type pairOfSides struct {
	send, receive   posting
	sends, receives int
}

// post adds the sends and receives of a part of a window of which the ordinals are known, counted from the begin of the run: only those are the same on
// both sides.
func (d *detail) post(sides map[laneOrdinal]*pairOfSides, of, thread int, t *store.Detail) {
	p := &d.history.processes[of]
	if p.TransfersEnd.GetOrdinalsVoid() {
		return
	}
	for i := range t.Len() {
		ordinal := t.OrdinalOf(i)
		member, known := p.Comms[t.Comm[i]]
		if ordinal == 0 || t.Done[i] < 0 && t.Kind[i] != uint8(moriensv1.Transfers_KIND_SENT) || !known || d.history.comms.doubtful[member.Info.Id] {
			continue
		}
		to := d.history.comms.peer(d.history, of, t.Comm[i], t.Peer[i])
		if to.process < 0 {
			continue
		}
		o := posting{thread: int32(thread), doneThread: int32(thread), row: t.Row[i], doneRow: t.Done[i], bytes: t.Bytes[i]}
		if r := t.DoneRing[i]; r != nil {
			o.doneThread = int32(d.history.threadOf[r])
		}
		key := laneOrdinal{stream{member.Info.Id, int32(of), int32(to.process), t.Tag[i], -1}, ordinal}
		send := t.Kind[i] == uint8(moriensv1.Transfers_KIND_SENT)
		if !send {
			key.from, key.to = key.to, key.from
		}
		s := sides[key]
		if s == nil {
			s = new(pairOfSides)
			sides[key] = s
		}
		if send {
			s.send, s.sends = o, s.sends+1
		} else {
			s.receive, s.receives = o, s.receives+1
		}
	}
}
