package message

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// An exchange is one message that a process sends or receives, as MPI would have it.
type exchange struct {
	receive        bool
	peer, tag      int32 // of a receive, once it has a message
	asked, wanted  int32 // peer and tag of a receive, or any
	row            uint64
	handle         uint64
	matched, ended bool
	gone           bool // cancelled
}

func (e *exchange) fits(peer, tag int32) bool {
	return e.receive && !e.matched && !e.gone && fits(e.asked, peer) && fits(e.wanted, tag)
}

// TestOrdinalsAreThoseOfMPI plays a process whose messages come in any order and end in any order: the first receive
// that was posted takes what fits it. Each that ends has the ordinal that its place among the others of its lane gives,
// as far as it is reported, and all have one where no more wait than may.
func TestOrdinalsAreThoseOfMPI(t *testing.T) {
	reported := 0
	property := func(t *rapid.T) {
		type key struct {
			receive   bool
			peer, tag int32
		}
		ordinals := make(map[uint64]uint64) // by row
		m := New(moves(func(_ *Thread, x *Move) {
			if x.Epoch != 0 {
				t.Fatalf("epoch %d", x.Epoch)
			}
			ordinals[x.Row] = x.Ordinal
		}))
		m.Define(1, 3)
		th := m.Thread(1)
		var all []*exchange
		now, row := uint64(0), uint64(0)
		call := func(id mpicall.ID, r ring.Record) {
			r.Call, r.Enter, r.Exit = id, now, now+5
			now += 10
			th.Add(row, &r, false)
			row++
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			peer, tag := int32(rapid.IntRange(0, 1).Draw(t, "peer")), int32(rapid.IntRange(0, 1).Draw(t, "tag"))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				e := &exchange{peer: peer, tag: tag, row: row, handle: row + 1, matched: true}
				all = append(all, e)
				call(mpicall.Isend, ring.Record{Transfers: []ring.Transfer{{Kind: ring.Sent, Bytes: 8, Request: e.handle, Peer: peer, Tag: tag, Comm: 1}}})
			case 1:
				e := &exchange{receive: true, asked: peer, wanted: tag, row: row, handle: row + 1}
				if rapid.IntRange(0, 2).Draw(t, "anybody") == 0 {
					e.asked = ring.Any
				}
				if rapid.IntRange(0, 2).Draw(t, "any tag") == 0 {
					e.wanted = ring.Any
				}
				all = append(all, e)
				call(mpicall.Irecv, ring.Record{Transfers: []ring.Transfer{{Kind: ring.Received, Bytes: 8, Request: e.handle, Peer: e.asked, Tag: e.wanted, Comm: 1}}})
			case 2: // a message arrives
				for _, e := range all {
					if e.fits(peer, tag) {
						e.matched, e.peer, e.tag = true, peer, tag
						break
					}
				}
			default:
				var ready []*exchange
				for _, e := range all {
					if !e.ended && !e.gone {
						ready = append(ready, e)
					}
				}
				if len(ready) == 0 {
					continue
				}
				e := rapid.SampledFrom(ready).Draw(t, "ends")
				q := ring.Request{Event: ring.Completed, Handle: e.handle, Source: e.peer, Tag: e.tag, Bytes: 8}
				if !e.matched {
					if rapid.IntRange(0, 3).Draw(t, "cancel") > 0 {
						continue
					}
					q.Event, e.gone = ring.Cancelled, true
				} else {
					e.ended = true
				}
				call(mpicall.Wait, ring.Record{Requests: []ring.Request{q}})
			}
		}
		// All ends that can: what is left has nothing to receive.
		for _, e := range all {
			if !e.ended && !e.gone {
				q := ring.Request{Event: ring.Completed, Handle: e.handle, Source: e.peer, Tag: e.tag, Bytes: 8}
				if !e.matched {
					q.Event, e.gone = ring.Cancelled, true
				}
				e.ended = e.matched
				call(mpicall.Wait, ring.Record{Requests: []ring.Request{q}})
			}
		}
		m.End()
		next := make(map[key]uint64)
		for _, e := range all {
			if e.gone {
				continue
			}
			k := key{e.receive, e.peer, e.tag}
			next[k]++
			if ordinals[e.row] != next[k] {
				t.Fatalf("row %d, %+v: ordinal %d, want %d", e.row, *e, ordinals[e.row], next[k])
			}
			reported++
		}
		if s := m.Stats(); s.Unordered != 0 || s.Void || live(m) != 0 || len(m.order.waiting) != 0 {
			t.Fatalf("%+v, %d live", s, live(m))
		}
	}
	// Chance may draw as few as a short test takes with nothing to report.
	for try := 0; reported == 0 && try < 100; try++ {
		rapid.Check(t, property)
	}
	if reported == 0 {
		t.Error("nothing was reported")
	}
}

