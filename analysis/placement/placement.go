// Package placement finds on which hosts ranks should lie so that they send little between hosts.
//
// In come the number of ranks, what each pair sends, both ways together, in any unit (bytes, or seconds), and the ranks
// that each host has room for. Out comes the index of a host for each rank, and what is sent between hosts then, in the
// same unit. Every host gets as many ranks as it has room for, no more and no fewer. All hosts are alike, and equally
// far from each other: of switches and sockets nothing is known here.
//
// The hosts are cut in two halves, and the ranks with them, until there is one host (recursive bisection). For each
// bisection the graph is made smaller first, by merging pairs that send most (heavy-edge matching, Karypis and Kumar
// 1998). The smallest is bisected by eight regions that grow from ranks far from each other. On the way back to single
// ranks each step moves vertices to the other side and back, as Fiduccia and Mattheyses (1982) do. The best of up to 20
// tries is taken, of large graphs that of two. In the end every two hosts that send each other anything are improved by
// the same moves.
//
// The present placement, blocks and round robin are candidates too, improved likewise; the best of all is the answer.
// The same input gives the same answer, in whatever order the edges come: what is drawn is drawn from a fixed seed, of
// equal choices the lowest rank or host comes first, and weights are added up as integers.
package placement

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// An Edge is what two ranks send each other, A ≠ B. A pair may come several times.
type Edge struct {
	A, B   int32
	Weight float64 // ≥ 0
}

// A Plan says where ranks lie.
type Plan struct {
	Of      []int32 // by rank: its host
	Between float64 // the sum of weights between hosts
}

// Between sums up the weights between hosts.
func Between(edges []Edge, of []int32) float64 {
	sum := 0.
	for _, e := range edges {
		if of[e.A] != of[e.B] {
			sum += e.Weight
		}
	}
	return sum
}

// Blocks fills one host after the other.
func Blocks(room []int32) []int32 {
	var of []int32
	for host, n := range room {
		for range n {
			of = append(of, int32(host))
		}
	}
	return of
}

// RoundRobin gives each host that has room left a rank in turn.
func RoundRobin(room []int32) []int32 {
	var of []int32
	left := slices.Clone(room)
	for more := true; more; {
		more = false
		for host := range left {
			if left[host] > 0 {
				of = append(of, int32(host))
				left[host]--
				more = true
			}
		}
	}
	return of
}

// worthwhile is how many times what the best plan has between hosts another may have to be improved too: what is
// further off ends further off, and takes long.
const worthwhile = 1.5

// Advise finds a plan. present is where ranks lie now, nil if that is not known; it is the plan where none is better.
// The rooms of all hosts together are the number of ranks.
func Advise(ranks int, edges []Edge, room, present []int32) (*Plan, error) {
	if err := check(ranks, edges, room, present); err != nil {
		return nil, err
	}
	g := newGraph(ranks, edges)
	best := g.divide(room)
	g.exchange(best, len(room))
	between := g.between(best)
	for _, of := range [][]int32{RoundRobin(room), Blocks(room), present} {
		if of == nil || float64(g.between(of)) > worthwhile*float64(between) {
			continue
		}
		other := slices.Clone(of)
		g.exchange(other, len(room))
		if b := g.between(other); b <= between { // of equal ones the last, which has fewer ranks to move
			best, between = other, b
		}
	}
	return &Plan{Of: best, Between: Between(edges, best)}, nil
}

func check(ranks int, edges []Edge, room, present []int32) error {
	total := 0
	for host, n := range room {
		if n < 0 {
			return fmt.Errorf("placement: host %d has room for %d ranks", host, n)
		}
		total += int(n)
	}
	if total != ranks {
		return fmt.Errorf("placement: %d hosts have room for %d ranks, want %d", len(room), total, ranks)
	}
	for i, e := range edges {
		if e.A < 0 || e.B < 0 || int(e.A) >= ranks || int(e.B) >= ranks || e.A == e.B {
			return fmt.Errorf("placement: edge %d joins %d and %d of %d ranks", i, e.A, e.B, ranks)
		}
		if !(e.Weight >= 0) || math.IsInf(e.Weight, 0) {
			return fmt.Errorf("placement: edge %d has weight %g", i, e.Weight)
		}
	}
	if present == nil {
		return nil
	}
	if len(present) != ranks {
		return fmt.Errorf("placement: %d ranks lie somewhere, of %d", len(present), ranks)
	}
	count := make([]int32, len(room))
	for rank, host := range present {
		if host < 0 || int(host) >= len(room) {
			return fmt.Errorf("placement: rank %d lies on host %d of %d", rank, host, len(room))
		}
		count[host]++
	}
	for host, n := range count {
		if n != room[host] {
			return fmt.Errorf("placement: host %d has %d ranks, and room for %d", host, n, room[host])
		}
	}
	return nil
}

