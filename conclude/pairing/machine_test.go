package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"moriens/conclude/blame"
	"moriens/internal/team"
	"moriens/trace"
)

// A machine runs written programs in virtual time, on a network of which each pair has a latency and a bandwidth. A
// message up to the eager limit is under way when it is sent, a larger one, and one of MPI_Ssend, when both sides are
// there. All clocks are one, but for those of nodes that are shifted.
type machine struct {
	ranks    []*rankState
	node     []int
	eager    int64
	overhead int64                             // of a call that does not wait
	way      func(a, b int, bytes int64) int64 // ns that a message takes
	sends    map[channel][]*posting            // in the order in which they were posted
	receives map[channel][]*posting
	paths    []string
	shiftNS  []int64 // by node
	worldOf  []int
}

type channel struct{ from, to int }

// A posting is one side of a message.
type posting struct {
	row, done int // of the calls that posted and completed it
	ns        int64
	doneNS    int64
	bytes     int64
	waits     bool // for the other side
	transfer  int  // place among those of its thread
}

type rankState struct {
	steps  []step
	at     int
	began  bool
	now    int64
	open   []request
	thread trace.Thread
}

// A request is a side of a message that a call has posted: the nth of its channel.
type request struct {
	receive bool
	channel channel
	n       int
}

// A step is something that a rank does.
type step struct {
	what  string // compute, send, ssend, isend, recv, any, irecv, waitall
	ns    int64
	peer  int
	bytes int64
	at    string // place of the call
}

func newMachine(ranks, perNode int) *machine {
	m := &machine{eager: 64 << 10, overhead: 300, sends: make(map[channel][]*posting), receives: make(map[channel][]*posting), paths: []string{"?"}}
	for r := range ranks {
		m.ranks = append(m.ranks, &rankState{now: 1000})
		m.node = append(m.node, r/perNode)
		m.worldOf = append(m.worldOf, 0)
	}
	m.shiftNS = make([]int64, m.nodes())
	m.way = func(a, b int, bytes int64) int64 {
		if m.node[a] == m.node[b] {
			return 1000 + bytes/10
		}
		return 3000 + bytes/5
	}
	return m
}

func (m *machine) nodes() int { return slices.Max(m.node) + 1 }

func (m *machine) do(rank int, steps ...step) {
	m.ranks[rank].steps = append(m.ranks[rank].steps, steps...)
}

func compute(ns int64) step { return step{what: "compute", ns: ns} }
func send(to int, bytes int64) step {
	return step{what: "send", peer: to, bytes: bytes, at: "MPI_Send@halo.c:20"}
}
func ssend(to int, bytes int64) step {
	return step{what: "ssend", peer: to, bytes: bytes, at: "MPI_Ssend@halo.c:22"}
}
func isend(to int, bytes int64) step {
	return step{what: "isend", peer: to, bytes: bytes, at: "MPI_Isend@halo.c:24"}
}
func recv(from int, bytes int64) step {
	return step{what: "recv", peer: from, bytes: bytes, at: "MPI_Recv@halo.c:30"}
}
func irecv(from int, bytes int64) step {
	return step{what: "irecv", peer: from, bytes: bytes, at: "MPI_Irecv@halo.c:32"}
}
func anySource(bytes int64) step { return step{what: "any", bytes: bytes, at: "MPI_Recv@master.c:7"} }
func waitall() step              { return step{what: "waitall", at: "MPI_Waitall@halo.c:40"} }

// run carries out all programs. A receive from any source takes the first message to arrive, which is known when no
// other rank can go on.
func (m *machine) run(t testing.TB) *trace.Run {
	t.Helper()
	for {
		moved := false
		for r := range m.ranks {
			for m.ranks[r].at < len(m.ranks[r].steps) && m.step(r) {
				moved = true
			}
		}
		if !moved && !m.takeAny() {
			break
		}
	}
	for r, x := range m.ranks {
		if x.at < len(x.steps) {
			t.Fatalf("rank %d waits in step %d: %+v", r, x.at, x.steps[x.at])
		}
	}
	return m.recorded()
}

