package overview

import (
	"slices"
	"testing"

	"moriens/trace"
)

// Threads that are known as totals only share rows with each other, and with no others as long as there is room.
func TestRowsOfUntimedThreads(t *testing.T) {
	run := &trace.Run{Threads: make([]trace.Thread, 1000)}
	for _, i := range []int{0, 400, 401, 999} {
		run.Threads[i].EndNS = 5
	}
	want := [][2]int{{0, 0}, {1, 399}, {400, 400}, {401, 401}, {402, 998}, {999, 999}}
	if got := rowsOf(run, 64); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := rowsOf(run, 5); !slices.Equal(got, Groups(1000, 5)) {
		t.Errorf("with room for 5: %v", got)
	}
	for i := range run.Threads {
		run.Threads[i].EndNS = 5
	}
	if got := rowsOf(run, 64); !slices.Equal(got, Groups(1000, 64)) {
		t.Errorf("of threads that are all here: %v", got)
	}
}
