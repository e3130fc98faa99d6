package console

import (
	"fmt"

	"moriens/trace/rundir"
)

// A Trouble is something that the user should know of, and what to do about it.
type Trouble struct{ Text, Hint string }

// Troubles says what is wrong with a run. emptyHint is the advice where nothing was recorded.
func Troubles(m *rundir.Manifest, emptyHint string) []Trouble {
	var list []Trouble
	l := &m.Losses
	if m.Empty != "" {
		list = append(list, Trouble{"no bursts: " + m.Empty, emptyHint})
	}
	if l.RanksMissing > 0 {
		list = append(list, Trouble{
			fmt.Sprintf("%d of %d ranks sent nothing", l.RanksMissing, m.Ranks),
			"this version measures ranks on the host it runs on; elsewhere they run unmeasured",
		})
	}
	if n := len(l.RanksDied); n > 0 {
		what := fmt.Sprintf("rank %d: %s", l.RanksDied[0].Rank, l.RanksDied[0].How)
		if n > 1 {
			what += fmt.Sprintf(", and %d more", n-1)
		}
		list = append(list, Trouble{
			fmt.Sprintf("%s did not end by MPI_Finalize (%s); all that they recorded up to then is in the results", count(n, "rank"), what),
			"the end of timeline.svg and of trace.prv shows the last calls",
		})
	}
	if l.RecordsDropped > 0 {
		list = append(list, Trouble{
			fmt.Sprintf("%s were not recorded: their ring in shared memory was full", count(int(l.RecordsDropped), "MPI call")),
			"set MORIENS_RING to more bytes per thread, for example MORIENS_RING=16777216",
		})
	}
	return list
}