// takeAny gives the receive from any source whose message arrives first that message.
func (m *machine) takeAny() bool {
	best, rank, from := int64(math.MaxInt64), -1, -1
	for r, x := range m.ranks {
		if x.at == len(x.steps) || x.steps[x.at].what != "any" || !x.began || len(x.open) > 0 {
			continue
		}
		for s := range m.ranks {
			c := channel{s, r}
			if n := len(m.receives[c]); n < len(m.sends[c]) {
				if ns := max(x.now, m.sends[c][n].ns+m.way(s, r, m.sends[c][n].bytes)); ns < best {
					best, rank, from = ns, r, s
				}
			}
		}
	}
	if rank < 0 {
		return false
	}
	m.post(rank, true, channel{from, rank}, 0, false)
	return true
}

func (m *machine) path(at string) uint32 {
	k := slices.Index(m.paths, at)
	if k < 0 {
		k = len(m.paths)
		m.paths = append(m.paths, at)
	}
	return uint32(k)
}

// post posts one side of a message.
func (m *machine) post(r int, receive bool, c channel, bytes int64, waits bool) {
	x := m.ranks[r]
	p := &posting{row: x.thread.Calls.Len(), done: -1, ns: x.now, bytes: bytes, waits: waits || bytes > m.eager, transfer: x.thread.Transfers.Len()}
	list, kind, peer := m.sends, trace.Sent, c.to
	if receive {
		list, kind, peer = m.receives, trace.Received, c.from
	}
	list[c] = append(list[c], p)
	x.open = append(x.open, request{receive, c, len(list[c]) - 1})
	f := &x.thread.Transfers
	f.Call, f.Kind, f.Peer, f.Tag, f.Comm = append(f.Call, uint32(p.row)), append(f.Kind, kind), append(f.Peer, int32(peer)), append(f.Tag, 0), append(f.Comm, -1)
	f.Bytes, f.Done = append(f.Bytes, bytes), append(f.Done, -1)
}

// over says when a request is complete, and whether that is known yet.
func (m *machine) over(q request) (ns int64, known bool) {
	sends, receives := m.sends[q.channel], m.receives[q.channel]
	if q.n >= len(sends) {
		return 0, false
	}
	s := sends[q.n]
	begin := s.ns
	if s.waits {
		if q.n >= len(receives) {
			return 0, false
		}
		begin = max(begin, receives[q.n].ns)
	}
	if !q.receive && !s.waits {
		return s.ns, true
	}
	return begin + m.way(q.channel.from, q.channel.to, s.bytes), true
}

// step carries out the next step of a rank, as far as that goes.
func (m *machine) step(r int) bool {
	x := m.ranks[r]
	s := &x.steps[x.at]
	if s.what == "compute" {
		x.now += s.ns
		x.at++
		return true
	}
	if !x.began {
		x.began = true
		switch s.what {
		case "send", "ssend", "isend":
			m.post(r, false, channel{r, s.peer}, s.bytes, s.what == "ssend")
		case "recv", "irecv":
			m.post(r, true, channel{s.peer, r}, s.bytes, false)
		}
	}
	exit := x.now + m.overhead
	if s.what == "any" && len(x.open) == 0 {
		return false
	}
	if s.what != "isend" && s.what != "irecv" {
		for _, q := range x.open {
			ns, known := m.over(q)
			if !known {
				return false
			}
			exit = max(exit, ns)
		}
		for _, q := range x.open {
			list := m.sends
			if q.receive {
				list = m.receives
			}
			p := list[q.channel][q.n]
			p.done, p.doneNS = x.thread.Calls.Len(), exit
			x.thread.Transfers.Done[p.transfer] = int32(p.done)
			x.thread.Transfers.Bytes[p.transfer] = m.sends[q.channel][q.n].bytes
		}
		x.open = nil
	}
	c, b := &x.thread.Calls, &x.thread.Bursts
	if n := c.Len(); n > 0 && x.now > c.ExitNS[n-1] {
		b.StartNS, b.DurationNS, b.Cluster = append(b.StartNS, c.ExitNS[n-1]), append(b.DurationNS, x.now-c.ExitNS[n-1]), append(b.Cluster, 1)
		b.Before, b.After = append(b.Before, c.Path[n-1]), append(b.After, m.path(s.at))
	}
	c.EnterNS, c.ExitNS, c.Path = append(c.EnterNS, x.now), append(c.ExitNS, exit), append(c.Path, m.path(s.at))
	x.now = exit
	x.at++
	x.began = false
	return true
}

