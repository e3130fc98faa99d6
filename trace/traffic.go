package trace

import (
	"iter"
	"math"
)

// Traffic is what the ranks of a run have moved in sum, where its threads do not have all of their transfers.
type Traffic struct {
	Ranks  []RankTraffic // by world and rank
	Sample []Sampled     // of each of Run.Messages, the window that it is of; nil: not known
	// Of each thread whose columns are here: its time in windows of which messages are known, by begin; nil as Sample.
	Compared              [][]Compared
	Matched, MatchedBytes int64           // messages that both sides count, and their bytes
	Within                []TrafficWithin // by communicator, index into Run.Communicators
}

// TrafficWithin is what was transferred in a communicator: what ranks received from others is counted where it was
// sent.
type TrafficWithin struct{ Count, Bytes int64 }

// RankTraffic is what one rank has moved.
type RankTraffic struct {
	World, Rank int
	Sites       []TrafficSite
	Routes      iter.Seq[TrafficRoute] // made each time: of all ranks there may be tens of millions; nil = none
	Sizes       []TrafficSize
	Ends        []TrafficEnd
	Partners    iter.Seq[TrafficPartner] // likewise; nil = not known
}

// EachRoute hands out the routes, if there are any.
func (r *RankTraffic) EachRoute(yield func(TrafficRoute) bool) {
	if r.Routes != nil {
		r.Routes(yield)
	}
}

// A TrafficSite is calls that posted transfers of a kind.
type TrafficSite struct {
	Kind         TransferKind
	Path         uint32 // index into Run.CallPaths
	Count, Bytes int64
}

// A Sampled is which window a message was sent in, and for how many messages it stands: it was chosen by chance, with
// the probability 1 / Weight. Of one that was received in another window both were chosen. Weight 0: the probability
// is not known.
type Sampled struct {
	Window uint64 // number of an internal/anchor.ID
	Weight float64
}

// A Compared is time of a thread in a window of which messages are known: from the exit of the call before it to that
// of the last one that began in it. Where the call before is a collective, and no such window, the time begins with it.
type Compared struct {
	BeginNS, EndNS int64
	Window         uint64
}

// Halved is how often the probability is halved that the message is here; not known where that is not.
func (s Sampled) Halved() (n uint8, known bool) {
	if s.Weight < 1 {
		return 0, false
	}
	return uint8(math.Ilogb(s.Weight)), true
}

// A TrafficSize is messages of a kind, Sent or Received, and of some sizes. Times are as in a TrafficRoute.
type TrafficSize struct {
	Kind         TransferKind
	Bin          uint8 // bits of the number of bytes: 0 of 0 bytes, 1 of 1, 2 of 2 and 3, 3 of 4 to 7, …
	Count, Bytes int64
	BlockedNS    int64
}

// A TrafficEnd is messages of a kind, Sent or Received, that calls from a place completed. Times are as in a
// TrafficRoute.
type TrafficEnd struct {
	Kind         TransferKind
	Path         uint32 // index into Run.CallPaths, of the calls that completed them
	Count, Bytes int64
	BlockedNS    int64
}

// A TrafficRoute is a peer that transfers of one kind were sent to, or received from. What the calls took that
// completed receives is shared equally among the receives of each call; calls that completed sends and no receive
// share it among the sends. A test (MPI_Test and its like) that completes something took as long as it and the tests
// directly before it that completed nothing, the time between them left out. What a probe took is no part of it.
type TrafficRoute struct {
	Kind         TransferKind
	PeerWorld    int32
	Peer         int32 // rank in that world; -1 = none or not known
	Comm         int32 // index into Run.Communicators; -1 = not known
	Rest         bool  // several peers, for which there was no room of their own: Peer is -1
	Count, Bytes int64

	BlockedNS          int64 // of messages
	LongestNS, FirstNS int64 // of one message: the longest, and the first one's
}

// A TrafficPartner is messages of a kind, Sent or Received, that calls from one place posted, to or from one rank.
type TrafficPartner struct {
	Kind                      TransferKind
	Path                      uint32 // index into Run.CallPaths
	PeerWorld                 int32
	Peer                      int32 // rank in that world; -1 = not known
	Comm                      int32 // index into Run.Communicators; -1 = not known
	Others                    bool  // several, for which there was no room of their own: Peer and Comm are -1
	Count, Bytes, Least, Most int64 // Least and Most of one message
}
