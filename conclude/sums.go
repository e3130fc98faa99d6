package conclude

import (
	"math"

	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A route is messages from one process to another in one communicator.
type route struct {
	comm     uint64 // id
	from, to int32  // of the history's processes
}

// sides are what its two ends say of it.
type sides struct {
	sends, sentBytes, receives, receivedBytes uint64
}

// sumUp says what the ranks have moved by the sums that they have told, where not all of it came call by call: of each communicator, sender and receiver as many messages have both sides as the side
// with fewer has.
func (h *history) sumUp(c *communicators) {
	if h.whole {
		return
	}
	h.matching.unpaired = make(map[string]*trouble)
	t := new(trace.Traffic)
	routes := make(map[route]*sides)
	for i := range h.processes {
		p := &h.processes[i]
		r := trace.RankTraffic{World: p.world, Rank: int(p.Info.Rank)}
		for _, x := range p.Traffic.Sites {
			r.Sites = append(r.Sites, trace.TrafficSite{Kind: transferKinds[x.Kind], Path: h.frozen.Path(x.Path), Count: int64(x.Count), Bytes: int64(x.Bytes)})
		}
		for k := range p.Traffic.Routes {
			x := &p.Traffic.Routes[k]
			to := c.peer(h, i, x.Comm, x.Peer)
			world := int32(p.world)
			if to.world >= 0 {
				world = int32(to.world)
			}
			r.Routes = append(r.Routes, trace.TrafficRoute{
				Kind: transferKinds[x.Kind], PeerWorld: world, Peer: int32(to.rank), Comm: p.comm(x.Comm), Count: int64(x.Count), Bytes: int64(x.Bytes),
			})
			h.meet(c, routes, i, x, to)
		}
		t.Ranks = append(t.Ranks, r)
	}
	for key, s := range routes {
		both := min(s.sends, s.receives)
		t.Matched += int64(both)
		bytes := s.sentBytes
		if s.receives < s.sends {
			bytes = s.receivedBytes
		}
		t.MatchedBytes += int64(min(bytes, uint64(math.MaxInt64-t.MatchedBytes)))
		why := whyRest(h, stream{from: key.from, to: key.to}, false)
		h.matching.count(why, true, int64(s.sends-both))
		h.matching.count(why, false, int64(s.receives-both))
	}
	h.run.Traffic = t
}

// meet adds what one side tells to its route, or to what has no other side.
func (h *history) meet(c *communicators, routes map[route]*sides, of int, x *store.Route, to peer) {
	send := x.Kind == uint8(moriensv1.Transfers_KIND_SENT)
	if !send && x.Kind != uint8(moriensv1.Transfers_KIND_RECEIVED) {
		return
	}
	member, known := h.processes[of].Comms[x.Comm]
	switch {
	case !known || c.doubtful[member.Info.Id]:
		h.matching.count(whyCommunicator, send, int64(x.Count))
		return
	case x.Peer < 0:
		h.matching.count(whyUnended, send, int64(x.Count))
		return
	case to == nobody:
		h.matching.count(whyNobody(member), send, int64(x.Count))
		return
	case to.process < 0:
		h.matching.count(whyUnrecorded, send, int64(x.Count))
		return
	}
	key := route{member.Info.Id, int32(of), int32(to.process)}
	if !send {
		key.from, key.to = key.to, key.from
	}
	s := routes[key]
	if s == nil {
		s = new(sides)
		routes[key] = s
	}
	if send {
		s.sends, s.sentBytes = s.sends+x.Count, s.sentBytes+x.Bytes
	} else {
		s.receives, s.receivedBytes = s.receives+x.Count, s.receivedBytes+x.Bytes
	}
}
