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

// sound returns sound sums of three transfers: a row of sites and one of peers for each kind.
func sound() *moriensv1.Sums {
	x := sums.Encode([]sums.Row{
		{Key: sums.Site(sent, 1, 0), Count: 2, Bytes: 1 << 40}, {Key: sums.Site(received, 2, 0), Count: 1, Bytes: 5},
		{Key: sums.Peer(sent, 3, 1), Count: 2, Bytes: 1 << 40}, {Key: sums.Peer(received, 0, -1), Count: 1, Bytes: 5},
	})
	x.Process = 1
	return x
}

const sent, received = moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED

func totalled(x *moriensv1.Sums) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: x}}
}

// The latest sums count, and what arrived unasked is part of them.
func TestSumsAreTotals(t *testing.T) {
	s := meaningStub(t)
	s.must(moves(sendAndReceive()...))
	for n := uint64(1); n < 4; n++ {
		x := sound()
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
	s.must(totalled(sound()))
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
			s.must(totalled(sound()))
			x := sound()
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
