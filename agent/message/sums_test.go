package message

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// A made up record has a place.
type rowOf struct{ ring, row uint64 }

// calls are records by their places.
type calls map[rowOf]ring.Record

// durations are how long each call lasts, a test that completes something with those before it: worked out from the
// rows that a ring's records become.
func (c calls) durations() map[rowOf]uint64 {
	type step struct {
		of    rowOf
		call  mpicall.ID
		ticks uint64
		ended bool
	}
	at := slices.SortedFunc(maps.Keys(c), func(a, b rowOf) int { return cmp.Or(cmp.Compare(a.ring, b.ring), cmp.Compare(a.row, b.row)) })
	found := make(map[rowOf]uint64)
	var steps []step
	last := uint64(0)
	for i, of := range at {
		r := c[of]
		if i > 0 && at[i-1].ring != of.ring {
			steps, last = nil, 0
		}
		if r.Lost || r.Paused {
			steps = nil
		}
		ended := slices.ContainsFunc(r.Requests, func(q ring.Request) bool { return q.Event != ring.Made && q.Event != ring.Started }) ||
			slices.ContainsFunc(r.Transfers, func(x ring.Transfer) bool { return x.Request == 0 && (x.Kind == ring.Sent || x.Kind == ring.Received) })
		from, call := max(r.Enter, last), r.Call
		for _, p := range r.Polls {
			if p.Call != r.Call || p.Path != r.Path {
				steps = append(steps, step{of, call, p.First - from, false})
				from, call = p.First, p.Call
			}
		}
		steps = append(steps, step{of, call, max(r.Exit, from) - from, ended})
		last = r.Exit
		ticks := steps[len(steps)-1].ticks
		if r.Call.Tests() && ended {
			for k := len(steps) - 2; k >= 0 && steps[k].call.Tests() && !steps[k].ended; k-- {
				ticks += steps[k].ticks
			}
		}
		found[of] = ticks
	}
	return found
}

// checkSums compares the sums with what was sent: all numbers but how what a division leaves is distributed.
func checkSums(t *rapid.T, m *Matcher, all []sent, calls calls) {
	type moved struct{ Count, Bytes uint64 }
	type times struct{ Least, Most uint64 } // of what is blocked
	want, got := make(map[sums.Key]moved), make(map[sums.Key]moved)
	blocked, longest := make(map[sums.Key]times), make(map[sums.Key]times)
	durations := calls.durations()
	completed := make(map[rowOf][2]uint64) // sends and receives
	for _, o := range all {
		if by := (rowOf{o.DoneRing, o.Done}); o.DoneRing != 0 && message(o.Kind) {
			n := completed[by]
			n[o.Kind-wasSent]++
			completed[by] = n
		}
	}
	for _, o := range all {
		if o.Kind == wasMet { // moves nothing
			continue
		}
		at, by := calls[rowOf{o.Ring, o.Row}], rowOf{o.DoneRing, o.Done}
		keys := []sums.Key{sums.Site(o.Kind, at.Call, at.Path), sums.Peer(o.Kind, o.Comm, o.Peer)}
		if message(o.Kind) {
			keys = append(keys, sums.Size(o.Kind, o.Bytes))
			if o.DoneRing != 0 {
				keys = append(keys, sums.End(o.Kind, calls[by].Call, calls[by].Path))
			}
		}
		n, share := completed[by], times{}
		if k := n[1]; o.DoneRing != 0 && (o.Kind == wasReceived || o.Kind == wasSent && k == 0) {
			if k == 0 {
				k = n[0]
			}
			share = times{durations[by] / k, (durations[by] + k - 1) / k}
		}
		for i, key := range keys {
			want[key] = moved{want[key].Count + 1, want[key].Bytes + o.Bytes}
			if i > 0 {
				blocked[key] = times{blocked[key].Least + share.Least, blocked[key].Most + share.Most}
				longest[key] = times{max(longest[key].Least, share.Least), max(longest[key].Most, share.Most)}
			}
		}
	}
	rows, err := sums.Decode(m.Sums())
	if err != nil {
		t.Fatal(err)
	}
	total := make(map[moriensv1.Sums_What]uint64)
	within := func(x uint64, b times) bool { return b.Least <= x && x <= b.Most }
	for _, r := range rows {
		got[r.Key] = moved{r.Count, r.Bytes}
		total[r.What] += r.Blocked
		ofPeer := r.What == moriensv1.Sums_WHAT_PEER
		if !within(r.Blocked, blocked[r.Key]) || ofPeer && !within(r.Longest, longest[r.Key]) || !ofPeer && r.Longest+r.First > 0 || r.First > r.Longest {
			t.Fatalf("%+v, want blocked %v, longest %v", r, blocked[r.Key], longest[r.Key])
		}
	}
	if d := gocmp.Diff(want, got); d != "" || len(rows) != len(got) {
		t.Fatalf("sums differ, %d rows (-want +got):\n%s", len(rows), d)
	}
	checkPartners(t, m, all, calls)
	inCalls := uint64(0)
	for by := range completed {
		inCalls += durations[by]
	}
	for _, what := range []moriensv1.Sums_What{moriensv1.Sums_WHAT_PEER, moriensv1.Sums_WHAT_SIZE, moriensv1.Sums_WHAT_END} {
		if total[what] != inCalls {
			t.Fatalf("%s adds up to %d ticks, calls that completed messages took %d", what, total[what], inCalls)
		}
	}
}

