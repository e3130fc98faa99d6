package rundir

// A Refinement says how the clusters came about, step by step.
type Refinement struct {
	Rules  string  `json:"rules"`  // "none" (Eps given), "default" or "strict"
	Freeze Number  `json:"freeze"` // score from which on a cluster was left alone; 0 with "none"
	Chosen []int   `json:"chosen"` // per group: step whose clusters are the answer, from 1
	Why    string  `json:"why"`
	Levels []Level `json:"levels"` // one per step
	// Alternatives are sets of nodes of the chosen steps that only ever share columns of the alignment; Merged
	// says that each set has become one cluster, known by its first node.
	Alternatives [][]int32 `json:"alternatives"`
	Merged       bool      `json:"merged"`
}

// A Level is the clusters after a step.
type Level struct {
	Eps   []Number `json:"eps"`   // per group; 0 in a rare one
	Score Number   `json:"score"` // null = not defined
	Nodes []Node   `json:"nodes"`
}

// A Node is a cluster at a step.
type Node struct {
	ID      int32    `json:"id"`      // 0 = noise
	Cluster int32    `json:"cluster"` // in the step that its group has chosen: its number among the clusters; else 0
	Group   int      `json:"group"`   // index into groups; -1 for noise
	Eps     Number   `json:"eps"`
	MinPts  int      `json:"min_pts"`
	Bursts  int      `json:"bursts"`
	Seconds Number   `json:"seconds"`
	Score   Number   `json:"score"` // null = not defined
	Frozen  bool     `json:"frozen"`
	Parents []Parent `json:"parents"`
}

// A Parent is a node of the step before and how many bursts came from it.
type Parent struct {
	ID     int32 `json:"id"`
	Bursts int   `json:"bursts"`
}
