package message

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// lose drops some records of a program and returns the row that each of the others has now, by ring and row of before,
// and the rows before which some are missing.
func lose(t *rapid.T, p *program) (rows map[[2]uint64]uint64, gaps map[uint64][]uint64, trailing []bool) {
	rows, gaps = make(map[[2]uint64]uint64), make(map[uint64][]uint64)
	for _, th := range p.threads {
		var kept []ring.Record
		lost := false
		for row, r := range th.records {
			if rapid.IntRange(0, 9).Draw(t, "lose") == 0 {
				lost = true
				continue
			}
			if r.Lost = lost; lost {
				gaps[th.ring] = append(gaps[th.ring], uint64(len(kept)))
			}
			lost = false
			rows[[2]uint64{th.ring, uint64(row)}] = uint64(len(kept))
			kept = append(kept, r)
		}
		th.records = kept
		if trailing = append(trailing, lost); lost {
			gaps[th.ring] = append(gaps[th.ring], uint64(len(kept)))
		}
	}
	return rows, gaps, trailing
}

// TestLossMatchesNothingWrong drops records: every reported completion is correct, and every gap is reported.
func TestLossMatchesNothingWrong(t *testing.T) {
	completed, lost := 0, uint64(0)
	property := func(t *rapid.T) {
		p := random(t)
		rows, gaps, trailing := lose(t, p)
		truth := make(map[sent]bool)
		shared := make(map[int32]bool) // tags: which of those sends a call completed is not known
		for _, x := range p.tasks {
			shared[x.resolved.Tag] = x.shared
		}
		for _, o := range p.want {
			row, kept := rows[[2]uint64{o.Ring, o.Row}]
			done, seen := rows[[2]uint64{o.DoneRing, o.Done}]
			if o.Row = row; kept && seen {
				o.Done = done
				truth[o] = true
			}
		}
		var got sink
		m := feed(t, p, trailing, &got)
		for _, o := range got.all {
			if o.DoneRing == 0 {
				continue
			}
			if completed++; !truth[o] && (o.Kind == wasMet || !shared[o.Tag]) {
				t.Fatalf("%+v was not so", o)
			}
		}
		for ring, rows := range got.before {
			if slices.Sort(rows); len(rows) == 0 {
				delete(got.before, ring)
			}
		}
		if d := cmp.Diff(gaps, got.before); d != "" && len(gaps)+len(got.before) > 0 {
			t.Fatalf("gaps differ (-want +got):\n%s", d)
		}
		lost += m.Stats().Lost
	}
	// Chance may draw as few as a short test takes without one or the other.
	for try := 0; (completed == 0 || lost == 0) && try < 100; try++ {
		rapid.Check(t, property)
	}
	if completed == 0 || lost == 0 {
		t.Errorf("nothing was tested: %d completed, %d lost", completed, lost)
	}
}

// one returns a Matcher of one thread.
func one(to *sink) (*Matcher, *Thread) {
	m := New(to)
	m.Define(1, 4)
	return m, m.Thread(1)
}

func isend(at, handle uint64, tag int32) *ring.Record {
	return &ring.Record{Enter: at, Exit: at + 5, Call: mpicall.Isend, Transfers: []ring.Transfer{
		{Kind: ring.Sent, Bytes: 8, Request: handle, Peer: 1, Tag: tag, Comm: 1},
	}}
}

func wait(at uint64, requests ...ring.Request) *ring.Record {
	return &ring.Record{Enter: at, Exit: at + 5, Call: mpicall.Waitall, Requests: requests}
}

const (
	wasSent     = moriensv1.Transfers_KIND_SENT
	wasReceived = moriensv1.Transfers_KIND_RECEIVED
	wasMet      = moriensv1.Transfers_KIND_COLLECTIVE
)

