package profiling

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"io"
	"strconv"

	"moriens/trace"
	"moriens/trace/calltree"
	table "moriens/trace/csv"
	"moriens/trace/parquet"
)

// CSV writes all of the answer, whatever --top says, after RFC 4180: docs/format/profile-json.md.
func (a *Answer) CSV(to io.Writer) error {
	w := &lines{to: bufio.NewWriter(to)}
	w.csv = csv.NewWriter(&w.line)
	switch {
	case a.Series != nil:
		a.csvPoints(w)
	case a.Table.Shares != nil:
		a.csvShares(w)
	default:
		a.csvRows(w)
	}
	return w.to.Flush()
}

// lines end in CR LF. Names keep their own ends of lines: UseCRLF of encoding/csv changes those too.
type lines struct {
	to   *bufio.Writer
	csv  *csv.Writer
	line bytes.Buffer
}

func (l *lines) write(row []string) {
	l.line.Reset()
	_ = l.csv.Write(row) // into memory; Flush of the writer reports errors
	l.csv.Flush()
	_, _ = l.to.Write(bytes.TrimSuffix(l.line.Bytes(), []byte("\n")))
	_, _ = l.to.WriteString("\r\n")
}

func integer[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// number is empty where it is not known.
func number(x float64) string {
	if !finite(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// spreadColumns are those of a figure over threads.
func spreadColumns(name string) (list []string) {
	for _, of := range []string{"sum", "mean", "most", "most_world", "most_rank", "most_thread", "least", "std", "imbalance"} {
		list = append(list, name+"_"+of)
	}
	return list
}

func (s *Spread) cells() []string {
	if s.Summed {
		return []string{integer(s.Sum), number(s.Mean), "", "", "", "", "", "", ""}
	}
	return []string{integer(s.Sum), number(s.Mean), integer(s.Most), integer(s.MostOf.World), integer(s.MostOf.Rank), integer(s.MostOf.Thread), integer(s.Least), number(s.Std), number(s.Imbalance())}
}

func (r *Ratio) cells() []string {
	if r.Threads == 0 {
		return append([]string{number(r.Overall)}, make([]string, 8)...)
	}
	return []string{number(r.Overall), number(r.Mean), number(r.Most), integer(r.MostOf.World), integer(r.MostOf.Rank), integer(r.MostOf.Thread), number(r.Least), number(r.Std), number(r.Of(Imbalance))}
}

func (a *Answer) csvRows(w *lines) {
	loops := a.By == ByLoop
	head := []string{"type", "name", "stack", "phase", "depth", "file", "line", "cluster"}
	for _, of := range []string{"exclusive_ns", "inclusive_ns", "calls", "subcalls"} {
		head = append(head, spreadColumns(of)...)
	}
	head = append(head, "per_call_ns", "estimated_share", "missing_bursts")
	head = append(head, spreadColumns("mpi_ns")...)
	if a.Metric != metricTime {
		head = append(append(head, spreadColumns("exclusive_value")...), spreadColumns("inclusive_value")...)
	}
	if loops {
		head = append(head, "loop", "entries", "trips", "least_trips", "most_trips")
	}
	w.write(head)
	for i := range a.Table.Rows {
		r := &a.Table.Rows[i]
		line, cluster := "", ""
		if r.Line > 0 {
			line = integer(r.Line)
		}
		if r.Type == calltree.Cluster {
			cluster = integer(r.Cluster)
		}
		row := []string{string(r.Type), table.CellOf(r.Name), table.CellOf(trace.PhasePath(r.Stack...)), table.CellOf(r.Phase), integer(r.Depth), table.CellOf(r.File), line, cluster}
		for _, s := range []*Spread{&r.ExclusiveNS, &r.InclusiveNS, &r.Calls, &r.Subcalls} {
			cells := s.cells()
			if r.Type == calltree.Function && (s == &r.Calls || s == &r.ExclusiveNS && s.Sum == 0) || r.OfLoop() && s == &r.Calls {
				clear(cells)
			}
			row = append(row, cells...)
		}
		row = append(row, number(r.PerCallNS), number(r.Estimated), integer(r.Missing))
		mpi := r.MPINS.cells()
		if r.Type != calltree.Program && r.Type != calltree.Phase && !r.OfLoop() {
			clear(mpi)
		}
		row = append(row, mpi...)
		switch {
		case a.IsRatio():
			row = append(append(row, r.ExclusiveRatio.cells()...), r.InclusiveRatio.cells()...)
		case a.Metric != metricTime:
			row = append(append(row, r.Exclusive.cells()...), r.Inclusive.cells()...)
		}
		switch {
		case loops && r.Loop != nil:
			t := r.Loop.Trips
			row = append(row, strconv.Itoa(r.Loop.ID), strconv.FormatInt(t.Entries, 10), strconv.FormatInt(t.Total, 10), strconv.FormatInt(t.Least, 10), strconv.FormatInt(t.Most, 10))
		case loops:
			row = append(row, "", "", "", "", "")
		}
		w.write(row)
	}
}

func (a *Answer) csvShares(w *lines) {
	head := []string{"node", "world", "rank", "ranks", "threads", "time_ns", "computing_ns", "mpi_ns", "paused_ns", "unrecorded_ns", "other_ns", "mpi_calls"}
	if a.Metric != metricTime {
		head = append(head, "value")
	}
	w.write(head)
	for i := range a.Table.Shares {
		s := &a.Table.Shares[i]
		row := []string{table.CellOf(s.Host), "", "", integer(s.Ranks), integer(s.Threads)}
		if a.By == ByRank {
			row[1], row[2] = integer(s.World), integer(s.Rank)
		}
		for _, x := range []int64{s.NS, s.ComputingNS, s.MPINS, s.PausedNS, s.UnrecordedNS, s.OtherNS, s.Calls} {
			row = append(row, integer(x))
		}
		switch {
		case a.IsRatio():
			row = append(row, number(s.Ratio()))
		case a.Metric != metricTime:
			row = append(row, integer(s.Value))
		}
		w.write(row)
	}
}

// whole is what a series of instances as a whole is of.
const whole = parquet.InstanceWhole

func (a *Answer) csvPoints(w *lines) {
	w.write([]string{
		"instance", "instances", "threads", "calls", "sum_ns", "direct_ns", "mean_ns", "least_ns", "most_ns", "most_world", "most_rank", "most_thread", "std_ns", "longest_ns", "longest_instance", "slow", "begin_ns", "end_ns",
	})
	for i := range a.Series.Points {
		p := &a.Series.Points[i]
		row := []string{
			integer(p.Instance), integer(p.Instances), integer(p.Threads), integer(p.Calls), integer(p.SumNS), integer(p.DirectNS), number(p.MeanNS), integer(p.LeastNS), integer(p.MostNS),
			integer(p.MostOf.World), integer(p.MostOf.Rank), integer(p.MostOf.Thread), number(p.StdNS), "", "", strconv.FormatBool(p.Slow), "", "",
		}
		if a.Series.What == whole {
			row[13], row[14] = integer(p.LongestNS), integer(p.LongestInstance)
		}
		if p.Timed {
			row[16], row[17] = integer(p.BeginNS), integer(p.EndNS)
		}
		w.write(row)
	}
}
