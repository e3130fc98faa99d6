package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Write writes program.json: a line for each node, indented by its depth.
func (p *Program) Write(to io.Writer) error {
	var w writer
	w.program(p)
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
	w.program(p)
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
	w.begin()
	w.field("least", t.Least)
	w.field("most", t.Most)
	w.field("mean", t.Mean)
	w.field("entries", t.Entries)
	w.field("total", t.Total)
	w.field("kind", t.Kind)
	w.field("cycle", t.Cycle)
	w.field("expression", t.Expression)
	w.some("quartiles", t.Quartiles, len(t.Quartiles) > 0)
	w.some("linear", t.Linear, t.Linear != nil)
	w.some("by_rank", t.ByRank, t.ByRank != nil)
	w.some("at_least", t.AtLeast, t.AtLeast)
	w.some("at_most", t.AtMost, t.AtMost)
	w.some("with_calls", t.WithCalls, t.WithCalls)
	w.b.WriteByte('}')
	return w.b.Bytes(), w.err
}

// A writer writes JSON. Nodes are not left to encoding/json, which would go through the whole text of a body once for
// each node that it lies in.
type writer struct {
	b   bytes.Buffer
	err error
}

func (w *writer) begin() { w.b.WriteByte('{') }

// field writes a field of the object that was begun last.
func (w *writer) field(name string, value any) {
	w.name(name)
	switch v := value.(type) { // most fields are one of these; encoding/json takes ten times as long
	case int:
		w.b.Write(strconv.AppendInt(w.b.AvailableBuffer(), int64(v), 10))
		return
	case int64:
		w.b.Write(strconv.AppendInt(w.b.AvailableBuffer(), v, 10))
		return
	case bool:
		w.b.Write(strconv.AppendBool(w.b.AvailableBuffer(), v))
		return
	case string:
		if isASCII(v) {
			w.quoted(v)
			return
		}
	}
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

func (w *writer) program(p *Program) {
	w.begin()
	w.field("format", Format)
	w.field("ranks", p.Ranks)
	w.field("certain", p.Certain)
	w.field("basis", p.Basis)
	w.some("why", p.Why, len(p.Why) > 0)
	w.body(p.Body, 0)
	w.b.WriteByte('}')
}

func (w *writer) body(list []*Node, depth int) {
	w.name("body")
	w.b.WriteByte('[')
	for i, n := range list {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.b.WriteByte('\n')
		for range depth + 1 {
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
		w.field("trips", n.Trips)
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
	w.field("clusters", listed(n.Clusters))
	w.field("counters", listed(n.Counters))
	w.some("around", n.Around, len(n.Around) > 0)
}

// listed is a list that is not null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Read reads a program, and refuses what no program can be.
func Read(text []byte) (*Program, error) {
	p := new(Program)
	if err := json.Unmarshal(text, p); err != nil {
		if err.Error() == "unexpected end of JSON input" {
			return nil, fmt.Errorf("it is cut short, at %d bytes", len(text))
		}
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON reads what Write writes. It checks the format before it looks at the rest, which another format may
// have in another way.
func (p *Program) UnmarshalJSON(text []byte) error {
	var version struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return err
	}
	switch {
	case version.Format == nil:
		return errors.New("it has no format number")
	case *version.Format != Format:
		return fmt.Errorf("it has format %d, this moriens reads %d", *version.Format, Format)
	}
	type fields Program // without this method
	read := new(fields)
	if err := json.Unmarshal(text, read); err != nil {
		return err
	}
	*p = Program(*read)
	return p.Check()
}

// Check says what is wrong with a program, and at which node.
func (p *Program) Check() error {
	c := checker{ranks: p.Ranks}
	switch {
	case p.Ranks < 1:
		return fmt.Errorf("it has %d ranks", p.Ranks)
	case !isShare(p.Certain.Calls) || !isShare(p.Certain.Time):
		return errors.New("what is certain is no share, 0 to 1")
	case p.Basis != ByCode && p.Basis != ByOrder:
		return fmt.Errorf("its basis is %q, not %s or %s", p.Basis, ByCode, ByOrder)
	}
	return c.body(p.Body)
}

// A checker has what was seen of a program: the number of the last node, and sums, which views and folding rely on.
type checker struct {
	ranks, last int
	share       float64
	ns, counts  float64
}

// most is what sums may be: far less than what 64 bits hold.
const most = 1 << 62

func (c *checker) add(n *Node) error {
	c.share += n.Share
	c.ns += float64(n.ComputeNS) + float64(n.MPINS) + float64(n.LateNS)
	c.counts += float64(n.Count) + float64(n.Lines)
	if !(c.share <= 1+1e-6) {
		return fmt.Errorf("shares add up to %g", c.share)
	}
	if c.ns > most || c.counts > most {
		return errors.New("times or counts add up to more than can be")
	}
	return nil
}

func isShare(x float64) bool { return x >= 0 && x <= 1+1e-6 }

func (c *checker) body(list []*Node) error {
	for i, n := range list {
		if n == nil {
			return fmt.Errorf("behind node %d one is null", c.last)
		}
		if n.ID <= c.last {
			return fmt.Errorf("behind node %d follows node %d: numbers must grow in the order of the text", c.last, n.ID)
		}
		c.last = n.ID
		if n.Else && (i == 0 || list[i-1] == nil || list[i-1].Kind != KindIf) {
			return fmt.Errorf("node %d is an else without an if before it", n.ID)
		}
		err := c.node(n)
		if err == nil {
			err = c.add(n)
		}
		if err != nil {
			return fmt.Errorf("node %d: %w", n.ID, err)
		}
		if err := c.body(n.Body); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) node(n *Node) error {
	if n.Count < 0 || n.Line < 0 || n.Lines < 0 || n.StandsFor < 0 || n.Unrolled < 0 || n.Happened < 0 || n.Of < 0 {
		return errors.New("a count, or a line, is negative")
	}
	if n.MPINS < 0 || n.LateNS < 0 || n.ComputeNS < 0 || !(n.MeanNS >= 0) || !(n.StdNS >= 0) {
		return errors.New("a time is negative")
	}
	if !isShare(n.Share) || !isShare(n.Explains) {
		return errors.New("a share is not 0 to 1")
	}
	if n.Else && n.Kind != KindIf {
		return fmt.Errorf("it is of kind %s, and an else", n.Kind)
	}
	if len(n.Body) > 0 && (n.Kind == KindMPI || n.Kind == KindCompute || n.Kind == KindOther || n.Kind == KindRecursion) {
		return fmt.Errorf("it is of kind %s, and has a body", n.Kind)
	}
	switch n.Kind {
	case KindLoop:
		return n.loop()
	case KindCall, KindRecursion:
		if n.Function == "" {
			return errors.New("the call has no function")
		}
		return nil
	case KindIf:
		return c.condition(n)
	case KindMPI:
		return n.mpi()
	case KindCompute:
		return n.compute()
	case KindOther:
		if n.Lines < 1 {
			return errors.New("it stands for no lines")
		}
		return n.pathsFit()
	case "":
		return errors.New("it has no kind")
	}
	return fmt.Errorf("kind %q is not known", n.Kind)
}

func (n *Node) loop() error {
	t := n.Trips
	if t == nil {
		return errors.New("the loop has no trips")
	}
	if t.Least < 0 || t.Most < t.Least || t.Entries < 0 || t.Total < 0 || !within(t.Mean, float64(t.Least), float64(t.Most)) {
		return errors.New("the trips of the loop cannot be")
	}
	switch t.Kind {
	case TripsConstant, TripsCycle, TripsByRank, TripsLinear, TripsVaries:
	default:
		return fmt.Errorf("trips of kind %q are not known", t.Kind)
	}
	if (t.Kind == TripsCycle) != (len(t.Cycle) > 0) {
		return errors.New("trips have a cycle if they are of that kind, and only then")
	}
	for _, x := range t.Cycle {
		if x < t.Least || x > t.Most {
			return fmt.Errorf("%d trips in a cycle of %d to %d", x, t.Least, t.Most)
		}
	}
	if q := t.Quartiles; len(q) != 0 && (len(q) != 3 || !(q[0] <= q[1] && q[1] <= q[2])) {
		return errors.New("quartiles of trips are three that grow")
	}
	if strings.TrimSpace(t.Expression) == "" {
		return errors.New("the trips have no expression")
	}
	return n.evidence()
}

// within allows for what rounding does to a mean.
func within(x, least, most float64) bool {
	some := 1e-9 * (1 + most)
	return x >= least-some && x <= most+some
}

func (n *Node) evidence() error {
	if n.By != ByCode && n.By != ByOrder && n.By != BySequence {
		return fmt.Errorf("evidence %q is not known", n.By)
	}
	return nil
}

func (c *checker) condition(n *Node) error {
	switch {
	case n.Ranks == nil && n.When == nil && !n.Else:
		return errors.New("the if has no condition")
	case n.Ranks != nil && len(n.Ranks) == 0:
		return errors.New("the list of ranks is empty: null stands for all")
	case n.Happened > n.Of:
		return fmt.Errorf("it happened %d of %d times", n.Happened, n.Of)
	}
	last := -1
	for _, r := range n.Ranks {
		if r <= last || r >= c.ranks {
			return fmt.Errorf("rank %d behind rank %d, of %d ranks", r, last, c.ranks)
		}
		last = r
	}
	if n.Threads != nil && (len(n.Threads) == 0 || n.Ranks == nil || n.RanksText == "" && !n.Else) {
		return errors.New("a condition on threads has no threads, no ranks, or no words")
	}
	if n.When != nil {
		if err := n.When.check(); err != nil {
			return err
		}
	}
	return n.evidence()
}

func (c *When) check() error {
	fits := c.Rank >= -1 && c.Rank <= 1
	switch c.Kind {
	case WhenEvery, WhenNotEvery:
		fits = fits && c.Period >= 1 && c.Offset >= 0 && c.Offset < c.Period
	case WhenAt, WhenNotAt, WhenFrom, WhenTo, WhenDepth:
		fits = fits && (c.Trip >= 0 || c.Rank != 0)
	case WhenRange:
		fits = fits && (c.First >= 0 || c.Rank != 0) && c.Last >= c.First && c.Stride >= 1
	case WhenLast, WhenNotLast, WhenUnknown:
		fits = c.Rank == 0
	default:
		return fmt.Errorf("conditions of kind %q are not known", c.Kind)
	}
	if !fits {
		return fmt.Errorf("the condition %q has figures that cannot be", c.Kind)
	}
	return nil
}

func (n *Node) mpi() error {
	if n.Function == "" {
		return errors.New("the MPI call has no function")
	}
	for _, p := range n.Peers {
		if p.Way != "to" && p.Way != "from" {
			return fmt.Errorf("the way of a peer is %q, not to or from", p.Way)
		}
		if p.Kind == "" || p.Text == "" {
			return errors.New("a peer has no kind or no text")
		}
	}
	if b := n.Bytes; b != nil && (b.Least < 0 || b.Most < b.Least || !within(b.Mean, float64(b.Least), float64(b.Most))) {
		return errors.New("the bytes of the call cannot be")
	}
	if n.Root != nil && *n.Root < 0 {
		return fmt.Errorf("its root is %d", *n.Root)
	}
	return n.pathsFit()
}

func (n *Node) pathsFit() error {
	for _, x := range slices.Concat(n.Paths, n.After) {
		if x < 0 {
			return fmt.Errorf("call path %d", x)
		}
	}
	return nil
}

func (n *Node) compute() error {
	for _, c := range n.Clusters {
		if c.Bursts < 0 || !isShare(c.Share) {
			return fmt.Errorf("cluster %d has figures that cannot be", c.Cluster)
		}
	}
	for _, c := range n.Counters {
		if c.Name == "" || c.N < 0 {
			return errors.New("a counter has no name, or a negative number of bursts")
		}
	}
	for _, a := range n.Around {
		if a[0] < 0 || a[1] < 0 {
			return fmt.Errorf("call paths %d and %d", a[0], a[1])
		}
	}
	return nil
}