func expect(t *testing.T, s *sink, m *Matcher, stats Stats, want ...sent) {
	t.Helper()
	m.End()
	if d := cmp.Diff(want, s.sorted()); d != "" {
		t.Errorf("operations differ (-want +got):\n%s", d)
	}
	stats.Transfers = uint64(len(want)) - stats.Collectives
	if d := cmp.Diff(stats, m.Stats()); d != "" {
		t.Errorf("stats differ (-want +got):\n%s", d)
	}
}

// A pause in which a request may have ended and its handle have been given to another.
func TestPause(t *testing.T) {
	var s sink
	m, th := one(&s)
	th.Add(0, isend(10, 5, 1), false)
	paused := wait(100, ring.Request{Event: ring.Completed, Handle: 5})
	paused.Paused = true
	th.Add(1, paused, false)
	th.Add(2, isend(200, 5, 2), false)
	th.Add(3, wait(300, ring.Request{Event: ring.Completed, Handle: 5, Bytes: 1 << 63, Source: -77, Tag: -9}), false) // a send's status
	th.End(4, true)
	expect(t, &s, m, Stats{Lost: 1, EndsUnknown: 1},
		sent{Kind: wasSent, Ring: 1, Row: 0, Peer: 1, Tag: 1, Comm: 1, Bytes: 8},
		sent{Kind: wasSent, Ring: 1, Row: 2, Peer: 1, Tag: 2, Comm: 1, Bytes: 8, DoneRing: 1, Done: 3})
	if d := cmp.Diff(map[uint64][]uint64{1: {1, 4}}, s.before); d != "" {
		t.Error(d)
	}
}

// MPI_Isendrecv is one request of two transfers; PROC_NULL is no peer; a receive that was never seen to be made is
// counted.
func TestTwoOfOneRequest(t *testing.T) {
	var s sink
	m, th := one(&s)
	th.Add(0, &ring.Record{Enter: 10, Exit: 20, Call: mpicall.Isend, Transfers: []ring.Transfer{
		{Kind: ring.Sent, Bytes: 8, Request: 5, Peer: 1, Tag: 1, Comm: 1},
		{Kind: ring.Received, Bytes: 800, Request: 5, Peer: ring.Any, Tag: ring.Any, Comm: 1},
	}}, false)
	th.Add(1, &ring.Record{Enter: 30, Exit: 40, Call: mpicall.Irecv, Transfers: []ring.Transfer{
		{Kind: ring.Received, Bytes: 800, Request: 6, Peer: ring.ProcNull, Tag: 1, Comm: 1},
	}}, false)
	th.Add(2, wait(50, ring.Request{Event: ring.Completed, Handle: 6, Source: ring.ProcNull, Tag: ring.Any},
		ring.Request{Event: ring.Completed, Handle: 7, Source: 1}, ring.Request{Event: ring.Completed, Handle: 5, Source: 2, Tag: 9, Bytes: 16}), false)
	expect(t, &s, m, Stats{EndsUnknown: 1},
		sent{Kind: wasSent, Ring: 1, Peer: 1, Tag: 1, Comm: 1, Bytes: 8, DoneRing: 1, Done: 2},
		sent{Kind: wasReceived, Ring: 1, Peer: 2, Tag: 9, Comm: 1, Bytes: 16, DoneRing: 1, Done: 2})
}

// A receive that ended with an error is reported as it was asked for, and without an end.
func TestFailedReceive(t *testing.T) {
	var s sink
	m, th := one(&s)
	th.Add(0, &ring.Record{Enter: 10, Exit: 20, Call: mpicall.Irecv, Transfers: []ring.Transfer{
		{Kind: ring.Received, Bytes: 8, Request: 5, Peer: 2, Tag: 3, Comm: 1},
	}}, false)
	th.Add(1, isend(30, 6, 1), false)
	failed := ring.Request{Event: ring.Completed, Source: ring.Any, Tag: ring.Any}
	receive, send := failed, failed
	receive.Handle, send.Handle = 5, 6
	th.Add(2, wait(50, receive, send), false)
	expect(t, &s, m, Stats{Unordered: 2},
		sent{Kind: wasReceived, Ring: 1, Peer: 2, Tag: 3, Comm: 1, Bytes: 8},
		sent{Kind: wasSent, Ring: 1, Row: 1, Peer: 1, Tag: 1, Comm: 1, Bytes: 8, DoneRing: 1, Done: 2})
}

