package profiling

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"

	"moriens/analysis/program"
	"moriens/trace/calltree"
	"moriens/trace/rundir"
)

// JSONFormat is the version of the JSON of an answer: docs/format/profile-json.md.
const JSONFormat = 1

type jsonAnswer struct {
	Format  int        `json:"format"`
	By      By         `json:"by"`
	Tree    bool       `json:"tree"`
	In      *string    `json:"in"`
	Metric  jsonMetric `json:"metric"`
	Ranks   int        `json:"ranks,omitempty"`
	Threads int        `json:"threads"`
	Notes   []string   `json:"notes"`
	Phase   *string    `json:"phase,omitempty"`
	Loop    *int       `json:"iterations,omitempty"`
	What    string     `json:"what,omitempty"`
	Slow    *jsonSlow  `json:"slow,omitempty"`
}

type jsonMetric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

type jsonSlow struct {
	Rule        string        `json:"rule"`
	MedianNS    rundir.Number `json:"median_ns"`
	MADNS       rundir.Number `json:"mad_ns"`
	ThresholdNS rundir.Number `json:"threshold_ns"`
}

type jsonThread struct {
	World  int32 `json:"world"`
	Rank   int32 `json:"rank"`
	Thread int32 `json:"thread"`
}

type jsonSpread struct {
	Sum       int64         `json:"sum"`
	Mean      rundir.Number `json:"mean"`
	Most      *int64        `json:"most"`
	MostOf    *jsonThread   `json:"most_thread"`
	Least     *int64        `json:"least"`
	Std       rundir.Number `json:"std"`
	Imbalance rundir.Number `json:"imbalance"`
}

type jsonRatio struct {
	Overall   rundir.Number `json:"overall"`
	Mean      rundir.Number `json:"mean"`
	Most      rundir.Number `json:"most"`
	MostOf    *jsonThread   `json:"most_thread"`
	Least     rundir.Number `json:"least"`
	Std       rundir.Number `json:"std"`
	Imbalance rundir.Number `json:"imbalance"`
	Threads   int           `json:"threads"`
}

type jsonValue struct {
	Exclusive any `json:"exclusive"`
	Inclusive any `json:"inclusive"`
}

type jsonTime struct {
	Exclusive *jsonSpread `json:"exclusive_ns"`
	Inclusive *jsonSpread `json:"inclusive_ns"`
	MPI       *jsonSpread `json:"mpi_ns,omitempty"`
}

type jsonRow struct {
	Type      calltree.Type `json:"type"`
	Name      string        `json:"name"`
	Stack     []string      `json:"stack"`
	Phase     *string       `json:"phase"`
	Depth     int           `json:"depth"`
	File      string        `json:"file,omitempty"`
	Line      int           `json:"line,omitempty"`
	Cluster   *int32        `json:"cluster,omitempty"`
	Loop      *jsonLoop     `json:"loop,omitempty"`
	Time      jsonTime      `json:"time"`
	Calls     *jsonSpread   `json:"calls"`
	Subcalls  *jsonSpread   `json:"subcalls"`
	PerCall   rundir.Number `json:"per_call_ns"`
	Value     *jsonValue    `json:"value,omitempty"`
	Estimated rundir.Number `json:"estimated_share"`
	Missing   int64         `json:"missing_bursts"`
}

// A jsonLoop is what program.json has of a loop.
type jsonLoop struct {
	ID        int            `json:"id"`
	Function  string         `json:"function"`
	By        string         `json:"by"`
	StandsFor int            `json:"stands_for"`
	Trips     *program.Trips `json:"trips"`
}

type jsonShare struct {
	Node       string `json:"node"`
	World      *int32 `json:"world,omitempty"`
	Rank       *int32 `json:"rank,omitempty"`
	Ranks      int    `json:"ranks"`
	Threads    int    `json:"threads"`
	NS         int64  `json:"time_ns"`
	Computing  int64  `json:"computing_ns"`
	MPI        int64  `json:"mpi_ns"`
	Paused     int64  `json:"paused_ns"`
	Unrecorded int64  `json:"unrecorded_ns"`
	Other      int64  `json:"other_ns"`
	Calls      int64  `json:"mpi_calls"`
	Value      any    `json:"value,omitempty"`
}

