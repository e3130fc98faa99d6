// Package program finds the structure of a program in what its threads called: functions, loops with their trips,
// conditions by rank and by trip, and where it computes.
//
// In come, per thread, the numbers of the call paths of its MPI calls in their order; per call path the calls that lead
// to it, from the main function on; and, where it could be read, what the machine code of functions says of the order
// of its calls (Code). Out comes a Program. Times are nanoseconds.
//
//	Local  threads that did the same are one sequence; sequences become trees that hold them exactly (Lay, Walk)
//	Merge  trees of several processes, by sequence (Share)
//	Solve  one tree of all: order, conditions, trips, peers in rules (Solve)
//
// Loops come from the machine code, as nested strongly connected components (Havlak, "Nesting of reducible and
// irreducible loops", TOPLAS 19, 1997), and where there is none from the order of lines. The text that is made of it
// follows Martínez Vera, "Inferring programs structure from an execution trace" (UPC 2018); docs/design/program.md has
// the method. The package never changes its input, and its answer does not depend on the number of workers or
// processes.
package program

import (
	"math"

	"moriens/internal/team"
)

// An Input is what is known of the calls of a run.
type Input struct {
	Functions []Function
	Paths     []Path // by the numbers that threads use
	Counters  []string
	Threads   []Thread
	Worlds    []int // how many ranks each has
	Workers   int   // that share the work; below 1 means 1
	// Team is who has which threads. Paths and functions are the same for all members.
	Team team.Threads
	// Sampled says that messages of Moved are not all that there were, CollectivesSampled the same of collective calls.
	Sampled, CollectivesSampled bool
	// AllMoved says that Moved has all that each call moves: one that sends or receives nothing had no partner.
	AllMoved bool
	// WithoutCode has loops found by the order of lines, whatever the machine code says.
	WithoutCode bool
}

// A Function is one that has machine code of its own.
type Function struct {
	Name string // "" = unknown
	File string
	Line int
	Code *Code // nil = not known
	// Unknown says why Code is not known, in words that follow those of a place or stand alone; "" = it is known, or it
	// is no matter that it is not.
	Unknown string
	// Outside says that it is of the system's or of a run-time library: it begins no program.
	Outside bool
}

// A Path is how an MPI call was reached.
type Path struct {
	MPI   string // "" = not known
	Steps []Step // calls, outermost first; the last one calls MPI
	// Others are what Steps may be as well: functions that end with a call, which is a jump then, are on no call path, and
	// their machine code allows several. Unclear says that it may be none of them.
	Others  [][]Step
	Unclear bool
	// Lost says that there is no call path: where the call is is not known.
	Lost bool
	// Whole says that the first step is in the function in which the thread began, or in the main function.
	Whole bool
	// Poll says that the function only looks whether something is done: such calls in a row are one.
	Poll bool
	// Recursion is the function, from 1, of which calls that were open are left out; 0 = none.
	Recursion int

	origin uint32 // of one that was made of another one: the number of that, plus 1
	// several says that it is one of those that a call path may be, idle that no thread has it then.
	several, idle bool
}

// A Step is a call on a path.
type Step struct {
	Function int    // index into Input.Functions: whose machine code holds the call
	Offset   uint64 // return address in its module; 0 = not known
	File     string // of the line, in the source of the last of Scopes, else of the function
	Line     int
	Scopes   []Inlined // what is inlined round the call, outermost first
	// Again says that what is called may have called itself at its end: then call paths have it as if it had been called
	// here.
	Again bool
}

// A Thread is what one thread did. One of which another member has the columns has none here.
type Thread struct {
	World, Rank, Thread int
	Calls               Calls
	Bursts              Bursts
	Moved               []Moved
	Cut                 bool // it ended in the middle: no rule is broken by what it did not come to
	Lost                bool // calls of it are not known
}

// Calls are those of MPI, in their order; columns have one length, or are nil: not known.
type Calls struct {
	Path            []uint32
	EnterNS, ExitNS []int64
	Count           []int64 // of calls that each stands for; nil: one
	LateNS          []int64 // of that, waiting for late senders
}

// Bursts are the computation between calls, in their order.
type Bursts struct {
	Before, After []uint32 // call paths
	StartNS       []int64  // nil: not known
	DurationNS    []int64
	Cluster       []int32   // above 0; else it is in none
	Counters      [][]int64 // by Input.Counters; NoCount where there is no value
}

// NoCount stands for a value that was not counted.
const NoCount = math.MinInt64

// A Moved is what calls of one path moved to, or from, one rank.
type Moved struct {
	Path        uint32
	From        bool // received
	World       bool // Peer is a rank of the world; else of a communicator that is not known
	Peer        int32
	Root        int32  // of a collective; -1 = it has none
	Comm        string // the communicator; "" = of all ranks, or not known
	Group       []int  // its ranks, sorted, if they are not all; nil = all, one alone, or not known
	Count       int64
	Least, Most int64 // bytes
	Bytes       int64
}

// A Structure is the tree of a run, of all threads.
type Structure struct {
	lay     *layout
	groups  []group
	figures *figures
	input   *Input
	keys    [][32]byte // of this member's threads: sums of what each did
	why     []string
}

// A group is threads that did the same.
type group struct {
	Key     [32]byte
	Threads []int32
	Cut     bool
	Tree    tree
}