// What matched probes took is received at once, or by a request, in the communicator and from the sender that the probe
// reported.
func TestMatchedProbes(t *testing.T) {
	var s sink
	m, th := one(&s)
	probe := func(at, message uint64, peer int32) *ring.Record {
		return &ring.Record{Enter: at, Exit: at + 5, Call: mpicall.Mprobe, Transfers: []ring.Transfer{
			{Kind: ring.Probed, Bytes: 32, Request: message, Peer: peer, Tag: 3, Comm: 1},
		}}
	}
	receive := func(at, message, request uint64) *ring.Record {
		return &ring.Record{Enter: at, Exit: at + 5, Call: mpicall.Mrecv,
			Requests:  []ring.Request{{Event: ring.Matched, Handle: message, Source: ring.Any, Tag: ring.Any}},
			Transfers: []ring.Transfer{{Kind: ring.Received, Bytes: 32, Request: request, Peer: ring.Any, Tag: ring.Any}}}
	}
	th.Add(0, probe(10, 90, 1), false)
	th.Add(1, probe(20, 91, 2), false)
	th.Add(2, receive(30, 91, 0), false)
	th.Add(3, receive(40, 90, 8), false)
	th.Add(4, probe(50, 92, 3), false)
	th.Add(5, wait(60, ring.Request{Event: ring.Completed, Handle: 8, Source: 1, Tag: 3, Bytes: 32}), false)
	th.Add(6, receive(70, 99, 0), false)
	expect(t, &s, m, Stats{EndsUnknown: 1, Open: 1, Unordered: 2},
		sent{Kind: wasReceived, Ring: 1, Row: 0, Peer: 1, Tag: 3, Comm: 1, Bytes: 32, DoneRing: 1, Done: 5},
		sent{Kind: wasReceived, Ring: 1, Row: 1, Peer: 2, Tag: 3, Comm: 1, Bytes: 32, DoneRing: 1, Done: 2},
		sent{Kind: wasReceived, Ring: 1, Row: 4, Peer: 3, Tag: 3, Comm: 1, Bytes: 32},
		sent{Kind: wasReceived, Ring: 1, Row: 6, Peer: -1, Tag: -1, Bytes: 32, DoneRing: 1, Done: 6})
}

// A persistent request that was started and never seen to be made moved something that nothing describes.
func TestUnknownStart(t *testing.T) {
	var s sink
	m, th := one(&s)
	th.Add(0, &ring.Record{Enter: 10, Exit: 20, Call: mpicall.Start, Requests: []ring.Request{{Event: ring.Started, Handle: 4}}}, false)
	expect(t, &s, m, Stats{StartsUnknown: 1})
	if d := cmp.Diff(map[uint64][]uint64{1: {0}}, s.inside); d != "" {
		t.Error(d)
	}
}

// What a process that has overwritten its ring says of communicators is not believed.
func TestUnknownCommunicator(t *testing.T) {
	var s sink
	m, th := one(&s)
	r := isend(10, 0, 1)
	r.Transfers = append(r.Transfers, ring.Transfer{Kind: ring.Received, Peer: 4, Tag: -7, Comm: 1})
	r.Transfers[0].Comm = 77
	th.Add(0, r, false)
	expect(t, &s, m, Stats{Unordered: 2},
		sent{Kind: wasReceived, Ring: 1, Peer: -1, Tag: -1, Comm: 1, DoneRing: 1},
		sent{Kind: wasSent, Ring: 1, Peer: 1, Tag: 1, Bytes: 8, DoneRing: 1})
}

