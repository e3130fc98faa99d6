package clock

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/mpix"
	"moriens/internal/team"
)

// partOf is what a member knows of who waited for whom.
func partOf(whole *Traffic, of []int32, member int32) *Traffic {
	t := new(Traffic)
	for _, m := range whole.Messages {
		if of[m.Recv.Thread] == member {
			t.Messages = append(t.Messages, m)
		}
	}
	for id, c := range whole.Collectives {
		part := Collective{Flow: c.Flow, Root: -1, ID: uint64(id)}
		rootIs := of[c.Members[c.Root].Start.Thread]
		others := map[int32]bool{}
		here := false
		for k, m := range c.Members {
			owner := of[m.Start.Thread]
			here = here || owner == member
			if owner != member {
				others[owner] = true
			}
			if owner == member || c.Flow == Prefix || c.Flow == FromRoot && k == c.Root {
				if k == c.Root {
					part.Root = len(part.Members)
				}
				part.Members = append(part.Members, m)
			}
		}
		switch {
		case !here:
			continue
		case c.Flow == AllToAll, c.Flow == ToRoot && rootIs == member:
			for other := range others {
				part.Others = append(part.Others, other)
			}
			slices.Sort(part.Others)
		case c.Flow == ToRoot:
			part.Others = []int32{rootIs}
		}
		if c.Flow == AllToAll {
			part.Root = 0
		}
		t.Collectives = append(t.Collectives, part)
	}
	return t
}

// A team puts calls where one process puts them, however the threads are distributed, and says the same of what it had
// to do; with calls that wait for each other too.
func TestOrderOfATeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads := rapid.IntRange(1, 9).Draw(t, "threads")
		members := rapid.IntRange(1, 5).Draw(t, "members")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		of := make([]int32, threads)
		for i := range of {
			of[i] = int32(random.IntN(members))
		}
		const rounds = 12
		original := make([]Thread, threads)
		for i := range original {
			th, last := &original[i], int64(0)
			th.Node = i / 2
			for range 3 * rounds {
				enter := last + random.Int64N(1000)
				last = enter + random.Int64N(300)
				th.EnterNS, th.ExitNS = append(th.EnterNS, enter), append(th.ExitNS, last)
			}
			if random.IntN(3) == 0 {
				th.Gaps = append(th.Gaps, int32(random.IntN(3*rounds)))
			}
		}
		var traffic Traffic
		for round := range rounds {
			c := Collective{Flow: Flow(random.IntN(4)), Root: random.IntN(threads)}
			for i := range original {
				p := Place{int32(i), int32(3*round + 2)}
				c.Members = append(c.Members, Member{p, p})
				to := random.IntN(threads)
				traffic.Messages = append(traffic.Messages, Message{Place{int32(i), int32(3 * round)}, Place{int32(to), int32(3*round + 1)}})
			}
			traffic.Collectives = append(traffic.Collectives, c)
		}
		if rapid.Bool().Draw(t, "circle") { // each is said to wait for what comes later
			a, b := int32(random.IntN(threads)), int32(random.IntN(threads))
			traffic.Messages = append(traffic.Messages, Message{Place{a, 20}, Place{b, 12}}, Message{Place{b, 20}, Place{a, 12}})
		}
		at := func(node int, ns int64) int64 { return ns + int64(node)*137 + ns/int64(100+node) }
		copied := func(mine func(int) bool) []Thread {
			list := slices.Clone(original)
			for i := range list {
				list[i].EnterNS, list[i].ExitNS = nil, nil
				if mine(i) {
					list[i].EnterNS, list[i].ExitNS = slices.Clone(original[i].EnterNS), slices.Clone(original[i].ExitNS)
				}
			}
			return list
		}
		want := copied(func(int) bool { return true })
		did, err := Order(want, &traffic, at, 1, team.Threads{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]Thread, threads)
		all := make([]Ordered, members)
		err = mpix.Each(members, func(m mpix.Transport) error {
			own := team.Threads{Team: m, Of: of}
			list := copied(own.Mine)
			o, err := Order(list, partOf(&traffic, of, int32(m.Rank())), at, 1, own, func() bool { return false })
			for i := range list {
				if own.Mine(i) {
					got[i] = list[i]
				}
			}
			all[m.Rank()] = o
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("calls lie elsewhere (-one +team):\n%s", d)
		}
		for i := range all {
			if all[i] != did {
				t.Fatalf("member %d of %d: %+v, one process: %+v", i, members, all[i], did)
			}
		}
	})
}

