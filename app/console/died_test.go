package console

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/trace/rundir"
)

// The ranks of a node that was lost are one line, and no line says that all of their records are there.
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
	for _, trouble := range diedTroubles(l, "") {
		got = append(got, trouble.Text)
	}
	if d := cmp.Diff([]string{
		"1 rank did not call MPI_Finalize (rank 3: MPI_Abort); the results contain everything recorded up to that point",
		"4 ranks were cut off (rank 9: " + lost + ", and 3 more); the results contain everything received up to that point",
	}, got); d != "" {
		t.Error(d)
	}
}

// The hint names a tool that is called in the library's place, as the notes or the reasons say.
func TestToolBefore(t *testing.T) {
	const tool = "/opt/my tools/libtool.so"
	const wrong = "host n1: ranks that could not record: 1: it comes before libmoriens.so"
	dead := rundir.Losses{RanksDied: []rundir.RankDied{{Rank: 1, How: "ended without MPI_Finalize"}}}
	for _, c := range []struct {
		manifest rundir.Manifest
		want     bool
	}{
		{rundir.Manifest{Losses: dead, Notes: []string{wrong, tool + " comes before libmoriens.so and handles 4 of the MPI functions itself (1 of 2 ranks)"}}, true},
		{rundir.Manifest{Losses: dead, Notes: []string{wrong, tool + " comes behind libmoriens.so"}}, false},
		{rundir.Manifest{
			Ranks: 2, Losses: rundir.Losses{RanksUnrecorded: 1, RanksMissing: 1},
			Worlds: []rundir.World{{Unrecorded: []rundir.Unrecorded{{Ranks: 1, Reason: tool + " comes before libmoriens.so and handled all its MPI calls"}}}},
		}, true},
		{rundir.Manifest{Ranks: 2, Losses: rundir.Losses{RanksUnrecorded: 1, RanksMissing: 1}}, false},
	} {
		list := Troubles(&c.manifest, "")
		if len(list) != 1 || strings.Contains(list[0].Hint, tool+", which comes before libmoriens.so") != (c.want && c.manifest.Losses.RanksUnrecorded == 0) ||
			strings.Contains(list[0].Hint, "put libmoriens.so first in LD_PRELOAD") != c.want || strings.Contains(list[0].Hint, tool) != c.want {
			t.Errorf("%+v: %+v", c.manifest, list)
		}
	}
}