// Ordinals of collectives continue above 32 bits.
func TestOrdinalsUnwrap(t *testing.T) {
	m := New(none{})
	m.Define(1, 4)
	var got []uint64
	for _, low := range []uint32{0, 1<<31 - 1, 1<<32 - 2, 1<<32 - 1, 0, 1} {
		_, _, ordinal := m.Collective(&ring.Collective{Ordinal: low, Comm: 1, Root: ring.Any})
		got = append(got, ordinal)
	}
	if d := cmp.Diff([]uint64{0, 1<<31 - 1, 1<<32 - 2, 1<<32 - 1, 1 << 32, 1<<32 + 1}, got); d != "" {
		t.Error(d)
	}
}

// While calls of one thread are known to be missing no request of another is taken for what it may not be any more.
func TestMissingElsewhere(t *testing.T) {
	var s sink
	m, th := one(&s)
	other := m.Thread(2)
	ended := func(at uint64) *ring.Record { return wait(at, ring.Request{Event: ring.Completed, Handle: 5}) }
	other.Add(0, wait(5), false)
	th.Add(0, isend(20, 5, 1), false)
	other.Read(50)
	other.Missing() // between 50 and 200
	th.Add(1, ended(60), false)
	th.Add(2, isend(70, 5, 2), false)
	th.Add(3, ended(90), false)
	lost := wait(200)
	lost.Lost = true
	other.Add(1, lost, false)
	th.Add(4, isend(210, 5, 3), false)
	th.Add(5, ended(230), false)
	th.End(6, false)
	other.End(2, false)
	expect(t, &s, m, Stats{Lost: 2, EndsUnknown: 2, Unordered: 1},
		sent{Kind: wasSent, Ring: 1, Row: 0, Peer: 1, Tag: 1, Comm: 1, Bytes: 8},
		sent{Kind: wasSent, Ring: 1, Row: 2, Peer: 1, Tag: 2, Comm: 1, Bytes: 8},
		sent{Kind: wasSent, Ring: 1, Row: 4, Peer: 1, Tag: 3, Comm: 1, Bytes: 8, DoneRing: 1, Done: 5})
	if d := cmp.Diff(map[uint64][]uint64{2: {1}}, s.before); d != "" {
		t.Error(d)
	}
}

// A mark is no row, but may say that records are missing before it.
func TestMark(t *testing.T) {
	var s sink
	m, th := one(&s)
	th.Add(0, isend(10, 5, 1), false)
	th.Add(1, &ring.Record{Enter: 50, Exit: 50, Mark: ring.Begin, Lost: true}, false)
	th.Add(1, wait(60, ring.Request{Event: ring.Completed, Handle: 5}), false)
	th.End(2, false)
	expect(t, &s, m, Stats{Lost: 1, EndsUnknown: 1}, sent{Kind: wasSent, Ring: 1, Row: 0, Peer: 1, Tag: 1, Comm: 1, Bytes: 8})
	if d := cmp.Diff(map[uint64][]uint64{1: {1}}, s.before); d != "" {
		t.Error(d)
	}
}

