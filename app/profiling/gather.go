package profiling

import (
	"slices"

	"moriens/trace/calltree"
	"moriens/trace/parquet"
)

// A gathering holds rows of threads that do not stand together.
type gathering struct {
	threads map[calltree.Thread]int32
	list    []calltree.Thread
	cells   []gathered
	values  []int64          // as many for each cell
	known   map[gathered]int // of classes: the number of each cell
}

type gathered struct {
	thread, node, phase int32
	own                 bool // a row of a phase
}

func newGathering() *gathering { return &gathering{threads: make(map[calltree.Thread]int32)} }

func (w *walk) gather(r *parquet.ProfileRow, p *placed, own bool) {
	g := w.gathered
	if w.labels {
		return
	}
	cell, at := gathered{g.threads[w.now.thread], p.node, p.phase, own}, len(g.values)
	k, known := g.known[cell]
	if known {
		at = k * (atOthers + len(w.columns))
	} else {
		if w.of != ofThreads { // what is in memory does not grow with the threads of a class
			if g.known == nil {
				g.known = make(map[gathered]int)
			}
			g.known[cell] = len(g.cells)
		}
		g.cells = append(g.cells, cell)
		g.values = append(g.values, make([]int64, atOthers+len(w.columns))...)
	}
	rest := &g.values[at+atRest]
	if own {
		*rest = plus(*rest, r.ExclusiveNS)
		if !w.inTree(r) {
			return
		}
	} else {
		*rest = -plus(-*rest, r.TimeNS)
	}
	w.values(r, own, func(column int, x int64) { g.values[at+column] = plus(g.values[at+column], x) })
}

// replay hands out the threads of a gathering in their order.
func (w *walk) replay() error {
	g := w.gathered
	place := make([]int32, len(g.list)) // by thread: in order
	order := make([]int32, len(g.list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareThreads(g.list[a], g.list[b]) })
	first := make([]int, len(g.list)+1) // by place: of its cells
	for i, t := range order {
		place[t] = int32(i)
	}
	for _, c := range g.cells {
		first[place[c.thread]+1]++
	}
	for i := range order {
		first[i+1] += first[i]
	}
	cells := make([]int, len(g.cells))
	next := slices.Clone(first)
	for i, c := range g.cells {
		at := &next[place[c.thread]]
		cells[*at] = i
		*at++
	}
	w.grow()
	width := atOthers + len(w.columns)
	for i, t := range order {
		w.now.thread = g.list[t]
		for _, k := range cells[first[i]:first[i+1]] {
			c := &g.cells[k]
			w.touch(c.node)
			w.touch(c.phase)
			for column, x := range g.values[k*width : (k+1)*width] {
				if column == atRest {
					w.rest(c.phase, x)
					continue
				}
				w.now.columns[column][c.node] = plus(w.now.columns[column][c.node], x)
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}
