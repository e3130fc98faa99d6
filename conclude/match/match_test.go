package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/team"
	"moriens/internal/testenv"
)

// send is the k-th message from process 0 to 1, received is its receive; each rank posts one every 10 ns.
func send(k int) Transfer {
	return Transfer{
		Posting: Posting{Row: uint32(k), DoneRow: int64(k), Bytes: uint64(8 * (k + 1)), StartNS: int64(10 * k), EndNS: int64(10*k + 5)},
		Process: 0, Peer: 1, Comm: 7, Tag: 3, Channel: -1, Send: true,
	}
}

func received(k int) Transfer {
	x := send(k)
	x.Thread, x.DoneThread, x.Process, x.Peer, x.Send = 1, 1, 1, 0, false
	return x
}

// What is lost on one side leaves the pairs before the gap and, of processes that have finalized, those after it; each
// of the others has its reason.
func TestMatch(t *testing.T) {
	whole := Process{Whole: true, Finalized: true, Gap: NoGap}
	gap := func(first, last int) Process {
		return Process{Whole: true, Finalized: true, Gap: Gap{int64(10*first - 5), int64(10*last + 10)}}
	}
	died := func(p Process) Process { p.Finalized = false; return p }
	changed := func(x Transfer, change func(*Transfer)) Transfer { change(&x); return x }
	for _, tt := range []struct {
		name             string
		sender, receiver Process
		lost             []int // of the receives
		change           func(k int, x *Transfer)
		want             []int // messages that are pairs
		unpaired         Unpaired
	}{
		{"everything", whole, whole, nil, nil, []int{0, 1, 2, 3, 4, 5}, nil},
		{"a gap", whole, gap(2, 3), []int{2, 3}, nil, []int{0, 1, 4, 5}, Unpaired{Missing: {Sends: 2}}},
		{"a gap, and the sender died", died(whole), gap(2, 3), []int{2, 3}, nil, []int{0, 1}, Unpaired{Missing: {Sends: 4, Receives: 2}}},
		{"no gap known", whole, whole, []int{5}, nil, []int{0, 1, 2, 3, 4}, Unpaired{NoCounterpart: {Sends: 1}}},
		{"other bytes", whole, whole, nil, func(k int, x *Transfer) {
			if k >= 3 && !x.Send {
				x.Bytes++
			}
		}, []int{0, 1, 2}, Unpaired{Mismatch: {Sends: 3, Receives: 3}}},
		{"at once", whole, whole, nil, func(k int, x *Transfer) {
			if k == 1 {
				x.EndNS += 10 // the next one begins before
			}
		}, []int{0, 3, 4, 5}, Unpaired{Concurrent: {Sends: 2, Receives: 2}}},
		{"from any source, without a status", whole, whole, nil, func(k int, x *Transfer) {
			if !x.Send {
				x.Peer, x.AtMost = -1, true
			}
		}, []int{0, 1, 2, 3, 4, 5}, nil},
		{"never ended", whole, whole, nil, func(k int, x *Transfer) {
			if !x.Send && k == 5 {
				x.DoneRow = -1
			}
		}, []int{0, 1, 2, 3, 4}, Unpaired{Unended: {Receives: 1}, UnendedNearby: {Sends: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPostings()
			for k := range 6 {
				for _, x := range []Transfer{send(k), received(k)} {
					if !x.Send && slices.Contains(tt.lost, k) {
						continue
					}
					of := tt.sender
					if !x.Send {
						of = tt.receiver
					}
					p.Add(changed(x, func(x *Transfer) {
						if tt.change != nil {
							tt.change(k, x)
						}
					}), of.Gap)
				}
			}
			m, err := Match(team.Solo{}, []Process{tt.sender, tt.receiver}, p)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, x := range m.Pairs {
				if x.Send.Row != x.Receive.Row || x.Receive.Thread != 1 || x.Bytes != 8*uint64(x.Send.Row+1) {
					t.Errorf("%+v", x)
				}
				got = append(got, int(x.Send.Row))
			}
			slices.Sort(got)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("pairs (-want +got):\n%s", d)
			}
			for why, n := range m.Unpaired {
				if n != tt.unpaired[why] {
					t.Errorf("%s: %+v, want %+v", why, n, tt.unpaired[why])
				}
			}
			if n := int64(6 - len(tt.lost)); m.Sends != 6 || m.Receives != n {
				t.Errorf("%d sends, %d receives", m.Sends, m.Receives)
			}
		})
	}
}

