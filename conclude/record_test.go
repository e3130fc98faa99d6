package conclude

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/fetch"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A record is all that collectors have received, agent by agent.
type record struct {
	clocks []*moriensv1.ClockSample
	agents []*agentRecord
}

// windows is what the nodes of some of the agents have in their windows: more than what arrived unasked.
func (r *record) windows(of func(agent int) bool) fetch.Agents {
	d := make(nodes)
	for i, a := range r.agents {
		if of(i) {
			d[a.hello.Agent] = a.kept
		}
	}
	return d
}

// nodes are what agents have: of each process one window, in several parts.
type nodes map[uint64][]*moriensv1.WindowPart

// Fetch gives all transfers, in parts that name no process.
func (d nodes) Fetch(context.Context, []anchor.ID, ...uint64) []windows.Fetched {
	return d.fetch(func(_ uint64, p *moriensv1.WindowPart) *moriensv1.WindowPart {
		if len(p.Sections) == 0 {
			return nil
		}
		return &moriensv1.WindowPart{Sections: p.Sections}
	})
}

// FetchCalls gives all that a process has of whose calls any are asked for.
func (d nodes) FetchCalls(_ context.Context, calls []windows.Calls) []windows.Fetched {
	return d.fetch(func(agent uint64, p *moriensv1.WindowPart) *moriensv1.WindowPart {
		ring := p.Process // its only one
		if !slices.ContainsFunc(calls, func(c windows.Calls) bool { return c.Agent == agent && c.Ring == ring }) {
			return nil
		}
		return p
	})
}

// fetch gives what the agents have, of each part what is wanted of it.
func (d nodes) fetch(of func(agent uint64, p *moriensv1.WindowPart) *moriensv1.WindowPart) []windows.Fetched {
	var list []windows.Fetched
	for agent, parts := range d {
		f := windows.Fetched{Agent: agent}
		for _, p := range parts {
			if wanted := of(agent, p); wanted != nil {
				f.Parts = append(f.Parts, proto.CloneOf(wanted))
			}
		}
		if agent%7 == 0 {
			f.Err = errors.New("the disk is gone")
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b windows.Fetched) int { return int(min(max(int64(a.Agent>>1)-int64(b.Agent>>1), -1), 1)) })
	return list
}

// agentRecord is what one agent has reported.
type agentRecord struct {
	hello    *moriensv1.Hello
	messages []said
	kept     []*moriensv1.WindowPart // that its node has
}

// said is a message, or rows of a ring with what belongs to them.
type said struct {
	*moriensv1.ReportRequest
	rows *sectiontest.Rows
}

func (a *agentRecord) say(m *moriensv1.ReportRequest) {
	a.messages = append(a.messages, said{ReportRequest: m})
}

func (a *agentRecord) record(x *sectiontest.Rows) { a.messages = append(a.messages, said{rows: x}) }

// frozen is what a collector has that some of the agents have reported to, whose messages arrived in a random order.
func (r *record) frozen(t fatal, random *rand.Rand, of func(agent int) bool) store.Frozen {
	s := store.New()
	for _, c := range r.clocks {
		s.AddClock(proto.CloneOf(c))
	}
	type stream struct {
		agent    *store.Agent
		messages []*moriensv1.ReportRequest
		next     uint64
	}
	var open []*stream
	for _, i := range random.Perm(len(r.agents)) {
		if !of(i) {
			continue
		}
		a, _, err := s.Greet(proto.CloneOf(r.agents[i].hello))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, &stream{agent: a, messages: encoded(r.agents[i].messages)})
	}
	for len(open) > 0 {
		k := random.IntN(len(open))
		x := open[k]
		if len(x.messages) == 0 {
			open = slices.Delete(open, k, k+1)
			continue
		}
		m := x.messages[0]
		x.messages = x.messages[1:]
		x.next++
		m.Sequence = x.next
		if _, err := s.Apply(x.agent, m); err != nil {
			t.Fatal(err)
		}
	}
	return s.Freeze()
}

// A player is a rank of a drawn job.
type player struct {
	agent       *agentRecord
	at          func(ns float64) uint64
	id          uint64
	world, rank int
	size        int
	now         float64
	rows        *sectiontest.Rows
	moves       []sectiontest.Move
	sums        map[[2]int64]uint64 // by kind, peer: number
	last        uint64
	silent      bool // of its transfers only the sum arrived
}

func (p *player) call(function mpicall.ID, path uint32, exit float64) (row int64) {
	x := p.rows
	row = int64(len(x.Function))
	if row == 0 {
		x.Origin, x.NoBurst = p.at(p.now), []uint32{0}
		p.last = x.Origin
	}
	x.Add(uint32(function), path, p.at(p.now)-p.last, p.at(exit)-p.at(p.now))
	p.last = p.at(exit)
	x.Counts[0] = append(x.Counts[0], row*7+int64(p.rank))
	p.now = exit
	return row
}

