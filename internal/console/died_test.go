package console

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/rundir"
)

// The ranks of a node that was lost are one line, and nobody says that all of their records are there.
func TestDied(t *testing.T) {
	const lost = "the agent on n3 did not finish"
	var l []rundir.RankDied
	for _, rank := range []int{9, 8, 10, 12} {
		l = append(l, rundir.RankDied{Rank: rank, How: lost, CutOff: true})
	}
	l = append(l, rundir.RankDied{Rank: 3, How: "MPI_Abort"})
	m := &rundir.Manifest{Losses: rundir.Losses{RanksDied: l}}
	if d := cmp.Diff([]string{"ranks 8–10, 12 cut off (" + lost + ")", "rank 3 died (MPI_Abort)"}, died(m)); d != "" {
		t.Error(d)
	}
	var got []string
	for _, trouble := range diedTroubles(l) {
		got = append(got, trouble.Text)
	}
	if d := cmp.Diff([]string{
		"1 rank did not end by MPI_Finalize (rank 3: MPI_Abort); all recorded up to then is in the results",
		"4 ranks were cut off (rank 9: " + lost + ", and 3 more); what had come by then is in the results",
	}, got); d != "" {
		t.Error(d)
	}
}
