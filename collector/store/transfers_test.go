package store

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

func communicator(c *moriensv1.Communicator) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: c}}
}

func member(process uint64, comm, communicator, rank uint32) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{
		Process: process, Comm: comm, Communicator: communicator, Rank: rank,
	}}}
}

func pair() *moriensv1.Communicator {
	return &moriensv1.Communicator{Communicator: 1, Id: 9, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}
}

// sendAndReceive are two sound transfers of ring 11.
func sendAndReceive() []sectiontest.Move {
	return []sectiontest.Move{
		{Kind: moriensv1.Transfers_KIND_RECEIVED, Peer: -1, Tag: -1, Transfer: section.Transfer{Row: 1, Done: 1, Bytes: 5}},
		{Kind: moriensv1.Transfers_KIND_SENT, Peer: 1, Tag: 7, Comm: 3, Transfer: section.Transfer{Done: 2, Bytes: 1 << 40}},
	}
}

func moves(list ...sectiontest.Move) *moriensv1.ReportRequest {
	return sectiontest.Message(sectiontest.Moves(11, 0, list...))
}

// allreduce is two calls of ring 11, rows 2 and 3, of which the second is a sound collective.
func allreduce() *section.Block {
	b := two(11, 2)
	b.Collectives = []section.Collective{{Row: 1, Comm: 3, Ordinal: 1 << 33, Sent: 8, Received: 16, Root: RootRank}}
	return b
}

// meaningStub has a process with a communicator, two rings, and two calls in the first of them.
func meaningStub(t *testing.T) *agentStub {
	s := newStub(t)
	s.must(process(1, 0, 2))
	s.must(process(2, 1, 2))
	s.must(ring(11, 1))
	s.must(ring(12, 1))
	s.must(ring(21, 2))
	s.must(sections(two(11, 0)))
	s.must(communicator(pair()))
	s.must(member(1, 3, 1, 1))
	return s
}

func TestMeaningHolds(t *testing.T) {
	s := meaningStub(t)
	s.must(moves(sendAndReceive()...))
	s.must(sections(allreduce(), &section.Block{Ring: 11, GapsBefore: []uint64{0, 2}, GapsInside: []uint64{1}}))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 2}}})
	r := s.store.rings[11]
	want := []Transfers{{
		Kind: []uint8{2, 1}, Row: []uint32{1, 0}, Done: []int64{1, 1}, Peer: []int32{-1, 1}, Tag: []int32{-1, 7}, Comm: []uint32{0, 3}, Bytes: []uint64{5, 1 << 40},
	}}
	if d := cmp.Diff(want, r.Transfers); d != "" {
		t.Error(d)
	}
	met := []Collectives{{Row: []uint32{3}, Comm: []uint32{3}, Ordinal: []uint64{1 << 33}, Sent: []uint64{8}, Received: []uint64{16}, Root: []int32{RootRank}}}
	if d := cmp.Diff(met, r.Collectives); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Gaps{Before: []uint64{0, 2}, Inside: []uint64{1}}, r.Gaps); d != "" {
		t.Error(d)
	}
	if m := r.Process.Comms[3]; m.Rank != 1 || m.Info.Id != 9 || s.store.Totals().Transfers != 2 {
		t.Errorf("member %+v, totals %+v", m, s.store.Totals())
	}
}

