package rundir

import "moriens/trace"

// Messages says what the ranks sent each other from point to point, and what is not known of it.
type Messages struct {
	Sends             int64       `json:"sends"`
	Receives          int64       `json:"receives"`
	Matched           int64       `json:"matched"`
	Bytes             int64       `json:"bytes"`
	LateSenderSeconds Number      `json:"late_sender_seconds"`
	Unmatched         []Unmatched `json:"unmatched"`
	Requests          Requests    `json:"requests"`
}

// Unmatched counts sends and receives without a counterpart, for one reason.
type Unmatched struct {
	Why      string `json:"why"`
	Sends    int64  `json:"sends"`
	Receives int64  `json:"receives"`
}

// Requests counts what could not be determined of MPI requests.
type Requests struct {
	EndsUnknown   int64 `json:"ends_unknown"`
	StartsUnknown int64 `json:"starts_unknown"`
	Lost          int64 `json:"lost"`
	Unfollowed    int64 `json:"unfollowed"`
	Open          int64 `json:"open"`
	HandlesShared int64 `json:"handles_shared"`
	Cancelled     int64 `json:"cancelled"`
	Late          int64 `json:"late"`
}

// A Communicator is one that was used, or a window or a file, with what its ranks of one world did in it.
type Communicator struct {
	World              int    `json:"world"`
	ID                 int64  `json:"id"`
	Kind               string `json:"kind"`
	Ranks              int    `json:"ranks"`
	Transfers          int64  `json:"transfers"`
	TransferBytes      int64  `json:"transfer_bytes"`
	CollectiveCalls    int64  `json:"collective_calls"`
	CollectiveSent     int64  `json:"collective_sent_bytes"`
	CollectiveReceived int64  `json:"collective_received_bytes"`
}

// describeMessages counts what the run itself reports messages; the rest of m stands.
func describeMessages(m *Messages, run *trace.Run, f *figures) {
	m.Matched, m.Bytes, m.Sends, m.Receives = int64(len(run.Messages)), 0, f.Sends, f.Receives
	for _, x := range run.Messages {
		m.Bytes += x.Bytes
	}
	if t := run.Traffic; t != nil {
		m.Matched, m.Bytes, m.Sends, m.Receives = t.Matched, t.MatchedBytes, 0, 0
		for i := range t.Ranks {
			for _, x := range t.Ranks[i].Sites {
				switch x.Kind {
				case trace.Sent:
					m.Sends += x.Count
				case trace.Received:
					m.Receives += x.Count
				}
			}
		}
	}
	// A trace that reports messages only reports no other sends.
	m.Sends, m.Receives = max(m.Sends, m.Matched), max(m.Receives, m.Matched)
}

func describeCommunicators(run *trace.Run, f *figures) []Communicator {
	list := make([]Communicator, len(run.Communicators))
	for i, c := range run.Communicators {
		x := &f.Communicators[i]
		list[i] = Communicator{
			World: c.World, ID: c.ID, Kind: c.Kind(), Ranks: len(c.Ranks),
			CollectiveCalls: x.CollectiveCalls, CollectiveSent: x.CollectiveSent, CollectiveReceived: x.CollectiveReceived,
		}
		if run.Traffic == nil {
			list[i].Transfers, list[i].TransferBytes = x.Transfers, x.TransferBytes
		}
	}
	if run.Traffic == nil {
		return list
	}
	for i, x := range run.Traffic.Within[:min(len(list), len(run.Traffic.Within))] {
		list[i].Transfers, list[i].TransferBytes = x.Count, x.Bytes
	}
	return list
}
