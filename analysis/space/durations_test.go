package space

import (
	"testing"

	"pgregory.net/rapid"
)

// The histogram finds the limit that the durations themselves give, when these are as coarse as it is.
func TestDurationsAreTheFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(0, 3000), rapid.Just(int64(777)), rapid.Int64Range(0, 1<<40), rapid.Int64Range(1<<41, 1<<45),
		), 0, 300).Draw(t, "durations")
		var h Durations
		if got := h.AutoMinNS(); got != 0 {
			t.Fatalf("of none: %d", got)
		}
		total := int64(0)
		for i, d := range durations {
			durations[i] = leastOf(bucket(d))
			if d < durations[i] || d > durations[i]+durations[i]/256 {
				t.Fatalf("%d is in the bucket of %d", d, durations[i])
			}
			h.Add(durations[i])
			total += durations[i]
		}
		if h.TotalNS() != total {
			t.Fatalf("total %d, want %d", h.TotalNS(), total)
		}
		got, want := h.AutoMinNS(), autoMinNS(durations)
		// Equal durations go or stay together, in the one and in the other.
		if got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}
