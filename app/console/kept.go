package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// writeKept says which iterations were found, how the ranks differ, what of the run is kept, and what is missing of
// that.
func writeKept(b *strings.Builder, m *rundir.Manifest, e *rundir.Efficiency) {
	k, of := &m.Kept, ""
	if x := m.Cells; x != nil && x.RanksInSum+x.RanksSilent > 0 {
		of = " (ranks in full)" // all else is reported for all ranks
	}
	if text := iterations(k.Phases, float64(m.ComputingSeconds)); text != "" {
		fmt.Fprintf(b, "iterations%s: %s\n", of, text)
	}
	writeRanks(b, k, e, len(m.Worlds) > 1)
	if m.Reduction.BudgetBytes != nil {
		fmt.Fprintf(b, "kept%s: %s\n", of, windows(k))
		fmt.Fprintf(b, "reduction%s: %s\n", of, reduction(&m.Reduction))
		if e := m.Reduction.Error; e != nil {
			fmt.Fprintf(b, "reconstruction error%s: %s\n", of, errorOf(e, len(m.Worlds) > 1))
		}
	}
	for _, text := range m.Reduction.Missing {
		fmt.Fprintf(b, "missing: %s\n", text)
	}
}

// within describes the inner loop that has most of an iteration.
func within(loops []rundir.Inner) string {
	if len(loops) == 0 {
		return ""
	}
	bursts := func(a, b rundir.Inner) int { return cmp.Compare(a.Trips*a.PeriodBursts, b.Trips*b.PeriodBursts) }
	l := slices.MaxFunc(slices.DeleteFunc(slices.Clone(loops), func(l rundir.Inner) bool { return l.Depth > 1 }), bursts)
	trips := units.Integer(l.MinTrips)
	if l.MaxTrips > l.MinTrips {
		trips += "–" + units.Integer(l.MaxTrips)
	}
	return fmt.Sprintf(" (inner loop: %s, %s trips)", units.Counted(l.PeriodBursts, "burst"), trips)
}

// windows reports what is kept in full detail.
func windows(k *rundir.Kept) string {
	why := make(map[string]int)
	var order []string
	for _, w := range k.Windows {
		if why[w.Why] == 0 {
			order = append(order, w.Why)
		}
		why[w.Why]++
	}
	var parts []string
	for _, word := range order {
		parts = append(parts, fmt.Sprintf("%d %s", why[word], word))
	}
	text := units.Counted(len(k.Windows), "window")
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	text += fmt.Sprintf(" of %s with %s and %s; a sample of %s of the other bursts", units.Counted(k.Ranks, "rank"), units.Counted(k.Calls, "MPI call"),
		units.Counted(k.Bursts, "burst"), units.Integer(k.SampledBursts))
	if n := len(k.Dropped) + k.MoreDropped; n > 0 {
		text += fmt.Sprintf("; no room for %s", units.Counted(n, "more window"))
	}
	return text
}

func reduction(r *rundir.Reduction) string {
	about := "about "
	if r.FullMeasured {
		about = ""
	}
	if len(r.Missing) > 0 { // the directory is not small but lacks something
		return fmt.Sprintf("all files: %s; the ratio is not known because parts are missing", units.Bytes(r.Bytes))
	}
	all, full := units.Bytes(r.Bytes).String(), about+units.Bytes(r.FullBytes).String()
	if r.Ratio < 1 {
		return fmt.Sprintf("none: all files: %s; full trace alone: %s", all, full)
	}
	return fmt.Sprintf("all files: %s; full trace alone: %s (%s times as much)", all, full, figure(float64(r.Ratio)))
}

// errorOf says how far off the run is if it is rebuilt from what is kept, without a look at the profile, which is
// exact.
func errorOf(e *rundir.Fidelity, worlds bool) string {
	worst := func(x *rundir.Errors, more ...string) string {
		if x.WorstCluster > 0 {
			more = slices.Insert(more, 0, fmt.Sprintf("cluster %d, %s of its own time", x.WorstCluster, percent(float64(x.WorstTime))))
		}
		if len(more) == 0 {
			return ""
		}
		return " (largest: " + strings.Join(more, "; ") + ")"
	}
	var rank []string
	if w := e.Ranks.Worst; w != nil {
		rank = append(rank, fmt.Sprintf("%s, %s", rundir.ThreadName{World: w.World, Rank: w.Rank}.Short(worlds), percent(float64(w.Time))))
	}
	from := "windows alone, which represent " + percent(float64(e.Represented)) + " of it"
	if sampled := float64(e.Sources.Sample); sampled > 0 {
		from = fmt.Sprintf("windows for %s of it and the sample for %s", percent(float64(e.Represented)), percent(sampled))
	}
	return fmt.Sprintf("%s of the computing time from kept bursts and sample%s; %s from %s%s",
		percent(float64(e.Weighted.Time)), worst(&e.Weighted), percent(float64(e.Windows.Time)), from, worst(&e.Windows, rank...))
}

// figure is a number with as many digits as matter.
func figure(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return units.Integer(int(x + .5))
}
