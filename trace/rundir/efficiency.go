package rundir

import (
	"io"
	"slices"

	"moriens/internal/files"
)

// EfficiencyFile has what a run makes of its processors.
const EfficiencyFile = "efficiency.json"

// EfficiencyFormat is the version of the file.
const EfficiencyFormat = 1

// An Efficiency is efficiency.json, and what `moriens efficiency --json` prints. Ratios are 0 to 1, times seconds;
// null: not defined, or not known.
type Efficiency struct {
	Format int             `json:"format"`
	Within string          `json:"within"` // main, run, loop, or the name of a phase
	Runs   []EfficiencyRun `json:"runs"`   // the one of the file; of several directories the reference first

	Scaling string          `json:"scaling,omitempty"` // of several: strong or weak
	Fits    []EfficiencyFit `json:"fits,omitempty"`    // of several, over their locations
}

// An EfficiencyFit is a law that runs of different sizes follow.
type EfficiencyFit struct {
	What      string                `json:"what"`             // name of a field of the runs, of the budget: budget.computing_seconds
	Amdahl    *EfficiencyAmdahl     `json:"amdahl,omitempty"` // of a factor
	Law       *EfficiencyLaw        `json:"law,omitempty"`    // of seconds
	Projected []EfficiencyProjected `json:"projected"`
}

// An EfficiencyAmdahl is x0/(f + (1−f)·locations).
type EfficiencyAmdahl struct {
	X0       Number `json:"x0"`
	F        Number `json:"f"`
	Residual Number `json:"residual"` // root of the mean square
}

// An EfficiencyLaw is c + a·locations^i·(log₂ locations)^j.
type EfficiencyLaw struct {
	C     Number `json:"c"`
	A     Number `json:"a"`
	I     Number `json:"i"`
	J     Number `json:"j"`
	Error Number `json:"error"` // relative, of each run predicted from the others: root of the mean square
}

// An EfficiencyProjected is what a law says of a size that was not run.
type EfficiencyProjected struct {
	Locations int    `json:"locations"`
	Value     Number `json:"value"`
	Low       Number `json:"low"` // of the interval; null: not known
	High      Number `json:"high"`
}

// An EfficiencyRun is one run, in one stretch of its time.
type EfficiencyRun struct {
	Dir       string `json:"dir"` // "." in the file and of one run directory
	Ranks     int    `json:"ranks"`
	Locations int    `json:"locations"` // threads that called MPI: what the factors are over
	EfficiencyFactors
	EfficiencyScaling
	Budget     EfficiencyBudget      `json:"budget"`
	Clusters   []EfficiencyCluster   `json:"clusters"`        // by lost seconds, descending
	Kinds      []EfficiencyCluster   `json:"kinds,omitempty"` // the same of kinds of computation, by the cluster that stands for each; of main alone
	Phases     []EfficiencyPhase     `json:"phases"`          // named by the program, and phases of iterations
	Iterations []EfficiencyIteration `json:"iterations"`
	Nodes      []EfficiencyGroup     `json:"nodes"`
	Classes    []EfficiencyGroup     `json:"classes"`

	Bound        bool                 `json:"bound"`         // factors are bounds: something is not known
	Why          []string             `json:"why,omitempty"` // each a sentence without a full stop
	BeginSeconds Number               `json:"begin_seconds"` // of the stretch, from the run's time 0
	EndSeconds   Number               `json:"end_seconds"`
	MainThreads  *EfficiencyFactors   `json:"main_threads,omitempty"` // those that called MPI_Init, where there are others
	Worlds       []EfficiencyWorld    `json:"worlds,omitempty"`       // where there are several
	Threads      []EfficiencyLocation `json:"threads"`
	Stretches    []EfficiencyStretch  `json:"stretches,omitempty"` // the same of other stretches than this one
}

// EfficiencyFactors are those of POP.
type EfficiencyFactors struct {
	Seconds       Number  `json:"seconds"` // elapsed: T
	Parallel      Number  `json:"parallel_efficiency"`
	Balance       Number  `json:"load_balance"`
	InNodes       Number  `json:"load_balance_in_nodes"`
	BetweenNodes  Number  `json:"load_balance_between_nodes"`
	Communication Number  `json:"communication_efficiency"`
	Serialisation Number  `json:"serialisation_efficiency"`
	Transfer      Number  `json:"transfer_efficiency"`
	Basis         *string `json:"basis"` // what serialisation and transfer were computed from; null: they are not known

	MeanComputing  Number      `json:"mean_computing_seconds"`
	MostComputing  Number      `json:"most_computing_seconds"`
	MostOutsideMPI Number      `json:"most_outside_mpi_seconds"` // of a location, from the begin of the stretch to its own end; null: of no stretch
	Most           *ThreadName `json:"most_computing"`           // who has it; null: nobody computes
	IPC            Number      `json:"ipc"`
	GHz            Number      `json:"ghz"`
	Instructions   Number      `json:"instructions"`
}

