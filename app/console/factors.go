package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"moriens/trace/rundir"
)

// writeEfficiency says how well the run used its processors, in up to four lines.
func writeEfficiency(b *strings.Builder, r *Results) {
	if r.Efficiency == nil || len(r.Efficiency.Runs) != 1 || !(r.Efficiency.Runs[0].Parallel > 0) {
		return
	}
	e := &r.Efficiency.Runs[0]
	worlds := len(r.Manifest.Worlds) > 1
	bounds := ""
	if e.Bound {
		bounds = " (bounds)"
	}
	fmt.Fprintf(b, "parallel efficiency %s = load balance %s × communication efficiency %s%s\n", ratioText(float64(e.Parallel)),
		ratioText(float64(e.Balance)), ratioText(float64(e.Communication)), bounds)
	fmt.Fprintf(b, "%s\n", clauses(fmt.Sprintf("time in MPI %s%s", percent(float64(e.Budget.MPI/e.Budget.Total)), extremes(e, worlds)), lineWidth))
	if e.Locations > 1 && e.Most != nil {
		fmt.Fprintf(b, "most computing: %s\n", cut(slowest(e, worlds), lineWidth-len("most computing: ")))
		text := fmt.Sprintf("lost per %s: %s by imbalance, %s in communication, of %s", location(e), nonnegative(e.MostComputing-e.MeanComputing),
			nonnegative(e.Seconds-e.MostComputing), elapsed(e.Seconds))
		if whole := text + stretch(r.Efficiency, worlds); utf8.RuneCountInString(whole) <= lineWidth {
			text = whole
		}
		fmt.Fprintf(b, "%s\n", text)
	}
}

// stretch says of what the factors are.
func stretch(e *rundir.Efficiency, worlds bool) string {
	switch within := e.Within; within {
	case "main":
		if worlds {
			return ", main of the first world"
		}
		for _, why := range e.Runs[0].Why {
			if strings.Contains(why, ": main ") { // is more than its name says
				return ""
			}
		}
		return ", MPI_Init to MPI_Finalize"
	case "run":
		return ", the whole run"
	}
	return " within " + e.Within
}

// severalWorlds says that ranks have to be named with their worlds.
func severalWorlds(e *rundir.EfficiencyRun) bool {
	for i := range e.Threads {
		if e.Threads[i].World != e.Threads[0].World {
			return true
		}
	}
	return len(e.Worlds) > 1
}

// location is what a factor is the mean over.
func location(e *rundir.EfficiencyRun) string {
	if e.Locations > e.Ranks {
		return "thread"
	}
	return "rank"
}

// located names a location: a rank, or where several threads of a rank called MPI always with its thread.
func located(e *rundir.EfficiencyRun, n *rundir.ThreadName, worlds bool) string {
	text := n.Short(worlds)
	if n.Thread == 0 && e.Locations > e.Ranks {
		text += " thread 0"
	}
	return text
}

func nonnegative(seconds rundir.Number) string { return elapsed(max(seconds, 0)) }

// extremes are the ranks that are longest in MPI, and shortest.
func extremes(e *rundir.EfficiencyRun, worlds bool) string {
	if len(e.Threads) < 2 || !(e.Seconds > 0) {
		return ""
	}
	byMPI := func(a, b rundir.EfficiencyLocation) int { return cmp.Compare(a.MPI, b.MPI) }
	most, least := slices.MaxFunc(e.Threads, byMPI), slices.MinFunc(e.Threads, byMPI)
	return fmt.Sprintf(": most on %s, %s; least on %s, %s", located(e, &most.ThreadName, worlds), percent(float64(most.MPI/e.Seconds)), located(e, &least.ThreadName, worlds), percent(float64(least.MPI/e.Seconds)))
}

// slowest says which rank computes most, and where.
func slowest(e *rundir.EfficiencyRun, worlds bool) string {
	text := fmt.Sprintf("%s, %.2f times the mean", located(e, e.Most, worlds), float64(e.MostComputing/e.MeanComputing))
	if aboutEqual(e) {
		return text + ": all compute for about equal times"
	}
	in, above := slowestIn(e)
	switch {
	case in == nil:
		return text
	case in.Ranks == 1: // what is above the mean may be more than in all clusters together
		return fmt.Sprintf("%s; mainly in cluster %d, which no other %s has", text, in.ID, location(e))
	}
	return fmt.Sprintf("%s; mainly in cluster %d, %s above the mean", text, in.ID, elapsed(above))
}

// slowestIn is the cluster in which the rank that computes most is furthest above the mean, and how far, if that is
// more than half of what it is in all; nil: there is none. A cluster that other ranks do not have counts as 0 there.
func slowestIn(e *rundir.EfficiencyRun) (in *rundir.EfficiencyCluster, above rundir.Number) {
	kinds := kindsOf(e)
	above = (e.MostComputing - e.MeanComputing) / 2
	for i := range kinds {
		c := &kinds[i]
		if c.Most == nil || *c.Most != *e.Most || c.Ranks == 0 {
			continue
		}
		longest := c.Seconds / rundir.Number(c.Ranks) / c.Balance
		if x := longest - c.Seconds/rundir.Number(e.Locations); x > above {
			in, above = c, x
		}
	}
	return in, above
}

// namedCluster is the cluster that the line about the slowest rank names; 0: none.
func namedCluster(r *Results) int32 {
	if r.Efficiency == nil || len(r.Efficiency.Runs) != 1 {
		return 0
	}
	e := &r.Efficiency.Runs[0]
	if e.Most == nil || e.Locations < 2 || aboutEqual(e) {
		return 0
	}
	if in, _ := slowestIn(e); in != nil {
		return in.ID
	}
	return 0
}

// aboutEqual says that the most computing reads as 1.00 times the mean.
func aboutEqual(e *rundir.EfficiencyRun) bool { return e.MostComputing < e.MeanComputing*1.005 }

// kindsOf are the kinds of computation, or the clusters where they were not found by kinds.
func kindsOf(e *rundir.EfficiencyRun) []rundir.EfficiencyCluster {
	if len(e.Kinds) > 0 {
		return e.Kinds
	}
	return e.Clusters
}
