package clock

import (
	"math"
	"slices"
)

// A graph has the nodes and, for each, its pairs.
type graph struct {
	pairs []*pair
	first []int32 // of each node's entries in edges
	edges []int32 // numbers of pairs
}

func newGraph(nodes int, pairs []*pair) *graph {
	g := &graph{pairs: pairs, first: make([]int32, nodes+1), edges: make([]int32, 2*len(pairs))}
	for _, p := range pairs {
		g.first[p.a+1]++
		g.first[p.b+1]++
	}
	for i := range nodes {
		g.first[i+1] += g.first[i]
	}
	next := slices.Clone(g.first)
	for k, p := range pairs {
		for _, node := range [2]int{p.a, p.b} {
			g.edges[next[node]] = int32(k)
			next[node]++
		}
	}
	return g
}

func (g *graph) from(node int) []int32 { return g.edges[g.first[node]:g.first[node+1]] }

// gain is by how much a path has to be shorter to count, in the unit of the weights: rounding must not make
// a cycle of length 0 a negative one.
const gain = 1e-3

// shorten is Bellman and Ford's search for shortest paths, with a queue, from where distance is known. weight is
// the length of a pair from its first node to its second, back that of the other way. It returns
// a cycle of negative length where it meets one; distance is then of no use.
func (g *graph) shorten(distance []float64, from []int, weight, back func(p *pair) float64, unit float64) *circle {
	n := len(distance)
	var (
		queue   = slices.Clone(from)
		waiting = make([]bool, n)
		steps   = make([]int, n)
		via     = make([]int32, n)
	)
	for i := range via {
		via[i] = -1
	}
	for _, node := range from {
		waiting[node] = true
	}
	for ; len(queue) > 0; queue = queue[1:] {
		node := queue[0]
		waiting[node] = false
		for _, e := range g.from(node) {
			p := g.pairs[e]
			w, next := weight(p), p.b
			if node == p.b {
				w, next = back(p), p.a
			}
			d := distance[node] + w
			if !(d < distance[next]-gain*unit) && !(math.IsInf(distance[next], 1) && d < math.Inf(1)) {
				continue
			}
			distance[next], via[next], steps[next] = d, e, steps[node]+1
			if steps[next] >= n {
				if c := g.cycle(via, next, weight, back); c != nil {
					return c
				}
				steps[next] = 0 // the paths that led here have been replaced
			}
			if !waiting[next] {
				waiting[next] = true
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// A circle is a way round through pairs.
type circle struct {
	pairs  []int32
	length float64
}

// cycle finds the one that the ways back from a node run into; nil where they do not.
func (g *graph) cycle(via []int32, node int, weight, back func(p *pair) float64) *circle {
	for range via {
		if via[node] < 0 {
			return nil
		}
		node = g.pairs[via[node]].other(node)
	}
	c := new(circle)
	for at := node; ; {
		p := g.pairs[via[at]]
		c.pairs = append(c.pairs, via[at])
		if at == p.b {
			c.length += weight(p)
		} else {
			c.length += back(p)
		}
		if at = p.other(at); at == node {
			return c
		}
	}
}
