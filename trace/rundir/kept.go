package rundir

import (
	"moriens/trace"
)

// Kept says what of the run is in the directory in full detail, and how it was chosen.
type Kept struct {
	How    string `json:"how"`    // "everything", or how much was to be kept
	Ranks  int    `json:"ranks"`  // with a call or a burst
	Calls  int    `json:"calls"`  // each poll of a run of polls counts
	Bursts int    `json:"bursts"` // in windows
	// Rows of bursts.parquet beside those, and how many bursts they stand for.
	SampledBursts int `json:"sampled_bursts"`
	SampledOf     int `json:"sampled_of"`

	Phases   []Iterations `json:"phases"`
	Classes  []Class      `json:"classes"`
	Grouped  string       `json:"grouped"`          // how the classes were found
	Differ   string       `json:"differ,omitempty"` // in what the two threads of a run of two differ most; empty: in nothing that matters
	Outliers []Outlier    `json:"outliers"`
	Windows  []Window     `json:"windows"`
	Dropped  []Dropped    `json:"dropped"` // the most important first
	// How many there was no room for beside those of Dropped.
	MoreDropped int `json:"more_dropped"`
	// Stretches in which something unusual happened and that are in no window, because there are so many.
	MoreAnomalies int `json:"more_anomalies"`
}

// Iterations are a stretch of the run in which the threads do the same again and again, or, with none, one in which
// they do not.
type Iterations struct {
	BeginNS         int64   `json:"begin_ns"`
	EndNS           int64   `json:"end_ns"`
	Iterations      int     `json:"iterations"`
	Threads         int     `json:"threads"`           // that have them
	PeriodBursts    int     `json:"period_bursts"`     // of one iteration of one thread, median
	MedianNS        int64   `json:"median_ns"`         // of one iteration
	Computing       Number  `json:"computing_seconds"` // of all threads, in bursts; NaN = not known
	Agreement       Number  `json:"agreement"`         // share of the bursts that are what their place in the iteration mostly has
	Autocorrelation Number  `json:"autocorrelation"`   // of burst durations at one iteration; NaN = they do not vary
	Inner           []Inner `json:"inner"`
	Reason          string  `json:"reason"`
}

// An Inner is a loop within an iteration, on the thread that the iterations were found on. Those within one follow it.
type Inner struct {
	Depth        int    `json:"depth"`         // 1 = within the iteration, 2 = within a loop within it, …
	OffsetBursts int    `json:"offset_bursts"` // from the begin of the iteration, or of the trip of the loop around it, median
	PeriodBursts int    `json:"period_bursts"` // of one trip, median
	Trips        int    `json:"trips"`         // each time, median
	MinTrips     int    `json:"min_trips"`
	MaxTrips     int    `json:"max_trips"`
	Share        Number `json:"share"` // of the iterations, or trips of the loop around it, that have it
}

// A Class is threads that behave alike.
type Class struct {
	Size     int        `json:"size"`
	Threads  [][2]int   `json:"threads"` // numbers of its threads in the order of world, rank and thread, from 0: first and last of each run
	Exemplar ThreadName `json:"exemplar"`
	Reason   string     `json:"reason"`
	Profile  string     `json:"profile"`           // what its threads spend their time on
	Differs  string     `json:"differs,omitempty"` // in what they differ most from the first class; empty: it is that
	Bursts   *int       `json:"bursts,omitempty"`  // of one of its threads, median; nil: not known
	Where    string     `json:"where,omitempty"`   // on which nodes they ran; empty: about everywhere, or there is one
}

// An Outlier is a thread that is unlike its class.
type Outlier struct {
	ThreadName
	Class    int    `json:"class"`    // index into Classes
	Distance Number `json:"distance"` // from the center of its class: 1 is as much as threads spend on the largest quantity of a unit
	Reason   string `json:"reason"`
	// Cause is the quantity of Reason: computing, calls, sent_bytes, received_bytes, waited_for or waiting.
	Cause string `json:"cause,omitempty"`
	// Cluster is the one, or the first of the kind, that Reason names where Cause is computing; 0 = it names none.
	Cluster int32 `json:"cluster,omitempty"`
	// Node is that of the thread; empty: there is one, or it is not known.
	Node string `json:"node,omitempty"`
}

// A Window is a stretch of time of some threads of which all is kept.
type Window struct {
	BeginNS int64        `json:"begin_ns"`
	EndNS   int64        `json:"end_ns"`
	Threads []ThreadName `json:"threads"`
	Phase   int          `json:"phase"` // index into Phases; -1 = none
	Why     string       `json:"why"`   // a word of trace.Why
	Reason  string       `json:"reason"`
	Bytes   int64        `json:"bytes"` // of its rows in all files, about
}

// Dropped is what was to be kept and is not.
type Dropped struct {
	Why     string `json:"why"`
	Threads int    `json:"threads"`
	Bytes   int64  `json:"bytes"`
	Reason  string `json:"reason"` // why it was chosen, and why it is not here
}

// A Reduction says how much smaller the directory is than a full one would be, and the reconstruction error.
type Reduction struct {
	BudgetBytes  *int64    `json:"budget_bytes,omitempty"` // of the directory; nil = none
	Bytes        int64     `json:"bytes"`                  // that it has, this file included
	FullBytes    int64     `json:"full_bytes"`             // of the files with detail, if everything were kept
	FullMeasured bool      `json:"full_measured"`          // else estimated from what a part of the rows takes
	Ratio        Number    `json:"ratio"`                  // of the two before
	Error        *Fidelity `json:"error,omitempty"`        // nil = nothing was dropped, or it is not known
	// InstancesByThread says whether instances.parquet has the rows of single threads, too; nil = there is no such file.
	InstancesByThread *bool `json:"instances_by_thread,omitempty"`
	// ProfileByClass says of how much profile.parquet has call paths by classes of ranks alone; nil = it has all by rank.
	ProfileByClass *ByClass `json:"profile_by_class,omitempty"`
	Missing        []string `json:"missing"`  // what could not be done or got, and why
	GivenUp        []string `json:"given_up"` // those of Missing for which the analysis had no time, or at which it has failed
}

// A ByClass is what of a profile is summed over the classes of Kept.
type ByClass struct {
	Places    int   `json:"places"`     // from which MPI is called, of which this holds
	CallPaths int   `json:"call_paths"` // that lead to them
	Bytes     int64 `json:"bytes"`      // that the file would have by rank
}

// count says how much is kept of a run: bursts, and rows of bursts.parquet.
func (k *Kept) count(run *trace.Run, f *figures, rows int) {
	type rank struct{ world, rank int }
	ranks := make(map[rank]bool)
	for i, busy := range f.Busy {
		if t := &run.Threads[i]; busy {
			ranks[rank{t.World, t.Rank}] = true
		}
	}
	k.Ranks, k.Calls, k.Bursts, k.SampledBursts = len(ranks), 0, f.Total.Bursts, rows-f.Total.Bursts
	for _, n := range f.Calls {
		k.Calls += int(n)
	}
	if k.How == "" {
		k.How = "everything"
	}
}
