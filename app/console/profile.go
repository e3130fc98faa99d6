package console

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"moriens/app/profiling"
	"moriens/internal/plain"
	"moriens/internal/units"
	"moriens/trace/calltree"
)

// Profile prints where the time of a run went.
func Profile(to io.Writer, a *profiling.Answer) error {
	w := profileWords{a}
	var b strings.Builder
	switch {
	case a.Series != nil:
		w.writeSeries(&b)
	case a.Table.Shares != nil:
		w.writeShares(&b)
	case a.By == profiling.ByPhase && !a.Nested:
		w.writePhases(&b)
	default:
		w.writeHead(&b, w.subject())
		w.writeRows(&b, a.Table.Rows, a.Nested || a.By == profiling.ByLoop)
	}
	for _, note := range a.Notes {
		fmt.Fprintf(&b, "note: %s\n", plain.Line(note))
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// How many rows are printed where no number is asked for.
const (
	mostProfileRows   = 30
	mostTreeRows      = 60
	mostProfilePhases = 10
	leastPhaseRows    = 10 // of a phase; after these no row with less than smallRow of the total
	smallRow          = .0005
	mostShares        = 64
	mostPoints        = 100
)

type profileWords struct{ *profiling.Answer }

func (w profileWords) subject() string {
	subject := map[profiling.By]string{
		profiling.ByCall: "calls of MPI and clusters", profiling.ByCallPath: "call paths and clusters", profiling.ByFunctions: "functions, calls of MPI and clusters",
		profiling.ByLoop: "loops", profiling.ByCluster: "clusters", profiling.ByPhase: "phases", profiling.ByRank: "ranks", profiling.ByNode: "nodes",
	}[w.By]
	if w.In != nil {
		subject += " in phase " + plain.Line(w.In.String())
	}
	return subject
}

// writeHead says what the table is of.
func (w profileWords) writeHead(b *strings.Builder, subject string) {
	t := w.Table
	fmt.Fprintf(b, "%s: %s%s%s of %s", plain.Line(w.Question.Dir), subject, separator, w.metric(), units.Counted(t.Ranks, "rank"))
	if t.Threads != t.Ranks {
		fmt.Fprintf(b, ", %s", units.Counted(t.Threads, "thread"))
	}
	b.WriteByte('\n')
	if w.By == profiling.ByFunctions || w.By == profiling.ByCallPath && w.Nested {
		b.WriteString("times of functions are estimates: their MPI calls, and the computation between two of them\n")
	}
}

// metric says what the figures are.
func (w profileWords) metric() string {
	of := map[profiling.Stat]string{
		profiling.Sum: "sum", profiling.Mean: "mean", profiling.Most: "most", profiling.Least: "least", profiling.Std: "standard deviation", profiling.Imbalance: "imbalance (most/mean)",
	}[w.Stat]
	if w.Metric == "time" {
		return "time, " + of
	}
	text := plain.Line(w.Metric)
	if w.IsRatio() && w.Stat == profiling.Sum {
		return text + " of all"
	}
	return text + ", " + of
}

// figure is a figure of the metric.
func (w profileWords) figure(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case w.Stat == profiling.Imbalance || w.IsRatio():
		return fmt.Sprintf("%.2f", x)
	case w.IsTime():
		return Duration(x)
	case w.IsBytes():
		return units.Bytes(x).String()
	case x == math.Trunc(x) && math.Abs(x) < 1<<62:
		return units.Integer(int(x))
	}
	return units.Significant(x)
}

// number is how often something ran, or a statistic of it.
func (w profileWords) number(s *profiling.Spread) string {
	x := s.Of(w.Stat)
	switch {
	case s.Sum == 0:
		return "-"
	case w.Stat == profiling.Imbalance:
		return fmt.Sprintf("%.2f", x)
	case x == math.Trunc(x) && math.Abs(x) < 1<<62:
		return units.Integer(int(x))
	}
	return units.Significant(x)
}

func shareText(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*x)
}

// hasMPI reports whether phases are shown with their time in MPI.
func (w profileWords) hasMPI() bool {
	return (w.By == profiling.ByPhase || w.By == profiling.ByLoop) && w.Metric == "time"
}

// hasTrips reports whether loops are shown with their trips: these are of all ranks, and of all phases.
func (w profileWords) hasTrips() bool {
	return w.By == profiling.ByLoop && w.Ranks == nil && w.In == nil
}

