package rundir

import (
	"encoding/json"
	"fmt"
)

// A Refinement says how the clusters were found, step by step.
type Refinement struct {
	Rules  string  `json:"rules"`  // "none" (Eps given), "kinds", "default" or "strict"
	Freeze Number  `json:"freeze"` // score from which on a cluster was left alone; 0 with "none" and "kinds"
	Chosen []int   `json:"chosen"` // per group: step whose clusters are the answer, from 1
	Why    string  `json:"why"`
	Levels []Level `json:"levels"` // one per step
	// Alternatives are sets of nodes of the chosen steps that only ever share columns of the alignment; Merged
	// says that each set has become one cluster, known by its first node.
	Alternatives [][]int32 `json:"alternatives"`
	Merged       bool      `json:"merged"`
	// Where clusters were found by kinds: the basins of groups with several, and the joins that made one kind of two
	// clusters, in their order.
	Basins []Basin `json:"basins"`
	Joins  []Join  `json:"joins"`
}

// A Basin is bursts round one peak of density.
type Basin struct {
	Group    int      `json:"group"`   // index into groups
	Stratum  int      `json:"stratum"` // of its group, from 1
	Bursts   int      `json:"bursts"`
	Eps      Number   `json:"eps"`      // at which it was separated from the others; 0 if it is the only one of its stratum
	Valley   Number   `json:"valley"`   // null if it is the only one of its stratum
	Clusters []int32  `json:"clusters"` // that are of it
	From     []Number `json:"from"`     // by dimension, in its unit
	To       []Number `json:"to"`
}

// A Join made one kind of two clusters.
type Join struct {
	Round    int    `json:"round"` // from 1
	From     int32  `json:"from"`  // 0: so few bursts that they are noise to density by now
	To       int32  `json:"to"`
	Bursts   int    `json:"bursts"` // of From
	Foretold Number `json:"foretold"`
	Why      string `json:"why"`
}

// A Level is the clusters after a step.
type Level struct {
	Eps   []Number `json:"eps"`   // per group; 0 in a rare one
	Score Number   `json:"score"` // null = not defined
	Nodes []Node   `json:"nodes"`
}

// A Node is a cluster at a step. In the file it is a list of these, for there are many.
type Node struct {
	ID      int32 // 0 = noise
	Cluster int32 // in the step that its group has chosen: its number among the clusters; else 0
	Group   int   // index into groups; -1 for noise
	Eps     Number
	MinPts  int
	Bursts  int
	Seconds Number
	Score   Number // null = not defined
	Frozen  bool
	Parents []Parent
}

func (n *Node) columns() []any {
	return []any{&n.ID, &n.Cluster, &n.Group, &n.Eps, &n.MinPts, &n.Bursts, &n.Seconds, &n.Score, &n.Frozen, &n.Parents}
}

// MarshalJSON writes a list.
func (n Node) MarshalJSON() ([]byte, error) { return json.Marshal(n.columns()) }

// UnmarshalJSON reads a list.
func (n *Node) UnmarshalJSON(text []byte) error { return readList(text, n.columns(), "a node") }

// A Parent is a node of the step before, and how many of its bursts are in this node. In the file it is a list of both.
type Parent struct {
	ID     int32
	Bursts int
}

func (p *Parent) columns() []any { return []any{&p.ID, &p.Bursts} }

// MarshalJSON writes a list.
func (p Parent) MarshalJSON() ([]byte, error) { return json.Marshal(p.columns()) }

// UnmarshalJSON reads a list.
func (p *Parent) UnmarshalJSON(text []byte) error { return readList(text, p.columns(), "a parent") }

// readList reads a list of as many values as there are columns.
func readList(text []byte, columns []any, what string) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) != len(columns) {
		return fmt.Errorf("%s of %d values, want %d", what, len(list), len(columns))
	}
	for i, to := range columns {
		if err := json.Unmarshal(list[i], to); err != nil {
			return fmt.Errorf("%s, value %d: %w", what, i, err)
		}
	}
	return nil
}
