package store

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

// A reader takes sections apart, one at a time.
type reader struct {
	section section.Section
	decoder section.Decoder
	block   section.Block
}

// addSections takes sections that follow each other. What one of them holds is taken as a whole or not at all; where
// the bytes are not a section, those behind it are lost with it.
func (s *Store) addSections(bytes []byte) error {
	if s.reader == nil {
		s.reader = new(reader)
	}
	var refused []error
	for len(bytes) > 0 {
		rest, err := s.reader.section.Read(bytes)
		if err != nil {
			return errors.Join(append(refused, err)...)
		}
		bytes = rest
		if err := s.addSection(&s.reader.section); err != nil {
			refused = append(refused, err)
		}
	}
	return errors.Join(refused...)
}

func (s *Store) addSection(x *section.Section) error {
	if x.Kind != section.Calls {
		return fmt.Errorf("a section of kind %d, which is not for the collector", x.Kind)
	}
	r := s.rings[x.Ring]
	if r == nil {
		return fmt.Errorf("a section of unknown ring %016x", x.Ring)
	}
	b := &s.reader.block
	err := s.reader.decoder.Calls(x, x.Events(), b)
	if events := len(r.Process.Info.Events); err == nil && b.Rows > 0 && b.Events != events {
		err = fmt.Errorf("counts of %d events, the process has %d", b.Events, events)
	}
	if err == nil {
		err = s.addBlock(r, b)
	}
	if err != nil {
		return fmt.Errorf("ring %016x, call %d: %w", x.Ring, x.First, err)
	}
	return nil
}

// addBlock takes a block of a ring, if all of it is sound.
func (s *Store) addBlock(r *Ring, b *section.Block) error {
	ticks, err := r.checkBlock(b)
	if err != nil {
		return err
	}
	for _, site := range b.Sites {
		if _, defined := r.Process.local[site.Path]; !defined && site.Path != 0 {
			return fmt.Errorf("call path %d is not defined", site.Path)
		}
	}
	if b.Rows > 0 {
		s.takeRows(r, b)
		r.ticks = ticks
	}
	if len(b.Collectives) > 0 {
		r.Collectives = append(r.Collectives, collectivesOf(b))
	}
	if len(b.Marks) > 0 {
		r.takeMarks(b)
	}
	r.Gaps.Before = append(r.Gaps.Before, b.GapsBefore...)
	r.Gaps.Inside = append(r.Gaps.Inside, b.GapsInside...)
	return nil
}

// checkBlock validates a block and returns the ring's ticks with it.
func (r *Ring) checkBlock(b *section.Block) (ticks uint64, err error) {
	switch {
	case r.End != nil:
		return 0, errors.New("the ring has ended")
	case b.First != r.Calls:
		return 0, fmt.Errorf("it follows call %d", int64(r.Calls)-1)
	case b.Rows > 0 && b.Origin > maxTicks:
		return 0, errTicks
	case len(b.Collectives) > 0 && b.First+uint64(b.Rows) > math.MaxUint32:
		return 0, fmt.Errorf("a collective behind row %d", uint32(math.MaxUint32))
	case b.Unfinished && b.Rows == 0:
		return 0, errors.New("it ends inside a call, and has none")
	}
	for _, site := range b.Sites {
		if !mpicall.ID(site.Function).Known() {
			return 0, fmt.Errorf("unknown MPI function %d", site.Function)
		}
	}
	if ticks, err = sumTicks(r.ticks, b); err != nil {
		return 0, err
	}
	for _, row := range b.Paused {
		if _, without := slices.BinarySearch(b.NoBurst, row); !without {
			return 0, fmt.Errorf("row %d is paused and has a burst", row)
		}
	}
	for _, polls := range b.Polls {
		if polls < 2 || polls > maxPolls {
			return 0, fmt.Errorf("a run of %d polls", polls)
		}
	}
	for i := range b.Collectives {
		if err := r.Process.checkCollective(&b.Collectives[i]); err != nil {
			return 0, err
		}
	}
	if err := r.checkMarksOf(b); err != nil {
		return 0, err
	}
	return ticks, r.checkGaps(b)
}

var errTicks = errors.New("its ticks overflow")

