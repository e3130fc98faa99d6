package match

import (
	"cmp"
	"math"
	"slices"
)

// Routes matches the messages of two processes in a communicator by what each of them has counted in sum. First all
// processes add what they have sent, then each what it has received, in any order.
type Routes struct {
	processes []Process
	lanes     map[lane]*sends
	rests     map[end]bool
	matched   int64
	bytes     int64
	unpaired  Unpaired
}

// An end is the sends or the receives of a process.
type end struct {
	process int32
	send    bool
}

// A lane is what a process sends in one communicator.
type lane struct {
	comm uint64 // id
	from int32
}

// sends are those of a lane, by receiver once a receiver asks for its own.
type sends struct {
	to      []sum
	ordered bool
	at      int // receiver that was asked for last: mostly they ask in turn
}

// A sum is messages to a receiver that are not matched yet.
type sum struct {
	to           int32
	count, bytes uint64
}

// NewRoutes returns none, of these processes.
func NewRoutes(processes []Process) *Routes {
	return &Routes{processes: processes, lanes: make(map[lane]*sends), rests: make(map[end]bool), unpaired: make(Unpaired)}
}

// A Sum is messages between a process and a peer, as the process has counted them.
type Sum struct {
	Comm          uint64
	Process, Peer int32
	Count, Bytes  uint64
}

// AddSent adds messages that a process has sent to a peer. No process has said yet what it has received.
func (r *Routes) AddSent(x Sum) {
	key := lane{x.Comm, x.Process}
	s := r.lanes[key]
	if s == nil {
		s = new(sends)
		r.lanes[key] = s
	}
	s.to = append(s.to, sum{x.Peer, x.Count, x.Bytes})
}

// order sorts the receivers of a lane, each of which is there once then.
func (s *sends) order() {
	s.ordered = true
	slices.SortFunc(s.to, func(a, b sum) int { return cmp.Compare(a.to, b.to) })
	list := s.to[:0]
	for _, x := range s.to {
		if last := len(list) - 1; last >= 0 && list[last].to == x.to {
			list[last].count += x.count
			list[last].bytes += x.bytes
			continue
		}
		list = append(list, x)
	}
	s.to = list
}

// sum is what a lane has for a receiver; nil: nothing.
func (s *sends) sum(to int32) *sum {
	if !s.ordered {
		s.order()
	}
	for range 2 { // that which was asked for last, and the next
		if s.at < len(s.to) && s.to[s.at].to == to {
			return &s.to[s.at]
		}
		s.at++
	}
	at, known := slices.BinarySearchFunc(s.to, to, func(x sum, to int32) int { return cmp.Compare(x.to, to) })
	s.at = at
	if !known {
		return nil
	}
	return &s.to[at]
}

// AddReceived matches messages that a process has received from a peer with as many of those that the peer has sent.
func (r *Routes) AddReceived(x Sum) {
	n := uint64(0)
	if s := r.lanes[lane{x.Comm, x.Peer}]; s != nil {
		if sent := s.sum(x.Process); sent != nil {
			n = min(sent.count, x.Count)
			bytes := sent.bytes
			if n < sent.count {
				bytes = min(bytes, x.Bytes)
			}
			sent.count -= n
			sent.bytes -= bytes
			r.matched += int64(n)
			r.bytes += int64(min(bytes, uint64(math.MaxInt64-r.bytes)))
		}
	}
	r.unpaired.add(r.why(x.Peer, x.Process, end{x.Peer, true}), false, int64(x.Count-n))
}

// AddRest counts messages of a process of several peers, which it has not counted one by one. What a route has more of
// at its other end may be among them. All rests of sends are added before what was received.
func (r *Routes) AddRest(process int32, send bool, n uint64) {
	r.rests[end{process, send}] = true
	r.AddUnpaired(ManyPeers, send, n)
}

// AddUnpaired counts messages that belong to no route.
func (r *Routes) AddUnpaired(why Reason, send bool, n uint64) { r.unpaired.add(why, send, int64(n)) }

// Matched is how many messages both ends of their routes have counted, and their bytes; unpaired are the others. It
// uses up the routes.
func (r *Routes) Matched() (messages, bytes int64, unpaired Unpaired) {
	for key, s := range r.lanes {
		for _, x := range s.to {
			r.unpaired.add(r.why(key.from, x.to, end{x.to, false}), true, int64(x.count))
		}
	}
	r.lanes = nil
	return r.matched, r.bytes, r.unpaired
}

// why is why messages from a process to another have nothing at the other end.
func (r *Routes) why(from, to int32, other end) Reason {
	if r.rests[other] {
		return ManyPeers
	}
	return rest(r.processes[from], r.processes[to], false)
}
