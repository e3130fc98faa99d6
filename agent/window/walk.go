package window

import (
	"cmp"
	"math"
	"slices"

	"moriens/internal/anchor"
	"moriens/internal/section"
)

// A stretch is rows of a block that follow each other in one window.
type stretch struct {
	from, to    int    // from ≤ row < to
	before, end uint64 // ticks when the call before the first one ended, and the last one
	window      anchor.ID
	ends        bool // the window ends with the last one
}

// A lane is calls of one ring that are next, in order.
type lane struct {
	ring    *ring
	blocks  []*section.Block
	anchors []anchored // among them
	row     int        // of the first block
	ticks   uint64     // when the call before it ended
	open    bool
	stretch stretch // if one is open
}

// lanes are those of several rings, at most one of each.
type lanes []*lane

// of is the lane of a ring.
func (l *lanes) of(r *ring) *lane {
	i := slices.IndexFunc(*l, func(x *lane) bool { return x.ring == r })
	if i < 0 {
		i = len(*l)
		*l = append(*l, &lane{ring: r})
	}
	return (*l)[i]
}

// walk calls visit for the stretches of calls that rings have not had, those of a ring in their order. The calls of a
// process's threads are taken in the order in which they ended, in which the process has published them: each is in the
// window that was open then. So a window is the same however what was read until some time is spread over blocks and
// transactions; a thread that was read later than others has its calls in a later window than they.
func (s *Store) walk(all lanes, visit func(*ring, *section.Block, stretch)) {
	slices.SortFunc(all, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(a.ring.process.id, b.ring.process.id), cmp.Compare(a.ring.id, b.ring.id))
	})
	for len(all) > 0 {
		p := all[0].ring.process
		n := 1
		for n < len(all) && all[n].ring.process == p {
			n++
		}
		s.measure(p)
		s.walkProcess(p, all[:n:n], visit)
		all = all[n:]
	}
}

// walkProcess is walk of the rings of one process.
func (s *Store) walkProcess(p *process, all lanes, visit func(*ring, *section.Block, stretch)) {
	all = slices.DeleteFunc(all, func(l *lane) bool { return !l.begin() })
	for len(all) > 0 {
		first, end := 0, all[0].nextEnd()
		until := uint64(math.MaxUint64) // of the others; of calls that end at once, those of the first ring are first
		for i, l := range all[1:] {
			if e := l.nextEnd(); e < end {
				first, end, until = i+1, e, end-1
			} else if e < until {
				until = e
			}
		}
		if !s.run(p, all[first], until, visit) {
			all = slices.Delete(all, first, first+1)
		}
	}
}

// begin goes to the lane's first call that its ring has not had, if there is one.
func (l *lane) begin() bool {
	for ; len(l.blocks) > 0; l.blocks = l.blocks[1:] {
		b := l.blocks[0]
		for l.row, l.ticks = 0, b.Origin; l.row < b.Rows && b.First+uint64(l.row) < l.ring.rows; l.row++ {
			l.ticks += b.Burst[l.row] + b.Call[l.row]
		}
		if l.row < b.Rows {
			return true
		}
	}
	return false
}

// nextEnd is when the lane's next call ended.
func (l *lane) nextEnd() uint64 {
	b := l.blocks[0]
	return l.ticks + b.Burst[l.row] + b.Call[l.row]
}

// run takes the lane's calls that ended until a time, and reports whether there are others.
func (s *Store) run(p *process, l *lane, until uint64, visit func(*ring, *section.Block, stretch)) bool {
	for {
		b := l.blocks[0]
		burst, call := b.Burst[:b.Rows], b.Call[:b.Rows]
		for l.row < len(burst) {
			enter := l.ticks + burst[l.row]
			end := enter + call[l.row]
			if end > until {
				return true
			}
			w := s.enter(p, enter)
			if l.open && l.stretch.window != w {
				l.close(visit)
			}
			if !l.open {
				l.stretch, l.open = stretch{from: l.row, before: l.ticks, window: w}, true
			}
			row := b.First + uint64(l.row)
			l.ticks = end
			l.row++
			if len(l.anchors) > 0 && l.anchors[0].row <= row && s.pass(p, l, row) {
				l.stretch.ends = true
				l.close(visit)
			}
		}
		if l.open {
			l.close(visit)
		}
		l.blocks = l.blocks[1:]
		if !l.begin() {
			return false
		}
	}
}

// pass counts the anchors up to a row, which has ended, and reports whether a window has ended with it.
func (s *Store) pass(p *process, l *lane, row uint64) bool {
	for len(l.anchors) > 0 && l.anchors[0].row < row {
		l.anchors = l.anchors[1:]
	}
	return len(l.anchors) > 0 && l.anchors[0].row == row && p.pass(l.anchors[0].comm, l.anchors[0].ordinal, l.ticks)
}

// close ends a stretch with the call before the next one.
func (l *lane) close(visit func(*ring, *section.Block, stretch)) {
	l.stretch.to, l.stretch.end, l.open = l.row, l.ticks, false
	visit(l.ring, l.blocks[0], l.stretch)
}
