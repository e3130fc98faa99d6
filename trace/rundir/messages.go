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

// Requests counts what could not be told of MPI requests.
type Requests struct {
	EndsUnknown   int64 `json:"ends_unknown"`
	StartsUnknown int64 `json:"starts_unknown"`
	Lost          int64 `json:"lost"`
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

// describeMessages counts what the run itself tells of messages; the rest of m stands.
func describeMessages(m *Messages, run *trace.Run) {
	m.Matched, m.Bytes, m.Sends, m.Receives = int64(len(run.Messages)), 0, 0, 0
	for _, x := range run.Messages {
		m.Bytes += x.Bytes
	}
	for i := range run.Threads {
		for _, kind := range run.Threads[i].Transfers.Kind {
			switch kind {
			case trace.Sent:
				m.Sends++
			case trace.Received:
				m.Receives++
			}
		}
	}
	// A trace that tells of messages only tells of no other sends.
	m.Sends, m.Receives = max(m.Sends, m.Matched), max(m.Receives, m.Matched)
}

func describeCommunicators(run *trace.Run) []Communicator {
	list := make([]Communicator, len(run.Communicators))
	for i, c := range run.Communicators {
		list[i] = Communicator{World: c.World, ID: c.ID, Kind: communicatorKind(c), Ranks: len(c.Ranks)}
	}
	at := func(comm int32) *Communicator {
		if comm < 0 || int(comm) >= len(list) {
			return new(Communicator)
		}
		return &list[comm]
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		for k, kind := range t.Transfers.Kind {
			if kind == trace.Received { // counted where it was sent
				continue
			}
			c := at(t.Transfers.Comm[k])
			c.Transfers++
			c.TransferBytes += t.Transfers.Bytes[k]
		}
		for k, comm := range t.Collectives.Comm {
			c := at(comm)
			c.CollectiveCalls++
			c.CollectiveSent += t.Collectives.Sent[k]
			c.CollectiveReceived += t.Collectives.Received[k]
		}
	}
	return list
}

func communicatorKind(c trace.Communicator) string {
	switch {
	case c.Window:
		return "window"
	case c.File:
		return "file"
	case c.Inter:
		return "intercommunicator"
	}
	return "communicator"
}
