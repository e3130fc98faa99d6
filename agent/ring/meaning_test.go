package ring_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/agent/ring"
	"moriens/cshim/ringwriter"
	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// writeMeanings writes a record with a slot of each kind that says what a call means, and a mark.
func writeMeanings(w *ringwriter.Ring) (written bool) {
	written = w.Enter(mpicall.Sendrecv, 1, 10, 7, 8) &&
		ringwriter.Add(w, shmabi.Transfer{Kind: shmabi.SlotSent, Bytes: 80, Request: 0xfff0, Peer: 3, Tag: 5, Comm: 1}) &&
		ringwriter.Add(w, shmabi.Transfer{Kind: shmabi.SlotRead, Bytes: 16, Peer: shmabi.RankAny, Tag: shmabi.RankAny, Comm: 2}) &&
		ringwriter.Add(w, shmabi.Collective{Kind: shmabi.SlotCollective, Sent: 4, Received: 8, Ordinal: 9, Root: shmabi.RankRoot, Comm: 1}) &&
		ringwriter.Add(w, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: 0xfff0, Bytes: 80, Source: 3, Tag: 5}) &&
		ringwriter.Add(w, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestFreed, Request: 0xffe0})
	w.Exit(20)
	w.Mark(shmabi.MarkEvent, 2, 30, -1<<63)
	return written
}

func meanings() []ring.Record {
	return []ring.Record{
		{
			Enter: 10, Exit: 20, Call: mpicall.Sendrecv, Path: 1, Counts: []int64{7, 8},
			Transfers: []ring.Transfer{
				{Kind: ring.Sent, Bytes: 80, Request: 0xfff0, Peer: 3, Tag: 5, Comm: 1},
				{Kind: ring.Read, Bytes: 16, Peer: ring.Any, Tag: ring.Any, Comm: 2},
			},
			Collective: ring.Collective{Sent: 4, Received: 8, Ordinal: 9, Root: ring.Root, Comm: 1}, IsCollective: true,
			Requests: []ring.Request{
				{Event: ring.Completed, Handle: 0xfff0, Bytes: 80, Source: 3, Tag: 5},
				{Event: ring.Freed, Handle: 0xffe0},
			},
		},
		{Enter: 30, Exit: 30, Mark: ring.Event, Name: 2, Value: -1 << 63},
	}
}

// What calls mean is read as it was written, across the ring's end too.
func TestMeanings(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{Events: "a,b"})
	defer p.Exit()
	w, r := thread(t, p, dir, 8)
	for range 5 {
		if !writeMeanings(w) {
			t.Fatal("no room")
		}
		if d := cmp.Diff(meanings(), readAll(t, r), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	}
}

// A slot for which there is no room is refused, and the record can be dropped whole.
func TestMeaningsFindNoRoom(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 4)
	w.Enter(mpicall.Waitall, 1, 1)
	for i := range 4 {
		if added := ringwriter.Add(w, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted}); added != (i < 3) {
			t.Fatalf("slot %d: added %v", i+1, added)
		}
	}
	w.Drop()
	w.Call(mpicall.Send, 1, 2, 3)
	want := []ring.Record{{Enter: 2, Exit: 3, Call: mpicall.Send, Path: 1, Lost: true}}
	if d := cmp.Diff(want, readAll(t, r), cmpopts.EquateEmpty()); d != "" || r.Dropped() != 1 {
		t.Errorf("%d dropped\n%s", r.Dropped(), d)
	}
}

