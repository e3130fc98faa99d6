package represent

import "testing"

func TestPair(t *testing.T) {
	quantities := []Quantity{{Kind: ComputeNS, Cluster: 1}, {Kind: ComputeNS, Cluster: 2}, {Kind: SentBytes}}
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{1e9, 1e8, 100, 1.1e9, 1.1e8, 110}, ""},
		{[]float64{1e9, 1e8, 100, 1.3e9, 1.1e8, 100}, "rank 1 spends 30 % more time in cluster 1 than rank 0 (1.30 s and 1.00 s)"},
		{[]float64{2.5e9, 1e8, 100, 1e9, 1e8, 100}, "rank 0 spends 2.50 times the time in cluster 1 of rank 1 (2.50 s and 1.00 s)"},
		{[]float64{1e9, 1e8, 0, 1e9, 1e8, 100}, "rank 1 sends 100 B, rank 0 none"},
	} {
		r := Ranks{Quantities: quantities, Values: tt.values}
		if got := pairOf(&r, newVectors(&r)); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}
