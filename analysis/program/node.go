package program

import "encoding/json"

// Format is that of the JSON of a Program.
const Format = 1

// A Program is the structure of a run as a person would have written it: functions, loops with their trips, conditions,
// computation, and MPI calls. Figures are sums over all ranks.
type Program struct {
	Format  int     `json:"format"`
	Ranks   int     `json:"ranks"`
	Certain Certain `json:"certain"`
	// Basis is how loops were found: "code" (where the machine code of functions was there), "order", or "sequence": by
	// how often calls repeat, and when.
	Basis string `json:"basis"`
	// Worlds are the numbers of ranks of each, where there are several (MPI_Comm_spawn). OfRanks are the ranks of which
	// there are calls; nil = all.
	Worlds  []int    `json:"worlds,omitempty"`
	OfRanks RankList `json:"of_ranks,omitempty"`
	Why     []string `json:"why,omitempty"` // what is not known or left out, a sentence each
	Body    []*Node  `json:"body"`
	// Readings are other ways to find the loops of the same calls; nil = not known.
	Readings *Readings `json:"readings,omitempty"`

	Uncoded  []Uncoded `json:"-"` // of one that was made here: functions without machine code, as Why says
	Pathless Pathless  `json:"-"` // and calls without a call path
}

// Certain says how much of a run stands under lines that all have a rule, 0–1.
type Certain struct {
	Calls float64 `json:"calls"`
	Time  float64 `json:"time"` // of computing and of MPI calls
}

// Kinds of nodes.
const (
	KindLoop      = "loop"
	KindCall      = "call"      // of a function: its body is expanded
	KindRecursion = "recursion" // a call of a function that is open already: its body is that of the open one
	KindIf        = "if"
	KindMPI       = "mpi"
	KindCompute   = "compute"
	KindOther     = "other" // lines that were folded because they are below the share that fits
)

// Evidence of loops and conditions.
const (
	ByCode     = "code"     // the machine code has it
	ByOrder    = "order"    // lines or addresses in a function follow each other like that
	BySequence = "sequence" // the calls repeat, or come and stay away, like that
)

// A Node is a line of the program. Which fields it has depends on Kind.
type Node struct {
	ID   int    `json:"id"` // from 1, in the order of the text
	Kind string `json:"kind"`

	// Function, File and Line: of a call the function that is called and the line of the call; of an mpi node the MPI
	// function and the line of the call; of a loop the function that holds it and the line of its head.
	Function  string `json:"function,omitempty"`
	File      string `json:"file,omitempty"` // as the compiler was given it
	Line      int    `json:"line,omitempty"`
	Recursive bool   `json:"recursive,omitempty"` // a call whose function calls itself
	Inlined   bool   `json:"inlined,omitempty"`   // a call of a function that the compiler has put into its caller
	By        string `json:"by,omitempty"`        // of loops and conditions
	Note      string `json:"note,omitempty"`      // "caller unknown", …
	Threads   []int  `json:"threads,omitempty"`   // of a function in which threads began, and of conditions: their numbers in their ranks; Ranks has these

	// Loops.
	Trips     *Trips  `json:"trips,omitempty"`
	Variable  string  `json:"variable,omitempty"`   // "i": what conditions call its trips, from 0
	StandsFor int     `json:"stands_for,omitempty"` // how many loops round each other are one in the data; 0 = one
	Unrolled  int     `json:"unrolled,omitempty"`   // copies of the body in the machine code; 0 = one
	Explains  float64 `json:"explains,omitempty"`   // share of the elapsed time of the ranks that is spent in it, 0–1

	// Conditions. An if without Ranks and When is "always" on some part that has no rule: When.Kind is "unknown".
	Ranks     RankList `json:"ranks,omitempty"`      // on which ranks, sorted; nil = on all
	RanksText string   `json:"ranks_text,omitempty"` // "rank % 2 == 1"
	// OfRanks are the ranks that got to a condition with Ranks; nil = those of the condition round it, or of the program.
	// OfThreads are the numbers of the threads of these that did, where Threads says more.
	OfRanks   RankList `json:"of_ranks,omitempty"`
	OfThreads []int    `json:"of_threads,omitempty"`
	When      *When    `json:"when,omitempty"`      // in which trips; nil = in all
	WhenText  string   `json:"when_text,omitempty"` // "i % 10 == 0"
	Happened  int64    `json:"happened,omitempty"`  // over all ranks
	Of        int64    `json:"of,omitempty"`
	Else      bool     `json:"else,omitempty"` // it stands behind the if, or else-if, that it excludes

	// MPI calls and computation. Times are nanoseconds.
	Count  int64   `json:"count,omitempty"`
	Peers  []Peer  `json:"peers,omitempty"`
	Root   *int    `json:"root,omitempty"`
	Comm   string  `json:"communicator,omitempty"` // "" = MPI_COMM_WORLD, or not known
	Bytes  *Spread `json:"bytes,omitempty"`        // per call; nil = not known
	MPINS  int64   `json:"mpi_ns,omitempty"`
	LateNS int64   `json:"late_ns,omitempty"`
	Paths  []int   `json:"paths,omitempty"` // numbers in callpaths.json
	// How often each thread made the call: of those under lines without a rule, or in loops whose trips have none. A run
	// of tests is one.
	Each []RankSum `json:"each,omitempty"`

	Share     float64        `json:"share,omitempty"` // of all computing time, 0–1
	ComputeNS int64          `json:"compute_ns,omitempty"`
	MeanNS    float64        `json:"mean_ns,omitempty"`
	StdNS     float64        `json:"std_ns,omitempty"`
	Clusters  []ClusterShare `json:"clusters,omitempty"`
	Counters  []CounterMean  `json:"counters,omitempty"`
	// Of computation: the call paths round it, pairs of numbers in callpaths.json.
	Around [][2]int `json:"around,omitempty"`

	// Of a KindOther: the call paths that end bursts in it; Paths are those of its calls. None: they are not known.
	After []int `json:"after,omitempty"`

	// Lines of the text that a KindOther stands for. Its Count is that of MPI calls, its times are those of all lines.
	Lines int `json:"lines,omitempty"`

	Body []*Node `json:"body,omitempty"`

	column int // of the call in its line; 0 = not known
}

