package profiling

import (
	"errors"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/calltree/rows"
	"moriens/trace/parquet"
)

// A Shape says what the nodes of a tree are. The root is the program.
type Shape struct {
	Phases     bool // the program's phases are nodes above all others; not in format 1, which has no paths of phases
	Iterations bool // so are phases of iterations that were found, below those of the program
	Variants   bool // the clusters of a kind, and its disturbed bursts, are nodes below it
	Calls      Calls
	In         *Pattern // of which phases, with the phases in them; nil = of all
}

// Calls says as what calls and bursts are nodes.
type Calls = rows.Calls

// They are as package rows says.
const (
	ByFrames   = rows.ByFrames
	ByFunction = rows.ByFunction
	ByPath     = rows.ByPath
	Together   = rows.Together
	ByLoops    = rows.ByLoop
)

// Exported is the shape of exports: phases as frames above call paths.
var Exported = Shape{Phases: true}

// ClusterName is what bursts with a label are called.
func ClusterName(label int32) string { return rows.ClusterName(label) }

// mostNodes bounds what a file of few bytes can ask for.
const mostNodes = 1 << 21

// A builder makes nodes of rows as they come.
type builder struct {
	src    *Source
	shape  Shape
	of     rows.Shape
	tree   *rows.Tree
	nodes  []calltree.Node // of the tree
	phases []string        // by node: of which phase it is, or in which it lies
	rows   map[rows.Row]*placed
	last   *placed
	frozen bool // no new nodes
	unsure bool // the loops of the row that was placed last are those round several places of which it is in one
	failed error
}

// A placed row has a node of its own, and that of the phase that it is directly in. Rows of threads that do the same
// come in the same order.
type placed struct {
	key         rows.Row
	node, phase int32 // -1: it is in no node
	unsure      bool  // in which of several loops it lies is not known: it is in those round them
	next        *placed
}

func newBuilder(src *Source, shape Shape) *builder {
	if src.Format < 2 {
		shape.Phases = false
	}
	b := &builder{src: src, shape: shape, rows: make(map[rows.Row]*placed), last: new(placed)}
	b.of = rows.Shape{
		Phases: shape.Phases, Iterations: shape.Iterations, Variants: shape.Variants, Calls: shape.Calls, Sites: true, Most: mostNodes,
		Path: func(name string) *trace.CallPath { return src.paths[name] },
	}
	if shape.Calls == ByLoops {
		b.of.Loops = func(r *rows.Row) ([]calltree.Node, bool) {
			list, how := src.loops.of(r)
			b.unsure = b.unsure || how == amongSeveral
			return list, how != notKnown
		}
	}
	b.tree = rows.New(programOf(src.Manifest), b.of)
	b.nodes, b.phases = b.tree.Nodes, b.tree.Phases
	return b
}

// place finds the nodes of a row.
func (b *builder) place(r *parquet.ProfileRow) *placed {
	key := rows.Row{Path: r.CallPath, Phase: r.Phase, Cluster: rows.KindOf(r), Context: r.Context, Iterations: -1, InPhase: r.InPhase, Placed: r.Paths > 0}
	key.Kind, _ = r.OfClass()
	if b.shape.Variants {
		key.Variant = r.Cluster
	}
	if b.shape.Iterations {
		key.Iterations = r.Iterations
	}
	p := b.last.next
	if p == nil || p.key != key {
		p = b.rows[key]
		if p == nil {
			p = &placed{key: key}
			b.unsure = false
			p.node, p.phase = b.nodesOf(&key)
			p.unsure = b.unsure
			b.rows[key] = p
		}
		b.last.next = p
	}
	b.last = p
	return p
}

// byClass reports whether the tree has nodes that are known of classes alone.
func (b *builder) byClass() bool { return b.src.Classes && b.of.Whole(parquet.ProfileMPI) }

func (b *builder) nodesOf(key *rows.Row) (node, phase int32) {
	if b.shape.In != nil && !b.shape.In.Holds(key.Phase, key.InPhase) {
		return -1, -1
	}
	node, phase = b.add(key)
	if key.Kind == parquet.ProfileIterations { // they are of no thread
		return -1, -1
	}
	return node, phase
}

// call is the node of the calls of a path, outside of phases.
func (b *builder) call(path string) int32 {
	node, _ := b.add(&rows.Row{Kind: parquet.ProfileMPI, Path: path, Iterations: -1})
	return node
}

func (b *builder) add(key *rows.Row) (node, phase int32) {
	b.tree.Frozen = b.frozen
	node, phase = b.tree.Of(key)
	b.nodes, b.phases = b.tree.Nodes, b.tree.Phases
	if b.failed = b.tree.Err; errors.Is(b.failed, rows.ErrNew) {
		b.failed = errChanged
	}
	return node, phase
}
