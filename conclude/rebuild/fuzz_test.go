package rebuild

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// FuzzMeaning has an agent say anything about communicators, transfers, collectives and gaps: what the store takes, the
// end of the run can work with.
func FuzzMeaning(f *testing.F) {
	for _, m := range []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: 2, Id: 9, Size: 2, Peers: 3, First: []int32{0, -1}, Stride: []int32{1, 0}, Count: []uint32{2, 1}, Inter: true}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 2, Communicator: 2, Rank: 1}}},
		sectiontest.Message(sectiontest.Moves(1, 0,
			sectiontest.Move{Kind: 1, Comm: 1, Transfer: section.Transfer{Done: 1, Bytes: 1, Ring: 1, Channel: 5}},
			sectiontest.Move{Kind: 2, Peer: -1, Tag: -1, Transfer: section.Transfer{Row: 1, Done: -1, Bytes: 2, Untold: true}},
			sectiontest.Move{Kind: 6, Peer: 1, Tag: 7, Comm: 1, Transfer: section.Transfer{Bytes: 3, Ordinal: 4}},
			sectiontest.Move{Kind: 7, Peer: -1, Tag: 7, Comm: 1, Transfer: section.Transfer{Row: 1, Done: 1, Ordinal: 1<<40 + 1}},
			sectiontest.Move{Kind: 7, Peer: -1, Tag: -1, Comm: 1, Transfer: section.Transfer{Done: 2, Ordinal: 2}})),
		(&sectiontest.Rows{
			Ring: 1, First: 2, Origin: 8, Burst: []uint64{0, 5}, Call: []uint64{1, 2}, Function: []uint32{uint32(mpicall.Send), uint32(mpicall.Allreduce)},
			Collectives: []section.Collective{{Row: 1, Comm: 1, Ordinal: 1 << 40, Sent: 1, Received: 2, Root: -3}}}).Message(),
		(&sectiontest.Rows{Ring: 1, GapsBefore: []uint64{0, 2}, GapsInside: []uint64{1}}).Message(),
		{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 3}}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := store.New()
		a, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
		if err != nil {
			t.Fatal(err)
		}
		messages := []*moriensv1.ReportRequest{
			{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 1, Size: 2, Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}}},
			{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: 1, Process: 1}}},
			(&sectiontest.Rows{Ring: 1, Burst: []uint64{0, 5}, Call: []uint64{1, 2}, Function: []uint32{uint32(mpicall.Isend), uint32(mpicall.Recv)}}).Message(),
			{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{Clock: moriensv1.Clock_CLOCK_MONOTONIC_RAW}}},
			{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
				Communicator: 1, Id: 8, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}}},
			{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 1, Communicator: 1}}},
		}
		for _, raw := range [][]byte{first, second, {}} {
			m := new(moriensv1.ReportRequest)
			if proto.Unmarshal(raw, m) == nil {
				sectiontest.Seal(m.GetSections())
				messages = append(messages, m)
			}
		}
		for i, m := range messages {
			m.Sequence = uint64(i + 1)
			if _, err := s.Apply(a, m); err != nil && i < 6 {
				t.Fatal(err)
			}
		}
		r, _ := rebuiltAll(t, s.Freeze())
		for _, x := range r.Run.Messages {
			if x.From >= len(r.Run.Threads) || x.To >= len(r.Run.Threads) {
				t.Errorf("%+v", x)
			}
		}
	})
}
