package measure

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/collector"
	"moriens/collector/windows"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/cshim/ringwriter"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
	"moriens/internal/stage"
	moriensv1 "moriens/proto/moriens/v1"
)

// side is one side of a message, by what distinguishes it from all others.
type side struct {
	from, to int32
	tag      int32
	ordinal  uint64
}

// byOrdinals pairs the sends and receives of windows by their ordinals alone, and gives when each was posted: enters
// are when the calls of each rank began.
func byOrdinals(t *testing.T, parts []*moriensv1.WindowPart, ranks map[uint64]int32, enters [][]uint64) map[[2]uint64]bool {
	t.Helper()
	sends, receives := make(map[side]uint64), make(map[side]uint64)
	for _, p := range parts {
		rank := ranks[p.Process]
		for _, b := range movesOf(t, p.Sections) {
			for _, x := range b.Transfers {
				if x.Ordinal == 0 || b.Epoch != 0 {
					continue
				}
				lane, at := b.Lanes[x.Lane], enters[rank][x.Row]
				if moriensv1.Transfers_Kind(lane.Kind) == moriensv1.Transfers_KIND_SENT {
					sends[side{rank, lane.Peer, lane.Tag, x.Ordinal}] = at
				} else {
					receives[side{lane.Peer, rank, lane.Tag, x.Ordinal}] = at
				}
			}
		}
	}
	pairs := make(map[[2]uint64]bool)
	for s, at := range sends {
		if to, there := receives[s]; there {
			pairs[[2]uint64{at, to}] = true
		}
	}
	return pairs
}