// As many messages of a route are matched as its end with fewer has; the others have no counterpart, or may have one
// among what is missing.
func TestRoutes(t *testing.T) {
	r := NewRoutes([]Process{{Gap: NoGap}, {Gap: NoGap}, {Gap: Anywhere}})
	r.AddSent(Sum{Comm: 7, Process: 0, Peer: 1, Count: 5, Bytes: 50})
	r.AddSent(Sum{Comm: 7, Process: 1, Peer: 2, Count: 1, Bytes: 4})
	r.AddReceived(Sum{Comm: 7, Process: 1, Peer: 0, Count: 3, Bytes: 30})
	r.AddReceived(Sum{Comm: 7, Process: 2, Peer: 1, Count: 2, Bytes: 9})
	r.AddUnpaired(OtherWorld, true, 4)
	matched, bytes, unpaired := r.Matched()
	clean(unpaired)
	want := Unpaired{NoCounterpart: {Sends: 2}, Missing: {Receives: 1}, OtherWorld: {Sends: 4}}
	if d := cmp.Diff(want, unpaired); d != "" || matched != 4 || bytes != 34 {
		t.Errorf("%d messages of %d bytes; -want +got:\n%s", matched, bytes, d)
	}
}

// What a process has not counted peer by peer may be what others have counted of it: these have no other reason.
func TestRoutesOfManyPeers(t *testing.T) {
	r := NewRoutes([]Process{{Gap: NoGap}, {Gap: NoGap}, {Gap: NoGap}})
	r.AddSent(Sum{Comm: 7, Process: 0, Peer: 1, Count: 5, Bytes: 50}) // receives of 1 are in its rest
	r.AddSent(Sum{Comm: 7, Process: 1, Peer: 2, Count: 4, Bytes: 4})  // sends of 1 are not
	r.AddRest(0, true, 7)
	r.AddRest(1, false, 8)
	r.AddReceived(Sum{Comm: 7, Process: 1, Peer: 0, Count: 3, Bytes: 30})
	r.AddReceived(Sum{Comm: 7, Process: 2, Peer: 1, Count: 9, Bytes: 9})
	r.AddReceived(Sum{Comm: 7, Process: 2, Peer: 0, Count: 6, Bytes: 6}) // sends of 0 are
	matched, _, unpaired := r.Matched()
	clean(unpaired)
	want := Unpaired{ManyPeers: {Sends: 7 + 2, Receives: 8 + 6}, NoCounterpart: {Receives: 5}}
	if d := cmp.Diff(want, unpaired); d != "" || matched != 7 {
		t.Errorf("%d messages; -want +got:\n%s", matched, d)
	}
}

func clean(u Unpaired) {
	for why, n := range u {
		if n == (Count{}) {
			delete(u, why)
		}
	}
}

// Whatever processes have counted, and in whatever order they say it, each route has as many messages matched as the
// end with fewer has, and everything else is unpaired.
func TestRandomRoutes(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	for range 200 {
		n := 1 + random.IntN(7)
		type route struct {
			comm     uint64
			from, to int32
		}
		sent, received := make(map[route]uint64), make(map[route]uint64)
		var sends, receives []Sum
		for range random.IntN(60) {
			k, count := route{uint64(random.IntN(2)), random.Int32N(int32(n)), random.Int32N(int32(n))}, 1+random.Uint64N(5)
			if random.IntN(2) == 0 {
				sent[k] += count
				sends = append(sends, Sum{Comm: k.comm, Process: k.from, Peer: k.to, Count: count, Bytes: 8 * count})
			} else {
				received[k] += count
				receives = append(receives, Sum{Comm: k.comm, Process: k.to, Peer: k.from, Count: count, Bytes: 8 * count})
			}
		}
		r := NewRoutes(slices.Repeat([]Process{{Gap: NoGap}}, n))
		for _, x := range sends {
			r.AddSent(x)
		}
		for _, x := range receives {
			r.AddReceived(x)
		}
		both, all := int64(0), Count{}
		for k, x := range sent {
			both += int64(min(x, received[k]))
			all.Sends += int64(x)
		}
		for _, x := range received {
			all.Receives += int64(x)
		}
		matched, bytes, unpaired := r.Matched()
		if x := unpaired[NoCounterpart]; matched != both || bytes != 8*both || x.Sends != all.Sends-both || x.Receives != all.Receives-both {
			t.Fatalf("%d messages of %d bytes and %+v, want %d of %+v", matched, bytes, x, both, all)
		}
	}
}