// RankList is a list of ranks that is null, not empty, where it stands for all.
type RankList []int

// MarshalJSON writes a list in short form: numbers.
func (r RankList) MarshalJSON() ([]byte, error) { return json.Marshal([]int(r)) }

// Kinds of trips.
const (
	TripsConstant = "constant"
	TripsCycle    = "cycle"
	TripsByRank   = "by rank"
	TripsLinear   = "linear"
	TripsVaries   = "varies"
)

// Trips says how often a loop went round, each time that it was entered.
type Trips struct {
	Least   int64   `json:"least"`
	Most    int64   `json:"most"`
	Mean    float64 `json:"mean"`
	Entries int64   `json:"entries"`
	Total   int64   `json:"total"`
	Kind    string  `json:"kind"`
	Cycle   []int64 `json:"cycle,omitempty"`
	// Expression is what stands behind 1..: "400", "(3,4,5 in turn)", "i", "rank+1", "3..7".
	Expression string    `json:"expression"`
	Quartiles  []float64 `json:"quartiles,omitempty"` // three; of loops that vary
	// What Expression says, in numbers.
	Linear *Linear   `json:"linear,omitempty"`
	ByRank []RankSum `json:"by_rank,omitempty"`
	// AtLeast and AtMost: the calls do not show where a trip of this loop, or of the one round it, ends and the next one
	// begins: there may have been more trips, or more entries of fewer.
	AtLeast bool `json:"at_least,omitempty"`
	AtMost  bool `json:"at_most,omitempty"`
	// Likely: so it is here too, but with these trips, and no others, what happens in them is regular.
	Likely bool `json:"likely,omitempty"`
	// WithCalls: a trip can make no call. Such trips are not seen and not counted.
	WithCalls bool `json:"with_calls,omitempty"`
}

// Linear is Slope times a trip of a loop round it, from 0, plus Offset.
type Linear struct {
	Variable string `json:"variable"`
	Slope    int64  `json:"slope"`
	Offset   int64  `json:"offset"`
}

// A RankSum is a number that each of some ranks has, or each of some threads of these.
type RankSum struct {
	Ranks   RankList `json:"ranks"`
	Threads []int    `json:"threads,omitempty"` // of calls: the numbers of the threads; nil = thread 0 alone
	Count   int64    `json:"count"`
}

// Kinds of When.
const (
	WhenEvery    = "every"     // trip % period == offset
	WhenNotEvery = "not every" // trip % period != offset
	WhenAt       = "at"        // trip == trip
	WhenNotAt    = "not at"
	WhenFrom     = "from" // trip >= trip
	WhenTo       = "to"   // trip <= trip
	WhenRange    = "range"
	WhenLast     = "last" // the last trip of each entry
	WhenNotLast  = "not last"
	WhenDepth    = "depth" // of the recursion: depth == trip
	WhenUnknown  = "unknown"
)

// When is a condition on the trips of a loop; trips count from 0.
type When struct {
	Kind     string `json:"kind"`
	Variable string `json:"variable,omitempty"` // of a loop round it; n: executions so far; depth: of the recursion
	Period   int64  `json:"period,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
	// Rank is 1 or -1 where the condition is one on the trip plus, or minus, the rank.
	Rank int64 `json:"rank,omitempty"`
	Trip int64 `json:"trip,omitempty"`
	// Trips are those of At and NotAt, if there are several; Trip is the first.
	Trips  []int64 `json:"trips,omitempty"`
	First  int64   `json:"first,omitempty"` // of a range first..last, by stride
	Last   int64   `json:"last,omitempty"`
	Stride int64   `json:"stride,omitempty"`
}

// A Peer is whom calls send to, or receive from, of all ranks that make them.
type Peer struct {
	Way  string `json:"way"`  // "to" or "from"
	Kind string `json:"kind"` // "constant", "offset", "ring", "xor", "mirror", "grid", "transpose", "each", "table"
	Text string `json:"text"` // "(rank+1) mod size"
}

// A Spread is that of a value over calls.
type Spread struct {
	Least int64   `json:"least"`
	Most  int64   `json:"most"`
	Mean  float64 `json:"mean"`
}

// A ClusterShare says how much of the bursts of a line are in a cluster.
type ClusterShare struct {
	Cluster int32   `json:"cluster"`
	Bursts  int64   `json:"bursts"`
	Share   float64 `json:"share"` // of the line's time, 0–1
}

// A CounterMean is the mean of a counter over the bursts of a line.
type CounterMean struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"`
	N    int64   `json:"n"` // bursts that have a value
}
