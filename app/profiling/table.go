package profiling

import (
	"math"
	"slices"

	"moriens/analysis/program"
	"moriens/app/question"
	"moriens/trace/calltree"
	"moriens/trace/rundir"
)

// A Table is a profile with statistics over threads.
type Table struct {
	Unit           string // of values; empty: a ratio, or not known
	Threads, Ranks int
	Rows           []Row // all of them, in order; of a tree, and of phases, each behind what it is in, the program first
	Total          Row
	Shares         []Share // by rank or node, in the place of rows
}

// A Row is something that ran.
type Row struct {
	calltree.Node          // without its parent
	Stack         []string // names from the outermost on, its own the last; without the program's
	Phase         string   // path of its phase, or of that which it lies in; empty: the program
	Depth         int      // 0 = the program
	Children      int      // in a tree
	// Time, and how often it ran: calls, bursts, instances; of functions that is not known, nor what they compute. Where
	// phases are nodes, what is exclusively theirs, and the program's, is what lies in no phase within them.
	ExclusiveNS, InclusiveNS Spread
	Loop                     *program.Node // of a loop: its line in the structure of the program
	MPINS                    Spread        // of phases and the program: inclusive, in MPI
	Calls, Subcalls          Spread        // Subcalls: calls and phases directly in it
	Exclusive, Inclusive     Spread        // of the metric, where it is not the time
	ExclusiveRatio           *Ratio        // of a metric that is one
	InclusiveRatio           *Ratio
	PerCallNS                float64 // how long one takes as a whole, in this phase or not; NaN: not known
	Estimated                float64 // share of its inclusive time in bursts that cross a border of phases: their counters are shared by time
	Missing                  int64   // bursts in it without a value of the counter

	ownNS, own int64 // in none of the rows within it: time, and the metric
	hidden     bool  // other rows have it
}

// OfLoop reports whether a row is a loop, or what is in none: how often it was entered is not known by thread, and its
// Subcalls are the MPI calls directly in it.
func (r *Row) OfLoop() bool {
	return r.Type == calltree.Loop || r.Type == calltree.Outside || r.Type == calltree.Unplaced
}

// HowOften is how often something ran; of loops the MPI calls directly in them.
func (r *Row) HowOften() *Spread {
	if r.OfLoop() {
		return &r.Subcalls
	}
	return &r.Calls
}

// A Share is what a rank or a node has.
type Share struct {
	calltree.Thread // of a node the host alone
	Ranks, Threads  int

	NS, ComputingNS, MPINS, PausedNS, UnrecordedNS int64

	OtherNS int64 // time of phases that no row explains
	Calls   int64 // of MPI
	Value   int64 // of the metric, if it is neither the time nor a ratio
	above   int64 // of a ratio
	below   int64
}

// Ratio is that of a metric that is one; NaN: not known.
func (s *Share) Ratio() float64 {
	if s.below <= 0 {
		return math.NaN()
	}
	return float64(s.above) / float64(s.below)
}

// Add adds what another has.
func (s *Share) Add(o *Share) {
	s.Ranks, s.Threads = s.Ranks+o.Ranks, s.Threads+o.Threads
	for _, x := range [][2]*int64{
		{&s.NS, &o.NS}, {&s.ComputingNS, &o.ComputingNS}, {&s.MPINS, &o.MPINS}, {&s.PausedNS, &o.PausedNS}, {&s.UnrecordedNS, &o.UnrecordedNS}, {&s.OtherNS, &o.OtherNS},
		{&s.Calls, &o.Calls}, {&s.Value, &o.Value}, {&s.above, &o.above}, {&s.below, &o.below},
	} {
		*x[0] = plus(*x[0], *x[1])
	}
}

// A summing is a row in the making.
type summing struct {
	spreads                            [ofValueInside + 1]spreading
	ratio, inside                      rating
	ns, whole, calls, estimated, lacks int64 // ns, estimated and lacks are inclusive
	ownNS, own                         int64
	ofClasses                          [ofValueInside + 1]int64 // of call paths that are known of classes of ranks alone
}

// tabulate reads the profile in a shape.
func (a *Answer) tabulate(shape Shape) error {
	b := newBuilder(a.Source, shape)
	t := &tally{a: a, b: b, named: make(map[string]int32)}
	t.reset()
	w := &walk{b: b, ranks: a.Ranks, columns: a.columns(), give: t.add}
	t.w = w
	var err error
	switch {
	case a.Metric == metricLate:
		if w.more, err = a.late(b); err != nil {
			return err
		}
		for _, list := range w.more {
			for _, m := range list {
				t.late = plus(t.late, m.values[0])
			}
		}
	case w.moves():
		labels := &walk{b: b, ranks: a.Ranks, columns: w.columns, labels: true, give: func(*threadValues) error { return nil }}
		if err := labels.run(func() {}); err != nil {
			return err
		}
		w.more = labels.more
		for _, list := range w.more {
			for _, m := range list {
				if m.node == 0 {
					t.unsplit = plus(t.unsplit, m.values[0])
				}
			}
		}
	}
	if err := w.run(t.reset); err != nil {
		return err
	}
	if err := checkRanks(a.Ranks, w.seen); err != nil {
		return err
	}
	if err := a.checkIn(shape, b); err != nil {
		return err
	}
	if t.threads == 0 {
		return question.Lacking(rundir.AdviseDamage, "%s has no row of a thread", rundir.ProfileFile)
	}
	t.unsure = w.unsure
	if t.classes = w.needsClasses(); t.classes {
		unsure, err := w.sumsOf(t.addClasses)
		if err != nil {
			return err
		}
		t.unsure = plus(t.unsure, unsure)
	}
	a.Table = t.table()
	a.note(t)
	return nil
}