// perCall is the first column behind those that tables of loops do not have: how long a call takes is shown with calls.
func (w profileWords) perCall() int {
	if w.Nested {
		return 5
	}
	return 6
}

// columns begins a table of rows.
func (w profileWords) columns() table {
	t := table{head: []string{"%time", "excl", "incl", "calls", "subrs", "per call"}, left: make([]bool, 6, 10)}
	if w.Metric != "time" && !w.IsRatio() {
		t.head[0] = "%" + plain.Line(w.Metric)
	}
	if w.IsCounter() {
		t.head, t.left = append(t.head, "estimated"), append(t.left, false)
	}
	if w.hasMPI() {
		t.head, t.left = append(t.head, "MPI"), append(t.left, false)
	}
	if w.By == profiling.ByLoop {
		t.head, t.left = slices.Delete(t.head, 4, w.perCall()), t.left[w.perCall()-4:]
	}
	if w.hasTrips() {
		t.head, t.left = append(t.head, "trips", "per trip"), append(t.left, false, false)
	}
	if w.Stat == profiling.Most || w.Stat == profiling.Imbalance {
		t.head, t.left = append(t.head, "on rank"), append(t.left, false)
	}
	t.head, t.left = append(t.head, "name"), append(t.left, true)
	return t
}

func (w profileWords) cells(r *profiling.Row, name string) []string {
	inclusive, exclusive := w.Figures(r)
	row := []string{shareText(w.ShareOf(r)), w.figure(exclusive), w.figure(inclusive), w.number(&r.Calls), w.number(&r.Subcalls), "-"}
	if r.Type == calltree.Function && r.ExclusiveNS.Sum == 0 {
		row[1] = "-"
	}
	switch {
	case (r.Type == calltree.Phase || r.Type == calltree.Program) && r.Calls.Sum > 0:
		row[5] = Duration(float64(r.InclusiveNS.Sum) / float64(r.Calls.Sum))
	case !math.IsNaN(r.PerCallNS) && (r.Type == calltree.MPI || r.Type == calltree.Cluster):
		row[5] = Duration(r.PerCallNS)
	}
	if w.IsCounter() {
		text := ""
		if r.Estimated > 0 {
			text = percent(r.Estimated)
		}
		row = append(row, text)
	}
	if w.hasMPI() {
		text := ""
		if r.Type == calltree.Phase || r.Type == calltree.Program || r.OfLoop() {
			text = w.figure(r.MPINS.Of(w.Stat))
		}
		row = append(row, text)
	}
	if w.By == profiling.ByLoop {
		if r.OfLoop() || r.Type == calltree.Program {
			row[3] = w.number(&r.Subcalls)
		}
		if r.Type == calltree.Program {
			row[5] = "-"
		}
		row = slices.Delete(row, 4, w.perCall())
	}
	if w.hasTrips() {
		row = append(row, tripCells(r)...)
	}
	if w.Stat == profiling.Most || w.Stat == profiling.Imbalance {
		whose := "-"
		if !math.IsNaN(inclusive) {
			whose = threadText(w.Whose(r), w.Table.Threads != w.Table.Ranks)
		}
		row = append(row, whose)
	}
	return append(row, name)
}

// tripCells are the trips of a loop in all ranks, and how long one takes.
func tripCells(r *profiling.Row) []string {
	if r.Loop == nil || r.Loop.Trips.Total == 0 {
		return []string{"", ""}
	}
	n := r.Loop.Trips.Total
	return []string{units.Integer(int(n)), Duration(float64(r.InclusiveNS.Sum) / float64(n))}
}

// threadText names a thread.
func threadText(t calltree.Thread, several bool) string {
	text := fmt.Sprint(t.Rank)
	if t.World > 0 {
		text = fmt.Sprintf("%d:%d", t.World, t.Rank)
	}
	if several {
		text += fmt.Sprintf(".%d", t.Thread)
	}
	return text
}

// name is that of a row; with the place of the call where it is asked for.
func (w profileWords) name(r *profiling.Row, place bool) string {
	text := plain.Line(r.Name)
	switch {
	case r.Type == calltree.Phase:
		text = "phase " + text
	case r.OfLoop(): // its name has the place
	case r.Line > 0 && (place || r.Type == calltree.MPI && w.Nested):
		text += fmt.Sprintf("@%s:%d", plain.Line(filepath.Base(r.File)), r.Line)
	}
	return text
}

