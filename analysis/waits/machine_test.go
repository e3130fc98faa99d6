package waits

import (
	"fmt"
	"slices"
)

// A machine runs written programs in virtual time: what each rank does is a list of steps, and calls take what they
// wait for, and some time of their own. It knows by itself who waited, apart from what is tested.
type machine struct {
	ranks     []*rankState
	comms     [][]int
	residual  int64 // of every call
	sends     map[channel][]*posting
	receives  map[channel][]*posting
	meetings  map[string]*meetingState
	uncertain []int64
	nodes     []int32
	functions []string
}

type channel struct{ from, to, tag int }

// A posting is one side of a message.
type posting struct {
	rank, row   int   // of the call that posts it
	ns          int64 // its entry
	bytes       int64
	synchronous bool
	done        int // row of the call that completed it; -1
	doneNS      int64
}

type meetingState struct {
	enter map[int]int64 // by rank
	size  int
}

type rankState struct {
	steps   []step
	at      int
	entered bool // the call of the step has begun, and waits
	now     int64
	thread  Thread
	ordinal map[int]int64
	open    map[string]*request
	waited  map[string]int64 // by kind
}

type request struct {
	receive bool
	channel channel
	number  int
	posting *posting
	coll    string // key of a collective's meeting
	kind    string
	row     int // in Collectives
}

// A step is something that a rank does.
type step struct {
	what     string // compute, send, ssend, isend, recv, irecv, sendrecv, wait, probe, or a collective: barrier, allreduce, bcast, reduce, scan, ibarrier
	ns       int64  // compute
	cluster  int32
	peer     int // send, recv; sendrecv: to
	source   int // sendrecv: from
	tag      int
	bytes    int64
	handle   string
	handles  []string
	comm     int
	root     int
	own      int64  // residual of this call alone, in the place of the machine's
	function string // of MPI, where it is another one than usual
}

func newMachine(ranks int) *machine {
	m := &machine{sends: make(map[channel][]*posting), receives: make(map[channel][]*posting), meetings: make(map[string]*meetingState), residual: 10}
	world := make([]int, ranks)
	for r := range ranks {
		world[r] = r
		m.ranks = append(m.ranks, &rankState{ordinal: make(map[int]int64), open: make(map[string]*request), waited: make(map[string]int64)})
		m.nodes = append(m.nodes, 0)
	}
	m.comms = [][]int{world}
	return m
}

func (m *machine) do(rank int, steps ...step) {
	m.ranks[rank].steps = append(m.ranks[rank].steps, steps...)
}

func (m *machine) all(steps ...step) {
	for r := range m.ranks {
		m.do(r, steps...)
	}
}

func compute(cluster int32, ns int64) step { return step{what: "compute", cluster: cluster, ns: ns} }
func send(to int, bytes int64) step        { return step{what: "send", peer: to, bytes: bytes} }
func ssend(to int, bytes int64) step       { return step{what: "ssend", peer: to, bytes: bytes} }
func recv(from int) step                   { return step{what: "recv", peer: from} }
func sendrecv(to, from int, b int64) step {
	return step{what: "sendrecv", peer: to, source: from, bytes: b}
}
func isend(h string, to int, b int64) step  { return step{what: "isend", handle: h, peer: to, bytes: b} }
func irecv(h string, from int) step         { return step{what: "irecv", handle: h, peer: from} }
func waitall(handles ...string) step        { return step{what: "wait", handles: handles} }
func collective(what string, root int) step { return step{what: what, root: root, bytes: 8} }
func barrier() step                         { return step{what: "barrier"} }

var functionOf = map[string]string{
	"send": "MPI_Send", "ssend": "MPI_Ssend", "isend": "MPI_Isend", "recv": "MPI_Recv", "irecv": "MPI_Irecv", "sendrecv": "MPI_Sendrecv", "wait": "MPI_Waitall",
	"barrier": "MPI_Barrier", "allreduce": "MPI_Allreduce", "bcast": "MPI_Bcast", "reduce": "MPI_Reduce", "scan": "MPI_Scan", "ibarrier": "MPI_Ibarrier", "iallreduce": "MPI_Iallreduce",
	"probe": "MPI_Probe", "local": "MPI_Comm_rank", "init": "MPI_Init", "finalize": "MPI_Finalize", "alltoallv": "MPI_Alltoallv", "test": "MPI_Test",
}

func (m *machine) path(function string) uint32 {
	k := slices.Index(m.functions, function)
	if k < 0 {
		k = len(m.functions)
		m.functions = append(m.functions, function)
	}
	return uint32(k)
}

// run carries out all programs, and says where a rank could not go on.
func (m *machine) run() error {
	for moved := true; moved; {
		moved = false
		for r := range m.ranks {
			for m.ranks[r].at < len(m.ranks[r].steps) && m.step(r) {
				moved = true
			}
		}
	}
	for r, x := range m.ranks {
		if x.at < len(x.steps) {
			return fmt.Errorf("rank %d waits in step %d: %+v", r, x.at, x.steps[x.at])
		}
	}
	return nil
}

