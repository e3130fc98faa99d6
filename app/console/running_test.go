package console

import (
	"slices"
	"testing"

	"moriens/collector/health"
)

func TestEfficiencyRows(t *testing.T) {
	of := func(p, l, c, s float64) health.Factors {
		return health.Factors{ParallelEfficiency: &p, LoadBalance: &l, CommunicationEfficiency: &c, Seconds: &s}
	}
	both := health.Efficiency{Run: of(.5, .625, .8, 3723.9), Minute: of(.1234, .5, .2468, 57)}
	stale := both
	stale.Minute, stale.Why = health.Factors{}, "no rank reported anything for 41 s"
	for _, tt := range []struct {
		page health.Page
		want []string
	}{
		{health.Page{}, nil},
		{health.Page{Efficiency: &health.Efficiency{Why: "no MPI call has ended yet"}}, []string{"efficiency", "no MPI call has ended yet"}},
		{health.Page{Efficiency: &both, Waiting: &health.Waiting{Rank: 3, Call: "MPI_Recv", Seconds: 9.9}},
			[]string{"efficiency", "parallel efficiency 50.0 %, load balance 62.5 %, communication 80.0 % in 1h2m3s; last 57s: 12.3 %, 50.0 %, 24.7 %"}},
		{health.Page{Efficiency: &stale, Waiting: &health.Waiting{Rank: 3, World: 1, Call: "MPI_Recv", CallPath: "file.c:12", Seconds: 312.9}},
			[]string{"efficiency", "parallel efficiency 50.0 %, load balance 62.5 %, communication 80.0 % in 1h2m3s; no rank reported anything for 41 s",
				"waiting", "rank 3 of world 1 in MPI_Recv@file.c:12 for 312 s"}},
	} {
		if got := slices.Concat(efficiencyRows(&tt.page)...); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
