package levels

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
	"moriens/trace/parquet"
)

// sumTransfers replaces the transfers of a run by their sums, and leaves a few of the transfers, which must not count
// twice.
func sumTransfers(run *trace.Run) {
	run.Traffic = new(trace.Traffic)
	for i := range run.Threads {
		t := &run.Threads[i]
		r := trace.RankTraffic{World: t.World, Rank: t.Rank}
		for k, call := range t.Transfers.Call {
			r.Sites = append(r.Sites, trace.TrafficSite{Kind: t.Transfers.Kind[k], Path: t.Calls.Path[call], Count: 1, Bytes: t.Transfers.Bytes[k]})
		}
		run.Traffic.Ranks = append(run.Traffic.Ranks, r)
		x := &t.Transfers
		n := min(1, x.Len())
		t.Transfers = trace.Transfers{Call: x.Call[:n], Kind: x.Kind[:n], Peer: x.Peer[:n], Tag: x.Tag[:n], Comm: x.Comm[:n], Bytes: x.Bytes[:n], Done: x.Done[:n]}
	}
}

// A path's bytes are the same whether its transfers are there or their sums alone: in its own row where it has one, and
// where it has several, of which nothing shows whose they are, in a row of traffic.
func TestTrafficOfSums(t *testing.T) {
	moving := func() *trace.Run {
		run := &trace.Run{
			CallPaths: []trace.CallPath{{}, {Function: "MPI_Send"}, {Function: "MPI_Recv"}, {Function: "MPI_Allreduce"}}, MarkNames: []string{"", "solve"},
			Worlds: []trace.World{{Size: 1}},
		}
		th := trace.Thread{EndNS: 100, Phases: []trace.Phase{{Name: 1, BeginNS: 25, EndNS: 100}}}
		for i, path := range []uint32{1, 2, 3, 1, 3} { // sends are in and out of the phase, and so is the reduction; the receive is not
			at := int64(10 * i)
			th.Calls.EnterNS, th.Calls.ExitNS, th.Calls.Path = append(th.Calls.EnterNS, at), append(th.Calls.ExitNS, at+5), append(th.Calls.Path, path)
		}
		th.Transfers = trace.Transfers{
			Call: []uint32{0, 1, 3}, Kind: []trace.TransferKind{trace.Sent, trace.Received, trace.Sent}, Peer: []int32{0, 0, 0}, Tag: []int32{1, 1, 1}, Comm: []int32{0, 0, 0},
			Bytes: []int64{100, 100, 23}, Done: []int32{0, 1, 3},
		}
		th.Collectives = trace.Collectives{Call: []uint32{2, 4}, Comm: []int32{0, 0}, Ordinal: []int64{0, 1}, Sent: []int64{8, 8}, Received: []int64{8, 8}, Root: []int32{-1, -1}}
		run.Threads = []trace.Thread{th}
		return run
	}
	type bytesOf struct {
		Kind, Path     string
		Sent, Received int64
		Untold         bool
	}
	rows := func(run *trace.Run) (list []bytesOf) {
		p, err := Profile(run, alone, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := parquet.WriteProfile(&file, ProfileRows(run, p)); err != nil {
			t.Fatal(err)
		}
		back, err := parquet.ReadProfile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range back.Rows {
			if r.Kind == parquet.ProfilePhase || r.Kind == parquet.ProfileUnrecorded {
				continue
			}
			list = append(list, bytesOf{r.Kind, r.CallPath, r.SentBytes, r.ReceivedBytes, r.InTraffic})
		}
		return list
	}
	whole, summed := moving(), moving()
	sumTransfers(summed)
	names := whole.Names()
	send, receive, reduce := names[1], names[2], names[3]
	want := []bytesOf{
		{"mpi", send, 100, 0, false}, {"mpi", receive, 0, 100, false}, {"mpi", reduce, 8, 8, false}, {"mpi", send, 23, 0, false}, {"mpi", reduce, 8, 8, false},
	}
	less := func(list []bytesOf) map[bytesOf]int {
		set := make(map[bytesOf]int)
		for _, r := range list {
			set[r]++
		}
		return set
	}
	if d := cmp.Diff(less(want), less(rows(whole))); d != "" {
		t.Errorf("of transfers (-want +got):\n%s", d)
	}
	want = []bytesOf{
		{"mpi", send, 0, 0, true}, {"mpi", receive, 0, 100, false}, {"mpi", reduce, 8, 8, false}, {"mpi", send, 0, 0, true}, {"mpi", reduce, 8, 8, false},
		{"traffic", send, 123, 0, false},
	}
	if d := cmp.Diff(less(want), less(rows(summed))); d != "" {
		t.Errorf("of sums (-want +got):\n%s", d)
	}
}
