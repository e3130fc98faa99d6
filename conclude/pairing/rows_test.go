package pairing

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
)

// everybody has all ranks send to all others, one more than others.
func everybody(ranks int) *trace.Run {
	run := &trace.Run{DurationNS: 1e9, Worlds: make([]trace.World, 1), Nodes: []trace.Node{{Name: "a"}, {Name: "b"}}, CallPaths: make([]trace.CallPath, 1), Traffic: new(trace.Traffic)}
	for r := range ranks {
		run.Threads = append(run.Threads, trace.Thread{Rank: r, Node: r * 2 / ranks})
		x := trace.RankTraffic{Rank: r}
		var routes []trace.TrafficRoute
		for peer := range ranks {
			if peer == r {
				continue
			}
			route := trace.TrafficRoute{Kind: trace.Received, Peer: int32(peer), Count: 10, Bytes: 1000, BlockedNS: int64(1000 + (r+peer)%7), LongestNS: 500, FirstNS: 400}
			if r == 3 && peer == 5 {
				route.BlockedNS = 1e6
			}
			routes = append(routes, route)
		}
		x.Routes = slices.Values(routes)
		run.Traffic.Ranks = append(run.Traffic.Ranks, x)
	}
	return run
}

// Where there is no room for all rows the heaviest stay, and the others are added up: nothing is lost, and memory does
// not grow with the rows.
func TestRoom(t *testing.T) {
	const ranks = 1000
	run := everybody(ranks)
	classes := make([]int32, ranks)
	for i := range classes {
		classes[i] = int32(i % 3)
	}
	for _, room := range []int64{0, 1 << 18, 40_000, 400} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := Measure(run, team.Threads{}, Options{SumsAlone: true, Class: classes, Room: room})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		var messages, bytes, blocked int64
		found := false
		for i := range p.Rows {
			r := &p.Rows[i]
			messages, bytes, blocked = messages+r.Messages, bytes+r.Bytes, blocked+r.BlockedNS
			found = found || r.Rank == 3 && r.Peer == 5 && r.BlockedNS == 1e6
		}
		x, table := p.File.Totals, p.File.Table
		t.Logf("room for %d bytes: %d rows, %d added up, %d MiB", room, len(p.Rows), table.Summed, (after.TotalAlloc-before.TotalAlloc)>>20)
		if messages != x.Messages || bytes != x.Bytes || blocked != int64(math.Round(float64(x.Blocked)*1e9)) || x.Pairs != ranks*(ranks-1)/2 || !found {
			t.Errorf("rows of %d messages, %d bytes, %d ns: %+v", messages, bytes, blocked, x)
		}
		all := int64(ranks * (ranks - 1))
		singles := int64(0)
		for i := range p.Rows {
			if p.Rows[i].Peer >= 0 {
				singles++
			}
		}
		if singles+table.Summed != all || room > 0 && int64(len(p.Rows)) > room/bytesPerRow+700 || (room > 0) != (len(p.File.Why) > 1) {
			t.Errorf("%d rows of single pairs, %d added up, of %d; %q", singles, table.Summed, all, p.File.Why)
		}
		if took := after.TotalAlloc - before.TotalAlloc; room > 0 && took > 4<<20+2000*uint64(len(p.Rows)) {
			t.Errorf("%d bytes for %d rows", took, len(p.Rows))
		}
	}
}

// What a rank sent to peers for which it had no room counts where it was received, and not again where it was sent.
// What was sent to a rank without a record counts where it was sent.
func TestRest(t *testing.T) {
	run := everybody(3)
	for i := range run.Traffic.Ranks {
		sent := trace.TrafficRoute{Kind: trace.Sent, Peer: -1, Comm: -1, Rest: true, Count: 20, Bytes: 2000, BlockedNS: 900, LongestNS: 500}
		received, gone := sent, trace.TrafficRoute{Kind: trace.Sent, Peer: 77, Count: 1, Bytes: 7}
		received.Kind = trace.Received
		run.Traffic.Ranks[i].Routes = slices.Values([]trace.TrafficRoute{sent, received, gone})
	}
	p, err := Measure(run, team.Threads{}, Options{SumsAlone: true})
	if err != nil {
		t.Fatal(err)
	}
	if x := p.File.Totals; x.Messages != 3*20+3 || x.Bytes != 3*2000+3*7 || len(p.Rows) != 3*3 {
		t.Errorf("%d rows, %+v", len(p.Rows), x)
	}
}

