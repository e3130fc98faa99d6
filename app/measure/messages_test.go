package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
	"moriens/trace"
	"moriens/trace/rundir"
)

// transfer is a continuation slot of a planted record.
func transfer(kind uint32, request uint64, peer, tag int32, comm uint32, bytes uint64) ringwriter.Meaning {
	return ringwriter.Meaning{Transfers: []shmabi.Transfer{{Bytes: bytes, Request: request, Peer: peer, Tag: tag, Comm: comm, Kind: kind}}}
}

func completed(requests ...shmabi.Request) ringwriter.Meaning {
	for i := range requests {
		requests[i].Event = shmabi.RequestCompleted
	}
	return ringwriter.Meaning{Requests: requests}
}

func collective(ordinal, comm uint32, sent, received uint64) ringwriter.Meaning {
	return ringwriter.Meaning{Collectives: []shmabi.Collective{{Sent: sent, Received: received, Ordinal: ordinal, Root: shmabi.RankAny, Comm: comm}}}
}

// meant writes a record that shows what its call means; at is in microseconds since the job began.
func (r *rig) meant(w *ringwriter.Ring, call string, enter, exit uint64, m ringwriter.Meaning) {
	r.t.Helper()
	const origin = 1_000_000_000
	if r.clock.now.Load() != 0 { // its records arrive when they are made
		r.clock.now.Store(origin + exit*1000)
	}
	if !w.CallMeaning(named(r.t, call), 0, origin+enter*1000, origin+exit*1000, m) {
		r.t.Fatal("the ring is full")
	}
}

const world = 41 // the id of MPI_COMM_WORLD

func worldOf(rank, size int) ringwriter.Comm {
	return ringwriter.Comm{Number: 1, ID: world, Rank: rank, Size: size, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: uint32(size)}}}
}