// The messages between windows that survive, matched by ordinals alone, are those that the whole run gives. Each is
// received an iteration after it was sent, by a receive from anybody where i is odd.
func TestWindowsMatchByOrdinals(t *testing.T) {
	t.Parallel()
	const ranks, iterations = 3, 1200
	c, err := collector.Start(collector.Config{
		Journal: t.TempDir() + "/journal", Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDuration, Linger: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(collector.Outcome{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	shm := t.TempDir()
	dir := ring.DirectoryPath(shm, os.Getuid(), "run1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	node, err := agent.New(agent.Config{
		Run: "run1", Shm: shm, Find: uplink.At(c.Rendezvous()), Log: quiet, Clocks: new(exactClock), Grace: 200 * time.Millisecond,
		Spool: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- node.Run(context.Background()) }()
	var processes []*ringwriter.Process
	var rings []*ringwriter.Ring
	rankOf := make(map[uint64]int32)
	for rank := range ranks {
		p, err := ringwriter.New(dir, ringwriter.Identity{Rank: rank, Size: ranks, World: "w"})
		if err != nil {
			t.Fatal(err)
		}
		p.Comm(ringwriter.Comm{Number: 1, ID: 99, Rank: rank, Size: ranks, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: ranks}}})
		w, err := p.Thread(1 << 12)
		if err != nil {
			t.Fatal(err)
		}
		processes, rings = append(processes, p), append(rings, w)
		rankOf[p.ID()] = int32(rank)
	}
	var all []anchor.ID // that survive: some, and the last
	for i := range iterations + 1 {
		if w := anchor.After(uint64(i)); w.Hash("survives")%3 > 0 || i == iterations {
			all = append(all, w)
		}
	}
	last := all[len(all)-1]
	for { // until the agent has arrived
		k := c.Windows().Keep(ctx, moriensv1.Keep_WHY_PINNED, "to see when all is there", []anchor.ID{last})
		if len(k) == 1 && k[0].Err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%+v", k)
		}
		time.Sleep(20 * time.Millisecond)
	}
	edges := make(map[uint64]windows.Key) // the window of each call, by its entry
	enters := make([][]uint64, ranks)
	for i := range iterations + 1 {
		for rank, w := range rings {
			row := uint64(0)
			call := func(id mpicall.ID, m ringwriter.Meaning) {
				enter := 1_000_000_000 + uint64(i)*100_000 + row*1000 + uint64(rank)
				enters[rank] = append(enters[rank], enter)
				edges[enter] = windows.Key{Process: processes[rank].ID(), Window: anchor.After(uint64(i))}
				awaitRoom(t, w, slotsOfCall)
				if !w.CallMeaning(id, 0, enter, enter+300, m) {
					t.Fatal("the ring is full")
				}
				row++
			}
			tag := int32(i % 3)
			var requests []shmabi.Request
			if i > 0 {
				from, tagged := int32((rank+ranks-1)%ranks), int32((i-1)%3)
				asked, wanted := from, tagged
				if i%2 == 1 {
					asked, wanted = ring.Any, ring.Any
				}
				call(mpicall.Irecv, ringwriter.Meaning{Transfers: []shmabi.Transfer{{Bytes: 8, Request: 7, Peer: asked, Tag: wanted, Comm: 1, Kind: uint32(shmabi.SlotReceived)}}})
				requests = append(requests, shmabi.Request{Request: 7, Bytes: 8, Source: from, Tag: tagged, Event: uint32(ring.Completed)})
			}
			if i < iterations {
				call(mpicall.Isend, ringwriter.Meaning{Transfers: []shmabi.Transfer{{Bytes: 8, Request: 5, Peer: int32((rank + 1) % ranks), Tag: tag, Comm: 1, Kind: uint32(shmabi.SlotSent)}}})
				requests = append(requests, shmabi.Request{Request: 5, Event: uint32(ring.Completed)})
			}
			call(mpicall.Waitall, ringwriter.Meaning{Requests: requests})
			call(mpicall.Allreduce, ringwriter.Meaning{Collectives: []shmabi.Collective{{Sent: 8, Received: 8, Ordinal: uint32(i), Root: -1, Comm: 1}}})
		}
		time.Sleep(200 * time.Microsecond)
	}
	var fetched []windows.Fetched
	for {
		fetched = c.Windows().Fetch(ctx, all)
		if len(fetched) != 1 || fetched[0].Err != nil {
			t.Fatalf("%d answers, %v", len(fetched), fetched)
		}
		ends := make(map[uint64]bool)
		for _, p := range fetched[0].Parts {
			if anchor.ID(p.Window) == last {
				ends[p.Process] = true
			}
		}
		if len(ends) == ranks {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	kept := make(map[windows.Key]bool)
	for _, p := range fetched[0].Parts {
		kept[windows.Key{Process: p.Process, Window: anchor.ID(p.Window)}] = true
	}
	for i, w := range rings {
		w.Call(named(t, "MPI_Finalize"), 0, 1<<40, 1<<40)
		processes[i].Finalize()
	}
	node.JobOver()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	result, err := conclude.Conclude(ctx, conclude.End{
		Frozen: c.Freeze(""), Job: conclude.Job{Run: "run1"}, Options: byDuration, Keep: retention.Options{All: true}, Stages: stage.New(0), Windows: c.Windows(),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want := make(map[[2]uint64]bool)
	for _, m := range result.Run.Messages {
		at := [2]uint64{uint64(m.SendNS) + 1_000_000_000, uint64(m.RecvNS) + 1_000_000_000}
		if kept[edges[at[0]]] && kept[edges[at[1]]] {
			want[at] = true
		}
	}
	if len(result.Run.Messages) != ranks*iterations || len(want) == 0 || len(kept) != ranks*len(all) || len(all) > iterations*3/4 {
		t.Fatalf("%d messages, %d of them between %d of %d windows", len(result.Run.Messages), len(want), len(kept), len(all))
	}
	if d := cmp.Diff(want, byOrdinals(t, fetched[0].Parts, rankOf, enters)); d != "" {
		t.Errorf("pairs differ (-want +got):\n%s", d)
	}
	t.Logf("%d messages between %d windows", len(want), len(kept))
}
