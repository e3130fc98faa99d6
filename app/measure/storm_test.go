package measure

import (
	"testing"

	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
)

// A rank has more receives under way at once than an agent used to follow: all of them are matched.
func TestStormOfRequests(t *testing.T) {
	const many, together = 132_000, 1000
	r := newRig(t)
	var rings [2]*ringwriter.Ring
	var processes [2]*ringwriter.Process
	for rank := range rings {
		processes[rank] = r.process(ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
		processes[rank].Comm(worldOf(rank, 2))
		rings[rank] = r.thread(processes[rank], 1<<16)
	}
	now := uint64(1_000_000_000)
	write := func(rank int, call string, m ringwriter.Meaning) {
		now += 100
		awaitRoom(t, rings[rank], together+1)
		if !rings[rank].CallMeaning(named(t, call), 0, now, now+50, m) {
			t.Fatal("the ring is full")
		}
	}
	for i := range uint64(many) {
		write(0, "MPI_Irecv", transfer(shmabi.SlotReceived, 1+i, 1, 3, 1, 8))
	}
	for range many {
		write(1, "MPI_Send", transfer(shmabi.SlotSent, 0, 0, 3, 1, 8))
	}
	for i := 0; i < many; i += together {
		var done []shmabi.Request
		for k := range uint64(together) {
			done = append(done, shmabi.Request{Request: 1 + uint64(i) + k, Bytes: 8, Source: 1, Tag: 3})
		}
		write(0, "MPI_Waitall", completed(done...))
	}
	for _, p := range processes {
		p.Finalize()
	}
	result := r.finish(byDuration)
	x := result.Manifest.Messages
	if len(result.Run.Messages) != many || len(x.Unmatched) != 0 || x.Requests.Unfollowed+x.Requests.Lost+x.Requests.EndsUnknown != 0 {
		t.Errorf("%d messages, %+v", len(result.Run.Messages), x)
	}
}
