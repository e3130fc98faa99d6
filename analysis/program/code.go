package program

// Code is what the machine code of a function says of the order of its calls.
type Code struct {
	Loops []Loop // outer ones before inner ones
	Sites []Site // by return address
	// Follows are bit matrices: [0] of the whole function, [1+l] of loop l. Rows and columns are the sites that lie in it,
	// in the order of Sites, row by row, the least bit of a byte first. Bit (a, b): after the call at a the one at b can
	// come next, or after others, in the same activation; of a loop within it, without passing its header again.
	Follows [][]byte
	// Next are, of each call, by its place in Sites, then of the header of each loop, then of the entry: which of these
	// come next, without another one between. Calls and headers have the numbers of their places here, the end of the
	// function that of the entry. A loop that holds calls is taken to be gone through where the code leads to it; Skip is
	// what comes next besides where such a loop makes no trip. nil = not known.
	Next, Skip [][]int32
}

// Header is the number of a loop's header in Next.
func (c *Code) Header(loop int) int32 { return int32(len(c.Sites) + loop) }

// Outside is that of the entry, and of the end.
func (c *Code) Outside() int32 { return int32(len(c.Sites) + len(c.Loops)) }

// A Loop of a function.
type Loop struct {
	Parent int // index into Code.Loops; -1 = the function's body
	File   string
	Line   int       // of its header; 0 = unknown
	Scopes []Inlined // that are inlined round its header, outermost first
}

// A Site is a return address in a function.
type Site struct {
	Offset uint64 // in its module
	Loop   int    // the innermost one that holds it; -1 = none
	Column int    // of the call in its line; 0 = unknown
}

// An Inlined is a function that the compiler has put into another one.
type Inlined struct {
	Function string
	CallFile string // where it is called
	CallLine int
}
