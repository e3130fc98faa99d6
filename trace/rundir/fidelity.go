package rundir

// A Fidelity is the reconstruction error of a run that is rebuilt from what was kept of it: docs/format/fidelity.md.
// All errors are relative, 0 = none, 1 = all of it.
type Fidelity struct {
	Represented Number     `json:"represented_share"` // of the computing time, in clusters of which a kept window has a burst
	Inside      Number     `json:"inside_share"`      // of the computing time, in the bursts of kept windows
	Windows     Errors     `json:"windows"`           // rebuilt from structure.json and the bursts of kept windows
	Weighted    Errors     `json:"weighted"`          // bursts.parquet with its weights
	Sources     Sources    `json:"sources"`           // of Windows
	Ranks       RankErrors `json:"ranks"`             // of Windows
}

// Sources are shares of the computing time by what it is rebuilt from.
type Sources struct {
	Thread  Number `json:"thread"`  // kept windows of the thread itself
	Class   Number `json:"class"`   // those of threads of its class
	Run     Number `json:"run"`     // those of any thread
	Sample  Number `json:"sample"`  // the sample in bursts.parquet
	Nothing Number `json:"nothing"` // not rebuilt: nothing of the cluster was kept
}

// RankErrors are about the computing time of each rank.
type RankErrors struct {
	Mean  Number      `json:"mean"`  // of all ranks
	Worst *RankError  `json:"worst"` // nil = there are no ranks
	List  []RankError `json:"list"`  // by world and rank; those with the largest errors where there are many
	More  int         `json:"more"`  // ranks that are not in List
}

// A RankError is about the computing time of a rank.
type RankError struct {
	World          int    `json:"world"`
	Rank           int    `json:"rank"`
	Time           Number `json:"time"`
	ExactSeconds   Number `json:"exact_seconds"`
	RebuiltSeconds Number `json:"rebuilt_seconds"`
}

// Errors compare the rebuilt run with the whole one.
type Errors struct {
	Time           Number         `json:"time"` // of the computing time
	ExactSeconds   Number         `json:"exact_seconds"`
	RebuiltSeconds Number         `json:"rebuilt_seconds"`
	WorstTime      Number         `json:"worst_time"`    // the largest error of a cluster's time
	WorstCluster   int32          `json:"worst_cluster"` // the cluster that has it; 0 = there is none
	Counters       []CounterError `json:"counters"`
	Clusters       []ClusterError `json:"clusters"`
	Curves         []CurveError   `json:"curves"` // empty in Weighted
}

// A CounterError is about a counter's sum.
type CounterError struct {
	Name  string `json:"name"`
	Error Number `json:"error"`
}

// A ClusterError is about the bursts of a cluster.
type ClusterError struct {
	ID             int32          `json:"id"` // as in bursts.parquet: below 1 in none
	Time           Number         `json:"time"`
	ExactSeconds   Number         `json:"exact_seconds"`
	RebuiltSeconds Number         `json:"rebuilt_seconds"`
	Counters       []CounterError `json:"counters"`
	Wasserstein    Number         `json:"wasserstein"` // distance 1 between the distributions of ln(duration)
	Kolmogorov     Number         `json:"kolmogorov"`  // largest difference of the distribution functions, 0-1
}

// A CurveError is about the computing time of the iterations of a phase.
type CurveError struct {
	Phase  int    `json:"phase"` // index of the phase of iterations
	Points int    `json:"points"`
	Mean   Number `json:"mean"`     // mean error of a point, as a share of the mean point
	Worst  Number `json:"worst"`    // the largest one
	At     int    `json:"worst_at"` // iteration at which that point begins
}
