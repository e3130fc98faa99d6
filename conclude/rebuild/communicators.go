package rebuild

import (
	"cmp"
	"slices"

	"moriens/collector/store"
	"moriens/conclude/match"
	"moriens/trace"
)

// communicatorKey is what a communicator's ranks of one world agree on.
type communicatorKey struct {
	world        int
	id           uint64
	window, file bool
	// Every rank's MPI_COMM_SELF has the same id.
	first int32 // in MPI_COMM_WORLD, of an intercommunicator -1
	size  uint32
}

func keyOf(world int, m store.Member) communicatorKey {
	key := communicatorKey{world, m.Info.Id, m.Info.Window, m.Info.File, -1, 0}
	if !m.Info.Inter {
		key.first, key.size = worldRankOf(m, 0), m.Info.Size
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
	list    []trace.Communicator      // by world, the largest first
	own     []map[uint32]store.Member // by process: by its own number, with the id that the communicator has in all worlds
	index   []map[uint32]int32        // likewise: place in list
	members map[memberKey][]membership
	// doubtful are the ids that one process has given to several communicators whose making was not seen.
	doubtful map[uint64]bool

	threads *Threads
}

// communicatorsOf lists the run's communicators.
func communicatorsOf(u *unpacked) *communicators {
	c := &communicators{
		own: unite(u), members: make(map[memberKey][]membership), doubtful: make(map[uint64]bool), threads: &u.Threads,
	}
	seen := make(map[communicatorKey]trace.Communicator)
	for i, comms := range c.own {
		known := make(map[uint64]bool)
		for _, m := range comms {
			id := m.Info.Id
			if known[id] && m.Info.Guessed {
				c.doubtful[id] = true
			}
			known[id] = true
			at := memberKey{id, m.Rank}
			c.members[at] = append(c.members[at], membership{i, m})
			world := u.Processes[i].World
			key := keyOf(world, m)
			if d, known := seen[key]; !known || len(d.Ranks) == 0 {
				seen[key] = describe(world, m)
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
		c.list = append(c.list, d)
	}
	for i, comms := range c.own {
		places := make(map[uint32]int32, len(comms))
		for number, m := range comms {
			places[number] = index[keyOf(u.Processes[i].World, m)]
		}
		c.index = append(c.index, places)
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

// comm is the index of a process's communicator in the run, -1 where it is not known.
func (c *communicators) comm(process int, number uint32) int32 {
	if i, known := c.index[process][number]; known {
		return i
	}
	return -1
}

// member is a process's place in one of its communicators, if it is known which that is.
func (c *communicators) member(process int, number uint32) (m store.Member, known bool) {
	m, known = c.own[process][number]
	return m, known && !c.doubtful[m.Info.Id]
}

// worldRankOf is the rank in MPI_COMM_WORLD of a peer; -1 where it belongs to another world or is not known.
func worldRankOf(m store.Member, peer int32) int32 {
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
func (c *communicators) peer(from int, number uint32, rank int32) peer {
	p := &c.threads.Processes[from]
	m, known := c.own[from][number]
	if !known || rank < 0 {
		return nobody
	}
	if w := worldRankOf(m, rank); w >= 0 {
		return peer{c.threads.processOf(p.World, w), p.World, int(w)}
	}
	// Of another world, if there is a record of it at all: the process that has that rank there.
	found := nobody
	for _, other := range c.members[memberKey{m.Info.Id, int(rank)}] {
		q := &c.threads.Processes[other.process]
		if q.World == p.World || m.Info.Cut {
			continue
		}
		if found != nobody {
			return nobody
		}
		found = peer{other.process, q.World, int(q.Info.Rank)}
	}
	return found
}

// unpaired is why a transfer with a peer cannot have a counterpart; "" if it can.
func (p peer) unpaired(m store.Member) match.Reason {
	switch {
	case p == nobody && m.Info.Cut:
		return match.UnknownComm
	case p == nobody:
		return match.OtherWorld
	case p.process < 0:
		return match.Unrecorded
	}
	return ""
}