// sumTicks adds the block's ticks to a sum.
func sumTicks(sum uint64, b *section.Block) (uint64, error) {
	for i := range b.Rows {
		burst, call := b.Burst[i], b.Call[i]
		if burst > maxTicks-sum || call > maxTicks-sum-burst {
			return 0, errTicks
		}
		sum += burst + call
	}
	if b.Rows > 0 && sum > maxTicks-b.Origin {
		return 0, errTicks
	}
	return sum, nil
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

func (r *Ring) checkMarksOf(b *section.Block) error {
	if len(b.Marks) == 0 {
		return nil
	}
	if b.FirstMark != r.marks {
		return fmt.Errorf("mark %d follows mark %d", b.FirstMark, int64(r.marks)-1)
	}
	last := uint64(0)
	for i := range b.Marks {
		m := &b.Marks[i]
		if m.Ticks > maxTicks || m.Ticks < last {
			return fmt.Errorf("mark %d: %w", b.FirstMark+uint64(i), errTicks)
		}
		if _, known := r.Process.names[m.Name]; !known && m.Name != 0 {
			return fmt.Errorf("mark %d: name %d is not defined", b.FirstMark+uint64(i), m.Name)
		}
		last = m.Ticks
	}
	return nil
}

// checkGaps validates rows of the ring as it is with the block.
func (r *Ring) checkGaps(b *section.Block) error {
	rows := r.Calls + uint64(b.Rows)
	for _, row := range b.GapsBefore {
		if row > rows {
			return fmt.Errorf("a gap before row %d of %d", row, rows)
		}
	}
	for _, row := range b.GapsInside {
		if row >= rows {
			return fmt.Errorf("a gap in row %d of %d", row, rows)
		}
	}
	return nil
}

// takeRows makes a chunk of the block's rows.
func (s *Store) takeRows(r *Ring, b *section.Block) {
	numbers := make([]uint32, len(b.Sites))
	for i, site := range b.Sites {
		numbers[i] = s.paths.number(r.Process, mpicall.ID(site.Function), site.Path)
	}
	c := Chunk{
		Origin: b.Origin, Burst: slices.Clone(b.Burst[:b.Rows]), Call: slices.Clone(b.Call[:b.Rows]), Path: make([]uint32, b.Rows),
		NoBurst: slices.Clone(b.NoBurst), Paused: slices.Clone(b.Paused), Unfinished: b.Unfinished,
		PollsRow: slices.Clone(b.PollsRow), Polls: slices.Clone(b.Polls), NoCounts: slices.Clone(b.NoCounts),
	}
	for i, site := range b.Site[:b.Rows] {
		c.Path[i] = numbers[site]
	}
	for k := range b.Events {
		c.Counts = append(c.Counts, section.Without(b.Counts[k][:b.Rows], b.NoCounts))
	}
	if r.Calls == 0 {
		r.origin = b.Origin
	}
	r.Chunks = append(r.Chunks, c)
	r.Calls += uint64(b.Rows)
	s.totals.Calls += uint64(b.Rows)
	for _, n := range b.Polls {
		s.totals.Calls += n - 1
	}
	s.totals.Bursts += uint64(b.Rows - len(b.NoBurst))
}

func collectivesOf(b *section.Block) Collectives {
	var x Collectives
	for i := range b.Collectives {
		c := &b.Collectives[i]
		x.Row, x.Comm = append(x.Row, uint32(b.First)+c.Row), append(x.Comm, c.Comm)
		x.Ordinal, x.Root = append(x.Ordinal, c.Ordinal), append(x.Root, c.Root)
		x.Sent, x.Received = append(x.Sent, c.Sent), append(x.Received, c.Received)
	}
	return x
}

func (r *Ring) takeMarks(b *section.Block) {
	m := MarkChunk{Origin: b.Marks[0].Ticks}
	last := m.Origin
	for i := range b.Marks {
		x := &b.Marks[i]
		m.Ticks, last = append(m.Ticks, x.Ticks-last), x.Ticks
		m.What, m.Name = append(m.What, moriensv1.Marks_What(x.What)), append(m.Name, r.Process.names[x.Name]) // 0 for 0
		if x.What == section.Event {
			m.Value = append(m.Value, x.Value)
		}
	}
	r.Marks = append(r.Marks, m)
	r.marks += uint64(len(b.Marks))
}
