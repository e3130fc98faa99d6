package agent

import (
	"testing"
	"time"
)

// A ring that fills fast is looked at again soon, however long the agent has slept before; one that does not, ever more
// seldom.
func TestNextPoll(t *testing.T) {
	tests := []struct {
		last    time.Duration
		fullest float64
		want    time.Duration
	}{
		{0, 0, pollMin * 3 / 2},
		{pollMin, 0, pollMin * 3 / 2},
		{pollMax, 0, pollMax},
		{pollMax, pollFill, pollMax},
		{pollMax, 2 * pollFill, pollMax / 2},
		{pollMax, 1, time.Duration(float64(pollMax) * pollFill)},
		{pollMin, 1, pollMin},
		{2 * pollMin, pollFill / 8, 3 * pollMin},
	}
	for _, x := range tests {
		if got := nextPoll(x.last, x.fullest, pollMax); got != x.want {
			t.Errorf("after %v, with a ring %v full: %v, want %v", x.last, x.fullest, got, x.want)
		}
	}
	if got := nextPoll(pollMax, 0, pollDeaf); got != pollDeaf {
		t.Errorf("where nobody can ring: %v", got)
	}
}
