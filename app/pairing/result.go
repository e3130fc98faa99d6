// Package pairing answers who exchanged what with whom in a run, what it cost, and where ranks should lie: it reads
// pairs.json and pairs.parquet of a run directory, and computes dendrogram, groups and placement as they are asked for.
package pairing

import (
	"moriens/trace/rundir"
)

// A By is what the distance of two ranks is made of.
type By string

// What T may be, in D(a,b) = 1/ΣT(a,b).
const (
	Blocked  By = "blocked"  // time in calls that completed receives
	Late     By = "late"     // waits for late senders and receivers
	Bytes    By = "bytes"    // of messages
	Messages By = "messages" // their number
	Span     By = "span"     // from the entry of the send to the end of the receive: only where messages are known one by one
)

// The linkages.
const (
	Single  = "single"
	Average = "average"
)

// A Question is what is asked of the pairs of a run. Its zero value is the default of all.
type Question struct {
	By           By      // "" = Blocked
	Linkage      string  // "" = Average where ranks are few enough for it, else Single
	Groups       int     // 0 = the cut with the largest modularity
	Height       float64 // the cut at this height; 0 = none is given
	Ranks        []int   // limits pairs and dendrogram to pairs that touch these; nil = all
	RanksPerNode int     // as if ranks lay so, in their order; 0 = as they ran
	Weigh        bool    // placement by blocked time instead of bytes
	Place        bool    // a placement of however many ranks
}

// A Result is what `moriens pairs --json` prints, format 1. Ranks are indices into Ranks; times are seconds.
type Result struct {
	Format  int                 `json:"format"`
	Why     []string            `json:"why,omitempty"`
	Exact   bool                `json:"exact"` // late times are of all messages
	Seconds rundir.Number       `json:"seconds"`
	By      By                  `json:"by"`
	Linkage string              `json:"linkage"`
	Ranks   []Rank              `json:"ranks"`
	Totals  *rundir.PairsTotals `json:"totals"`
	Table   rundir.PairsTable   `json:"table"`

	Unpaired Unpaired `json:"unpaired"` // what is in totals and in no pair

	Pairs                []Pair        `json:"pairs"`  // by a, b
	Merges               []Merge       `json:"merges"` // in order of height
	Order                []int         `json:"order"`  // leaves from left to right
	Cophenetic           rundir.Number `json:"cophenetic"`
	Modularity           rundir.Number `json:"modularity"`             // of the best cut, or of the one that was asked for
	TopologyModularity   rundir.Number `json:"topology_modularity"`    // of the same groups if all pairs had equal T
	GroupsFollowTopology bool          `json:"groups_follow_topology"` // T adds nothing to who talks to whom: no groups are reported
	Groups               []Group       `json:"groups"`

	Lines     []rundir.PairsLine     `json:"lines"`
	Sizes     []rundir.PairsSize     `json:"sizes"`
	CallPaths []rundir.PairsCallPath `json:"call_paths"`
	Causes    []rundir.PairsCause    `json:"causes"`
	Findings  []Finding              `json:"findings"`
	Placement *Placement             `json:"placement"` // null: one node, or nothing to weigh
}

// A Rank is one of the run, sorted by world and rank.
type Rank struct {
	World int    `json:"world"`
	Rank  int    `json:"rank"`
	Node  string `json:"node"`
}

// A Pair is two ranks that exchanged messages, a < b, both ways together.
type Pair struct {
	A               int                `json:"a"`
	B               int                `json:"b"`
	SameNode        bool               `json:"same_node"`
	Messages        int64              `json:"messages"`
	Bytes           int64              `json:"bytes"`
	Distance        rundir.Number      `json:"distance_seconds"` // what D is made of: ΣT, of bytes and messages their number
	Blocked         rundir.Number      `json:"blocked_seconds"`
	Send            rundir.Number      `json:"send_seconds"`
	Longest         rundir.Number      `json:"longest_seconds"`
	First           rundir.Number      `json:"first_seconds"`
	LateSender      rundir.Number      `json:"late_sender_seconds"` // null: not known, or estimated from fewer than 30 messages
	LateSenderError rundir.Number      `json:"late_sender_error_seconds"`
	LateReceiver    rundir.Number      `json:"late_receiver_seconds"` // likewise
	LateReceiverErr rundir.Number      `json:"late_receiver_error_seconds"`
	Group           int                `json:"group"` // index into groups; -1 = none
	Sizes           []rundir.PairsSize `json:"sizes"`
}

// Unpaired are messages of no listed pair: with those of the pairs they come to the totals.
type Unpaired struct {
	SummedMessages     int64         `json:"summed_messages"` // received from several peers, for which there was no room of their own
	SummedBytes        int64         `json:"summed_bytes"`
	SummedBlocked      rundir.Number `json:"summed_blocked_seconds"`
	OwnMessages        int64         `json:"own_messages"` // of ranks to themselves
	OwnBytes           int64         `json:"own_bytes"`
	OwnBlocked         rundir.Number `json:"own_blocked_seconds"`
	UnrecordedMessages int64         `json:"unrecorded_messages"` // of ranks with others that have no record
	UnrecordedBytes    int64         `json:"unrecorded_bytes"`
	UnrecordedBlocked  rundir.Number `json:"unrecorded_blocked_seconds"` // in receives
}

// A Merge joins two clusters: ids below the number of ranks are leaves, merge i makes number of ranks + i.
type Merge struct {
	Left   int           `json:"left"`
	Right  int           `json:"right"`
	Height rundir.Number `json:"height"`
	Size   int           `json:"size"`
}

// A Group is ranks that the cut leaves together.
type Group struct {
	Ranks   []int         `json:"ranks"`
	Blocked rundir.Number `json:"blocked_seconds"` // between its ranks
}

// A Placement is which ranks should lie on which node. Bytes are those of messages, of one-sided communication and of
// collectives of a part of the ranks. Where no order saves a tenth of what is between nodes, ranks are to be left as
// they are.
type Placement struct {
	Weigh          string          `json:"weigh"` // bytes or blocked: what is to be small between nodes
	InternodeBytes int64           `json:"internode_bytes"`
	Advised        int64           `json:"advised_internode_bytes"`
	Blocked        rundir.Number   `json:"internode_blocked_seconds"`
	AdvisedBlocked rundir.Number   `json:"advised_internode_blocked_seconds"` // of pairs that would be between nodes, as long as it was
	Saved          rundir.Number   `json:"saved_seconds"`                     // of transfers, all ranks together; null: not both lines are known
	Better         bool            `json:"better"`                            // the advice is another order
	Nodes          []PlacementNode `json:"nodes"`                             // as advised
	Blocks         int64           `json:"blocks_internode_bytes"`            // if ranks lay in blocks, in their order
	RoundRobin     int64           `json:"round_robin_internode_bytes"`       // if they lay in turn
	RanksPerNode   int             `json:"ranks_per_node"`                    // 0: nodes are those of the run
}

// A PlacementNode is a node with its ranks.
type PlacementNode struct {
	Name  string `json:"name"`
	Ranks []int  `json:"ranks"`
}
