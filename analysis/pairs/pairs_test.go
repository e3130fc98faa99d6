package pairs_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/pairs"
	"moriens/analysis/waits"
	"moriens/internal/team"
)

// a run of two ranks: calls of rank 1 complete what rank 0 sends.
func run(messages []pairs.Message, threads ...pairs.Thread) *pairs.Run {
	for i := range threads {
		threads[i].Path = make([]uint32, len(threads[i].EnterNS))
	}
	return &pairs.Run{Threads: threads, Tests: []bool{false}, Messages: len(messages), Message: func(i int) pairs.Message { return messages[i] }, Workers: 2}
}

// fatal is what tests of both kinds can do.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func solved(t fatal, x *pairs.Run) *pairs.Result {
	t.Helper()
	records, err := pairs.Local(x, team.Threads{})
	if err == nil {
		err = records.Merge(team.Threads{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return records.Solve()
}

// The time of a call is shared equally among its receives, without remainder; who was late has all of the late time. A
// call that completes sends alone shares its time among these. Of messages alone in their call the time is seen, if the
// receiver was there before.
func TestShares(t *testing.T) {
	receiver := pairs.Thread{Rank: 1, EnterNS: []int64{100, 500, 900}, ExitNS: []int64{200, 601, 990}, Waits: []waits.Wait{
		{Row: 0, For: 0, Kind: waits.LateSender, UntilNS: 170}, {Row: 1, For: 0, Kind: waits.LateSender, UntilNS: 550}, {Row: 2, For: 0, Kind: waits.LateReceiver, UntilNS: 950},
	}}
	sender := pairs.Thread{EnterNS: []int64{170, 410, 550, 950}, ExitNS: []int64{180, 420, 560, 960}}
	r := solved(t, run([]pairs.Message{
		{From: 0, To: 1, SendNS: 170, Bytes: 10, Send: 0, Sent: 0, Done: pairs.Place{Thread: 1, Row: 0}},
		{From: 0, To: 1, SendNS: 410, Bytes: 20, Send: 1, Sent: 1, Done: pairs.Place{Thread: 1, Row: 1}},
		{From: 0, To: 1, SendNS: 550, Bytes: 30, Send: 2, Sent: 2, Done: pairs.Place{Thread: 1, Row: 1}},
		{From: 1, To: 0, SendNS: 900, Bytes: 40, Send: 2, Sent: 2, Done: pairs.Place{Thread: 0, Row: 3}},
	}, sender, receiver))
	want := []pairs.Flow{
		{Rank: 0, Peer: 1, Kind: pairs.Sent, Sums: pairs.Sums{Messages: 3, Bytes: 60, BlockedNS: 30, RestNS: 30}, Known: 3, LongestNS: 10, FirstNS: 10, FirstRestNS: 10},
		{Rank: 0, Peer: 1, Kind: pairs.Received, Sums: pairs.Sums{Messages: 1, Bytes: 40, BlockedNS: 10, RestNS: 10}, Known: 1, LongestNS: 10, FirstNS: 10, FirstRestNS: 10},
		{Rank: 1, Peer: 0, Kind: pairs.Sent, Sums: pairs.Sums{Messages: 1, Bytes: 40, BlockedNS: 90, RestNS: 40}, Known: 1, LongestNS: 90, FirstNS: 90, FirstRestNS: 40, LateNS: 50},
		{Rank: 1, Peer: 0, Kind: pairs.Received, Sums: pairs.Sums{Messages: 3, Bytes: 60, BlockedNS: 201, RestNS: 81}, Known: 3, LongestNS: 100, FirstNS: 100, FirstRestNS: 30, LateNS: 120},
	}
	if !reflect.DeepEqual(r.Flows, want) {
		t.Errorf("%+v\nwant %+v", r.Flows, want)
	}
	if seen := []pairs.Seen{{Rank: 1, Peer: 0, Bytes: 10, NS: 30, Messages: 1}, {Rank: 1, Peer: 0, Bytes: 30, NS: 51, Messages: 1, Shared: true}}; !reflect.DeepEqual(r.Seen, seen) {
		t.Errorf("seen: %+v", r.Seen)
	}
}

// A run of tests counts from the first one that follows within 20 us, and not before what another one completed.
func TestRunOfTests(t *testing.T) {
	x := run([]pairs.Message{
		{From: 1, To: 0, SendNS: 5, Send: -1, Sent: -1, Done: pairs.Place{Thread: 0, Row: 1}}, {From: 1, To: 0, SendNS: 6, Send: -1, Sent: -1, Done: pairs.Place{Thread: 0, Row: 3}},
	}, pairs.Thread{EnterNS: []int64{0, 100_000, 110_000, 120_000}, ExitNS: []int64{50_000, 105_000, 118_000, 121_000}}, pairs.Thread{Rank: 1})
	x.Tests = []bool{true}
	r := solved(t, x)
	if f := r.Flows[0]; f.BlockedNS != 5000+11_000 || f.LongestNS != 11_000 || len(r.Seen) > 0 {
		t.Errorf("%+v, %+v", f, r.Seen)
	}
}

// Sums by size and by call path are those of the flows, blocked times those of the calls, whatever the messages are.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		threads := make([]pairs.Thread, ranks)
		for i := range threads {
			now := int64(0)
			threads[i].Rank = int32(i)
			for range rapid.IntRange(1, 10).Draw(t, "calls") {
				now += rapid.Int64Range(1, 1000).Draw(t, "between")
				threads[i].EnterNS = append(threads[i].EnterNS, now)
				now += rapid.Int64Range(0, 1000).Draw(t, "takes")
				threads[i].ExitNS = append(threads[i].ExitNS, now)
			}
		}
		var messages []pairs.Message
		received := make(map[pairs.Place]bool)
		for range rapid.IntRange(0, 60).Draw(t, "messages") {
			from, to := rapid.IntRange(0, ranks-1).Draw(t, "from"), rapid.IntRange(0, ranks-1).Draw(t, "to")
			send := rapid.IntRange(0, len(threads[from].EnterNS)-1).Draw(t, "send")
			done := pairs.Place{Thread: int32(to), Row: int32(rapid.IntRange(-1, len(threads[to].EnterNS)-1).Draw(t, "done"))}
			if done.Row >= 0 {
				received[done] = true
			}
			messages = append(messages, pairs.Message{
				From: int32(from), To: int32(to), SendNS: threads[from].EnterNS[send], Bytes: rapid.Int64Range(0, 1<<20).Draw(t, "bytes"), Send: int32(send), Sent: int32(send), Done: done,
			})
		}
		r := solved(t, run(messages, threads...))
		blocked, want := int64(0), int64(0)
		for p := range received {
			want += threads[p.Thread].ExitNS[p.Row] - threads[p.Thread].EnterNS[p.Row]
		}
		sums := make(map[[3]int32]pairs.Sums)
		for _, f := range r.Flows {
			if f.Kind == pairs.Received {
				blocked += f.BlockedNS
			}
			sums[[3]int32{f.Rank, f.Peer, int32(f.Kind)}] = f.Sums
		}
		if blocked != want {
			t.Fatalf("blocked %d ns, want %d", blocked, want)
		}
		for _, s := range r.Sizes {
			k := [3]int32{s.Rank, s.Peer, int32(s.Kind)}
			x := sums[k]
			x.Messages, x.Bytes, x.BlockedNS, x.RestNS = x.Messages-s.Messages, x.Bytes-s.Bytes, x.BlockedNS-s.BlockedNS, x.RestNS-s.RestNS
			sums[k] = x
			if bits.Len64(uint64(s.Bytes/s.Messages)) != int(s.Bin) {
				t.Fatalf("%+v", s)
			}
		}
		for k, x := range sums {
			if x != (pairs.Sums{}) {
				t.Fatalf("%v: %+v are of no size", k, x)
			}
		}
	})
}

