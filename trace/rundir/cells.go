package rundir

// Cells says of a run whose bursts were kept on their nodes, as micro-cells of the agents, how much of it is here; part
// of the manifest.
type Cells struct {
	RanksInFull int    `json:"ranks_in_full"` // known call by call, as ranks of other runs are
	RanksInSum  int    `json:"ranks_in_sum"`  // known as totals only
	RanksSilent int    `json:"ranks_silent"`  // of which not even totals were received
	Side        Number `json:"side"`          // of a micro-cell, in units of the coordinates
	Floor       Number `json:"floor"`         // the least Eps that this side allows
	Bound       bool   `json:"bound"`         // an Eps below the floor was wanted, and raised
	Exact       bool   `json:"exact"`         // the answer is that of the bursts themselves
	// Units and bursts on which the answer depends and whose exact positions are not known; 0 where it is exact.
	UnitsInQuestion  int `json:"units_in_question"`
	BurstsInQuestion int `json:"bursts_in_question"`

	Agents        int      `json:"agents"`         // that were asked
	Unanswered    []string `json:"unanswered"`     // hosts whose agents did not answer, and why
	LostBursts    int64    `json:"lost_bursts"`    // that agents had seen before they were started again, and that are in no figure
	OutsideBursts int64    `json:"outside_bursts"` // that no cell can hold, because a coordinate is 2^31 sides or more from 0; they count as lacking data
	BytesDown     int64    `json:"bytes_down"`     // of questions about cells, and
	BytesUp       int64    `json:"bytes_up"`       // of answers, without the windows of ranks in full
	HeldBytes     int64    `json:"held_bytes"`     // most that an agent's cells took of its node's memory

	// Of the ranks in full: MPI calls whose windows had been evicted, in how many stretches; bursts that the run's clock
	// puts over the edge of a cell, so that they have the label of the unit next to them; and those that have none near
	// them, and are noise.
	CallsEvicted int64 `json:"calls_evicted"`
	Stretches    int   `json:"stretches"`
	BurstsMoved  int   `json:"bursts_moved"`
	BurstsAstray int   `json:"bursts_astray"`
}

// CellsClustering says how micro-cells were clustered; part of clusters.json.
type CellsClustering struct {
	Side        Number      `json:"side"`
	Floor       Number      `json:"floor"`
	Bound       bool        `json:"bound"`
	Wanted      Number      `json:"wanted"` // the least Eps that was raised to the floor; null = none was
	Units       int         `json:"units"`  // with bursts
	Certificate Certificate `json:"certificate"`
}

// A Certificate says how far a clustering of micro-cells is that of the bursts themselves.
type Certificate struct {
	Exact  bool       `json:"exact"`
	Rounds int        `json:"rounds"` // how often agents were asked for the bursts of units one by one,
	Split  int        `json:"split"`  // and of how many units
	Units  int        `json:"units"`  // still in question at some step
	Bursts int        `json:"bursts"`
	Steps  []CellStep `json:"steps"` // one per level of the refinement
}

// A CellStep is one step of a Certificate.
type CellStep struct {
	Eps    []Number `json:"eps"` // by group
	Exact  bool     `json:"exact"`
	Units  int      `json:"units"`
	Bursts int      `json:"bursts"`
}

// Sums are what all threads did, by sums, in a run that has the columns of some of them.
type Sums struct {
	Calls  []int64             // by call path; each poll counts
	Bursts map[int32]LabelSums // by label: a cluster's ID, or why in none
}

// LabelSums are the bursts of one label.
type LabelSums struct {
	Bursts            int
	TimeNS, LongestNS int64
}

// put has figures count all threads.
func (s *Sums) put(f *figures) {
	f.Calls = s.Calls
	f.Total = total{}
	for label, x := range s.Bursts {
		f.Total.put(label, x)
	}
}