// writeRows prints rows, as many as are asked for, and what the others have.
func (w profileWords) writeRows(b *strings.Builder, rows []profiling.Row, tree bool) {
	t := w.columns()
	shown := w.shown(rows, tree)
	alike := make(map[string]int)
	if tree {
		for i := range rows {
			alike[fmt.Sprintf("%q", rows[i].Stack)]++
		}
	}
	rest, own := 0, 0.0
	for i := range rows {
		r := &rows[i]
		if !shown[i] {
			rest++
			own += w.OwnShare(r)
			continue
		}
		name := w.name(r, alike[fmt.Sprintf("%q", r.Stack)] > 1)
		if tree {
			name = strings.Repeat("  ", r.Depth) + name
		}
		t.rows = append(t.rows, w.cells(r, name))
	}
	t.rows = append(t.rows, w.cells(&w.Table.Total, "total"))
	writeTable(b, t)
	if rest > 0 {
		next := "--top 0"
		if w.Depth > 0 {
			next += " without --depth"
		}
		fmt.Fprintf(b, "%s with %s %% of the total: %s\n", units.Counted(rest, "more row"), shareText(own), next)
	}
}

// nothing reports whether a row has nothing of a metric that not all rows can have. Such rows are not printed, but on
// request.
func (w profileWords) nothing(r *profiling.Row) bool {
	return w.Top < 0 && w.Metric != "time" && !w.IsRatio() && r.Inclusive.Sum == 0
}

// shown says which rows are printed: those with most, and of a tree those not too deep.
func (w profileWords) shown(rows []profiling.Row, tree bool) []bool {
	shown := make([]bool, len(rows))
	if !tree {
		for i := range rows {
			shown[i] = i < w.Most(mostProfileRows) && !w.nothing(&rows[i])
		}
		return shown
	}
	for _, i := range w.Largest(rows, w.Most(mostTreeRows)) {
		shown[i] = w.Depth == 0 || rows[i].Depth <= w.Depth
	}
	return shown
}

// writePhases prints the program, and each phase with what is directly in it.
func (w profileWords) writePhases(b *strings.Builder) {
	w.writeHead(b, w.subject())
	rows := w.Table.Rows
	left, rest := w.Most(mostProfilePhases), 0
	for i := range rows {
		r := &rows[i]
		if r.Type != calltree.Phase && r.Type != calltree.Program || w.In != nil && i == 0 && r.Children == 0 {
			continue
		}
		if left == 0 {
			rest++
			continue
		}
		left--
		what := "the program"
		if r.Type == calltree.Phase {
			what = "phase " + plain.Line(profiling.PhaseText(r.Phase))
		}
		fmt.Fprintf(b, "\n%s\n", what)
		t := w.columns()
		small, of := 0, 0.0
		for k := i + 1; k < len(rows) && rows[k].Depth > r.Depth; k++ {
			switch x := &rows[k]; {
			case x.Depth > r.Depth+1:
			case w.nothing(x):
				small++
			case w.Top != 0 && len(t.rows) >= leastPhaseRows && w.ShareOf(x) < smallRow:
				small++
				of += w.ShareOf(x)
			default:
				t.rows = append(t.rows, w.cells(x, w.name(x, false)))
			}
		}
		t.rows = append(t.rows, w.cells(r, "total"))
		writeTable(b, t)
		if small > 0 {
			fmt.Fprintf(b, "%s with %s %% of the total: --top 0\n", units.Counted(small, "more row"), shareText(of))
		}
	}
	if rest > 0 {
		fmt.Fprintf(b, "\n%s: --top 0\n", units.Counted(rest, "more phase"))
	}
}

// writeShares prints ranks or nodes.
func (w profileWords) writeShares(b *strings.Builder) {
	w.writeHead(b, w.subject())
	t := table{head: []string{"%time", "time", "computing", "MPI", "paused", "unrecorded", "MPI calls"}, left: make([]bool, 7, 10)}
	if w.Metric != "time" && w.Metric != "calls" {
		t.head, t.left = append(t.head, plain.Line(w.Metric)), append(t.left, false)
	}
	if w.By == profiling.ByNode {
		t.head, t.left = append(t.head, "ranks", "node"), append(t.left, false, true)
	} else {
		t.head, t.left = append(t.head, "rank", "node"), append(t.left, false, true)
	}
	total := float64(w.Table.Total.InclusiveNS.Sum)
	var rest, all profiling.Share
	n := 0
	for i := range w.Table.Shares {
		s := &w.Table.Shares[i]
		all.Add(s)
		if i >= w.Most(mostShares) {
			rest.Add(s)
			n++
			continue
		}
		last := fmt.Sprint(s.Ranks)
		if w.By == profiling.ByRank {
			last = threadText(s.Thread, false)
		}
		t.rows = append(t.rows, append(w.shareCells(s, total), last, plain.Line(s.Host)))
	}
	if n > 0 {
		t.rows = append(t.rows, append(w.shareCells(&rest, total), units.Integer(n)+" more", ""))
	}
	t.rows = append(t.rows, append(w.shareCells(&all, total), "total", ""))
	writeTable(b, t)
}

