package blame

import (
	"fmt"
	"math"

	"moriens/analysis/waits"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Windows finds the waits of what is kept of a run in full detail, for messages too, and puts them into its threads. It
// has the waits at collectives, which were found for the whole run. nil: no call is kept, or messages were taken in
// there. How far calls were moved is not known of windows: where the whole run is marked for that, so are they.
func (b *Blame) Windows(kept *trace.Run) (*rundir.WaitsTable, error) {
	locations := 0
	for i := range kept.Threads {
		if kept.Threads[i].Calls.Len() > 0 {
			locations++
		}
	}
	if b.Full || locations == 0 {
		return nil, nil
	}
	in := inputOf(kept, b.options, true)
	in.Known = true
	for i := range kept.Threads {
		w := &kept.Threads[i].Waits
		for k, row := range w.Call {
			if w.For[k] >= 0 {
				in.Threads[i].Known = append(in.Threads[i].Known, waits.Wait{Row: int32(row), For: w.For[k], Kind: waits.Kind(w.Kind[k]), UntilNS: w.UntilNS[k]})
			}
		}
	}
	lanes, err := waits.Local(in, team.Threads{})
	if err != nil {
		return nil, fmt.Errorf("waits of windows: %w", err)
	}
	found := &Blame{Result: lanes.Solve(), Full: true, options: b.options}
	found.options.MovedNS = 0
	for i := range kept.Threads {
		kept.Threads[i].Waits = waitsOf(found.Waits[i])
	}
	found.options.Phases = nil
	d := found.describer(kept, locations)
	table := d.table(d.waitRows(team.Threads{}))
	table.Seconds = windowSeconds(kept)
	table.Marked = table.Marked || b.marked()
	pathUnknown(table)
	return table, nil
}

// pathUnknown says that not all that the critical path goes through is in a table.
func pathUnknown(t *rundir.WaitsTable) {
	unknown := rundir.Number(math.NaN())
	t.Path.Seconds = unknown
	for k := range t.Clusters {
		c := &t.Clusters[k]
		c.Path, c.PathShare, c.Imbalance = unknown, unknown, unknown
	}
	for k := range t.ByRank {
		t.ByRank[k].Path = unknown
	}
}

// windowSeconds is how much of the run's time windows cover.
func windowSeconds(kept *trace.Run) rundir.Number {
	total, toNS := int64(0), int64(math.MinInt64)
	for _, w := range kept.Windows { // by begin
		total += max(0, w.EndNS-max(w.BeginNS, toNS))
		toNS = max(toNS, w.EndNS)
	}
	return seconds(total)
}
