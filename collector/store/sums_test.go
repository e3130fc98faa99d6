package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// plain returns sound sums of three transfers: a row of sites and one of peers for each kind, as agents sent them that
// knew no more.
func plain() *moriensv1.Sums {
	x := sums.Encode([]sums.Row{
		{Key: sums.Site(sent, 1, 0), Count: 2, Bytes: 1 << 40}, {Key: sums.Site(received, 2, 0), Count: 1, Bytes: 5},
		{Key: sums.Peer(sent, 3, 1), Count: 2, Bytes: 1 << 40}, {Key: sums.Peer(received, 0, -1), Count: 1, Bytes: 5},
	})
	x.Process = 1
	return x
}

// timed returns sound sums of four transfers with all that there is.
func timed() *moriensv1.Sums {
	x := sums.Encode([]sums.Row{
		{Key: sums.Site(sent, 1, 0), Count: 3, Bytes: 24}, {Key: sums.Site(oneSided, 2, 0), Count: 1, Bytes: 5},
		{Key: sums.Peer(sent, 3, 1), Count: 2, Bytes: 16, Blocked: 70, Longest: 60, First: 10}, {Key: sums.Peer(oneSided, 0, -1), Count: 1, Bytes: 5},
		{Key: sums.Rest(sent), Count: 1, Bytes: 8, Blocked: 30, Longest: 30},
		{Key: sums.Size(sent, 8), Count: 3, Bytes: 24, Blocked: 100},
		{Key: sums.End(sent, 1, 0), Count: 2, Bytes: 16, Blocked: 100},
	})
	x.Process = 1
	return x
}

const oneSided = moriensv1.Transfers_KIND_PUT

const sent, received = moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED

func totalled(x *moriensv1.Sums) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: x}}
}

// The latest sums count, and what arrived unasked is part of them.
func TestSumsAreTotals(t *testing.T) {
	s := meaningStub(t)
	s.must(moves(sendAndReceive()...))
	for n := uint64(1); n < 4; n++ {
		x := plain()
		x.Count[0], x.Count[2] = n, n
		s.must(totalled(x))
		if got := s.store.Totals().Transfers; got != n+1 {
			t.Errorf("%d transfers, want %d", got, n+1)
		}
	}
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 4}}})
	f := s.store.Freeze()
	p := f.Processes[0]
	var sites, peers []sums.Row
	for r := range p.Sums.Of(moriensv1.Sums_WHAT_SITE) {
		sites = append(sites, *r)
	}
	for r := range p.Sums.Of(moriensv1.Sums_WHAT_PEER) {
		peers = append(peers, *r)
	}
	if len(sites) != 2 || f.CallPaths[sites[0].Path()].Function == "" || len(peers) != 2 || peers[0] != (sums.Row{Key: sums.Peer(sent, 3, 1), Count: 3, Bytes: 1 << 40}) {
		t.Errorf("%+v", p.Sums)
	}
	if f.Lacks(p) != 2 || f.Lacks(f.Processes[1]) != 0 {
		t.Errorf("%d and %d transfers are missing, want 2 and 0", f.Lacks(p), f.Lacks(f.Processes[1]))
	}
}

