package profiling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"moriens/app/question"
	"moriens/internal/units"
	"moriens/trace/calltree"
	"moriens/trace/rundir"
)

// compare is the order of rows.
func (a *Answer) compare(x, y Row) int {
	by := 0
	switch a.Sort {
	case SortName:
	case SortCalls:
		by = descending(x.HowOften().Of(a.Stat), y.HowOften().Of(a.Stat))
	case SortExclusive:
		_, from := a.Figures(&x)
		_, to := a.Figures(&y)
		by = descending(from, to)
	default:
		from, _ := a.Figures(&x)
		to, _ := a.Figures(&y)
		by = descending(from, to)
	}
	return cmp.Or(by, strings.Compare(x.Name, y.Name), slices.Compare(x.Stack, y.Stack), strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
}

// descending puts what is not known last.
func descending(x, y float64) int {
	if math.IsNaN(x) || math.IsNaN(y) {
		return cmp.Compare(truth(math.IsNaN(x)), truth(math.IsNaN(y)))
	}
	return cmp.Compare(y, x)
}

func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Figures are what is asked for of a row: inclusive and exclusive.
func (a *Answer) Figures(r *Row) (inclusive, exclusive float64) {
	switch a.Metric {
	case metricTime:
		return r.InclusiveNS.Of(a.Stat), r.ExclusiveNS.Of(a.Stat)
	case metricIPC:
		return r.InclusiveRatio.Of(a.Stat), r.ExclusiveRatio.Of(a.Stat)
	}
	return r.Inclusive.Of(a.Stat), r.Exclusive.Of(a.Stat)
}

// Whose is the thread that has most of a row.
func (a *Answer) Whose(r *Row) calltree.Thread {
	switch a.Metric {
	case metricTime:
		return r.InclusiveNS.MostOf
	case metricIPC:
		return r.InclusiveRatio.MostOf
	}
	return r.Inclusive.MostOf
}

// ShareOf is the inclusive share of a row in the total, of sums; of a ratio that of its time.
func (a *Answer) ShareOf(r *Row) float64 {
	if a.Metric == metricTime || a.Metric == metricIPC {
		return float64(r.InclusiveNS.Sum) / float64(a.Table.Total.InclusiveNS.Sum)
	}
	return float64(r.Inclusive.Sum) / float64(a.Table.Total.Inclusive.Sum)
}

// OwnShare is that of what is in none of the rows within it.
func (a *Answer) OwnShare(r *Row) float64 {
	if a.Metric == metricTime || a.Metric == metricIPC {
		return float64(r.ownNS) / float64(a.Table.Total.InclusiveNS.Sum)
	}
	return float64(r.own) / float64(a.Table.Total.Inclusive.Sum)
}

// IsTime reports whether the metric is a time, in ns.
func (a *Answer) IsTime() bool { return a.Metric == metricTime || a.Metric == metricLate }

// IsBytes reports whether the metric is bytes.
func (a *Answer) IsBytes() bool { return a.Metric == metricBytes }

// IsRatio reports whether the metric is a ratio.
func (a *Answer) IsRatio() bool { return a.Metric == metricIPC }

// IsCounter reports whether the metric is a counter, or made of counters.
func (a *Answer) IsCounter() bool { return a.Metric == metricIPC || a.counter(a.Metric) >= 0 }

// Most is how many rows are shown: those that were asked for, or so many.
func (q *Question) Most(otherwise int) int {
	switch {
	case q.Top == 0:
		return math.MaxInt
	case q.Top < 0:
		return otherwise
	}
	return q.Top
}

// Largest are so many rows of a tree: those with most inside them, so that what is round a row is there too; ascending.
func (a *Answer) Largest(rows []Row, most int) []int {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if most < len(rows) {
		slices.SortStableFunc(order, func(i, k int) int { return descending(a.ShareOf(&rows[i]), a.ShareOf(&rows[k])) })
		order = order[:most]
		slices.Sort(order)
	}
	return order
}

// Longest are so many instances: those that took longest; ascending.
func (a *Answer) Longest(most int) []int {
	points := a.Series.Points
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	if most < len(points) {
		slices.SortStableFunc(order, func(i, k int) int { return descending(points[i].figure(a.Stat), points[k].figure(a.Stat)) })
		order = order[:most]
		slices.Sort(order)
	}
	return order
}

// orderShares puts ranks or nodes in order: by their numbers or names, or as asked for.
func (a *Answer) orderShares(list []Share) {
	slices.SortStableFunc(list, func(x, y Share) int {
		by := 0
		switch a.Sort {
		case SortName:
		case SortCalls:
			by = cmp.Compare(y.Calls, x.Calls)
		case SortInclusive, SortExclusive:
			switch {
			case a.IsRatio():
				by = descending(x.Ratio(), y.Ratio())
			case a.Metric == metricTime:
				by = cmp.Compare(y.NS, x.NS)
			default:
				by = cmp.Compare(y.Value, x.Value)
			}
		}
		if by == 0 && a.By == ByNode {
			by = strings.Compare(x.Host, y.Host)
		}
		return cmp.Or(by, compareThreads(x.Thread, y.Thread))
	})
}

// note says what is not in the figures.
func (a *Answer) note(t *tally) {
	say := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	if in := a.matched(t.b); in != nil {
		say("--in %s matches %s", a.In, strings.Join(in, ", "))
	}
	if t.classes {
		say("%s has call paths as sums of classes of ranks: most, least and deviation of such rows are not known; %s", rundir.ProfileFile, moreKept)
	}
	if t.lacking > 0 {
		say("%s: %d ns of the phases' own time is in no row", rundir.ProfileFile, t.lacking)
	}
	if t.beyond > 0 {
		say("%s: rows have %d ns more than the phases that they are in", rundir.ProfileFile, t.beyond)
	}
	if t.unsplit > 0 {
		say("%d bytes are of calls in several phases, which are not known apart; they are the program's", t.unsplit)
	}
	if strange := t.late - a.Table.Total.Inclusive.Sum; a.Metric == metricLate && strange > 0 {
		say("%s: %d ns are of threads that %s does not have", rundir.WaitsTableFile, strange, rundir.ProfileFile)
	}
	if a.Metric == metricBytes && a.In != nil {
		say("bytes of calls in several phases are not known apart, and left out")
	}
	if t.a.Table.Total.Missing > 0 {
		say("%s have no value of %s", units.Count(t.a.Table.Total.Missing, "burst"), a.Metric)
	}
	a.noteLoops(t, say)
	if a.By == ByNode && len(t.shares) == 1 && t.shares[0].Host == "" {
		say("on which nodes ranks ran is not known")
	}
	if a.Manifest.Cells != nil {
		say("bursts stay on their nodes (--cells): iterations are not known")
	}
	if a.Format < 2 {
		say("an earlier version of moriens wrote %s: paths of phases are not known", rundir.ProfileFile)
	}
	a.noteLosses(say)
}

// noteLosses says what of the run is not in the figures, or only in part.
func (a *Answer) noteLosses(say func(format string, args ...any)) {
	m := a.Manifest
	if deaths := m.Deaths(); deaths != "" {
		say("%s", deaths)
	}
	if a.By == ByPhase || a.By == ByInstance || a.In != nil {
		l := &m.Losses
		if l.PhasesTooDeep > 0 {
			say("%s in 256 or more others, part of the innermost of the first 256", units.Count(l.PhasesTooDeep, "phase"))
		}
		if l.PhasesUnfinished > 0 {
			say("%s without an end: until the phase round it ends, or with the thread's last record", units.Count(l.PhasesUnfinished, "phase"))
		}
		if l.PhaseEndsUnmatched > 0 {
			say("%s of phases without a begin, without effect", units.Count(l.PhaseEndsUnmatched, "end"))
		}
	}
	if n := len(m.Incomplete); !m.Complete && n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf("; and %d more: moriens status --long DIR", n-1)
		}
		say("incomplete: %s%s", m.Incomplete[0], more)
	}
}

// matched are the phases that --in matches, some of them.
func (a *Answer) matched(b *builder) []string {
	if b.shape.In == nil {
		return nil
	}
	const most = 10
	list := slices.Sorted(slices.Values(b.shape.In.matched))
	if n := len(list) - most; n > 0 {
		list = append(list[:most:most], fmt.Sprintf("and %d more", n))
	}
	return list
}

// noSeries says what is needed for series.
func (a *Answer) noSeries() error {
	if a.Manifest.Cells != nil {
		return question.Misuse("measure without --cells; --by phase has the sums over all instances", "instances are not known: bursts stay on their nodes (--cells)")
	}
	return question.Lacking(again, "it has no %s: the version of moriens that wrote it did not compute instances of phases", rundir.InstancesFile)
}
