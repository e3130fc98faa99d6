package otf2

import (
	"cmp"

	"moriens/trace"
)

// defineCalls makes regions of the MPI functions, and of call paths calling contexts: a tree from the outermost
// function inwards, whose leaves are the MPI functions.
func (d *definitions) defineCalls(run *trace.Run) {
	tree := contextTree{d: d, regions: make(map[string]uint32), sources: make(map[source]uint32), nodes: make(map[context]uint32)}
	calls := make(map[string]uint32)
	for _, p := range run.CallPaths {
		f := functionOf(p.Function)
		name := cmp.Or(p.Function, "unknown MPI call")
		number, ok := calls[name]
		if !ok {
			number = d.region(name, "", f.role, paradigmMPI)
			calls[name] = number
		}
		d.functions = append(d.functions, f)
		d.callRegions = append(d.callRegions, number)
		d.callContext = append(d.callContext, tree.of(p.Frames, number))
	}
}

// A contextTree makes one context of each beginning of a call path.
type contextTree struct {
	d       *definitions
	regions map[string]uint32
	sources map[source]uint32
	nodes   map[context]uint32
}

// of returns the context of a call, undefined if its callers are not known.
func (t *contextTree) of(frames []trace.Frame, call uint32) uint32 {
	parent := uint32(undefined)
	for i := len(frames) - 1; i >= 0; i-- {
		f := &frames[i]
		name := f.Function
		if name == "" {
			name = f.Place()
		}
		if name == "" {
			continue
		}
		at := uint32(undefined)
		if f.File != "" && f.Line > 0 {
			at = t.source(f.File, f.Line)
		}
		parent = t.node(context{t.region(name), at, parent})
	}
	if parent == undefined {
		return undefined
	}
	return t.node(context{call, undefined, parent})
}

func (t *contextTree) region(name string) uint32 {
	number, ok := t.regions[name]
	if !ok {
		number = t.d.region(name, "", roleFunction, paradigmCompiler)
		t.regions[name] = number
	}
	return number
}

func (t *contextTree) source(file string, line int) uint32 {
	return numberOf(source{t.d.strings.of(file), uint32(line)}, t.sources, &t.d.sources)
}

func (t *contextTree) node(c context) uint32 { return numberOf(c, t.nodes, &t.d.contexts) }

// numberOf is the place of a definition in the list, which it gets where it is a new one.
func numberOf[T comparable](x T, numbers map[T]uint32, list *[]T) uint32 {
	number, known := numbers[x]
	if !known {
		number = uint32(len(*list))
		*list = append(*list, x)
		numbers[x] = number
	}
	return number
}