// unit is that of values.
func (a *Answer) unit() string {
	switch a.Metric {
	case metricTime, metricLate:
		return "ns"
	case metricCalls:
		return "calls"
	case metricBytes:
		return unitBytes
	case metricIPC:
		return "instructions per cycle"
	}
	return a.Counters[a.counter(a.Metric)].Unit
}

// table makes the table of all threads.
func (t *tally) table() *Table {
	out := &Table{Unit: t.a.unit(), Threads: t.threads, Ranks: t.ranks, Shares: t.shares}
	list := make([]Row, len(t.rows))
	for i := range t.rows {
		list[i] = t.row(int32(i))
	}
	out.Total = list[t.group[0]]
	out.Total.Node.Name, out.Total.Subcalls = "total", list[t.group[0]].Subcalls
	switch {
	case out.Shares != nil:
		t.a.orderShares(out.Shares)
		return out
	case t.a.By == ByPhase || t.a.By == ByLoop || t.a.Nested:
		out.Rows = t.preorder(list)
	default:
		list = slices.Delete(list, int(t.group[0]), int(t.group[0])+1)
		list = slices.DeleteFunc(list, func(r Row) bool { return r.hidden })
		slices.SortStableFunc(list, t.a.compare)
		out.Rows = list
		if own := out.Total.ExclusiveNS; own.Sum > 0 { // that no row explains
			x := out.Total
			x.Node.Name = "Not explained"
			x.InclusiveNS, x.Inclusive, x.Calls, x.Subcalls = x.ExclusiveNS, x.Exclusive, Spread{}, Spread{}
			out.Rows = append(out.Rows, x)
		}
	}
	return out
}

func (t *tally) row(row int32) Row {
	s := &t.rows[row]
	node := t.of[row]
	r := Row{hidden: t.hidden(node), Node: t.b.nodes[node], Phase: t.b.phases[node], PerCallNS: math.NaN(), Missing: s.lacks, ownNS: s.ownNS, own: s.own}
	for _, at := range (&calltree.Tree{Nodes: t.b.nodes}).Stack(node)[1:] {
		r.Stack = append(r.Stack, t.b.nodes[at].Name)
	}
	r.Depth = len(r.Stack)
	if r.Type == calltree.Loop {
		r.Loop = t.a.Source.loops.nodes[r.Cluster]
	}
	if t.a.By == ByFunctions {
		r.Stack, r.Depth, r.Phase = []string{r.Name}, 1, ""
		if node == 0 {
			r.Stack, r.Depth = nil, 0
		}
		r.File, r.Line = "", 0
	}
	of := func(figure int) Spread {
		return s.spreads[figure].of(t.threads, t.first).plus(s.ofClasses[figure], t.threads)
	}
	r.ExclusiveNS, r.InclusiveNS, r.MPINS, r.Calls, r.Subcalls = of(ofExclusive), of(ofInclusive), of(ofMPI), of(ofCalls), of(ofSubcalls)
	switch {
	case t.a.Metric == metricIPC:
		r.ExclusiveRatio, r.InclusiveRatio = s.ratio.of(), s.inside.of()
	case len(t.w.columns) > 0:
		r.Exclusive, r.Inclusive = of(ofValue), of(ofValueInside)
	}
	if s.calls > 0 {
		r.PerCallNS = float64(s.whole) / float64(s.calls)
	}
	if s.ns > 0 {
		r.Estimated = float64(s.estimated) / float64(s.ns)
	}
	return r
}

// preorder puts each node behind the one it is in, in order.
func (t *tally) preorder(rows []Row) []Row {
	children := make([][]int32, len(rows))
	for i := 1; i < len(rows); i++ {
		if rows[i].hidden {
			continue
		}
		p := t.b.nodes[i].Parent
		children[p] = append(children[p], int32(i))
	}
	var list []Row
	stack := []int32{0}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if below := children[at]; len(below) == 1 && rows[at].Type == calltree.Cluster && rows[below[0]].Cluster == rows[at].Cluster {
			name, stack, depth := rows[at].Name, rows[at].Stack, rows[at].Depth // a kind of one cluster
			rows[at] = rows[below[0]]
			rows[at].Name, rows[at].Stack, rows[at].Depth, children[at] = name, stack, depth, nil
		}
		rows[at].Children = len(children[at])
		list = append(list, rows[at])
		slices.SortStableFunc(children[at], func(i, k int32) int { return t.a.compare(rows[i], rows[k]) })
		for _, child := range slices.Backward(children[at]) {
			stack = append(stack, child)
		}
	}
	return list
}
