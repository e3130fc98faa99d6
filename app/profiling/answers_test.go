package profiling

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"moriens/trace"
	table "moriens/trace/csv"
)

// A wroteRow is a row of the JSON or CSV of an answer as a reader gets it.
type wroteRow struct {
	Type  string   `json:"type"`
	Name  string   `json:"name"`
	Stack []string `json:"stack"`
	Phase *string  `json:"phase"`
	Depth int      `json:"depth"`
	File  string   `json:"file"`
	Line  int      `json:"line"`
	Time  struct {
		Exclusive *wroteFigure `json:"exclusive_ns"`
		Inclusive *wroteFigure `json:"inclusive_ns"`
	} `json:"time"`
	Calls     *wroteFigure `json:"calls"`
	Subcalls  *wroteFigure `json:"subcalls"`
	PerCallNS *float64     `json:"per_call_ns"`
	Value     *struct {
		Exclusive *wroteFigure `json:"exclusive"`
		Inclusive *wroteFigure `json:"inclusive"`
	} `json:"value"`
	Estimated *float64 `json:"estimated_share"`
	Missing   int64    `json:"missing_bursts"`
	Cluster   *int32   `json:"cluster"`
}

// A wroteFigure is a figure over threads. Numbers are as they are written; null is "".
type wroteFigure struct {
	Sum       json.Number  `json:"sum"`
	Overall   json.Number  `json:"overall"`
	Mean      json.Number  `json:"mean"`
	Most      json.Number  `json:"most"`
	MostOf    *wroteThread `json:"most_thread"`
	Least     json.Number  `json:"least"`
	Std       json.Number  `json:"std"`
	Imbalance json.Number  `json:"imbalance"`
	Threads   *int         `json:"threads"`
}

type wroteThread struct{ World, Rank, Thread int32 }

// A wrote is what the JSON of an answer has.
type wrote struct {
	Format         int
	By             string
	Tree           bool
	In             *string
	Metric         struct{ Name, Unit string }
	Ranks, Threads int
	Notes          []string
	Total          wroteRow
	Rows           []wroteRow
}

// readAnswer writes an answer as JSON and CSV, and reads both.
func readAnswer(t *testing.T, a *Answer) (wrote, []wroteRow) {
	t.Helper()
	var text, cells bytes.Buffer
	if err := a.JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := a.CSV(&cells); err != nil {
		t.Fatal(err)
	}
	var w wrote
	if err := json.Unmarshal(text.Bytes(), &w); err != nil {
		t.Fatalf("%v\n%s", err, text.Bytes())
	}
	r := csv.NewReader(&cells)
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []wroteRow
	for _, line := range lines[1:] {
		rows = append(rows, csvRow(t, lines[0], line))
	}
	return w, rows
}

// csvRow makes of a line of CSV what JSON has.
func csvRow(t *testing.T, head, line []string) (r wroteRow) {
	t.Helper()
	cell := func(column string) string {
		at := slices.Index(head, column)
		if at < 0 {
			t.Fatalf("no column %s in %v", column, head)
		}
		return line[at]
	}
	whole := func(column string) int {
		n, err := strconv.Atoi(cell(column))
		if err != nil {
			t.Fatalf("%s: %v", column, err)
		}
		return n
	}
	float := func(column string) *float64 {
		x, err := strconv.ParseFloat(cell(column), 64)
		if err != nil && cell(column) != "" {
			t.Fatal(err)
		}
		if err != nil {
			return nil
		}
		return &x
	}
	figure := func(name string) *wroteFigure {
		if !slices.Contains(head, name+"_sum") || cell(name+"_sum")+cell(name+"_mean")+cell(name+"_most_rank")+cell(name+"_least") == "" {
			return nil
		}
		number := func(of string) json.Number { return json.Number(cell(name + "_" + of)) }
		return &wroteFigure{
			Sum: number("sum"), Mean: number("mean"), Most: number("most"), Least: number("least"), Std: number("std"), Imbalance: number("imbalance"),
			MostOf: &wroteThread{int32(whole(name + "_most_world")), int32(whole(name + "_most_rank")), int32(whole(name + "_most_thread"))},
		}
	}
	r.Type, r.Name, r.Depth, r.File, r.Missing = cell("type"), table.TextOf(cell("name")), whole("depth"), table.TextOf(cell("file")), int64(whole("missing_bursts"))
	r.Stack = trace.PhaseNames(table.TextOf(cell("stack")))
	if r.Depth == 0 {
		r.Stack = nil
	}
	if phase := table.TextOf(cell("phase")); phase != "" {
		r.Phase = &phase
	}
	if cell("line") != "" {
		r.Line = whole("line")
	}
	if cell("cluster") != "" {
		c := int32(whole("cluster"))
		r.Cluster = &c
	}
	r.Time.Exclusive, r.Time.Inclusive, r.Calls, r.Subcalls = figure("exclusive_ns"), figure("inclusive_ns"), figure("calls"), figure("subcalls")
	r.PerCallNS, r.Estimated = float("per_call_ns"), float("estimated_share")
	if slices.Contains(head, "exclusive_value_sum") {
		r.Value = new(struct {
			Exclusive *wroteFigure `json:"exclusive"`
			Inclusive *wroteFigure `json:"inclusive"`
		})
		r.Value.Exclusive, r.Value.Inclusive = figure("exclusive_value"), figure("inclusive_value")
	}
	return r
}

