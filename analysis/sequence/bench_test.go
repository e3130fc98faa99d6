package sequence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"moriens/analysis/sequence"
)

// ranks are n sequences of length bursts of 20 kinds, of which each rank lacks as many at random places.
func ranks(n, length, lacking int, anchored bool) sequence.Threads {
	random := rand.New(rand.NewPCG(1, 2))
	t := sequence.Threads{
		Count: 21, Labels: make([]int32, 0, n*length), DurationNS: make([]int64, 0, n*length),
	}
	for range n {
		gone := make(map[int]bool, lacking)
		for len(gone) < lacking {
			gone[random.IntN(length)] = true
		}
		begin := len(t.Labels)
		var anchors []sequence.Anchor
		for i := range length {
			if anchored && i%100 == 0 {
				anchors = append(anchors, sequence.Anchor{At: len(t.Labels) - begin, Event: uint64(i)})
			}
			if !gone[i] {
				t.Labels = append(t.Labels, int32(1+i%20))
				t.DurationNS = append(t.DurationNS, int64(1000*(1+i%20)))
			}
		}
		t.Ends = append(t.Ends, len(t.Labels))
		if anchored {
			t.Anchors = append(t.Anchors, anchors)
		}
	}
	return t
}

// BenchmarkAgree is the target: 10,000 ranks of 10,000 bursts that agree, in at most 2 s.
func BenchmarkAgree(b *testing.B) {
	for _, c := range []struct {
		name     string
		lacking  int
		anchored bool
	}{
		{"all", 0, false}, {"all,anchored", 0, true}, {"but for one", 1, false}, {"but for one,anchored", 1, true},
	} {
		t := ranks(10_000, 10_000, c.lacking, c.anchored)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(b *testing.B) {
				for b.Loop() {
					if _, err := sequence.Align(t, workers); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
