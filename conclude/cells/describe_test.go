package cells

import (
	"slices"
	"strings"
	"testing"

	"moriens/analysis/microcell"
	"moriens/collector/store"
	"moriens/conclude/rebuild"
	"moriens/trace/rundir"
)

// The texts are correct in the singular and in the plural.
func TestTroublesOfCells(t *testing.T) {
	list := func(n int) string {
		c := rundir.Cells{
			LostBursts: int64(n), OutsideBursts: int64(n), Side: .025, CallsEvicted: int64(n), Stretches: n, BurstsInQuestion: n, UnitsInQuestion: n, BurstsMoved: n, BurstsAstray: n,
			Unanswered: slices.Repeat([]string{"n0: it had disconnected"}, n),
		}
		of := &Collected{clustered: clustered{result: new(microcell.Result)}, cells: c}
		return strings.Join(slices.Concat(of.troubles(), located(&c, 10)), "\n")
	}
	const one = `micro-cells are missing for ranks on 1 host whose agent did not answer: n0: it had disconnected
not included: 1 burst that agents knew before they were restarted and whose windows were already evicted
in no micro-cell, counted as missing data: 1 burst; the values are too large for cells of side 0.025; --cell-side sets another side
the ranks in full lack 1 MPI call in 1 stretch: their nodes had no space for those windows
clusters may differ from those of the individual bursts: they depend on the positions of 1 burst in 1 micro-cell, which are no longer known
outside their micro-cell, labelled like the adjacent one: 1 burst of the ranks in full
in no micro-cell, counted as noise: 1 burst of the ranks in full`
	if got := list(1); got != one {
		t.Errorf("%s\nwant\n%s", got, one)
	}
	several := strings.NewReplacer("1 host", "2 hosts", "had disconnected", "had disconnected; n0: it had disconnected", "1 burst", "2 bursts", "1 MPI call in 1 stretch", "2 MPI calls in 2 stretches", "1 micro-cell", "2 micro-cells")
	if got, want := list(2), several.Replace(one); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Without bursts there is nothing to cluster, and agents are to blame only where they had threads whose bursts they did
// not report.
func TestEmpty(t *testing.T) {
	for _, tt := range []struct {
		what   string
		of     Collected
		bursts bool
		reason bool // why
	}{
		{"bursts", Collected{clustered: clustered{set: &microcell.Set{Bursts: 1}}}, true, false},
		{"none", Collected{clustered: clustered{set: new(microcell.Set)}, asker: asker{threads: rebuild.Threads{Rings: make([]*store.Ring, 2)}}}, false, false},
		{"no threads", Collected{}, false, false},
		{"no report", Collected{asker: asker{threads: rebuild.Threads{Rings: make([]*store.Ring, 1)}}}, false, true},
	} {
		bursts, why, advice := tt.of.Empty()
		if bursts != tt.bursts || (why != "") != tt.reason || (advice != "") != tt.reason {
			t.Errorf("%s: %v, %q, %q", tt.what, bursts, why, advice)
		}
	}
}
