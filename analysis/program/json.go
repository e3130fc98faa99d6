package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
)

// Write writes program.json: a line for each node, indented by its depth.
func (p *Program) Write(to io.Writer) error {
	var w writer
	w.program(p, 0)
	if w.err != nil {
		return w.err
	}
	w.b.WriteByte('\n')
	_, err := w.b.WriteTo(to)
	return err
}

// MarshalJSON writes what Write does.
func (p *Program) MarshalJSON() ([]byte, error) {
	var w writer
	w.program(p, 0)
	return w.b.Bytes(), w.err
}

// MarshalJSON writes the fields that the kind of a node has, those that are zero too, and of the others those that say
// something.
func (n *Node) MarshalJSON() ([]byte, error) {
	var w writer
	w.node(n, 0)
	return w.b.Bytes(), w.err
}

// MarshalJSON writes the fields that the kind of a condition has.
func (c *When) MarshalJSON() ([]byte, error) {
	var w writer
	w.begin()
	w.field("kind", c.Kind)
	w.some("variable", c.Variable, c.Variable != "")
	switch c.Kind {
	case WhenEvery, WhenNotEvery:
		w.field("period", c.Period)
		w.field("offset", c.Offset)
	case WhenAt, WhenNotAt, WhenFrom, WhenTo, WhenDepth:
		w.field("trip", c.Trip)
		w.some("trips", c.Trips, c.Trips != nil)
	case WhenRange:
		w.field("first", c.First)
		w.field("last", c.Last)
		w.field("stride", c.Stride)
	}
	w.some("rank", c.Rank, c.Rank != 0)
	w.b.WriteByte('}')
	return w.b.Bytes(), w.err
}

// MarshalJSON writes all fields, of quartiles and what the expression says in numbers those that there are.
func (t *Trips) MarshalJSON() ([]byte, error) {
	var w writer
	w.trips(t)
	return w.b.Bytes(), w.err
}

func (w *writer) trips(t *Trips) {
	w.begin()
	w.field("least", t.Least)
	w.field("most", t.Most)
	w.name("mean")
	w.value("mean", t.Mean) // in full: it lies within the least and the most
	w.field("entries", t.Entries)
	w.field("total", t.Total)
	w.field("kind", t.Kind)
	w.some("cycle", t.Cycle, t.Cycle != nil || !w.brief)
	w.field("expression", t.Expression)
	w.some("quartiles", t.Quartiles, len(t.Quartiles) > 0)
	w.some("linear", t.Linear, t.Linear != nil)
	w.some("by_rank", t.ByRank, t.ByRank != nil)
	w.some("at_least", t.AtLeast, t.AtLeast)
	w.some("at_most", t.AtMost, t.AtMost)
	w.some("likely", t.Likely, t.Likely)
	w.some("with_calls", t.WithCalls, t.WithCalls)
	w.b.WriteByte('}')
}

// A writer writes JSON. Nodes are not left to encoding/json, which would go through the whole text of a body once for
// each node that it lies in.
type writer struct {
	b     bytes.Buffer
	brief bool // fields that are 0, empty or null are left out, as in readings
	err   error
}

// digits is how many digits means and shares have: more would say nothing, and take a tenth of the file.
const digits = 6

// shareDigits are those of shares that add up to 1.
const shareDigits = 8

func (w *writer) begin() { w.b.WriteByte('{') }

// field writes a field of the object that was begun last.
func (w *writer) field(name string, value any) {
	if w.brief && isNothing(value) {
		return
	}
	w.name(name)
	switch v := value.(type) { // most fields are one of these; encoding/json takes ten times as long
	case int:
		w.b.Write(strconv.AppendInt(w.b.AvailableBuffer(), int64(v), 10))
		return
	case int64:
		w.b.Write(strconv.AppendInt(w.b.AvailableBuffer(), v, 10))
		return
	case float64:
		value = rounded(v, digits)
		if name == "share" {
			value = rounded(v, shareDigits)
		}
	case bool:
		w.b.Write(strconv.AppendBool(w.b.AvailableBuffer(), v))
		return
	case string:
		if isASCII(v) {
			w.quoted(v)
			return
		}
	}
	w.value(name, value)
}

// value writes what encoding/json makes of it.
func (w *writer) value(name string, value any) {
	e := json.NewEncoder(&w.b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("%s: %w", name, err))
		return
	}
	w.b.Truncate(w.b.Len() - 1) // the line's end
}

func (w *writer) name(name string) {
	if last := w.b.Bytes()[w.b.Len()-1]; last != '{' {
		w.b.WriteByte(',')
	}
	w.quoted(name)
	w.b.WriteByte(':')
}

func (w *writer) quoted(text string) {
	w.b.WriteByte('"')
	w.b.WriteString(text)
	w.b.WriteByte('"')
}

// isASCII reports whether JSON has a text as it is.
func isASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// some writes a field if it says something.
func (w *writer) some(name string, value any, says bool) {
	if says {
		w.field(name, value)
	}
}

func (w *writer) program(p *Program, depth int) {
	w.begin()
	w.field("format", Format)
	w.field("ranks", p.Ranks)
	w.field("certain", Certain{rounded(p.Certain.Calls, digits), rounded(p.Certain.Time, digits)})
	w.field("basis", p.Basis)
	w.some("why", p.Why, len(p.Why) > 0)
	w.some("worlds", p.Worlds, p.Worlds != nil)
	w.some("of_ranks", p.OfRanks, p.OfRanks != nil)
	w.body(p.Body, depth)
	if p.Readings != nil {
		w.readings(p.Readings)
	}
	w.b.WriteByte('}')
}

