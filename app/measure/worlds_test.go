package measure

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
	"moriens/trace"
	"moriens/trace/rundir"
)

// A spawned world: the messages between parents and children go by an intercommunicator whose groups are of two worlds.
func TestMessagesBetweenWorlds(t *testing.T) {
	r := newRig(t)
	for w, name := range []string{"parents", "children"} {
		for rank := range 2 {
			p := r.process(ringwriter.Identity{Rank: rank, Size: 2, World: name})
			p.Comm(ringwriter.Comm{Number: 3, ID: 99, Flags: shmabi.CommInter, Rank: rank, Size: 2, Ranks: []ringwriter.Ranks{{First: -1, Count: 2}}})
			x := r.thread(p, 64)
			at := uint64(100 * w)
			r.meant(x, "MPI_Init", at, at+1, ringwriter.Meaning{})
			if w == 0 {
				r.meant(x, "MPI_Send", at+200, at+210, transfer(shmabi.SlotSent, 0, int32(1-rank), 5, 3, 10+uint64(rank)))
			} else {
				r.meant(x, "MPI_Recv", at+105, at+115, transfer(shmabi.SlotReceived, 0, int32(1-rank), 5, 3, 11-uint64(rank)))
			}
			p.Finalize()
		}
	}
	run := r.finish(byDuration).Run
	var got [][2]int
	for _, m := range run.Messages {
		got = append(got, [2]int{m.From, m.To})
	}
	slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
	if d := cmp.Diff([][2]int{{0, 3}, {1, 2}}, got); d != "" {
		t.Errorf("messages between threads of worlds %v (-want +got):\n%s", run.Worlds, d)
	}
	if peers := run.Threads[0].Transfers; !slices.Equal(peers.Peer, []int32{1}) || !slices.Equal(peers.PeerWorld, []int32{1}) {
		t.Errorf("%+v", peers)
	}
	if d := cmp.Diff([]trace.Communicator{{World: 0, ID: 1, Inter: true}, {World: 1, ID: 2, Inter: true}}, run.Communicators); d != "" {
		t.Error(d)
	}
}

// Two ranks spawn two. Each side has its own name for the intercommunicator, and for what it is merged to and split
// into; the collector finds out which are the same. Of spawns that could each be meant, none is taken.
func TestSpawnedWorlds(t *testing.T) {
	const origin = 1_000_000_000 // of the rig's time, in ticks
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprintf("twice=%t", twice), func(t *testing.T) {
			r := newRig(t)
			for w, name := range []string{"parents", "children"} {
				for rank := range 2 {
					p := r.process(ringwriter.Identity{Rank: rank, Size: 2, World: name})
					side := uint64(10 * (w + 1))
					met := func(number int, flags uint32, id uint64, place, peers int, ranks []ringwriter.Ranks, o shmabi.LogOrigin) {
						p.Comm(ringwriter.Comm{
							Number: uint32(number), ID: side + id, Flags: flags | shmabi.CommGuessed, Rank: place, Size: max(2, peers), Peers: peers, Ranks: ranks, Origin: &o,
						})
					}
					spawn := shmabi.LogOrigin{How: shmabi.OriginSpawned, Began: origin + 5_000, Ended: origin + 150_000}
					if w == 1 {
						spawn = shmabi.LogOrigin{How: shmabi.OriginParent, Began: origin + 100_000, Ended: origin + 101_000}
					}
					strangers := []ringwriter.Ranks{{First: -1, Count: 2}}
					met(1, shmabi.CommInter, 0, rank, 2, strangers, spawn)
					if w == 0 && twice {
						met(2, shmabi.CommInter, 1, rank, 2, strangers, spawn)
					}
					own := []ringwriter.Ranks{{First: 0, Stride: 1, Count: 2}}
					merged := slices.Concat(own, strangers)
					if w == 1 {
						merged = slices.Concat(strangers, own)
					}
					met(3, 0, 2, 2*w+rank, 4, merged, shmabi.LogOrigin{How: shmabi.OriginDerived, Parent: 1, Key: 77})
					x := r.thread(p, 64)
					at := uint64(100 * w)
					r.meant(x, "MPI_Init", at, at+1, ringwriter.Meaning{})
					if w == 0 {
						r.meant(x, "MPI_Send", 200, 210, transfer(shmabi.SlotSent, 0, int32(1-rank), 5, 1, 10+uint64(rank)))
						r.meant(x, "MPI_Send", 220, 230, transfer(shmabi.SlotSent, 0, int32(2+rank), 5, 3, 20+uint64(rank)))
					} else {
						r.meant(x, "MPI_Recv", 205, 215, transfer(shmabi.SlotReceived, 0, int32(1-rank), 5, 1, 11-uint64(rank)))
						r.meant(x, "MPI_Recv", 225, 235, transfer(shmabi.SlotReceived, 0, int32(rank), 5, 3, 20+uint64(rank)))
					}
					p.Finalize()
				}
			}
			result := r.finish(byDuration)
			var got [][3]int64
			for _, m := range result.Run.Messages {
				got = append(got, [3]int64{int64(m.From), int64(m.To), m.Bytes})
			}
			slices.SortFunc(got, func(a, b [3]int64) int { return int(a[2] - b[2]) })
			want, unmatched := [][3]int64{{0, 3, 10}, {1, 2, 11}, {0, 2, 20}, {1, 3, 21}}, []rundir.Unmatched(nil)
			if twice {
				want, unmatched = nil, []rundir.Unmatched{{Why: "the other side is in another MPI world, which is not known", Sends: 4, Receives: 4}}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("messages between threads of worlds %v (-want +got):\n%s", result.Run.Worlds, d)
			}
			if d := cmp.Diff(unmatched, result.Manifest.Messages.Unmatched); d != "" {
				t.Error(d)
			}
		})
	}
}
