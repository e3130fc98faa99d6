// Package text prints a program: the place in the source, pseudocode, and figures of each line. Times come in ns and go
// out with their units; names go out as they are, so that whoever shows them has to make them safe before.
package text

import (
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"moriens/analysis/program"
	"moriens/internal/units"
)

// Options say how a program is printed.
type Options struct {
	Name    string                             // of the program
	Width   int                                // of lines; 0 = as wide as they are
	Columns []Column                           // nil = Defaults
	IDs     bool                               // numbers of lines stand before them
	Notes   []string                           // about what is shown, in the head
	NS      int64                              // computing and MPI time of all of the program; 0 = of what is printed
	Source  func(file string, line int) string // what is printed behind a line; nil = nothing
}

// Write prints a program: a head, and its lines.
func Write(to io.Writer, p *program.Program, o Options) error {
	columns := o.Columns
	if columns == nil {
		columns = Defaults()
	}
	rows, marks := rowsOf(p, o.Name)
	var b, table strings.Builder
	left, numbered := writeRows(&table, rows, columns, o)
	marks[markDepth] = numbered
	say := func(format string, args ...any) { fold(&b, fmt.Sprintf(format, args...), o.Width) }
	say("%s", head(p, o.Name))
	if p.Basis == program.BySequence {
		say("note: loops that are alike in repetitions and in the time between them are one, calls that do not happen in each trip are loops of their own, and calls that explain little of the run time are left out")
	}
	for _, why := range p.Why {
		say("note: %s", why)
	}
	for _, note := range o.Notes {
		say("note: %s", note)
	}
	if len(left) > 0 {
		say("note: left out, as lines have %d columns: %s; --metric shows them", o.Width, strings.Join(left, ", "))
	}
	for _, mark := range explanations {
		if marks[mark.mark] {
			say("%s: %s", mark.mark, mark.text)
		}
	}
	b.WriteByte('\n')
	b.WriteString(table.String())
	_, err := io.WriteString(to, b.String())
	return err
}

