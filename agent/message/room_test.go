package message

import (
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// Where there is no room for some requests, every reported completion is correct, every operation is reported, and no
// end is taken for one whose start was not seen.
func TestCrowdedMatchesNothingWrong(t *testing.T) {
	completed, unfollowed := 0, uint64(0)
	property := func(t *rapid.T) {
		p := random(t)
		truth, shared := make(map[sent]bool), make(map[int32]bool)
		for _, x := range p.tasks {
			shared[x.resolved.Tag] = x.shared
		}
		for _, o := range p.want {
			truth[o] = true
		}
		room := &Room{limit: rapid.IntRange(0, 6).Draw(t, "room")}
		var got sink
		m := feedInto(t, p, make([]bool, len(p.threads)), room, &got)
		for _, o := range got.all {
			if o.DoneRing == 0 {
				continue
			}
			if completed++; !truth[o] && (o.Kind == wasMet || !shared[o.Tag]) {
				t.Fatalf("%+v was not so", o)
			}
		}
		s := m.Stats()
		if unfollowed += s.Unfollowed; s.EndsUnknown+s.Lost+s.Late != 0 || room.taken != 0 || len(m.unfollowed) != 0 {
			t.Fatalf("%+v; %d in the room, %d not followed", s, room.taken, len(m.unfollowed))
		}
	}
	// Chance may draw as few as a short test takes without one or the other.
	for try := 0; (completed == 0 || unfollowed == 0) && try < 100; try++ {
		rapid.Check(t, property)
	}
	if completed == 0 || unfollowed == 0 {
		t.Errorf("nothing was tested: %d completed, %d not followed", completed, unfollowed)
	}
}

// A storm of receives for which there is no room takes nothing from other messages: those that were followed before it,
// and those after it, are reported whole. Two processes share the room.
func TestStorm(t *testing.T) {
	const storm = 1000
	room := &Room{limit: 10}
	var s sink
	m, th := one(&s)
	m.Share(room)
	other := New(&s)
	other.Share(room)
	other.Define(1, 4)
	second := other.Thread(2)
	row := uint64(0)
	add := func(r *ring.Record) {
		th.Add(row, r, false)
		row++
	}
	for i := range uint64(10) {
		add(isend(100*i, 1+i, 1))
	}
	second.Add(0, isend(5, 1, 1), false) // has the room full
	for i := range uint64(storm) {
		add(isend(2000+10*i, 100+i, 2))
	}
	var ends []ring.Request
	for i := range uint64(storm) {
		ends = append(ends, ring.Request{Event: ring.Completed, Handle: 100 + i})
	}
	add(wait(50_000, ends...))
	for i := range uint64(10) {
		add(wait(60_000+10*i, ring.Request{Event: ring.Completed, Handle: 1 + i}))
	}
	add(isend(70_000, 100, 3)) // a handle of the storm again
	add(wait(70_100, ring.Request{Event: ring.Completed, Handle: 100}))
	m.End()
	other.End()
	if got := m.Stats(); got != (Stats{Transfers: storm + 11, Unfollowed: storm}) {
		t.Errorf("%+v", got)
	}
	if got := other.Stats(); got != (Stats{Transfers: 1, Unfollowed: 1}) {
		t.Errorf("the other process: %+v", got)
	}
	done := map[int32]int{}
	for _, o := range s.all {
		if o.DoneRing != 0 {
			done[o.Tag]++
		}
	}
	if done[1] != 10 || done[2] != 0 || done[3] != 1 || room.taken != 0 || len(s.inside) != 0 {
		t.Errorf("completed by tag: %v; %d in the room, gaps %v", done, room.taken, s.inside)
	}
}

// A persistent request for which there is no room has its handle until it is freed.
func TestPersistentUnfollowed(t *testing.T) {
	var s sink
	m, th := one(&s)
	m.Share(&Room{limit: 0})
	made := func(at uint64) *ring.Record {
		r := isend(at, 5, 1)
		r.Call = mpicall.SendInit
		return r
	}
	th.Add(0, made(10), false)
	th.Add(1, &ring.Record{Enter: 20, Exit: 21, Call: mpicall.Start, Requests: []ring.Request{{Event: ring.Started, Handle: 5}}}, false)
	th.Add(2, wait(30, ring.Request{Event: ring.Completed, Handle: 5}), false)
	m.room.limit = 1
	th.Add(3, isend(40, 5, 2), false) // cannot be, while the other is not freed
	th.Add(4, wait(50, ring.Request{Event: ring.Completed, Handle: 5}), false)
	th.Add(5, wait(60, ring.Request{Event: ring.Freed, Handle: 5}), false)
	th.Add(6, isend(70, 5, 3), false)
	th.Add(7, wait(80, ring.Request{Event: ring.Completed, Handle: 5}), false)
	expect(t, &s, m, Stats{StartsUnknown: 1, Unfollowed: 2},
		sent{Kind: wasSent, Ring: 1, Row: 3, Peer: 1, Tag: 2, Comm: 1, Bytes: 8},
		sent{Kind: wasSent, Ring: 1, Row: 6, Peer: 1, Tag: 3, Comm: 1, Bytes: 8, DoneRing: 1, Done: 7})
}

// A request takes no more memory than requestBytes says.
func TestRequestBytes(t *testing.T) {
	const n = 200_000
	m := New(none{})
	m.Share(&Room{limit: n})
	m.Define(1, 4)
	th := m.Thread(1)
	live := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := live()
	for i := range uint64(n) {
		th.Add(i, isend(10*i, i+1, 1), false)
	}
	each := float64(live()-before) / n
	t.Logf("%.0f bytes a request", each)
	if each > requestBytes {
		t.Errorf("a request takes %.0f bytes", each)
	}
	runtime.KeepAlive(m)
}

// A thread that has ended, and without anything that waits, takes no room any more, and later threads do not wait for
// it.
func TestEndedThreadsTakeNoRoom(t *testing.T) {
	m := New(none{})
	for id := range uint64(3) {
		m.Thread(id).End(0, false)
	}
	m.Thread(3)
	if m.Advance(); len(m.threads) != 1 || m.threads[0].ended {
		t.Errorf("%d threads are left, one has not ended", len(m.threads))
	}
}
