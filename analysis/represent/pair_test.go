package represent

import (
	"slices"
	"testing"
)

func TestPair(t *testing.T) {
	quantities := []Quantity{{Kind: ComputeNS, Cluster: 1}, {Kind: ComputeNS, Cluster: 2}, {Kind: SentBytes}}
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{1e9, 1e8, 100, 1.1e9, 1.1e8, 110}, ""},
		{[]float64{1e9, 1e8, 100, 1.3e9, 1.1e8, 100}, "rank 1 spends 30 % more time in cluster 1 than rank 0 (1.30 s and 1.00 s)"},
		{[]float64{2.5e9, 1e8, 100, 1e9, 1e8, 100}, "rank 0 spends 2.50 times as much time in cluster 1 as rank 1 (2.50 s and 1.00 s)"},
		{[]float64{1e9, 1e8, 0, 1e9, 1e8, 100}, "rank 1 sends 100 B, rank 0 none"},
	} {
		r := Ranks{Quantities: quantities, Values: tt.values}
		if got := pairOf(&r, newVectors(&r)); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}

// Each class but the first says in what it differs.
func TestClassesDiffer(t *testing.T) {
	quantities := []Quantity{{Kind: ComputeNS, Cluster: 1}, {Kind: ComputeNS, Cluster: 2}, {Kind: SentBytes}}
	r := Ranks{Quantities: quantities}
	for range 6 {
		r.Values = append(r.Values, 1e9, 1e8, 100)
	}
	for range 4 {
		r.Values = append(r.Values, 1.3e9, 1.1e8, 100)
	}
	for range 3 {
		r.Values = append(r.Values, 1e9, 1e8, 250)
	}
	c, err := Classify(r, ClassOptions{Outliers: -1})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range c.Classes {
		got = append(got, c.Classes[i].Differs)
	}
	if want := []string{"", "30 % more time in cluster 1 (1.30 s instead of 1.00 s)", "2.50 times as many bytes sent (250 B instead of 100 B)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	v := newVectors(&r)
	for _, tt := range []struct {
		median, other []float64
		want          string
	}{
		{[]float64{1e9, 0, 100}, []float64{1e9, 1e8, 100}, "no time in cluster 2 instead of 100 ms"},
		{[]float64{1e9, 1e8, 100}, []float64{1e9, 0, 100}, "100 ms in cluster 2 instead of none"},
		{[]float64{1e9, 1e8, 100}, []float64{1e9, 1e8, 0}, "100 B sent instead of none"},
		{[]float64{1e9, 1e8, 100}, []float64{1e9, 1e8, 100}, ""},
		{[]float64{1.3e9, 1.3e8, 90}, []float64{1e9, 1e8, 100}, "30 % more time in cluster 1 (1.30 s instead of 1.00 s), 10 % fewer bytes sent (90 B instead of 100 B)"},
	} {
		if got := differs(quantities, v, tt.median, tt.other); got != tt.want {
			t.Errorf("%v and %v: %q, want %q", tt.median, tt.other, got, tt.want)
		}
	}
}
