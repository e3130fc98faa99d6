package profiling

import (
	"slices"

	"moriens/trace/calltree"
	"moriens/trace/calltree/rows"
)

// A tally makes a table, thread by thread. Rows are nodes, or groups of nodes.
type tally struct {
	a *Answer
	b *builder
	w *walk

	rows    []summing
	group   []int32 // by node: its row
	inner   []bool  // by node: one of its row is round it
	named   map[string]int32
	of      []int32 // by row: its first node
	classes bool    // rows of call paths are known of classes of ranks alone
	unsplit int64   // bytes of which no phase is known
	unsure  int64   // ns that may be in one of several loops
	late    int64   // ns of waits
	tallying
}

// tallying is what is forgotten where the file has to be read again.
type tallying struct {
	threads, ranks  int
	first, last     calltree.Thread
	shares          []Share
	hosts           map[string]int
	lacking, beyond int64
	inside          [][]int64  // by column of the walk that matters, and node: inclusive. Time, the metric's, what is estimated
	phases          [][]int64  // likewise: of phases directly within a phase
	sub, mpi        []int64    // by node: calls and phases directly in it, time in MPI
	kinds           [2][]int64 // by node of a kind whose clusters are below it: how often they ran, and for how long in all
	round           []bool     // by node: in list
	values          [figures][]int64
	used            []int32
	is              []bool
}

// Figures of rows.
const (
	ofExclusive = iota
	ofInclusive
	ofCalls
	ofSubcalls
	ofMPI
	ofValue
	ofValueInside
	ofBelow // the second part of a ratio
	ofBelowInside
	figures
)

func (t *tally) reset() {
	t.rows, t.tallying = nil, tallying{hosts: make(map[string]int)}
}

// place gives new nodes their rows.
func (t *tally) place() {
	for i := len(t.group); i < len(t.b.nodes); i++ {
		n := &t.b.nodes[i]
		if t.a.By != ByFunctions {
			t.group, t.inner, t.of = append(t.group, int32(i)), append(t.inner, false), append(t.of, int32(i))
			continue
		}
		key := string(n.Type) + "\x00" + n.Name
		row, known := t.named[key]
		if !known {
			row = int32(len(t.of))
			t.named[key] = row
			t.of = append(t.of, int32(i))
		}
		within := false
		for p := n.Parent; p >= 0 && !within; p = t.b.nodes[p].Parent {
			within = t.group[p] == row
		}
		t.group, t.inner = append(t.group, row), append(t.inner, within)
	}
	n := len(t.of)
	t.rows = append(t.rows, make([]summing, n-len(t.rows))...)
	t.is = append(t.is, make([]bool, n-len(t.is))...)
	for i := range t.values {
		t.values[i] = append(t.values[i], make([]int64, n-len(t.values[i]))...)
	}
	n = len(t.b.nodes)
	if t.inside == nil {
		t.inside, t.phases = make([][]int64, 1+len(t.w.columns)+1), make([][]int64, 1+len(t.w.columns)+1)
	}
	for i := range t.inside {
		t.inside[i] = append(t.inside[i], make([]int64, n-len(t.inside[i]))...)
		t.phases[i] = append(t.phases[i], make([]int64, n-len(t.phases[i]))...)
	}
	t.sub, t.mpi = append(t.sub, make([]int64, n-len(t.sub))...), append(t.mpi, make([]int64, n-len(t.mpi))...)
	for i := range t.kinds {
		t.kinds[i] = append(t.kinds[i], make([]int64, n-len(t.kinds[i]))...)
	}
	t.round = append(t.round, make([]bool, n-len(t.round))...)
}

// grow makes room for all nodes.
func (t *tally) grow() {
	if len(t.group) < len(t.b.nodes) || t.inside == nil || len(t.rows) < len(t.of) {
		t.place()
	}
}

// add takes in a thread.
func (t *tally) add(v *threadValues) error {
	t.grow()
	lacking, beyond := v.own(t.w.phased)
	t.lacking, t.beyond = plus(t.lacking, lacking), plus(t.beyond, beyond)
	if t.threads == 0 {
		t.first = v.thread
	}
	if t.threads == 0 || t.last.World != v.thread.World || t.last.Rank != v.thread.Rank {
		t.ranks++
	}
	t.last = v.thread
	t.threads++
	if t.a.By == ByRank || t.a.By == ByNode {
		t.share(v)
	}
	t.collect(v, func(int32) bool { return true })
	for _, row := range t.used {
		t.spread(row, &v.thread)
	}
	t.used = t.used[:0]
	return nil
}

