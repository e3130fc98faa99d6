package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func transfers(x *moriensv1.Transfers) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Transfers{Transfers: x}}
}

func collectives(c *moriensv1.Collectives) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Collectives{Collectives: c}}
}

func gaps(g *moriensv1.Gaps) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Gaps{Gaps: g}}
}

func pair() *moriensv1.Communicator {
	return &moriensv1.Communicator{Communicator: 1, Id: 9, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}
}

// sendAndReceive returns a sound message of two transfers.
func sendAndReceive() *moriensv1.Transfers {
	return &moriensv1.Transfers{
		Ring: 11, Kind: []moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_RECEIVED, moriensv1.Transfers_KIND_SENT}, Row: []int64{1, -1}, Done: []int64{1, 2},
		Peer: []int32{-1, 1}, Tag: []int32{-1, 7}, Comm: []uint32{0, 3}, Bytes: []uint64{5, 1 << 40},
	}
}

func allreduce() *moriensv1.Collectives {
	return &moriensv1.Collectives{
		Ring: 11, Row: []int64{1}, Comm: []uint32{3}, Ordinal: []uint64{1 << 33}, Sent: []uint64{8}, Received: []uint64{16}, Root: []int32{RootRank},
	}
}

// meaningStub has a process with a communicator, two rings, and two calls in the first of them.
func meaningStub(t *testing.T) *agentStub {
	s := newStub(t)
	s.must(process(1, 0, 2))
	s.must(process(2, 1, 2))
	s.must(ring(11, 1))
	s.must(ring(12, 1))
	s.must(ring(21, 2))
	s.must(calls(two(11, 0)))
	s.must(communicator(pair()))
	s.must(member(1, 3, 1, 1))
	return s
}

func TestMeaningHolds(t *testing.T) {
	s := meaningStub(t)
	s.must(transfers(sendAndReceive()))
	s.must(collectives(allreduce()))
	s.must(gaps(&moriensv1.Gaps{Ring: 11, Before: []uint64{0, 2}, Inside: []uint64{1}}))
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 2}}})
	r := s.store.rings[11]
	want := []Transfers{{
		Kind: []uint8{2, 1}, Row: []uint32{1, 0}, Done: []int64{1, 1}, Peer: []int32{-1, 1}, Tag: []int32{-1, 7}, Comm: []uint32{0, 3}, Bytes: []uint64{5, 1 << 40},
	}}
	if d := cmp.Diff(want, r.Transfers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]uint64{1 << 33}, r.Collectives[0].Ordinal); d != "" {
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
	moved := func(change func(*moriensv1.Transfers)) *moriensv1.ReportRequest {
		x := sendAndReceive()
		change(x)
		return transfers(x)
	}
	reduced := func(change func(*moriensv1.Collectives)) *moriensv1.ReportRequest {
		c := allreduce()
		change(c)
		return collectives(c)
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
		{"unknown ring", moved(func(x *moriensv1.Transfers) { x.Ring = 99 })},
		{"none", moved(func(x *moriensv1.Transfers) { *x = moriensv1.Transfers{Ring: 11} })},
		{"columns of", moved(func(x *moriensv1.Transfers) { x.Tag = x.Tag[:1] })},
		{"row 2 of 2", moved(func(x *moriensv1.Transfers) { x.Row[0] = 2 })},
		{"row -1 of 2", moved(func(x *moriensv1.Transfers) { x.Row[1] = -2 })},
		{"apart", moved(func(x *moriensv1.Transfers) { x.Row[0] = 1 << 62 })},
		{"row 2 of 2", moved(func(x *moriensv1.Transfers) { x.Done[0] = 2 })},
		{"further on", moved(func(x *moriensv1.Transfers) { x.Done[0] = -1 << 62 })},
		{"kind 0", moved(func(x *moriensv1.Transfers) { x.Kind[0] = 0 })},
		{"kind 7", moved(func(x *moriensv1.Transfers) { x.Kind[0] = 7 })},
		{"no peer 2", moved(func(x *moriensv1.Transfers) { x.Peer[1] = 2 })},
		{"no peer -2", moved(func(x *moriensv1.Transfers) { x.Peer[1] = -2 })},
		{"communicator 4 is not defined", moved(func(x *moriensv1.Transfers) { x.Comm[0] = 4 })},
		{"bytes of tag", moved(func(x *moriensv1.Transfers) { x.Bytes[0] = 1 << 63 })},
		{"bytes of tag", moved(func(x *moriensv1.Transfers) { x.Tag[0] = -2 })},
		{"elsewhere", moved(func(x *moriensv1.Transfers) { x.Elsewhere = []uint32{0} })},
		{"elsewhere", moved(func(x *moriensv1.Transfers) { x.Elsewhere, x.DoneRing = []uint32{2}, []uint64{12} })},
		{"none of the process's", moved(func(x *moriensv1.Transfers) { x.Elsewhere, x.DoneRing = []uint32{0}, []uint64{21} })},
		{"row 1 of 0", moved(func(x *moriensv1.Transfers) { x.Elsewhere, x.DoneRing = []uint32{0}, []uint64{12} })},
		{"partitioned", moved(func(x *moriensv1.Transfers) { x.Partitioned, x.Channel = []uint32{1, 1}, []uint32{0, 0} })},
		{"unknown ring", reduced(func(c *moriensv1.Collectives) { c.Ring = 99 })},
		{"columns of", reduced(func(c *moriensv1.Collectives) { c.Root = nil })},
		{"row 2 of 2", reduced(func(c *moriensv1.Collectives) { c.Row[0] = 2 })},
		{"no peer 2", reduced(func(c *moriensv1.Collectives) { c.Root[0] = 2 })},
		{"number", reduced(func(c *moriensv1.Collectives) { c.Ordinal[0] = 1 << 63 })},
		{"unknown ring", gaps(&moriensv1.Gaps{Ring: 99})},
		{"before row 3 of 2", gaps(&moriensv1.Gaps{Ring: 11, Before: []uint64{3}})},
		{"in row 2 of 2", gaps(&moriensv1.Gaps{Ring: 11, Inside: []uint64{2}})},
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