// logEntry is an entry of the log: its header with the bytes of the whole filled in, the rest of the fixed part, what
// follows, and padding.
func logEntry(kind, length uint16, parts ...any) []byte {
	var body bytes.Buffer
	for _, part := range append([]any{shmabi.LogEntry{Kind: kind, Length: length}}, parts...) {
		if err := binary.Write(&body, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	for body.Len()%8 != 0 {
		body.WriteByte(0)
	}
	entry := body.Bytes()
	binary.LittleEndian.PutUint32(entry, uint32(len(entry)))
	return entry
}

// commEntry defines a window over two groups of ranks, five of this world and one of another.
func commEntry() []byte {
	return logEntry(shmabi.LogCommKind, 2, uint32(3), uint32(shmabi.CommWindow), uint64(0xabc), int32(1), uint32(6), uint32(6), uint32(0),
		shmabi.LogRanks{First: 0, Stride: 2, Count: 5}, shmabi.LogRanks{First: -1, Count: 1})
}

func TestCommsAndNames(t *testing.T) {
	w, p := opened(t, ringwriter.Identity{})
	defer w.Exit()
	if !w.Log(commEntry()) || w.Name("phase") == 0 {
		t.Fatal("no room")
	}
	log, err := p.ReadLog()
	want := ring.Log{
		Comms: []ring.Comm{{Number: 3, ID: 0xabc, Rank: 1, Size: 6, Peers: 6, Window: true, Ranks: []ring.Ranks{{First: 0, Stride: 2, Count: 5}, {First: -1, Count: 1}}}},
		Names: []ring.Name{{Number: 1, Text: "phase"}},
	}
	if d := cmp.Diff(want, log); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// The record of how worlds were connected is read with its text; one that makes no sense makes the log corrupt.
func TestOrigins(t *testing.T) {
	comm := ringwriter.Comm{Number: 2, ID: 7, Flags: shmabi.CommInter, Size: 1, Peers: 3, Ranks: []ringwriter.Ranks{{First: -1, Count: 3}}}
	for _, c := range []struct {
		name   string
		origin shmabi.LogOrigin
		text   string
		want   *ring.Origin // nil: corrupt
	}{
		{"spawned", shmabi.LogOrigin{How: shmabi.OriginSpawned, Began: 5, Ended: 9}, "7.0", &ring.Origin{How: ring.Spawned, Began: 5, Ended: 9, Text: "7.0"}},
		{"derived", shmabi.LogOrigin{How: shmabi.OriginDerived, Parent: 1, Key: 1 << 60}, "", &ring.Origin{How: ring.Derived, Parent: 1, Key: 1 << 60}},
		{"a text that is none", shmabi.LogOrigin{How: shmabi.OriginJoined}, "a\xff", &ring.Origin{How: ring.Joined, Text: "a\uFFFD"}},
		{"no way", shmabi.LogOrigin{}, "", nil},
		{"another way", shmabi.LogOrigin{How: shmabi.OriginJoined + 1}, "", nil},
		{"of itself", shmabi.LogOrigin{How: shmabi.OriginDerived, Parent: 2}, "", nil},
		{"ended before it began", shmabi.LogOrigin{How: shmabi.OriginAccepted, Began: 9, Ended: 5}, "", nil},
		{"of another and at a port", shmabi.LogOrigin{How: shmabi.OriginAccepted, Parent: 1}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := opened(t, ringwriter.Identity{})
			defer w.Exit()
			comm.Origin, comm.OriginText = &c.origin, c.text
			if !w.Comm(comm) {
				t.Fatal("no room")
			}
			log, err := p.ReadLog()
			if c.want == nil {
				if !errors.Is(err, ring.ErrCorrupt) || len(log.Comms) != 0 {
					t.Errorf("%v, %+v", err, log)
				}
				return
			}
			if err != nil || len(log.Comms) != 1 {
				t.Fatal(err, log)
			}
			if d := cmp.Diff(c.want, log.Comms[0].Origin); d != "" || len(log.Comms[0].Ranks) != 1 {
				t.Errorf("%+v\n%s", log.Comms[0], d)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		w, p := opened(t, ringwriter.Identity{})
		defer w.Exit()
		// It says that an origin follows, and none does.
		if !w.Log(logEntry(shmabi.LogCommKind, 0, uint32(1), uint32(shmabi.CommMet), uint64(1), int32(0), uint32(1), uint32(0), uint32(0))) {
			t.Fatal("no room")
		}
		if _, err := p.ReadLog(); !errors.Is(err, ring.ErrCorrupt) {
			t.Error(err)
		}
	})
}

// A Record gives back the memory of a call with many requests, and keeps that of one with few.
func TestManyRequests(t *testing.T) {
	p, dir := process(t, ringwriter.Identity{})
	defer p.Exit()
	w, r := thread(t, p, dir, 2048)
	records := make([]ring.Record, 1)
	for _, c := range []struct{ requests, kept int }{{1000, 0}, {3, 3}, {2, 3}, {1000, 0}} {
		w.Enter(mpicall.Waitall, 1, 1)
		for i := range c.requests {
			if !ringwriter.Add(w, shmabi.Request{Kind: shmabi.SlotRequest, Event: shmabi.RequestCompleted, Request: uint64(i)}) {
				t.Fatal("no room")
			}
		}
		w.Exit(2)
		if n, err := r.Read(records); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		r.Release()
		if got := records[0].Requests; len(got) != c.requests || cap(got) > c.requests+c.requests/4+1 || got[c.requests-1].Handle != uint64(c.requests-1) {
			t.Errorf("%d requests, with room for %d, want %d", len(got), cap(got), c.requests)
		}
		records[0].Clear()
		if got := cap(records[0].Requests); got < c.kept || got > 8 {
			t.Errorf("after %d requests room for %d is kept", c.requests, got)
		}
	}
}
