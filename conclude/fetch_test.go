package conclude

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/grouping"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/agenttest"
	"moriens/conclude/retention"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/stage"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A holder is nodes that have some transfers.
type holder []windows.Fetched

func (k holder) Fetch(context.Context, []anchor.ID, ...uint64) []windows.Fetched { return k }

func (k holder) FetchCalls(context.Context, []windows.Calls) []windows.Fetched { return k }

// sendsInTurn is a rank that sends so many messages to another, and that other, which receives them, one call each;
// transfers are those of some rows of both.
func sendsInTurn(t *testing.T, messages int) (s *store.Store, transfers func(rank int, rows ...int) []byte) {
	s = store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 9, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2},
	}}})
	kinds := []moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED}
	for rank, function := range []uint32{agenttest.Call(t, "MPI_Send"), agenttest.Call(t, "MPI_Recv")} {
		process, ring := uint64(rank+1), uint64(rank+11)
		f.Process(&moriensv1.Process{Process: process, Rank: int32(rank), Size: 2, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
		f.Ring(&moriensv1.Ring{Ring: ring, Process: process})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: process, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
		c := &sectiontest.Rows{Ring: ring, Origin: 1000, NoBurst: []uint32{0}}
		for range messages {
			c.Add(function, 0, 10, 5)
		}
		f.Rows(c)
		n, bytes := uint64(messages), uint64(messages*100)
		f.Sums(process, sums.Row{Key: sums.Site(kinds[rank], mpicall.ID(function), 0), Count: n, Bytes: bytes}, sums.Row{Key: sums.Peer(kinds[rank], 1, int32(1-rank)), Count: n, Bytes: bytes})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: process, Transfers: n}}})
		f.End(process, moriensv1.ProcessEnd_HOW_FINALIZED)
	}
	f.Clock(1_001_000, 1_001_000)
	return s, func(rank int, rows ...int) []byte {
		var list []sectiontest.Move
		for _, row := range rows {
			list = append(list, sectiontest.Move{
				Kind: kinds[rank], Peer: int32(1 - rank), Tag: 7, Comm: 1, Transfer: section.Transfer{Row: uint64(row), Done: 1, Bytes: 100, Ordinal: uint64(row) + 1},
			})
		}
		return sectiontest.Moves(uint64(rank+11), 0, list...)
	}
}

// Where everything is to be kept, what nodes do not have is counted, and what they have is paired by its ordinals: by
// order it would be paired with others.
func TestTransfersThatNodesDoNotHave(t *testing.T) {
	const messages = 10
	s, transfers := sendsInTurn(t, messages)
	nodes := holder{
		{Agent: 1, Parts: []*moriensv1.WindowPart{{Sections: transfers(0, 0, 1, 2, 4, 5, 6, 7, 8, 9)}, {Sections: transfers(1, 0, 1, 2, 3, 4)}}},
		{Agent: 1, Err: errors.New("the disk is gone"), Parts: []*moriensv1.WindowPart{{Sections: transfers(1, 6, 7, 8, 9)}}},
	}
	r, err := Conclude(t.Context(), End{
		Frozen: s.Freeze(), Options: grouping.Options{By: grouping.ByAuto}, Keep: retention.Options{All: true}, Stages: stage.New(0), Windows: nodes,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Describe()
	m := &r.Manifest.Messages
	if m.Sends != messages || m.Receives != messages || m.Matched != messages || m.Bytes != messages*100 || !math.IsNaN(float64(m.LateSenderSeconds)) || len(m.Unmatched) > 0 {
		t.Errorf("%+v", m)
	}
	if r.Manifest.Losses.TransfersLost != 2 || !strings.Contains(strings.Join(r.Manifest.Notes, "\n"), "sends and receives of ranks on n1: not received from their agent: the disk is gone") {
		t.Errorf("%d lost, %q", r.Manifest.Losses.TransfersLost, r.Manifest.Notes)
	}
	var rows []int
	for _, x := range r.Run.Messages {
		from, to := &r.Run.Threads[x.From].Calls, &r.Run.Threads[x.To].Calls
		for k := range messages {
			if from.EnterNS[k] == x.SendNS && to.EnterNS[k] == x.RecvNS {
				rows = append(rows, k)
			}
		}
	}
	if d := cmp.Diff([]int{0, 1, 2, 4, 6, 7, 8, 9}, rows); d != "" || len(r.Run.Messages) != len(rows) {
		t.Errorf("%d messages; of calls (-want +got):\n%s", len(r.Run.Messages), d)
	}
}

// A part with sections that have no transfers is reported, and the other data in it counts.
func TestOtherSectionsThanTransfers(t *testing.T) {
	s, transfers := sendsInTurn(t, 2)
	other := new(section.Encoder).Calls(nil, &section.Block{Ring: 11})
	nodes := holder{{Agent: 1, Parts: []*moriensv1.WindowPart{{Sections: slices.Concat(other, transfers(0, 0, 1), transfers(1, 0, 1))}}}}
	r, err := Conclude(t.Context(), End{
		Frozen: s.Freeze(), Options: grouping.Options{By: grouping.ByAuto}, Keep: retention.Options{All: true}, Stages: stage.New(0), Windows: nodes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(r.Manifest.Notes, "\n"); len(r.Run.Messages) != 2 || !strings.Contains(said, "sends and receives: a section of kind 1 in the place of transfers") {
		t.Errorf("%d messages, %q", len(r.Run.Messages), said)
	}
}
