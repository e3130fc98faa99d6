// Package rows makes the nodes of a tree of the rows of profile.parquet: phases above call paths, and in them MPI calls
// and clusters. In come rows without their figures, out come for each the node that has its time and that of the phase
// that it lies in. Nodes are numbered as rows come, each behind its parent.
package rows

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
)

// A Shape says what the nodes of a tree are. The root is the program.
type Shape struct {
	Phases     bool // the program's phases are nodes above all others
	Iterations bool // so are phases of iterations that were found, below those of the program
	Variants   bool // the clusters of a kind, and its disturbed bursts, are nodes below it
	Calls      Calls
	// Sites says that a function is a node for each line from which it is called; else it is one in each that calls it,
	// and the line of a call of MPI is part of its File.
	Sites bool
	Flat  bool // phases are names, not paths, as in format 1
	// Path is a call path by its name, nil = not known.
	Path func(name string) *trace.CallPath
	// Loops are the loops round a row, outermost first, as nodes without a parent; of ByLoop. False: not known.
	Loops func(r *Row) ([]calltree.Node, bool)
	Most  int // nodes; 0: as many as there are
}

// Calls says as what calls and bursts are nodes.
type Calls int

// They are
const (
	ByFrames   Calls = iota // below the functions that lead to them
	ByFunction              // one node for each function of MPI and each cluster
	ByPath                  // one for each call path and each cluster
	Together                // one for all of MPI, one for each cluster
	ByLoop                  // below the loops of the program's structure, one for each function of MPI and each cluster
)

// A Row is what decides where a row belongs. Iterations is below 0 where it does not.
type Row struct {
	Kind, Path, Phase   string
	Cluster             int32 // as KindOf says
	Variant             int32 // the cluster of the bursts, where that matters
	Context, Iterations int32
	InPhase             bool
	Placed              bool // Path is a place, and from which functions MPI was called is not known: they lie in the phase
}

// InNoFunction is the File of the nodes of rows that are Placed, where others lie below functions or are call paths.
const InNoFunction = "\x00"

// KindOf is the cluster that stands for the kind of the bursts of a row of the profile, or why they are of none.
func KindOf(r *parquet.ProfileRow) int32 {
	if r.OfKind > 0 {
		return r.OfKind
	}
	return r.Cluster
}

// A Tree grows with the rows that come.
type Tree struct {
	Nodes  []calltree.Node
	Phases []string // by node: the path of the phase that it is, or lies in; empty: of none
	Frozen bool     // no new nodes
	Err    error    // the first: a node was new, or one too many

	shape Shape
	known map[calltree.Node]int32
}

// ErrNew says that a row has no node in a tree that is frozen.
var ErrNew = errors.New("a row is of another phase, function, call or cluster than all before")

// New has the root alone.
func New(program string, shape Shape) *Tree {
	return &Tree{Nodes: []calltree.Node{{Type: calltree.Program, Name: program, Parent: -1}}, Phases: []string{""}, shape: shape, known: make(map[calltree.Node]int32)}
}

// Of finds or makes the nodes of a row: its own, and that of the phase that it is directly in. -1: it has none.
func (t *Tree) Of(r *Row) (node, phase int32) {
	if t.shape.Phases && r.InPhase {
		phases := trace.PhasesOf
		if t.shape.Flat {
			phases = func(path string) iter.Seq2[string, string] {
				return func(yield func(name, path string) bool) { yield(path, path) }
			}
		}
		depth := 0
		for name, path := range phases(r.Phase) {
			if depth++; depth > trace.MostPhaseDepth { // nodes of a damaged file could take any memory
				t.fail(fmt.Errorf("a phase in %d others or more", trace.MostPhaseDepth))
				return -1, -1
			}
			phase = t.Child(calltree.Node{Type: calltree.Phase, Name: name, Parent: phase})
			if t.Phases[phase] == "" {
				t.Phases[phase] = path
			}
		}
	}
	at := phase
	if t.shape.Iterations && r.Iterations >= 0 {
		at = t.Child(calltree.Node{Type: calltree.Iterations, Name: fmt.Sprintf("Iterations %d", r.Iterations), Parent: at, Cluster: r.Iterations})
	}
	switch r.Kind {
	case parquet.ProfilePhase:
		return phase, phase
	case parquet.ProfileIterations:
		return at, phase
	case parquet.ProfileMPI:
		return t.called(at, r), phase
	case parquet.ProfileTraffic:
		if t.shape.Phases {
			return 0, 0 // of which phase it is is not known
		}
		return t.called(at, r), phase
	case parquet.ProfileComputation:
		if t.shape.Calls == ByFrames && r.Context > 0 {
			at, _, _ = t.functions(at, r.Path, int(r.Context))
		}
		n := calltree.Node{Type: calltree.Cluster, Name: ClusterName(r.Cluster), Parent: at, Cluster: r.Cluster}
		if t.shape.Calls == ByLoop && !r.Placed {
			n.Parent = t.loops(at, r)
		}
		if r.Placed && t.shape.Whole(parquet.ProfileComputation) {
			n.File = InNoFunction
		}
		node = t.Child(n)
		if t.shape.Variants && r.Cluster > 0 {
			node = t.Child(calltree.Node{Type: calltree.Cluster, Name: variantName(r), Parent: node, Cluster: r.Variant})
		}
		return node, phase
	case parquet.ProfilePaused:
		return t.Child(calltree.Node{Type: calltree.Paused, Name: "Paused", Parent: at}), phase
	case parquet.ProfileUnrecorded:
		return t.Child(calltree.Node{Type: calltree.Unrecorded, Name: "Unrecorded", Parent: at}), phase
	}
	return -1, -1
}

