package waits

import (
	"slices"
	"strings"
)

// A flow is who waits for whom in a collective.
type flow uint8

const (
	noFlow     flow = iota
	allToAll        // all for the last
	fromRoot        // all others for the root
	toRoot          // the root for the last
	prefix          // each for the lower ranks
	start           // as allToAll, of a world: MPI_Init
	end             // MPI_Finalize
	neighbours      // and all below: it is not known for whom
	oneSided
	inOut
)

// reasons are why it is not known for whom calls wait.
var reasons = [...]string{
	"neighbourhood collectives", "one-sided synchronisation", "input and output", "collectives between two groups", "calls in which the process ended",
	"collectives of unknown communicators",
}

// The reasons.
const (
	ofNeighbours = iota
	ofOneSided
	ofInOut
	ofGroups
	ofDeath
	ofUnknown
)

// unexplained is the reason why it is not known for whom a call waits.
func (c *call) unexplained() (reason int, is bool) {
	switch c.flow {
	case neighbours:
		return ofNeighbours, true
	case oneSided:
		return ofOneSided, true
	case inOut:
		return ofInOut, true
	}
	return 0, false
}

// meets says that all members of a communicator make the call.
func (c *call) meets() bool { return c.kind != None && allToAll <= c.flow && c.flow <= prefix }

// A call is what an MPI function means for those that wait.
type call struct {
	flow
	kind   Kind
	moves  bool // who has no data of its own takes no part
	loose  bool // that a member leaves before the last one comes is no contradiction
	begins bool // nonblocking or persistent: another call completes it
	making bool // of a persistent operation: nothing moves yet
	sends  sending
	polls  polling
}

// A polling is how a function looks for what another call then receives.
type polling uint8

const (
	noPoll polling = iota
	probe          // a message that the next receive takes
	test           // requests; it found them not complete, and the next call asks again
)

// A sending is how a function sends.
type sending uint8

const (
	noSend      sending = iota
	standard            // may wait for the receiver, from some size on
	synchronous         // does
	buffered            // does not: Bsend, Rsend, and sends within a Sendrecv, whose wait is that of its receive
)

// collectives are the functions with a communicator, without MPI_ and what makes them nonblocking.
var collectives = map[string]call{
	"Barrier":   {flow: allToAll, kind: Barrier},
	"Allreduce": {flow: allToAll, kind: NToN, moves: true}, "Allgather": {flow: allToAll, kind: NToN, moves: true},
	"Alltoall": {flow: allToAll, kind: NToN, moves: true}, "Reduce_scatter_block": {flow: allToAll, kind: NToN, moves: true},
	"Allgatherv": {flow: allToAll, kind: NToN, moves: true, loose: true}, "Reduce_scatter": {flow: allToAll, kind: NToN, moves: true, loose: true},
	"Alltoallv": {flow: allToAll, kind: NToN, moves: true, loose: true}, "Alltoallw": {flow: allToAll, kind: NToN, moves: true, loose: true},
	"Bcast": {flow: fromRoot, kind: LateBroadcast, moves: true}, "Scatter": {flow: fromRoot, kind: LateBroadcast, moves: true},
	"Scatterv": {flow: fromRoot, kind: LateBroadcast, moves: true},
	"Reduce":   {flow: toRoot, kind: EarlyReduce, moves: true}, "Gather": {flow: toRoot, kind: EarlyReduce, moves: true},
	"Gatherv": {flow: toRoot, kind: EarlyReduce, moves: true},
	"Scan":    {flow: prefix, kind: Scan, moves: true}, "Exscan": {flow: prefix, kind: Scan, moves: true},
}

// makers make communicators: their members have to agree.
var makers = []string{
	"Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Cart_create", "Cart_sub", "Graph_create",
	"Dist_graph_create", "Dist_graph_create_adjacent", "Intercomm_create", "Intercomm_merge", "Comm_create_from_group",
}

// windows are the collective calls of one-sided communication.
var windows = []string{"Win_fence", "Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic", "Win_free"}

// callOf is what a function means.
func callOf(function string) call {
	name, isMPI := strings.CutPrefix(function, "MPI_")
	if !isMPI {
		return call{}
	}
	name = strings.TrimSuffix(name, "_c")
	switch name {
	case "Init", "Init_thread":
		return call{flow: start, kind: Start, loose: true}
	case "Finalize":
		return call{flow: end, kind: End, loose: true}
	case "Send":
		return call{sends: standard}
	case "Isend":
		return call{sends: standard, begins: true}
	case "Ssend":
		return call{sends: synchronous}
	case "Issend":
		return call{sends: synchronous, begins: true}
	case "Bsend", "Ibsend", "Rsend", "Irsend", "Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace":
		return call{sends: buffered}
	}
	switch name {
	case "Probe", "Mprobe", "Iprobe", "Improbe":
		return call{polls: probe}
	case "Test", "Testall", "Testany", "Testsome":
		return call{polls: test}
	}
	if c, is := collectives[name]; is {
		return c
	}
	if slices.Contains(makers, name) {
		return call{flow: allToAll, kind: NToN, loose: true}
	}
	if slices.Contains(windows, name) {
		return call{flow: allToAll, kind: Window, loose: true}
	}
	return otherCall(name)
}

// otherCall is what a function means that is none of the blocking ones with a meaning of their own.
func otherCall(name string) call {
	base, persistent := strings.CutSuffix(name, "_init")
	if !persistent && strings.HasPrefix(name, "I") {
		base = strings.ToUpper(name[1:2]) + name[2:]
	}
	if name == "Comm_idup" || name == "Comm_idup_with_info" {
		return call{flow: allToAll, kind: NToN, loose: true, begins: true}
	}
	if c, is := collectives[base]; is && base != name {
		c.begins, c.making = true, persistent
		return c
	}
	switch {
	case strings.HasPrefix(base, "Neighbor_"):
		return call{flow: neighbours, begins: base != name, making: persistent}
	case strings.HasPrefix(name, "File_"):
		return call{flow: inOut}
	case strings.HasPrefix(name, "Win_") && synchronises(name):
		return call{flow: oneSided}
	}
	return call{}
}

// synchronises says that a call of a window may wait for other ranks.
func synchronises(name string) bool {
	for _, part := range []string{"_lock", "_unlock", "_flush", "_post", "_start", "_complete", "_wait", "_test", "_sync"} {
		if strings.HasPrefix(name, "Win"+part) {
			return true
		}
	}
	return false
}
