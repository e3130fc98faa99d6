package rebuild

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/collector/store"
	"moriens/conclude/agenttest"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// A played is a call of a thread, and what of it is a collective.
type played struct {
	function mpicall.ID
	meets    bool
	ordinal  uint64
	root     int32
	bytes    uint64
}

// completes is a move that says which row completed a collective that another one began.
func completes(row, by, ordinal uint64, instance int32) sectiontest.Move {
	return sectiontest.Move{
		Kind: moriensv1.Transfers_KIND_COLLECTIVE, Peer: -1, Tag: instance, Comm: 1,
		Transfer: section.Transfer{Row: row, Done: sectiontest.Done(row, by), Ordinal: ordinal + 1},
	}
}

// play has a process of one rank make calls, in as many threads as there are lists of them.
func play(t *testing.T, threads ...[]played) (*store.Store, *feeder) {
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	f.Process(&moriensv1.Process{Process: 1, Size: 1, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 77, Size: 1, Peers: 1, First: []int32{0}, Stride: []int32{1}, Count: []uint32{1},
	}}})
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 1, Communicator: 1}}})
	for k, calls := range threads {
		ring := uint64(k + 11)
		f.Ring(&moriensv1.Ring{Ring: ring, Process: 1, Thread: uint32(k)})
		c := &sectiontest.Rows{Ring: ring, Origin: 1000, NoBurst: []uint32{0}}
		for i, x := range calls {
			c.Add(uint32(x.function), 0, 10, 5)
			if x.meets {
				c.Collectives = append(c.Collectives, section.Collective{Row: uint32(i), Comm: 1, Ordinal: x.ordinal, Root: x.root, Sent: x.bytes, Received: 2 * x.bytes})
			}
		}
		f.Rows(c)
	}
	return s, f
}

// Nonblocking collectives, starts of persistent ones one by one and together, and what another thread completed, have
// the call that did it; what nothing completed has none. None of it is a transfer.
func TestCompletedCollectives(t *testing.T) {
	s, f := play(t,
		[]played{
			0:  {function: mpicall.Barrier, meets: true, ordinal: 0, root: -1},
			1:  {function: mpicall.Ibcast, meets: true, ordinal: 1, root: 0, bytes: 8},
			2:  {function: mpicall.Iallreduce, meets: true, ordinal: 2, root: -1, bytes: 16},
			3:  {function: mpicall.Waitall},
			4:  {function: mpicall.AllreduceInit, meets: true, ordinal: 3, root: -1, bytes: 32},
			5:  {function: mpicall.Start},
			6:  {function: mpicall.Wait},
			7:  {function: mpicall.Startall}, // of two, the other one made by the other thread
			8:  {function: mpicall.Waitall},
			9:  {function: mpicall.Ibarrier, meets: true, ordinal: 5, root: -1}, // the other thread completes it
			10: {function: mpicall.Ibarrier, meets: true, ordinal: 6, root: -1}, // nothing does
			11: {function: mpicall.Allreduce, meets: true, ordinal: 7, root: -1, bytes: 64},
			12: {function: mpicall.Start}, // freed
			13: {function: mpicall.RequestFree},
		},
		[]played{{function: mpicall.BcastInit, meets: true, ordinal: 4, root: 0, bytes: 128}, {function: mpicall.Wait}},
	)
	elsewhere := completes(9, 1, 5, -1)
	elsewhere.Ring = 12
	f.Send(sectiontest.Message(sectiontest.Moves(11, 0,
		completes(2, 3, 2, -1), completes(1, 3, 1, -1), completes(5, 6, 3, 0), completes(7, 8, 4, 0), completes(7, 8, 3, 1), elsewhere,
	)))
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Collectives: 6}}})
	f.End(1, moriensv1.ProcessEnd_HOW_FINALIZED)
	f.Clock(1_001_000, 1_001_000)
	r, _ := rebuiltAll(t, s.Freeze())
	want := []trace.Collectives{{
		Call:     []uint32{0, 1, 2, 4, 5, 7, 7, 9, 10, 11},
		Comm:     make([]int32, 10),
		Ordinal:  []int64{0, 1, 2, 3, 3, 3, 4, 5, 6, 7},
		Sent:     []int64{0, 8, 16, 32, 32, 32, 128, 0, 0, 64},
		Received: []int64{0, 16, 32, 64, 64, 64, 256, 0, 0, 128},
		Root:     []int32{-1, 0, -1, -1, -1, -1, 0, -1, -1, -1},
		Done:     []int32{0, 3, 3, -1, 6, 8, 8, -1, -1, 11},
		Instance: []int32{-1, -1, -1, -1, 0, 1, 0, -1, -1, -1},
	}, {
		Call: []uint32{0}, Comm: []int32{0}, Ordinal: []int64{4}, Sent: []int64{128}, Received: []int64{256}, Root: []int32{0},
	}}
	for i, th := range r.Run.Threads {
		if d := cmp.Diff(want[i], th.Collectives); d != "" {
			t.Errorf("thread %d (-want +got):\n%s", i, d)
		}
		if th.Transfers.Len() > 0 {
			t.Errorf("thread %d: %+v", i, th.Transfers)
		}
	}
	if !r.Whole || len(r.Run.Messages) > 0 {
		t.Errorf("whole %t, messages %v", r.Whole, r.Run.Messages)
	}
	for why, n := range r.Unpaired {
		if n.Sends+n.Receives > 0 {
			t.Errorf("%s: %+v", why, n)
		}
	}
	// What of it lies in a part of the run names the calls of that part.
	calls := &r.Run.Threads[0].Calls
	kept := [][]trace.Span{{{BeginNS: calls.EnterNS[2], EndNS: calls.ExitNS[2]}, {BeginNS: calls.EnterNS[4], EndNS: calls.ExitNS[7]}, {BeginNS: calls.EnterNS[11], EndNS: calls.ExitNS[13]}}, nil}
	wantCut := trace.Collectives{
		Call: []uint32{0, 1, 2, 4, 4, 5}, Comm: make([]int32, 6), Ordinal: []int64{2, 3, 3, 3, 4, 7}, Sent: []int64{16, 32, 32, 32, 128, 64},
		Received: []int64{32, 64, 64, 64, 256, 128}, Root: []int32{-1, -1, -1, -1, 0, -1}, Done: []int32{-1, -1, 3, -1, -1, 5}, Instance: []int32{-1, -1, 0, 1, 0, -1},
	}
	if d := cmp.Diff(wantCut, r.Run.Cut(nil, kept).Threads[0].Collectives); d != "" {
		t.Errorf("cut (-want +got):\n%s", d)
	}
}

