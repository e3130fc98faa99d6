package sequence_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"moriens/analysis/sequence"
)

// disturbed are n ranks of about length bursts in 6 labels, of which a share is disturbed on each rank by itself: eight
// of ten have another label, one comes twice, with another label, and one is not there.
func disturbed(n, length int, share float64, anchored bool, seed uint64) sequence.Threads {
	return disturbedLoop(n, length, 40, share, anchored, seed)
}

// disturbedLoop is disturbed with so many bursts in an iteration.
func disturbedLoop(n, length, period int, share float64, anchored bool, seed uint64) sequence.Threads {
	random := rand.New(rand.NewPCG(seed, 1))
	const count = 6
	loop := make([]int32, period)
	for i := range loop {
		loop[i] = int32(random.IntN(count))
	}
	t := sequence.Threads{Count: count, Labels: make([]int32, 0, n*length), DurationNS: make([]int64, 0, n*length)}
	add := func(label int32) {
		t.Labels = append(t.Labels, label)
		t.DurationNS = append(t.DurationNS, 1000*int64(1+label))
	}
	for range n {
		begin := len(t.Labels)
		var anchors []sequence.Anchor
		for i := range length {
			if anchored && i%len(loop) == 0 {
				anchors = append(anchors, sequence.Anchor{At: len(t.Labels) - begin, Event: uint64(i)})
			}
			label := loop[i%len(loop)]
			if share == 0 || random.Float64() >= share {
				add(label)
				continue
			}
			other := (label + 1 + int32(random.IntN(count-1))) % count
			switch random.IntN(10) {
			case 0:
			case 1:
				add(label)
				add(other)
			default:
				add(other)
			}
		}
		t.Ends = append(t.Ends, len(t.Labels))
		if anchored {
			t.Anchors = append(t.Anchors, anchors)
		}
	}
	return t
}

// BenchmarkCounting is the target: at most .6 s for 10 million bursts, however many differ.
func BenchmarkCounting(b *testing.B) {
	for _, ranks := range []int{2, 100, 10_000} {
		for _, anchored := range []bool{false, true} {
			for _, share := range []float64{0, .01, .12} {
				t := disturbed(ranks, 9_600_000/ranks, share, anchored, 1)
				t.Counting = true
				b.Run(fmt.Sprintf("ranks=%d/anchored=%v/disturbed=%v", ranks, anchored, share), func(b *testing.B) {
					var s *sequence.Score
					for b.Loop() {
						var err error
						if s, err = sequence.Align(t, 2); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(s.Global, "score")
					b.ReportMetric(s.Counted, "counted")
				})
			}
		}
	}
}

// BenchmarkCountingAndEdits takes turns on the same bursts: seconds of either, least and most of its turns, and scores.
func BenchmarkCountingAndEdits(b *testing.B) {
	const turns = 3
	for _, c := range []struct{ ranks, length int }{{2, 500_000}, {4, 50_000}, {16, 10_000}, {100, 2000}, {1000, 200}} {
		for _, anchored := range []bool{false, true} {
			for _, share := range []float64{0, .01, .12} {
				t := disturbed(c.ranks, c.length, share, anchored, 1)
				b.Run(fmt.Sprintf("ranks=%d/length=%d/anchored=%v/disturbed=%v", c.ranks, c.length, anchored, share), func(b *testing.B) {
					for b.Loop() {
						took := make(map[bool][]float64)
						for turn := range 2 * turns {
							t.Counting = turn%2 == 1
							name := "edits"
							if t.Counting {
								name = "counting"
							}
							begin := time.Now()
							s, err := sequence.Align(t, 2)
							if err != nil {
								b.Fatal(err)
							}
							took[t.Counting] = append(took[t.Counting], time.Since(begin).Seconds())
							b.ReportMetric(s.Global, name)
							b.ReportMetric(slices.Min(took[t.Counting]), name+"-s")
							b.ReportMetric(slices.Max(took[t.Counting]), name+"-most-s")
						}
					}
				})
			}
		}
	}
}
