// Package drawn makes programs at random for tests of package program: what is written in each, what its machine code
// says of the order of its calls, and what its ranks call. Nothing of it is inferred: the code relation follows from
// the tree that was drawn, and the sequences from going through it. Only tests import it.
//
// Each loop makes a call of MPI of its own in every trip, unless it holds a loop and nothing else: what the calls do
// not show, such as a trip without calls, cannot be asked of an inference. Two loops with nothing between are one in
// the calls, and so they are in the Truth: its trips are those of the inner one, over all trips of the outer one. What
// never happens, or always, is no condition.
package drawn

import "moriens/analysis/program"

// A Source draws a number of least to most; what names it.
type Source func(least, most int, what string) int

// Options say what a program may have.
type Options struct {
	Functions int // at most
	Depth     int // of loops and conditions in a function, at most
	Ranks     int // at most
	Recursion bool
}

// A Program that was drawn. Function 0 is main.
type Program struct {
	Functions []Function
	Ranks     int
	// Sequences are by rank: numbers in Paths.
	Sequences [][]int
	Paths     []Path
	Truth     *Node // of main
}

// A Function of a program.
type Function struct {
	Name  string
	Entry uint64 // offset of its first byte
	Code  program.Code
	// Lines are those of the source, by return address. Loops have theirs in Code; no two are equal in a program.
	Lines map[uint64]int

	body  []*statement
	loops []*statement // in the order of Code.Loops
	sites []*statement
}

// A Step is a call that is open: made by a function, to return to an address.
type Step struct {
	Function int
	Site     uint64
}

// A Path is that of a call of MPI, main first. The last step is the call itself.
type Path struct {
	Steps []Step
	MPI   string
}

// Kinds of nodes.
const (
	Loop = iota
	Call
	Recursion // a call of a function that is open: its body is that of the node that is open
	MPI
)

// A Node says what happens in a context: the chain of functions that are open, each at its site, without those that are
// open again.
type Node struct {
	Kind     int
	Function int    // in which it stands
	Line     int    // of the call, or of the loop's head
	Callee   int    // of calls
	MPI      string // of calls of MPI
	Body     []*Node
	// StandsFor is how many loops it is, one in the other with nothing between.
	StandsFor int
	// Lines are those of all these loops.
	Lines []int

	// Times are, by rank, those that its body was gone through and made a call: the trips of a loop, the calls of a
	// function, in order; one for main.
	Times [][]Time
	// parent's times in which it happened, by rank, sorted.
	happened [][]int
	from     *statement
}

// A Time is one time through the body of a node.
type Time struct {
	Entry int // of loops: how often the loop was entered before
	Trip  int // of loops, since it was entered
	Depth int // how many calls of the same function are open round it
	Round *Round
}

// A Round is a loop that is open, in which trip, and which one is its last; those of callers too.
type Round struct {
	Loop       *Node
	Trip, Last int
	Up         *Round
}

// Happened says, by the times of the node round it, whether it happened on a rank.
func (n *Node) Happened(parent *Node, rank int) []bool {
	happened := make([]bool, len(parent.Times[rank]))
	for _, k := range n.happened[rank] {
		happened[k] = true
	}
	return happened
}

// Trips are those of each entry of a loop on a rank.
func (n *Node) Trips(rank int) (trips []int) {
	for _, t := range n.Times[rank] {
		if t.Trip == 0 {
			trips = append(trips, 0)
		}
		trips[len(trips)-1]++
	}
	return trips
}

// Calls counts those of a node of MPI on a rank.
func (n *Node) Calls(rank int) int { return len(n.happened[rank]) }