// Of windows that were fetched it is known which call completed a collective, once, whatever arrived before unasked;
// the run itself does not change.
func TestCompletedCollectivesOfWindows(t *testing.T) {
	s, f := play(t, []played{
		{function: mpicall.AllreduceInit, meets: true, root: -1, bytes: 8}, {function: mpicall.Start}, {function: mpicall.Wait},
		{function: mpicall.Ibarrier, meets: true, ordinal: 1, root: -1}, {function: mpicall.Start}, {function: mpicall.Waitall},
	})
	early := sectiontest.Moves(11, 0, completes(1, 2, 0, 0))
	f.Send(sectiontest.Message(early))
	f.End(1, moriensv1.ProcessEnd_HOW_FINALIZED)
	f.Clock(1_001_000, 1_001_000)
	frozen := s.Freeze()
	r, _ := rebuiltAll(t, frozen)
	before := r.Run.Threads[0].Collectives
	details, err := frozen.Details(slices.Concat(sectiontest.Moves(11, 0, completes(3, 5, 1, -1), completes(4, 5, 0, 1)), early))
	if err != nil {
		t.Fatal(err)
	}
	with, err := r.With(r.Run, map[*store.Ring][]*store.Detail{frozen.Ring(11): details})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		got  trace.Collectives
		want trace.Collectives
	}{
		{"rebuilt", r.Run.Threads[0].Collectives, before},
		{"before", before, trace.Collectives{
			Call: []uint32{0, 1, 3}, Comm: make([]int32, 3), Ordinal: []int64{0, 0, 1}, Sent: []int64{8, 8, 0}, Received: []int64{16, 16, 0}, Root: []int32{-1, -1, -1},
			Done: []int32{-1, 2, -1}, Instance: []int32{-1, 0, -1},
		}},
		{"with", with.Threads[0].Collectives, trace.Collectives{
			Call: []uint32{0, 1, 3, 4}, Comm: make([]int32, 4), Ordinal: []int64{0, 0, 1, 0}, Sent: []int64{8, 8, 0, 8}, Received: []int64{16, 16, 0, 16},
			Root: []int32{-1, -1, -1, -1}, Done: []int32{-1, 2, 5, 5}, Instance: []int32{-1, 0, -1, 1},
		}},
	} {
		if d := cmp.Diff(x.want, x.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, d)
		}
	}
}
