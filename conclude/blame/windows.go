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
// has the waits at collectives, which were found for the whole run. The table is nil where no call is kept, where
// messages were taken in for the whole run, and where clocks do not agree; why is what waits.json then says of all. How
// far calls were moved is not known of windows: where the whole run is marked for that, so are they.
func (b *Blame) Windows(kept *trace.Run) (table *rundir.WaitsTable, why []string, err error) {
	why = b.why()
	locations, err := locationsOf(kept, team.Threads{})
	if err != nil || b.Full || b.options.NoMessages || locations == 0 {
		return nil, why, err
	}
	o := b.options
	o.MovedNS, o.Phases, o.Main = 0, nil, waits.Span{EndNS: kept.DurationNS}
	in := inputOf(kept, o, true)
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
		return nil, why, fmt.Errorf("waits of windows: %w", err)
	}
	found := &Blame{Result: lanes.Solve(), Full: true, options: o, locations: locations, elapsedNS: coveredNS(kept)}
	if found.givenUp() {
		return nil, append(why, "windows are not known: "+found.disagreement()), nil
	}
	for i := range kept.Threads {
		kept.Threads[i].Waits = waitsOf(found.Waits[i])
	}
	c, err := found.count(kept, team.Threads{})
	if err != nil {
		return nil, why, err
	}
	d := found.describer(kept, c)
	table = d.table(d.waitRows(team.Threads{}), false)
	table.Seconds = seconds(found.elapsedNS)
	table.Begin, table.End = around(kept.Windows)
	if found.marked() && !b.marked() {
		why = append(why, fmt.Sprintf("in windows clocks of hosts do not agree to better than %.2g %% of the waits", 100*found.doubt()))
	}
	table.Marked = table.Marked || b.marked()
	pathUnknown(table)
	return table, why, nil
}

// around is when the first window begins and the last one ends.
func around(windows []trace.Window) (begin, end rundir.Number) {
	first, last := int64(math.MaxInt64), int64(0)
	for _, w := range windows {
		first, last = min(first, w.BeginNS), max(last, w.EndNS)
	}
	return seconds(min(first, last)), seconds(last)
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
	for k := range t.Others {
		t.Others[k].Path, t.Others[k].PathShare = unknown, unknown
	}
}

// coveredNS is how much of the run's time windows cover.
func coveredNS(kept *trace.Run) int64 {
	total, toNS := int64(0), int64(math.MinInt64)
	for _, w := range kept.Windows { // by begin
		total += max(0, w.EndNS-max(w.BeginNS, toNS))
		toNS = max(toNS, w.EndNS)
	}
	return total
}
