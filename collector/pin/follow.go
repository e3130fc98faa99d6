package pin

import "moriens/collector/store"

// spacedRows is how many rows apart it is known how many meetings there were before.
const spacedRows = recentBursts

// A cursor is a row of a ring.
type cursor struct {
	chunk, k int
	row      uint32
}

// A follower is how far a rank's calls have been compared with the shapes.
type follower struct {
	at     cursor // the next row
	before uint32 // place of the call before
	ticks  uint64 // when that ended
	open   stretch
	met    []store.Met // how far the meetings were read, some of the latest times
	blocks map[*shape]*block
	deeper bool   // stretches recur for which few bursts were searched
	stuck  *doubt // what is before the next row does not fit, and waits for a search; nil = it fits
}

// A doubt is stretches that do not fit.
type doubt struct {
	shape *shape
	ns    int64  // how long they take; 0 = the shape itself is new
	from  uint32 // row at which the last of them begins
}

// A stretch is calls between two delimiters, or less.
type stretch struct {
	delimited bool // it begins with one
	from      uint32
	rows      int
	pairs     uint64
	ticks     uint64 // when it begins
}

// meetings lists the meetings from a row on, and some before it.
func (f *follower) meetings(s *store.Store, ring *store.Ring, from uint32, list []store.Meeting) []store.Meeting {
	var at store.Met
	for _, m := range f.met {
		if m.Row() <= from {
			at = m
		}
	}
	list, behind := s.Meetings(ring, at, list)
	f.keep(behind)
	return list
}

// meets reports whether the rank has met the others.
func (f *follower) meets() bool { return len(f.met) > 0 && f.met[len(f.met)-1].Any() }

// keep holds on to the latest, and to earlier ones as far apart as searches need.
func (f *follower) keep(m store.Met) {
	n := len(f.met)
	switch {
	case n > 0 && m.Row() <= f.met[n-1].Row():
		return
	case n > 1 && f.met[n-1].Row()-f.met[n-2].Row() < spacedRows:
		f.met[n-1] = m
	default:
		f.met = append(f.met, m)
	}
	for len(f.met) > 2 && f.met[1].Row()+2*spacedRows <= f.at.row {
		f.met = f.met[1:]
	}
}

// rows is how many rows a ring has, where so many are known before a cursor.
func rows(v *store.RingView, at cursor) uint32 {
	n := at.row - uint32(at.k)
	for _, c := range v.Chunks[at.chunk:] {
		n += uint32(c.Rows)
	}
	return n
}

// move is the cursor at another row.
func move(v *store.RingView, at cursor, row uint32) cursor {
	start := at.row - uint32(at.k) // of the chunk
	for row < start {
		at.chunk--
		start -= uint32(v.Chunks[at.chunk].Rows)
	}
	for at.chunk < len(v.Chunks) && row-start >= uint32(v.Chunks[at.chunk].Rows) {
		start += uint32(v.Chunks[at.chunk].Rows)
		at.chunk++
	}
	return cursor{at.chunk, int(row - start), row}
}

// A watcher gets what follow meets.
type watcher interface {
	// closed gets a stretch before a row. It reports whether to go on.
	closed(x *stretch, cut bool, row uint32, ns int64) bool
}

// follow reads the calls of a rank up to a row, or until the watcher does not want to go on.
func (f *follower) follow(v *store.RingView, d *store.Reader, places []uint32, s *shapes, to uint32, w watcher) {
	open, before, ticks := f.open, f.before, f.ticks
	defer func() { f.open, f.before, f.ticks = open, before, ticks }()
	for f.at.chunk < len(v.Chunks) {
		if f.at.row == to {
			return
		}
		c := d.Ticks(&v.Chunks[f.at.chunk])
		noBurst := c.NoBurst
		for len(noBurst) > 0 && int(noBurst[0]) < f.at.k {
			noBurst = noBurst[1:]
		}
		if f.at.k == 0 {
			ticks = v.Chunks[f.at.chunk].Origin
		}
		row := f.at.row - uint32(f.at.k)
		for k := f.at.k; k < len(c.Path); k++ {
			if row+uint32(k) == to {
				f.at = cursor{f.at.chunk, k, to}
				return
			}
			after := places[c.Path[k]]
			isBurst := true
			if len(noBurst) > 0 && int(noBurst[0]) == k {
				noBurst, isBurst = noBurst[1:], false
			}
			if isBurst {
				p := s.at(pair{before, after})
				if p.delimiter || open.rows >= s.longest {
					now := row + uint32(k)
					closed, cut := open, p.delimiter
					open = stretch{delimited: p.delimiter, from: now, ticks: ticks}
					if closed.rows > 0 && (closed.delimited || !cut) && !w.closed(&closed, cut, now, int64(float64(ticks-closed.ticks)*v.NSPerTick)) {
						f.at = cursor{f.at.chunk, k, now}
						return
					}
				}
				open.pairs |= p.bit
			}
			open.rows++
			ticks += c.Burst[k] + c.Call[k]
			before = after
		}
		f.at = cursor{f.at.chunk + 1, 0, row + uint32(len(c.Path))}
	}
}

// jump goes on at another row.
func (f *follower) jump(v *store.RingView, d *store.Reader, places []uint32, row uint32) {
	f.at = move(v, f.at, row)
	f.before, f.ticks, f.stuck = placeBefore(v, d, places, f.at), ticksAt(v, d, f.at), nil
	f.open = stretch{from: row, ticks: f.ticks}
}

// ticksAt is when the burst before a row's call begins.
func ticksAt(v *store.RingView, d *store.Reader, at cursor) uint64 {
	if at.chunk == len(v.Chunks) {
		return 0 // the next chunk says it
	}
	ticks := v.Chunks[at.chunk].Origin
	if at.k == 0 {
		return ticks
	}
	c := d.Ticks(&v.Chunks[at.chunk])
	for k := range at.k {
		ticks += c.Burst[k] + c.Call[k]
	}
	return ticks
}

// placeBefore is the place of the call before a row, 0 where there is none.
func placeBefore(v *store.RingView, d *store.Reader, places []uint32, at cursor) uint32 {
	switch {
	case at.row == 0:
		return 0
	case at.k == 0:
		return places[v.Chunks[at.chunk-1].LastPath]
	}
	return places[d.Paths(&v.Chunks[at.chunk]).Path[at.k-1]]
}
