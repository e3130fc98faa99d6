package profiling

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/app/pairing"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
)

var (
	errChanged   = errors.New("the file has changed while it was read")
	errScattered = errors.New("rows of a thread do not stand together")
)

// A Column is a value of rows besides their time and calls.
type Column struct {
	calltree.Metric
	needs []string // columns of the file
	of    func(r *parquet.ProfileRow) int64
	moved bool // bytes: rows of traffic have some
}

// Columns of each thread that are always there; others follow.
const (
	atNS        = iota
	atCalls     // calls, bursts, instances
	atRecords   // the same where a run of polls is one
	atWhole     // how long these took in all, in this phase or not
	atEstimated // of the time, in bursts that cross a border of phases
	atRest      // of phases: their own time less that of the rows directly in them
	atOthers
)

// A threadValues is what a thread has, by column and node.
type threadValues struct {
	thread  calltree.Thread
	columns [][]int64
	touched []int32 // nodes with a value, each once
}

// A walk goes through the profile and hands out what each thread has. Nodes are made as they are found.
type walk struct {
	b       *builder
	ranks   pairing.RankList // nil = all
	columns []Column
	labels  bool // only which nodes and threads there are
	of      whose
	give    func(v *threadValues) error

	now      threadValues
	is       []bool // touched, by node
	begun    bool
	gathered *gathering // nil where rows of threads stand together
	phased   bool       // there are rows of phases
	unsure   int64      // ns of rows of which several loops are possible
	seen     [][2]int   // ranks, with those that are not asked for
	classes  map[int32]*class

	// What other rows have of threads: those of traffic, which are of a rank, stand anywhere and are found with the
	// labels, are of thread -1, and are added to the first thread of the rank; late times are of threads.
	more map[calltree.Thread][]moved
	rank rankName // whose threads were handed out last
	any  bool     // one was
}

// whose says of whom a walk hands out values, where some call paths are known of classes of ranks alone.
type whose int

const (
	ofThreads whose = iota // of each thread; those call paths are nodes of places, in no function
	ofSums                 // of all classes together, as one thread, what those call paths have
	ofClasses              // of each class, as one thread, all
)

// moved are values of a node, by column.
type moved struct {
	node   int32
	values []int64
}

// run goes through the file: once where rows of threads stand together, else again, after a reset of what was handed
// out.
func (w *walk) run(reset func()) error {
	err := error(errScattered)
	if w.gathered == nil && w.of == ofThreads {
		err = w.scan()
	}
	if errors.Is(err, errScattered) {
		reset()
		*w = walk{b: w.b, ranks: w.ranks, columns: w.columns, labels: w.labels, of: w.of, give: w.give, more: w.more, gathered: newGathering()}
		if w.labels {
			w.more = nil // it is found again
		}
		if err = w.scan(); err == nil {
			err = w.replay()
		}
	}
	if err := cmp.Or(err, w.b.failed); err != nil {
		return err
	}
	return w.wholeClasses()
}

// needed are the columns of the file that are read.
func (w *walk) needed() []string {
	list := []string{"world", "rank", "thread", "call_path", "cluster", "of_kind", "phase"}
	if w.b.src.Classes {
		list = append(list, "class", "paths")
	}
	if w.b.shape.Calls == ByFrames || w.b.shape.Calls == ByLoops {
		list = append(list, "context")
	}
	if w.b.shape.Iterations {
		list = append(list, "iterations")
	}
	if w.labels {
		if w.moves() {
			list = append(list, "sent_bytes", "received_bytes")
		}
		return list
	}
	list = append(list, "count", "records", "time_ns", "exclusive_ns", "whole_ns", "estimated_ns")
	for _, c := range w.columns {
		list = append(list, c.needs...)
	}
	return list
}

