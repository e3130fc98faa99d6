//go:build !quick

package collector

import (
	"testing"
	"time"

	"moriens/internal/mpicall"
)

// TestEfficiencyOfSeveral has two collectors, each with a rank, exchange what they measure in their rounds.
func TestEfficiencyOfSeveral(t *testing.T) {
	all := startAll(t, 2)
	ranks := []*rankStub{newRank(t, all[0].store, 0), newRank(t, all[1].store, 1)}
	for i, r := range ranks {
		r.call(mpicall.Init, 0, 1e9)
		for range 100 {
			r.call(mpicall.Barrier, uint64(3+5*i)*1e8, 1e9-uint64(3+5*i)*1e8)
		}
	}
	ranks[1].stand(ranks[1].at, mpicall.Recv, time.Now()) // since then
	page := all[0].Page()
	whole := func() bool { // a round can come between the calls of the ranks
		seconds := page.Efficiency.Run.Seconds
		return page.Efficiency.Run.ParallelEfficiency != nil && page.Waiting != nil && seconds != nil && *seconds > 99.999
	}
	for deadline := time.Now().Add(time.Minute); !whole(); page = all[0].Page() {
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %+v", page.Efficiency, page.Waiting)
		}
		time.Sleep(50 * time.Millisecond)
	}
	is(t, "parallel efficiency", page.Efficiency.Run.ParallelEfficiency, .55)
	is(t, "load balance", page.Efficiency.Run.LoadBalance, .55/.8)
	is(t, "between nodes", page.Efficiency.Run.LoadBalanceBetweenNodes, .55/.8)
	is(t, "communication", page.Efficiency.Run.CommunicationEfficiency, .8)
	is(t, "seconds", page.Efficiency.Run.Seconds, 100)
	if w := page.Waiting; w.Rank != 1 || w.Call != "MPI_Recv" || w.CallPath != "solver.c:88" || page.Efficiency.Run.Locations != 2 {
		t.Errorf("%+v, %+v", w, page.Efficiency)
	}
	if p := all[1].Page(); p.Efficiency != nil || p.Waiting != nil {
		t.Errorf("the second collector shows %+v", p.Efficiency)
	}
	together(2, func(i int) { stopped(all[i]) })
}
