package profiling

import (
	"fmt"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
)

// A Shape says what the nodes of a tree are. The root is the program.
type Shape struct {
	Phases     bool // the program's phases are nodes above all others; not in format 1, which has no paths of phases
	Iterations bool // so are phases of iterations that were found, below those of the program
	Calls      Calls
	In         *Pattern // of which phases, with the phases in them; nil = of all
}

// Calls says as what calls and bursts are nodes.
type Calls int

// They are
const (
	ByFrames   Calls = iota // below the functions that lead to them
	ByFunction              // one node for each function of MPI and each cluster
	ByPath                  // one for each call path and each cluster
	Together                // one for all of MPI, one for each cluster
)

// Exported is the shape of exports: phases as frames above call paths.
var Exported = Shape{Phases: true}

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

// mostNodes bounds what a file of few bytes can ask for.
const mostNodes = 1 << 21

// A builder makes nodes of rows as they come.
type builder struct {
	src    *Source
	shape  Shape
	nodes  []calltree.Node
	phases []string // by node: of which phase it is, or in which it lies
	known  map[calltree.Node]int32
	rows   map[rowKey]*placed
	last   *placed
	frozen bool // no new nodes
	failed error
}

// A rowKey is what decides where a row belongs.
type rowKey struct {
	kind, path, phase            string
	cluster, context, iterations int32
	inPhase                      bool
}

// A placed row has a node of its own, and that of the phase that it is directly in. Rows of threads that do the same
// come in the same order.
type placed struct {
	key         rowKey
	node, phase int32 // -1: it is in no node
	next        *placed
}

func newBuilder(src *Source, shape Shape) *builder {
	if src.Format < 2 {
		shape.Phases = false
	}
	b := &builder{src: src, shape: shape, known: make(map[calltree.Node]int32), rows: make(map[rowKey]*placed)}
	b.nodes, b.phases = []calltree.Node{{Type: calltree.Program, Name: programOf(src.Manifest), Parent: -1}}, []string{""}
	b.last = new(placed)
	return b
}

// place finds the nodes of a row.
func (b *builder) place(r *parquet.ProfileRow) *placed {
	key := rowKey{r.Kind, r.CallPath, r.Phase, r.Cluster, r.Context, -1, r.InPhase}
	if b.shape.Iterations {
		key.iterations = r.Iterations
	}
	p := b.last.next
	if p == nil || p.key != key {
		p = b.rows[key]
		if p == nil {
			p = &placed{key: key}
			p.node, p.phase = b.nodesOf(&key)
			b.rows[key] = p
		}
		b.last.next = p
	}
	b.last = p
	return p
}

func (b *builder) nodesOf(key *rowKey) (node, phase int32) {
	if b.shape.In != nil && !b.shape.In.Holds(key.phase, key.inPhase) {
		return -1, -1
	}
	if b.shape.Phases && key.inPhase {
		names := trace.PhaseNames(key.phase)
		for i, name := range names {
			phase = b.child(calltree.Node{Type: calltree.Phase, Name: name, Parent: phase})
			if b.phases[phase] == "" {
				b.phases[phase] = trace.PhasePath(names[:i+1]...)
			}
		}
	}
	at := phase
	if key.iterations >= 0 {
		at = b.child(calltree.Node{Type: calltree.Iterations, Name: fmt.Sprintf("Iterations %d", key.iterations), Parent: at})
	}
	switch key.kind {
	case parquet.ProfilePhase:
		return phase, phase
	case parquet.ProfileMPI:
		return b.call(at, key.path), phase
	case parquet.ProfileTraffic:
		if b.shape.Phases {
			return 0, 0 // of which phase it is is not known
		}
		return b.call(at, key.path), phase
	case parquet.ProfileComputation:
		return b.child(calltree.Node{Type: calltree.Cluster, Name: ClusterName(key.cluster), Parent: b.around(at, key), Cluster: key.cluster}), phase
	case parquet.ProfilePaused:
		return b.child(calltree.Node{Type: calltree.Paused, Name: "Paused", Parent: at}), phase
	case parquet.ProfileUnrecorded:
		return b.child(calltree.Node{Type: calltree.Unrecorded, Name: "Unrecorded", Parent: at}), phase
	}
	return -1, -1
}

// call is the node of calls below a node.
func (b *builder) call(at int32, path string) int32 {
	n := calltree.Node{Type: calltree.MPI, Name: b.src.functionOf(path)}
	switch b.shape.Calls {
	case ByFrames:
		at, n.File, n.Line = b.functions(at, path, -1)
	case ByPath:
		n.Name = path
	case Together:
		n.Name = "MPI"
	}
	n.Parent = at
	return b.child(n)
}

// around is the node in which bursts lie: in as many of the outermost frames as are known to be theirs.
func (b *builder) around(at int32, key *rowKey) int32 {
	if b.shape.Calls == ByFrames && key.context > 0 {
		at, _, _ = b.functions(at, key.path, int(key.context))
	}
	return at
}

// functions are the functions of so many of the outermost frames of a call path, below a node; of all frames if limit
// is below 0. It returns the innermost, and where it calls what is next.
func (b *builder) functions(at int32, path string, limit int) (innermost int32, file string, line int) {
	p := b.src.paths[path]
	if p == nil {
		return at, "", 0
	}
	first := 0
	if limit >= 0 {
		first = max(len(p.Frames)-limit, 0)
	}
	add := func(function, callFile string, callLine int) {
		at = b.child(calltree.Node{Type: calltree.Function, Name: function, Parent: at, File: file, Line: line})
		file, line = callFile, callLine
	}
	for i := len(p.Frames) - 1; i >= first; i-- {
		f := &p.Frames[i]
		for _, s := range f.Inlined {
			add(nameOf(s.Function), s.File, s.Line)
		}
		name := f.Function
		if name == "" && f.Module != "" {
			name = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
		}
		add(nameOf(name), f.File, f.Line)
	}
	return at, file, line
}

func nameOf(function string) string {
	if function == "" {
		return "?"
	}
	return function
}

// child finds or makes a node. Its phase is that of its parent.
func (b *builder) child(n calltree.Node) int32 {
	i, known := b.known[n]
	switch {
	case known:
		return i
	case b.frozen:
		b.fail(errChanged)
		return 0
	case len(b.nodes) == mostNodes:
		b.fail(fmt.Errorf("more than %d different phases, functions, calls and clusters", mostNodes))
		return 0
	}
	i = int32(len(b.nodes))
	b.known[n] = i
	phase := ""
	if n.Type != calltree.Phase {
		phase = b.phases[n.Parent]
	}
	b.nodes, b.phases = append(b.nodes, n), append(b.phases, phase)
	return i
}

func (b *builder) fail(err error) {
	if b.failed == nil {
		b.failed = err
	}
}
