package store

import (
	"math"
	"slices"

	"moriens/internal/section"
	"moriens/trace"
)

// maxTicks bounds the sum of all ticks of a ring, so that no later sum overflows.
const maxTicks = math.MaxInt64

// maxPolls bounds a run of polls, so that no sum of them overflows; the shim ends a run after 0.1 s.
const maxPolls = 1 << 40

// A Chunk is consecutive calls of a ring, or runs of polls: a section as it arrived, whose content was tested, with
// what is asked of it often. A Reader gives its rows.
type Chunk struct {
	Origin   uint64 // ticks at which the first burst starts
	LastCall uint64 // ticks inside the last call
	LastPath uint32 // Store's number of that one's call path
	Rows     int

	// Sums of a process whose calls are not kept on its node: while the job runs others need not look at each row.
	Computing, MPI, Span uint64    // ticks of its bursts, of its calls, and of all its rows
	Strata               []Stratum // of its bursts, in the order of their first ones

	section []byte
	paths   []uint32 // Store's numbers of the call paths of the section's sites
	bursts  int
	cut     bool // rows before the first one are missing, so that what is before that is no burst
}

// End is when the last call of the chunk ends, in ticks.
func (c *Chunk) End() uint64 { return c.Origin + c.Span }

// Bursts is how many it has.
func (c *Chunk) Bursts() int { return c.bursts }

// Calls are the rows of a chunk, one a call or a run of polls; the slices that are not sparse have one length.
type Calls struct {
	Path       []uint32 // Store's number of the call path
	NoBurst    []uint32 // rows, ascending, whose time before the call is no burst
	Paused     []uint32 // those of NoBurst before which the program had paused recording
	Unfinished bool     // the process died inside the last call
	PollsRow   []uint32 // rows, ascending, that are runs of polls,
	Polls      []uint64 // and how many calls each stands for
	Burst      []uint64 // ticks before each call
	Call       []uint64 // ticks inside each call
	// Counts are what the process's events counted in the burst before each call, in the order of Info.Events;
	// trace.NoCount where that is not known.
	Counts [][]int64
}

// A Reader takes chunks apart, one at a time: what it returns holds until the next. It keeps the latest, so that one
// that is asked for several times is taken apart once. The zero Reader is ready.
type Reader struct {
	reader
	paths [section.MaxRows]uint32
	rows  Calls
	from  *byte // the first of the section of the latest
	deep  depth // of what was read of it
}

// A depth is how much is read of a chunk.
type depth int

const (
	toPaths depth = 1 + iota // and what few rows have
	toTicks
	toCounts
)

// Paths are the rows of a chunk without their ticks and counts.
func (d *Reader) Paths(c *Chunk) *Calls { return d.read(c, toPaths) }

// Ticks are the rows of a chunk without their counts.
func (d *Reader) Ticks(c *Chunk) *Calls { return d.read(c, toTicks) }

// Calls are the rows of a chunk.
func (d *Reader) Calls(c *Chunk) *Calls { return d.read(c, toCounts) }

func (d *Reader) read(c *Chunk, to depth) *Calls {
	if d.from != &c.section[0] {
		d.from, d.deep = &c.section[0], 0
	}
	if d.deep < toPaths {
		d.readPaths(c)
	}
	if d.deep < toTicks && to >= toTicks {
		must(d.decoder.Ticks(&d.section, &d.block))
		d.rows.Burst, d.rows.Call = d.block.Burst[:c.Rows], d.block.Call[:c.Rows]
	}
	if d.deep < toCounts && to >= toCounts {
		must(d.decoder.Counts(&d.section, &d.block))
		for k := range d.block.Events {
			column := d.block.Counts[k][:c.Rows]
			for _, row := range d.block.NoCounts {
				column[row] = trace.NoCount
			}
			d.rows.Counts = append(d.rows.Counts, column)
		}
	}
	d.deep = max(d.deep, to)
	return &d.rows
}

func (d *Reader) readPaths(c *Chunk) {
	_, err := d.section.Read(c.section)
	must(err)
	b := &d.block
	must(d.decoder.Order(&d.section, d.section.Events(), b))
	for row, site := range b.Site[:c.Rows] {
		d.paths[row] = c.paths[site]
	}
	if c.cut {
		b.NoBurst = burstless(b.NoBurst)
	}
	d.rows = Calls{
		Path: d.paths[:c.Rows], NoBurst: b.NoBurst, Paused: b.Paused, Unfinished: b.Unfinished, PollsRow: b.PollsRow, Polls: b.Polls,
		Counts: d.rows.Counts[:0],
	}
}

// burstless are rows without a burst and the first one.
func burstless(rows []uint32) []uint32 {
	if len(rows) == 0 || rows[0] != 0 {
		return slices.Insert(rows, 0, 0)
	}
	return rows
}

// must is for sections that were tested when they were taken.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