func (p *player) move(kind moriensv1.Transfers_Kind, row int64, done int64, peer, tag int32, ordinal uint64) {
	p.sums[[2]int64{int64(kind), int64(peer)}]++
	p.moves = append(p.moves, sectiontest.Move{
		Kind: kind, Comm: 1, Peer: peer, Tag: tag, Transfer: section.Transfer{Row: uint64(row), Done: done, Bytes: 8, Ordinal: ordinal},
	})
}

// drawRecord draws a job of several worlds, and what the agents of its nodes have reported: clocks of their own,
// collectives, messages of which some are without an end or totals only, gaps, counters, phases, and faults.
func drawRecord(t *rapid.T) *record {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "job"), 1))
	r := new(record)
	hosts := rapid.IntRange(1, 3).Draw(t, "hosts")
	type node struct{ offset, drift float64 }
	nodes := make([]node, hosts)
	for h := range nodes {
		nodes[h] = node{1e9 + float64(random.IntN(1e9)), (random.Float64() - .5) * 1e-4}
	}
	at := func(h int) func(float64) uint64 {
		return func(ns float64) uint64 { return uint64(ns + nodes[h].offset + nodes[h].drift*ns) }
	}
	raw := moriensv1.Clock_CLOCK_MONOTONIC_RAW
	sample := func(h int, ns float64) *moriensv1.ClockSample {
		shown := at(h)(ns)
		return &moriensv1.ClockSample{Clock: raw, Ticks: shown, MonotonicNs: int64(shown), RealtimeNs: int64(shown), UncertaintyNs: 40, Identity: fmt.Sprint("kernel", h)}
	}
	const end = 1e9
	r.clocks = []*moriensv1.ClockSample{sample(0, 0), sample(0, end)}
	agents := hosts + random.IntN(2)
	hostOf := make([]int, agents)
	for i := range agents {
		hostOf[i] = i % hosts
		a := &agentRecord{hello: &moriensv1.Hello{Agent: random.Uint64(), Host: fmt.Sprint("n", hostOf[i]), Cpus: 4}}
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: sample(hostOf[i], 0)}})
		r.agents = append(r.agents, a)
	}
	symbols := func(name string) []*moriensv1.Frame {
		return []*moriensv1.Frame{{Module: "/opt/" + name, BuildId: []byte{1}, Offset: 0x20}, {Module: "/opt/" + name, BuildId: []byte{1}, Offset: 0x90}}
	}
	for world := range rapid.IntRange(1, 2).Draw(t, "worlds") {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		players := make([]*player, size)
		known := make(map[*agentRecord]uint32) // communicators by agent
		for rank := range players {
			i := random.IntN(agents)
			a := r.agents[i]
			p := &player{agent: a, at: at(hostOf[i]), id: random.Uint64() | 1, world: world, rank: rank, size: size, now: float64(random.IntN(1e6)), silent: random.IntN(12) == 0}
			p.sums = make(map[[2]int64]uint64)
			players[rank] = p
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
				Process: p.id, Rank: int32(rank), Size: int32(size), World: fmt.Sprint("w", world), Clock: raw, Host: a.hello.Host, Executable: fmt.Sprint("/opt/app", world),
				MpiLibrary: "Open MPI v4", Events: []string{fmt.Sprint("PAPI_", world)}, Unavailable: []string{"hw::X: no: PMU"},
			}}})
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: p.id, Process: p.id}}})
			if known[a] == 0 {
				known[a] = uint32(1 + world)
				a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
					Communicator: known[a], Id: uint64(70 + world), Size: uint32(size), Peers: uint32(size), First: []int32{0}, Stride: []int32{1}, Count: []uint32{uint32(size)}}}})
			}
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: p.id, Comm: 1, Communicator: known[a], Rank: uint32(rank)}}})
			for k, name := range []string{"app", "lib"} {
				a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Process: p.id, Path: uint32(2 - k), Frames: symbols(name)}}})
			}
			p.rows = &sectiontest.Rows{Ring: p.id, Counts: make([][]int64, 1)}
			p.call(mpicall.Init, 0, p.now+1000)
		}
		play(t, random, players)
		for _, p := range players {
			p.call(mpicall.Finalize, 0, p.now+1000)
			p.finish(random)
		}
	}
	for i, a := range r.agents {
		if random.IntN(2) == 0 {
			frames := symbols("app")
			frames[0].Function, frames[1].Function = "solve", "main"
			if random.IntN(2) == 0 {
				frames[0].File, frames[0].Line = "/src/solve.c", 7
			}
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Symbols{Symbols: &moriensv1.Symbols{Frames: frames}}})
		}
		sent, back := float64(end/2), float64(end/2+4e4)
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: &moriensv1.ClockExchange{
			Clock: raw, SentTicks: at(hostOf[i])(sent), ReceivedTicks: at(0)(sent + 2e4), RepliedTicks: at(0)(sent + 2.1e4), ReturnedTicks: at(hostOf[i])(back)}}})
		if random.IntN(4) == 0 {
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: -1, Errno: 28}}})
		}
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: sample(hostOf[i], end)}})
		if random.IntN(5) > 0 {
			a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{Resent: uint64(i), CpuNs: 7}}})
		}
	}
	return r
}

