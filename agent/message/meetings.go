package message

// meetings count the collectives of a process: they have the ordinal of the last one by communicator.
type meetings struct {
	last   map[uint32]*uint64
	latest struct { // that was asked for
		comm uint32
		last *uint64
	}
}

func newMeetings() meetings { return meetings{last: make(map[uint32]*uint64)} }

// ordinal makes the low 32 bits of a collective's ordinal whole: the one nearest to the last of its communicator.
func (x *meetings) ordinal(comm, low uint32) uint64 {
	l := &x.latest
	if l.last == nil || l.comm != comm {
		last := x.last[comm]
		if last == nil {
			x.set(comm, uint64(low))
			return uint64(low)
		}
		l.comm, l.last = comm, last
	}
	whole := *l.last + uint64(int64(int32(low-uint32(*l.last))))
	*l.last = max(*l.last, whole)
	return whole
}

// set says what the last one of a communicator is.
func (x *meetings) set(comm uint32, ordinal uint64) { x.last[comm] = &ordinal }