func (w *walk) scan() error {
	w.now.columns = make([][]int64, atOthers+len(w.columns))
	err := w.b.src.scan(w.needed(), func(p *parquet.Profile) error {
		for i := range p.Rows {
			if err := cmp.Or(w.row(&p.Rows[i]), w.b.failed); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && w.begun && w.gathered == nil {
		err = w.flush()
	}
	return err
}

func (w *walk) row(r *parquet.ProfileRow) error {
	kind, ofClass := r.OfClass()
	switch kind {
	case parquet.ProfilePhase, parquet.ProfileComputation, parquet.ProfileMPI, parquet.ProfilePaused, parquet.ProfileUnrecorded:
	case parquet.ProfileTraffic:
		if !ofClass && w.of == ofThreads {
			if w.labels && w.moves() {
				w.move(r)
			}
			return nil
		}
	default:
		return nil
	}
	if ofClass || w.of != ofThreads {
		return w.ofClass(r, kind, ofClass)
	}
	if min(r.World, r.Rank, r.Thread) < 0 || min(r.Count, r.Records, r.TimeNS, r.ExclusiveNS, r.WholeNS, r.EstimatedNS) < 0 {
		return fmt.Errorf("a row of kind %s has a figure below 0", r.Kind)
	}
	t := calltree.Thread{World: r.World, Rank: r.Rank, Thread: r.Thread}
	if !w.begun || w.now.thread.World != t.World || w.now.thread.Rank != t.Rank || w.now.thread.Thread != t.Thread {
		if err := w.enter(t); err != nil {
			return err
		}
	}
	chosen := w.ranks == nil || w.ranks.Has(int(r.World), int(r.Rank))
	if w.b.byClass() {
		w.member(r, t, chosen)
	}
	if !chosen {
		return nil
	}
	p := w.b.place(r)
	if p.node < 0 || w.b.failed != nil {
		return nil
	}
	own := r.Kind == parquet.ProfilePhase
	w.phased = w.phased || own
	w.doubt(r, p)
	if w.gathered != nil {
		w.gather(r, p, own)
		return nil
	}
	if w.labels {
		return nil
	}
	w.grow()
	w.touch(p.node)
	w.touch(p.phase)
	w.add(r, p, own)
	return nil
}

// doubt adds up what may be in several loops.
func (w *walk) doubt(r *parquet.ProfileRow, p *placed) {
	if p.unsure {
		w.unsure = plus(w.unsure, r.TimeNS)
	}
}

// moves reports whether bytes are asked for.
func (w *walk) moves() bool {
	return slices.ContainsFunc(w.columns, func(c Column) bool { return c.moved })
}

// move keeps a row of traffic.
func (w *walk) move(r *parquet.ProfileRow) {
	if w.ranks != nil && !w.ranks.Has(int(r.World), int(r.Rank)) {
		return
	}
	p := w.b.place(r)
	if p.node < 0 {
		return
	}
	m := moved{node: p.node}
	for i := range w.columns {
		x := int64(0)
		if c := &w.columns[i]; c.moved {
			x = max(c.of(r), 0)
		}
		m.values = append(m.values, x)
	}
	if w.more == nil {
		w.more = make(map[calltree.Thread][]moved)
	}
	at := calltree.Thread{World: r.World, Rank: r.Rank, Thread: ofRank}
	w.more[at] = append(w.more[at], m)
}

// values gives what a row adds to a column of its node.
func (w *walk) values(r *parquet.ProfileRow, own bool, give func(column int, x int64)) {
	kind, _ := r.OfClass()
	switch {
	case kind == parquet.ProfileTraffic: // its calls are in other rows
		for i := range w.columns {
			if c := &w.columns[i]; c.moved {
				give(atOthers+i, max(c.of(r), 0))
			}
		}
		return
	case own:
		give(atCalls, r.Records)
		give(atRecords, r.Records)
		give(atWhole, r.TimeNS)
	default:
		give(atNS, r.TimeNS)
		give(atCalls, r.Count)
		give(atRecords, r.Records)
		give(atWhole, r.WholeNS)
		give(atEstimated, r.EstimatedNS)
	}
	for i := range w.columns {
		if c := &w.columns[i]; c.of != nil {
			give(atOthers+i, max(c.of(r), 0))
		}
	}
}

// inTree reports whether a row of a phase is of a node of its own. Without nodes of phases, those of the program count.
func (w *walk) inTree(r *parquet.ProfileRow) bool { return w.b.shape.Phases || !r.InPhase }

func (w *walk) add(r *parquet.ProfileRow, p *placed, own bool) {
	if own {
		w.rest(p.phase, r.ExclusiveNS)
		if !w.inTree(r) {
			return
		}
	} else {
		w.rest(p.phase, -r.TimeNS)
	}
	w.values(r, own, func(column int, x int64) {
		c := w.now.columns[column]
		c[p.node] = plus(c[p.node], x)
	})
}

// rest adds to a phase's own time that no row in it explains. It stops at the largest number, and at its negative.
func (w *walk) rest(phase int32, ns int64) {
	x := &w.now.columns[atRest][phase]
	if ns < 0 {
		*x = -plus(-*x, -ns)
		return
	}
	*x = plus(*x, ns)
}

// plus stops at the largest number.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// enter begins the rows of a thread.
func (w *walk) enter(t calltree.Thread) error {
	if n := len(w.seen); n == 0 || w.seen[n-1] != [2]int{int(t.World), int(t.Rank)} {
		w.seen = append(w.seen, [2]int{int(t.World), int(t.Rank)})
	}
	if g := w.gathered; g != nil {
		w.begun, w.now.thread = true, t
		if _, known := g.threads[t]; !known && (w.ranks == nil || w.ranks.Has(int(t.World), int(t.Rank))) {
			g.threads[t] = int32(len(g.list))
			g.list = append(g.list, t)
		}
		return nil
	}
	if w.begun {
		if compareThreads(t, w.now.thread) < 0 {
			return errScattered
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.begun, w.now.thread = true, t
	return nil
}

func compareThreads(a, b calltree.Thread) int {
	return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
}

// grow makes room for all nodes.
func (w *walk) grow() {
	n := len(w.b.nodes)
	if len(w.is) >= n {
		return
	}
	n = max(n, 2*len(w.is), 64)
	for i, c := range w.now.columns {
		w.now.columns[i] = append(c, make([]int64, n-len(c))...)
	}
	w.is = append(w.is, make([]bool, n-len(w.is))...)
}

func (w *walk) touch(node int32) {
	if !w.is[node] {
		w.is[node] = true
		w.now.touched = append(w.now.touched, node)
	}
}

// flush hands out the thread, and forgets what it has.
func (w *walk) flush() error {
	if w.of == ofThreads && w.ranks != nil && !w.ranks.Has(int(w.now.thread.World), int(w.now.thread.Rank)) {
		return nil
	}
	w.grow()
	rank := rankName{w.now.thread.World, w.now.thread.Rank}
	if w.of == ofClasses {
		w.now.thread.Members = w.classes[w.now.thread.Class].chosen
	} else {
		w.now.thread.Host = w.b.src.host(rank)
	}
	if !w.labels && w.more != nil {
		of := w.now.thread
		of.Host = ""
		w.addMore(of)
		if of.Thread = ofRank; !w.any || rank != w.rank {
			w.addMore(of)
		}
		w.rank, w.any = rank, true
	}
	slices.Sort(w.now.touched)
	err := w.give(&w.now)
	for _, node := range w.now.touched {
		for _, c := range w.now.columns {
			c[node] = 0
		}
		w.is[node] = false
	}
	w.now.touched = w.now.touched[:0]
	return err
}

// ofRank stands for the thread of what is known by rank alone.
const ofRank = -1

func (w *walk) addMore(of calltree.Thread) {
	for _, m := range w.more[of] {
		w.touch(m.node)
		for i, x := range m.values {
			c := w.now.columns[atOthers+i]
			c[m.node] = plus(c[m.node], x)
		}
	}
}