// What the records of two ranks contain of their messages, requests, collectives, windows and files is reported as
// planted: a wildcard that is resolved when it is completed, a persistent request, a send that the receiver waits for,
// and one that is never received.
func TestPlantedMessages(t *testing.T) {
	r := newRig(t)
	rings := make([]*ringwriter.Ring, 2)
	processes := make([]*ringwriter.Process, 2)
	for rank := range rings {
		processes[rank] = r.process(ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
		processes[rank].Comm(worldOf(rank, 2))
		processes[rank].Comm(ringwriter.Comm{Number: 2, ID: 55, Flags: shmabi.CommWindow, Rank: rank, Size: 2, Ranks: []ringwriter.Ranks{{First: 0, Stride: 1, Count: 2}}})
		rings[rank] = r.thread(processes[rank], 1024)
		r.meant(rings[rank], "MPI_Init", 0, 10, ringwriter.Meaning{})
	}
	a, b := rings[0], rings[1]
	r.meant(a, "MPI_Isend", 20, 21, transfer(shmabi.SlotSent, 0x500, 1, 7, 1, 800))
	r.meant(a, "MPI_Send_init", 22, 23, transfer(shmabi.SlotSent, 0x600, 1, 8, 1, 16))
	r.meant(a, "MPI_Start", 30, 31, ringwriter.Meaning{Requests: []shmabi.Request{{Request: 0x600, Event: shmabi.RequestStarted}}})
	r.meant(a, "MPI_Waitall", 32, 40, completed(shmabi.Request{Request: 0x600}, shmabi.Request{Request: 0x500}))
	r.meant(a, "MPI_Start", 50, 51, ringwriter.Meaning{Requests: []shmabi.Request{{Request: 0x600, Event: shmabi.RequestStarted}}})
	r.meant(a, "MPI_Wait", 52, 53, completed(shmabi.Request{Request: 0x600}))
	r.meant(a, "MPI_Send", 60, 61, transfer(shmabi.SlotSent, 0, 1, 99, 1, 4))
	r.meant(a, "MPI_Put", 62, 63, transfer(shmabi.SlotPut, 0, 1, -1, 2, 64))
	r.meant(a, "MPI_Send", 64, 65, transfer(shmabi.SlotSent, 0, shmabi.RankProcNull, 1, 1, 4))

	r.meant(b, "MPI_Irecv", 15, 16, transfer(shmabi.SlotReceived, 0x900, -1, -1, 1, 4096))
	r.meant(b, "MPI_Wait", 18, 45, completed(shmabi.Request{Request: 0x900, Bytes: 800, Source: 0, Tag: 7}))
	r.meant(b, "MPI_Recv", 46, 47, transfer(shmabi.SlotReceived, 0, 0, 8, 1, 16))
	r.meant(b, "MPI_Recv", 48, 55, transfer(shmabi.SlotReceived, 0, 0, 8, 1, 16))
	for rank, w := range rings {
		r.meant(w, "MPI_Allreduce", 70, 80+uint64(rank), collective(4, 1, 8, 8))
		r.meant(w, "MPI_Finalize", 90, 99, ringwriter.Meaning{})
		processes[rank].Finalize()
	}
	result := r.finish(byDuration)
	run, us := result.Run, int64(1000)
	message := func(sent, posted, arrived, bytes, tag, late int64) trace.Message {
		return trace.Message{From: 0, To: 1, SendNS: sent * us, PhysicalSendNS: sent * us, RecvNS: posted * us, PhysicalRecvNS: arrived * us,
			Bytes: bytes, Tag: tag, LateNS: late * us}
	}
	want := []trace.Message{message(20, 15, 45, 800, 7, 2), message(30, 46, 47, 16, 8, 0), message(50, 48, 55, 16, 8, 2)}
	if d := cmp.Diff(want, run.Messages); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]trace.Communicator{{ID: 1, Ranks: []int{0, 1}}, {ID: 2, Window: true, Ranks: []int{0, 1}}}, run.Communicators); d != "" {
		t.Error(d)
	}
	columns := trace.Transfers{
		Call: []uint32{1, 3, 5, 7, 8}, Kind: []trace.TransferKind{trace.Sent, trace.Sent, trace.Sent, trace.Sent, trace.Put}, Peer: []int32{1, 1, 1, 1, 1},
		Tag: []int32{7, 8, 8, 99, -1}, Comm: []int32{0, 0, 0, 0, 1}, Bytes: []int64{800, 16, 16, 4, 64}, Done: []int32{4, 4, 6, 7, 8},
	}
	if d := cmp.Diff(columns, run.Threads[0].Transfers); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	calls := trace.Collectives{Call: []uint32{5}, Comm: []int32{0}, Ordinal: []int64{4}, Sent: []int64{8}, Received: []int64{8}, Root: []int32{-1}}
	if d := cmp.Diff(calls, run.Threads[1].Collectives); d != "" {
		t.Errorf("collectives (-want +got):\n%s", d)
	}
	m := &result.Manifest.Messages
	m.LateSenderSeconds *= 1e6
	summary := rundir.Messages{LateSenderSeconds: 4, Unmatched: []rundir.Unmatched{{Why: "no counterpart on the other side", Sends: 1}}}
	if d := cmp.Diff(summary, *m); d != "" {
		t.Error(d)
	}
}