// A graph has its edges by vertex.
type graph struct {
	first  []int32 // by vertex: its first edge; and the end of the last
	to     []int32
	weight []int64
	size   []int32 // by vertex: ranks that it stands for
}

func (g *graph) vertices() int { return len(g.size) }

// An arc is an edge as one of its ends has it.
type arc struct {
	from, to int32
	weight   int64
}

// sumBits is how many bits the sum of all weights may have.
const sumBits = 52

// newGraph has weights as integers, so that their sums are exact: times that power of two with which the sum of all has
// 52 bits. Whole numbers of a smaller sum, as bytes are, are exact; of others 2^-52 of the sum is lost at most.
func newGraph(ranks int, edges []Edge) *graph {
	most := 0.
	for _, e := range edges {
		most = max(most, e.Weight)
	}
	_, exponent := math.Frexp(most)
	_, count := math.Frexp(float64(len(edges)))
	shift := sumBits - exponent - count
	arcs := make([]arc, 0, 2*len(edges))
	for _, e := range edges {
		if w := int64(math.Ldexp(e.Weight, shift)); w > 0 {
			arcs = append(arcs, arc{e.A, e.B, w}, arc{e.B, e.A, w})
		}
	}
	size := make([]int32, ranks)
	for i := range size {
		size[i] = 1
	}
	return graphOf(size, arcs)
}

// graphOf adds up the arcs of a pair.
func graphOf(size []int32, arcs []arc) *graph {
	slices.SortFunc(arcs, func(a, b arc) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	g := &graph{first: make([]int32, len(size)+1), size: size}
	for i, a := range arcs {
		if i > 0 && arcs[i-1].from == a.from && arcs[i-1].to == a.to {
			g.weight[len(g.weight)-1] += a.weight
			continue
		}
		g.to, g.weight = append(g.to, a.to), append(g.weight, a.weight)
		g.first[a.from+1]++
	}
	for v := range size {
		g.first[v+1] += g.first[v]
	}
	return g
}

// joined gives the graph of which each vertex is part of one, of such sizes.
func (g *graph) joined(of, size []int32) *graph {
	parts := make([][2]int32, len(size)) // one or two vertices each
	for v := len(of) - 1; v >= 0; v-- {
		parts[of[v]] = [2]int32{int32(v) + 1, parts[of[v]][0]}
	}
	j := &graph{first: make([]int32, 1, len(size)+1), size: size}
	at := make([]int32, len(size)) // by vertex: its place in the row that is made, and one
	for a, vertices := range parts {
		begin := len(j.to)
		for _, v := range vertices {
			if v == 0 {
				continue
			}
			for k := g.first[v-1]; k < g.first[v]; k++ {
				b := of[g.to[k]]
				switch {
				case int(b) == a:
				case at[b] > int32(begin):
					j.weight[at[b]-1] += g.weight[k]
				default:
					j.to, j.weight = append(j.to, b), append(j.weight, g.weight[k])
					at[b] = int32(len(j.to))
				}
			}
		}
		j.first = append(j.first, int32(len(j.to)))
	}
	return j
}

// part gives the graph of some vertices alone. number is scratch.
func (g *graph) part(vertices, number []int32) *graph {
	p := &graph{first: make([]int32, 1, len(vertices)+1), size: make([]int32, len(vertices))}
	for i, v := range vertices {
		number[v] = int32(i)
		p.size[i] = g.size[v]
	}
	for _, v := range vertices {
		for k := g.first[v]; k < g.first[v+1]; k++ {
			if n := number[g.to[k]]; int(n) < len(vertices) && vertices[n] == g.to[k] {
				p.to, p.weight = append(p.to, n), append(p.weight, g.weight[k])
			}
		}
		p.first = append(p.first, int32(len(p.to)))
	}
	return p
}

// between is the weight between hosts.
func (g *graph) between(of []int32) int64 {
	sum := int64(0)
	for v, host := range of {
		for k := g.first[v]; k < g.first[v+1]; k++ {
			if of[g.to[k]] > host {
				sum += g.weight[k]
			}
		}
	}
	return sum
}
