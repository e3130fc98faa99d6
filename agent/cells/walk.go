package cells

import "sort"

// A view is a ring as it was at one moment.
type view struct {
	chunks  []*chunk // the tail's is the last
	anchors anchors
}

// view is the ring as it is now.
func (r *ring) view() view {
	v := view{chunks: r.chunks[:len(r.chunks):len(r.chunks)], anchors: anchors{rows: r.anchors.rows, jumps: r.anchors.jumps, turns: r.anchors.turns}}
	if len(r.tail) > 0 {
		v.chunks = append(v.chunks, r.latest())
	}
	return v
}

// A walker goes through what a ring did, segment by segment.
type walker struct {
	view
	labels  []int32 // by unit
	whole   bool    // there is one segment
	chunk   int     // that is next
	at, end uint32  // rows of the present one that are left: at ≤ row < end
	anchor  int     // that is next
	segment uint64
	// Labels of the present chunk's units.
	table [chunkRows]int32
}

func newWalker(labels []int32, whole bool) *walker { return &walker{labels: labels, whole: whole} }

// begin goes to the beginning of a ring.
func (w *walker) begin(v view) {
	w.view, w.chunk, w.at, w.end, w.anchor, w.segment = v, 0, 0, 0, 0, 0
}

// find returns the labels of one segment, from the beginning.
func (w *walker) find(number uint64) []int32 {
	w.seek(number)
	for {
		segment, labels, ok := w.next(nil)
		if !ok || segment > number {
			return nil
		}
		if segment == number {
			return labels
		}
	}
}

// seek goes to the last anchor after which a segment can begin.
func (w *walker) seek(number uint64) {
	if w.whole {
		return
	}
	w.anchor = sort.Search(len(w.anchors.rows), func(i int) bool { return w.anchors.before(i)+1 > number })
	if w.anchor == 0 {
		return
	}
	w.segment = w.anchors.before(w.anchor-1) + 1
	row := w.anchors.rows[w.anchor-1] + 1
	w.chunk = sort.Search(len(w.chunks), func(i int) bool { return w.chunks[i].first >= row })
	if w.chunk == 0 {
		return
	}
	w.chunk--
	c := w.chunks[w.chunk]
	w.load(c)
	w.at = min(row, w.end)
}

// next appends the labels of the next segment that has any to room, those of -1 left out.
func (w *walker) next(room []int32) (segment uint64, labels []int32, ok bool) {
	labels = room
	for {
		if w.at == w.end {
			if w.chunk == len(w.chunks) {
				return w.segment, labels, len(labels) > 0
			}
			c := w.chunks[w.chunk]
			if number := w.cross(c.first); number != w.segment {
				segment, w.segment = w.segment, number
				if len(labels) > 0 {
					return segment, labels, true
				}
			}
			w.load(c)
		}
		end, cut := w.end, false
		if !w.whole && w.anchor < len(w.anchors.rows) && w.anchors.rows[w.anchor] < end {
			end, cut = w.anchors.rows[w.anchor]+1, true // the burst before a call lies before the call
		}
		labels = w.read(labels, end)
		if cut {
			segment = w.segment
			w.segment = w.anchors.before(w.anchor) + 1
			w.anchor++
			if len(labels) > 0 {
				return segment, labels, true
			}
		}
	}
}

// cross gives the number of the segment in which a row lies that is next: another one where rows before it are gone.
func (w *walker) cross(row uint32) uint64 {
	if w.whole || row == w.end {
		return w.segment
	}
	number := w.segment
	for ; w.anchor < len(w.anchors.rows) && w.anchors.rows[w.anchor] < row; w.anchor++ {
		number = w.anchors.before(w.anchor) + 1
	}
	if w.anchor < len(w.anchors.rows) {
		number = w.anchors.before(w.anchor)
	}
	return number
}

// load makes a chunk the present one.
func (w *walker) load(c *chunk) {
	for i, unit := range c.units {
		w.table[i] = absent
		if unit != none {
			w.table[i] = w.labels[unit-1]
		}
	}
	w.chunk++
	w.at, w.end = c.first, c.first+uint32(c.len())
}

// read appends the labels of the rows up to end.
func (w *walker) read(labels []int32, end uint32) []int32 {
	c := w.chunks[w.chunk-1]
	from, to := w.at-c.first, end-c.first
	w.at = end
	n := len(labels)
	labels = grow(labels, int(to-from))
	if c.narrow != nil {
		n = narrow(labels, n, c.narrow[from:to], (*[1 << 8]int32)(w.table[:]))
	} else {
		for _, p := range c.wide[from:to] {
			label := w.table[p]
			labels[n] = label
			n += present(label)
		}
	}
	return labels[:n]
}

// narrow writes the labels of rows after the first n, and returns after how many the next go.
func narrow(labels []int32, n int, rows []uint8, table *[1 << 8]int32) int {
	for _, p := range rows {
		label := table[p]
		labels[n] = label
		n += present(label)
	}
	return n
}

// present is 1 for labels that are part of sequences, 0 for others: the loops have no branch.
func present(label int32) int { return int(^uint32(label) >> 31) }

// grow makes a list so much longer.
func grow(list []int32, by int) []int32 {
	n := len(list) + by
	if n > cap(list) {
		longer := make([]int32, len(list), max(n, 2*cap(list)))
		copy(longer, list)
		list = longer
	}
	return list[:n]
}