// Threads of a rank share their requests: one posts, the other waits, and a handle goes round. Their rings are not read
// at once, and by the clock alone it knows up to when one that says nothing has nothing to say.
func TestMessagesOfThreads(t *testing.T) {
	const rounds = 3000
	r := newRig(t)
	r.clock.now.Store(1)
	sender := r.process(ringwriter.Identity{Rank: 0, Size: 2, World: "w"})
	receiver := r.process(ringwriter.Identity{Rank: 1, Size: 2, World: "w"})
	sender.Comm(worldOf(0, 2))
	receiver.Comm(worldOf(1, 2))
	w := r.thread(sender, 1<<14)
	poster, waiter := r.thread(receiver, 1<<14), r.thread(receiver, 1<<14)
	for i := range uint64(rounds) {
		at := 100 * i
		r.meant(poster, "MPI_Irecv", at+10, at+20, transfer(shmabi.SlotReceived, 0x900, -1, -1, 1, 4096))
		r.meant(w, "MPI_Send", at+30, at+31, transfer(shmabi.SlotSent, 0, 1, int32(i), 1, i))
		r.meant(waiter, "MPI_Wait", at+22, at+80, completed(shmabi.Request{Request: 0x900, Bytes: i, Source: 0, Tag: int32(i)}))
	}
	r.clock.now.Store(0)
	sender.Finalize()
	receiver.Finalize()
	result := r.finish(byDuration)
	run := result.Run
	if len(run.Messages) != rounds {
		t.Fatalf("%d messages of %d: %+v", len(run.Messages), rounds, result.Manifest.Messages)
	}
	for i, m := range run.Messages {
		at := int64(100*i) * 1000
		want := trace.Message{From: 0, To: 1, SendNS: at + 20_000, PhysicalSendNS: at + 20_000, RecvNS: at, PhysicalRecvNS: at + 70_000, Bytes: int64(i), Tag: int64(i), LateNS: 8000}
		if m != want {
			t.Fatalf("message %d: %+v, want %+v", i, m, want)
		}
	}
}

