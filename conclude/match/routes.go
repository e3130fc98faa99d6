package match

import "math"

// Routes are sums of messages, for runs whose transfers are not all here call by call.
type Routes struct {
	sums     map[route]*routeSums
	rests    map[end]bool
	unpaired Unpaired
}

// An end is the sends or the receives of a process.
type end struct {
	process int32
	send    bool
}

// A route is messages from one process to another in one communicator.
type route struct {
	comm     uint64 // id
	from, to int32  // processes
}

// routeSums are the counts of its two ends.
type routeSums struct {
	sends, sentBytes, receives, receivedBytes uint64
}

// NewRoutes returns none.
func NewRoutes() *Routes {
	return &Routes{sums: make(map[route]*routeSums), rests: make(map[end]bool), unpaired: make(Unpaired)}
}

// A Sum is messages between a process and a peer, as the process has counted them.
type Sum struct {
	Comm          uint64
	Process, Peer int32
	Send          bool
	Count, Bytes  uint64
}

// Add takes in the sum of one end of a route.
func (r *Routes) Add(x Sum) {
	key := route{x.Comm, x.Process, x.Peer}
	if !x.Send {
		key.from, key.to = key.to, key.from
	}
	s := r.sums[key]
	if s == nil {
		s = new(routeSums)
		r.sums[key] = s
	}
	if x.Send {
		s.sends, s.sentBytes = s.sends+x.Count, s.sentBytes+x.Bytes
	} else {
		s.receives, s.receivedBytes = s.receives+x.Count, s.receivedBytes+x.Bytes
	}
}

// AddRest counts messages of a process of several peers, which it has not counted one by one. What a route has more of
// at its other end may be among them.
func (r *Routes) AddRest(process int32, send bool, n uint64) {
	r.rests[end{process, send}] = true
	r.AddUnpaired(ManyPeers, send, n)
}

// AddUnpaired counts messages that belong to no route.
func (r *Routes) AddUnpaired(why Reason, send bool, n uint64) { r.unpaired.add(why, send, int64(n)) }

// Match counts as many messages of each route as its end with fewer has, and their bytes; unpaired are the others. It
// uses up the routes.
func (r *Routes) Match(processes []Process) (matched, bytes int64, unpaired Unpaired) {
	for key, s := range r.sums {
		both := min(s.sends, s.receives)
		matched += int64(both)
		own := s.sentBytes
		if s.receives < s.sends {
			own = s.receivedBytes
		}
		bytes += int64(min(own, uint64(math.MaxInt64-bytes)))
		r.unpaired.add(r.why(processes, key, end{key.to, false}), true, int64(s.sends-both))
		r.unpaired.add(r.why(processes, key, end{key.from, true}), false, int64(s.receives-both))
	}
	return matched, bytes, r.unpaired
}

// why is why messages of a route have nothing at its other end.
func (r *Routes) why(processes []Process, key route, other end) Reason {
	if r.rests[other] {
		return ManyPeers
	}
	return rest(processes[key.from], processes[key.to], false)
}
