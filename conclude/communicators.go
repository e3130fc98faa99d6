package conclude

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	"moriens/trace"
)

// A process is one of the run's, with what the matching of messages needs of it.
type process struct {
	*store.Process
	Comms   map[uint32]store.Member // those of the Process, by the id that they have in all worlds
	world   int
	threads []int // indices into the run's threads
	cut     interval
	whole   bool             // all that it has moved came, call by call
	comms   map[uint32]int32 // index into the run's communicators, by the process's own number
}

// communicatorKey is what a communicator's ranks of one world agree on.
type communicatorKey struct {
	world        int
	id           uint64
	window, file bool
	// Every rank's MPI_COMM_SELF has the same id.
	first int32 // in MPI_COMM_WORLD, of an intercommunicator -1
	size  uint32
}

func (p *process) key(m store.Member) communicatorKey {
	key := communicatorKey{p.world, m.Info.Id, m.Info.Window, m.Info.File, -1, 0}
	if !m.Info.Inter {
		key.first, key.size = worldRank(m, 0), m.Info.Size
	}
	return key
}

// A membership is a process's place in a communicator.
type membership struct {
	process int
	store.Member
}

// A memberKey is a place in a communicator.
type memberKey struct {
	id   uint64
	rank int
}

// communicators are those of a run, as its processes see them.
type communicators struct {
	members map[memberKey][]membership
	// doubtful are the ids that one process has given to several communicators whose making was not seen.
	doubtful map[uint64]bool
}

// assembleCommunicators lists the run's communicators and gives every process their indices: by world, the largest first.
func assembleCommunicators(h *history) *communicators {
	unite(h)
	c := &communicators{members: make(map[memberKey][]membership), doubtful: make(map[uint64]bool)}
	seen := make(map[communicatorKey]trace.Communicator)
	for i := range h.processes {
		p := &h.processes[i]
		own := make(map[uint64]bool)
		for _, m := range p.Comms {
			id := m.Info.Id
			if own[id] && m.Info.Guessed {
				c.doubtful[id] = true
			}
			own[id] = true
			at := memberKey{id, m.Rank}
			c.members[at] = append(c.members[at], membership{i, m})
			key := p.key(m)
			if d, known := seen[key]; !known || len(d.Ranks) == 0 {
				seen[key] = describe(p.world, m)
			}
		}
	}
	keys := make([]communicatorKey, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b communicatorKey) int {
		return cmp.Or(cmp.Compare(a.world, b.world), cmp.Compare(len(seen[b].Ranks), len(seen[a].Ranks)),
			slices.Compare(seen[a].Ranks, seen[b].Ranks), cmp.Compare(a.id, b.id))
	})
	index := make(map[communicatorKey]int32, len(keys))
	for i, key := range keys {
		d := seen[key]
		d.ID = int64(i + 1)
		index[key] = int32(i)
		h.run.Communicators = append(h.run.Communicators, d)
	}
	for i := range h.processes {
		p := &h.processes[i]
		p.comms = make(map[uint32]int32, len(p.Comms))
		for number, m := range p.Comms {
			p.comms[number] = index[p.key(m)]
		}
	}
	return c
}

func describe(world int, m store.Member) trace.Communicator {
	d := trace.Communicator{World: world, Inter: m.Info.Inter, Window: m.Info.Window, File: m.Info.File}
	if d.Inter {
		return d
	}
	for i, first := range m.Info.First {
		for k := range int(m.Info.Count[i]) {
			if first >= 0 {
				d.Ranks = append(d.Ranks, int(first)+k*int(m.Info.Stride[i]))
			}
		}
	}
	return d
}

// comm is the index of a communicator in the run, -1 where it is not known.
func (p *process) comm(number uint32) int32 {
	if i, known := p.comms[number]; known {
		return i
	}
	return -1
}

// worldRank is the rank in MPI_COMM_WORLD of a peer; -1 where it belongs to another world or is not told.
func worldRank(m store.Member, peer int32) int32 {
	at := peer
	for i, count := range m.Info.Count {
		if at < int32(count) {
			if m.Info.First[i] < 0 {
				return -1
			}
			return m.Info.First[i] + at*m.Info.Stride[i]
		}
		at -= int32(count)
	}
	return -1
}

// A peer is the other side of a transfer.
type peer struct {
	process     int // -1: it has not recorded, or is not known
	world, rank int // -1: not known
}

var nobody = peer{-1, -1, -1}

// peer finds the process that a rank of a communicator is, seen from one of its processes.
func (c *communicators) peer(h *history, from int, number uint32, rank int32) peer {
	p := &h.processes[from]
	m, known := p.Comms[number]
	if !known || rank < 0 {
		return nobody
	}
	if w := worldRank(m, rank); w >= 0 {
		other, recorded := h.byRank[worldRankKey{p.world, int(w)}]
		if !recorded {
			other = -1
		}
		return peer{other, p.world, int(w)}
	}
	// Of another world, if it is told at all: who says of itself that it has that rank there.
	found := nobody
	for _, other := range c.members[memberKey{m.Info.Id, int(rank)}] {
		q := &h.processes[other.process]
		if q.world == p.world || m.Info.Cut {
			continue
		}
		if found != nobody {
			return nobody
		}
		found = peer{other.process, q.world, int(q.Info.Rank)}
	}
	return found
}

type worldRankKey struct{ world, rank int }
