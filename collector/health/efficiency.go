package health

// Of a run in progress
const (
	// StaleSeconds is for how long no rank may have reported anything until figures of the last minute are not shown any
	// more. Agents report each second, and a network or a disk that pauses takes few seconds.
	StaleSeconds = 10
	// WaitSeconds is for how long a rank must be in one MPI call for that to be shown in text. Applications with one
	// message a second are rare, and one that writes a checkpoint waits for seconds: what takes longer is worth a look.
	WaitSeconds = 10
)

// An Efficiency is how well the job uses its processors so far.
type Efficiency struct {
	Run        Factors   `json:"run"`
	Minute     Factors   `json:"minute"`
	BinSeconds float64   `json:"bin_seconds"`
	Bins       []float64 `json:"bins"`        // parallel efficiency in each of the bins of the last minute, which is not over in the last one
	Age        float64   `json:"age_seconds"` // since then all ranks that are alive have reported of no more time
	Ended      bool      `json:"ended"`       // a rank has reached MPI_Finalize: the figures are those of all of the stretch main
	Why        string    `json:"why"`         // figures are null, or not of this moment; empty = they are
}

// Factors are those of analysis/efficiency, as far as is known live; null: not known.
type Factors struct {
	ParallelEfficiency      *float64 `json:"parallel_efficiency"`
	LoadBalance             *float64 `json:"load_balance"`
	LoadBalanceInNodes      *float64 `json:"load_balance_in_nodes"`
	LoadBalanceBetweenNodes *float64 `json:"load_balance_between_nodes"`
	CommunicationEfficiency *float64 `json:"communication_efficiency"`
	Seconds                 *float64 `json:"seconds"`           // elapsed
	ComputingSeconds        *float64 `json:"computing_seconds"` // of all locations
	MPISeconds              *float64 `json:"mpi_seconds"`
	Locations               int      `json:"locations"` // threads that called MPI
}

// A Waiting is the rank that has been in one MPI call for longest.
type Waiting struct {
	Rank     int     `json:"rank"`
	World    int     `json:"world"` // 0, 1, … by the time of its first call
	Call     string  `json:"call"`
	CallPath string  `json:"callpath"` // where the call is made, as file:line; empty = not known
	Seconds  float64 `json:"seconds"`
}
