package section

// meetings are what the latest collectives of a block were, from which the next ones differ little.
type meetings struct {
	bySite []Collective
	comms  []uint32
	nexts  []uint64 // ordinals, by place in comms
	latest int
	places map[uint32]int // of many communicators
}

// manyComms is from how many communicators in a block on they are looked up.
const manyComms = 16

// begin begins a block of so many sites.
func (m *meetings) begin(sites int) {
	m.bySite = append(m.bySite[:0], make([]Collective, sites)...)
	m.comms, m.nexts, m.latest = m.comms[:0], m.nexts[:0], 0
	clear(m.places)
}

// next is the ordinal that is expected next of a communicator; 0 at first.
func (m *meetings) next(comm uint32) *uint64 {
	if m.latest < len(m.comms) && m.comms[m.latest] == comm {
		return &m.nexts[m.latest]
	}
	if len(m.comms) < manyComms {
		for i, c := range m.comms {
			if c == comm {
				m.latest = i
				return &m.nexts[i]
			}
		}
	} else {
		if len(m.places) == 0 {
			m.places = make(map[uint32]int)
			for i, c := range m.comms {
				m.places[c] = i
			}
		}
		if i, known := m.places[comm]; known {
			m.latest = i
			return &m.nexts[i]
		}
		m.places[comm] = len(m.comms)
	}
	m.latest = len(m.comms)
	m.comms, m.nexts = append(m.comms, comm), append(m.nexts, 0)
	return &m.nexts[m.latest]
}
