package trace_test

import (
	"testing"

	"moriens/trace"
)

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		threads       []trace.Thread
		bursts, calls int
	}{
		{nil, 0, 0},
		{[]trace.Thread{
			{Bursts: trace.Bursts{StartNS: []int64{1, 5}}, Calls: trace.Calls{EnterNS: []int64{3}}},
			{},
			{Bursts: trace.Bursts{StartNS: []int64{2}}, Calls: trace.Calls{EnterNS: []int64{4, 6, 9}}},
		}, 3, 4},
	} {
		run := trace.Run{Threads: tt.threads}
		if run.Bursts() != tt.bursts || run.Calls() != tt.calls {
			t.Errorf("%d bursts and %d calls, want %d and %d", run.Bursts(), run.Calls(), tt.bursts, tt.calls)
		}
	}
}
