package table

import (
	"slices"

	"moriens/trace"
)

func calls(run *trace.Run) Table {
	few := func(name string) Column { return Column{Name: name, Optional: true, Few: true} }
	columns := append(slices.Clone(place), time("enter_ns"), time("exit_ns"), name("function"), name("call_path"),
		Column{Name: "calls", Few: true}, Column{Name: "unfinished", Kind: Bool},
		maybe(Column{Name: "sent_bytes"}), few("sent_to_world"), few("sent_to"), few("sent_tag"),
		maybe(Column{Name: "received_bytes"}), few("received_from_world"), few("received_from"), few("received_tag"),
		few("communicator"), few("root"), Column{Name: "path", Few: true},
		maybe(name("wait")), maybe(time("wait_ns")), few("wait_for_world"), few("wait_for"), few("wait_for_thread"))
	return Table{"calls", columns, func(s Sink) error {
		names := run.Names()
		for i := range run.Threads {
			w := callWalk{run: run, t: &run.Threads[i]}
			for k := range w.t.Calls.EnterNS {
				w.put(s, k, names)
				if err := s.End(); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

// A callWalk goes through the calls of a thread with what they moved.
type callWalk struct {
	run                  *trace.Run
	t                    *trace.Thread
	transfer, collective int // next of each
	wait                 int
}

// moved is what a call moved one way. The partner and the tag are those of all of it; below 0 where they differ, or are
// not known.
type moved struct {
	any          bool
	bytes        int64
	world, peer  int64
	tag          int64
	communicator int32 // index into Run.Communicators, -1 = unknown
}

func (w *callWalk) put(s Sink, k int, names []string) {
	c := &w.t.Calls
	putPlace(s, w.t)
	s.Int(c.EnterNS[k])
	s.Int(c.ExitNS[k])
	s.Text(w.run.CallPaths[c.Path[k]].Function)
	s.Text(names[c.Path[k]])
	if c.Count == nil {
		s.Int(1)
	} else {
		s.Int(c.Count[k])
	}
	s.Bool(c.Unfinished && k == c.Len()-1)

	sent, received := w.transfers(uint32(k))
	communicator, root := sent.communicator, int64(-1)
	if !sent.any {
		communicator = received.communicator
	}
	if i, is := w.collectiveOf(uint32(k)); is {
		x := &w.t.Collectives
		sent.add(moved{bytes: x.Sent[i], world: -1, peer: -1, tag: -1})
		received.add(moved{bytes: x.Received[i], world: -1, peer: -1, tag: -1})
		communicator, root = x.Comm[i], int64(x.Root[i])
	}
	sent.put(s)
	received.put(s)
	if communicator < 0 || int(communicator) >= len(w.run.Communicators) {
		s.Null()
	} else {
		s.Int(w.run.Communicators[communicator].ID)
	}
	putKnown(s, root)
	s.Int(int64(c.Path[k]))
	w.putWait(s, k)
}

// putWait writes what a call waited for; calls come in their order.
func (w *callWalk) putWait(s Sink, call int) {
	x := &w.t.Waits
	for w.wait < x.Len() && int(x.Call[w.wait]) < call {
		w.wait++
	}
	i := w.wait
	waited := i < x.Len() && int(x.Call[i]) == call
	if !waited {
		s.Null()
		s.Null()
	} else {
		s.Text(x.Kind[i].String())
		s.Int(x.UntilNS[i] - w.t.Calls.EnterNS[call])
	}
	if waited && x.For[i] >= 0 {
		putPlace(s, &w.run.Threads[x.For[i]])
		return
	}
	for range place {
		s.Null()
	}
}

// transfers sums up what a call sent and received; calls come in their order.
func (w *callWalk) transfers(call uint32) (sent, received moved) {
	x := &w.t.Transfers
	sent.communicator, received.communicator = -1, -1
	for w.transfer < x.Len() && x.Call[w.transfer] < call {
		w.transfer++
	}
	for ; w.transfer < x.Len() && x.Call[w.transfer] == call; w.transfer++ {
		i := w.transfer
		m := moved{bytes: x.Bytes[i], world: int64(w.t.World), peer: int64(x.Peer[i]), tag: int64(x.Tag[i]), communicator: x.Comm[i]}
		if x.PeerWorld != nil {
			m.world = int64(x.PeerWorld[i])
		}
		if m.peer < 0 {
			m.world = -1
		}
		if x.Kind[i].Outgoing() {
			sent.add(m)
		} else {
			received.add(m)
		}
	}
	return sent, received
}

// add adds a transfer to those before it.
func (m *moved) add(x moved) {
	if !m.any {
		*m = x
		m.any = true
		return
	}
	m.bytes += x.bytes
	if m.peer != x.peer || m.world != x.world {
		m.peer, m.world = -1, -1
	}
	if m.tag != x.tag {
		m.tag = -1
	}
	if m.communicator != x.communicator {
		m.communicator = -1
	}
}

func (m *moved) put(s Sink) {
	if !m.any {
		for range 4 {
			s.Null()
		}
		return
	}
	s.Int(m.bytes)
	putKnown(s, m.world)
	putKnown(s, m.peer)
	putKnown(s, m.tag)
}

func (w *callWalk) collectiveOf(call uint32) (i int, is bool) {
	w.collective, is = w.t.Collectives.CallAt(call, w.collective)
	return w.collective, is
}
