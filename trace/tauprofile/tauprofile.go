// Package tauprofile writes a profile as TAU does, a file profile.NODE.0.THREAD for each thread, which ParaProf,
// PerfExplorer, pprof of TAU and Hatchet read. What comes in is a calltree.Tree; what goes out are microseconds of
// time, and of each further metric what it counts, in folders MULTI__METRIC. docs/format/profiles.md describes them.
//
// A tree with functions is written as a call-path profile, one with phases and no functions as a phase profile. Threads
// pass one by one: memory holds the values of one.
package tauprofile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"moriens/trace/calltree"
)

// MostFiles is how many files are written unless ranks were chosen: more of them hurt a shared file system.
const MostFiles = 4096

// ErrTooMany is the error for a profile of more files than MostFiles.
var ErrTooMany = errors.New("too many files")

// Options are what the tree does not say.
type Options struct {
	Sizes  []int // of the worlds; those that are missing are as large as the tree's threads show
	Chosen bool  // the ranks were chosen: there may be more files than MostFiles
}

// Files is how many files a tree makes.
func Files(t *calltree.Tree) int { return len(t.Threads) * (1 + len(t.Metrics)) }

// Write writes the files, whose names have folders in them where the tree has metrics besides time.
func Write(t *calltree.Tree, o Options, create func(name string) (io.WriteCloser, error)) error {
	if n := Files(t); n > MostFiles && !o.Chosen {
		return fmt.Errorf("%w: a profile of %d threads and %d metrics is %d; more than %d are not written unless ranks are chosen", ErrTooMany, len(t.Threads), 1+len(t.Metrics), n, MostFiles)
	}
	x := newWriter(t)
	nodes := nodes(t, o.Sizes)
	return t.Each(func(thread int, v *calltree.Values) error {
		x.fill(v)
		for m := range x.metrics {
			name := fmt.Sprintf("profile.%d.0.%d", nodes[thread], t.Threads[thread].Thread)
			if len(x.metrics) > 1 {
				name = "MULTI__" + x.metrics[m] + "/" + name
			}
			if err := x.file(name, thread, m, create); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
}

// nodes are the numbers of the ranks of threads among those of all worlds, one world after the other. Worlds that are
// neither among sizes nor have a thread take no number, so that a damaged file with any number of one costs nothing.
func nodes(t *calltree.Tree, sizes []int) []int {
	most := make(map[int32]int) // ranks, by world
	for w, n := range sizes {
		most[int32(w)] = n
	}
	for _, th := range t.Threads {
		most[th.World] = max(most[th.World], int(th.Rank)+1)
	}
	first := make(map[int32]int)
	next := 0
	for _, w := range slices.Sorted(maps.Keys(most)) {
		first[w] = next
		next += most[w]
	}
	list := make([]int, len(t.Threads))
	for i, th := range t.Threads {
		list[i] = first[th.World] + int(th.Rank)
	}
	return list
}

// The groups of rows, by which ParaProf knows what they are.
const (
	groupDefault  = "TAU_DEFAULT"
	groupMPI      = "MPI"
	groupPhase    = "TAU_PHASE"
	groupCallPath = "TAU_CALLPATH"
)

// A row is one of a file, with the values of a thread. Columns are of the metrics, the first of which is time.
type row struct {
	name, group            string
	calls, subrs           int64
	exclusive, inclusive   []int64
	used                   bool
	parent, flat, inPhases int // of call paths: rows; inPhases is -1 in call-path profiles
}

// A writer writes the files of one thread after the other.
type writer struct {
	tree    *calltree.Tree
	metrics []string // as in names of folders
	phases  bool     // it is a phase profile

	paths     []row // by call path; the first is the root
	flat      []row // by name; the first is the root
	inPhases  []row // by phase and name
	path      []int // of nodes: row
	outermost []bool
	outerIn   []bool    // of nodes: none of the same name is between it and its phase
	inclusive [][]int64 // of nodes, by metric
}

func newWriter(t *calltree.Tree) *writer {
	x := &writer{tree: t, metrics: folders(t), path: make([]int, len(t.Nodes)), outermost: make([]bool, len(t.Nodes)), outerIn: make([]bool, len(t.Nodes))}
	functions := false
	for i := range t.Nodes {
		x.phases = x.phases || t.Nodes[i].Phased()
		functions = functions || t.Nodes[i].Type == calltree.Function
	}
	x.phases = x.phases && !functions
	x.rows(Names(t))
	for range x.metrics {
		x.inclusive = append(x.inclusive, make([]int64, len(t.Nodes)))
	}
	for _, rows := range [][]row{x.paths, x.flat, x.inPhases} {
		for i := range rows {
			rows[i].exclusive, rows[i].inclusive = make([]int64, len(x.metrics)), make([]int64, len(x.metrics))
		}
	}
	return x
}

// rows makes the rows of the tree. Nodes of one name below the same one share a row.
func (x *writer) rows(names []string) {
	type key struct {
		above int
		name  string
	}
	flat, paths, inPhases := make(map[string]int), make(map[key]int), make(map[key]int)
	phase := make([]int, len(x.tree.Nodes)) // of nodes: the flat row of the phase that they are or lie in
	for i := range x.tree.Nodes {
		n, name := &x.tree.Nodes[i], names[i]
		at, ok := flat[name]
		if !ok {
			at = len(x.flat)
			flat[name] = at
			x.flat = append(x.flat, row{name: name, group: x.group(n)})
		}
		above, full := key{-1, name}, name
		if n.Parent >= 0 {
			above.above = x.path[n.Parent]
			full = x.paths[above.above].name + " => " + name
		}
		p, ok := paths[above]
		if !ok {
			p = len(x.paths)
			paths[above] = p
			x.paths = append(x.paths, row{name: full, group: groupCallPath, parent: above.above, flat: at, inPhases: -1})
		}
		x.path[i] = p
		phase[i] = at
		if n.Parent >= 0 {
			of := phase[n.Parent]
			if x.phases {
				k := key{of, name}
				r, ok := inPhases[k]
				if !ok {
					r = len(x.inPhases)
					inPhases[k] = r
					x.inPhases = append(x.inPhases, row{name: x.flat[of].name + " => " + name, group: groupCallPath})
				}
				x.paths[p].inPhases = r
			}
			if !n.Phased() {
				phase[i] = of
			}
		}
		x.outermost[i], x.outerIn[i] = x.first(int32(i), names)
	}
}

// first reports whether a node is the outermost of its name, and whether it is that in its phase.
func (x *writer) first(node int32, names []string) (of, in bool) {
	in = true
	inside := true
	for i := x.tree.Nodes[node].Parent; i >= 0; i = x.tree.Nodes[i].Parent {
		if names[i] == names[node] {
			return false, in && !inside
		}
		inside = inside && !x.tree.Nodes[i].Phased()
	}
	return true, true
}

func (x *writer) group(n *calltree.Node) string {
	switch {
	case n.Phased(), n.Type == calltree.Program && x.phases:
		return groupPhase
	case n.Type == calltree.MPI:
		return groupMPI
	}
	return groupDefault
}

// fill adds the values of a thread to the rows.
func (x *writer) fill(v *calltree.Values) {
	for _, rows := range [][]row{x.paths, x.flat, x.inPhases} {
		for i := range rows {
			r := &rows[i]
			r.calls, r.subrs, r.used = 0, 0, false
			clear(r.exclusive)
			clear(r.inclusive)
		}
	}
	columns := append([][]int64{v.NS}, v.Metrics...)
	for m, column := range columns {
		x.tree.Inclusive(column, x.inclusive[m])
	}
	for i := range x.tree.Nodes {
		p := &x.paths[x.path[i]]
		p.calls = calltree.Sum(p.calls, v.Calls[i])
		p.used = p.used || i == 0 || v.Calls[i] != 0
		for m, column := range columns {
			p.add(m, column[i], x.inclusive[m][i], true)
			x.flat[p.flat].add(m, column[i], x.inclusive[m][i], x.outermost[i])
			if p.inPhases >= 0 {
				x.inPhases[p.inPhases].add(m, column[i], x.inclusive[m][i], x.outerIn[i])
			}
		}
	}
	x.count()
}

// add adds the values of a node to a row.
func (r *row) add(metric int, exclusive, inclusive int64, outermost bool) {
	r.exclusive[metric] = calltree.Sum(r.exclusive[metric], exclusive)
	if outermost {
		r.inclusive[metric] = calltree.Sum(r.inclusive[metric], inclusive)
	}
	r.used = r.used || inclusive != 0
}

// count sums calls. A row that has time and no calls, as a function's number of calls is not known, gets one: ParaProf
// leaves out rows without calls.
func (x *writer) count() {
	for i := len(x.paths) - 1; i >= 0; i-- { // those below come first
		p := &x.paths[i]
		if i > 0 {
			p.used = p.used || p.subrs > 0
		}
		if !p.used {
			continue
		}
		p.calls = max(p.calls, 1)
		if i == 0 {
			p.calls = 1
		} else {
			x.paths[p.parent].subrs = calltree.Sum(x.paths[p.parent].subrs, p.calls)
		}
		f := &x.flat[p.flat]
		f.used, f.calls, f.subrs = true, calltree.Sum(f.calls, p.calls), calltree.Sum(f.subrs, p.subrs)
		if p.inPhases >= 0 {
			r := &x.inPhases[p.inPhases]
			r.used, r.calls, r.subrs = true, calltree.Sum(r.calls, p.calls), calltree.Sum(r.subrs, p.subrs)
		}
	}
}

// file writes the file of a metric of a thread. Those of all metrics have the same rows, as Hatchet expects.
func (x *writer) file(name string, thread, metric int, create func(string) (io.WriteCloser, error)) (err error) {
	f, err := create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	rows := x.list()
	fmt.Fprintf(out, "%d templated_functions_MULTI_%s\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata>", len(rows), x.metrics[metric])
	x.metadata(out, thread, metric)
	out.WriteString("</metadata>\n")
	for i, r := range rows {
		text := counted
		switch {
		case metric == 0 && i == 0:
			text = whole
		case metric == 0:
			text = microseconds
		}
		fmt.Fprintf(out, "\"%s\" %d %d %s %s 0 GROUP=\"%s\"\n", r.name, r.calls, r.subrs, text(r.exclusive[metric]), text(r.inclusive[metric]), r.group)
	}
	out.WriteString("0 aggregates\n0 userevents\n")
	return out.Flush()
}

// list are the rows that have values: the root, names, call paths or phases.
func (x *writer) list() (rows []*row) {
	add := func(list []row) {
		for i := range list {
			if list[i].used {
				rows = append(rows, &list[i])
			}
		}
	}
	add(x.flat)
	if x.phases {
		add(x.inPhases)
	} else if len(x.paths) > 0 {
		add(x.paths[1:])
	}
	return rows
}

func counted(n int64) string { return strconv.FormatInt(n, 10) }

// microseconds has as many digits as are needed to be exact.
func microseconds(ns int64) string {
	text := strconv.FormatInt(ns/1000, 10)
	if part := ns % 1000; part != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%03d", part), "0")
	}
	return text
}

// whole rounds: readers parse an integer in the row of the root.
func whole(ns int64) string {
	n := ns / 1000
	if ns%1000 >= 500 {
		n++
	}
	return strconv.FormatInt(n, 10)
}

// metadata writes what is known of the run. Hatchet takes the first value for the name of the metric.
func (x *writer) metadata(out *bufio.Writer, thread, metric int) {
	th := x.tree.Threads[thread]
	list := []calltree.Fact{{Name: "Metric Name", Value: x.metrics[metric]}}
	if x.tree.Title != "" {
		list = append(list, calltree.Fact{Name: "Command Line", Value: x.tree.Title})
	}
	if th.Host != "" {
		list = append(list, calltree.Fact{Name: "Hostname", Value: th.Host})
	}
	list = append(list, calltree.Fact{Name: "MPI World", Value: strconv.Itoa(int(th.World))}, calltree.Fact{Name: "MPI Rank", Value: strconv.Itoa(int(th.Rank))})
	for _, f := range append(list, x.tree.Facts...) {
		fmt.Fprintf(out, "<attribute><name>%s</name><value>%s</value></attribute>", escape(f.Name), escape(f.Value))
	}
}