// Receives beyond the limit of those that may wait for one from any source have no ordinal; later ones count on.
func TestOrdinalsGivenUp(t *testing.T) {
	var ordinals []uint64
	m := New(moves(func(_ *Thread, x *Move) { ordinals = append(ordinals, x.Ordinal) }))
	m.Define(1, 4)
	th := m.Thread(1)
	receive := func(row, handle uint64, peer int32) {
		th.Add(row, &ring.Record{Enter: 10 * row, Exit: 10*row + 5, Call: mpicall.Irecv, Transfers: []ring.Transfer{
			{Kind: ring.Received, Request: handle, Peer: peer, Tag: 1, Comm: 1}}}, false)
	}
	end := func(row, handle uint64) {
		th.Add(row, &ring.Record{Enter: 10 * row, Exit: 10*row + 5, Call: mpicall.Wait, Requests: []ring.Request{
			{Event: ring.Completed, Handle: handle, Source: 2, Tag: 1}}}, false)
	}
	receive(0, 1, ring.Any)
	row := uint64(1)
	for range maxWaiting + 1 {
		receive(row, 2, 2)
		end(row+1, 2)
		row += 2
	}
	end(row, 1)
	receive(row+1, 2, 2)
	end(row+2, 2)
	m.End()
	if got := m.Stats(); got.Unordered != maxWaiting+2 || got.Void {
		t.Errorf("%+v", got)
	}
	if n := len(ordinals); ordinals[n-1] != maxWaiting+3 || slices.Max(ordinals[:maxWaiting+1]) != 0 {
		t.Errorf("the last has ordinal %d, of those given up one %d", ordinals[n-1], slices.Max(ordinals[:maxWaiting+1]))
	}
}

// Sends of several threads whose calls overlap have no order, those after them have.
func TestOrdinalsOfThreads(t *testing.T) {
	ordinals := make(map[[2]uint64]uint64)
	m := New(moves(func(t *Thread, x *Move) { ordinals[[2]uint64{t.ring, x.Row}] = x.Ordinal }))
	m.Define(1, 4)
	m.Expect(2)
	a, b := m.Thread(1), m.Thread(2)
	send := func(t *Thread, row, enter, exit uint64) {
		t.Add(row, &ring.Record{Enter: enter, Exit: exit, Call: mpicall.Send, Transfers: []ring.Transfer{{Kind: ring.Sent, Peer: 1, Tag: 1, Comm: 1}}}, false)
	}
	send(a, 0, 10, 20)
	send(a, 1, 30, 50)
	send(a, 2, 70, 80)
	send(b, 0, 22, 28)
	send(b, 1, 40, 60)
	a.End(3, false)
	b.End(2, false)
	m.End()
	want := map[[2]uint64]uint64{{1, 0}: 1, {2, 0}: 2, {1, 1}: 0, {2, 1}: 0, {1, 2}: 5}
	for k, n := range want {
		if ordinals[k] != n {
			t.Errorf("ring %d, row %d: %d, want %d", k[0], k[1], ordinals[k], n)
		}
	}
	if s := m.Stats(); s.Unordered != 2 || s.Void {
		t.Errorf("%+v", s)
	}
}

// moved takes moves alone.
type moves func(*Thread, *Move)

func (f moves) Moved(t *Thread, m *Move) { f(t, m) }
func (moves) Gap(*Thread, uint64, bool)  {}

// live is how many postings are not sent off.
func live(m *Matcher) (n int) {
	for _, s := range m.order.streams {
		n += len(s.live)
	}
	return n
}