type jsonPoint struct {
	Instance        int64         `json:"instance"`
	Instances       int64         `json:"instances"`
	Threads         int64         `json:"threads"`
	Calls           int64         `json:"calls"`
	Sum             int64         `json:"sum_ns"`
	Direct          int64         `json:"direct_ns"`
	Mean            rundir.Number `json:"mean_ns"`
	Least           int64         `json:"least_ns"`
	Most            int64         `json:"most_ns"`
	MostOf          jsonThread    `json:"most_thread"`
	Std             rundir.Number `json:"std_ns"`
	Longest         *int64        `json:"longest_ns,omitempty"`
	LongestInstance *int64        `json:"longest_instance,omitempty"`
	Begin           *int64        `json:"begin_ns"`
	End             *int64        `json:"end_ns"`
	Slow            bool          `json:"slow"`
}

func threadOf(t calltree.Thread) jsonThread { return jsonThread{t.World, t.Rank, t.Thread} }

func spreadOf(s *Spread) *jsonSpread {
	x := &jsonSpread{Sum: s.Sum, Mean: rundir.Number(s.Mean), Std: rundir.Number(s.Std), Imbalance: rundir.Number(s.Imbalance())}
	if !s.Summed {
		of := threadOf(s.MostOf)
		x.Most, x.MostOf, x.Least = &s.Most, &of, &s.Least
	}
	return x
}

func ratioOf(r *Ratio) *jsonRatio {
	x := &jsonRatio{
		Overall: rundir.Number(r.Overall), Mean: rundir.Number(r.Mean), Most: rundir.Number(r.Most), Least: rundir.Number(r.Least), Std: rundir.Number(r.Std),
		Imbalance: rundir.Number(r.Of(Imbalance)), Threads: r.Threads,
	}
	if r.Threads > 0 {
		t := threadOf(r.MostOf)
		x.MostOf = &t
	}
	return x
}

func (a *Answer) jsonRow(r *Row) jsonRow {
	x := jsonRow{
		Type: r.Type, Name: r.Name, Stack: r.Stack, Depth: r.Depth, File: r.File, Line: r.Line, Time: jsonTime{Exclusive: spreadOf(&r.ExclusiveNS), Inclusive: spreadOf(&r.InclusiveNS)},
		Calls: spreadOf(&r.Calls), Subcalls: spreadOf(&r.Subcalls), PerCall: rundir.Number(r.PerCallNS), Estimated: rundir.Number(r.Estimated), Missing: r.Missing,
	}
	if x.Stack == nil {
		x.Stack = []string{}
	}
	if r.Phase != "" {
		x.Phase = &r.Phase
	}
	switch r.Type {
	case calltree.Program, calltree.Phase:
		x.Time.MPI = spreadOf(&r.MPINS)
	case calltree.Cluster:
		x.Cluster = &r.Cluster
	case calltree.Loop, calltree.Outside, calltree.Unplaced:
		x.Time.MPI, x.Calls = spreadOf(&r.MPINS), nil
		if n := r.Loop; n != nil {
			x.Loop = &jsonLoop{n.ID, n.Function, n.By, n.StandsFor, n.Trips}
		}
	case calltree.Function:
		x.Calls = nil
		if r.ExclusiveNS.Sum == 0 {
			x.Time.Exclusive = nil
		}
	}
	switch {
	case a.IsRatio():
		x.Value = &jsonValue{ratioOf(r.ExclusiveRatio), ratioOf(r.InclusiveRatio)}
	case a.Metric != metricTime:
		x.Value = &jsonValue{spreadOf(&r.Exclusive), spreadOf(&r.Inclusive)}
	}
	return x
}

// JSON writes all of the answer, whatever --top says.
func (a *Answer) JSON(to io.Writer) error {
	head := jsonAnswer{Format: JSONFormat, By: a.By, Tree: a.Nested, Metric: jsonMetric{a.Metric, "ns"}, Notes: append([]string{}, a.Notes...)}
	if a.In != nil {
		text := a.In.String()
		head.In = &text
	}
	if s := a.Series; s != nil {
		head.Threads, head.What = s.Threads, s.What
		if s.Iterations >= 0 {
			head.Loop = &s.Iterations
		} else {
			head.Phase = &s.Phase
		}
		head.Slow = &jsonSlow{SlowRule, rundir.Number(s.Median), rundir.Number(s.MAD), rundir.Number(s.Threshold)}
	} else {
		head.Metric.Unit, head.Ranks, head.Threads = a.Table.Unit, a.Table.Ranks, a.Table.Threads
	}
	w := newJSONList(to)
	if err := w.begin(head); err != nil {
		return err
	}
	var err error
	switch {
	case a.Series != nil:
		err = a.jsonPoints(w)
	case a.Table.Shares != nil:
		err = a.jsonShares(w)
	default:
		if err = w.field("total", a.jsonRow(&a.Table.Total)); err == nil {
			err = each(w, "rows", len(a.Table.Rows), func(i int) any { return a.jsonRow(&a.Table.Rows[i]) })
		}
	}
	if err != nil {
		return err
	}
	return w.end()
}

