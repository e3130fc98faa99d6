package store

import "moriens/internal/anchor"

// A Meeting is a collective call of all ranks, by a ring's row.
type Meeting struct {
	Row   uint32
	Total uint64 // of them that its process has had with it: so many lie before the next window of full detail
}

// Meetings lists the meetings of a ring so far, as its agent counts them.
func (s *Store) Meetings(r *Ring) []Meeting {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []Meeting
	had := make(map[uint32]uint64)
	total := uint64(0)
	for k := range r.Collectives {
		c := &r.Collectives[k]
		for i, row := range c.Row {
			m := r.Process.Comms[c.Comm[i]]
			if m.Communicator == nil || !anchor.OfAllRanks(m.Info, int64(r.Process.Info.Size)) {
				continue
			}
			if n := c.Ordinal[i] + 1; n > had[c.Comm[i]] {
				total += n - had[c.Comm[i]]
				had[c.Comm[i]] = n
				list = append(list, Meeting{row, total})
			}
		}
	}
	return list
}