// Where nodes have transfers of a call these count; for other calls those that arrived unasked.
func TestFetchedTransfers(t *testing.T) {
	s := meaningStub(t)
	s.must(moves(sendAndReceive()...))
	s.must(totalled(plain()))
	f := s.store.Freeze()
	kept := sectiontest.Moves(11, 0,
		sectiontest.Move{Kind: 1, Peer: 1, Tag: 7, Comm: 3, Transfer: section.Transfer{Done: 1, Bytes: 1, Ordinal: 4}},
		sectiontest.Move{Kind: 1, Peer: 1, Tag: 8, Comm: 3, Transfer: section.Transfer{Done: 1, Bytes: 2, Ordinal: 5}})
	details, err := f.Details(kept)
	if err != nil || len(details) != 1 {
		t.Fatal(len(details), err)
	}
	d := details[0]
	if want := (Transfers{
		Kind: []uint8{1, 1}, Row: []uint32{0, 0}, Done: []int64{0, 0}, Peer: []int32{1, 1}, Tag: []int32{7, 8}, Comm: []uint32{3, 3}, Bytes: []uint64{1, 2}, Ordinal: []uint64{4, 5},
	}); !cmp.Equal(want, d.Transfers) {
		t.Error(cmp.Diff(want, d.Transfers))
	}
	f.Fetched([]*Detail{d})
	received := Transfers{
		Kind: []uint8{2}, Row: []uint32{1}, Done: []int64{1}, Peer: []int32{-1}, Tag: []int32{-1}, Comm: []uint32{0}, Bytes: []uint64{5},
		DoneRing: map[int]*Ring{}, Channel: map[int]uint32{}, Unreported: map[int]bool{},
	}
	if diff := cmp.Diff([]Transfers{d.Transfers, received}, f.Transfers(d.Ring)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Lacks(f.Processes[0]) != 0 || d.OrdinalOf(1) != 5 {
		t.Errorf("%d transfers are missing", f.Lacks(f.Processes[0]))
	}
}

// Times, sizes, ends and the rest are those of the process, with the store's call paths.
func TestTimedSums(t *testing.T) {
	s := meaningStub(t)
	s.must(totalled(timed()))
	f := s.store.Freeze()
	want := map[moriensv1.Sums_What]sums.Row{
		moriensv1.Sums_WHAT_REST: {Key: sums.Rest(sent), Count: 1, Bytes: 8, Blocked: 30, Longest: 30},
		moriensv1.Sums_WHAT_SIZE: {Key: sums.Size(sent, 8), Count: 3, Bytes: 24, Blocked: 100},
		moriensv1.Sums_WHAT_END:  {Key: sums.End(sent, 1, f.Processes[0].Sums.Rows()[0].Path()), Count: 2, Bytes: 16, Blocked: 100},
	}
	got := make(map[moriensv1.Sums_What]sums.Row)
	for what := range want {
		for r := range f.Processes[0].Sums.Of(what) {
			got[what] = *r
		}
	}
	if d := cmp.Diff(want, got); d != "" || f.Processes[0].Sums.Transfers != 4 || got[moriensv1.Sums_WHAT_END].Path() == 0 {
		t.Errorf("%d transfers (-want +got):\n%s", f.Processes[0].Sums.Transfers, d)
	}
}

// What contradicts itself, or cannot be, is refused.
func TestTimedSumsRefuses(t *testing.T) {
	const atSite, atPeer, atRest, atSize, atEnd = 0, 2, 4, 5, 6 // of those that are sent
	for _, tt := range []struct {
		want   string
		change func(*moriensv1.Sums)
	}{
		{"times 1, 0 and 0 of kind 1 in a row of WHAT_SITE", func(x *moriensv1.Sums) { x.Blocked[atSite] = 1 }},
		{"times 1, 0 and 0 of kind 3 in a row of WHAT_PEER", func(x *moriensv1.Sums) { x.Blocked[3] = 1 }},
		{"times 30, 30 and 1 of kind 1 in a row of WHAT_REST", func(x *moriensv1.Sums) { x.First[atRest] = 1 }},
		{"times 100, 1 and 0 of kind 1 in a row of WHAT_SIZE", func(x *moriensv1.Sums) { x.Longest[atSize] = 1 }},
		{"times 100, 0 and 1 of kind 1 in a row of WHAT_END", func(x *moriensv1.Sums) { x.First[atEnd] = 1 }},
		{"the longest 60 and the first 61", func(x *moriensv1.Sums) { x.First[atPeer] = 61 }},
		{"took 59 ticks, the longest 60", func(x *moriensv1.Sums) { x.Blocked[atPeer] = 59 }},
		{"2 transfers took 121 ticks, the longest 60", func(x *moriensv1.Sums) { x.Blocked[atPeer] = 121 }},
		{"1 transfers took 31 ticks", func(x *moriensv1.Sums) { x.Blocked[atRest] = 31 }},
		{"70 ticks by peers, 101 by sizes", func(x *moriensv1.Sums) {
			x.Blocked[atSize], x.Blocked[atEnd], x.Blocked[atRest], x.Longest[atRest] = 101, 101, 0, 0
		}},
		{"100 ticks by peers, 99 by sizes", func(x *moriensv1.Sums) { x.Blocked[atSize] = 99 }},
		{"100 by sizes and 99 by calls", func(x *moriensv1.Sums) { x.Blocked[atEnd] = 99 }},
		{"4611686018427387905", func(x *moriensv1.Sums) { x.Blocked[atEnd] = 1<<62 + 1 }},
		{"3 messages by calls and 4 by sizes", func(x *moriensv1.Sums) { x.Count[atSize] = 4 }},
		{"3 messages by calls, of which 4 were completed", func(x *moriensv1.Sums) { x.Count[atEnd] = 4 }},
		{"4 transfers by calls and 5 by peers", func(x *moriensv1.Sums) { x.Count[atRest] = 2 }},
		{"size 65", func(x *moriensv1.Sums) { x.A[atSize] = 65 }},
		{"size 4, 1 of kind 1", func(x *moriensv1.Sums) { x.B[atSize], x.B[atEnd] = 1, -1 }},
		{"size 4, 0 of kind 3", func(x *moriensv1.Sums) { x.Kind[5] = oneSided }},
		{"kind 3 is completed", func(x *moriensv1.Sums) { x.Kind[len(x.Kind)-1] = oneSided }},
		{"unknown MPI function", func(x *moriensv1.Sums) { x.A[atEnd] = 1 << 16 }},
		{"call path 9", func(x *moriensv1.Sums) { x.B[atEnd] = 9 }},
		{"a rest of 1, 0", func(x *moriensv1.Sums) { x.A[atRest] = 1 }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := meaningStub(t)
			s.must(totalled(timed()))
			x := timed()
			tt.change(x)
			if err := s.apply(totalled(x)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Sums that are malformed are refused whole.
func TestSumsRefuses(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*moriensv1.Sums)
	}{
		{"unknown process", func(x *moriensv1.Sums) { x.Process = 7 }},
		{"columns of", func(x *moriensv1.Sums) { x.Bytes = nil }},
		{"kind 0", func(x *moriensv1.Sums) { x.Kind[0] = 0 }},
		{"kind 7", func(x *moriensv1.Sums) { x.Kind[3] = 7 }},
		{"by calls and", func(x *moriensv1.Sums) { x.Count[0]++ }},
		{"transfers and", func(x *moriensv1.Sums) { x.Count[0], x.Count[1] = 1<<56, 1 }},
		{"counts nothing", func(x *moriensv1.Sums) { x.Count[2] = 0 }},
		{"unknown MPI function", func(x *moriensv1.Sums) { x.A[0] = 1 << 16 }},
		{"call path 9", func(x *moriensv1.Sums) { x.B[0] = 9 }},
		{"no peer 2", func(x *moriensv1.Sums) { x.B[2] = 2 }},
		{"communicator 4", func(x *moriensv1.Sums) { x.A[2] = 4 }},
		{"there have been 3", func(x *moriensv1.Sums) { x.Count[0], x.Count[2] = 1, 1 }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := meaningStub(t)
			s.must(totalled(plain()))
			x := plain()
			tt.change(x)
			if err := s.apply(totalled(x)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if n := s.store.Totals().Transfers; n != 3 {
				t.Errorf("%d transfers", n)
			}
		})
	}
}

// All messages are in the partners of a process, each of calls and of a peer that there are; an agent that does not
// count them sends none.
func TestPartners(t *testing.T) {
	moved := sums.Moved{Count: 2, Bytes: 1 << 40, Least: 1 << 39, Most: 1 << 39}
	good := sums.Partner{Kind: sent, Function: 1, Comm: 3, Peer: 1, Moved: moved}
	other := sums.Partner{Kind: received, Function: 2, Peer: AnyRank, Moved: sums.Moved{Count: 1, Bytes: 5, Least: 5, Most: 5}}
	messages := func(rows ...sums.Partner) *moriensv1.Sums {
		x := plain()
		x.Partners = sums.EncodePartners(append(rows, other))
		return x
	}
	with := func(change func(*sums.Partner)) sums.Partner {
		x := good
		change(&x)
		return x
	}
	s := meaningStub(t)
	s.must(totalled(plain()))
	if p := s.store.Freeze().Processes[0]; p.Sums.HasPartners() {
		t.Error("there are partners")
	}
	for want, x := range map[string]*moriensv1.Sums{
		"3 messages by calls and 1 by partners":       messages(),
		"3 messages by calls, and more by partners":   messages(good, with(func(x *sums.Partner) { x.Peer = 0 })),
		"unknown MPI function 9999":                   messages(with(func(x *sums.Partner) { x.Function = 9999 })),
		"call path 77 is not defined":                 messages(with(func(x *sums.Partner) { x.Path = 77 })),
		"communicator 9 is not defined":               messages(with(func(x *sums.Partner) { x.Comm = 9 })),
		"no peer 99 in communicator 3":                messages(with(func(x *sums.Partner) { x.Peer = 99 })),
		"no peer -3 in communicator 0":                messages(with(func(x *sums.Partner) { x.Comm, x.Peer = 0, -3 })),
		"2 messages of 1 bytes, of 549755813888 to 5": messages(with(func(x *sums.Partner) { x.Bytes = 1 })),
	} {
		s := meaningStub(t)
		if err := s.apply(totalled(x)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, x := range []sums.Partner{good, with(func(x *sums.Partner) { x.Comm, x.Peer = 0, sums.OtherPartners })} {
		s := meaningStub(t)
		s.must(totalled(messages(x)))
		if p := s.store.Freeze().Processes[0]; len(p.Sums.Partners()) != 2 || p.Sums.Partners()[0].Moved != moved || p.Sums.Partners()[0].Others() != x.Others() {
			t.Errorf("%+v, want %+v", p.Sums.Partners(), x)
		}
	}
}