// recorded is what the machine has recorded.
func (m *machine) recorded() *trace.Run {
	run := &trace.Run{Clusters: []trace.Cluster{{ID: 1}}, PathNames: m.paths, WholePaths: true}
	for _, name := range m.paths {
		function := name
		if at := slices.Index([]byte(name), '@'); at >= 0 {
			function = name[:at]
		}
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: function})
	}
	for n := range m.nodes() {
		run.Nodes = append(run.Nodes, trace.Node{Name: fmt.Sprintf("n%d", n)})
	}
	place := make([]int, len(m.ranks))
	worlds := slices.Max(m.worldOf) + 1
	run.Worlds = make([]trace.World, worlds)
	for w := range worlds {
		rank := 0
		for r, x := range m.ranks {
			if m.worldOf[r] != w {
				continue
			}
			t := x.thread
			t.World, t.Rank, t.Node = w, rank, m.node[r]
			shift := m.shiftNS[t.Node]
			for k := range t.Calls.EnterNS {
				t.Calls.EnterNS[k] += shift
				t.Calls.ExitNS[k] += shift
			}
			for k := range t.Bursts.StartNS {
				t.Bursts.StartNS[k] += shift
			}
			if n := t.Calls.Len(); n > 0 {
				t.BeginNS, t.EndNS = t.Calls.EnterNS[0], t.Calls.ExitNS[n-1]
			}
			run.DurationNS = max(run.DurationNS, t.EndNS)
			place[r] = len(run.Threads)
			run.Threads = append(run.Threads, t)
			rank++
		}
		run.Worlds[w].Size = rank
	}
	for r := range m.ranks { // peers are ranks of their world
		t := &run.Threads[place[r]]
		for k, peer := range t.Transfers.Peer {
			t.Transfers.Peer[k] = int32(run.Threads[place[peer]].Rank)
		}
	}
	for c, sends := range m.sends {
		for n, s := range sends {
			q := m.receives[c][n]
			a, b := m.shiftNS[m.node[c.from]], m.shiftNS[m.node[c.to]]
			run.Messages = append(run.Messages, trace.Message{
				From: place[c.from], To: place[c.to], SendNS: s.ns + a, PhysicalSendNS: s.ns + a, RecvNS: q.ns + b, PhysicalRecvNS: q.doneNS + b, Bytes: s.bytes,
			})
		}
	}
	slices.SortFunc(run.Messages, trace.Message.Compare)
	return run
}

// measured is what is said of a run.
func measured(t testing.TB, run *trace.Run, of blame.Options) *Pairing {
	t.Helper()
	of.Workers = cmp.Or(of.Workers, 2)
	b, err := blame.Measure(run, team.Threads{}, of)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Measure(run, team.Threads{}, Options{Blame: b, Workers: of.Workers})
	if err != nil {
		t.Fatal(err)
	}
	adds(t, p)
	for _, f := range p.File.Findings {
		t.Logf("%s, %v s: %s", f.Kind, f.Seconds, f.Text)
	}
	return p
}

// adds tests that causes are the late times, to the nanosecond, and rows the totals.
func adds(t testing.TB, p *Pairing) {
	t.Helper()
	x := p.File.Totals
	if x == nil {
		return
	}
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	sum := ns(float64(p.File.Rest)) + ns(float64(x.Unexplained))
	for _, c := range p.File.Causes {
		sum += ns(float64(c.Seconds))
	}
	if late := ns(float64(x.LateSender)) + ns(float64(x.LateReceiver)); sum != late {
		t.Errorf("causes of %d ns, late times of %d", sum, late)
	}
	var blocked, send, late, messages, sized int64
	for i := range p.Rows {
		r := &p.Rows[i]
		switch {
		case r.Sized():
			sized += r.BlockedNS
		case r.Kind == "receive":
			blocked, late, messages = blocked+r.BlockedNS, late+r.LateNS, messages+r.Messages
		case r.Kind == "send":
			send, late = send+r.BlockedNS, late+r.LateNS
		}
	}
	if blocked != ns(float64(x.Blocked)) || sized != blocked || send != ns(float64(x.Send)) || messages != x.Messages || late != sum {
		t.Errorf("rows of %d ns blocked, %d by size, %d sending, %d late, %d messages: %+v", blocked, sized, send, late, messages, x)
	}
}