// What collectives of a part of the ranks move is between these, and that of all ranks is left out; a root's is between
// it and each.
func TestCollectivesOfParts(t *testing.T) {
	run := &trace.Run{DurationNS: 1e9, Worlds: make([]trace.World, 1), Nodes: []trace.Node{{Name: "a"}, {Name: "b"}}}
	for i, f := range []string{"", "MPI_Alltoall", "MPI_Bcast", "MPI_Neighbor_alltoall"} {
		run.CallPaths = append(run.CallPaths, trace.CallPath{Function: f})
		run.PathNames = append(run.PathNames, fmt.Sprint(f, "@", i))
	}
	run.Communicators = []trace.Communicator{{Ranks: []int{0, 1, 2, 3}}, {Ranks: []int{1, 3}}}
	for r := range 4 {
		th := trace.Thread{Rank: r, Node: r / 2}
		add := func(path uint32, comm, root int32, sent, received int64) {
			k := th.Calls.Len()
			th.Calls.EnterNS, th.Calls.ExitNS, th.Calls.Path = append(th.Calls.EnterNS, int64(k*10)), append(th.Calls.ExitNS, int64(k*10+5)), append(th.Calls.Path, path)
			c := &th.Collectives
			c.Call, c.Comm, c.Ordinal, c.Root = append(c.Call, uint32(k)), append(c.Comm, comm), append(c.Ordinal, 0), append(c.Root, root)
			c.Sent, c.Received = append(c.Sent, sent), append(c.Received, received)
		}
		add(1, 0, -1, 4000, 4000)
		if r%2 == 1 {
			add(1, 1, -1, 200, 200)
			add(3, 1, -1, 9999, 9999)
			if r == 1 {
				add(2, 1, 0, 50, 0)
			} else {
				add(2, 1, 0, 0, 50)
			}
		}
		run.Threads = append(run.Threads, th)
	}
	p, err := Measure(run, team.Threads{}, Options{Unwaited: "nobody looked"})
	if err != nil {
		t.Fatal(err)
	}
	row := parquet.PairsRow{Kind: parquet.PairsCollective, Rank: 1, Peer: 3, FromBytes: -1, ToBytes: -1, Bytes: 100, LateNS: -1, LateErrorNS: -1}
	back := row
	back.Rank, back.Peer, back.Bytes = 3, 1, 150
	if want := []parquet.PairsRow{back, row}; !slices.Equal(p.Rows, want) {
		t.Errorf("%+v, want %+v", p.Rows, want)
	}
	if x := p.File.Totals; x.Messages != 0 || x.Pairs != 0 || !strings.Contains(p.File.Why[0], "no rank sent a message") {
		t.Errorf("%+v, %q", x, p.File.Why)
	}
	// Where calls are on the nodes alone, nothing is said of those that are here, but that they are left out.
	run.Traffic = everybody(4).Traffic
	for comm, want := range map[int]int{2: 1, 1: 0} {
		run.Communicators = run.Communicators[:comm]
		if p, err = Measure(run, team.Threads{}, Options{SumsAlone: true}); err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, text := range p.File.Why {
			if strings.HasPrefix(text, "the placement leaves out collectives") {
				said++
			}
		}
		if len(p.Rows) != 4*3 || said != want {
			t.Errorf("%d rows, %q", len(p.Rows), p.File.Why)
		}
	}
}

