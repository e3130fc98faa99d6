package message

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A follower is a Matcher with its threads, which are replaced when it is cut.
type follower struct {
	m       *Matcher
	threads []*Thread
	limit   int // of its room
	got     sink
	met     [][3]uint64 // ring, row and ordinal of the collectives
}

// add has a thread take a record.
func (f *follower) add(thread int, row uint64, r *ring.Record) {
	if r.IsCollective {
		_, _, ordinal := f.m.Collective(&r.Collective)
		f.met = append(f.met, [3]uint64{uint64(thread), row, ordinal})
	}
	f.threads[thread].Add(row, r, false)
}

func follow(rings, limit int) *follower {
	f := &follower{limit: limit}
	f.m = New(&f.got)
	f.m.Share(&Room{limit: limit})
	f.m.Define(1, 4)
	for i := range rings {
		f.threads = append(f.threads, f.m.Thread(uint64(i+1)))
	}
	return f
}

// cut replaces the Matcher by one that only knows the snapshot's bytes.
func (f *follower) cut(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}) {
	encoded, err := proto.Marshal(f.m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	state := &moriensv1.MatcherState{}
	if err := proto.Unmarshal(encoded, state); err != nil {
		t.Fatal(err)
	}
	m, threads, err := Restore(state, &f.got)
	if err != nil {
		t.Fatal(err)
	}
	m.Share(&Room{limit: f.limit})
	m.Define(1, 4)
	for i, th := range f.threads {
		if !th.ended {
			f.threads[i] = threads[th.ring]
		} else if threads[th.ring] != nil {
			t.Fatalf("ring %d has ended and is back", th.ring)
		}
	}
	f.m = m
}

// chaos is a record of a program that does anything with a few handles, communicators and tags.
func chaos(t *rapid.T, now *uint64) ring.Record {
	number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	*now += uint64(number("gap", 3))
	r := ring.Record{Enter: *now, Exit: *now + uint64(number("ticks", 20))}
	r.Call = rapid.SampledFrom([]mpicall.ID{mpicall.Isend, mpicall.SendInit, mpicall.PsendInit, mpicall.Waitall, mpicall.Mprobe, mpicall.Test}).Draw(t, "call")
	r.Path = uint32(number("path", 2))
	r.Lost, r.Paused = number("lost", 30) == 0, number("paused", 30) == 0
	for range number("transfers", 2) {
		r.Transfers = append(r.Transfers, ring.Transfer{
			Kind: rapid.SampledFrom([]ring.TransferKind{ring.Sent, ring.Received, ring.Received, ring.Probed, ring.Put}).Draw(t, "kind"), Bytes: uint64(number("bytes", 9)),
			Request: uint64(number("handle", 4)), Peer: int32(number("peer", 5)) - 2, Tag: int32(number("tag", 3)) - 1, Comm: uint32(number("comm", 2)),
		})
	}
	for range number("requests", 2) {
		r.Requests = append(r.Requests, ring.Request{
			Event:  ring.RequestEvent(uint32(ring.Made) + uint32(number("event", int(ring.Matched-ring.Made)))),
			Handle: uint64(number("handle", 4)), Bytes: rapid.SampledFrom([]uint64{1, 2, 9, ring.BytesUnknown}).Draw(t, "bytes"), Source: int32(number("peer", 4)) - 1, Tag: int32(number("tag", 3)) - 1,
		})
	}
	if number("collective", 4) == 0 {
		r.IsCollective = true
		r.Collective = ring.Collective{Comm: uint32(number("comm", 2)), Ordinal: uint32(number("ordinal", 5)) - 2, Root: ring.Any}
	}
	return r
}

// TestCutsChangeNothing: a Matcher that is taken down to its snapshot again and again says in the end what one says
// that never was.
func TestCutsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rings := rapid.IntRange(1, 3).Draw(t, "rings")
		limit := rapid.SampledFrom([]int{1, 3, 1000}).Draw(t, "room")
		whole, cut := follow(rings, limit), follow(rings, limit)
		both := func(do func(f *follower)) { do(whole); do(cut) }
		now, rows, ended := uint64(0), make([]uint64, rings), make([]bool, rings)
		calls := make(calls)
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			i := rapid.IntRange(0, rings-1).Draw(t, "ring")
			switch {
			case ended[i]:
			case rapid.IntRange(0, 30).Draw(t, "end") == 0:
				ended[i] = true
				missing := rapid.Bool().Draw(t, "missing")
				both(func(f *follower) { f.threads[i].End(rows[i], missing) })
			case rapid.IntRange(0, 30).Draw(t, "gap") == 0:
				both(func(f *follower) { f.threads[i].Missing() })
			default:
				r := chaos(t, &now)
				calls[rowOf{uint64(i + 1), rows[i]}] = r
				both(func(f *follower) { f.add(i, rows[i], &r) })
				rows[i]++
			}
			if rapid.Bool().Draw(t, "read") {
				both(func(f *follower) {
					for k, th := range f.threads {
						if !ended[k] {
							th.Read(now)
						}
					}
				})
			}
			if rapid.Bool().Draw(t, "advance") {
				both(func(f *follower) { f.m.Advance() })
			}
			if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
				cut.cut(t)
			}
		}
		both(func(f *follower) {
			for k, th := range f.threads {
				if !ended[k] {
					th.End(rows[k], false)
				}
			}
			f.m.End()
		})
		w, c := whole.m.Stats(), cut.m.Stats()
		w.Unordered, c.Unordered = 0, 0 // what never ends is given up in any order, some of it with a number and some without
		if w != c {
			t.Fatalf("stats: %+v, cut %+v", w, c)
		}
		less := cmpopts.SortSlices(func(a, b sent) bool { return whole.order(a, b) })
		if d := gocmp.Diff(whole.got.all, cut.got.all, less, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("operations differ (-whole +cut):\n%s", d)
		}
		place := cmpopts.SortSlices(func(a, b placed) bool {
			if a.What == b.What {
				return a.Epoch < b.Epoch || a.Epoch == b.Epoch && a.Ordinal < b.Ordinal
			}
			return whole.order(a.What, b.What)
		})
		if d := gocmp.Diff(whole.got.ended(), cut.got.ended(), place, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("ordinals differ (-whole +cut):\n%s", d)
		}
		if d := gocmp.Diff(whole.got.gaps(), cut.got.gaps(), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("gaps differ (-whole +cut):\n%s", d)
		}
		both(func(f *follower) { checkSums(t, f.m, f.got.all, calls) })
		sameSums(t, whole.m, cut.m)
		if d := gocmp.Diff(whole.met, cut.met); d != "" {
			t.Fatalf("collectives differ (-whole +cut):\n%s", d)
		}
	})
}

