package blame

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/waits"
	"moriens/analysis/workers"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// A waitRow is a row of waits.parquet, with what of it lies within main.
type waitRow struct {
	Row                                      parquet.WaitsRow
	MainCount, MainLongestNS, MainResidualNS int64
}

// waitRows are the waits of this member's threads, by call path, kind and phase of iterations.
func (d *describer) waitRows(owners team.Threads) []waitRow {
	lists, sizes := make([][]waitRow, len(d.Waits)), make([]int, len(d.Waits))
	for i := range sizes {
		sizes[i] = len(d.Waits[i])
	}
	workers.Every(sizes, d.options.Workers, func(i int) {
		if owners.Mine(i) {
			lists[i] = d.rowsOf(i)
		}
	})
	return slices.Concat(lists...)
}

// rowsOf are the waits of a thread.
func (d *describer) rowsOf(thread int) (rows []waitRow) {
	type key struct {
		path  uint32
		kind  waits.Kind
		phase int32
	}
	t := &d.run.Threads[thread]
	at := make(map[key]int)
	phaseOf := d.phasesOf(thread)
	before, n := key{phase: math.MinInt32}, 0 // most are like the one before
	for _, w := range d.Waits[thread] {
		enterNS := t.Calls.EnterNS[w.Row]
		if k := (key{t.Calls.Path[w.Row], w.Kind, phaseOf(enterNS)}); k != before {
			var known bool
			if n, known = at[k]; !known {
				n = len(rows)
				at[k] = n
				rows = append(rows, waitRow{Row: parquet.WaitsRow{
					Kind: parquet.WaitsWait, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread),
					CallPath: d.names[k.path], Wait: trace.WaitKind(k.kind).String(), Iterations: k.phase,
				}})
			}
			before = k
		}
		rows[n].add(waits.Span{BeginNS: enterNS, EndNS: w.UntilNS}, t.Calls.ExitNS[w.Row], d.options.Main)
	}
	slices.SortFunc(rows, func(x, y waitRow) int {
		a, b := &x.Row, &y.Row
		return cmp.Or(cmp.Compare(a.CallPath, b.CallPath), cmp.Compare(a.Wait, b.Wait), cmp.Compare(a.Iterations, b.Iterations))
	})
	return rows
}

// add adds a wait, and what follows it in its call.
func (r *waitRow) add(w waits.Span, exitNS int64, main waits.Span) {
	ns := w.EndNS - w.BeginNS
	r.Row.Count++
	r.Row.WaitNS += ns
	r.Row.LongestNS = max(r.Row.LongestNS, ns)
	r.Row.ResidualNS += exitNS - w.EndNS
	if ns = main.Within(w.BeginNS, w.EndNS); ns > 0 {
		r.MainCount++
	}
	r.Row.MainWaitNS += ns
	r.MainLongestNS = max(r.MainLongestNS, ns)
	r.MainResidualNS += main.Within(w.EndNS, exitNS)
}

// phasesOf says in which phase of iterations the calls of a thread are, asked in the order of time: that of the last
// burst before them; -1: none.
func (d *describer) phasesOf(thread int) func(enterNS int64) int32 {
	b := &d.run.Threads[thread].Bursts
	behind := int32(0) // bursts that are over
	return func(enterNS int64) int32 {
		if len(d.options.Phases) == 0 {
			return -1
		}
		for int(behind) < b.Len() && b.StartNS[behind]+b.DurationNS[behind] <= enterNS {
			behind++
		}
		last := max(behind-1, 0)
		for k := range d.options.Phases {
			p := &d.options.Phases[k]
			if loop := &p.Threads[thread]; p.Iterations > 0 && loop.From <= last && last < loop.To {
				return int32(k)
			}
		}
		return -1
	}
}

// otherRows are causes, links and the path.
func (d *describer) otherRows() (rows []parquet.WaitsRow) {
	of := func(kind string, thread, key int32) parquet.WaitsRow {
		t, k := &d.run.Threads[thread], d.Keys[key]
		what, path := d.what(k)
		return parquet.WaitsRow{
			Kind: kind, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread), What: what, Cluster: k.Cluster, CallPath: path, Iterations: -1,
		}
	}
	for _, c := range d.Causes {
		if c.NS == 0 {
			continue
		}
		row := of(parquet.WaitsCause, c.Thread, c.Key)
		row.Count, row.ChargedNS, row.DirectNS, row.MoreNS, row.MainChargedNS, row.MainDirectNS = c.Waits, c.NS, c.DirectNS, c.MoreNS, c.Main.NS, c.Main.DirectNS
		rows = append(rows, row)
	}
	for _, s := range d.Shares {
		row := of(parquet.WaitsPath, s.Thread, s.Key)
		row.PathNS, row.MainPathNS = s.NS, s.MainNS
		rows = append(rows, row)
	}
	for _, l := range d.Links {
		t, other := &d.run.Threads[l.Thread], &d.run.Threads[l.For]
		rows = append(rows, parquet.WaitsRow{
			Kind: parquet.WaitsLink, World: int32(t.World), Rank: int32(t.Rank), Thread: int32(t.Thread), Iterations: -1,
			ForWorld: int32(other.World), ForRank: int32(other.Rank), ForThread: int32(other.Thread),
			Count: l.Waits, WaitNS: l.NS, MainWaitNS: l.Main.NS, ComputingNS: l.ComputingNS, MPINS: l.MPINS, OutsideNS: l.OutsideNS, HandedOnNS: l.HandedOnNS,
		})
	}
	return rows
}

// what is a key in the words of files; the call path by all its frames.
func (d *describer) what(k waits.Key) (what, path string) {
	switch k.What {
	case waits.Computing:
		return rundir.CauseComputing, d.name(d.names, k.Path)
	case waits.MPI:
		return rundir.CauseMPI, d.name(d.names, k.Path)
	}
	return rundir.CauseOutside, ""
}

// name is that of a call path, which a burst at a thread's end has not.
func (d *describer) name(names []string, path uint32) string {
	if int(path) >= len(names) || path == 0 {
		return ""
	}
	return names[path]
}