// fold prints a sentence in lines of so many columns; 0 = one line.
func fold(b *strings.Builder, text string, columns int) {
	const indent = "  "
	at := 0
	for i, word := range strings.Split(text, " ") {
		switch n := width(word); {
		case i > 0 && columns > 0 && at+1+n > columns:
			b.WriteString("\n" + indent)
			at = len(indent)
		case i > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += width(word)
	}
	b.WriteByte('\n')
}

// head says what the program is, and how much of it is certain.
func head(p *program.Program, name string) string {
	text := units.Counted(p.Ranks, "rank")
	if name != "" {
		text = name + " · " + text
	}
	if p.Basis == program.BySequence {
		return fmt.Sprintf("%s · loops by repetitions and time, the published method: %s of the MPI calls, %s of the time in MPI are in one", text, certain(p.Certain.Calls), certain(p.Certain.Time))
	}
	by := "machine code"
	if p.Basis == program.ByOrder {
		by = "the order of lines"
	}
	return fmt.Sprintf("%s · rules found for %s of the MPI calls, %s of the time · loops by %s", text, certain(p.Certain.Calls), certain(p.Certain.Time), by)
}

// certain is a share of which only all of it is 100 %.
func certain(x float64) string {
	if x < 1 && x > .999 {
		x = .999
	}
	return percent(x)
}

func percent(x float64) string {
	if x >= 1 {
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", 100*x)
}

// Marks that are explained where they occur.
const (
	markNoRule    = "no rule found"
	markLoops     = "N loops"
	markOrder     = "by order"
	markSequence  = "by sequence"
	markUnrolled  = "unrolled"
	markBounds    = "or more, or fewer"
	markLikely    = "likely"
	markWithCalls = "trips with calls"
	markTrips     = "i"
	markOuter     = "i', j'"
	markCalls     = "IF n"
	markFolded    = "…"
	markDepth     = "|"
)

var explanations = []struct{ mark, text string }{
	{markNoRule, "when the lines below run follows from neither rank nor trip"},
	{markLoops, "so many loops directly round each other, which make the same calls in the same order as one"},
	{markOrder, "from the order of lines, where the machine code is not known: it may be otherwise"},
	{markSequence, "from calls that repeat: it may be otherwise"},
	{markBounds, "the calls do not show where one trip ends and the next one begins: they are counted to the inner loop"},
	{markLikely, "the calls do not show where one trip ends and the next one begins: with these trips they are regular"},
	{markWithCalls, "a trip can make no MPI call; such trips are not seen, and not counted"},
	{markUnrolled, "the compiler has made copies of the body, which are shown once"},
	{markTrips, "in conditions, and in the trips of other loops, trips count from 0: i == 0 is the first one"},
	{markCalls, "n counts how often the lines round the condition were executed, from 0"},
	{markOuter, "trips of loops outside of what is shown"},
	{markFolded, "lines that are not shown, with their sums"},
	{markDepth, "the depth of a line, where lines are too narrow to be indented further"},
}

// A row is a line of the program.
type row struct {
	node  *program.Node // nil = the program itself
	depth int
	// The pseudocode: of these the name is shortened where there is no room, then the arguments.
	before, name, arguments, after string
	folded                         *program.Node // what stands for its body; nil = the body follows
	ns                             int64         // computing and MPI time of it and all that lies in it
}

func (r *row) code() string { return r.before + r.name + r.arguments + r.after }

// A Line is a line of pseudocode, without figures.
type Line struct {
	Node *program.Node
	Code string
}

// Lines are those of a program.
func Lines(p *program.Program) []Line {
	rows, _ := rowsOf(p, "")
	lines := make([]Line, 0, len(rows)-1)
	for i := range rows[1:] {
		lines = append(lines, Line{rows[1+i].node, rows[1+i].code()})
	}
	return lines
}

// An expander makes rows.
type expander struct {
	ranks int
	basis string
	rows  []row
	marks map[string]bool
}

func rowsOf(p *program.Program, name string) (rows []row, marks map[string]bool) {
	e := expander{ranks: p.Ranks, basis: p.Basis, marks: make(map[string]bool)}
	if name == "" {
		name = "program"
	}
	e.rows = []row{{name: name, after: "  # " + units.Counted(p.Ranks, "rank")}}
	body := p.Body
	if last := len(body) - 1; last >= 0 && body[last].Kind == program.KindOther && body[last].Count == 0 {
		e.rows[0].folded, body = body[last], body[:last] // computation outside of all functions
		e.rows[0].ns = e.rows[0].folded.ComputeNS
	}
	e.rows[0].ns += e.body(body, 1, nil)
	return e.rows, e.marks
}

// body adds the rows of a list, and returns their time. loops are the variables of those round it.
func (e *expander) body(list []*program.Node, depth int, loops []string) (ns int64) {
	for i, n := range list {
		r := row{node: n, depth: depth}
		inner := loops
		switch n.Kind {
		case program.KindLoop:
			e.loop(&r, loops)
			inner = append(loops[:len(loops):len(loops)], n.Variable)
		case program.KindCall:
			r.name, r.after = called(n.Function)
			e.note(&r, "recursive", n.Recursive)
			e.note(&r, "inlined", n.Inlined)
			e.note(&r, "of "+threads(n), n.Threads != nil)
		case program.KindRecursion:
			r.name, r.after = called(n.Function)
			e.note(&r, "recursion", true)
		case program.KindIf:
			first := i
			for list[first].Else {
				first--
			}
			e.condition(&r, list[first:i], loops)
		case program.KindMPI:
			r.name, r.arguments = n.Function, "("+arguments(n)+")"
		case program.KindCompute:
			r.before = "compute"
		case program.KindOther:
			r.before = folded(n)
			e.marks[markFolded] = true
		}
		if n.By == program.ByOrder && e.basis != program.ByOrder {
			e.note(&r, markOrder, true)
			e.marks[markOrder] = true
		}
		e.note(&r, n.Note, n.Note != "")
		r.ns = n.ComputeNS + n.MPINS
		if len(n.Body) == 1 && n.Body[0].Kind == program.KindOther {
			r.folded = n.Body[0]
			e.note(&r, folded(r.folded), true)
			e.marks[markFolded] = true
			r.ns += r.folded.ComputeNS + r.folded.MPINS
			ns += r.ns
			e.rows = append(e.rows, r)
			continue
		}
		at := len(e.rows)
		e.rows = append(e.rows, r)
		e.rows[at].ns += e.body(n.Body, depth+1, inner)
		ns += e.rows[at].ns
	}
	return ns
}

// note adds a comment to a line.
func (e *expander) note(r *row, text string, says bool) {
	switch {
	case !says:
	case strings.Contains(r.after, "  # "):
		r.after += ", " + text
	default:
		r.after += "  # " + text
	}
}

func folded(n *program.Node) string { return "… " + units.Counted(n.Lines, "line") }

// called is a function as it is called. C++ names may have parameters.
func called(function string) (name, after string) {
	if strings.HasSuffix(function, ")") {
		return function, ""
	}
	return function, "()"
}

func (e *expander) loop(r *row, loops []string) {
	n := r.node
	trips := n.Trips.Expression
	if l := n.Trips.Linear; l != nil {
		trips = e.named(trips, l.Variable, loops)
		e.marks[markTrips] = true
	}
	if strings.ContainsAny(trips, ", ") || strings.Contains(trips, "..") {
		trips = "(" + strings.Trim(trips, "()") + ")"
	}
	switch {
	case n.Trips.AtLeast && n.Trips.AtMost:
		trips += " or so"
	case n.Trips.AtLeast:
		trips += " or more"
	case n.Trips.AtMost:
		trips += " or fewer"
	}
	if n.Trips.AtLeast || n.Trips.AtMost {
		e.marks[markBounds] = true
	}
	r.before = "FOR 1.." + trips
	if n.Variable != "" { // else it has one trip
		r.before = fmt.Sprintf("FOR %s = 1..%s", n.Variable, trips)
	}
	if n.StandsFor > 1 {
		r.before += fmt.Sprintf(" (%d loops)", n.StandsFor)
		e.marks[markLoops] = true
	}
	if n.Trips.Kind == program.TripsVaries {
		e.note(r, "mean "+units.Significant(n.Trips.Mean), true)
	}
	if n.Trips.Likely {
		e.note(r, markLikely, true)
		e.marks[markLikely] = true
	}
	if n.Trips.WithCalls {
		e.note(r, markWithCalls, true)
		e.marks[markWithCalls] = true
	}
	if n.Unrolled > 1 {
		e.note(r, markUnrolled, true)
		e.marks[markUnrolled] = true
	}
	if n.By == program.BySequence && e.basis != program.BySequence {
		e.note(r, markSequence, true)
		e.marks[markSequence] = true
	}
}

// threads are those in which a function was the first.
func threads(n *program.Node) string {
	text := Numbers(n.Threads)
	if n.Ranks != nil {
		text += " of " + units.Plural(len(n.Ranks), "rank") + " " + Numbers(n.Ranks)
	}
	return units.Plural(len(n.Threads), "thread") + " " + text
}

// arguments are what is known of an MPI call for all ranks that make it.
func arguments(n *program.Node) string {
	var list []string
	for _, p := range n.Peers {
		list = append(list, p.Way+" "+p.Text)
	}
	if n.Root != nil {
		list = append(list, fmt.Sprintf("root %d", *n.Root))
	}
	if n.Comm != "" {
		list = append(list, "on "+n.Comm)
	}
	return strings.Join(list, ", ")
}

// Place is where a line is in the source: the end of its file's name, and the number.
func placed(n *program.Node, tails map[string]string) string {
	switch {
	case n == nil || n.File == "":
		return ""
	case n.Line == 0:
		return tails[n.File]
	}
	return fmt.Sprintf("%s:%d", tails[n.File], n.Line)
}

// tailsOf are the ends of the names of files that distinguish them.
func tailsOf(rows []row) map[string]string {
	files := make(map[string]string)
	for _, r := range rows {
		if r.node != nil && r.node.File != "" {
			files[r.node.File] = path.Base(r.node.File)
		}
	}
	for longer := true; longer; {
		longer = false
		count := make(map[string]int)
		for _, tail := range files {
			count[tail]++
		}
		for file, tail := range files {
			if count[tail] > 1 && len(tail) < len(file) {
				up := strings.TrimSuffix(file[:len(file)-len(tail)], "/")
				files[file], longer = file[strings.LastIndexByte(up, '/')+1:], true
			}
		}
	}
	return files
}

func width(text string) int { return utf8.RuneCountInString(text) }

// Middle leaves out the middle of a text that is too long.
func Middle(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	head := max(most/2, 1)
	return string(r[:head]) + "…" + string(r[len(r)-max(most-head-1, 0):])
}