// Memory does not grow with the pairs of collectives for which there is no room, and none of their bytes is lost.
func TestRoomOfCollectives(t *testing.T) {
	const ranks, each = 1000, 999 * 8
	run := &trace.Run{DurationNS: 1e9, Worlds: make([]trace.World, 1), Nodes: make([]trace.Node, 2), CallPaths: []trace.CallPath{{Function: "MPI_Alltoall"}}, PathNames: []string{"MPI_Alltoall@a.c:1"}}
	run.Communicators = make([]trace.Communicator, 1)
	for r := range ranks + 1 {
		th := trace.Thread{Rank: r, Node: r % 2}
		if r < ranks {
			run.Communicators[0].Ranks = append(run.Communicators[0].Ranks, r)
			th.Calls.EnterNS, th.Calls.ExitNS, th.Calls.Path = []int64{0}, []int64{5}, []uint32{0}
			th.Collectives = trace.Collectives{Call: []uint32{0}, Comm: []int32{0}, Ordinal: []int64{0}, Root: []int32{-1}, Sent: []int64{each}, Received: []int64{each}}
		}
		run.Threads = append(run.Threads, th)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := Measure(run, team.Threads{}, Options{Unwaited: "nobody looked", Room: 4000})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	bytes := int64(0)
	for i := range p.Rows {
		bytes += p.Rows[i].Bytes
	}
	if want := int64(ranks * (ranks - 1) * (each / ranks)); bytes != want || p.File.Table.Summed < ranks*(ranks-1)-1000 {
		t.Errorf("%d bytes, want %d; %+v", bytes, want, p.File.Table)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("%d bytes for %d rows", took, len(p.Rows))
	}
}

// Collectives of a part of the ranks that is too large for its pairs to be listed are said to be left out, where they
// moved anything; those of all ranks are none of them.
func TestCollectivesOfLargeParts(t *testing.T) {
	const ranks = mostOfClique + 100
	part := func(from, to int) (list []int) {
		for r := from; r < to; r++ {
			list = append(list, r)
		}
		return list
	}
	run := &trace.Run{DurationNS: 1e9, Worlds: make([]trace.World, 1), Nodes: []trace.Node{{Name: "a"}, {Name: "b"}}, CallPaths: []trace.CallPath{{Function: "MPI_Alltoall"}}, PathNames: []string{"MPI_Alltoall"}}
	run.Communicators = []trace.Communicator{{Ranks: part(0, ranks)}, {Ranks: part(0, mostOfClique+1)}, {Ranks: part(50, mostOfClique+60)}, {Ranks: part(0, mostOfClique+2)}, {Ranks: part(0, mostOfClique)}}
	collective := func(rank int, comm int32, bytes int64) {
		th := &run.Threads[rank]
		k := th.Calls.Len()
		th.Calls.EnterNS, th.Calls.ExitNS, th.Calls.Path = append(th.Calls.EnterNS, int64(k*10)), append(th.Calls.ExitNS, int64(k*10+5)), append(th.Calls.Path, 0)
		c := &th.Collectives
		c.Call, c.Comm, c.Ordinal, c.Root, c.Sent, c.Received = append(c.Call, uint32(k)), append(c.Comm, comm), append(c.Ordinal, 0), append(c.Root, -1), append(c.Sent, bytes), append(c.Received, bytes)
	}
	for r := range ranks {
		run.Threads = append(run.Threads, trace.Thread{Rank: r, Node: r * 2 / ranks})
	}
	said := func() (list []string) {
		p, err := Measure(run, team.Threads{}, Options{Unwaited: "nobody looked"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range p.File.Why {
			if strings.Contains(text, "communicator") {
				list = append(list, text)
			}
		}
		return list
	}
	for r := range ranks { // of all ranks; of the last that is listed; and of one that moves nothing
		collective(r, 0, 1<<20)
		if r < mostOfClique {
			collective(r, 3, 0)
		}
		if r < 2 {
			collective(r, 4, 1<<20)
		}
	}
	if list := said(); len(list) > 0 {
		t.Errorf("%q", list)
	}
	collective(7, 1, 8)
	if list := said(); !slices.Equal(list, []string{"the placement leaves out the collectives of 1 communicator with more than 1,024 ranks, of 1,025 ranks together"}) {
		t.Errorf("%q", list)
	}
	collective(90, 2, 8)
	collective(91, 2, 8)
	if list := said(); !slices.Equal(list, []string{"the placement leaves out the collectives of 2 communicators with more than 1,024 ranks, of 1,084 ranks together"}) {
		t.Errorf("%q", list)
	}
	for r := range run.Threads { // where nothing is known but these
		run.Threads[r].Calls, run.Threads[r].Collectives = trace.Calls{}, trace.Collectives{}
	}
	collective(7, 1, 8)
	if list := said(); len(list) != 1 {
		t.Errorf("%q", list)
	}
}

// What is put and got has rows, and so has what is sent to ranks without a record; what is sent to others is in
// messages.
func TestOneSided(t *testing.T) {
	m := newMachine(4, 2)
	m.do(0, compute(1000), send(2, 100))
	m.do(2, compute(1000), recv(0, 0))
	m.do(1, compute(1000), waitall())
	m.do(3, compute(1000), waitall())
	run := m.run(t)
	x := &run.Threads[1].Transfers
	for _, of := range []struct {
		kind        trace.TransferKind
		peer, world int32
		bytes       int64
	}{{trace.Put, 0, 0, 10}, {trace.Put, 0, 0, 20}, {trace.Got, 3, 0, 5}, {trace.Sent, 7, 0, 9}, {trace.Written, -1, 0, 99}} {
		x.Call, x.Kind, x.Peer, x.Tag, x.Comm = append(x.Call, 0), append(x.Kind, of.kind), append(x.Peer, of.peer), append(x.Tag, 0), append(x.Comm, -1)
		x.Bytes, x.Done, x.PeerWorld = append(x.Bytes, of.bytes), append(x.Done, 0), append(x.PeerWorld, of.world)
	}
	p, err := Measure(run, team.Threads{}, Options{Unwaited: "nobody looked"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Rank == 1 {
			found = append(found, fmt.Sprint(r.Kind, " ", r.Peer, " ", r.SameHost, " ", r.Messages, " ", r.Bytes))
		}
	}
	if want := []string{"get 3 false 1 5", "put 0 true 2 30", "send 7 false 1 9"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	if x := p.File.Totals; x.Messages != 2 || x.Bytes != 109 || x.Pairs != 2 || x.InternodeMessages != 1 {
		t.Errorf("%+v", x)
	}
}