// addClasses takes in what call paths have that are known of classes alone. Their places are in the figures of threads:
// of the program and phases, and of functions of MPI and clusters where a row is all nodes of a name.
func (t *tally) addClasses(v *threadValues) error {
	t.grow()
	t.collect(v, func(node int32) bool {
		switch t.b.nodes[node].Type {
		case calltree.Function, calltree.Loop, calltree.Outside, calltree.Unplaced:
			return true
		case calltree.MPI, calltree.Cluster:
			return t.a.By != ByFunctions
		}
		return false
	})
	for _, row := range t.used {
		s := &t.rows[row]
		switch {
		case t.a.Metric == metricIPC:
			s.ratio.addSums(t.values[ofValue][row], t.values[ofBelow][row])
			s.inside.addSums(t.values[ofValueInside][row], t.values[ofBelowInside][row])
		case len(t.w.columns) == 2:
			s.lacks = plus(s.lacks, t.values[ofBelowInside][row])
		}
		for i := range s.ofClasses {
			s.ofClasses[i] = plus(s.ofClasses[i], t.values[i][row])
		}
		t.clear(row)
	}
	t.used = t.used[:0]
	return nil
}

// hidden reports whether a node is of places, of which other nodes are the call paths. Where a row is all nodes of a
// name, that has them.
func (t *tally) hidden(node int32) bool {
	if of := t.b.nodes[node].Type; t.a.By == ByLoop && !t.a.Nested && (of == calltree.MPI || of == calltree.Cluster) {
		return true
	}
	return t.b.nodes[node].File == rows.InNoFunction && t.a.By != ByFunctions
}

// collect adds values up in the rows of nodes, of those that count, and of those round them.
func (t *tally) collect(v *threadValues, counts func(node int32) bool) {
	nodes := t.b.nodes
	var list []int32 // nodes with a value, and those round them
	for _, node := range v.touched {
		for at := node; at >= 0 && !t.round[at]; at = nodes[at].Parent {
			t.round[at] = true
			list = append(list, at)
		}
	}
	slices.Sort(list)
	for _, node := range slices.Backward(list) {
		n := &nodes[node]
		for i, inside := range t.inside {
			column := atOthers + i - 1
			switch i {
			case 0:
				column = atNS
			case len(t.inside) - 1:
				column = atEstimated
			}
			inside[node] = plus(inside[node], v.columns[column][node])
			if n.Parent >= 0 {
				inside[n.Parent] = plus(inside[n.Parent], inside[node])
				if n.Type == calltree.Phase || n.Type == calltree.Loop {
					t.phases[i][n.Parent] = plus(t.phases[i][n.Parent], inside[node])
				}
			}
		}
		if n.Parent >= 0 && (n.Type == calltree.MPI || n.Type == calltree.Phase) && (n.File != rows.InNoFunction || t.b.shape.Calls != ByFrames) {
			t.sub[n.Parent] = plus(t.sub[n.Parent], v.columns[atCalls][node])
			if t.a.By == ByLoop && n.Parent > 0 && n.Type == calltree.MPI { // the program has all of them
				t.sub[0] = plus(t.sub[0], v.columns[atCalls][node])
			}
		}
		if n.Type == calltree.MPI {
			t.mpi[node] = v.columns[atNS][node]
		}
		if n.Parent >= 0 {
			t.mpi[n.Parent] = plus(t.mpi[n.Parent], t.mpi[node])
		}
		if n.Type == calltree.Cluster && nodes[n.Parent].Type == calltree.Cluster {
			t.kinds[0][n.Parent] = plus(t.kinds[0][n.Parent], v.columns[atCalls][node])
			t.kinds[1][n.Parent] = plus(t.kinds[1][n.Parent], v.columns[atWhole][node])
		}
	}
	for _, node := range list {
		if counts(node) {
			t.take(v, node)
		}
		t.forget(node)
	}
}

// forget makes a node ready for the next thread.
func (t *tally) forget(node int32) {
	t.sub[node], t.mpi[node], t.kinds[0][node], t.kinds[1][node], t.round[node] = 0, 0, 0, 0, false
	for i := range t.inside {
		t.inside[i][node], t.phases[i][node] = 0, 0
	}
}

