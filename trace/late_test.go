package trace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace"
)

// A receive that another thread of the rank completes is late by that one's call; one of another rank that ends at the
// same time is not it.
func TestSettleLate(t *testing.T) {
	calls := func(enter, exit int64) trace.Calls {
		return trace.Calls{EnterNS: []int64{enter}, ExitNS: []int64{exit}, Path: []uint32{0}}
	}
	run := &trace.Run{
		Worlds: []trace.World{{Size: 3}}, CallPaths: []trace.CallPath{{}},
		Threads: []trace.Thread{
			{Rank: 0, Calls: calls(40, 41)}, {Rank: 1, Calls: calls(5, 6)}, {Rank: 1, Thread: 1, Calls: calls(30, 60)}, {Rank: 2, Calls: calls(10, 70)},
		},
		Messages: []trace.Message{
			{From: 0, To: 1, SendNS: 40, RecvNS: 5, PhysicalRecvNS: 60},
			{From: 0, To: 2, SendNS: 35, RecvNS: 5, PhysicalRecvNS: 60}, // the same call: the latest counts
			{From: 0, To: 1, SendNS: 40, RecvNS: 5, PhysicalRecvNS: 70, LateNS: 3},
		},
	}
	total, unknown := run.SettleLate()
	if total.TotalNS() != 10 || unknown != 1 {
		t.Errorf("%d ns, %d not known, want 10 and 1", total.TotalNS(), unknown)
	}
	var late []int64
	for _, m := range run.Messages {
		late = append(late, m.LateNS)
	}
	if d := cmp.Diff([]int64{10, 5, 3}, late); d != "" {
		t.Error(d)
	}
}