// step carries out the next step of a rank, as far as that goes, and reports whether it is done.
func (m *machine) step(r int) bool {
	x := m.ranks[r]
	s := &x.steps[x.at]
	if s.what == "compute" {
		if s.ns > 0 {
			x.thread.StartNS, x.thread.DurationNS, x.thread.Cluster = append(x.thread.StartNS, x.now), append(x.thread.DurationNS, s.ns), append(x.thread.Cluster, s.cluster)
		}
		x.now += s.ns
		x.at++
		return true
	}
	row := len(x.thread.EnterNS)
	if !x.entered {
		x.entered = true
		m.enter(r, s, row)
	}
	untilNS, kind, ready := m.ready(r, s, row)
	if !ready {
		return false
	}
	enter := x.now
	if untilNS > enter {
		x.waited[kind] += untilNS - enter
	}
	residual := m.residual
	if s.own > 0 {
		residual = s.own
	}
	x.now = max(enter, untilNS) + residual
	function := functionOf[s.what]
	if s.function != "" {
		function = s.function
	}
	x.thread.EnterNS, x.thread.ExitNS, x.thread.Path = append(x.thread.EnterNS, enter), append(x.thread.ExitNS, x.now), append(x.thread.Path, m.path(function))
	m.leave(r, s, row)
	x.at++
	x.entered = false
	return true
}

// enter posts what a call posts.
func (m *machine) enter(r int, s *step, row int) {
	x := m.ranks[r]
	post := func(list map[channel][]*posting, c channel) (int, *posting) {
		p := &posting{rank: r, row: row, ns: x.now, bytes: s.bytes, synchronous: s.what == "ssend" || s.function == "MPI_Issend", done: -1}
		list[c] = append(list[c], p)
		return len(list[c]) - 1, p
	}
	switch s.what {
	case "send", "ssend":
		n, p := post(m.sends, channel{r, s.peer, s.tag})
		x.open["now"] = &request{channel: channel{r, s.peer, s.tag}, number: n, posting: p}
	case "recv":
		n, p := post(m.receives, channel{s.peer, r, s.tag})
		x.open["now"] = &request{receive: true, channel: channel{s.peer, r, s.tag}, number: n, posting: p}
	case "sendrecv":
		n, p := post(m.sends, channel{r, s.peer, s.tag})
		x.open["out"] = &request{channel: channel{r, s.peer, s.tag}, number: n, posting: p}
		n, p = post(m.receives, channel{s.source, r, s.tag})
		x.open["now"] = &request{receive: true, channel: channel{s.source, r, s.tag}, number: n, posting: p}
	case "isend":
		n, p := post(m.sends, channel{r, s.peer, s.tag})
		x.open[s.handle] = &request{channel: channel{r, s.peer, s.tag}, number: n, posting: p}
	case "irecv":
		n, p := post(m.receives, channel{s.peer, r, s.tag})
		x.open[s.handle] = &request{receive: true, channel: channel{s.peer, r, s.tag}, number: n, posting: p}
	case "wait", "probe", "local", "test":
	default:
		m.meet(r, s, row)
	}
}

// meet enters a collective.
func (m *machine) meet(r int, s *step, row int) {
	x := m.ranks[r]
	key := fmt.Sprintf("%s of %d number %d", s.what, s.comm, x.ordinal[s.comm])
	if s.what == "init" || s.what == "finalize" {
		key = s.what
	}
	if m.meetings[key] == nil {
		m.meetings[key] = &meetingState{enter: make(map[int]int64), size: len(m.comms[s.comm])}
	}
	m.meetings[key].enter[r] = x.now
	nonblocking := s.what[0] == 'i' && s.what != "init"
	q := &request{coll: key, kind: s.what, row: len(x.thread.Collectives.Call)}
	if nonblocking {
		x.open[s.handle] = q
	} else {
		x.open["now"] = q
	}
	if s.what == "init" || s.what == "finalize" {
		return
	}
	c := &x.thread.Collectives
	sent, received, root := s.bytes, s.bytes, int32(-1)
	own := slices.Index(m.comms[s.comm], r)
	switch s.what {
	case "bcast":
		root = int32(s.root)
		if own == s.root {
			received = 0
		} else {
			sent = 0
		}
	case "reduce":
		root = int32(s.root)
		if own != s.root {
			received = 0
		}
	}
	c.Call, c.Comm, c.Ordinal = append(c.Call, uint32(row)), append(c.Comm, int32(s.comm)), append(c.Ordinal, x.ordinal[s.comm])
	c.Sent, c.Received, c.Root, c.Done = append(c.Sent, sent), append(c.Received, received), append(c.Root, root), append(c.Done, int32(row))
	if nonblocking {
		c.Done[len(c.Done)-1] = -1
	}
	x.ordinal[s.comm]++
}