// What is malformed is refused whole.
func TestMeaningRefuses(t *testing.T) {
	comm := func(change func(*moriensv1.Communicator)) *moriensv1.ReportRequest {
		c := pair()
		c.Communicator = 2
		change(c)
		return communicator(c)
	}
	moved := func(change func(x []sectiontest.Move)) *moriensv1.ReportRequest {
		x := sendAndReceive()
		change(x)
		return moves(x...)
	}
	corrupt := func(change func(b []byte)) *moriensv1.ReportRequest {
		m := moves(sendAndReceive()...)
		change(m.GetSections())
		return m
	}
	reduced := func(change func(c *section.Collective)) *moriensv1.ReportRequest {
		b := allreduce()
		b.Grow(b.Rows+1, b.Events) // room for a row that it does not have
		b.Rows--
		change(&b.Collectives[0])
		return sections(b)
	}
	const root = 25 // column
	gaps := func(ring uint64, before, inside []uint64) *moriensv1.ReportRequest {
		return sections(&section.Block{Ring: ring, GapsBefore: before, GapsInside: inside})
	}
	met := func(o *moriensv1.Origin) *moriensv1.ReportRequest {
		m := member(2, 1, 1, 0)
		m.GetMember().Origin = o
		return m
	}
	for _, tt := range []struct {
		want string
		m    *moriensv1.ReportRequest
	}{
		{"bad origin", met(&moriensv1.Origin{})},
		{"bad origin", met(&moriensv1.Origin{How: 7})},
		{"bad origin", met(&moriensv1.Origin{How: moriensv1.Origin_HOW_DERIVED, Parent: 5})},
		{"bad origin", met(&moriensv1.Origin{How: moriensv1.Origin_HOW_PARENT, Parent: 3})},
		{"bad origin", met(&moriensv1.Origin{How: moriensv1.Origin_HOW_JOINED, Began: 2, Ended: 1})},
		{"there already", comm(func(c *moriensv1.Communicator) { c.Communicator = 1 })},
		{"there already", comm(func(c *moriensv1.Communicator) { c.Communicator = 0 })},
		{"a group of 0", comm(func(c *moriensv1.Communicator) { c.Size = 0 })},
		{"columns of", comm(func(c *moriensv1.Communicator) { c.Stride = nil })},
		{"2 ranks from 0", comm(func(c *moriensv1.Communicator) { c.Stride[0] = -1 })},
		{"0 ranks", comm(func(c *moriensv1.Communicator) { c.Count[0] = 0 })},
		{"2 ranks from -1", comm(func(c *moriensv1.Communicator) { c.First[0] = -1 })},
		{"2 ranks from", comm(func(c *moriensv1.Communicator) { c.Stride[0] = 1 << 30 })},
		{"2 of 3 peers", comm(func(c *moriensv1.Communicator) { c.Peers = 3 })},
		{"3 of 2 peers", comm(func(c *moriensv1.Communicator) { c.Count[0], c.Cut = 3, true })},
		{"unknown", member(7, 1, 1, 0)},
		{"not defined", member(1, 1, 2, 0)},
		{"taken", member(1, 3, 1, 0)},
		{"taken", member(1, 0, 1, 0)},
		{"rank 2 of 2", member(1, 1, 1, 2)},
		{"unknown ring", sectiontest.Message(sectiontest.Moves(99, 0, sendAndReceive()...))},
		{"none", moves()},
		{"row 2 of 2", moved(func(x []sectiontest.Move) { x[0].Row = 2 })},
		{"row 18446744073709551615 of 2", moved(func(x []sectiontest.Move) { x[1].Row = math.MaxUint64 })},
		{"row 4611686018427387904 of 2", moved(func(x []sectiontest.Move) { x[0].Row = 1 << 62 })},
		{"row 2 of 2", moved(func(x []sectiontest.Move) { x[0].Done = 2 })},
		{"row -1 of 2", moved(func(x []sectiontest.Move) { x[0].Done = -2 })},
		{"further on", moved(func(x []sectiontest.Move) { x[0].Done = -1 << 62 })},
		{"further on", moved(func(x []sectiontest.Move) { x[0].Done = 1 << 62 })},
		{"kind 0", moved(func(x []sectiontest.Move) { x[0].Kind = 0 })},
		{"kind 8", moved(func(x []sectiontest.Move) { x[0].Kind = 8 })},
		{"a collective of 5 bytes", moved(func(x []sectiontest.Move) { x[0].Kind = moriensv1.Transfers_KIND_COLLECTIVE })},
		{"a collective with peer 1", moved(func(x []sectiontest.Move) { x[1].Kind, x[1].Bytes = moriensv1.Transfers_KIND_COLLECTIVE, 0 })},
		{"no peer 2", moved(func(x []sectiontest.Move) { x[1].Peer = 2 })},
		{"no peer -2", moved(func(x []sectiontest.Move) { x[1].Peer = -2 })},
		{"communicator 4 is not defined", moved(func(x []sectiontest.Move) { x[0].Comm = 4 })},
		{"9223372036854775808 bytes of tag -1", moved(func(x []sectiontest.Move) { x[0].Bytes = 1 << 63 })},
		{"tag -2", moved(func(x []sectiontest.Move) { x[0].Tag = -2 })},
		{"none of the process's", moved(func(x []sectiontest.Move) { x[0].Ring = 99 })},
		{"none of the process's", moved(func(x []sectiontest.Move) { x[0].Ring = 21 })},
		{"row 1 of 0", moved(func(x []sectiontest.Move) { x[0].Ring = 12 })},
		{"checksum", corrupt(func(b []byte) { b[len(b)-1]++ })},
		{"2 transfers, not 3", corrupt(func(b []byte) { b[12]++; sectiontest.Seal(b) })},
		{"corrupt section", corrupt(func(b []byte) { b[len(b)-9]++; sectiontest.Seal(b) })},
		{"0 collectives in column 25", sectiontest.Message(sectiontest.Without(sectiontest.Calls(allreduce()), root))},
		{"row 2 of 2", reduced(func(c *section.Collective) { c.Row = 2 })},
		{"no peer 2", reduced(func(c *section.Collective) { c.Root = 2 })},
		{"communicator 4 is not defined", reduced(func(c *section.Collective) { c.Comm = 4 })},
		{"number", reduced(func(c *section.Collective) { c.Ordinal = 1 << 63 })},
		{"unknown ring", gaps(99, nil, nil)},
		{"before row 3 of 2", gaps(11, []uint64{3}, nil)},
		{"in row 2 of 2", gaps(11, nil, []uint64{2})},
		{"unknown process", &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 7}}}},
		{"has 5 transfers, 0 in its sums, 0 received", &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 5}}}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := meaningStub(t)
			if err := s.apply(tt.m); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			r := s.store.rings[11]
			if len(r.Transfers)+len(r.Collectives)+len(r.Gaps.Before)+len(r.Gaps.Inside) > 0 || len(r.Process.Comms) != 1 || s.store.Totals().Refused != 1 {
				t.Errorf("something is held: %+v, totals %+v", r, s.store.Totals())
			}
		})
	}
}

