package loops

import (
	"slices"

	"moriens/internal/mix"
)

// A node is what one item of a body is, without its times: a symbol some times in a row, or a loop.
type node struct {
	symbol uint32
	times  int64  // 0: a loop
	turns  []Turn // bodies of the forest
}

// A shape is what a node is, however often it goes round and whichever of several alike it is: a coarse symbol, or,
// from firstLoop on, a loop over a list of shapes. Loops are looked for among shapes, so that one whose inner loops go
// round more or less often each time is found nevertheless, and one of which a turn has a symbol of its own goes on.
type shape = uint32

const firstLoop shape = 1 << 31

// A forest holds each different node and body of one sequence once.
type forest struct {
	nodes  []node
	bodies [][]int32 // nodes
	shapes [][]shape // of the loops, from firstLoop on
	coarse []uint32  // Options.Coarse; nil where symbols are coarse already, or there are no others

	runs           map[run]int32
	recent         [256]int32         // nodes of symbols by some bits: the same few come again and again, and a map costs ten times as much
	loopOf, bodyOf map[uint64][]int32 // by hash
	shapeOf        map[uint64][]shape
	startingWith   map[shape][]shape // loops whose body starts with a shape, the latest first
}

type run struct {
	symbol uint32
	times  int64
}

func newForest(coarse []uint32) *forest {
	return &forest{
		coarse: coarse,
		runs:   make(map[run]int32), loopOf: make(map[uint64][]int32), bodyOf: make(map[uint64][]int32),
		shapeOf: make(map[uint64][]shape), startingWith: make(map[shape][]shape),
	}
}

// shapeOfSymbol is what a symbol is in a line.
func (f *forest) shapeOfSymbol(symbol uint32) shape {
	if f.coarse == nil {
		return symbol
	}
	return f.coarse[symbol]
}

func hashOf[T ~int32 | ~uint32](list []T) uint64 {
	h := uint64(len(list))
	for _, x := range list {
		h = mix.Bits(h ^ uint64(x))
	}
	return h
}

func hashTurns(turns []Turn) uint64 {
	h := uint64(len(turns))
	for _, t := range turns {
		h = mix.Bits(mix.Bits(h^uint64(t.Body)) ^ uint64(t.Times))
	}
	return h
}

func (f *forest) symbol(symbol uint32, times int64) int32 {
	key := run{symbol, times}
	recent := &f.recent[(symbol+uint32(times)*131)%uint32(len(f.recent))]
	if n := &f.nodes; int(*recent) < len(*n) && (*n)[*recent].symbol == symbol && (*n)[*recent].times == times {
		return *recent
	}
	id, ok := f.runs[key]
	if !ok {
		id = int32(len(f.nodes))
		f.nodes = append(f.nodes, node{symbol: symbol, times: times})
		f.runs[key] = id
	}
	*recent = id
	return id
}

// loop gives the node of turns, which it copies.
func (f *forest) loop(turns []Turn) int32 {
	h := hashTurns(turns)
	for _, id := range f.loopOf[h] {
		if slices.Equal(f.nodes[id].turns, turns) {
			return id
		}
	}
	id := int32(len(f.nodes))
	f.nodes = append(f.nodes, node{turns: slices.Clone(turns)})
	f.loopOf[h] = append(f.loopOf[h], id)
	return id
}

// body gives the body of nodes, which it copies.
func (f *forest) body(nodes []int32) int32 {
	h := hashOf(nodes)
	for _, id := range f.bodyOf[h] {
		if slices.Equal(f.bodies[id], nodes) {
			return id
		}
	}
	id := int32(len(f.bodies))
	f.bodies = append(f.bodies, slices.Clone(nodes))
	f.bodyOf[h] = append(f.bodyOf[h], id)
	return id
}

// known gives the shape of a loop over a body of shapes, if there has been one.
func (f *forest) known(body []shape) (shape, bool) {
	for _, id := range f.shapeOf[hashOf(body)] {
		if slices.Equal(f.shapes[id-firstLoop], body) {
			return id, true
		}
	}
	return 0, false
}

// learn gives the shape of a loop over a body of shapes, which it copies.
func (f *forest) learn(body []shape) shape {
	if id, ok := f.known(body); ok {
		return id
	}
	h := hashOf(body)
	id := firstLoop + shape(len(f.shapes))
	f.shapes = append(f.shapes, slices.Clone(body))
	f.shapeOf[h] = append(f.shapeOf[h], id)
	f.startingWith[body[0]] = slices.Insert(f.startingWith[body[0]], 0, id)
	if list := f.startingWith[body[0]]; len(list) > mostTried {
		f.startingWith[body[0]] = list[:mostTried]
	}
	return id
}