// ready says when what a call waits for is there, and whether that is known yet.
func (m *machine) ready(r int, s *step, row int) (untilNS int64, kind string, ready bool) {
	x := m.ranks[r]
	take := func(ns int64, of string) {
		if ns > untilNS {
			untilNS, kind = ns, of
		}
	}
	request := func(q *request, blocking bool) bool {
		switch {
		case q.coll != "":
			return m.readyTogether(r, s, q, take)
		case q.receive:
			list := m.sends[q.channel]
			if q.number >= len(list) {
				return false
			}
			take(list[q.number].ns, "late sender")
		case q.posting.synchronous:
			list := m.receives[q.channel]
			if q.number >= len(list) {
				return false
			}
			take(list[q.number].ns, "late receiver")
		}
		return true
	}
	switch s.what {
	case "wait":
		for _, h := range s.handles {
			if !request(x.open[h], false) {
				return 0, "", false
			}
		}
	case "probe":
		c := channel{s.peer, r, s.tag}
		n := len(m.receives[c])
		if n >= len(m.sends[c]) {
			return 0, "", false
		}
		take(m.sends[c][n].ns, "late sender")
	case "isend", "irecv", "ibarrier", "iallreduce", "local":
	case "test": // it polls until then, or finds its request complete
		if len(s.handles) > 0 {
			return untilNS, kind, request(x.open[s.handles[0]], false)
		}
		return x.now + s.ns, "polling", true
	default:
		if !request(x.open["now"], true) {
			return 0, "", false
		}
	}
	return untilNS, kind, true
}

// readyTogether says when a collective is over for a rank.
func (m *machine) readyTogether(r int, s *step, q *request, take func(ns int64, kind string)) bool {
	state := m.meetings[q.coll]
	comm := m.comms[s.comm]
	words := map[string]string{"barrier": "barrier", "ibarrier": "barrier", "allreduce": "N-to-N", "iallreduce": "N-to-N", "alltoallv": "N-to-N", "bcast": "bcast", "reduce": "reduce", "scan": "scan", "init": "start", "finalize": "end"}
	switch q.kind {
	case "bcast":
		ns, there := state.enter[comm[s.root]]
		if !there {
			return false
		}
		if comm[s.root] != r {
			take(ns, "bcast")
		}
	case "reduce":
		if comm[s.root] != r {
			return true
		}
		fallthrough
	case "scan":
		for k, other := range comm {
			if q.kind == "scan" && k >= slices.Index(comm, r) {
				break
			}
			ns, there := state.enter[other]
			if !there {
				return false
			}
			take(ns, words[q.kind])
		}
	default:
		if len(state.enter) < state.size {
			return false
		}
		for _, ns := range state.enter {
			take(ns, words[q.kind])
		}
	}
	return true
}

// leave notes what a call has completed.
func (m *machine) leave(r int, s *step, row int) {
	x := m.ranks[r]
	complete := func(h string) {
		q := x.open[h]
		if q == nil {
			return
		}
		delete(x.open, h)
		if q.coll != "" {
			if q.kind != "init" && q.kind != "finalize" {
				x.thread.Collectives.Done[q.row] = int32(row)
			}
			return
		}
		q.posting.done, q.posting.doneNS = row, x.now
	}
	switch s.what {
	case "wait", "test":
		for _, h := range s.handles {
			complete(h)
		}
	case "isend", "irecv", "ibarrier", "iallreduce":
	default:
		complete("now")
		complete("out")
	}
}

// recorded is what the machine has recorded.
func (m *machine) recorded() *Run {
	run := &Run{UncertaintyNS: m.uncertain, Workers: 2}
	for r, x := range m.ranks {
		t := x.thread
		t.Rank, t.EndNS, t.Node = int32(r), x.now, m.nodes[r]
		run.DurationNS = max(run.DurationNS, x.now)
		run.Threads = append(run.Threads, t)
		for _, c := range t.Cluster {
			run.Clusters = max(run.Clusters, int(c))
		}
	}
	for _, ranks := range m.comms {
		c := Comm{}
		for _, r := range ranks {
			c.Ranks = append(c.Ranks, int32(r))
		}
		run.Comms = append(run.Comms, c)
	}
	var list []Message
	for c, sends := range m.sends {
		for n, s := range sends {
			if n >= len(m.receives[c]) || m.receives[c][n].done < 0 {
				continue
			}
			q := m.receives[c][n]
			list = append(list, Message{int32(c.from), int32(c.to), s.ns, q.ns, q.doneNS, s.bytes, int32(s.done), 0})
		}
	}
	slices.SortFunc(list, func(a, b Message) int {
		for _, d := range []int64{a.SendNS - b.SendNS, int64(a.From - b.From), int64(a.To - b.To), a.RecvNS - b.RecvNS, a.DoneNS - b.DoneNS} {
			if d != 0 {
				return int(d)
			}
		}
		return 0
	})
	run.Messages, run.Message = len(list), func(i int) Message { return list[i] }
	run.Functions = m.functions
	return run
}
