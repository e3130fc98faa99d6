package clock

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/internal/team"
)

func own(_ int, ns int64) int64 { return ns }

func always(int, int64) bool { return true }

// Thread 1's clock is 1000 late from its second call on: what it received there seems to have come too early.
func TestOrderMovesReceives(t *testing.T) {
	threads := []Thread{
		{Node: 0, EnterNS: []int64{0, 5000, 20000}, ExitNS: []int64{100, 5100, 20100}, Gaps: []int32{0}},
		{Node: 1, EnterNS: []int64{0, 3900, 4700, 8000, 19000}, ExitNS: []int64{100, 4200, 5300, 8100, 19900}, Gaps: []int32{0, 4}},
	}
	traffic := Traffic{Messages: []Message{
		{Send: Place{0, 1}, Recv: Place{1, 1}}, // 5000 to 4200: late by 800
		{Send: Place{1, 3}, Recv: Place{0, 2}}, // in order
	}}
	o, err := Order(threads, &traffic, own, 1, team.Threads{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Row 1 returns at 5000. 500 later comes row 2, which gives 300 of its 600; 2700 later row 3, which gives 50
	// of its 100; before row 4 there is a gap, which takes the rest.
	want := []Thread{
		{Node: 0, EnterNS: []int64{0, 5000, 20000}, ExitNS: []int64{100, 5100, 20100}, Gaps: []int32{0}},
		{Node: 1, EnterNS: []int64{0, 3900, 5500, 8500, 19000}, ExitNS: []int64{100, 5000, 5800, 8550, 19900}, Gaps: []int32{0, 4}},
	}
	if d := cmp.Diff(want, threads); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Ordered{Late: 1, LargestNS: 800, TotalNS: 800, OffNS: 800}, o); d != "" {
		t.Error(d)
	}
}

func TestOrderOfCollectives(t *testing.T) {
	tests := []struct {
		flow  Flow
		root  int
		exits [3]int64 // enter at 100, 300, 200 and exit 10 later
		late  int
	}{
		{AllToAll, 0, [3]int64{300, 310, 300}, 2},
		{FromRoot, 2, [3]int64{200, 310, 210}, 1},
		{ToRoot, 2, [3]int64{110, 310, 300}, 1},
		{Prefix, 0, [3]int64{110, 310, 300}, 1},
	}
	for _, tt := range tests {
		var threads []Thread
		c := Collective{Flow: tt.flow, Root: tt.root}
		for i, enter := range []int64{100, 300, 200} {
			threads = append(threads, Thread{Node: i, EnterNS: []int64{enter}, ExitNS: []int64{enter + 10}})
			c.Members = append(c.Members, Member{Place{int32(i), 0}, Place{int32(i), 0}})
		}
		o, err := Order(threads, &Traffic{Collectives: []Collective{c}}, own, 1, team.Threads{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range threads {
			if got := threads[i].ExitNS[0]; got != tt.exits[i] {
				t.Errorf("flow %d: member %d leaves at %d, want %d", tt.flow, i, got, tt.exits[i])
			}
		}
		if o.Late != tt.late || o.Unordered != 0 {
			t.Errorf("flow %d: %+v, want %d late", tt.flow, o, tt.late)
		}
	}
}

// Two receives that wait for sends behind each other cannot have been matched rightly.
func TestOrderCircle(t *testing.T) {
	thread := func(node int) Thread { return Thread{Node: node, EnterNS: []int64{0, 100}, ExitNS: []int64{50, 150}} }
	threads := []Thread{thread(0), thread(1)}
	o, err := Order(threads, &Traffic{Messages: []Message{{Place{0, 1}, Place{1, 0}}, {Place{1, 1}, Place{0, 0}}, {Place{0, 1}, Place{0, 0}}}}, own, 1, team.Threads{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Unordered != 2 || threads[1].ExitNS[0] != 100 || threads[0].ExitNS[1] < threads[0].EnterNS[1] {
		t.Errorf("%+v %+v", o, threads)
	}
}

func TestTrafficRefused(t *testing.T) {
	threads := []Thread{{EnterNS: []int64{0}, ExitNS: []int64{1}}}
	here := Place{0, 0}
	for _, bad := range []Place{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		for _, traffic := range []Traffic{
			{Messages: []Message{{bad, here}}}, {Messages: []Message{{here, bad}}},
			{Collectives: []Collective{{Members: []Member{{bad, here}}}}}, {Collectives: []Collective{{Members: []Member{{here, bad}}}}},
			{Collectives: []Collective{{Root: int(bad.Thread)*2 - 1, Members: []Member{{here, here}}}}},
		} {
			if _, err := Order(slices.Clone(threads), &traffic, own, 1, team.Threads{}, nil); err == nil && (bad.Thread != 0 || len(traffic.Collectives) == 0 || traffic.Collectives[0].Root == 0) {
				t.Errorf("%+v is taken", traffic)
			}
		}
	}
}

// A program of random computing, messages, collectives on random clocks: Solve and Order put it on one time line
// in which nothing returns before what it waited for was sent, every burst has its length, no call a negative one, and
// every time is where it was, within what is said.
func TestOneTimeLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rounds = 60
		nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		scale := math.Pow(10, rapid.Float64Range(4, 9).Draw(t, "burst")) // short runs too, in which no rate can be determined
		clocks := drawClocks(t, nodes, scale*rounds*2)
		now := make([]float64, nodes) // true time
		threads := make([]Thread, nodes)
		truth := make([]Thread, nodes)
		for i := range threads {
			threads[i], truth[i] = Thread{Node: i, Gaps: []int32{0}}, Thread{Node: i}
		}
		row := func(i int, enter, exit float64) Place {
			add := func(th *Thread, c oscillator) {
				th.EnterNS, th.ExitNS = append(th.EnterNS, c.at(enter)), append(th.ExitNS, c.at(exit))
			}
			add(&threads[i], clocks[i])
			add(&truth[i], clocks[0])
			now[i] = exit
			return Place{int32(i), int32(len(threads[i].EnterNS) - 1)}
		}
		var traffic Traffic
		for round := range rounds {
			for i := range now {
				now[i] += scale * random.ExpFloat64()
			}
			if round%5 == 0 {
				c := Collective{Flow: Flow(random.IntN(4)), Root: random.IntN(nodes)}
				enters := slices.Clone(now)
				for i := range nodes {
					exit := enters[i] + 1000
					switch {
					case c.Flow == AllToAll, c.Flow == ToRoot && i == c.Root:
						exit = slices.Max(enters) + 1000
					case c.Flow == FromRoot:
						exit = max(exit, enters[c.Root]+1000)
					case c.Flow == Prefix:
						exit = slices.Max(enters[:i+1]) + 1000
					}
					p := row(i, enters[i], exit)
					c.Members = append(c.Members, Member{p, p})
				}
				traffic.Collectives = append(traffic.Collectives, c)
				continue
			}
			i := random.IntN(nodes)
			j := (i + 1 + random.IntN(nodes-1)) % nodes
			sent := now[i]
			send := row(i, sent, sent+500)
			traffic.Messages = append(traffic.Messages, Message{send, row(j, now[j], max(now[j], sent+800)+200)})
		}
		local := make([]Thread, nodes)
		in := Input{}
		for i := range threads {
			th := &threads[i]
			local[i] = Thread{EnterNS: slices.Clone(th.EnterNS), ExitNS: slices.Clone(th.ExitNS)}
			span := Span{1, 0}
			if n := len(th.EnterNS); n > 0 {
				span = Span{th.EnterNS[0], th.ExitNS[n-1]}
			}
			in.Spans = append(in.Spans, span)
		}
		for i := range local {
			local[i].Node = i
		}
		bounds, refused := traffic.Bounds(local, always, 2)
		if refused != 0 {
			t.Fatalf("%d bounds are refused", refused)
		}
		in.Bounds = slices.Values(bounds)
		s := solve(t, in)
		o, err := Order(threads, &traffic, func(node int, ns int64) int64 { return s.Lines[node].At(ns) }, 1, team.Threads{}, nil)
		if err != nil || o.Unordered > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		for i := range threads {
			for r := range threads[i].EnterNS {
				enter, exit := threads[i].EnterNS[r], threads[i].ExitNS[r]
				if exit < enter {
					t.Fatalf("thread %d, call %d: from %d to %d", i, r, enter, exit)
				}
				if r > 0 && enter-threads[i].ExitNS[r-1] != local[i].EnterNS[r]-local[i].ExitNS[r-1] {
					t.Fatalf("thread %d: the burst before call %d has changed", i, r)
				}
				for _, at := range [2]struct{ local, placed, truth int64 }{
					{local[i].EnterNS[r], enter, truth[i].EnterNS[r]}, {local[i].ExitNS[r], exit, truth[i].ExitNS[r]},
				} {
					u := s.Lines[i].Uncertainty(at.local) + float64(o.OffNS) + 2
					if wrong := math.Abs(float64(at.placed - at.truth)); wrong > u {
						t.Fatalf("thread %d, call %d: wrong by %g, said to be within %g", i, r, wrong, u)
					}
				}
			}
		}
		for _, m := range traffic.Messages {
			if send, recv := threads[m.Send.Thread].EnterNS[m.Send.Row], threads[m.Recv.Thread].ExitNS[m.Recv.Row]; recv < send {
				t.Fatalf("sent at %d, there at %d", send, recv)
			}
		}
		for _, c := range traffic.Collectives {
			for k, m := range c.Members {
				for j, other := range c.Members {
					waits := c.Flow == AllToAll || c.Flow == FromRoot && j == c.Root || c.Flow == ToRoot && k == c.Root || c.Flow == Prefix && j < k
					if exit, enter := threads[m.End.Thread].ExitNS[m.End.Row], threads[other.Start.Thread].EnterNS[other.Start.Row]; waits && exit < enter {
						t.Fatalf("flow %d: member %d leaves at %d, member %d comes at %d", c.Flow, k, exit, j, enter)
					}
				}
			}
		}
	})
}

// With any number of workers calls come to the same places: of so many threads that they are shared out, with messages,
// meetings, and calls that wait for each other.
func TestOrderWorkers(t *testing.T) {
	const n, rounds = 3 * sideBySide, 40
	random := rand.New(rand.NewPCG(7, 8))
	original := make([]Thread, n)
	var traffic Traffic
	for round := range rounds {
		meets := Collective{Flow: Flow(round % 4), Root: random.IntN(n)}
		for i := range original {
			th := &original[i]
			th.Node = i / 64
			last := int64(0)
			if round > 0 {
				last = th.ExitNS[len(th.ExitNS)-1]
			}
			for range 3 {
				enter := last + random.Int64N(1000)
				last = enter + random.Int64N(300)
				th.EnterNS, th.ExitNS = append(th.EnterNS, enter), append(th.ExitNS, last)
			}
			if random.IntN(20) == 0 {
				th.Gaps = append(th.Gaps, int32(3*round))
			}
			p := Place{int32(i), int32(3*round + 2)}
			meets.Members = append(meets.Members, Member{p, p})
			traffic.Messages = append(traffic.Messages, Message{Place{int32(i), int32(3 * round)}, Place{int32(random.IntN(n)), int32(3*round + 1)}})
		}
		traffic.Collectives = append(traffic.Collectives, meets)
	}
	traffic.Messages = append(traffic.Messages, Message{Place{5, 20}, Place{9, 12}}, Message{Place{9, 20}, Place{5, 12}})
	at := func(node int, ns int64) int64 { return ns + int64(node)*37 + ns/int64(1000+node) }
	order := func(workers int) ([]Thread, Ordered) {
		threads := slices.Clone(original)
		for i := range threads {
			threads[i].EnterNS, threads[i].ExitNS = slices.Clone(threads[i].EnterNS), slices.Clone(threads[i].ExitNS)
		}
		o, err := Order(threads, &traffic, at, workers, team.Threads{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return threads, o
	}
	want, did := order(1)
	if did.Unordered == 0 || did.Late == 0 || did.OffNS == 0 {
		t.Errorf("%+v: not all there is to do", did)
	}
	for _, workers := range []int{0, 2, 16} {
		got, o := order(workers)
		if d := cmp.Diff(did, o); d != "" {
			t.Errorf("%d workers: %s", workers, d)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers: calls come to other places", workers)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	const nodes, rows = 64, 20_000
	at := func(_ int, ns int64) int64 { return ns + ns/100_000 }
	original := make([]Thread, nodes)
	var traffic Traffic
	for i := range original {
		for r := range int64(rows) {
			original[i].EnterNS = append(original[i].EnterNS, r*10_000)
			original[i].ExitNS = append(original[i].ExitNS, r*10_000+2000)
			if r%2 == 0 {
				traffic.Messages = append(traffic.Messages, Message{Place{int32(i), int32(r)}, Place{int32((i + 1) % nodes), int32(r + 1)}})
			}
		}
	}
	for b.Loop() {
		b.StopTimer()
		threads := slices.Clone(original)
		for i := range threads {
			threads[i].EnterNS, threads[i].ExitNS = slices.Clone(threads[i].EnterNS), slices.Clone(threads[i].ExitNS)
		}
		b.StartTimer()
		if _, err := Order(threads, &traffic, at, 2, team.Threads{}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(nodes*rows), "ns/call")
}

// Threads that all meet, again and again: each meeting is to take as long for each of many threads as for each of few.
func BenchmarkOrderOfMeetings(b *testing.B) {
	const meetings = 20
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var traffic Traffic
			for k := range meetings {
				c := Collective{Flow: AllToAll}
				for i := range n {
					p := Place{int32(i), int32(k)}
					c.Members = append(c.Members, Member{p, p})
				}
				traffic.Collectives = append(traffic.Collectives, c)
			}
			for b.Loop() {
				b.StopTimer()
				threads := make([]Thread, n)
				for i := range threads {
					threads[i].Node = i
					for k := range int64(meetings) {
						threads[i].EnterNS = append(threads[i].EnterNS, 1000*k+int64(i%7))
						threads[i].ExitNS = append(threads[i].ExitNS, 1000*k+100)
					}
				}
				b.StartTimer()
				if _, err := Order(threads, &traffic, own, 2, team.Threads{}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*meetings), "ns/member")
		})
	}
}
