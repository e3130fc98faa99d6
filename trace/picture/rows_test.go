package picture

import (
	"slices"
	"testing"

	"moriens/trace"
)

// Threads that are known as totals only are not drawn.
func TestRowsOfUntimedThreads(t *testing.T) {
	run := &trace.Run{Threads: make([]trace.Thread, 10_000)}
	for _, i := range []int{0, 17, 9_999} {
		run.Threads[i].EndNS = 5
	}
	if got, want := chooseRows(run), []int{0, 17, 9_999}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
