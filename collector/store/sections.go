package store

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/mpicall"
	"moriens/internal/section"
)

// A reader takes sections apart, one at a time.
type reader struct {
	section section.Section
	decoder section.Decoder
	block   section.Block
}

// takeApart is the store's reader, for which its lock must be held.
func (s *Store) takeApart() *reader {
	if s.reader == nil {
		s.reader = new(reader)
	}
	return s.reader
}

// addSections takes sections that follow each other. Of each the rows are taken as a whole or not at all, and likewise
// its collectives, its marks, its gaps and its transfers; where the bytes are not a section, those behind it are lost
// with it.
func (s *Store) addSections(bytes []byte) error {
	d := s.takeApart()
	s.whole = onlyCalls(bytes)
	var refused []error
	for len(bytes) > 0 {
		rest, err := d.section.Read(bytes)
		if err != nil {
			return errors.Join(append(refused, err)...)
		}
		bytes = rest
		if err := s.addSection(); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

// onlyCalls reports whether sections are all of calls, as far as they are sections. Then chunks are parts of the
// message: else they would keep the others in memory.
func onlyCalls(bytes []byte) bool {
	for len(bytes) > 0 {
		n, err := section.Length(bytes)
		if err != nil {
			return true
		}
		if kind, _, _ := section.Of(bytes); kind != section.Calls {
			return false
		}
		bytes = bytes[n:]
	}
	return true
}

// addSection takes the section that was read.
func (s *Store) addSection() error {
	x := &s.reader.section
	if x.Kind == section.Moves {
		return s.addMoves(arrived)
	}
	r := s.rings[x.Ring]
	if r == nil {
		return fmt.Errorf("a section of unknown ring %016x", x.Ring)
	}
	b, err := s.reader.calls(r)
	if err == nil {
		err = s.addBlock(r, b)
	}
	if err != nil {
		return fmt.Errorf("ring %016x, call %d: %w", x.Ring, x.First, err)
	}
	return nil
}

// calls takes apart the section of calls of a ring that was read, but for the ticks and counts of its rows, which are
// there. The next section takes its room.
func (d *reader) calls(r *Ring) (*section.Block, error) {
	b := &d.block
	if err := d.decoder.Frame(&d.section, d.section.Events(), b); err != nil {
		return nil, err
	}
	if events := len(r.Process.Info.Events); b.Rows > 0 && b.Events != events {
		return nil, fmt.Errorf("counts of %d events, the process has %d", b.Events, events)
	}
	return b, nil
}

// addBlock takes what is sound of a block: its rows, and then what belongs to rows that are there. What is damaged of
// that costs no rows.
func (s *Store) addBlock(r *Ring, b *section.Block) error {
	if b.Rows > 0 || b.Unfinished {
		if err := s.addRows(r, b); err != nil {
			return err
		}
	}
	return errors.Join(r.addCollectives(b), r.addMarks(b.FirstMark, b.Marks, b.MarkCounts), r.addGaps(b.GapsBefore, b.GapsInside))
}

// addRows takes the rows, if all of them are sound.
func (s *Store) addRows(r *Ring, b *section.Block) error {
	switch {
	case r.End != nil:
		return errEnded
	case b.First != r.Calls:
		return fmt.Errorf("it follows call %d", int64(r.Calls)-1)
	case b.Origin > maxTicks:
		return errTicks
	case b.Rows == 0:
		return errors.New("it ends inside a call, and has none")
	}
	for _, site := range b.Sites {
		if !mpicall.ID(site.Function).Known() {
			return fmt.Errorf("unknown MPI function %d", site.Function)
		}
		if _, defined := r.Process.local[site.Path]; !defined && site.Path != 0 {
			return fmt.Errorf("call path %d is not defined", site.Path)
		}
	}
	for _, row := range b.Paused {
		if _, without := slices.BinarySearch(b.NoBurst, row); !without {
			return fmt.Errorf("row %d is paused and has a burst", row)
		}
	}
	for _, polls := range b.Polls {
		if polls < 2 || polls > maxPolls {
			return fmt.Errorf("a run of %d polls", polls)
		}
	}
	d := s.reader
	rows, burst, call, err := d.decoder.Sorted(&d.section, b)
	if err != nil {
		return err
	}
	bursts, sound := addTicks(r.ticks, burst)
	ticks, soundToo := addTicks(bursts, call)
	if !sound || !soundToo || ticks > maxTicks-b.Origin {
		return errTicks
	}
	s.takeRows(r, b, sorted{rows: rows, burst: burst, call: call, mpi: ticks - bursts, all: ticks - r.ticks})
	r.ticks = ticks
	return nil
}

var errEnded = errors.New("the ring has ended")

var errTicks = errors.New("its ticks overflow")

// addTicks adds ticks to a sum; false: that is more than maxTicks.
func addTicks(sum uint64, ticks []uint64) (uint64, bool) {
	all, any := uint64(0), uint64(0)
	for _, x := range ticks {
		all += x
		any |= x
	}
	if any < maxTicks/section.MaxRows && all <= maxTicks-sum { // all has not overflowed
		return sum + all, true
	}
	for _, x := range ticks {
		if x > maxTicks-sum {
			return 0, false
		}
		sum += x
	}
	return sum, true
}

// sorted are the ticks of a block's rows, site by site.
type sorted struct {
	rows        []uint16
	burst, call []uint64
	mpi, all    uint64 // ticks of all calls, and of all rows
}

func (p *Process) checkCollective(c *section.Collective) error {
	root := c.Root
	if root == RootRank {
		root = AnyRank
	}
	if err := p.peer(c.Comm, root); err != nil {
		return fmt.Errorf("collective in row %d: %w", c.Row, err)
	}
	if c.Sent > maxBytes || c.Received > maxBytes || c.Ordinal > math.MaxInt64 {
		return fmt.Errorf("collective in row %d: number %d of %d and %d bytes", c.Row, c.Ordinal, c.Sent, c.Received)
	}
	return nil
}

func (r *Ring) addCollectives(b *section.Block) error {
	if len(b.Collectives) == 0 {
		return nil
	}
	if b.First+uint64(b.Rows) > math.MaxUint32 {
		return fmt.Errorf("a collective behind row %d", uint32(math.MaxUint32))
	}
	for i := range b.Collectives {
		if err := r.Process.checkCollective(&b.Collectives[i]); err != nil {
			return err
		}
	}
	r.Collectives = append(r.Collectives, collectivesOf(b))
	return nil
}

// addMarks takes a block's marks. Those that are refused are counted among the ring's, so that later ones follow.
func (r *Ring) addMarks(first uint64, marks []section.Mark, counts [][]int64) error {
	switch {
	case len(marks) == 0:
		return nil
	case r.End != nil:
		return errEnded
	case first != r.marks:
		return fmt.Errorf("mark %d follows mark %d", first, int64(r.marks)-1)
	}
	r.marks += uint64(len(marks))
	last := uint64(0)
	for i := range marks {
		m := &marks[i]
		if m.Ticks > maxTicks || m.Ticks < last {
			return fmt.Errorf("mark %d: %w", first+uint64(i), errTicks)
		}
		if _, known := r.Process.names[m.Name]; !known && m.Name != 0 {
			return fmt.Errorf("mark %d: name %d is not defined", first+uint64(i), m.Name)
		}
		last = m.Ticks
	}
	chunk := r.marksOf(marks)
	if events := len(r.Process.Info.Events); len(counts) == events {
		chunk.Counts = section.CloneCounts(counts)
	} else if chunk.Counted = nil; len(counts) > 0 {
		r.Marks = append(r.Marks, chunk)
		return fmt.Errorf("mark %d: counts of %d events, the process has %d", first, len(counts), events)
	}
	r.Marks = append(r.Marks, chunk)
	return nil
}

// addGaps takes rows of the ring, which may have ended before: what a request has done is known later than that.
func (r *Ring) addGaps(before, inside []uint64) error {
	for _, row := range before {
		if row > r.Calls {
			return fmt.Errorf("a gap before row %d of %d", row, r.Calls)
		}
	}
	for _, row := range inside {
		if row >= r.Calls {
			return fmt.Errorf("a gap in row %d of %d", row, r.Calls)
		}
	}
	r.Gaps.Before = append(r.Gaps.Before, before...)
	r.Gaps.Inside = append(r.Gaps.Inside, inside...)
	return nil
}

// takeRows makes a chunk of the block's rows, which are in the section that was read.
func (s *Store) takeRows(r *Ring, b *section.Block, x sorted) {
	c := Chunk{
		Origin: b.Origin, Rows: b.Rows, Span: x.all, MPI: x.mpi, paths: make([]uint32, len(b.Sites)), bursts: b.Rows - len(b.NoBurst),
		section: s.reader.section.Bytes(), cut: len(b.NoBurst) > 0 && b.NoBurst[0] == 0,
	}
	if !s.whole {
		c.section = slices.Clone(c.section)
	}
	for i, site := range b.Sites {
		c.paths[i] = s.paths.number(r.Process, mpicall.ID(site.Function), site.Path)
	}
	c.LastPath = c.paths[b.Site[b.Rows-1]]
	c.LastCall = x.call[slices.Index(x.rows, uint16(b.Rows-1))]
	if !r.Process.CallsOnNode() { // of others nothing is asked while the job runs
		before := uint32(0)
		if n := len(r.Chunks); n > 0 {
			before = s.paths.lead[r.Chunks[n-1].LastPath]
		}
		s.places = s.places[:0]
		for _, path := range c.paths {
			s.places = append(s.places, s.paths.lead[path])
		}
		c.Strata, c.Computing = s.summer.sum(b, before, s.places, x.rows, x.burst)
	}
	if r.Calls == 0 {
		r.origin = b.Origin
	}
	r.Chunks = append(r.Chunks, c)
	r.Calls += uint64(c.Rows)
	s.totals.Calls += uint64(c.Rows)
	for _, n := range b.Polls {
		s.totals.Calls += n - 1
	}
	s.totals.Bursts += uint64(c.bursts)
}

func collectivesOf(b *section.Block) Collectives {
	n := len(b.Collectives)
	x := Collectives{
		Row: make([]uint32, n), Comm: make([]uint32, n), Ordinal: make([]uint64, n), Sent: make([]uint64, n), Received: make([]uint64, n), Root: make([]int32, n),
	}
	for i := range b.Collectives {
		c := &b.Collectives[i]
		x.Row[i], x.Comm[i], x.Ordinal[i], x.Sent[i], x.Received[i], x.Root[i] = uint32(b.First)+c.Row, c.Comm, c.Ordinal, c.Sent, c.Received, c.Root
	}
	return x
}

func (r *Ring) marksOf(marks []section.Mark) MarkChunk {
	m := MarkChunk{Origin: marks[0].Ticks}
	last := m.Origin
	for i := range marks {
		x := &marks[i]
		m.Ticks, last = append(m.Ticks, x.Ticks-last), x.Ticks
		m.What, m.Name = append(m.What, x.What), append(m.Name, r.Process.names[x.Name]) // 0 for 0
		if x.Counted {
			m.Counted = append(m.Counted, int32(i))
		}
		if x.What == section.Event {
			m.Value = append(m.Value, x.Value)
		}
	}
	return m
}
