package rebuild

import (
	"moriens/conclude/match"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// sumTraffic is the traffic of the run by the sums that its processes have counted, where not all transfers are here
// call by call: of each communicator, sender and receiver as many messages have both sides as the side with fewer has.
func sumTraffic(u *unpacked, c *communicators, processes []match.Process) (*trace.Traffic, match.Unpaired) {
	t := new(trace.Traffic)
	routes := match.NewRoutes()
	for i := range u.Processes {
		t.Ranks = append(t.Ranks, rankTraffic(u, c, i, routes))
	}
	var unpaired match.Unpaired
	t.Matched, t.MatchedBytes, unpaired = routes.Match(processes)
	return t, unpaired
}

// rankTraffic is what a process has counted. Its routes are added to those of the run.
func rankTraffic(u *unpacked, c *communicators, i int, routes *match.Routes) trace.RankTraffic {
	p := &u.Processes[i]
	_, line, _ := u.at.clocks.local(p.Process)
	ns := line.duration
	r := trace.RankTraffic{World: p.World, Rank: int(p.Info.Rank)}
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_SITE) {
		r.Sites = append(r.Sites, trace.TrafficSite{Kind: transferKinds[x.Kind], Path: u.frozen.Path(x.Path()), Count: int64(x.Count), Bytes: int64(x.Bytes)})
	}
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_PEER) {
		to := c.peer(i, x.Comm(), x.Peer())
		world := int32(p.World)
		if to.world >= 0 {
			world = int32(to.world)
		}
		r.Routes = append(r.Routes, trace.TrafficRoute{
			Kind: transferKinds[x.Kind], PeerWorld: world, Peer: int32(to.rank), Comm: c.comm(i, x.Comm()), Count: int64(x.Count), Bytes: int64(x.Bytes),
			BlockedNS: ns(x.Blocked), LongestNS: ns(x.Longest), FirstNS: ns(x.First),
		})
		addRoute(routes, c, i, x, to)
	}
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_REST) {
		r.Routes = append(r.Routes, trace.TrafficRoute{
			Kind: transferKinds[x.Kind], PeerWorld: int32(p.World), Peer: -1, Comm: -1, Rest: true, Count: int64(x.Count), Bytes: int64(x.Bytes),
			BlockedNS: ns(x.Blocked), LongestNS: ns(x.Longest),
		})
		if x.Kind == moriensv1.Transfers_KIND_SENT || x.Kind == moriensv1.Transfers_KIND_RECEIVED {
			routes.AddRest(int32(i), x.Kind == moriensv1.Transfers_KIND_SENT, x.Count)
		}
	}
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_SIZE) {
		r.Sizes = append(r.Sizes, trace.TrafficSize{Kind: transferKinds[x.Kind], Bin: uint8(x.A), Count: int64(x.Count), Bytes: int64(x.Bytes), BlockedNS: ns(x.Blocked)})
	}
	for x := range p.Sums.Of(moriensv1.Sums_WHAT_END) {
		r.Ends = append(r.Ends, trace.TrafficEnd{
			Kind: transferKinds[x.Kind], Path: u.frozen.Path(x.Path()), Count: int64(x.Count), Bytes: int64(x.Bytes), BlockedNS: ns(x.Blocked),
		})
	}
	return r
}

// addRoute adds what one side has counted to its route, or to the messages without another side.
func addRoute(routes *match.Routes, c *communicators, of int, x *sums.Row, to peer) {
	send := x.Kind == moriensv1.Transfers_KIND_SENT
	if !send && x.Kind != moriensv1.Transfers_KIND_RECEIVED {
		return
	}
	member, known := c.member(of, x.Comm())
	why := to.unpaired(member)
	switch {
	case !known:
		why = match.UnknownComm
	case x.Peer() < 0:
		why = match.Unended
	}
	if why != "" {
		routes.AddUnpaired(why, send, x.Count)
		return
	}
	routes.Add(match.Sum{Comm: member.Info.Id, Process: int32(of), Peer: int32(to.process), Send: send, Count: x.Count, Bytes: x.Bytes})
}