// The columns that few transfers have values in, and the epoch of the ordinals.
func TestMovesHoldWhatIsRare(t *testing.T) {
	s := meaningStub(t)
	s.must(sections(two(12, 0)))
	x := append(sendAndReceive(), sendAndReceive()...)
	x[0].Done, x[0].Untold = 0, true
	x[1].Ordinal, x[1].Channel = 4, 1
	x[2].Ring, x[2].Done, x[2].Channel = 12, -1, 9
	x[3].Ordinal = 5
	s.must(sectiontest.Message(sectiontest.Moves(11, 7, x...)))
	r := s.store.rings[11]
	want := []Transfers{{
		Kind: []uint8{2, 1, 2, 1}, Row: []uint32{1, 0, 1, 0}, Done: []int64{-1, 1, 0, 1}, Peer: []int32{-1, 1, -1, 1}, Tag: []int32{-1, 7, -1, 7},
		Comm: []uint32{0, 3, 0, 3}, Bytes: []uint64{5, 1 << 40, 5, 1 << 40}, Ordinal: []uint64{0, 4, 0, 5}, Epoch: 7,
		DoneRing: map[int]*Ring{2: s.store.rings[12]}, Channel: map[int]uint32{1: 0, 2: 8}, Unreported: map[int]bool{0: true},
	}}
	if d := cmp.Diff(want, r.Transfers, cmp.Comparer(func(a, b *Ring) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if r.Process.received != 4 || s.store.Totals().Transfers != 4 {
		t.Errorf("%d received, totals %+v", r.Process.received, s.store.Totals())
	}
}

// Which call completed a collective arrives with what calls have moved, and is no transfer.
func TestCompletedCollectivesAreNoTransfers(t *testing.T) {
	s := meaningStub(t)
	completed := sectiontest.Move{Kind: moriensv1.Transfers_KIND_COLLECTIVE, Peer: -1, Tag: 2, Comm: 3, Transfer: section.Transfer{Done: 2, Ordinal: 1 << 33}}
	s.must(moves(append(sendAndReceive(), completed)...))
	s.must(totalled(plain()))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 3, Collectives: 3}}})
	f := s.store.Freeze()
	p, r := f.Processes[0], f.Ring(11)
	if n := f.Totals.Transfers; n != 3 || f.Lacks(p) != 1 || f.LacksCollectives(p) != 2 || f.LacksCollectives(f.Processes[1]) != 0 {
		t.Errorf("%d transfers, %d and %d lacking", n, f.Lacks(p), f.LacksCollectives(p))
	}
	list, err := f.Details(slices.Concat(sectiontest.Moves(11, 0, completed, completed, completed), sectiontest.Moves(11, 0, sendAndReceive()...)))
	if err != nil || len(list) != 2 || list[0].Collectives() != 3 || list[1].Collectives() != 0 || list[0].Tag[0] != 2 || list[0].Ordinal[0] != 1<<33 {
		t.Fatal(list, err)
	}
	f.Fetched(list)
	if f.Lacks(p) != 1 || f.LacksCollectives(p) != 0 || len(f.Transfers(r)) != 2 {
		t.Errorf("%d and %d lacking", f.Lacks(p), f.LacksCollectives(p))
	}
}

