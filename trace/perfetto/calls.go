package perfetto

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"moriens/trace"
)

// call writes a call: what it posted with its begin, what it completed with its end.
func (x *threadWriter) call(i item, track uint64) {
	c, k := &x.t.Calls, i.index
	name := x.run.CallPaths[c.Path[k]].Function
	if name == "" {
		name = "unknown MPI call"
	}
	x.open(sliceBegin, track, categoryMPI, name)
	n := x.notes()
	n.text("call_path", x.names[c.Path[k]])
	if c.Count != nil && c.Count[k] != 1 {
		n.int("calls", c.Count[k])
	}
	if c.Unfinished && k == c.Len()-1 {
		n.yes("unfinished")
	}
	x.moves.note(n, uint32(k))
	n.done()
	nextNS := int64(math.MaxInt64)
	if k+1 < c.Len() {
		nextNS = c.EnterNS[k+1]
	}
	x.flow(eventFlow, x.messages.sends(i.beginNS, i.endNS, nextNS))
	x.at(i.beginNS)
	x.waited(i, track)

	x.packetWriter.close(track)
	x.arrived(x.messages.arrivals(i.beginNS, i.endNS))
	x.at(i.endNS)
}

// waited writes what a call waited for as a slice in it, from its begin on.
func (x *threadWriter) waited(i item, track uint64) {
	w := &x.t.Waits
	for x.wait < w.Len() && int(w.Call[x.wait]) < i.index {
		x.wait++
	}
	k := x.wait
	if k == w.Len() || int(w.Call[k]) != i.index {
		return
	}
	x.open(sliceBegin, track, categoryWait, "waits: "+w.Kind[k].String())
	n := x.notes()
	n.int("wait_ns", w.UntilNS[k]-i.beginNS)
	if w.For[k] >= 0 {
		who := &x.run.Threads[w.For[k]]
		n.text("for", x.run.ThreadName(int(w.For[k])))
		if who.World != x.t.World {
			n.int("for_world", int64(who.World))
		}
		n.int("for_rank", int64(who.Rank))
		if who.Thread != 0 {
			n.int("for_thread", int64(who.Thread))
		}
	}
	n.done()
	x.at(i.beginNS)
	x.packetWriter.close(track)
	x.at(w.UntilNS[k])
}

func (x *threadWriter) flow(field protowire.Number, messages []int32) {
	for _, m := range messages {
		x.event = appendFixed(x.event, field, uint64(m)+1)
	}
}

// arrived ends the flows of messages and says what they were.
func (x *threadWriter) arrived(messages []int32) {
	if len(messages) == 0 {
		return
	}
	x.flow(eventTerminating, messages)
	n := x.notes()
	n.list("messages", len(messages), func(i int, d *dict) {
		m := &x.run.Messages[messages[i]]
		from := &x.run.Threads[m.From]
		if from.World != x.t.World {
			d.int("from_world", int64(from.World))
		}
		d.int("from_rank", int64(from.Rank))
		if from.Thread != 0 {
			d.int("from_thread", int64(from.Thread))
		}
		d.int("bytes", m.Bytes)
		d.int("tag", m.Tag)
		d.int("send_ns", m.SendNS)
		if m.PhysicalSendNS != m.SendNS {
			d.int("physical_send_ns", m.PhysicalSendNS)
		}
		d.int("receive_ns", m.RecvNS)
		d.int("physical_receive_ns", m.PhysicalRecvNS)
		if m.LateNS != 0 {
			d.int("late_ns", m.LateNS)
		}
	})
	n.done()
}

// strays writes the ends of messages that lie in no call.
func (x *threadWriter) strays(track uint64) {
	sent, gotten := x.messages.rest()
	for i := range sent {
		x.open(instant, track, categoryMessage, "sent")
		x.flow(eventFlow, sent[i:i+1])
		x.at(x.run.Messages[sent[i]].SendNS)
	}
	for i := range gotten {
		x.open(instant, track, categoryMessage, "received")
		x.arrived(gotten[i : i+1])
		x.at(x.run.Messages[gotten[i]].PhysicalRecvNS)
	}
}

// A movesWalk shows what the calls of a thread move, call by call.
type movesWalk struct {
	run                  *trace.Run
	t                    *trace.Thread
	transfer, collective int // next of each
}

// note annotates a call with its transfers, one at the call itself, several as a list, or with what it is as a
// collective.
func (w *movesWalk) note(n *dict, call uint32) {
	x := &w.t.Transfers
	for w.transfer < x.Len() && x.Call[w.transfer] < call {
		w.transfer++
	}
	from := w.transfer
	for w.transfer < x.Len() && x.Call[w.transfer] == call {
		w.transfer++
	}
	switch count := w.transfer - from; count {
	case 0:
	case 1:
		w.noteTransfer(n, from)
	default:
		n.list("transfers", count, func(i int, d *dict) { w.noteTransfer(d, from+i) })
	}
	c := &w.t.Collectives
	var is bool
	if w.collective, is = c.CallAt(call, w.collective); is {
		n.int("sent_bytes", c.Sent[w.collective])
		n.int("received_bytes", c.Received[w.collective])
		w.noteCommunicator(n, c.Comm[w.collective])
		if root := c.Root[w.collective]; root != -1 {
			n.int("root", int64(root))
		}
	}
}

func (w *movesWalk) noteTransfer(n *dict, i int) {
	x := &w.t.Transfers
	n.text("kind", x.Kind[i].String())
	if x.Peer[i] >= 0 {
		n.int("peer", int64(x.Peer[i]))
		if x.PeerWorld != nil && int(x.PeerWorld[i]) != w.t.World {
			n.int("peer_world", int64(x.PeerWorld[i]))
		}
	}
	n.int("bytes", x.Bytes[i])
	if x.Tag[i] != -1 {
		n.int("tag", int64(x.Tag[i]))
	}
	w.noteCommunicator(n, x.Comm[i])
}

func (w *movesWalk) noteCommunicator(n *dict, comm int32) {
	if comm >= 0 && int(comm) < len(w.run.Communicators) {
		n.int("communicator", w.run.Communicators[comm].ID)
	}
}
