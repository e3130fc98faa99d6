package health

import (
	"math"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	var r Rate
	start := time.Unix(1000, 0)
	if r.PerSecond() != 0 {
		t.Error("a rate of nothing")
	}
	count := uint64(0)
	for second := range 100 {
		r.Add(start.Add(time.Duration(second)*time.Second), count)
		if second < 50 {
			count += 10
		} else {
			count += 70
		}
		if want := 10.0; second > 0 && second <= 50 && math.Abs(r.PerSecond()-want) > 1e-9 {
			t.Fatalf("second %d: %v, want %v", second, r.PerSecond(), want)
		}
	}
	if got := r.PerSecond(); math.Abs(got-70) > 1e-9 {
		t.Errorf("%v after half of the time at 70 a second", got)
	}
	if len(r.samples) > 12 {
		t.Errorf("%d samples are kept", len(r.samples))
	}
	r.Add(start.Add(99*time.Second), count) // no time has passed
	if got := r.PerSecond(); math.IsInf(got, 0) || math.IsNaN(got) {
		t.Errorf("rate %v", got)
	}
}

// Where readings are rare the rate is over the window and the reading before it, and no longer.
func TestRateOfSeldomReadings(t *testing.T) {
	var r Rate
	start := time.Unix(1000, 0)
	for i, count := range []uint64{0, 700, 707, 714} {
		r.Add(start.Add(time.Duration(7*i)*time.Second), count)
	}
	if got := r.PerSecond(); math.Abs(got-1) > 1e-9 {
		t.Errorf("%v a second, want 1 in the last 14", got)
	}
}