func (a *Answer) jsonPoints(w *jsonList) error {
	s := a.Series
	if err := w.field("total", map[string]int64{"instances": s.Instances, "sum_ns": s.Sum.SumNS, "least_ns": s.Sum.LeastNS, "most_ns": s.Sum.MostNS}); err != nil {
		return err
	}
	return each(w, "instances", len(s.Points), func(i int) any {
		p := &s.Points[i]
		x := jsonPoint{
			Instance: p.Instance, Instances: p.Instances, Threads: p.Threads, Calls: p.Calls, Sum: p.SumNS, Direct: p.DirectNS, Mean: rundir.Number(p.MeanNS), Least: p.LeastNS, Most: p.MostNS,
			MostOf: threadOf(p.MostOf), Std: rundir.Number(p.StdNS), Slow: p.Slow,
		}
		if s.What == whole {
			x.Longest, x.LongestInstance = &p.LongestNS, &p.LongestInstance
		}
		if p.Timed {
			x.Begin, x.End = &p.BeginNS, &p.EndNS
		}
		return x
	})
}

func (a *Answer) jsonShares(w *jsonList) error {
	share := func(s *Share) jsonShare {
		x := jsonShare{
			Node: s.Host, Ranks: s.Ranks, Threads: s.Threads, NS: s.NS, Computing: s.ComputingNS, MPI: s.MPINS, Paused: s.PausedNS, Unrecorded: s.UnrecordedNS, Other: s.OtherNS, Calls: s.Calls,
		}
		if a.By == ByRank {
			x.World, x.Rank = &s.World, &s.Rank
		}
		switch {
		case a.IsRatio():
			x.Value = rundir.Number(s.Ratio())
		case a.Metric != metricTime:
			x.Value = s.Value
		}
		return x
	}
	var all Share
	for i := range a.Table.Shares {
		all.Add(&a.Table.Shares[i])
	}
	total := share(&all)
	total.World, total.Rank = nil, nil
	if err := w.field("total", total); err != nil {
		return err
	}
	return each(w, "by_"+string(a.By), len(a.Table.Shares), func(i int) any { return share(&a.Table.Shares[i]) })
}

// A jsonList writes an object, and entries of lists on lines of their own.
type jsonList struct {
	out  *bufio.Writer
	text bytes.Buffer
	e    *json.Encoder
}

func newJSONList(to io.Writer) *jsonList {
	w := &jsonList{out: bufio.NewWriterSize(to, 1<<16)}
	w.e = json.NewEncoder(&w.text)
	w.e.SetEscapeHTML(false)
	return w
}

func (w *jsonList) encode(v any) ([]byte, error) {
	w.text.Reset()
	if err := w.e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(w.text.Bytes()), nil
}

// begin writes an object, but for its end.
func (w *jsonList) begin(v any) error {
	text, err := w.encode(v)
	if err == nil {
		_, err = w.out.Write(text[:len(text)-1])
	}
	return err
}

func (w *jsonList) field(name string, v any) error {
	text, err := w.encode(v)
	if err == nil {
		w.out.WriteString(",\n \"" + name + "\": ")
		_, err = w.out.Write(text)
	}
	return err
}

// each writes a list.
func each(w *jsonList, name string, n int, entry func(i int) any) error {
	w.out.WriteString(",\n \"" + name + "\": [")
	for i := range n {
		text, err := w.encode(entry(i))
		if err != nil {
			return err
		}
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.WriteString("\n  ")
		w.out.Write(text)
	}
	_, err := w.out.WriteString("\n ]")
	return err
}

func (w *jsonList) end() error {
	w.out.WriteString("\n}\n")
	return w.out.Flush()
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