// EfficiencyScaling compares a run with the reference, the first of several; 1 in that one, null in one alone.
type EfficiencyScaling struct {
	ComputationScaling Number `json:"computation_scaling"`
	IPCScaling         Number `json:"ipc_scaling"`
	InstructionScaling Number `json:"instruction_scaling"`
	FrequencyScaling   Number `json:"frequency_scaling"`
	Global             Number `json:"global_efficiency"`
	Speedup            Number `json:"speedup"`
}

// An EfficiencyBudget is where the seconds of all locations are; the parts add up to the total, which is locations · T.
type EfficiencyBudget struct {
	Total       Number `json:"total_seconds"`
	Computing   Number `json:"computing_seconds"`
	MPI         Number `json:"mpi_seconds"`
	Outside     Number `json:"outside_seconds"`      // before a location's first record, after its last one
	NotRecorded Number `json:"not_recorded_seconds"` // paused, lost, or not kept
}

// An EfficiencyCluster is what is lost in a cluster.
type EfficiencyCluster struct {
	ID      int32       `json:"id"`
	Share   Number      `json:"share"` // of the computing time
	Bursts  int64       `json:"bursts"`
	Seconds Number      `json:"seconds"` // of all locations
	Ranks   int         `json:"ranks"`   // locations that have it
	Balance Number      `json:"load_balance"`
	Lost    Number      `json:"lost_seconds"` // most − mean per location; null: not all have it
	Most    *ThreadName `json:"most"`
	IPC     Number      `json:"ipc"`
	Best    Number      `json:"ipc_of_best"` // over that of the best cluster of the same call paths
}

// An EfficiencyPhase is a phase that the program has named, or one of iterations.
type EfficiencyPhase struct {
	Name       string `json:"name"`
	Phase      *int   `json:"phase"`      // number of the phase of iterations, from 0; null: the program's
	Iterations int    `json:"iterations"` // or how often the program was in it, on the thread that was most often
	EfficiencyFactors
	Budget EfficiencyBudget `json:"budget"`
}

// An EfficiencyIteration is one of a phase of iterations.
type EfficiencyIteration struct {
	Phase         int    `json:"phase"`
	Iteration     int    `json:"iteration"` // from 0
	Count         int    `json:"count"`     // so many from there on: 1, but in a phase of very many
	Seconds       Number `json:"seconds"`   // from the latest begin of this one to that of the next
	Parallel      Number `json:"parallel_efficiency"`
	Balance       Number `json:"load_balance"`
	Communication Number `json:"communication_efficiency"`
	Skewed        bool   `json:"skewed,omitempty"` // a rank computes for longer than these seconds, which then are not the base of the ratios
}

// An EfficiencyGroup is a node or a class of ranks.
type EfficiencyGroup struct {
	Name      string `json:"name"`
	Locations int    `json:"locations"`
	Mean      Number `json:"mean_computing_seconds"`
	OfMost    Number `json:"of_most_computing"` // that mean over the most that any location of the run computes
	MPI       Number `json:"mpi_share"`         // of the time of its locations
}

// An EfficiencyWorld is one MPI_COMM_WORLD, in a stretch of its own.
type EfficiencyWorld struct {
	World     int `json:"world"`
	Ranks     int `json:"ranks"`
	Locations int `json:"locations"`
	EfficiencyFactors
}

// An EfficiencyLocation is what one thread did.
type EfficiencyLocation struct {
	ThreadName
	Begin     Number `json:"begin_seconds"` // of its life, from the run's time 0
	End       Number `json:"end_seconds"`
	Computing Number `json:"computing_seconds"`
	MPI       Number `json:"mpi_seconds"`
}

// An EfficiencyStretch has what a run has in another stretch of its time.
type EfficiencyStretch struct {
	Within       string `json:"within"`
	BeginSeconds Number `json:"begin_seconds"`
	EndSeconds   Number `json:"end_seconds"`
	EfficiencyFactors
	Budget   EfficiencyBudget    `json:"budget"`
	Clusters []EfficiencyCluster `json:"clusters"`
	Nodes    []EfficiencyGroup   `json:"nodes"`
	Classes  []EfficiencyGroup   `json:"classes"`
}

// Take makes a stretch the one that the run is described in.
func (r *EfficiencyRun) Take(s EfficiencyStretch) {
	r.BeginSeconds, r.EndSeconds, r.EfficiencyFactors, r.Budget = s.BeginSeconds, s.EndSeconds, s.EfficiencyFactors, s.Budget
	r.Clusters, r.Kinds, r.Nodes, r.Classes = s.Clusters, nil, s.Nodes, s.Classes
}

// Bounded marks the factors as bounds for these reasons too.
func (r *EfficiencyRun) Bounded(why []string) {
	for _, text := range why {
		if !slices.Contains(r.Why, text) {
			r.Why = append(r.Why, text)
		}
	}
	r.Bound = len(r.Why) > 0
}

// Write writes the file.
func (e *Efficiency) Write(w io.Writer) error { return writeJSON(w, e) }

// ReadEfficiency reads efficiency.json of a run directory.
func ReadEfficiency(dir string) (*Efficiency, error) {
	e := new(Efficiency)
	return e, readJSON(files.Dir(dir), EfficiencyFile, EfficiencyFormat, e)
}
