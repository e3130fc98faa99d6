package retention

import (
	"moriens/analysis/represent"
	"moriens/internal/team"
	"moriens/trace"
)

// waits are who waited for whom at meetings. Of several members each looks at some of the meetings, on all threads.
func (r *Reduction) waits(run *trace.Run, workers int) (*represent.Waits, error) {
	enterNS, exitNS := r.meetings.times(run)
	if r.owners.Size() == 1 {
		return represent.WaitsAt(enterNS, exitNS, workers)
	}
	members, n := r.owners.Size(), len(r.meetings.ordinals)
	parts := make([][]int64, members)
	for i := range run.Threads {
		if r.owners.Mine(i) {
			for rank := range parts {
				from, to := rank*n/members, (rank+1)*n/members
				parts[rank] = append(append(parts[rank], enterNS[i][from:to]...), exitNS[i][from:to]...)
			}
		}
	}
	lists, err := team.Exchange(r.owners, parts)
	if err != nil {
		return nil, err
	}
	own := (r.owners.Rank()+1)*n/members - r.owners.Rank()*n/members
	for i := range run.Threads {
		list := &lists[r.owners.Owner(i)]
		enterNS[i], exitNS[i], *list = (*list)[:own], (*list)[own:2*own], (*list)[2*own:]
	}
	w, err := represent.WaitsAt(enterNS, exitNS, workers)
	if err := team.Explain(r.owners, err); err != nil {
		return nil, err
	}
	for _, sums := range [][]int64{w.CausedNS, w.SufferedNS, w.Last} {
		if err := r.owners.AllReduce(sums, team.Sum); err != nil {
			return nil, err
		}
	}
	return w, nil
}