// A thread that is not read for long does not hold back the others without bound, and what it says then makes nothing
// wrong.
func TestHeldBackIsBounded(t *testing.T) {
	var s sink
	m, th := one(&s)
	m.Thread(2) // is never read
	for i := range uint64(maxHeld) {
		th.Add(2*i, isend(100*i+1000, 5, int32(i)), false)
		th.Add(2*i+1, wait(100*i+1050, ring.Request{Event: ring.Completed, Handle: 5}), false)
	}
	if m.held > maxHeld {
		t.Errorf("%d events are held", m.held)
	}
	late := m.Thread(3)
	late.Add(0, isend(100, 5, 0), false)
	late.End(1, false)
	for _, x := range m.threads {
		x.End(1, false)
	}
	m.End()
	if got := m.Stats(); got.Late != 1 || got.Transfers != maxHeld+1 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	m := New(none{})
	m.Define(1, 4)
	th := m.Thread(1)
	m.Simplify()
	records := []*ring.Record{isend(0, 5, 1), isend(0, 6, 1), wait(0, ring.Request{Event: ring.Completed, Handle: 5}, ring.Request{Event: ring.Completed, Handle: 6}),
		{Call: mpicall.Allreduce, IsCollective: true, Collective: ring.Collective{Comm: 1, Root: -1}}}
	b.ReportAllocs()
	for i := range b.N {
		r := records[i%len(records)]
		r.Enter, r.Exit = uint64(10*i), uint64(10*i+5)
		th.Add(uint64(i), r, false)
	}
}

// Nonblocking collectives, each completed by the next call: the simple way, and the general one.
func BenchmarkCollectives(b *testing.B) {
	for _, simply := range []bool{true, false} {
		b.Run(map[bool]string{true: "simple", false: "general"}[simply], func(b *testing.B) {
			m := New(none{})
			m.Define(1, 4)
			th := m.Thread(1)
			if simply {
				m.Simplify()
			}
			records := []*ring.Record{
				{
					Call: mpicall.Iallreduce, IsCollective: true, Collective: ring.Collective{Comm: 1, Root: -1, Sent: 8, Received: 8},
					Requests: []ring.Request{{Event: ring.Made, Handle: 5}},
				},
				wait(0, ring.Request{Event: ring.Completed, Handle: 5}),
			}
			b.ReportAllocs()
			for i := range b.N {
				r := records[i%len(records)]
				r.Enter, r.Exit = uint64(10*i), uint64(10*i+5)
				if r.IsCollective { // as the agent does
					r.Collective.Ordinal = uint32(i / 2)
					m.Collective(&r.Collective)
				}
				th.Add(uint64(i), r, false)
			}
		})
	}
}

// A thread is read before another one, which ends its requests, is known: as long as that one is expected, handles that
// are passed on are not taken for others.
func TestThreadThatIsKnownLater(t *testing.T) {
	var s sink
	m, poster := one(&s)
	m.Expect(2)
	for i := range uint64(3) {
		poster.Add(i, isend(100*i+10, 5, int32(i)), false)
	}
	m.Advance()
	waiter := m.Thread(2)
	for i := range uint64(3) {
		waiter.Add(i, wait(100*i+50, ring.Request{Event: ring.Completed, Handle: 5}), false)
	}
	poster.End(3, false)
	waiter.End(3, false)
	m.End()
	if got := m.Stats(); got.Transfers != 3 || got.Late != 0 || got.EndsUnknown != 0 || got.Open != 0 {
		t.Errorf("%+v", got)
	}
}

// Partitioned requests of one kind, communicator, peer and tag are numbered in the order of their making, on both sides
// the same.
func TestChannels(t *testing.T) {
	m := New(none{})
	sent, received := moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED
	for i, tt := range []struct {
		o    operation
		want int64
	}{
		{operation{kind: sent, comm: 1, peer: 2, tag: 3}, 0}, {operation{kind: sent, comm: 1, peer: 2, tag: 3}, 1}, {operation{kind: sent, comm: 1, peer: 2, tag: 3}, 2},
		{operation{kind: received, comm: 1, peer: 2, tag: 3}, 0}, {operation{kind: sent, comm: 2, peer: 2, tag: 3}, 0},
		{operation{kind: sent, comm: 1, peer: 0, tag: 3}, 0}, {operation{kind: sent, comm: 1, peer: 2, tag: 4}, 0}, {operation{kind: received, comm: 1, peer: 2, tag: 3}, 1},
	} {
		if got := m.channel(&tt.o); got != tt.want {
			t.Errorf("request %d has channel %d, want %d", i, got, tt.want)
		}
	}
}