// readings stand behind the program, each on lines of its own.
func (w *writer) readings(r *Readings) {
	w.brief = true
	defer func() { w.brief = false }()
	w.b.WriteString(",\n")
	w.quoted("readings")
	w.b.WriteString(":{")
	if r.Order != nil {
		w.name("order")
		w.program(r.Order, 0)
	}
	w.some("order_same", true, r.OrderSame)
	if r.Thesis != nil {
		w.name("thesis")
		w.begin()
		w.name("program")
		w.program(r.Thesis.Program, 0)
		w.b.WriteString(",\n ")
		w.quoted("plot")
		w.b.WriteByte(':')
		w.value("plot", &r.Thesis.Plot)
		w.b.WriteByte('}')
	}
	w.b.WriteByte('}')
}

func (w *writer) body(list []*Node, depth int) {
	w.name("body")
	w.b.WriteByte('[')
	for i, n := range list {
		if i > 0 {
			w.b.WriteByte(',')
		}
		if !w.brief {
			w.b.WriteByte('\n')
		}
		for range depth + 1 {
			if w.brief {
				break
			}
			w.b.WriteByte(' ')
		}
		w.node(n, depth+1)
	}
	w.b.WriteByte(']')
}

func (w *writer) node(n *Node, depth int) {
	w.begin()
	w.field("id", n.ID)
	w.field("kind", n.Kind)
	switch n.Kind {
	case KindLoop:
		w.some("function", n.Function, n.Function != "")
		w.place(n)
		w.some("variable", n.Variable, n.Variable != "")
		w.name("trips")
		if n.Trips == nil {
			w.b.WriteString("null")
		} else {
			w.trips(n.Trips)
		}
		w.field("by", n.By)
		w.field("stands_for", n.StandsFor)
		w.some("unrolled", n.Unrolled, n.Unrolled > 0)
		w.field("explains", n.Explains)
	case KindCall:
		w.field("function", n.Function)
		w.place(n)
		w.field("recursive", n.Recursive)
		w.some("inlined", n.Inlined, n.Inlined)
		w.some("ranks", n.Ranks, n.Ranks != nil)
		w.some("threads", n.Threads, n.Threads != nil)
		w.some("share", n.Share, n.Share > 0)
		w.some("compute_ns", n.ComputeNS, n.ComputeNS > 0)
	case KindRecursion:
		w.field("function", n.Function)
		w.place(n)
		w.field("count", n.Count)
	case KindIf:
		w.condition(n)
	case KindMPI:
		w.mpi(n)
	case KindCompute:
		w.compute(n)
	case KindOther:
		w.field("lines", n.Lines)
		w.field("count", n.Count)
		w.field("share", n.Share)
		w.field("compute_ns", n.ComputeNS)
		w.field("mpi_ns", n.MPINS)
		w.field("late_ns", n.LateNS)
		w.some("paths", n.Paths, len(n.Paths) > 0)
		w.some("after", n.After, len(n.After) > 0)
	}
	w.some("note", n.Note, n.Note != "")
	if n.Kind != KindMPI && n.Kind != KindCompute {
		w.body(n.Body, depth)
	}
	w.b.WriteByte('}')
}

func (w *writer) place(n *Node) {
	w.field("file", n.File)
	w.field("line", n.Line)
}

func (w *writer) condition(n *Node) {
	w.some("file", n.File, n.File != "")
	w.some("line", n.Line, n.Line > 0)
	w.field("ranks", n.Ranks)
	w.some("threads", n.Threads, n.Threads != nil)
	w.some("ranks_text", n.RanksText, n.RanksText != "")
	w.some("of_ranks", n.OfRanks, n.OfRanks != nil)
	w.some("of_threads", n.OfThreads, n.OfThreads != nil)
	w.field("when", n.When)
	w.some("when_text", n.WhenText, n.WhenText != "")
	w.field("happened", n.Happened)
	w.field("of", n.Of)
	w.field("else", n.Else)
	w.field("by", n.By)
}

func (w *writer) mpi(n *Node) {
	w.field("function", n.Function)
	w.place(n)
	w.field("count", n.Count)
	w.field("peers", listed(n.Peers))
	w.some("root", n.Root, n.Root != nil)
	w.some("communicator", n.Comm, n.Comm != "")
	w.field("bytes", n.Bytes)
	w.field("mpi_ns", n.MPINS)
	w.field("late_ns", n.LateNS)
	w.field("paths", listed(n.Paths))
	w.some("each", n.Each, n.Each != nil)
}

func (w *writer) compute(n *Node) {
	w.field("count", n.Count)
	w.field("share", n.Share)
	w.field("compute_ns", n.ComputeNS)
	w.field("mean_ns", n.MeanNS)
	w.field("std_ns", n.StdNS)
	clusters := slices.Clone(n.Clusters)
	for i := range clusters {
		clusters[i].Share = rounded(clusters[i].Share, shareDigits)
	}
	w.field("clusters", listed(clusters))
	counters := slices.Clone(n.Counters)
	for i := range counters {
		counters[i].Mean = rounded(counters[i].Mean, digits)
	}
	w.field("counters", listed(counters))
	w.some("around", n.Around, len(n.Around) > 0)
}

// isNothing reports whether a value is what a reader takes where there is none.
func isNothing(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// listed is a list that is not null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
