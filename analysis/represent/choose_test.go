package represent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/represent"
)

const mib = 1 << 20

func choose(t interface{ Fatal(...any) }, list []represent.Candidate, budget int64) *represent.Choice {
	c, err := represent.Choose(list, represent.Budget{Bytes: budget})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bytesOf is what parts take together.
func bytesOf(parts []represent.Part) int64 {
	n := int64(0)
	for _, p := range parts {
		n += p.Bytes
	}
	return n
}

// Two phases with two exemplars, an outlier, an anomaly on rank 3, a peer.
func someCandidates() []represent.Candidate {
	return []represent.Candidate{
		{Window: 0, Why: represent.Representative, Threads: []int32{4, 1}, Bytes: []int64{mib, mib}, BenefitNS: 10, Reason: "phase 0"},
		{Window: 1, Why: represent.Representative, Threads: []int32{4, 1}, Bytes: []int64{2 * mib, mib}, BenefitNS: 50, Reason: "phase 1"},
		{Window: 1, Why: represent.Outlier, Threads: []int32{6}, Bytes: []int64{mib}, BenefitNS: 50, Reason: "slow"},
		{Window: 2, Why: represent.Anomaly, Threads: []int32{3, 4}, Bytes: []int64{mib, mib}, BenefitNS: 5, Reason: "iteration 500"},
		{Window: 1, Why: represent.Peer, Threads: []int32{3, 6, 5}, Bytes: []int64{mib, mib, mib}, BenefitNS: 50, Reason: "talks to rank 4"},
	}
}

func pairs(parts []represent.Part) map[[2]int]bool {
	set := make(map[[2]int]bool)
	for _, p := range parts {
		for _, t := range p.Threads {
			set[[2]int{p.Window, int(t)}] = true
		}
	}
	return set
}

func TestChoose(t *testing.T) {
	all := choose(t, someCandidates(), 64*mib)
	if bytesOf(all.Kept) != 10*mib || len(all.Kept) != 5 || len(all.Dropped) != 0 || len(all.Notes) != 0 {
		t.Errorf("%+v", all)
	}
	if last := all.Kept[4]; !slices.Equal(last.Threads, []int32{3, 5}) || last.Bytes != 2*mib || last.Reason != "talks to rank 4" {
		t.Errorf("rank 6 is kept as an outlier, and need not be as a peer: %+v", last)
	}
	// Each step of the budget adds what comes next: first exemplars in both windows, the one of more benefit first.
	want := [][2]int{{1, 4}, {0, 4}, {1, 1}, {0, 1}, {1, 6}, {2, 3}, {2, 4}, {1, 3}, {1, 5}}
	costs := []int64{2, 1, 1, 1, 1, 1, 1, 1, 1}
	var budget int64
	for i, p := range want {
		budget += costs[i] * mib
		c := choose(t, someCandidates(), budget)
		if got := pairs(c.Kept); len(got) != i+1 || !got[p] || bytesOf(c.Kept) != budget {
			t.Errorf("%d MiB: %v", budget/mib, got)
		}
	}
	c := choose(t, someCandidates(), 3*mib+mib/2)
	if r := c.Kept[0].Reason; r != "phase 1 (1 of 2 threads, as many as fit)" {
		t.Error(r)
	}
	if d := c.Dropped[0]; d.Reason != "phase 1; would need 1 MiB; 512 KiB left" || d.Window != 1 {
		t.Errorf("%+v", d)
	}
	if len(c.Notes) != 1 || c.Notes[0] != "3.5 MiB are left for windows; the most important ones need 5 MiB: 2 of 4 pairs of windows and threads are kept" {
		t.Error(c.Notes)
	}
	// What is left would hold a peer, but the anomaly did not fit.
	list := someCandidates()
	list[3].Bytes[0] = 40 * mib
	c = choose(t, list, 10*mib)
	if d := c.Dropped[1]; d.Why != represent.Peer || d.Reason != "talks to rank 4; would need 2 MiB; 4 MiB left, and more important ones did not fit" {
		t.Errorf("%+v", c.Dropped)
	}
	if len(c.Notes) != 0 {
		t.Error(c.Notes)
	}
	if c := choose(t, list, 0); len(c.Kept) != 0 || len(c.Notes) != 1 {
		t.Errorf("%+v", c)
	}
	if c := choose(t, nil, 0); !reflect.DeepEqual(*c, represent.Choice{}) {
		t.Errorf("%+v", c)
	}
}

// What is bounded for its reason leaves the others alone: what does not fit there is passed over.
func TestChooseWithin(t *testing.T) {
	list := append(someCandidates(), represent.Candidate{Window: 3, Why: represent.Anomaly, Threads: []int32{0}, Bytes: []int64{mib / 2}, BenefitNS: 1, Reason: "iteration 7"})
	for _, tt := range []struct {
		bytes   int64
		windows []int // kept as anomalies
	}{{0, nil}, {mib/2 - 1, nil}, {mib / 2, []int{3}}, {mib, []int{2}}, {3 * mib / 2, []int{2, 3}}, {5 * mib / 2, []int{2, 3}}} {
		c, err := represent.Choose(list, represent.Budget{Bytes: 64 * mib, Of: map[represent.Why]int64{represent.Anomaly: tt.bytes}})
		if err != nil {
			t.Fatal(err)
		}
		var windows []int
		var sum int64
		others := 0
		for _, p := range c.Kept {
			if p.Why == represent.Anomaly {
				windows = append(windows, p.Window)
				sum += p.Bytes
			} else {
				others++
			}
		}
		if !slices.Equal(windows, tt.windows) || sum > tt.bytes || others != 4 || len(c.Notes) != 0 {
			t.Errorf("%d bytes: %+v", tt.bytes, c)
		}
		if tt.bytes == mib && (len(c.Dropped) != 2 || c.Dropped[1].Reason != "iteration 7; would need 512 KiB; 0 B left of the 1 MiB available for anomaly windows") {
			t.Errorf("%+v", c.Dropped)
		}
	}
	if _, err := represent.Choose(list, represent.Budget{Bytes: 1, Of: map[represent.Why]int64{represent.Peer: -1}}); err == nil || !strings.Contains(err.Error(), "kept as peer") {
		t.Error(err)
	}
}

func TestChooseRefuses(t *testing.T) {
	for _, c := range []represent.Candidate{
		{Threads: []int32{1}}, {Threads: []int32{1}, Bytes: []int64{-1}}, {Threads: []int32{-1}, Bytes: []int64{1}}, {Why: 9}, {Rank: -1},
	} {
		if _, err := represent.Choose([]represent.Candidate{c}, represent.Budget{Bytes: 1}); err == nil || !strings.HasPrefix(err.Error(), "represent: candidate 0: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := represent.Choose(nil, represent.Budget{Bytes: -1}); err == nil {
		t.Error("a budget of -1 is taken")
	}
}

func drawCandidates(t *rapid.T) []represent.Candidate {
	var list []represent.Candidate
	for range rapid.IntRange(0, 12).Draw(t, "candidates") {
		c := represent.Candidate{
			Window: rapid.IntRange(0, 4).Draw(t, "window"), Why: represent.Why(rapid.IntRange(0, 4).Draw(t, "why")),
			Rank: rapid.IntRange(0, 3).Draw(t, "rank"), BenefitNS: rapid.Int64Range(0, 3).Draw(t, "benefit"),
		}
		c.Threads = rapid.SliceOfNDistinct(rapid.Int32Range(0, 130), 0, 5, rapid.ID[int32]).Draw(t, "threads")
		for range c.Threads {
			c.Bytes = append(c.Bytes, rapid.OneOf(rapid.Int64Range(0, 10), rapid.Just[int64](math.MaxInt64)).Draw(t, "bytes"))
		}
		list = append(list, c)
	}
	return list
}

// The budget holds; the order of candidates does not matter; less budget keeps a part; what is kept matters more than
// what is dropped.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawCandidates(t)
		budget := rapid.Int64Range(0, 60).Draw(t, "budget")
		of := rapid.MapOf(rapid.Map(rapid.IntRange(0, 4), func(i int) represent.Why { return represent.Why(i) }), rapid.Int64Range(0, 30)).Draw(t, "of")
		choose := func(t *rapid.T, list []represent.Candidate, bytes int64) *represent.Choice {
			c, err := represent.Choose(list, represent.Budget{Bytes: bytes, Of: of})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := choose(t, list, budget)
		sums := make(map[represent.Why]int64)
		last := represent.Representative
		for _, p := range c.Kept {
			sums[p.Why] += p.Bytes
			last = max(last, p.Why)
		}
		for why, bytes := range of {
			if sums[why] > bytes {
				t.Fatalf("%d bytes of %v, at most %d", sums[why], why, bytes)
			}
		}
		if sum := bytesOf(c.Kept); sum > budget {
			t.Fatalf("%d bytes of %d", sum, budget)
		}
		for _, p := range c.Dropped {
			if _, bounded := of[p.Why]; p.Why < last && !bounded {
				t.Fatalf("%v is dropped, %v kept", p.Why, last)
			}
		}
		kept, dropped := pairs(c.Kept), pairs(c.Dropped)
		for _, candidate := range list {
			for _, thread := range candidate.Threads {
				p := [2]int{candidate.Window, int(thread)}
				if kept[p] == dropped[p] {
					t.Fatalf("window %d of rank %d: kept %v, dropped %v", p[0], p[1], kept[p], dropped[p])
				}
			}
		}
		half := pairs(choose(t, list, budget/2).Kept)
		for p := range half {
			if !kept[p] {
				t.Fatalf("half of the budget keeps %v, all of it does not", p)
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		shuffled := slices.Clone(list)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if other := choose(t, shuffled, budget); !reflect.DeepEqual(c, other) {
			t.Fatalf("%+v in another order %+v", c, other)
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	for _, threads := range []int{1_000, 100_000} {
		list := make([]represent.Candidate, 64)
		for i := range list {
			list[i] = represent.Candidate{Window: i, Why: represent.Fallback, BenefitNS: int64(i * 7919 % 64)}
			for t := range int32(threads) {
				list[i].Threads = append(list[i].Threads, t)
				list[i].Bytes = append(list[i].Bytes, 1000)
			}
		}
		b.Run(fmt.Sprintf("windows=64/threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, err := represent.Choose(list, represent.Budget{Bytes: 64 * mib}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
