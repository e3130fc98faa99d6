package rundir

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/trace"
)

// putTransfers gives the calls what transfers.parquet says that they move.
func (r *restorer) putTransfers() error {
	for _, x := range r.transfers {
		key := ThreadName{x.World, x.Rank, x.Thread}
		i, known := r.threads[key]
		if !known {
			return fmt.Errorf("%s: %v, which %s lacks", TransfersFile, key, TraceFile)
		}
		t := &r.run.Threads[i]
		c := &t.Transfers
		n, calls := c.Len(), int64(t.Calls.Len())
		switch {
		case x.Call >= calls || x.Done >= calls || x.Done < -1:
			return fmt.Errorf("%s: %v: no call %d or %d", TransfersFile, key, x.Call, x.Done)
		case n > 0 && x.Call < int64(c.Call[n-1]):
			return fmt.Errorf("%s: %v: transfers are not in order", TransfersFile, key)
		case int(x.Comm) >= len(r.run.Communicators) || int(x.PeerWorld) >= len(r.run.Worlds):
			return fmt.Errorf("%s: %v: no communicator %d, or no world %d", TransfersFile, key, x.Comm, x.PeerWorld)
		}
		c.Call, c.Kind = append(c.Call, uint32(x.Call)), append(c.Kind, x.Kind)
		c.Peer, c.PeerWorld = append(c.Peer, x.Peer), append(c.PeerWorld, x.PeerWorld)
		c.Tag, c.Bytes = append(c.Tag, x.Tag), append(c.Bytes, x.Bytes)
		c.Comm, c.Done = append(c.Comm, x.Comm), append(c.Done, int32(x.Done))
	}
	forgetOwnWorlds(r.run)
	return nil
}

// forgetOwnWorlds leaves out the worlds of peers where all are of the thread's own.
func forgetOwnWorlds(run *trace.Run) {
	for i := range run.Threads {
		t := &run.Threads[i]
		if !slices.ContainsFunc(t.Transfers.PeerWorld, func(w int32) bool { return int(w) != t.World }) {
			t.Transfers.PeerWorld = nil
		}
	}
}

// restoreTransfers makes sends and receives of the messages of a run that was read from a trace, which reports no
// others. The communicator is not known.
func restoreTransfers(run *trace.Run) {
	type transfer struct {
		thread, call int
		message      int
		kind         trace.TransferKind
	}
	var list []transfer
	for i := range run.Messages {
		m := &run.Messages[i]
		if call := run.Threads[m.From].Calls.EnteredAt(m.SendNS); call >= 0 {
			list = append(list, transfer{m.From, call, i, trace.Sent})
		}
		if call := run.Threads[m.To].Calls.EnteredAt(m.RecvNS); call >= 0 {
			list = append(list, transfer{m.To, call, i, trace.Received})
		}
	}
	slices.SortStableFunc(list, func(a, b transfer) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.call, b.call))
	})
	for _, x := range list {
		t, m := &run.Threads[x.thread], &run.Messages[x.message]
		peer, done := &run.Threads[m.To], -1 // when a send was completed no file shows
		if x.kind == trace.Received {
			peer, done = &run.Threads[m.From], t.Calls.LeftAt(m.PhysicalRecvNS)
		}
		c := &t.Transfers
		c.Call, c.Kind = append(c.Call, uint32(x.call)), append(c.Kind, x.kind)
		c.Peer, c.PeerWorld = append(c.Peer, int32(peer.Rank)), append(c.PeerWorld, int32(peer.World))
		c.Tag, c.Bytes = append(c.Tag, int32(m.Tag)), append(c.Bytes, m.Bytes)
		c.Comm, c.Done = append(c.Comm, -1), append(c.Done, int32(done))
	}
	forgetOwnWorlds(run)
}
