package levels

import (
	"slices"
	"strings"
	"testing"

	"moriens/analysis/program"
	"moriens/internal/team"
	"moriens/trace"
)

// In a trace that was read, calls move its messages; where calls say what they move, they move nothing twice.
func TestProgramOfMessages(t *testing.T) {
	path := func(function string, line int) trace.CallPath {
		return trace.CallPath{Function: function, Frames: []trace.Frame{{Function: "main", File: "a.c", Line: line}, {Function: "_start"}}}
	}
	plant := func() *trace.Run {
		run := &trace.Run{Worlds: []trace.World{{Size: 3}}, CallPaths: []trace.CallPath{{}, path("MPI_Irecv", 5), path("MPI_Send", 6), path("MPI_Wait", 7)}}
		for rank := range 3 {
			x := trace.Thread{Rank: rank, EndNS: 1000}
			for trip := range int64(4) {
				for k, p := range []uint32{1, 2, 3} {
					begin := 100*trip + 10*int64(k)
					x.Calls.Path = append(x.Calls.Path, p)
					x.Calls.EnterNS, x.Calls.ExitNS = append(x.Calls.EnterNS, begin), append(x.Calls.ExitNS, begin+5)
				}
			}
			run.Threads = append(run.Threads, x)
		}
		for trip := range int64(4) {
			for rank := range 3 { // sent within the call, and received by the one that was posted before
				run.Messages = append(run.Messages, trace.Message{From: rank, To: (rank + 1) % 3, SendNS: 100*trip + 12, PhysicalSendNS: 100*trip + 12, RecvNS: 100 * trip, PhysicalRecvNS: 100*trip + 25, Bytes: 64})
			}
		}
		run.Messages = append(run.Messages, trace.Message{From: 0, To: 1, SendNS: 70, RecvNS: 71, Bytes: 1 << 20}) // of no call that is there
		return run
	}
	lines := func(run *trace.Run) (list []string, bytes []int64) {
		p, err := Program(run, team.Threads{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
			if n.Kind == program.KindMPI {
				text := n.Function
				for _, x := range n.Peers {
					text += " " + x.Way + " " + x.Text
				}
				list = append(list, text)
				if n.Bytes != nil {
					bytes = append(bytes, n.Bytes.Least, n.Bytes.Most)
				}
			}
		})
		return list, bytes
	}
	list, bytes := lines(plant())
	if want := []string{"MPI_Irecv from (rank-1) mod size", "MPI_Send to (rank+1) mod size", "MPI_Wait"}; !slices.Equal(list, want) || !slices.Equal(bytes, []int64{64, 64, 64, 64}) {
		t.Errorf("%q, bytes %d, want %q", list, bytes, want)
	}
	known := plant()
	known.Threads[2].Transfers = trace.Transfers{Call: []uint32{1}, Kind: []trace.TransferKind{trace.Sent}, Peer: []int32{0}, Bytes: []int64{8}, Comm: []int32{-1}}
	if list, bytes = lines(known); strings.Join(list, ", ") != "MPI_Irecv, MPI_Send to rank-2, MPI_Wait" || !slices.Equal(bytes, []int64{8, 8}) {
		t.Errorf("%q, bytes %d", list, bytes)
	}
}

// A thread of which there are windows alone has gaps, and the program says so.
func TestProgramOfWindows(t *testing.T) {
	run := &trace.Run{Worlds: []trace.World{{Size: 2}}, CallPaths: []trace.CallPath{{}, {Function: "MPI_Barrier", Frames: []trace.Frame{{Function: "main", File: "a.c", Line: 3}}}}}
	for rank := range 2 {
		x := trace.Thread{Rank: rank, EndNS: 100, Calls: trace.Calls{Path: []uint32{1, 1}, EnterNS: []int64{0, 90}, ExitNS: []int64{10, 100}}}
		x.Kept = []trace.Span{{BeginNS: 0, EndNS: 100}}
		if rank == 1 {
			x.Kept = []trace.Span{{BeginNS: 0, EndNS: 20}, {BeginNS: 80, EndNS: 100}}
		}
		run.Threads = append(run.Threads, x)
	}
	p, err := Program(run, team.Threads{}, 1)
	if err != nil || !slices.Contains(p.Why, "Of some of the time of 1 of 2 threads there are no records of calls: what is not seen there is taken for what was not done.") {
		t.Errorf("%v, %q", err, p.Why)
	}
}
