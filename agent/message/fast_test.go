package message

import (
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
)

// TestSimpleIsGeneral: what goes the simple way where it can comes to the same as what goes the general way, with the
// moves in the same order, also where the Matcher is taken down to its snapshot.
func TestSimpleIsGeneral(t *testing.T) {
	simply, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1000, 1000, 1000, 3}).Draw(t, "room")
		wild := rapid.IntRange(0, 3).Draw(t, "anything") == 3
		general, fast := follow(1, limit), follow(1, limit)
		now, open := uint64(0), make(map[uint64]ring.Transfer)
		calls := make(calls)
		for row := range uint64(rapid.IntRange(0, 120).Draw(t, "records")) {
			if rapid.Bool().Draw(t, "commit") {
				fast.m.Simplify()
			}
			r := tame(t, &now, open)
			if wild && rapid.IntRange(0, 9).Draw(t, "chaos") == 0 {
				r = chaos(t, &now)
				now = r.Exit // calls of one thread do not overlap
			}
			calls[rowOf{1, row}] = r
			same := r
			general.threads[0].Add(row, &same, false)
			same = r
			all++
			if fast.threads[0].Add(row, &same, false); fast.m.fast.on {
				simply++
			}
			if rapid.IntRange(0, 20).Draw(t, "cut") == 20 {
				fast.cut(t)
			}
		}
		for _, f := range []*follower{general, fast} {
			f.m.End()
			checkSums(t, f.m, f.got.all, calls)
		}
		sameSums(t, general.m, fast.m)
		g, f := general.m.Stats(), fast.m.Stats()
		g.Unordered, f.Unordered = 0, 0 // what never ends is given up in any order, some of it with a number and some without
		if g != f {
			t.Fatalf("stats: %+v, simply %+v", g, f)
		}
		if general.m.room.taken != 0 || fast.m.room.taken != 0 {
			t.Fatalf("%d and %d requests are left in the room", general.m.room.taken, fast.m.room.taken)
		}
		ended := func(f *follower) []placed { return f.got.ended() }
		if d := gocmp.Diff(ended(general), ended(fast), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("moves differ (-general +simple):\n%s", d)
		}
		less := cmpopts.SortSlices(func(a, b sent) bool { return general.order(a, b) })
		if d := gocmp.Diff(general.got.all, fast.got.all, less, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("operations differ (-general +simple):\n%s", d)
		}
		if d := gocmp.Diff(general.got.gaps(), fast.got.gaps(), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("gaps differ (-general +simple):\n%s", d)
		}
	})
	if simply < all/10 {
		t.Errorf("of %d records %d went the simple way: nothing was tested", all, simply)
	}
}

// tame is a record of a program that is simple, mostly, and of which some requests are open.
func tame(t *rapid.T, now *uint64, open map[uint64]ring.Transfer) ring.Record {
	number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	*now += uint64(number("gap", 3))
	r := ring.Record{Enter: *now, Exit: *now + uint64(number("ticks", 20)), Path: uint32(number("path", 2))}
	*now = r.Exit
	handle := uint64(1 + number("handle", 5))
	peer, tag := int32(number("peer", 4)), int32(number("tag", 2))
	if peer == 4 {
		peer = ring.ProcNull
	}
	x := ring.Transfer{Kind: rapid.SampledFrom([]ring.TransferKind{ring.Sent, ring.Received}).Draw(t, "kind"), Bytes: uint64(number("bytes", 9)), Peer: peer, Tag: tag, Comm: 1}
	switch number("what", 6) {
	case 0:
		r.Call, x.Request = mpicall.Isend, handle
		if _, is := open[handle]; is && number("twice", 59) > 0 {
			x.Request = 0
		} else {
			open[handle] = x
		}
		r.Transfers = []ring.Transfer{x}
	case 1:
		r.Call = mpicall.Send
		r.Transfers = []ring.Transfer{x}
	case 2:
		r.Call = mpicall.Sendrecv
		other := x
		x.Kind, other.Kind = ring.Sent, ring.Received
		r.Transfers = []ring.Transfer{x, other}
	case 3:
		r.Call = mpicall.Put
		x.Kind = ring.Put
		r.Transfers = []ring.Transfer{x}
	case 4:
		r.Call = mpicall.Ibarrier
		if _, is := open[handle]; is && number("twice", 59) > 0 {
			break
		}
		r.IsCollective, r.Collective = true, ring.Collective{Comm: 1, Root: ring.Any, Ordinal: uint32(number("ordinal", 5))}
		r.Requests = []ring.Request{{Event: ring.Made, Handle: handle}}
		open[handle] = ring.Transfer{Peer: ring.Any, Tag: ring.Any}
	case 5:
		r.Call = rapid.SampledFrom([]mpicall.ID{mpicall.Test, mpicall.Iprobe}).Draw(t, "poll")
		for first := r.Enter; len(r.Polls) < 3 && first < r.Exit && number("place", 2) > 0; first++ {
			r.Polls = append(r.Polls, ring.Polls{
				Call: rapid.SampledFrom([]mpicall.ID{mpicall.Testall, mpicall.Improbe}).Draw(t, "poll"), Path: uint32(len(r.Polls)), First: first, Count: 3,
			})
		}
	default:
		r.Call = rapid.SampledFrom([]mpicall.ID{mpicall.Waitall, mpicall.Testsome}).Draw(t, "end")
		for _, handle := range slices.Sorted(maps.Keys(open)) {
			x := open[handle]
			q := ring.Request{Event: ring.Completed, Handle: handle, Bytes: uint64(number("bytes", 9)), Source: x.Peer, Tag: x.Tag}
			if number("other", 99) == 0 {
				q.Source, q.Tag = peer, tag
			}
			if number("ends", 1) == 0 {
				r.Requests = append(r.Requests, q)
				delete(open, handle)
			}
		}
	}
	return r
}

// Handles that never recur are forgotten.
func TestHandlesAreForgotten(t *testing.T) {
	m := New(none{})
	m.Define(1, 4)
	th := m.Thread(1)
	m.Simplify()
	for row := range uint64(5 * leastRequests) {
		handle := 1000 + 8*row
		th.Add(2*row, isend(20*row, handle, 1), false)
		th.Add(2*row+1, wait(20*row+10, ring.Request{Event: ring.Completed, Handle: handle}), false)
	}
	if !m.fast.on {
		t.Fatal("it is not simple")
	}
	if n := len(m.fast.requests); n > 2*leastRequests+1 || m.fast.open != 0 || m.room.taken != 0 {
		t.Errorf("%d handles are known, %d open, %d in the room", n, m.fast.open, m.room.taken)
	}
}
