package kinds

import (
	"math"
	"slices"
	"testing"
)

// A kind with hardly a burst at a place of its own is a variant of the kind that has its places. One that keeps a tenth
// of its bursts remains a kind.
func TestKindWithoutPlaces(t *testing.T) {
	for _, tt := range []struct {
		name         string
		kept, others int // of the twenty bursts of cluster 1 that have its kind by place, and bursts of noise that have
		kindOf       []int32
		want         []bool
		kinds        int // bursts with kind 1 in the end
	}{
		{"none is kept", 0, 0, []int32{0, 0, 2}, []bool{false, true, false}, 0},
		{"one of twenty", 1, 0, []int32{0, 0, 2}, []bool{false, true, false}, 0},
		{"all are kept", 20, 0, []int32{0, 1, 2}, []bool{false, false, false}, 20},
		{"a tenth", 2, 0, []int32{0, 1, 2}, []bool{false, false, false}, 2},
		{"what was noise counts", 0, 2, []int32{0, 1, 2}, []bool{false, false, false}, 2},
	} {
		d := &Decision{KindOf: []int32{0, 1, 2}, Predicted: []float64{.5, .9, .7}}
		add := func(n int, cluster, kind int32) {
			for range n {
				d.Cluster, d.Kind = append(d.Cluster, cluster), append(d.Kind, kind)
			}
		}
		add(50, 0, 0)
		add(20-tt.kept-3, 1, 0) // most are at the places of 0, some at those of 2
		if tt.kept < 18 {
			add(3, 1, 2)
		} else {
			d.Cluster, d.Kind = d.Cluster[:50], d.Kind[:50]
		}
		add(tt.kept, 1, 1)
		add(tt.others, None, 1)
		add(30, 2, 2)
		add(4, None, None)
		d.giveUp(alone(2))
		if !slices.Equal(d.KindOf, tt.kindOf) || !slices.Equal(d.Elsewhere, tt.want) {
			t.Errorf("%s: kinds %v, given up %v, want %v, %v", tt.name, d.KindOf, d.Elsewhere, tt.kindOf, tt.want)
		}
		if tt.want[1] != math.IsNaN(d.Predicted[1]) {
			t.Errorf("%s: predicted %v", tt.name, d.Predicted)
		}
		has := 0
		for _, kind := range d.Kind {
			if kind == 1 {
				has++
			}
		}
		if has != tt.kinds {
			t.Errorf("%s: %d bursts of the kind, want %d", tt.name, has, tt.kinds)
		}
	}
}
