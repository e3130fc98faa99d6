package trace

// Traffic is what the ranks of a run have moved in sum, where its threads do not have all of their transfers.
type Traffic struct {
	Ranks                 []RankTraffic // by world and rank
	Matched, MatchedBytes int64         // messages that both sides count, and their bytes
}

// RankTraffic is what one rank has moved.
type RankTraffic struct {
	World, Rank int
	Sites       []TrafficSite
	Routes      []TrafficRoute
}

// A TrafficSite is calls that posted transfers of a kind.
type TrafficSite struct {
	Kind         TransferKind
	Path         uint32 // index into Run.CallPaths
	Count, Bytes int64
}

// A TrafficRoute is a peer that transfers of one kind were sent to, or received from.
type TrafficRoute struct {
	Kind         TransferKind
	PeerWorld    int32
	Peer         int32 // rank in that world; -1 = none or not known
	Comm         int32 // index into Run.Communicators; -1 = not known
	Count, Bytes int64
}