// Estimates from windows that are chosen by chance hold the truth within 3 standard errors, for the sums of all ranks,
// for those who are waited for, and for pairs, in at least 95 of 100 runs.
func TestEstimate(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const runs, windows, ranks, most = 100, 2000, 8, 5
	rankOf := make([]int32, ranks)
	for i := range rankOf {
		rankOf[i] = int32(i)
	}
	type of struct {
		rank, peer int32
		kind       pairs.Kind
	}
	held, forHeld, pairsHeld, pairsAll := 0, 0, 0, 0
	for range runs {
		truth, ofFor, ofPair := [2]float64{}, [ranks]float64{}, make(map[of]float64)
		lates := make([][]pairs.Late, ranks)
		for w := range windows {
			halved := uint8(r.IntN(most + 1))
			taken := r.Float64() < math.Ldexp(1, -int(halved))
			for range 1 + r.IntN(8) {
				k := of{int32(r.IntN(ranks)), int32(r.IntN(ranks)), pairs.Kind(r.IntN(2))}
				late := int64(10_000 * r.ExpFloat64())
				truth[k.kind] += float64(late)
				ofFor[k.peer] += float64(late)
				ofPair[k] += float64(late)
				if taken {
					lates[k.rank] = append(lates[k.rank], pairs.Late{For: k.peer, Kind: k.kind, NS: late, Window: uint64(w), Halved: halved})
				}
			}
		}
		e := pairs.Estimate(rankOf, lates, most)
		within := func(x pairs.Estimated, want float64) int {
			if math.Abs(float64(x.NS)-want) <= 3*x.ErrorNS() {
				return 1
			}
			return 0
		}
		for kind, want := range truth {
			held += within(e.Kinds[kind], want)
		}
		for rank, want := range ofFor {
			forHeld += within(e.For[rank], want)
		}
		for k, want := range ofPair {
			pairsAll++
			pairsHeld += within(e.Of(k.rank, k.peer, k.kind), want)
		}
	}
	t.Logf("%d of %d sums, %d of %d ranks, %d of %d pairs", held, 2*runs, forHeld, ranks*runs, pairsHeld, pairsAll)
	if held < 95*2*runs/100 || forHeld < 95*ranks*runs/100 || pairsAll < 1000 || float64(pairsHeld) < .95*float64(pairsAll) {
		t.Error("too few")
	}
}

