package fetch

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/agenttest"
	"moriens/conclude/rebuild"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	"moriens/internal/sums"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

const calls = 10 // of each rank

// answers are what an agent has, whatever it is asked for.
type answers []*moriensv1.WindowPart

func (a answers) Fetch(context.Context, []anchor.ID, ...uint64) []windows.Fetched { return nil }

func (a answers) FetchCalls(context.Context, []windows.Calls) []windows.Fetched {
	return []windows.Fetched{{Agent: 1, Parts: a}}
}

// sends is a run of two ranks, processes 1 and 2 with rings 11 and 12: in each call the first sends to the second.
func sends(t *testing.T) (*rebuild.Rebuilt, *store.Frozen) {
	t.Helper()
	s := store.New()
	f := agenttest.New(t, s, 1, "n1")
	f.Clock(1000, 1000)
	f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 9, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2},
	}}})
	for rank, function := range []string{"MPI_Send", "MPI_Recv"} {
		process, ring := uint64(rank+1), uint64(rank+11)
		f.Process(&moriensv1.Process{Process: process, Rank: int32(rank), Size: 2, World: "w", Clock: moriensv1.Clock_CLOCK_TSC})
		f.Ring(&moriensv1.Ring{Ring: ring, Process: process})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: process, Comm: 1, Communicator: 1, Rank: uint32(rank)}}})
		c := &sectiontest.Rows{Ring: ring, Origin: 1000, NoBurst: []uint32{0}}
		for range calls {
			c.Add(agenttest.Call(t, function), 0, 10, 5)
		}
		f.Rows(c)
		kind := moriensv1.Transfers_Kind(rank + 1)
		f.Sums(process, sums.Row{Key: sums.Site(kind, mpicall.ID(agenttest.Call(t, function)), 0), Count: calls, Bytes: calls}, sums.Row{Key: sums.Peer(kind, 1, int32(1-rank)), Count: calls, Bytes: calls})
		f.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: process, Transfers: calls}}})
		f.End(process, moriensv1.ProcessEnd_HOW_FINALIZED)
	}
	f.Clock(1_001_000, 1_001_000)
	frozen := s.Freeze()
	r, err := rebuild.Rebuild(t.Context(), frozen, team.Solo{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r, &frozen
}

// moved are the transfers of some calls of a rank, from a row to before another.
func moved(rank, first, behind int) []byte {
	var list []sectiontest.Move
	for row := first; row < behind; row++ {
		list = append(list, sectiontest.Move{
			Kind: moriensv1.Transfers_Kind(rank + 1), Peer: int32(1 - rank), Comm: 1, Transfer: section.Transfer{Row: uint64(row), Done: 1, Bytes: 1, Ordinal: uint64(row) + 1},
		})
	}
	return sectiontest.Moves(uint64(rank+11), 0, list...)
}

// windowOf is the window of a rank with all of its calls, in as many parts as there are sections.
func windowOf(rank int, sections ...[]byte) (parts []*moriensv1.WindowPart) {
	for _, bytes := range sections {
		parts = append(parts, &moriensv1.WindowPart{Process: uint64(rank + 1), Window: 7, Sections: bytes})
	}
	parts[0].Ring, parts[0].FirstRow, parts[0].BehindRow = []uint64{uint64(rank + 11)}, []uint64{0}, []uint64{calls}
	return parts
}

// All parts of a window are taken, and none twice; what is wrong in a part is said, costs no more than that, and what
// does not arrive is counted.
func TestPartsOfWindows(t *testing.T) {
	whole := func(rank int) []*moriensv1.WindowPart { return windowOf(rank, moved(rank, 0, calls)) }
	receiver := whole(1)
	rowsOf := func(ring, first, behind []uint64) []*moriensv1.WindowPart {
		w := whole(0)
		w[0].Ring, w[0].FirstRow, w[0].BehindRow = ring, first, behind
		return w
	}
	torn := moved(0, 5, calls)
	torn[len(torn)-1]++
	for _, tt := range []struct {
		name              string
		sender            []*moriensv1.WindowPart
		messages, lacking int
		trouble           string
	}{
		{"one part", whole(0), calls, 0, ""},
		{"three parts", windowOf(0, moved(0, 0, 4), moved(0, 4, 6), moved(0, 6, calls)), calls, 0, ""},
		{"the rows alone, then the rest", windowOf(0, nil, moved(0, 0, calls)), calls, 0, ""},
		{"two sections in a part", windowOf(0, slices.Concat(moved(0, 0, 4), moved(0, 4, calls))), calls, 0, ""},
		{"no part", nil, 0, calls, ""},
		{"a torn part", windowOf(0, moved(0, 0, 5), torn), 5, 0, "sends and receives of a kept window: corrupt section: checksum"},
		{"a torn section behind another", windowOf(0, slices.Concat(moved(0, 0, 5), torn)), 5, 0, "sends and receives of a kept window: corrupt section: checksum"},
		{"transfers of no call", windowOf(0, moved(0, 0, 5), moved(0, 5, calls+1)), 5, 0, "sends and receives of a kept window: ring 000000000000000b, transfers: row 10 of 10"},
		{"rows of part of it", rowsOf([]uint64{11}, []uint64{2}, []uint64{4}), calls, calls - 2, ""},
		{"no rows", rowsOf(nil, nil, nil), calls, calls, ""},
		{"columns of other lengths", rowsOf([]uint64{11}, nil, []uint64{4}), calls, calls, "MPI calls of a kept window: columns of 1, 0 and 1 rows"},
		{"columns of other lengths", rowsOf([]uint64{11}, []uint64{0}, nil), calls, calls, "MPI calls of a kept window: columns of 1, 1 and 0 rows"},
		{"rows beyond the ring", rowsOf([]uint64{11}, []uint64{0}, []uint64{calls + 1}), calls, calls, "ring 000000000000000b: rows from 0 to before 11 of 10"},
		{"rows beyond the ring", rowsOf([]uint64{11}, []uint64{math.MaxUint64}, []uint64{math.MaxUint64}), calls, calls, "to before 18446744073709551615 of 10"},
		{"rows that descend", rowsOf([]uint64{11}, []uint64{5}, []uint64{4}), calls, calls, "ring 000000000000000b: rows from 5 to before 4 of 10"},
		{"a ring beside another that is wrong", rowsOf([]uint64{11, 11}, []uint64{0, 5}, []uint64{calls, 4}), calls, calls, "rows from 5 to before 4 of 10"},
		{"an unknown ring", rowsOf([]uint64{99}, []uint64{0}, []uint64{1}), calls, calls, "ring 0000000000000063 is none of process 0000000000000001"},
		{"a ring of another process", rowsOf([]uint64{12}, []uint64{0}, []uint64{1}), calls, calls, "ring 000000000000000c is none of process 0000000000000001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f := sends(t)
			d := NewWindows(r, f, answers(slices.Concat(tt.sender, receiver)))
			first, all := []trace.Span{{EndNS: r.Run.Threads[0].Calls.ExitNS[0]}}, []trace.Span{{EndNS: math.MaxInt64}}
			troubles := d.Fetch(t.Context(), [][]trace.Span{first, first})
			if said := strings.Join(troubles, "\n"); (tt.trouble == "") != (len(troubles) == 0) || !strings.Contains(said, tt.trouble) || len(troubles) > 1 {
				t.Errorf("%q, want %q", said, tt.trouble)
			}
			if again := d.Fetch(t.Context(), [][]trace.Span{all, all}); len(again) > 0 {
				t.Errorf("said again: %q", again)
			}
			run := d.Add(r.Run)
			if n := run.Threads[0].Transfers.Len(); n != tt.messages || len(run.Messages) != tt.messages {
				t.Errorf("%d sends, %d messages, want %d", n, len(run.Messages), tt.messages)
			}
			if n, missing := d.Lacking([][]trace.Span{all, all}); n != int64(tt.lacking) || d.Err() != nil {
				t.Errorf("%d are lacking, want %d: %q, %v", n, tt.lacking, missing, d.Err())
			}
		})
	}
}
