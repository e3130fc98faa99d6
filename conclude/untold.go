package conclude

import (
	"cmp"
	"maps"
	"slices"
)

// Receives of which MPI does not tell what they became. MPICH carries out MPI_Isendrecv as a schedule whose request has no status of its own; where
// the receive was from anybody, or of any tag, only what its senders have sent can tell which message it took.

// An untold is receives of one process in one communicator that asked for the same.
type untold struct {
	process   int32
	comm      uint64
	peer, tag int32 // -1 any
}

func (u untold) fits(key stream) bool {
	return key.to == u.process && key.comm == u.comm && key.channel < 0 && (u.peer < 0 || u.peer == key.from) && (u.tag < 0 || u.tag == key.tag)
}

// meets says whether both can have taken of one stream.
func (u untold) meets(o untold) bool {
	either := func(a, b int32) bool { return a < 0 || b < 0 || a == b }
	return u.comm == o.comm && either(u.process, o.process) && either(u.peer, o.peer) && either(u.tag, o.tag)
}

// settleUntold puts receives into their stream where only one can be theirs: all processes that are involved have received all that they were
// sent, and of the streams that fit one alone has more sends than receives, by as many as there are such receives.
func (m *matching) settleUntold(h *history) {
	for _, u := range sortedUntold(m.untold) {
		list := m.untold[u]
		if key, found := m.surplus(h, u, len(list)); found {
			m.streams[key].receives = append(m.streams[key].receives, list...)
			continue
		}
		for _, o := range list {
			m.leaveOpen(open{u.process, u.comm, u.peer, u.tag, true}, o)
			m.count(whyUntold, false, 1)
		}
	}
	m.untold = nil
}

// surplus finds the stream that has n sends too many while all others that fit have none.
func (m *matching) surplus(h *history, u untold, n int) (stream, bool) {
	whole := func(process int32) bool { return h.processes[process].cut == never && finalized(h, process) }
	if !h.whole || !whole(u.process) {
		return stream{}, false
	}
	for other := range m.untold {
		if other != u && other.meets(u) {
			return stream{}, false // which takes from the same streams, perhaps
		}
	}
	for o := range m.opens {
		at := untold{o.process, o.comm, o.peer, o.tag}
		if !o.receive { // what it may have sent is u's, perhaps
			at = untold{o.peer, o.comm, o.process, o.tag}
		}
		if at.meets(u) {
			return stream{}, false
		}
	}
	var found []stream
	for key, sides := range m.streams {
		if !u.fits(key) {
			continue
		}
		surplus := len(sides.sends) - len(sides.receives)
		if !whole(key.from) || surplus != 0 && surplus != n {
			return stream{}, false
		}
		if surplus == n {
			found = append(found, key)
		}
	}
	if len(found) != 1 {
		return stream{}, false
	}
	return found[0], true
}

func sortedUntold(all map[untold][]posting) []untold {
	return slices.SortedFunc(maps.Keys(all), func(a, b untold) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.comm, b.comm), cmp.Compare(a.peer, b.peer), cmp.Compare(a.tag, b.tag))
	})
}
