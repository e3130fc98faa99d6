package placement

import (
	"math/rand/v2"
	"slices"
)

const growths = 8 // regions to begin with

// tries is how many bisections a graph gets, of which the best is taken: 20 up to 1,200 vertices with eight neighbours
// each, 2 from 12,000 on; fewer if they have more neighbours.
func (g *graph) tries() int {
	return min(max(24_000/max(g.vertices(), len(g.to)/8, 1), 2), 20)
}

// divide gives each vertex a host.
func (g *graph) divide(room []int32) (of []int32) {
	of = make([]int32, g.vertices())
	all := make([]int32, g.vertices())
	for i := range all {
		all[i] = int32(i)
	}
	number := make([]int32, g.vertices())
	type piece struct {
		vertices []int32
		from, to int // hosts
	}
	for open := []piece{{all, 0, len(room)}}; len(open) > 0; {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if p.to-p.from <= 1 || len(p.vertices) == 0 {
			for _, v := range p.vertices {
				of[v] = int32(p.from)
			}
			continue
		}
		middle, left := half(room[p.from:p.to])
		middle += p.from
		side := g.part(p.vertices, number).bisect(left)
		var halves [2][]int32
		for i, v := range p.vertices {
			halves[side[i]] = append(halves[side[i]], v)
		}
		open = append(open, piece{halves[1], middle, p.to}, piece{halves[0], p.from, middle})
	}
	return of
}

// half cuts a list of rooms where both halves have about as much, and gives how much the first has.
func half(room []int32) (at int, left int32) {
	var all int32
	for _, n := range room {
		all += n
	}
	at, left = 1, room[0]
	for at < len(room)-1 && 2*left+room[at] <= all {
		left += room[at]
		at++
	}
	return at, left
}

// smallest is the number of vertices at which a graph is small enough to begin with, by try in turn. With few, whole
// groups of ranks go to one side or the other; with many, less depends on what was merged by chance.
var smallest = []int{4, 60}

// bisect gives each vertex a side, 0 or 1, so that side 0 stands for so many ranks: the best of several tries.
func (g *graph) bisect(left int32) []int8 {
	var best *mover
	for try := range g.tries() {
		if m := g.levels(left, smallest[try%len(smallest)], rand.New(rand.NewPCG(0, uint64(try)))); best == nil || m.cut < best.cut {
			best = m
		}
	}
	return best.side
}

// levels makes the graph smaller, step by step, bisects the smallest, and improves that on the way back.
func (g *graph) levels(left int32, small int, r *rand.Rand) *mover {
	var finer []*graph
	var coarse [][]int32 // by vertex of the finer: what it is part of
	top := g
	for top.vertices() > small {
		smaller, of := top.coarsen(small, r)
		if smaller.vertices() > top.vertices()*9/10 { // hardly any edges are left
			break
		}
		finer, coarse, top = append(finer, top), append(coarse, of), smaller
	}
	m := top.grown(left)
	for i := len(finer) - 1; i >= 0; i-- {
		side := make([]int8, finer[i].vertices())
		for v, c := range coarse[i] {
			side[v] = m.side[c]
		}
		m = newMover(finer[i], side, left)
		m.improve()
	}
	return m
}

// coarsen merges vertices by pairs: in drawn order each with the one left to which it sends most, divided by the ranks
// that this stands for; of equal ones with the first of the drawn order. It gives by vertex what it is part of then.
func (g *graph) coarsen(small int, r *rand.Rand) (*graph, []int32) {
	order := r.Perm(g.vertices())
	place := make([]int, len(order))
	of := make([]int32, len(order))
	for i, v := range order {
		place[v], of[v] = i, -1
	}
	var size []int32
	most := 2 * int32(1+g.ranks()/small)
	for _, v := range order {
		if of[v] >= 0 {
			continue
		}
		mate, weight := -1, 0.
		for k := g.first[v]; k < g.first[v+1]; k++ {
			u := g.to[k]
			if of[u] >= 0 || g.size[v]+g.size[u] > most {
				continue
			}
			w := float64(g.weight[k]) / float64(g.size[u])
			if mate < 0 || w > weight || w == weight && place[u] < place[mate] {
				mate, weight = int(u), w
			}
		}
		of[v] = int32(len(size))
		size = append(size, g.size[v])
		if mate >= 0 {
			of[mate] = of[v]
			size[of[v]] += g.size[mate]
		}
	}
	return g.joined(of, size), of
}

func (g *graph) ranks() int {
	n := 0
	for _, s := range g.size {
		n += int(s)
	}
	return n
}

// grown grows regions from vertices far from each other, improves each, and gives the best.
func (g *graph) grown(left int32) *mover {
	var best *mover
	var seeds []int32
	for range min(growths, g.vertices()) {
		seed := g.farthest(seeds)
		seeds = append(seeds, seed)
		m := newMover(g, g.grow(seed, left), left)
		m.improve()
		if best == nil || m.off() < best.off() || m.off() == best.off() && m.cut < best.cut {
			best = m
		}
	}
	return best
}

// farthest is the vertex with most steps to the nearest of the others, of equal ones the first; one that they do not
// reach at all before all else.
func (g *graph) farthest(from []int32) int32 {
	if len(from) == 0 {
		return g.farthest([]int32{0})
	}
	seen := make([]bool, g.vertices())
	for _, v := range from {
		seen[v] = true
	}
	last := from[0]
	for front := from; len(front) > 0; {
		var next []int32
		last = slices.Min(front)
		for _, v := range front {
			for k := g.first[v]; k < g.first[v+1]; k++ {
				if u := g.to[k]; !seen[u] {
					seen[u] = true
					next = append(next, u)
				}
			}
		}
		front = next
	}
	if v := slices.Index(seen, false); v >= 0 {
		return int32(v)
	}
	return last
}

// grow gives side 0 to a region round the vertex. Of the neighbours of the region the one comes next that sends it the
// largest part of what it sends at all. If none has one, the first vertex that is left comes.
func (g *graph) grow(seed int32, left int32) []int8 {
	side := make([]int8, g.vertices())
	all := make([]int64, g.vertices())
	for v := range side {
		side[v] = 1
		for k := g.first[v]; k < g.first[v+1]; k++ {
			all[v] += g.weight[k]
		}
	}
	into := make([]int64, g.vertices())
	near := newQueue(g.vertices())
	next, first := seed, int32(0)
	for room := left; room > 0; {
		side[next] = 0
		room -= g.size[next]
		near.remove(next)
		for k := g.first[next]; k < g.first[next+1]; k++ {
			if u := g.to[k]; side[u] == 1 {
				into[u] += g.weight[k]
				near.set(u, int64(float64(into[u])/float64(all[u])*(1<<sumBits)))
			}
		}
		if v, ok := near.top(); ok {
			next = v
			continue
		}
		for int(first) < len(side) && side[first] == 0 {
			first++
		}
		if int(first) == len(side) {
			break
		}
		next = first
	}
	return side
}
