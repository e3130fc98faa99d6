package program

import (
	"cmp"
	"slices"
)

// ordered gives the items of each body in the order in which they can come: one behind the other where the relation of
// the function lets it follow, else by line. Compilers move blocks, so neither addresses nor lines would do alone.
func (l *layout) ordered() [][]int32 {
	if l.orders == nil {
		l.orders = make([][]int32, len(l.bodies))
		for b := range l.bodies {
			l.orders[b] = l.orderItems(int32(b))
		}
	}
	return l.orders
}

// at are the positions in the function's relation of an item: of a loop that of any site in it.
func (l *layout) at(i int32) (list []int) {
	x := &l.items[i]
	if x.loop < 0 {
		for _, n := range l.copies[l.calls[x.call].site] {
			list = append(list, l.sites[n].at)
		}
		return list
	}
	f := &l.functions[l.contexts[l.bodies[x.body].context].function]
	for at, row := range f.row[1+x.loop] {
		if row >= 0 {
			return []int{at}
		}
	}
	return nil
}

// jumps reports whether one item is a function that has ended with a jump to what the other one calls.
func (l *layout) jumps(i, k int32) bool {
	a, b := &l.items[i], &l.items[k]
	return a.loop < 0 && b.loop < 0 && l.calls[a.call].site == l.calls[b.call].site && a.inner >= 0 && b.inner < 0
}

// line is where an item is in the source of its function, and its address: of a loop those of its first item.
func (l *layout) line(i int32) (file string, line, column int, offset uint64) {
	x := &l.items[i]
	if x.loop < 0 {
		s := &l.sites[l.calls[x.call].site]
		file, line = s.place()
		return file, line, s.column, s.offset
	}
	for k, inner := range l.bodies[x.inner].items {
		f, n, c, o := l.line(inner)
		if k == 0 || n < line || n == line && o < offset {
			file, line, column, offset = f, n, c, o
		}
	}
	return file, line, column, offset
}

func (l *layout) orderItems(b int32) []int32 {
	x := &l.bodies[b]
	f := &l.functions[l.contexts[x.context].function]
	n := len(x.items)
	before := make([][]bool, n)
	waits := make([]int, n)
	for i := range before {
		before[i] = make([]bool, n)
	}
	follows := func(i, k int) bool {
		for _, p := range l.at(x.items[i]) {
			for _, q := range l.at(x.items[k]) {
				if p != q && f.follow(x.loop, p, q) {
					return true
				}
			}
		}
		return l.jumps(x.items[i], x.items[k])
	}
	for i := range n {
		for k := range n {
			if i != k && follows(i, k) && !follows(k, i) {
				before[i][k] = true
				waits[k]++
			}
		}
	}
	files := make(map[string]bool)
	for _, i := range x.items {
		file, line, _, _ := l.line(i)
		files[file] = true
		files[""] = files[""] || line == 0
	}
	oneFile := len(files) == 1 || len(files) == 2 && !files[""]
	compare := func(a, b int32) int {
		_, m, c, o := l.line(a)
		_, n, d, p := l.line(b)
		if oneFile && f.by == ByCode {
			return cmp.Or(cmp.Compare(m, n), cmp.Compare(c, d), cmp.Compare(o, p), cmp.Compare(a, b))
		}
		return cmp.Or(slices.Compare(l.at(a), l.at(b)), cmp.Compare(o, p), cmp.Compare(a, b))
	}
	done := make([]bool, n)
	var order []int32
	last := -1
	for range n {
		best := -1
		better := func(i int) bool {
			if best < 0 || last < 0 {
				return best < 0 || compare(x.items[i], x.items[best]) < 0
			}
			if p, q := before[last][i], before[last][best]; p != q {
				return p
			}
			return compare(x.items[i], x.items[best]) < 0
		}
		for i := range n {
			if !done[i] && waits[i] == 0 && better(i) {
				best = i
			}
		}
		if best < 0 { // a circle, which no relation of a reducible loop has: by line
			for i := range n {
				if !done[i] && (best < 0 || compare(x.items[i], x.items[best]) < 0) {
					best = i
				}
			}
		}
		done[best] = true
		for k := range n {
			if before[best][k] {
				waits[k]--
			}
		}
		order = append(order, x.items[best])
		last = best
	}
	return order
}
