package represent

import (
	"math"
	"testing"
)

func TestDisturbedIsUsual(t *testing.T) {
	all := []usual{{}, {bursts: 100, medianNS: 10, lowNS: 5, highNS: 20}}
	s := &stretch{}
	thread := &Thread{Cluster: []int32{1, 1, Noise}, DurationNS: []int64{90, 10, math.MaxInt32}}
	if kind, ns := s.odd(all, thread, 0); kind != farDuration || ns != 80 {
		t.Errorf("a long burst: %v, %d ns", kind, ns)
	}
	thread.Disturbed = []bool{true, false, true}
	for b := range thread.Cluster {
		if kind, ns := s.odd(all, thread, int32(b)); kind != notOdd || ns != 0 {
			t.Errorf("burst %d: %v, %d ns", b, kind, ns)
		}
	}
}
