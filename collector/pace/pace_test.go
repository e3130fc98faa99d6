package pace

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), start.Add(9*time.Second))
		defer cancel()
		took := []time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond, time.Millisecond}
		var at []time.Duration
		Run(ctx, time.Second, func() time.Duration {
			at = append(at, time.Since(start))
			if len(at) > len(took) {
				return time.Hour
			}
			return took[len(at)-1]
		})
		// 50 times 20 ms is no longer than the interval, 50 times 50 ms is; after an hour's work it waits for the end.
		want := []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 5500 * time.Millisecond, 6500 * time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("worked at %v, want %v", at, want)
		}
		if end := time.Since(start); end != 9*time.Second {
			t.Errorf("ended at %v, want when the context did", end)
		}
	})
}

// Waiting takes no processor time, working does.
func TestProcessor(t *testing.T) {
	start := time.Now()
	waited := Processor(func() { time.Sleep(20 * time.Millisecond) })
	if past := time.Since(start); waited >= past {
		t.Errorf("waiting for %v took %v", past, waited)
	}
	n := 0
	if worked := Processor(func() {
		for i := range 1 << 20 {
			n ^= i
		}
	}); worked <= 0 {
		t.Errorf("%d: no processor time", n)
	}
}