// variantName is what bursts of a kind are called that are of one cluster, or of none.
func variantName(r *Row) string {
	switch {
	case r.Variant == r.Cluster:
		return ClusterName(r.Variant) + " itself"
	case r.Variant < 1:
		return "Disturbed"
	}
	return ClusterName(r.Variant)
}

// ClusterName is what bursts with a label are called.
func ClusterName(label int32) string {
	switch label {
	case trace.LabelNoise:
		return "Noise"
	case trace.LabelFiltered:
		return "Filtered"
	case trace.LabelMissing:
		return "Missing data"
	}
	if label < 1 {
		return "Computation" // nothing clustered it
	}
	return fmt.Sprintf("Cluster %d", label)
}

// Function is that of MPI which a call path leads to: that of the path, or what its name says.
func (s *Shape) Function(path string) string {
	if p := s.Path(path); p != nil && p.Function != "" {
		return p.Function
	}
	function, _, _ := strings.Cut(path, "@")
	return function
}

// Whole reports whether nodes depend on more of a call path than its place; bursts below functions and in loops alone.
func (s *Shape) Whole(kind string) bool {
	switch kind {
	case parquet.ProfileMPI, parquet.ProfileTraffic:
		return s.Calls == ByFrames || s.Calls == ByPath || s.Calls == ByLoop
	case parquet.ProfileComputation:
		return s.Calls == ByFrames || s.Calls == ByLoop
	}
	return false
}

// called is the node of calls of a row below a node.
func (t *Tree) called(at int32, r *Row) int32 {
	if r.Placed && t.shape.Whole(parquet.ProfileMPI) {
		return t.Child(calltree.Node{Type: calltree.MPI, Name: t.shape.Function(r.Path), Parent: at, File: InNoFunction})
	}
	if t.shape.Calls == ByLoop {
		at = t.loops(at, r)
	}
	return t.call(at, r.Path)
}

// loops is the innermost of the loops round a row, below a node, or what stands for none.
func (t *Tree) loops(at int32, r *Row) int32 {
	list, known := t.shape.Loops(r)
	switch {
	case !known:
		return t.Child(calltree.Node{Type: calltree.Unplaced, Name: "Loop not known", Parent: at})
	case len(list) == 0:
		return t.Child(calltree.Node{Type: calltree.Outside, Name: "In no loop", Parent: at})
	}
	for _, n := range list {
		n.Parent = at
		at = t.Child(n)
	}
	return at
}

// call is the node of calls below a node.
func (t *Tree) call(at int32, path string) int32 {
	n := calltree.Node{Type: calltree.MPI, Name: t.shape.Function(path)}
	switch t.shape.Calls {
	case ByFrames:
		at, n.File, n.Line = t.functions(at, path, -1)
		if !t.shape.Sites {
			n.File, n.Line = t.place(path), 0
		}
	case ByPath:
		n.Name = path
	case Together:
		n.Name = "MPI"
	}
	n.Parent = at
	return t.Child(n)
}

// place is from where a path calls MPI, as text.
func (t *Tree) place(path string) string {
	if p := t.shape.Path(path); p != nil && len(p.Frames) > 0 {
		return p.Frames[0].Place()
	}
	_, place, _ := strings.Cut(path, "@")
	return place
}

// functions are so many of the outermost functions of a call path, inlined ones too, below a node; all of them if limit
// is below 0. It returns the innermost, and where it calls what is next.
func (t *Tree) functions(at int32, path string, limit int) (innermost int32, file string, line int) {
	p := t.shape.Path(path)
	if p == nil {
		return at, "", 0
	}
	add := func(function, callFile string, callLine int) {
		if limit == 0 {
			return
		}
		limit--
		n := calltree.Node{Type: calltree.Function, Name: function, Parent: at}
		if t.shape.Sites {
			n.File, n.Line = file, line
			n.Name = cmp.Or(function, "?")
		}
		at = t.Child(n)
		file, line = callFile, callLine
	}
	for i := len(p.Frames) - 1; i >= 0 && limit != 0; i-- {
		f := &p.Frames[i]
		for _, s := range f.Inlined {
			add(s.Function, s.File, s.Line)
		}
		name := f.Function
		switch {
		case name == "" && !t.shape.Sites:
			name = cmp.Or(f.Place(), "?")
		case name == "" && f.Module != "":
			name = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
		}
		add(name, f.File, f.Line)
	}
	return at, file, line
}

// Child finds or makes a node. Its phase is that of its parent.
func (t *Tree) Child(n calltree.Node) int32 {
	i, known := t.known[n]
	switch {
	case known:
		return i
	case t.Frozen:
		t.fail(ErrNew)
		return 0
	case t.shape.Most > 0 && len(t.Nodes) == t.shape.Most:
		t.fail(fmt.Errorf("more than %d different phases, functions, calls and clusters", t.shape.Most))
		return 0
	}
	i = int32(len(t.Nodes))
	t.known[n] = i
	phase := ""
	if n.Type != calltree.Phase {
		phase = t.Phases[n.Parent]
	}
	t.Nodes, t.Phases = append(t.Nodes, n), append(t.Phases, phase)
	return i
}

func (t *Tree) fail(err error) {
	if t.Err == nil {
		t.Err = err
	}
}