// play has ranks of a world compute, meet, and send each other messages.
func play(t *rapid.T, random *rand.Rand, players []*player) {
	size := len(players)
	ordinals := make(map[[3]int]uint64) // of messages by sender, receiver and tag
	met := uint64(0)
	for range rapid.IntRange(0, 60).Draw(t, "rounds") {
		for _, p := range players {
			p.now += 1e4 + 1e5*random.ExpFloat64()
		}
		path := uint32(random.IntN(3))
		if random.IntN(2) == 0 {
			functions := []mpicall.ID{mpicall.Barrier, mpicall.Allreduce, mpicall.Bcast, mpicall.Reduce, mpicall.Scan, mpicall.Alltoallv}
			f, root := functions[random.IntN(len(functions))], int32(-1)
			if f == mpicall.Bcast || f == mpicall.Reduce {
				root = int32(random.IntN(size))
			}
			latest := 0.
			for _, p := range players {
				latest = max(latest, p.now)
			}
			for _, p := range players {
				p.call(f, path, max(p.now+500, latest+1000*random.Float64()))
				p.rows.Meet(1, met, root, 8, 8)
			}
			met++
			continue
		}
		from := random.IntN(size)
		to, tag := (from+1+random.IntN(2))%size, random.IntN(2)
		sender, receiver := players[from], players[to]
		key := [3]int{from, to, tag}
		ordinals[key]++
		sent := sender.now
		ended := func() int64 { // or its end was not seen
			return int64(min(random.IntN(25), 1))
		}
		done := ended()
		sender.move(moriensv1.Transfers_KIND_SENT, sender.call(mpicall.Send, path, sent+700), ended(), int32(to), int32(tag), ordinals[key])
		receiver.move(moriensv1.Transfers_KIND_RECEIVED, receiver.call(mpicall.Recv, path, max(receiver.now, sent)+900), done, int32(from), int32(tag), ordinals[key])
	}
}

// finish says what a rank has done, and how it ended.
func (p *player) finish(random *rand.Rand) {
	a, rows := p.agent, uint64(len(p.rows.Function))
	a.record(p.rows)
	a.kept = append(a.kept, &moriensv1.WindowPart{Process: p.id, Ring: []uint64{p.id}, FirstRow: []uint64{0}, BehindRow: []uint64{rows - rows/9}}) // what followed them is gone
	for half := (len(p.moves) + 1) / 2; len(p.moves) > 0; half = len(p.moves) {
		moved := sectiontest.Moves(p.id, 0, p.moves[:half]...)
		a.kept = append(a.kept, &moriensv1.WindowPart{Process: p.id, Sections: moved})
		if !p.silent {
			a.say(sectiontest.Message(moved))
		}
		p.moves = p.moves[half:]
	}
	if random.IntN(4) == 0 && rows > 2 {
		a.record(&sectiontest.Rows{Ring: p.id, GapsBefore: []uint64{rows / 2}, GapsInside: []uint64{rows/2 + 1}})
	}
	var list []sums.Row
	all := uint64(0)
	for key, n := range p.sums {
		kind := moriensv1.Transfers_Kind(key[0])
		list = append(list, sums.Row{Key: sums.Site(kind, mpicall.Send, uint32(key[1]%3)), Count: n, Bytes: 8 * n}, sums.Row{Key: sums.Peer(kind, 1, int32(key[1])), Count: n, Bytes: 8 * n})
		all += n
	}
	if all > 0 {
		x := sums.Encode(list)
		x.Process = p.id
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: x}})
	}
	name := []string{"solve", "write", fmt.Sprint("step", p.rank)}[random.IntN(3)]
	a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: p.id, Name: 1, Text: name}}})
	origin := p.rows.Origin
	marks := []section.Mark{
		{Ticks: origin + 5000, What: section.BeginPhase, Name: 1}, {Ticks: origin + 5900, What: section.Event, Name: 1, Value: int64(p.rank)},
		{Ticks: origin + 75900, What: section.EndPhase, Name: 1},
	}[:2+random.IntN(2)]
	a.record(&sectiontest.Rows{Ring: p.id, Marks: marks})
	// A thread that says something and never calls MPI.
	if random.IntN(3) == 0 {
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: p.id + 1, Process: p.id, Thread: 1}}})
		a.record(&sectiontest.Rows{Ring: p.id + 1, Marks: []section.Mark{{Ticks: origin + 7000, What: section.Event, Name: 1, Value: 3}}})
	}
	a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: p.id, Calls: rows, Marks: uint64(len(marks)), Dropped: uint64(random.IntN(2))}}})
	a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: p.id, Transfers: all}}})
	how := moriensv1.ProcessEnd_HOW_FINALIZED
	if random.IntN(6) == 0 {
		how = moriensv1.ProcessEnd_HOW_DIED
	}
	a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: p.id, How: how}}})
	a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: p.id, Text: "noted by the shim"}}})
	if random.IntN(3) == 0 {
		a.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: p.id, Text: "a tool hides MPI_Barrier", Unseen: true}}})
	}
}
