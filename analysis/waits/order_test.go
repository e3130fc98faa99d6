package waits

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"moriens/internal/testenv"
)

// Waits are in the order of their ends, however many there are, and whether those of a thread are in order or not.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 1))
	for _, tt := range []struct {
		threads, each int
		spreadNS      int64
		sorted        bool
	}{{0, 0, 1, true}, {3, 1, 1, true}, {5, 40_000, 1 << 40, true}, {5, 40_000, 7, true}, {300, 500, 1 << 20, true}, {5, 20_000, 1 << 30, false}, {1, 3, 0, true}} {
		s := &solver{run: &Run{DurationNS: tt.spreadNS + 5}, waits: make([][]wait, tt.threads)}
		var want []place
		for i := range s.waits {
			for range random.IntN(tt.each + 1) {
				s.waits[i] = append(s.waits[i], wait{UntilNS: random.Int64N(tt.spreadNS + 1)})
			}
			if tt.sorted {
				slices.SortFunc(s.waits[i], func(a, b wait) int { return cmp.Compare(a.UntilNS, b.UntilNS) })
			}
			for k := len(s.waits[i]) - 1; k >= 0; k-- {
				want = append(want, place{int32(i), int32(k)})
			}
		}
		slices.SortStableFunc(want, func(a, b place) int {
			return cmp.Compare(s.waits[b.thread][b.row].UntilNS, s.waits[a.thread][a.row].UntilNS)
		})
		if got := s.order(); !slices.Equal(got, want) {
			t.Errorf("%+v: %d places, want %d, or they are in another order", tt, len(got), len(want))
		}
	}
}