// Receives whose sender MPI does not report are matched with the surplus sends of one sender; where that is not certain
// they have no lines.
func TestReceivesOfUnknownSender(t *testing.T) {
	t.Parallel()
	const unrecorded, room = 2, 64
	for _, c := range []struct {
		name          string
		sends, normal [2]int // of ranks 0 and 1: messages to rank 2, and how many of them it receives by name
		tag           int32  // that the untold ones ask for
		bytes         uint64
		want          int // lines
	}{
		{"one sender", [2]int{3, 2}, [2]int{1, 2}, 1, 10, 5},
		{"of any tag", [2]int{3, 2}, [2]int{1, 2}, shmabi.RankAny, 10, 5},
		{"both have one", [2]int{2, 3}, [2]int{1, 2}, 1, 10, 3},
		{"more than are received", [2]int{4, 2}, [2]int{1, 2}, 1, 10, 3},
		{"another tag", [2]int{3, 2}, [2]int{1, 2}, 2, 10, 3},
		{"no room", [2]int{3, 2}, [2]int{1, 2}, 1, room + 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			for rank := range 3 {
				p := r.process(ringwriter.Identity{Rank: rank, Size: 3, World: "w"})
				p.Comm(worldOf(rank, 3))
				w := r.thread(p, 256)
				at := uint64(1000)
				if rank < 2 {
					for i := range c.sends[rank] {
						r.meant(w, "MPI_Send", at*uint64(i+1), at*uint64(i+1)+1, transfer(shmabi.SlotSent, 0, 2, 1, 1, c.bytes-uint64(rank)))
					}
				} else {
					at = 10_000
					receive := func(from, tag int32, bytes uint64) {
						r.meant(w, "MPI_Irecv", at, at+1, transfer(shmabi.SlotReceived, at, from, tag, 1, room))
						r.meant(w, "MPI_Wait", at+2, at+3, completed(shmabi.Request{Request: at, Bytes: bytes, Source: from, Tag: tag}))
						at += 10
					}
					for from, n := range c.normal {
						for range n {
							receive(int32(from), 1, c.bytes-uint64(from))
						}
					}
					for range unrecorded {
						receive(shmabi.RankAny, c.tag, shmabi.BytesUnknown)
					}
				}
				p.Finalize()
			}
			result := r.finish(byDuration)
			if got := len(result.Run.Messages); got != c.want {
				t.Errorf("%d messages, want %d: %+v", got, c.want, result.Manifest.Messages.Unmatched)
			}
			for _, m := range result.Run.Messages {
				if uint64(m.Bytes) != c.bytes-uint64(m.From) || m.To != 2 {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

// A thread whose ring cannot be opened may have received anything: its rank's messages have no lines, the others' do.
func TestMessagesBesideDamagedRing(t *testing.T) {
	r := newRig(t)
	for rank := range 3 {
		p := r.process(ringwriter.Identity{Rank: rank, Size: 3, World: "w"})
		p.Comm(worldOf(rank, 3))
		w := r.thread(p, 64)
		if rank == 2 {
			path := filepath.Join(r.dir, fmt.Sprintf("%016x.1.ring", p.ID()))
			if err := os.WriteFile(path, make([]byte, shmabi.HeaderBytes+64*shmabi.SlotBytes), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		next, before := int32((rank+1)%3), int32((rank+2)%3)
		r.meant(w, "MPI_Send", 10, 11, transfer(shmabi.SlotSent, 0, next, 1, 1, 8))
		r.meant(w, "MPI_Recv", 20, 21, transfer(shmabi.SlotReceived, 0, before, 1, 1, 8))
		p.Finalize()
	}
	result := r.finish(byDuration)
	if m := result.Run.Messages; len(m) != 1 || m[0].From != 0 || m[0].To != 1 {
		t.Errorf("%+v", m)
	}
	if d := cmp.Diff([]rundir.Unmatched{{Why: "records are missing", Sends: 2, Receives: 2}}, result.Manifest.Messages.Unmatched); d != "" {
		t.Error(d)
	}
}

// Ranks whose rings were too small: no line is wrong, and all that has none is counted.
func TestMessagesAfterDrops(t *testing.T) {
	const messages = 1000
	r := newRig(t)
	for rank := range 2 {
		p := r.process(ringwriter.Identity{Rank: rank, Size: 2, World: "w"})
		p.Comm(worldOf(rank, 2))
		w := r.thread(p, 4096)
		kind, call := uint32(shmabi.SlotSent), "MPI_Send"
		if rank == 1 {
			kind, call = shmabi.SlotReceived, "MPI_Recv"
		}
		for i := range uint64(messages) {
			if rank == 1 && i >= 400 && i < 450 {
				w.EnterMeaning(named(t, call), 0, 0, ringwriter.Meaning{})
				w.Drop()
				continue
			}
			// All messages look alike but for their times.
			r.meant(w, call, 100*i+10*uint64(rank), 100*i+10*uint64(rank)+5, transfer(kind, 0, int32(1-rank), 3, 1, 8))
		}
		r.meant(w, "MPI_Finalize", 100*messages, 100*messages+1, ringwriter.Meaning{})
		p.Finalize()
	}
	result := r.finish(byDuration)
	if n := len(result.Run.Messages); n != messages-50 {
		t.Errorf("%d messages", n)
	}
	for _, m := range result.Run.Messages {
		if m.RecvNS-m.SendNS != 10_000 {
			t.Fatalf("a wrong line: %+v", m)
		}
	}
	if d := cmp.Diff([]rundir.Unmatched{{Why: "records are missing", Sends: 50}}, result.Manifest.Messages.Unmatched); d != "" {
		t.Error(d)
	}
}

// Threads that leave much in their rings when MPI ends, more than can be held back of one until the other is read:
// their requests, which go by the same handle in turn, are followed all the same.
func TestBacklogOfThreads(t *testing.T) {
	const rounds, threads = 30_000, 2
	r := idleNode(t, startCollector(t, "127.0.0.1:0"), nil)
	p := r.process(ringwriter.Identity{Size: 1, World: "w"})
	p.Comm(worldOf(0, 1))
	for thread := range uint64(threads) {
		w := r.thread(p, 1<<18)
		for i := range uint64(rounds) {
			at := 10 * (threads*i + thread)
			r.meant(w, "MPI_Isend", at, at+2, transfer(shmabi.SlotSent, 0x500, 0, int32(thread), 1, 8))
			r.meant(w, "MPI_Wait", at+4, at+6, completed(shmabi.Request{Request: 0x500}))
		}
	}
	p.Finalize()
	p.Exit()
	r.start() // an agent that met the first ring without the second would have to give up what they share
	m := r.finish(byDuration).Manifest
	if m.Messages.Requests != (rundir.Requests{}) || m.Messages.Unmatched[0].Sends != threads*rounds {
		t.Errorf("%+v", m.Messages)
	}
}