func near(got json.Number, want float64) bool {
	if math.IsNaN(want) {
		return got == ""
	}
	x, err := got.Float64()
	return err == nil && math.Abs(x-want) <= 1e-12*max(math.Abs(x), math.Abs(want))
}

// checkFigure compares a figure with those of threads.
func checkFigure(t *testing.T, what string, got *wroteFigure, threads []wroteThread, of func(wroteThread) int64) {
	t.Helper()
	var sum, most, least int64
	var mostOf wroteThread
	mean, squares := new(big.Rat), new(big.Rat)
	n := big.NewRat(1, int64(len(threads)))
	for i, thread := range threads {
		x := of(thread)
		sum += x
		if i == 0 || x > most {
			most, mostOf = x, thread
		}
		if i == 0 || x < least {
			least = x
		}
		mean.Add(mean, new(big.Rat).Mul(n, big.NewRat(x, 1)))
	}
	for _, thread := range threads {
		d := new(big.Rat).Sub(big.NewRat(of(thread), 1), mean)
		squares.Add(squares, d.Mul(d, d))
	}
	m, _ := mean.Float64()
	variance, _ := squares.Mul(squares, n).Float64()
	whole := func(x int64) json.Number { return json.Number(strconv.FormatInt(x, 10)) }
	if got == nil || got.Sum != whole(sum) || got.Most != whole(most) || got.Least != whole(least) || *got.MostOf != mostOf || !near(got.Mean, m) || !near(got.Std, math.Sqrt(variance)) || !near(got.Imbalance, float64(most)/m) {
		t.Errorf("%s: got %+v, want sum %d, most %d of %+v, least %d, mean %v, std %v", what, got, sum, most, mostOf, least, m, math.Sqrt(variance))
	}
}

// checkRatio compares the figure of a ratio with those of threads. CSV has it where JSON has overall as sum, and does
// not say how many threads have one.
func checkRatio(t *testing.T, what string, got *wroteFigure, threads []wroteThread, of func(wroteThread) (above, below int64)) {
	t.Helper()
	var above, below int64
	var list []float64
	var mostOf wroteThread
	for _, thread := range threads {
		x, y := of(thread)
		if y == 0 {
			continue
		}
		above, below = above+x, below+y
		if r := float64(x) / float64(y); len(list) == 0 || r > slices.Max(list) {
			mostOf = thread
		}
		list = append(list, float64(x)/float64(y))
	}
	if len(list) == 0 {
		if got != nil && (got.Overall != "" || got.Mean != "" || got.MostOf != nil || got.Least != "" || got.Threads == nil || *got.Threads != 0) {
			t.Errorf("%s: got %+v, want nothing", what, got)
		}
		return
	}
	mean, squares := 0.0, 0.0
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		squares += (x - mean) * (x - mean) / float64(len(list))
	}
	std, _ := got.Std.Float64()
	if !near(got.Overall+got.Sum, float64(above)/float64(below)) || !near(got.Mean, mean) || math.Abs(std-math.Sqrt(squares)) > 1e-9 || !near(got.Most, slices.Max(list)) || !near(got.Least, slices.Min(list)) ||
		*got.MostOf != mostOf || !near(got.Imbalance, slices.Max(list)/mean) || got.Threads != nil && *got.Threads != len(list) {
		t.Errorf("%s: got %+v, want %d/%d of %v, most of %+v", what, got, above, below, list, mostOf)
	}
}