func (f *follower) order(a, b sent) bool {
	x := func(s sent) []uint64 {
		return []uint64{s.Ring, s.Row, s.DoneRing, s.Done, uint64(s.Kind), uint64(uint32(s.Peer)), uint64(uint32(s.Tag)), uint64(s.Comm), s.Bytes, s.Meeting}
	}
	p, q := x(a), x(b)
	for i := range p {
		if p[i] != q[i] {
			return p[i] < q[i]
		}
	}
	return false
}

// ended are the transfers that have.
func (s *sink) ended() (list []placed) {
	for _, p := range s.placed {
		if p.What.DoneRing != 0 {
			list = append(list, p)
		}
	}
	return list
}

func (s *sink) gaps() [2]map[uint64][]uint64 { return [2]map[uint64][]uint64{s.before, s.inside} }

// The order of messages continues after a cut; with more lanes than a snapshot has, in a new epoch.
func TestOrderContinues(t *testing.T) {
	for lanes, want := range map[int]placed{keptLanes: {Epoch: 0, Ordinal: 2}, keptLanes + 1: {Epoch: 1, Ordinal: 1}} {
		f := follow(1, 1000)
		send := func(row int, tag int) {
			at := uint64(10 * row)
			f.threads[0].Add(uint64(row), isend(at+1, 9, int32(tag)), false)
			f.threads[0].Add(uint64(row+1), wait(at+5, ring.Request{Event: ring.Completed, Handle: 9}), false)
		}
		for i := range lanes {
			send(2*i, i)
		}
		f.cut(t)
		send(2*lanes, 3)
		f.m.End()
		last := f.got.placed[len(f.got.placed)-1]
		if last.Epoch != want.Epoch || last.Ordinal != want.Ordinal || len(f.got.placed) != lanes+1 || f.m.Stats().Unordered != 0 {
			t.Errorf("%d lanes, then %+v, want %+v; %+v", lanes, last, want, f.m.Stats())
		}
	}
}

// FuzzRestore: bytes that no Snapshot has made are an error, or a Matcher that works.
func FuzzRestore(f *testing.F) {
	x := follow(2, 1000)
	x.m.Expect(2)
	x.threads[0].Add(0, isend(1, 9, 1), false)
	x.threads[1].Add(0, wait(2, ring.Request{Event: ring.Completed, Handle: 9}), false)
	seed, err := proto.Marshal(x.m.Snapshot())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	x.threads[0].Read(10)
	x.threads[1].Read(10)
	x.m.Advance()
	x.threads[0].Add(1, isend(11, 8, 1), false)
	if seed, err = proto.Marshal(x.m.Snapshot()); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		state := &moriensv1.MatcherState{}
		if proto.Unmarshal(encoded, state) != nil {
			return
		}
		m, threads, err := Restore(state, none{})
		if err != nil {
			return
		}
		for _, th := range threads {
			th.Add(1, isend(100, 9, 1), false)
			th.Add(2, wait(200, ring.Request{Event: ring.Completed, Handle: 9}), false)
			th.End(3, true)
		}
		m.End()
	})
}
