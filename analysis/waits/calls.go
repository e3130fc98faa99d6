package waits

import (
	"slices"
	"strings"
)

// A flow is who waits for whom in a collective.
type flow uint8

const (
	noFlow   flow = iota
	allToAll      // all for the last
	fromRoot      // all others for the root
	toRoot        // the root for the last
	prefix        // each for the lower ranks
	start         // as allToAll, of a world: MPI_Init
	end           // MPI_Finalize
	hidden        // it is not recorded for whom; a reason says why
)

// reasons are why it is not known for whom calls wait.
var reasons = [...]string{
	ofNeighbours: "neighbourhood collectives", ofOneSided: "one-sided synchronisation", ofInOut: "input and output", ofGroups: "collectives between two groups",
	ofDeath: "calls in which the process ended", ofUnknown: "collectives of unknown communicators", ofCompletion: "collectives whose completion is not known",
	ofMaking: "persistent collectives whose creation is not known", ofSubset: "creation of communicators by some ranks", ofProcesses: "calls that spawn or connect processes",
	ofSessions: "starts and ends of sessions", ofBuffers: "flushes of buffered sends", ofSends: "sends whose completion is not known",
}

// The reasons.
const (
	ofNeighbours = iota
	ofOneSided
	ofInOut
	ofGroups
	ofDeath
	ofUnknown
	ofCompletion
	ofMaking
	ofSubset
	ofProcesses
	ofSessions
	ofBuffers
	ofSends
)

// unexplained is the reason why it is not known for whom a call waits, whatever is recorded of it.
func (c *call) unexplained() (reason int, is bool) { return c.reason, c.flow == hidden }

// meets says that all members of a communicator make the call.
func (c *call) meets() bool { return c.kind != None && allToAll <= c.flow && c.flow <= prefix }

// A call is what an MPI function means for those that wait.
type call struct {
	flow
	kind   Kind
	reason int   // of hidden ones
	moves  bool  // who has no data of its own takes no part
	loose  bool  // that a member leaves before the last one comes is no contradiction
	begins bool  // another call completes it, and it completes none itself
	starts *call // of what makes a persistent collective: what each of its starts is
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

// makers make, change and free communicators, for which all members have to agree.
var makers = []string{
	"Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Cart_create", "Cart_sub", "Graph_create",
	"Dist_graph_create", "Dist_graph_create_adjacent", "Intercomm_merge", "Comm_set_info", "Comm_free", "Comm_disconnect",
}

// windows are the collective calls of one-sided communication.
var windows = []string{"Win_fence", "Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic", "Win_set_info", "Win_free"}

// unrecorded are functions of which it is not recorded for whom they wait.
var unrecorded = map[int][]string{
	ofOneSided: {
		"Win_lock", "Win_lock_all", "Win_unlock", "Win_unlock_all", "Win_flush", "Win_flush_all", "Win_flush_local", "Win_flush_local_all",
		"Win_post", "Win_start", "Win_complete", "Win_wait", "Win_test",
	},
	ofGroups:    {"Intercomm_create"}, // all of its communicator make it, and wait for the other group
	ofSubset:    {"Comm_create_group", "Comm_create_from_group", "Intercomm_create_from_groups"},
	ofProcesses: {"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"},
	ofSessions:  {"Session_init", "Session_finalize"},
	ofBuffers: {
		"Buffer_detach", "Buffer_flush", "Buffer_iflush", "Comm_detach_buffer", "Comm_flush_buffer", "Comm_iflush_buffer",
		"Session_detach_buffer", "Session_flush_buffer", "Session_iflush_buffer",
	},
}

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
	case "Start", "Startall":
		return call{begins: true}
	case "Probe", "Mprobe", "Iprobe", "Improbe":
		return call{polls: probe}
	case "Test", "Testall", "Testany", "Testsome", "Request_get_status", "Request_get_status_all", "Request_get_status_any", "Request_get_status_some", "Parrived":
		return call{polls: test}
	}
	if c, is := collectives[name]; is {
		return c
	}
	if slices.Contains(makers, name) {
		return agreement
	}
	if slices.Contains(windows, name) {
		return call{flow: allToAll, kind: Window, loose: true}
	}
	return otherCall(name)
}

// Sends says whether a function sends a message.
func Sends(function string) bool { return callOf(function).sends != noSend }

// Begins says whether a function only begins what another call completes.
func Begins(function string) bool { return callOf(function).begins }

// Tests says whether a function tests requests, so that a run of its calls waits for what the last one completes.
func Tests(function string) bool { return callOf(function).polls == test }

// agreement is a call that no member may leave before all agree, though some libraries let them.
var agreement = call{flow: allToAll, kind: NToN, loose: true}

// otherCall is what a function means that is none of the blocking ones with a meaning of their own.
func otherCall(name string) call {
	base, persistent := strings.CutSuffix(name, "_init")
	if !persistent && strings.HasPrefix(name, "I") {
		base = strings.ToUpper(name[1:2]) + name[2:]
	}
	if name == "Comm_idup" || name == "Comm_idup_with_info" {
		c := agreement
		c.begins = true
		return c
	}
	if c, is := collectives[base]; is && base != name {
		return c.begun(persistent)
	}
	if strings.HasPrefix(base, "Neighbor_") {
		c := call{flow: hidden, reason: ofNeighbours}
		if base != name {
			return c.begun(persistent)
		}
		return c
	}
	if strings.HasPrefix(name, "File_") {
		return call{flow: hidden, reason: ofInOut}
	}
	for reason, functions := range unrecorded {
		if slices.Contains(functions, name) {
			return call{flow: hidden, reason: reason}
		}
	}
	return call{}
}

// begun is what begins a collective that another call completes: its nonblocking form, or what makes a persistent one.
func (c call) begun(persistent bool) call {
	c.begins = true
	if persistent {
		made := agreement
		made.starts = &c
		return made
	}
	return c
}