// Windows that were all taken leave no error. What ends in another window counts by both.
func TestEstimateOfWaits(t *testing.T) {
	waits := [][]pairs.Late{{
		{For: 2, Kind: pairs.Received, NS: 15, Window: 1}, {For: 1, Kind: pairs.Received, NS: 7, Window: 2, Halved: 2}, {For: 1, Kind: pairs.Sent, NS: 9, Window: 2, Halved: 2},
		{For: 1, Kind: pairs.Sent, NS: 1, Window: 2, Halved: 4},
	}, nil, nil}
	e := pairs.Estimate([]int32{0, 1, 2}, waits, 2)
	for _, x := range []struct {
		got  pairs.Estimated
		ns   int64
		want float64
	}{
		{e.Kinds[pairs.Received], 15 + 28, 4*3*49 + 4*3*(15*15+49)/2},
		{e.Kinds[pairs.Sent], 36 + 16, (52-10)*52 + 4*3*100},
		{e.Of(0, 1, pairs.Received), 28, 4*3*49 + 4*3*49},
		{e.Of(0, 2, pairs.Received), 15, 4 * 3 * 15 * 15},
		{e.For[2], 15, 4 * 3 * 15 * 15},
		{e.Of(1, 0, pairs.Sent), 0, 0},
	} {
		if x.got.NS != x.ns || x.got.VarNS2 != x.want {
			t.Errorf("%+v, want %d ns, %g", x.got, x.ns, x.want)
		}
	}
	for k := range waits[0] {
		waits[0][k].Halved = 0
	}
	if x := pairs.Estimate([]int32{0, 1, 2}, waits, 0).Kinds[pairs.Received]; x.NS != 22 || x.ErrorNS() != 0 {
		t.Errorf("%+v", x)
	}
}

// A message that stands for others counts so often, but for what was seen of it.
func TestHalved(t *testing.T) {
	messages := []pairs.Message{
		{From: 0, To: 1, SendNS: 10, Bytes: 8, Send: 0, Sent: 0, Done: pairs.Place{Thread: 1, Row: 0}, Halved: 3},
		{From: 0, To: 1, SendNS: 40, Bytes: 8, Send: 1, Sent: 1, Done: pairs.Place{Thread: 1, Row: 1}},
	}
	receiver := pairs.Thread{Rank: 1, EnterNS: []int64{5, 30}, ExitNS: []int64{25, 60}, Waits: []waits.Wait{{Row: 0, For: 0, Kind: waits.LateSender, UntilNS: 10, Halved: 3}}}
	r := solved(t, run(messages, pairs.Thread{EnterNS: []int64{10, 40}, ExitNS: []int64{11, 41}}, receiver))
	want := pairs.Sums{Messages: 9, Bytes: 72, BlockedNS: 8*20 + 30, RestNS: 8*15 + 30}
	for _, f := range r.Flows {
		if f.Kind == pairs.Received && (f.Sums != want || f.Known != 2 || f.LateNS != 40 || f.LongestNS != 30) {
			t.Errorf("%+v", f)
		}
	}
	if len(r.Sizes) != 2 || r.Sizes[1].Sums != want || len(r.Seen) == 0 {
		t.Errorf("%+v", r)
	}
	seen, sends := int64(0), int64(0)
	for _, x := range r.Seen {
		seen += x.Messages
	}
	for _, x := range r.Gaps {
		sends += x.Messages
	}
	if seen != 2 || sends != 9 {
		t.Errorf("%d seen, %d sent", seen, sends)
	}
}

// Columns that do not fit, and messages of threads that are not there, are refused.
func TestRefuses(t *testing.T) {
	x := run(nil, pairs.Thread{EnterNS: []int64{1}, ExitNS: []int64{2}})
	x.Threads[0].ExitNS = nil
	if _, err := pairs.Local(x, team.Threads{}); err == nil {
		t.Error("no error")
	}
	if _, err := pairs.Local(run([]pairs.Message{{From: 0, To: 3}}, pairs.Thread{}), team.Threads{}); err == nil {
		t.Error("no error")
	}
}

func BenchmarkLocal(b *testing.B) {
	const ranks, each = 64, 10_000
	threads := make([]pairs.Thread, ranks)
	for i := range threads {
		threads[i].Rank = int32(i)
		for k := range each {
			threads[i].EnterNS, threads[i].ExitNS = append(threads[i].EnterNS, int64(1000*k)), append(threads[i].ExitNS, int64(1000*k+500))
		}
	}
	var messages []pairs.Message
	for k := range each {
		for i := range ranks {
			messages = append(messages, pairs.Message{
				From: int32(i), To: int32((i + 1 + k%26) % ranks), SendNS: int64(1000*k + 100), Bytes: int64(64 << (k % 4)), Send: int32(k), Sent: int32(k), Done: pairs.Place{Thread: int32((i + 1 + k%26) % ranks), Row: int32(k)},
			})
		}
	}
	x := run(slices.Clip(messages), threads...)
	b.ReportAllocs()
	for b.Loop() {
		solved(b, x)
	}
	b.ReportMetric(float64(len(messages)*b.N)/b.Elapsed().Seconds(), "messages/s")
}
