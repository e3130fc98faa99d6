package cells

import (
	"fmt"
	"slices"

	"moriens/analysis/phase"
	"moriens/internal/section"
)

// chunkRows is how many rows of a ring are kept together at most, and sealAt how many are: fewer in tests alone.
const chunkRows = 4096

var sealAt = chunkRows

// none stands for the unit of a row without a burst in a unit; others are numbers of units, plus 1.
const none = 0

// A ring is one thread. Of each row it keeps the unit of the burst before the call, the burst's length, and, where
// units do not give it, the call's site.
type ring struct {
	id      uint64
	process *process
	number  uint32
	rows    uint64   // so far, those that are gone included
	chunks  []*chunk // in the order of their rows; none is ever changed, and the list but by append
	tail    []uint32 // rows after those of the chunks
	steps   []uint16 // likewise: kinds.Step of the bursts, 0 where there is none in a unit
	sites   []uint32 // likewise; nil where units give them
	gaps    []uint32 // rows before which something was lost, or recording was paused
	bursts  uint64   // in units
	last    uint32   // site of the latest call; 0: it is not known
	anchors anchors
	sums    sums
	phases  ringPhases
	packed  int64 // bytes of chunks
}

// A rowOf is what is kept of a row.
type rowOf struct {
	unit uint32 // plus 1; none
	step uint16
	site uint32
}

// append adds a row, with its site if those are kept.
func (r *ring) append(x rowOf, sites bool) {
	if r.tail == nil {
		r.tail, r.steps = make([]uint32, 0, sealAt), make([]uint16, 0, sealAt)
	}
	r.tail, r.steps = append(r.tail, x.unit), append(r.steps, x.step)
	if sites {
		r.sites = append(r.sites, x.site)
	}
	r.rows++
	if len(r.tail) == sealAt {
		r.seal()
	}
}

// latest is a chunk of the tail.
func (r *ring) latest() *chunk {
	c := pack(uint32(r.rows)-uint32(len(r.tail)), r.tail)
	c.steps = slices.Clone(r.steps)
	if len(r.sites) > 0 {
		c.sites = pack(c.first, r.sites)
	}
	return c
}

// seal makes a chunk of the tail.
func (r *ring) seal() {
	if len(r.tail) == 0 {
		return
	}
	c := r.latest()
	r.chunks = append(r.chunks, c)
	r.packed += c.bytes()
	r.tail, r.steps, r.sites = r.tail[:0], r.steps[:0], r.sites[:0]
}

// gap notes that something was lost before a row, or not recorded.
func (r *ring) gap(row uint32) {
	if n := len(r.gaps); n == 0 || row > r.gaps[n-1] {
		r.gaps = append(r.gaps, row)
	}
}

// skip continues at a row before which some are gone.
func (r *ring) skip(to uint64) {
	r.seal()
	r.gap(uint32(to))
	r.rows, r.last = to, 0
}

// addCalls sums up the MPI calls of a block, from a row on, by where they are.
func (c *columns) addCalls(r *ring, b *section.Block, from int, where *located) {
	polls, cuts, sums := b.PollsRow, where.each.Calls, &r.sums.calls
	if where.all {
		c.callRows = slices.Grow(c.callRows[:0], len(b.Sites))[:len(b.Sites)]
		clear(c.callRows)
	}
	for i, site := range b.Site[:b.Rows] {
		calls := uint64(1)
		if len(polls) > 0 && int(polls[0]) == i {
			calls = b.Polls[len(b.Polls)-len(polls)]
			polls = polls[1:]
		}
		if i < from {
			continue
		}
		if where.all {
			row := &c.callRows[site]
			if *row == 0 {
				*row = sums.row(callKey{c.sites[site], inOf(where.path, false)}) + 1
			}
			sums.add(*row-1, calls, c.callNS[i-from])
			continue
		}
		var own []phase.Cut
		own, cuts = cutsOf(cuts, i-from)
		row := sums.row(callKey{c.sites[site], inOf(where.each.CallPath[i-from], len(own) > 0)})
		sums.add(row, calls, c.callNS[i-from])
		if len(own) > 0 {
			sums.rows[row].cuts = addCall(sums.rows[row].cuts, own)
		}
	}
}

// addCollectives takes the anchors among a block's collective calls.
func (r *ring) addCollectives(b *section.Block) error {
	for i := range b.Collectives {
		c := &b.Collectives[i]
		if _, is := r.process.anchors[c.Comm]; !is {
			continue
		}
		if err := r.anchors.add(uint32(b.First)+c.Row, c.Comm, c.Ordinal); err != nil {
			return fmt.Errorf("cells: ring %016x: %w", b.Ring, err)
		}
	}
	return nil
}

// bytes is about what the ring takes of memory.
func (r *ring) bytes() int64 {
	return r.packed + 8*int64(cap(r.chunks)) + 4*int64(cap(r.tail)+cap(r.sites)+cap(r.gaps)) + 2*int64(cap(r.steps)) + r.anchors.bytes() + r.sums.bytes() + r.phases.bytes()
}

// A chunk is rows that follow each other: numbers of a list of the units among them.
type chunk struct {
	first  uint32
	units  []uint32 // as in ring.append, in the order of their first row
	narrow []uint8  // per row; nil where there are more units
	wide   []uint16 // per row then
	steps  []uint16 // per row; nil of sites
	sites  *chunk   // of the same rows, whose units are sites; nil where those are not kept
}

// pack makes a chunk of rows.
func pack(first uint32, rows []uint32) *chunk {
	c := &chunk{first: first}
	var places [2 * chunkRows]uint16 // in units, plus 1, by the slot of the unit or the next that is free: a map costs several times as much
	at := make([]uint16, len(rows))
	for i, unit := range rows {
		s := slot(unit, 0) % uint32(len(places))
		for places[s] != 0 && c.units[places[s]-1] != unit {
			s = (s + 1) % uint32(len(places))
		}
		if places[s] == 0 {
			c.units = append(c.units, unit)
			places[s] = uint16(len(c.units))
		}
		at[i] = places[s] - 1
	}
	c.units = append([]uint32(nil), c.units...)
	if len(c.units) > 1<<8 {
		c.wide = at
		return c
	}
	c.narrow = make([]uint8, len(rows))
	for i, p := range at {
		c.narrow[i] = uint8(p)
	}
	return c
}

func (c *chunk) len() int { return len(c.narrow) + len(c.wide) }

// bytes is what the chunk takes of memory.
func (c *chunk) bytes() int64 {
	const header = 4 + 4*24 + 8
	bytes := header + int64(4*cap(c.units)+cap(c.narrow)+2*cap(c.wide)+2*cap(c.steps))
	if c.sites != nil {
		bytes += c.sites.bytes()
	}
	return bytes
}

// unpack appends the rows to dst.
func (c *chunk) unpack(dst []uint32) []uint32 {
	for _, p := range c.narrow {
		dst = append(dst, c.units[p])
	}
	for _, p := range c.wide {
		dst = append(dst, c.units[p])
	}
	return dst
}
