package rebuild

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

var transferKinds = map[moriensv1.Transfers_Kind]trace.TransferKind{
	moriensv1.Transfers_KIND_SENT: trace.Sent, moriensv1.Transfers_KIND_RECEIVED: trace.Received,
	moriensv1.Transfers_KIND_PUT: trace.Put, moriensv1.Transfers_KIND_GOT: trace.Got,
	moriensv1.Transfers_KIND_WRITTEN: trace.Written, moriensv1.Transfers_KIND_READ: trace.Read,
}

// KindOf is the kind of a transfer as the store has it.
func KindOf(kind moriensv1.Transfers_Kind) trace.TransferKind { return transferKinds[kind] }

// addColumns gives the threads that are here the columns of their transfers and collectives.
func addColumns(u *unpacked, c *communicators) {
	r := u.roomFor(func(i int) int { return collectivesOf(u.Rings[i]) })
	n := r.rows()
	all := trace.Collectives{
		Call: make([]uint32, n), Root: make([]int32, n), Comm: make([]int32, n), Ordinal: make([]int64, n), Sent: make([]int64, n), Received: make([]int64, n),
	}
	u.each(func(i int) {
		t, ring, of := &u.run.Threads[i], u.Rings[i], u.ProcessOf[i]
		if len(ring.Collectives) > 0 {
			t.Collectives = trace.Collectives{
				Call: partOf(all.Call, r, i), Root: partOf(all.Root, r, i), Comm: partOf(all.Comm, r, i),
				Ordinal: partOf(all.Ordinal, r, i), Sent: partOf(all.Sent, r, i), Received: partOf(all.Received, r, i),
			}
			readCollectives(&t.Collectives, c, of, ring)
		}
		t.Transfers = transfers(c, of, u.frozen.Transfers(ring))
	})
	u.complete(u.run, c, func(i int) []store.Transfers { return u.frozen.Transfers(u.Rings[i]) })
}

// transfers puts those of a ring of a process in the order of the calls that posted them.
func transfers(c *communicators, of int, chunks []store.Transfers) trace.Transfers {
	world := c.threads.Processes[of].World
	type entry struct {
		chunk *store.Transfers
		at    int
	}
	n := 0
	for k := range chunks {
		n += chunks[k].Len() - chunks[k].Collectives()
	}
	if n == 0 {
		return trace.Transfers{}
	}
	order := make([]entry, 0, n)
	for k := range chunks {
		for i, kind := range chunks[k].Kind {
			if kind != met {
				order = append(order, entry{&chunks[k], i})
			}
		}
	}
	slices.SortStableFunc(order, func(a, b entry) int { return cmp.Compare(a.chunk.Row[a.at], b.chunk.Row[b.at]) })
	t := trace.Transfers{
		Call: make([]uint32, n), Kind: make([]trace.TransferKind, n), Peer: make([]int32, n), Tag: make([]int32, n),
		Comm: make([]int32, n), Bytes: make([]int64, n), Done: make([]int32, n),
	}
	for i, o := range order {
		x := o.chunk
		to := c.peer(of, x.Comm[o.at], x.Peer[o.at])
		t.Call[i], t.Kind[i] = x.Row[o.at], transferKinds[moriensv1.Transfers_Kind(x.Kind[o.at])]
		t.Peer[i], t.Tag[i], t.Comm[i], t.Bytes[i] = int32(to.rank), x.Tag[o.at], c.comm(of, x.Comm[o.at]), int64(x.Bytes[o.at])
		t.Done[i] = int32(x.Done[o.at])
		if x.DoneRing[o.at] != nil {
			t.Done[i] = -1
		}
		if to.world >= 0 && to.world != world && t.PeerWorld == nil {
			t.PeerWorld = slices.Repeat([]int32{int32(world)}, n)
		}
		if t.PeerWorld != nil && to.world >= 0 {
			t.PeerWorld[i] = int32(to.world)
		}
	}
	return t
}

func collectivesOf(r *store.Ring) (n int) {
	for k := range r.Collectives {
		n += len(r.Collectives[k].Row)
	}
	return n
}

// readCollectives copies those of a ring of a process into columns that have the room.
func readCollectives(to *trace.Collectives, c *communicators, of int, r *store.Ring) {
	n := 0
	for k := range r.Collectives {
		x := &r.Collectives[k]
		copy(to.Call[n:], x.Row)
		copy(to.Root[n:], x.Root)
		for i := range x.Row {
			to.Comm[n], to.Ordinal[n], to.Sent[n], to.Received[n] = c.comm(of, x.Comm[i]), int64(x.Ordinal[i]), int64(x.Sent[i]), int64(x.Received[i])
			n++
		}
	}
}
