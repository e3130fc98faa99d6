package store

import (
	"slices"

	"moriens/internal/anchor"
)

// A Meeting is a collective call of all ranks, by a ring's row.
type Meeting struct {
	Row   uint32
	Total uint64 // of them that its process has had with it: so many lie before the next window of full detail
}

// A Met is how far the meetings of a ring have been read; the zero Met is their begin.
type Met struct {
	next  int    // of Ring.Collectives
	row   uint32 // behind the collective calls that were read
	had   []hadOn
	total uint64
}

// Row is behind all meetings that were read, and not behind any later one.
func (m *Met) Row() uint32 { return m.row }

// Any reports whether there was a meeting.
func (m *Met) Any() bool { return m.total > 0 }

// A hadOn is how many collective calls there were on a communicator of all ranks.
type hadOn struct {
	comm  uint32
	known bool // what it is
	all   bool // it is one of all ranks
	n     uint64
}

// Meetings appends to a list the meetings of a ring, as its agent counts them, from one Met on, and returns the Met
// behind them.
func (s *Store) Meetings(r *Ring, from Met, list []Meeting) ([]Meeting, Met) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if from.next == len(r.Collectives) {
		return list, from
	}
	from.had = slices.Clone(from.had)
	at := -1 // in had, of the call before
	for k := range r.Collectives[from.next:] {
		c := &r.Collectives[from.next+k]
		from.row = c.Row[len(c.Row)-1] + 1
		for i, row := range c.Row {
			if at < 0 || from.had[at].comm != c.Comm[i] {
				at = from.on(r.Process, c.Comm[i])
			}
			on := &from.had[at]
			if n := c.Ordinal[i] + 1; on.all && n > on.n {
				from.total += n - on.n
				on.n = n
				list = append(list, Meeting{row, from.total})
			}
		}
	}
	from.next = len(r.Collectives)
	from.had = slices.DeleteFunc(from.had, func(on hadOn) bool { return !on.known })
	return list, from
}

// on is the index of a communicator.
func (m *Met) on(p *Process, comm uint32) int {
	for i := range m.had {
		if m.had[i].comm == comm {
			return i
		}
	}
	of := p.Comms[comm].Communicator
	m.had = append(m.had, hadOn{comm: comm, known: of != nil, all: of != nil && anchor.OfAllRanks(of.Info, int64(p.Info.Size))})
	return len(m.had) - 1
}