// checkPartners compares what was counted by partner with the messages that were sent.
func checkPartners(t *rapid.T, m *Matcher, all []sent, calls calls) {
	want := make(map[sums.Partner]sums.Moved)
	for _, o := range all {
		if message(o.Kind) {
			at := calls[rowOf{o.Ring, o.Row}]
			k := sums.Partner{Kind: o.Kind, Function: at.Call, Path: at.Path, Comm: o.Comm, Peer: o.Peer}
			x, seen := want[k]
			if !seen {
				x.Least = o.Bytes
			}
			want[k] = sums.Moved{Count: x.Count + 1, Bytes: x.Bytes + o.Bytes, Least: min(x.Least, o.Bytes), Most: max(x.Most, o.Bytes)}
		}
	}
	rows, err := sums.DecodePartners(m.Sums().Partners)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[sums.Partner]sums.Moved)
	for _, r := range rows {
		k := r
		k.Moved = sums.Moved{}
		got[k] = r.Moved
	}
	if d := gocmp.Diff(want, got); d != "" || len(rows) != len(got) {
		t.Fatalf("partners differ, %d rows (-want +got):\n%s", len(rows), d)
	}
}

// sumsOf are the rows of a Matcher by key.
func sumsOf(t interface{ Fatal(...any) }, m *Matcher) []sums.Row {
	rows, err := sums.Decode(m.Sums())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b sums.Row) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	return rows
}

// sameSums compares the sums of two Matchers in all numbers.
func sameSums(t *rapid.T, a, b *Matcher) {
	if d := gocmp.Diff(sumsOf(t, a), sumsOf(t, b)); d != "" {
		t.Fatalf("sums differ:\n%s", d)
	}
}

