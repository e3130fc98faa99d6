package rebuild

import (
	"math"

	"moriens/conclude/match"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// sumTraffic is the traffic of the run by the sums that its processes have counted, where not all transfers are here
// call by call: of each communicator, sender and receiver as many messages have both sides as the side with fewer has.
func sumTraffic(u *unpacked, c *communicators, processes []match.Process) (*trace.Traffic, match.Unpaired) {
	t := &trace.Traffic{Within: make([]trace.TrafficWithin, len(c.list))}
	routes := match.NewRoutes(processes)
	for i := range u.Processes {
		rows := u.Processes[i].Sums.Rows()
		t.Ranks = append(t.Ranks, rankTraffic(u, c, i, rows))
		addWithin(t.Within, c, i, rows)
		addRoutes(routes, c, i, rows, moriensv1.Transfers_KIND_SENT)
	}
	for i := range u.Processes {
		addRoutes(routes, c, i, u.Processes[i].Sums.Rows(), moriensv1.Transfers_KIND_RECEIVED)
	}
	var unpaired match.Unpaired
	t.Matched, t.MatchedBytes, unpaired = routes.Matched()
	return t, unpaired
}

// addWithin adds what a process has sent, put, got, written and read to that of its communicators.
func addWithin(to []trace.TrafficWithin, c *communicators, i int, rows []sums.Row) {
	for k := range rows {
		x := &rows[k]
		if x.What != moriensv1.Sums_WHAT_PEER || x.Kind == moriensv1.Transfers_KIND_RECEIVED {
			continue
		}
		if comm := c.comm(i, x.Comm()); comm >= 0 {
			to[comm].Count += int64(x.Count)
			to[comm].Bytes += int64(x.Bytes)
		}
	}
}

// rankTraffic is what a process has counted, in these rows.
func rankTraffic(u *unpacked, c *communicators, i int, rows []sums.Row) trace.RankTraffic {
	p := &u.Processes[i]
	_, line, _ := u.at.clocks.local(p.Process)
	ns := line.duration
	r := trace.RankTraffic{World: p.World, Rank: int(p.Info.Rank)}
	for k := range rows {
		x := &rows[k]
		kind, count, bytes := transferKinds[x.Kind], int64(x.Count), int64(x.Bytes)
		switch x.What {
		case moriensv1.Sums_WHAT_SITE:
			r.Sites = append(r.Sites, trace.TrafficSite{Kind: kind, Path: u.frozen.Path(x.Path()), Count: count, Bytes: bytes})
		case moriensv1.Sums_WHAT_SIZE:
			r.Sizes = append(r.Sizes, trace.TrafficSize{Kind: kind, Bin: uint8(x.A), Count: count, Bytes: bytes, BlockedNS: ns(x.Blocked)})
		case moriensv1.Sums_WHAT_END:
			r.Ends = append(r.Ends, trace.TrafficEnd{Kind: kind, Path: u.frozen.Path(x.Path()), Count: count, Bytes: bytes, BlockedNS: ns(x.Blocked)})
		}
	}
	r.Routes = func(yield func(trace.TrafficRoute) bool) {
		rows := p.Sums.Rows()
		for k := range rows {
			x := &rows[k]
			route := trace.TrafficRoute{
				Kind: transferKinds[x.Kind], PeerWorld: int32(p.World), Peer: -1, Comm: -1, Count: int64(x.Count), Bytes: int64(x.Bytes),
				BlockedNS: ns(x.Blocked), LongestNS: ns(x.Longest), FirstNS: ns(x.First),
			}
			switch x.What {
			case moriensv1.Sums_WHAT_PEER:
				to := c.peer(i, x.Comm(), x.Peer())
				if to.world >= 0 {
					route.PeerWorld = int32(to.world)
				}
				route.Peer, route.Comm = int32(to.rank), c.comm(i, x.Comm())
			case moriensv1.Sums_WHAT_REST:
				route.Rest = true
			default:
				continue
			}
			if !yield(route) {
				return
			}
		}
	}
	if p.Sums.HasPartners() {
		r.Partners = func(yield func(trace.TrafficPartner) bool) { eachPartner(u, c, i, yield) }
	}
	return r
}

// eachPartner hands out with whom a process has exchanged messages.
func eachPartner(u *unpacked, c *communicators, i int, yield func(trace.TrafficPartner) bool) {
	p := &u.Processes[i]
	rows := p.Sums.Partners()
	whole := func(x uint64) int64 { return int64(min(x, math.MaxInt64)) }
	for k := range rows {
		x := &rows[k]
		with := trace.TrafficPartner{
			Kind: transferKinds[x.Kind], Path: u.frozen.Path(x.Path), PeerWorld: int32(p.World), Peer: -1, Comm: -1, Others: x.Others(),
			Count: whole(x.Count), Bytes: whole(x.Bytes), Least: whole(x.Least), Most: whole(x.Most),
		}
		if !with.Others {
			to := c.peer(i, x.Comm, x.Peer)
			if to.world >= 0 {
				with.PeerWorld = int32(to.world)
			}
			with.Peer, with.Comm = int32(to.rank), c.comm(i, x.Comm)
		}
		if !yield(with) {
			return
		}
	}
}

// addRoutes adds the messages of a kind that a process has counted to their routes, or to those without another side.
func addRoutes(routes *match.Routes, c *communicators, i int, rows []sums.Row, kind moriensv1.Transfers_Kind) {
	send, add := true, routes.AddSent
	if kind == moriensv1.Transfers_KIND_RECEIVED {
		send, add = false, routes.AddReceived
	}
	for k := range rows {
		x := &rows[k]
		if x.Kind != kind {
			continue // of another kind, or no message
		}
		switch x.What {
		case moriensv1.Sums_WHAT_PEER:
			member, known := c.member(i, x.Comm())
			to := c.peer(i, x.Comm(), x.Peer())
			why := to.unpaired(member)
			switch {
			case !known:
				why = match.UnknownComm
			case x.Peer() < 0:
				why = match.Unended
			}
			if why != "" {
				routes.AddUnpaired(why, send, x.Count)
				continue
			}
			add(match.Sum{Comm: member.Info.Id, Process: int32(i), Peer: int32(to.process), Count: x.Count, Bytes: x.Bytes})
		case moriensv1.Sums_WHAT_REST:
			routes.AddRest(int32(i), send, x.Count)
		}
	}
}
