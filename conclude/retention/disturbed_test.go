package retention

import (
	"slices"
	"testing"

	"moriens/trace"
)

// A burst that is disturbed as others of its kind often are, or of its variant, is usual; one of few is not.
func TestDisturbed(t *testing.T) {
	clusters := []trace.Cluster{
		{ID: 1, Bursts: 100, Kinship: trace.Kinship{MedianNS: 1, KindBursts: 106, DisturbedBursts: 1}},
		{ID: 2, Bursts: 1000, Kinship: trace.Kinship{MedianNS: 1, KindBursts: 1001, DisturbedBursts: 1}},
		{ID: 3, Bursts: 5, Kinship: trace.Kinship{MedianNS: 1, VariantOf: 1}},
	}
	b := &trace.Bursts{
		StartNS: make([]int64, 6), DurationNS: make([]int64, 6),
		Cluster: []int32{1, 3, trace.LabelNoise, 2, trace.LabelNoise, trace.LabelFiltered},
	}
	if disturbed(clusters, b) != nil {
		t.Error("kinds are clusters, and yet some are disturbed")
	}
	b.Kind = []int32{1, 1, 1, 1, 2, trace.LabelFiltered}
	if got, want := disturbed(clusters, b), []bool{false, true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
