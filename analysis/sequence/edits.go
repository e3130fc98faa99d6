package sequence

// An editor finds the matches of a shortest edit script, of insertions and deletions only, as Myers does (Algorithmica
// 1 (1986), section 3). It works in windows: where two sequences differ too much, it continues from the farthest point.
type editor struct {
	reach   [][]int32 // by number of edits: how far into the first, on each diagonal
	found   []match
	reverse []match
	over    func() bool // what is found from then on is not used; nil = never
}

// windowEdits is where a window ends: its cost grows with their square, but the way back from what one thread
// alone did can be long, and chance finds matches on the way.
const windowEdits = 2048

// nowhere is the reach of a diagonal that leaves the sequences.
const nowhere int32 = -1 << 30

// matches returns the pairs that the script leaves, ascending in both: places in the first sequence, of
// n, and in the second, of m. The slice lasts until the next call.
func (e *editor) matches(n, m int, equal func(i, j int) bool) []match {
	e.found = e.found[:0]
	column, burst := 0, 0
	for column < n && burst < m && !e.ends() {
		edits, diagonal := e.window(n-column, m-burst, windowEdits, func(i, j int) bool { return equal(column+i, burst+j) })
		column, burst = e.keep(column, burst, n, m, edits, diagonal)
	}
	return e.found
}

// keep adds the matches of a window that began at a column and a burst, and returns where the next one begins.
func (e *editor) keep(column, burst, n, m, edits, diagonal int) (nextColumn, nextBurst int) {
	x := int(e.at(edits, diagonal))
	y := x - diagonal
	e.back(edits, diagonal)
	if column+x < n || burst+y < m {
		// Only what is followed by a long agreement is kept; else all of it, so as to get on.
		if i := lastLongRun(e.reverse); i >= 0 {
			e.reverse = e.reverse[i:]
			x, y = int(e.reverse[0].column)+1, int(e.reverse[0].burst)+1
		}
	}
	for i := len(e.reverse) - 1; i >= 0; i-- {
		e.found = append(e.found, match{int32(column) + e.reverse[i].column, int32(burst) + e.reverse[i].burst})
	}
	return column + x, burst + y
}

// lastLongRun says where the last longRun matches in a row begin, of matches that come last first; -1 if there are
// none.
func lastLongRun(reverse []match) int {
	for i := 0; i+longRun <= len(reverse); i++ {
		a, b := reverse[i], reverse[i+longRun-1]
		if a.column-b.column == longRun-1 && a.burst-b.burst == longRun-1 {
			return i
		}
	}
	return -1
}

func (e *editor) ends() bool { return e.over != nil && e.over() }

// at is how far edits get on a diagonal: k = place in the first minus place in the second.
func (e *editor) at(edits, diagonal int) int32 {
	if diagonal < -edits || diagonal > edits {
		return nowhere
	}
	return e.reach[edits][(diagonal+edits)/2]
}

// window advances until both ends are reached or the window has the most edits, and returns the farthest point.
func (e *editor) window(n, m, most int, equal func(i, j int) bool) (edits, diagonal int) {
	for d := 0; ; d++ {
		if d == len(e.reach) {
			e.reach = append(e.reach, make([]int32, d+1))
		}
		farthest, on := int32(nowhere), 0
		for k := -d; k <= d; k += 2 {
			x := int32(0)
			if d > 0 {
				x = e.step(d, k)
			}
			y := x - int32(k)
			if x < 0 || int(x) > n || int(y) > m {
				e.reach[d][(k+d)/2] = nowhere
				continue
			}
			for int(x) < n && int(y) < m && equal(int(x), int(y)) {
				x++
				y++
			}
			e.reach[d][(k+d)/2] = x
			if int(x) == n && int(y) == m {
				return d, k
			}
			if far := x + y; far > farthest || far == farthest && abs(k) < abs(on) {
				farthest, on = far, k
			}
		}
		if d == most || e.ends() {
			return d, on
		}
	}
}

// step is where a further edit leads on a diagonal: an insertion from the one above, a deletion from the
// one below, whichever is farther.
func (e *editor) step(edits, diagonal int) int32 {
	return max(e.at(edits-1, diagonal+1), e.at(edits-1, diagonal-1)+1)
}

// back collects the matches on the way to a place, last first.
func (e *editor) back(edits, diagonal int) {
	e.reverse = e.reverse[:0]
	x, k := e.at(edits, diagonal), diagonal
	for d := edits; ; d-- {
		from := int32(0)
		if d > 0 {
			from = e.step(d, k)
		}
		for ; x > from; x-- {
			e.reverse = append(e.reverse, match{x - 1, x - 1 - int32(k)})
		}
		if d == 0 {
			return
		}
		if up := e.at(d-1, k+1); up == from {
			x, k = up, k+1
		} else {
			x, k = from-1, k-1
		}
	}
}

func abs(x int) int { return max(x, -x) }