// Where one member has no time left, all stop to wait, every call has a place all the same, and all say so.
func TestOrderStops(t *testing.T) {
	threads := []Thread{{Node: 0, EnterNS: []int64{0, 100}, ExitNS: []int64{10, 110}}, {Node: 1, EnterNS: []int64{0, 100}, ExitNS: []int64{10, 110}}}
	err := mpix.Each(2, func(m mpix.Transport) error {
		list := slices.Clone(threads)
		other := 1 - m.Rank()
		list[m.Rank()].EnterNS, list[m.Rank()].ExitNS = slices.Clone(list[m.Rank()].EnterNS), slices.Clone(list[m.Rank()].ExitNS)
		list[other].EnterNS, list[other].ExitNS = nil, nil
		x := &Traffic{Messages: []Message{{Place{int32(other), 1}, Place{int32(m.Rank()), 0}}}} // each waits for the other
		o, err := Order(list, x, func(node int, ns int64) int64 { return ns + int64(node) }, 1, team.Threads{Team: m, Of: []int32{0, 1}},
			func() bool { return m.Rank() == 1 })
		if !o.Stopped || o.Unordered != 0 {
			t.Errorf("%+v", o)
		}
		want := []int64{int64(m.Rank()), 100 + int64(m.Rank())}
		if !slices.Equal(list[m.Rank()].EnterNS, want) {
			t.Errorf("entered at %v, want %v", list[m.Rank()].EnterNS, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is nowhere is an error at all members.
func TestOrderOfATeamRefuses(t *testing.T) {
	for name, x := range map[string]*Traffic{
		"call":       {Messages: []Message{{Place{1, 7}, Place{0, 0}}}},
		"collective": {Collectives: []Collective{{Members: []Member{{}}, ID: 5, Others: []int32{1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make([]error, 2)
			err := mpix.Each(2, func(m mpix.Transport) error {
				list := make([]Thread, 2)
				list[m.Rank()] = Thread{EnterNS: []int64{1}, ExitNS: []int64{2}}
				own := new(Traffic)
				if m.Rank() == 0 {
					own = x
				}
				_, failed[m.Rank()] = Order(list, own, func(_ int, ns int64) int64 { return ns }, 1, team.Threads{Team: m, Of: []int32{0, 1}}, nil)
				return nil
			})
			if err != nil || failed[0] == nil || failed[1] == nil {
				t.Errorf("%v, %v, %v", err, failed[0], failed[1])
			}
		})
	}
}

// Members that each know some of the bounds find what one finds that knows all, to the last bit.
func TestSolveOfATeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
		members := rapid.IntRange(1, 4).Draw(t, "members")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		clocks := drawClocks(t, nodes, 1e10)
		in := Input{Spans: make([]Span, nodes)}
		var bounds []Bound
		for range rapid.IntRange(0, 200).Draw(t, "bounds") {
			from, to := random.IntN(nodes), random.IntN(nodes) // a node with itself says nothing
			at := random.Float64() * 1e10
			late := random.Float64() * 1e5
			if random.IntN(50) == 0 {
				late = -late // which contradicts others, perhaps
			}
			bounds = append(bounds, Bound{from, to, clocks[from].at(at), clocks[to].at(at + late)})
		}
		in.Bounds = slices.Values(bounds)
		want := solve(t, in)
		err := mpix.Each(members, func(m mpix.Transport) error {
			part := in
			var own []Bound
			for i, b := range bounds {
				if (i*7+i/3)%members == m.Rank() {
					own = append(own, b)
				}
			}
			part.Bounds, part.Team = slices.Values(own), m
			got, err := Solve(part)
			if err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("member %d of %d finds something else", m.Rank(), members)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Threads of several members that all meet, again and again: each meeting is a round in which all members talk.
func BenchmarkOrderOfATeam(b *testing.B) {
	const threads, meetings = 256, 2000
	for _, members := range []int{1, 2, 4} {
		b.Run(strconv.Itoa(members), func(b *testing.B) {
			of := make([]int32, threads)
			original := make([]Thread, threads)
			for i := range original {
				of[i] = int32(i * members / threads)
				original[i].Node = i / 32
				for k := range int64(meetings) {
					original[i].EnterNS = append(original[i].EnterNS, 1000*k+int64(i%7))
					original[i].ExitNS = append(original[i].ExitNS, 1000*k+100)
				}
			}
			var traffic Traffic
			for k := range meetings {
				c := Collective{Flow: AllToAll}
				for i := range original {
					p := Place{int32(i), int32(k)}
					c.Members = append(c.Members, Member{p, p})
				}
				traffic.Collectives = append(traffic.Collectives, c)
			}
			parts := make([]*Traffic, members)
			for m := range parts {
				parts[m] = partOf(&traffic, of, int32(m))
			}
			for b.Loop() {
				err := mpix.Each(members, func(m mpix.Transport) error {
					list := slices.Clone(original)
					for i := range list {
						list[i].EnterNS, list[i].ExitNS = nil, nil
						if of[i] == int32(m.Rank()) {
							list[i].EnterNS, list[i].ExitNS = slices.Clone(original[i].EnterNS), slices.Clone(original[i].ExitNS)
						}
					}
					_, err := Order(list, parts[m.Rank()], own, 1, team.Threads{Team: m, Of: of}, nil)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*meetings), "ns/meeting")
		})
	}
}