func (w profileWords) shareCells(s *profiling.Share, total float64) []string {
	row := []string{shareText(float64(s.NS) / total)}
	for _, ns := range []int64{s.NS, s.ComputingNS, s.MPINS, s.PausedNS, s.UnrecordedNS} {
		row = append(row, Duration(float64(ns)))
	}
	row = append(row, units.Integer(int(s.Calls)))
	if w.Metric != "time" && w.Metric != "calls" {
		x := float64(s.Value)
		if w.IsRatio() {
			x = s.Ratio()
		}
		row = append(row, w.figure(x))
	}
	return row
}

// writeSeries prints the instances of a phase.
func (w profileWords) writeSeries(b *strings.Builder) {
	s := w.Series
	what := "iterations"
	if s.Iterations < 0 {
		what = "instances of " + plain.Line(profiling.PhaseText(s.Phase))
	}
	time := "time of each as a whole"
	if s.What != "whole" {
		time = "time in " + plain.Line(s.What)
	}
	fmt.Fprintf(b, "%s: %s%s%s%s%s on %s\n", plain.Line(w.Question.Dir), what, separator, time, separator, units.Counted(int(s.Instances), "instance"), units.Counted(s.Threads, "thread"))
	shown := make([]bool, len(s.Points))
	for _, i := range w.Longest(w.Most(mostPoints)) {
		shown[i] = true
	}
	t := table{head: []string{"instance", "threads", "sum", "mean", "least", "most", "std", "on rank", ""}, left: []bool{false, false, false, false, false, false, false, false, true}}
	rest := 0
	var restNS int64
	slow := 0
	for i := range s.Points {
		p := &s.Points[i]
		if p.Slow {
			slow++
		}
		if !shown[i] {
			rest++
			restNS += p.SumNS
			continue
		}
		name, mark := fmt.Sprint(p.Instance), ""
		if p.Instances > 1 {
			name = fmt.Sprintf("%d–%d", p.Instance, p.Instance+p.Instances-1)
		}
		switch {
		case p.Slow && p.Instances > 1 && p.LongestNS > 0:
			mark = fmt.Sprintf("slow: instance %d took %s", p.LongestInstance, Duration(float64(p.LongestNS)))
		case p.Slow:
			mark = "slow"
		}
		t.rows = append(t.rows, []string{name, fmt.Sprint(p.Threads), Duration(float64(p.SumNS)), Duration(p.MeanNS), Duration(float64(p.LeastNS)), Duration(float64(p.MostNS)), Duration(p.StdNS), threadText(p.MostOf, false), mark})
	}
	if rest > 0 {
		t.rows = append(t.rows, []string{units.Integer(rest) + " more", "", Duration(float64(restNS)), "", "", "", "", "", ""})
	}
	t.rows = append(t.rows, []string{"total", fmt.Sprint(s.Threads), Duration(float64(s.Sum.SumNS)), "", Duration(float64(s.Sum.LeastNS)), Duration(float64(s.Sum.MostNS)), "", "", ""})
	writeTable(b, t)
	if rest > 0 {
		fmt.Fprintf(b, "the %s longest, in the order of time: --top 0 prints all\n", units.Integer(len(s.Points)-rest))
	}
	switch {
	case math.IsNaN(s.Threshold):
		b.WriteString("slow: not known of so few instances\n")
	case slow == 0:
		fmt.Fprintf(b, "slow: none is %s (median %s, MAD %s; time of an instance on a thread)\n", profiling.SlowRule, Duration(s.Median), Duration(s.MAD))
	default:
		fmt.Fprintf(b, "slow: %s %s (median %s, MAD %s; time of an instance on a thread)\n", units.Counted(slow, "row"), profiling.SlowRule, Duration(s.Median), Duration(s.MAD))
	}
}