// What a call took is shared among its receives, or its sends where it has none.
func TestShares(t *testing.T) {
	m := New(none{})
	m.Define(1, 4)
	th := m.Thread(1)
	m.Simplify()
	now, row := uint64(0), uint64(0)
	call := func(of mpicall.ID, ticks uint64, r ring.Record) {
		now += 100
		r.Call, r.Path, r.Enter, r.Exit = of, uint32(of), now, now+ticks
		now = r.Exit
		th.Add(row, &r, false)
		row++
	}
	move := func(kind ring.TransferKind, peer int32, bytes, handle uint64) []ring.Transfer {
		return []ring.Transfer{{Kind: kind, Peer: peer, Bytes: bytes, Comm: 1, Request: handle}}
	}
	ends := func(peer int32, bytes, handle uint64) ring.Request {
		return ring.Request{Event: ring.Completed, Handle: handle, Source: peer, Bytes: bytes}
	}
	irecv := func(peer int32, handle uint64) {
		call(mpicall.Irecv, 7, ring.Record{Transfers: move(ring.Received, peer, 99, handle)})
	}
	failed := func(of mpicall.ID, ticks uint64) { call(of, ticks, ring.Record{}) }

	call(mpicall.Send, 1000, ring.Record{Transfers: move(ring.Sent, 1, 3, 0)})
	call(mpicall.Recv, 300, ring.Record{Transfers: move(ring.Received, 2, 4, 0)})
	call(mpicall.Sendrecv, 40, ring.Record{Transfers: append(move(ring.Sent, 1, 2, 0), move(ring.Received, 2, 5, 0)...)})
	irecv(0, 10)
	irecv(3, 11)
	call(mpicall.Isend, 7, ring.Record{Transfers: move(ring.Sent, 3, 0, 12)})
	call(mpicall.Waitall, 11, ring.Record{Requests: []ring.Request{ends(0, 8, 10), ends(0, 0, 12), ends(3, 7, 11)}})
	irecv(3, 10)
	failed(mpicall.Test, 50)      // another call follows
	failed(mpicall.Allreduce, 50) // likewise
	failed(mpicall.Test, 60)
	failed(mpicall.Testall, 1)
	call(mpicall.Test, 2, ring.Record{Requests: []ring.Request{ends(3, 1, 10)}})
	irecv(3, 10)
	now += 100
	// Polls from three places, of which the last two are tests.
	th.Add(row, &ring.Record{Call: mpicall.Test, Path: 1, Enter: now, Exit: now + 100, Polls: []ring.Polls{
		{Call: mpicall.Test, Path: 1, First: now + 3, Count: 5}, {Call: mpicall.Iprobe, Path: 2, First: now + 10, Count: 5},
		{Call: mpicall.Testany, Path: 3, First: now + 30, Count: 5}, {Call: mpicall.Test, Path: 4, First: now + 35, Count: 5},
	}}, false)
	now, row = now+100, row+1
	call(mpicall.Test, 2, ring.Record{Requests: []ring.Request{ends(3, 1, 10)}})
	if !m.fast.on {
		t.Error("it is not simple")
	}
	m.End()

	want := map[sums.Key]sums.Row{
		sums.Peer(wasSent, 1, 1):     {Count: 2, Bytes: 5, Blocked: 1000, Longest: 1000, First: 1000},
		sums.Peer(wasSent, 1, 3):     {Count: 1},
		sums.Peer(wasReceived, 1, 2): {Count: 2, Bytes: 9, Blocked: 340, Longest: 300, First: 300},
		sums.Peer(wasReceived, 1, 0): {Count: 1, Bytes: 8, Blocked: 6, Longest: 6, First: 6},
		sums.Peer(wasReceived, 1, 3): {Count: 3, Bytes: 9, Blocked: 5 + 63 + 72, Longest: 72, First: 5},

		sums.Size(wasSent, 0):     {Count: 1},
		sums.Size(wasSent, 2):     {Count: 2, Bytes: 5, Blocked: 1000},
		sums.Size(wasReceived, 1): {Count: 2, Bytes: 2, Blocked: 63 + 72},
		sums.Size(wasReceived, 4): {Count: 3, Bytes: 16, Blocked: 300 + 40 + 5},
		sums.Size(wasReceived, 8): {Count: 1, Bytes: 8, Blocked: 6},

		sums.End(wasSent, mpicall.Send, uint32(mpicall.Send)):             {Count: 1, Bytes: 3, Blocked: 1000},
		sums.End(wasSent, mpicall.Sendrecv, uint32(mpicall.Sendrecv)):     {Count: 1, Bytes: 2},
		sums.End(wasSent, mpicall.Waitall, uint32(mpicall.Waitall)):       {Count: 1},
		sums.End(wasReceived, mpicall.Recv, uint32(mpicall.Recv)):         {Count: 1, Bytes: 4, Blocked: 300},
		sums.End(wasReceived, mpicall.Sendrecv, uint32(mpicall.Sendrecv)): {Count: 1, Bytes: 5, Blocked: 40},
		sums.End(wasReceived, mpicall.Waitall, uint32(mpicall.Waitall)):   {Count: 2, Bytes: 15, Blocked: 11},
		sums.End(wasReceived, mpicall.Test, uint32(mpicall.Test)):         {Count: 2, Bytes: 2, Blocked: 63 + 72},
	}
	got := make(map[sums.Key]sums.Row)
	for _, r := range sumsOf(t, m) {
		if r.What != moriensv1.Sums_WHAT_SITE {
			key := r.Key
			r.Key = sums.Key{}
			got[key] = r
		}
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Each rank of a large all-to-all has more peers than rows: sums over all of them are exact, the heaviest stay, and
// both ways come to the same.
func TestAllToAll(t *testing.T) {
	const peers, rounds, heavy = 5000, 4, 100
	followers := make([]*follower, 3) // the simple way, the general one, and the simple one cut again and again
	for i := range followers {
		f := follow(1, 1000)
		f.m.Define(1, peers)
		followers[i] = f
	}
	followers[0].m.Simplify()
	now, row := uint64(0), uint64(0)
	inCalls, bytes := uint64(0), uint64(0)
	for round := range rounds {
		for k := range int32(peers) {
			peer := (k*37 + int32(round)) % peers
			ticks, size := uint64(peer)%7, uint64(peer)%(1<<12)
			if peer%(peers/heavy) == 0 {
				ticks += 1000
			}
			record := ring.Record{Call: mpicall.Recv, Enter: now, Exit: now + ticks, Transfers: []ring.Transfer{{Kind: ring.Received, Peer: peer, Comm: 1, Bytes: size}}}
			now += ticks + 1
			inCalls, bytes = inCalls+ticks, bytes+size
			for i, f := range followers {
				if i == 2 && k%1111 == 0 {
					f.cut(t)
					f.m.Define(1, peers)
					f.m.Simplify()
				}
				r := record
				f.threads[0].Add(row, &r, false)
			}
			row++
		}
	}
	if !followers[0].m.fast.on || followers[1].m.fast.on {
		t.Fatal("they do not go their ways")
	}
	rows := sumsOf(t, followers[0].m)
	for _, f := range followers[1:] {
		if d := gocmp.Diff(rows, sumsOf(t, f.m)); d != "" {
			t.Fatalf("sums differ:\n%s", d)
		}
	}
	var all sums.Row
	n, rests, heavies := 0, 0, 0
	for _, r := range rows {
		switch r.What {
		case moriensv1.Sums_WHAT_PEER:
			n++
			if r.Peer()%(peers/heavy) == 0 && r.Count == rounds && r.Blocked == rounds*(1000+uint64(r.Peer())%7) {
				heavies++
			}
		case moriensv1.Sums_WHAT_REST:
			rests++
		default:
			continue
		}
		all.Count, all.Bytes, all.Blocked = all.Count+r.Count, all.Bytes+r.Bytes, all.Blocked+r.Blocked
	}
	if n > sums.MaxPeers || rests != 1 || heavies != heavy {
		t.Errorf("%d rows of peers, %d of the rest; %d of the %d heaviest peers are whole", n, rests, heavies, heavy)
	}
	if all.Count != peers*rounds || all.Bytes != bytes || all.Blocked != inCalls {
		t.Errorf("%+v, want %d messages of %d bytes in %d ticks", all, peers*rounds, bytes, inCalls)
	}
	if size := bits.Len64(uint64(len(followers[0].m.Sums().A))); size > 13 {
		t.Errorf("a message of 2^%d rows", size)
	}
}

// received are the sums of what was received from peers.
func received(t *testing.T, m *Matcher) map[int32]sums.Row {
	got := make(map[int32]sums.Row)
	for _, r := range sumsOf(t, m) {
		if r.What == moriensv1.Sums_WHAT_PEER && r.Kind == wasReceived {
			peer := r.Peer()
			r.Key = sums.Key{}
			got[peer] = r
		}
	}
	return got
}

// What a call has completed is shared among all of it, also where a part of its record went the simple way, or where
// the agent was started again when only a part had been taken, and after tests that had found nothing.
func TestSharesOfParts(t *testing.T) {
	irecv := func(at uint64, peer int32, handle uint64) *ring.Record {
		return &ring.Record{Call: mpicall.Irecv, Enter: at, Exit: at + 1, Transfers: []ring.Transfer{
			{Kind: ring.Received, Bytes: 99, Request: handle, Peer: peer, Comm: 1},
		}}
	}
	end := func(peer int32, handle uint64) ring.Request {
		return ring.Request{Event: ring.Completed, Handle: handle, Source: peer, Bytes: 8}
	}
	row := func(ticks uint64) sums.Row {
		return sums.Row{Count: 1, Bytes: 8, Blocked: ticks, Longest: ticks, First: ticks}
	}
	t.Run("ways", func(t *testing.T) {
		f := follow(1, 100)
		f.m.Simplify()
		f.add(0, 0, irecv(0, 1, 10))
		f.add(0, 1, irecv(2, 2, 11))
		f.add(0, 2, &ring.Record{Call: mpicall.Waitall, Enter: 10, Exit: 31, Requests: []ring.Request{
			end(1, 10), {Event: ring.Freed, Handle: 99}, end(2, 11), // to free is not simple
		}})
		if f.m.fast.on {
			t.Error("all of it went the simple way")
		}
		f.m.End()
		if d := gocmp.Diff(map[int32]sums.Row{1: row(11), 2: row(10)}, received(t, f.m)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("cut call", func(t *testing.T) {
		f := follow(2, 100)
		f.add(0, 0, irecv(0, 1, 10))
		f.add(0, 1, &ring.Record{Call: mpicall.Sendrecv, Enter: 100, Exit: 200, Requests: []ring.Request{end(1, 10)}, Transfers: []ring.Transfer{
			{Kind: ring.Received, Bytes: 8, Peer: 2, Comm: 1},
		}})
		f.threads[0].Read(300)
		f.threads[1].Read(150)
		f.m.Advance()
		if len(f.threads[0].landed) != 1 {
			t.Fatalf("%d messages have ended, and the call has not", len(f.threads[0].landed))
		}
		f.cut(t)
		for i, rows := range []uint64{2, 0} {
			f.threads[i].End(rows, false)
		}
		f.m.End()
		if d := gocmp.Diff(map[int32]sums.Row{1: row(50), 2: row(50)}, received(t, f.m)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("cut tests", func(t *testing.T) {
		f := follow(1, 100)
		f.m.Simplify()
		records := []*ring.Record{
			irecv(0, 1, 10), irecv(2, 2, 11), {Call: mpicall.Test, Enter: 10, Exit: 17}, {Call: mpicall.Test, Enter: 20, Exit: 24, Requests: []ring.Request{end(1, 10)}},
			{Call: mpicall.Test, Enter: 30, Exit: 33}, {Call: mpicall.Test, Enter: 40, Exit: 42, Requests: []ring.Request{end(2, 11)}},
		}
		for i, r := range records {
			f.add(0, uint64(i), r)
			f.cut(t)
			f.m.Simplify()
		}
		f.m.End()
		if d := gocmp.Diff(map[int32]sums.Row{1: row(11), 2: row(5)}, received(t, f.m)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
