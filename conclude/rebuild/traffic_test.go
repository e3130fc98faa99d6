package rebuild

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/clock"
	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
	"moriens/trace/rundir"
)

// reportTraffic plays two agents on two nodes whose ranks call what functions says, each row at once on both; in a
// Sendrecv each sends to the other. It returns the planted true exits.
func reportTraffic(t *testing.T, clocks [2]pretender, functions []mpicall.ID) (store.Frozen, [2][]float64) {
	s := store.New()
	random := rand.New(rand.NewPCG(9, 10))
	var exits [2][]float64
	n := len(functions)
	for rank := range 2 {
		p := &clocks[rank]
		p.feeder = agenttest.New(t, s, uint64(rank+1), fmt.Sprint("n", rank))
		p.sample(0, "")
		ring := uint64(rank + 11)
		p.Process(&moriensv1.Process{Process: ring, Rank: int32(rank), Size: 2, World: "w", Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW})
		p.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: 1, Id: 77, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}}})
		p.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: ring, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
		p.Ring(&moriensv1.Ring{Ring: ring, Process: ring})
		c := &sectiontest.Rows{Ring: ring, Origin: p.at(1e6), NoBurst: []uint32{0}}
		var moves []sectiontest.Move
		last := c.Origin
		for i, function := range functions {
			enter := 1e6 * float64(i+1)
			exit := enter + 2000 + 1e4*random.ExpFloat64()
			exits[rank] = append(exits[rank], exit)
			c.Add(uint32(function), 0, p.at(enter)-last, p.at(exit)-p.at(enter))
			last = p.at(exit)
			if function == mpicall.Sendrecv {
				for _, kind := range []moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED} {
					moves = append(moves, sectiontest.Move{Kind: kind, Peer: int32(1 - rank), Tag: 5, Comm: 1, Transfer: section.Transfer{Row: uint64(i), Done: 1, Bytes: 8}})
				}
				continue
			}
			root := int32(-1)
			if function == mpicall.Bcast || function == mpicall.Reduce {
				root = 1
			}
			c.Meet(1, uint64(len(c.Collectives)), root, 8, 8)
		}
		p.Rows(c)
		if len(moves) > 0 {
			p.Send(sectiontest.Message(sectiontest.Moves(ring, 0, moves...)))
		}
		p.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: ring, Transfers: uint64(len(moves))}}})
		p.End(ring, moriensv1.ProcessEnd_HOW_FINALIZED)
		p.sample(1e6*float64(n+2), "")
	}
	return s.Freeze(), exits
}

// What ranks sent each other, and where they met, distinguishes the clocks of their nodes, from the agents' messages to
// the manifest.
func TestClocksByTraffic(t *testing.T) {
	for _, function := range []mpicall.ID{mpicall.Sendrecv, mpicall.Allreduce, mpicall.Barrier} {
		functions := make([]mpicall.ID, 500)
		for i := range functions {
			functions[i] = function
		}
		f, exits := reportTraffic(t, [2]pretender{{offset: 1e9}, {offset: 2e11, drift: -70e-6}}, functions)
		r, _ := rebuiltAll(t, f)
		c := r.Clocks
		if len(c) != 2 || c[1].How != rundir.ClockMessages || c[1].Bounds != 1000 || c[1].UncertaintyNS > 5000 || r.Order.CallsMoved != 0 {
			t.Fatalf("%s: %+v, %+v", function, c, r.Order)
		}
		for rank, th := range r.Run.Threads {
			for i, want := range exits[rank] {
				if d := math.Abs(float64(th.Calls.ExitNS[i]-r.Run.Threads[0].Calls.ExitNS[0]) - (want - exits[0][0])); d > float64(c[1].UncertaintyNS)+100 {
					t.Fatalf("%s: rank %d, call %d: %g from the truth, said to be within %g", function, rank, i, d, c[1].UncertaintyNS)
				}
			}
		}
		if function == mpicall.Sendrecv {
			for i, m := range r.Run.Messages {
				if m.PhysicalRecvNS < m.SendNS || i > 0 && m.SendNS < r.Run.Messages[i-1].SendNS {
					t.Fatalf("message %d: %+v", i, m)
				}
			}
		}
	}
}

// Each collective describes by its function which rank waits for which; without that knowledge there is no description.
func TestFlows(t *testing.T) {
	f, _ := reportTraffic(t, [2]pretender{{}, {}}, []mpicall.ID{
		mpicall.Barrier, mpicall.Alltoallv, mpicall.Bcast, mpicall.Reduce, mpicall.Scan, mpicall.Sendrecv,
	})
	u := unpack(f, team.Solo{}, 2)
	c := communicatorsOf(u)
	m, _, err := matchMessages(u, c)
	if err != nil {
		t.Fatal(err)
	}
	place := func(thread, row int32) clock.Place { return clock.Place{Thread: thread, Row: row} }
	both := func(row int32) []clock.Member {
		return []clock.Member{{Start: place(0, row), End: place(0, row)}, {Start: place(1, row), End: place(1, row)}}
	}
	want := &clock.Traffic{
		Messages: []clock.Message{{Send: place(0, 5), Recv: place(1, 5)}, {Send: place(1, 5), Recv: place(0, 5)}},
		Collectives: []clock.Collective{
			{Flow: clock.AllToAll, Members: both(0)}, {Flow: clock.FromRoot, Root: 1, Members: both(2)},
			{Flow: clock.ToRoot, Root: 1, Members: both(3)}, {Flow: clock.Prefix, Members: both(4)},
		},
	}
	of, err := causesOf(u, c, m.Pairs)
	if err != nil {
		t.Fatal(err)
	}
	got := of.waits
	if len(got.Messages) == 2 && got.Messages[0].Send.Thread == 1 {
		got.Messages[0], got.Messages[1] = got.Messages[1], got.Messages[0]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Collectives count whose communicator is known; the one in which a process died does not, for it never returned.
func TestOperations(t *testing.T) {
	member := func(id uint64, inter bool) store.Member {
		return store.Member{Communicator: &store.Communicator{Info: &moriensv1.Communicator{Id: id, Inter: inter}}, Rank: 1}
	}
	u := &unpacked{
		Threads: Threads{ProcessOf: []int{0}},
		run:     &trace.Run{Threads: []trace.Thread{{Calls: trace.Calls{EnterNS: make([]int64, 6), Path: make([]uint32, 6), Unfinished: true}}}},
	}
	c := &communicators{
		own: []map[uint32]store.Member{{1: member(77, false), 2: member(78, true), 3: member(79, false)}}, doubtful: map[uint64]bool{79: true},
	}
	u.run.Threads[0].Calls.Path[1] = 1 // a function for which it is not known which rank waits for which
	x := &store.Collectives{
		Row: []uint32{0, 1, 2, 3, 4, 5}, Comm: []uint32{1, 1, 2, 3, 1, 1}, Ordinal: []uint64{0, 1, 0, 0, 2, 3},
		Sent: make([]uint64, 6), Received: make([]uint64, 6), Root: []int32{-1, -1, -1, -1, -1, -1},
	}
	var got []uint64
	for key, v := range operations(collectiveRows{u, c, 0, x}, []int32{0, -1}, []function{{name: "MPI_Barrier"}}) {
		if key.comm != 77 || v.rank != 1 || !v.moves || v.place.Row != map[uint64]int32{2: 4}[key.ordinal] {
			t.Errorf("%+v: %+v", key, v)
		}
		got = append(got, key.ordinal)
	}
	if d := cmp.Diff([]uint64{0, 2}, got); d != "" {
		t.Errorf("collectives that count: %s", d)
	}
}