// Transfers may be those of calls in the same message, before them. What is refused costs no other section anything.
func TestMovesBesideOthers(t *testing.T) {
	s := meaningStub(t)
	b := &section.Block{Ring: 12, Origin: 10, Sites: []section.Site{{Function: 1}}}
	b.Grow(1, 0)
	here := []sectiontest.Move{{Kind: moriensv1.Transfers_KIND_SENT, Peer: 1, Comm: 3, Transfer: section.Transfer{Done: 1, Bytes: 1}}}
	bad := sendAndReceive()
	bad[1].Peer = 2
	err := s.apply(sectiontest.Message(slices.Concat(
		sectiontest.Calls(b), sectiontest.Moves(12, 0, here...), sectiontest.Moves(11, 0, bad...), sectiontest.Moves(11, 0, sendAndReceive()...), []byte{1, 2, 3},
	)))
	if err == nil || !strings.Contains(err.Error(), "no peer 2") || !strings.Contains(err.Error(), "corrupt section") {
		t.Error(err)
	}
	for ring, want := range map[uint64]int{11: 2, 12: 1} {
		if x := s.store.rings[ring].Transfers; len(x) != 1 || x[0].Len() != want {
			t.Errorf("ring %d: %+v", ring, x)
		}
	}
	if x := s.store.Totals(); x.Refused != 1 || x.Transfers != 3 {
		t.Errorf("%+v", x)
	}
}

// Details of a window are those before and behind a section that is refused; behind bytes that are none there are none.
func TestDetailsOfDamagedSections(t *testing.T) {
	s := meaningStub(t)
	f := s.store.Freeze()
	bad := sendAndReceive()
	bad[0].Bytes = 1 << 63
	sound, none := sectiontest.Moves(11, 0, sendAndReceive()...), sectiontest.Moves(11, 0, bad...)
	for _, tt := range []struct {
		sections [][]byte
		details  int
		want     string
	}{
		{nil, 0, ""},
		{[][]byte{sound}, 1, ""},
		{[][]byte{sound, sound}, 2, ""},
		{[][]byte{sound, none, sound}, 2, "ring 000000000000000b, transfers: 9223372036854775808 bytes of tag -1"},
		{[][]byte{sound, {1, 2, 3}, sound}, 1, "corrupt section"},
		{[][]byte{sound, none, sectiontest.Moves(99, 0, bad...), sound, {1}}, 2, "9223372036854775808 bytes of tag -1 (and 2 sections more)"},
		{[][]byte{sectiontest.Calls(&section.Block{Ring: 11}), sound}, 1, "a section of kind 1"},
	} {
		list, err := f.Details(slices.Concat(tt.sections...))
		if len(list) != tt.details || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d details, %v, want %d and %q", len(list), err, tt.details, tt.want)
		}
		for _, d := range list {
			if d.Ring != f.Ring(11) || d.Len() != 2 {
				t.Errorf("%+v", d)
			}
		}
	}
	if len(f.Ring(11).Transfers) > 0 {
		t.Error("the store has what a window has")
	}
}
