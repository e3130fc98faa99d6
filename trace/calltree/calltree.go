// Package calltree is the model of a profile as a tree: what ran inside what, for how long, on each thread. The exports
// of profiles below trace/ write it. Times are nanoseconds.
//
// A tree is read thread by thread, so that a profile of many ranks need not be in memory.
package calltree

// A Type says what a node is.
type Type string

// The types of nodes. The first is the root, of which there is one.
const (
	Program    Type = "program"    // from MPI_Init's entry to MPI_Finalize's exit, or what is recorded of a thread
	Phase      Type = "phase"      // named by the program
	Iterations Type = "iterations" // a phase of iterations that were found
	Function   Type = "function"   // of a call path
	MPI        Type = "mpi"        // calls of a function of MPI
	Cluster    Type = "cluster"    // computation: bursts of a cluster, or in none
	Loop       Type = "loop"       // of the program's structure
	Outside    Type = "outside"    // in none of its loops
	Unplaced   Type = "unplaced"   // in which of them is not known
	Paused     Type = "paused"     // recording was paused
	Unrecorded Type = "unrecorded" // there is no record
)

// A Node is something that ran, in the place where it ran.
type Node struct {
	Type    Type
	Name    string // without what is round it: "x_solve", "MPI_Wait", "Cluster 3"
	Parent  int32  // index into Tree.Nodes, of one before it; of the root -1
	File    string // of MPI and functions: where it is called, of a loop its head; empty = unknown
	Line    int
	Cluster int32 // of a cluster: its label, 1…; 0 and below: in no cluster. Of a loop the number of its line in program.json
}

// A Metric is a further value of nodes, besides time and calls: a counter, or bytes.
type Metric struct {
	Name string // as the run has it, e.g. PAPI_TOT_INS
	Unit string // empty where unknown
}

// A Thread is whose values they are.
type Thread struct {
	World, Rank, Thread int32
	Host                string // empty = unknown
	// Members is of how many threads it is the sum, those of a class, of which it is the first; 0: it is one thread.
	Members, Class int32
}

// Values are what a thread has of each node, without what lies in nodes below it. Index of the columns: Tree.Nodes.
type Values struct {
	NS      []int64   // time in it
	Calls   []int64   // how often it ran: calls, bursts, instances; of functions 0, as that is not known
	Metrics [][]int64 // one column per Tree.Metrics
}

// A Tree is a profile.
type Tree struct {
	Title   string // of the run, e.g. its command line
	Nodes   []Node // the root first; each behind its parent
	Metrics []Metric
	Threads []Thread // by world, rank, thread
	// Ranks is how many there are where Threads are classes of threads: the values of single ones are not known. Else 0.
	Ranks int
	// Facts are of the run as a whole, in their order: hosts, MPI library, and the like.
	Facts []Fact
	// Each hands out the values of all threads in their order; the columns are valid until the next ones.
	Each func(give func(thread int, v *Values) error) error
}

// A Fact is a name and a value in text.
type Fact struct{ Name, Value string }

// Inclusive adds to the values of each node those of the nodes below it. It may be the same slice.
func (t *Tree) Inclusive(exclusive, into []int64) {
	copy(into, exclusive)
	for i := len(t.Nodes) - 1; i > 0; i-- {
		p := t.Nodes[i].Parent
		into[p] = Sum(into[p], into[i])
	}
}

// Stack are the nodes from the root to a node.
func (t *Tree) Stack(node int32) (list []int32) {
	for ; node >= 0; node = t.Nodes[node].Parent {
		list = append(list, node)
	}
	for i, k := 0, len(list)-1; i < k; i, k = i+1, k-1 {
		list[i], list[k] = list[k], list[i]
	}
	return list
}