// take adds a node of a thread to its row.
func (t *tally) take(v *threadValues, node int32) {
	row := t.group[node]
	if !t.is[row] {
		t.is[row] = true
		t.used = append(t.used, row)
	}
	add := func(figure int, x int64) { t.values[figure][row] = plus(t.values[figure][row], x) }
	add(ofExclusive, t.exclusive(0, node, v.columns[atNS][node]))
	calls, whole := plus(v.columns[atCalls][node], t.kinds[0][node]), plus(v.columns[atWhole][node], t.kinds[1][node])
	add(ofCalls, calls)
	add(ofSubcalls, t.sub[node])
	add(ofMPI, t.mpi[node])
	s := &t.rows[row]
	ownNS := v.columns[atNS][node]
	if t.a.By == ByLoop && !t.a.Nested { // what is in a loop has no rows
		ownNS = t.exclusive(0, node, ownNS)
	}
	s.ownNS, s.whole, s.calls = plus(s.ownNS, ownNS), plus(s.whole, whole), plus(s.calls, calls)
	for i := range t.w.columns {
		figure, inside := ofValue, ofValueInside
		if i > 0 {
			figure, inside = ofBelow, ofBelowInside
		}
		own := v.columns[atOthers+i][node]
		exclusive := t.exclusive(1+i, node, own)
		if i == 0 && t.a.By == ByLoop && !t.a.Nested {
			s.own = plus(s.own, exclusive)
		} else if i == 0 {
			s.own = plus(s.own, own)
		}
		add(figure, exclusive)
		if !t.inner[node] {
			add(inside, t.inside[1+i][node])
		}
	}
	if !t.inner[node] {
		add(ofInclusive, t.inside[0][node])
		s.ns, s.estimated = plus(s.ns, t.inside[0][node]), plus(s.estimated, t.inside[len(t.inside)-1][node])
	}
}

// exclusive is what a node has in a column that is not in what is within it; a phase has all but what is in phases.
func (t *tally) exclusive(column int, node int32, own int64) int64 {
	if of := t.b.nodes[node].Type; t.b.shape.Phases && (of == calltree.Phase || of == calltree.Program) {
		return t.inside[column][node] - t.phases[column][node]
	}
	switch t.b.nodes[node].Type {
	case calltree.Loop, calltree.Outside, calltree.Unplaced:
		return t.inside[column][node] - t.phases[column][node]
	}
	return own
}

// spread adds what a row of a thread has to that of all threads.
func (t *tally) spread(row int32, of *calltree.Thread) {
	s := &t.rows[row]
	switch {
	case t.a.Metric == metricIPC:
		s.ratio.add(t.values[ofValue][row], t.values[ofBelow][row], of)
		s.inside.add(t.values[ofValueInside][row], t.values[ofBelowInside][row], of)
	case len(t.w.columns) == 2:
		s.lacks = plus(s.lacks, t.values[ofBelowInside][row])
	}
	for i := range s.spreads {
		if i < ofValue || len(t.w.columns) > 0 {
			s.spreads[i].add(t.values[i][row], of)
		}
	}
	t.clear(row)
}

// clear makes a row ready for the next thread.
func (t *tally) clear(row int32) {
	for i := range t.values {
		t.values[i][row] = 0
	}
	t.is[row] = false
}

// share adds a thread to those of its rank or node.
func (t *tally) share(v *threadValues) {
	var s *Share
	if t.a.By == ByNode {
		at, known := t.hosts[v.thread.Host]
		if !known {
			at = len(t.shares)
			t.hosts[v.thread.Host] = at
			t.shares = append(t.shares, Share{Thread: calltree.Thread{Host: v.thread.Host}})
		}
		s = &t.shares[at]
		if v.thread.World != s.World || v.thread.Rank != s.Rank || s.Ranks == 0 {
			s.Ranks++
		}
		s.World, s.Rank = v.thread.World, v.thread.Rank
	} else {
		if n := len(t.shares); n == 0 || t.shares[n-1].World != v.thread.World || t.shares[n-1].Rank != v.thread.Rank {
			t.shares = append(t.shares, Share{Thread: v.thread, Ranks: 1})
		}
		s = &t.shares[len(t.shares)-1]
	}
	s.Threads++
	var above, below int64
	for _, node := range v.touched {
		ns := v.columns[atNS][node]
		s.NS = plus(s.NS, ns)
		switch t.b.nodes[node].Type {
		case calltree.Cluster:
			s.ComputingNS = plus(s.ComputingNS, ns)
		case calltree.MPI:
			s.MPINS = plus(s.MPINS, ns)
			s.Calls = plus(s.Calls, v.columns[atCalls][node])
		case calltree.Paused:
			s.PausedNS = plus(s.PausedNS, ns)
		case calltree.Unrecorded:
			s.UnrecordedNS = plus(s.UnrecordedNS, ns)
		default:
			s.OtherNS = plus(s.OtherNS, ns)
		}
		if len(t.w.columns) > 0 {
			above = plus(above, v.columns[atOthers][node])
		}
		if len(t.w.columns) > 1 {
			below = plus(below, v.columns[atOthers+1][node])
		}
	}
	s.Value, s.above, s.below = plus(s.Value, above), plus(s.above, above), plus(s.below, below)
}
