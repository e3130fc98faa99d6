package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/internal/units"
	"moriens/trace/rundir"
)

// mostLosing is how many rows of a kind are printed, those first in which most is lost.
const mostLosing = 10

// writeLosses says who computes most, where the time of all ranks, or threads, is, and in which worlds, clusters,
// phases, iterations, nodes and classes most is lost.
func writeLosses(b *strings.Builder, r *rundir.EfficiencyRun, within string) {
	b.WriteByte('\n')
	if r.Most != nil && r.MeanComputing > 0 {
		fmt.Fprintf(b, "most computing: %s, %s: %.2f times the mean\n", located(r, r.Most, severalWorlds(r)), elapsed(r.MostComputing), float64(r.MostComputing/r.MeanComputing))
	}
	fmt.Fprintf(b, "time of all %ss: %s: %s\n", location(r), elapsed(r.Budget.Total), budgetText(&r.Budget, within))
	if f := r.MainThreads; f != nil {
		fmt.Fprintf(b, "main threads only: parallel efficiency %s, load balance %s, communication %s\n",
			ratioText(float64(f.Parallel)), ratioText(float64(f.Balance)), ratioText(float64(f.Communication)))
	}
	for _, t := range []table{worldTable(r), clusterLosses(r), phaseLosses(r), iterationLosses(r), groupLosses("node", location(r), r.Nodes), groupLosses("class", location(r), r.Classes)} {
		if len(t.rows) > 0 {
			b.WriteByte('\n')
			writeTable(b, t)
		}
	}
}

// budgetText says where the time of all locations is; parts without any are left out.
func budgetText(x *rundir.EfficiencyBudget, within string) string {
	outside := "before a rank's first record or after its last"
	if !slices.Contains([]string{"main", "run", "loop"}, within) {
		outside = "not in the phase"
	}
	var parts []string
	for _, part := range []struct {
		what    string
		seconds rundir.Number
	}{
		{"computing", x.Computing},
		{"in MPI", x.MPI},
		{outside, x.Outside},
		{"not recorded", x.NotRecorded},
	} {
		if part.seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", part.what, elapsed(part.seconds), percent(float64(part.seconds/x.Total))))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, separator)
}

// most adds to a table of as many rows as are printed how many more there are.
func most(t table, all int) table {
	if more := all - len(t.rows); more > 0 {
		t.rows = append(t.rows, append([]string{fmt.Sprintf("%d more", more)}, slices.Repeat([]string{""}, len(t.left)-1)...))
	}
	return t
}

// worldTable has the factors of each of several MPI worlds, within its own main.
func worldTable(r *rundir.EfficiencyRun) table {
	t := table{
		head: []string{"world", location(r) + "s", "elapsed", "lost", "parallel efficiency", "load balance", "communication"},
		left: []bool{false, false, false, false, false, false, false},
	}
	for i := range r.Worlds[:min(len(r.Worlds), mostLosing)] {
		w := &r.Worlds[i]
		t.rows = append(t.rows, []string{
			fmt.Sprint(w.World), units.Integer(w.Locations), elapsed(w.Seconds), elapsed(w.Seconds - w.MeanComputing),
			ratioText(float64(w.Parallel)), ratioText(float64(w.Balance)), ratioText(float64(w.Communication)),
		})
	}
	return most(t, len(r.Worlds))
}

func clusterLosses(r *rundir.EfficiencyRun) table {
	t := table{
		head: []string{"cluster", "share", "lost", "load balance", "most", "IPC", "of best"},
		left: []bool{false, false, false, false, true, false, false},
	}
	list, worlds := kindsOf(r), severalWorlds(r)
	for i := range list[:min(len(list), mostLosing)] {
		c := &list[i]
		who := ""
		if c.Most != nil {
			who = located(r, c.Most, worlds)
		}
		lost := orDash(float64(c.Lost), func(x float64) string { return Duration(x * 1e9) })
		if math.IsNaN(float64(c.Lost)) && c.Ranks < r.Locations {
			lost = fmt.Sprintf("%d of %d have it", c.Ranks, r.Locations)
		}
		ipc := orDash(float64(c.IPC), func(x float64) string { return fmt.Sprintf("%.2f", x) })
		t.rows = append(t.rows, []string{fmt.Sprint(c.ID), percent(float64(c.Share)), lost, ratioText(float64(c.Balance)), who, ipc, ratioText(float64(c.Best))})
	}
	return most(t, len(list))
}

func phaseLosses(r *rundir.EfficiencyRun) table {
	t := table{
		head: []string{"phase", "times", "elapsed", "lost", "parallel efficiency", "load balance", "communication"},
		left: []bool{true, false, false, false, false, false, false},
	}
	list := slices.Clone(r.Phases)
	lost := func(p *rundir.EfficiencyPhase) rundir.Number { return p.Seconds - p.MeanComputing }
	slices.SortStableFunc(list, func(a, b rundir.EfficiencyPhase) int { return cmp.Compare(lost(&b), lost(&a)) })
	for i := range list[:min(len(list), mostLosing)] {
		p := &list[i]
		name := shorten(p.Name)
		if p.Phase != nil {
			name = fmt.Sprintf("phase %d of iterations", *p.Phase)
		}
		t.rows = append(t.rows, []string{
			name, units.Integer(p.Iterations), elapsed(p.Seconds), elapsed(lost(p)), ratioText(float64(p.Parallel)), ratioText(float64(p.Balance)), ratioText(float64(p.Communication)),
		})
	}
	return most(t, len(list))
}

// fewIterations is how many iterations are printed, those that lose most.
const fewIterations = 3

func iterationLosses(r *rundir.EfficiencyRun) table {
	t := table{
		head: []string{"iteration", "elapsed", "lost", "parallel efficiency", "load balance", "communication"},
		left: []bool{true, false, false, false, false, false},
	}
	list := slices.Clone(r.Iterations)
	lost := func(x *rundir.EfficiencyIteration) rundir.Number { return x.Seconds * (1 - x.Parallel) }
	slices.SortStableFunc(list, func(a, b rundir.EfficiencyIteration) int { return cmp.Compare(lost(&b), lost(&a)) })
	for i := range list[:min(len(list), fewIterations)] {
		x := &list[i]
		name := fmt.Sprint(x.Iteration)
		if x.Count > 1 {
			name += fmt.Sprintf(" to %d", x.Iteration+x.Count-1)
		}
		name += fmt.Sprintf(" of phase %d", x.Phase)
		t.rows = append(t.rows, []string{
			name, elapsed(x.Seconds), elapsed(lost(x)), ratioText(float64(x.Parallel)), ratioText(float64(x.Balance)), ratioText(float64(x.Communication)),
		})
	}
	return most(t, len(list))
}

// groupLosses is about nodes or classes of ranks or threads, if there are several: those that compute most first.
func groupLosses(what, of string, groups []rundir.EfficiencyGroup) table {
	t := table{head: []string{what, of + "s", "mean computing", "of maximum", "in MPI"}, left: []bool{true, false, false, false, false}}
	if len(groups) < 2 {
		return table{}
	}
	list := slices.Clone(groups)
	slices.SortStableFunc(list, func(a, b rundir.EfficiencyGroup) int { return cmp.Compare(b.Mean, a.Mean) })
	for _, g := range list[:min(len(list), mostLosing)] {
		t.rows = append(t.rows, []string{shorten(g.Name), units.Integer(g.Locations), elapsed(g.Mean), ratioText(float64(g.OfMost)), ratioText(float64(g.MPI))})
	}
	return most(t, len(list))
}
