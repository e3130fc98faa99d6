package section

import "slices"

// Part makes p some rows of b, from ≤ row < to, with their collectives; it has neither marks nor gaps.
func (b *Block) Part(p *Block, from, to int) {
	p.Empty()
	p.Ring, p.First, p.Origin, p.Unfinished = b.Ring, b.First+uint64(from), b.Origin, b.Unfinished && to == b.Rows
	for i := range from {
		p.Origin += b.Burst[i] + b.Call[i]
	}
	p.Grow(to-from, b.Events)
	numbers := make([]int, len(b.Sites)) // plus 1
	for row, site := range b.Site[from:to] {
		if numbers[site] == 0 {
			p.Sites = append(p.Sites, b.Sites[site])
			numbers[site] = len(p.Sites)
		}
		p.Site[row] = uint16(numbers[site] - 1)
	}
	copy(p.Burst, b.Burst[from:to])
	copy(p.Call, b.Call[from:to])
	for k := range b.Events {
		copy(p.Counts[k], b.Counts[k][from:to])
	}
	p.NoBurst, _ = appendPart(p.NoBurst, b.NoBurst, from, to)
	p.Paused, _ = appendPart(p.Paused, b.Paused, from, to)
	p.NoCounts, _ = appendPart(p.NoCounts, b.NoCounts, from, to)
	polls := 0
	p.PollsRow, polls = appendPart(p.PollsRow, b.PollsRow, from, to)
	p.Polls = append(p.Polls, b.Polls[polls:polls+len(p.PollsRow)]...)
	for _, x := range b.NotRead {
		if row := int(x.Row); row >= from && row < to {
			p.NotRead = append(p.NotRead, NotRead{x.Row - uint32(from), x.Event})
		}
	}
	for _, c := range b.Collectives {
		if row := int(c.Row); row >= from && row < to {
			c.Row -= uint32(from)
			p.Collectives = append(p.Collectives, c)
		}
	}
}

// PartOfMarks gives p some of the marks of b, from ≤ i < to, before which so many are Counted. It returns how many of
// these are.
func (b *Block) PartOfMarks(p *Block, from, to, before int) (counted int) {
	p.Marks = append(p.Marks, b.Marks[from:to]...)
	for i := range p.Marks {
		if p.Marks[i].Counted {
			counted++
		}
	}
	for k := 0; counted > 0 && k < len(b.MarkCounts); k++ {
		p.addMarkEvent()
		p.MarkCounts[k] = append(p.MarkCounts[k], b.MarkCounts[k][before:before+counted]...)
	}
	return counted
}

// appendPart appends those of ascending rows with from ≤ row < to, less from, and returns how many are before them.
func appendPart(dst, rows []uint32, from, to int) (list []uint32, before int) {
	before, _ = slices.BinarySearch(rows, uint32(from))
	for _, row := range rows[before:] {
		if int(row) >= to {
			break
		}
		dst = append(dst, row-uint32(from))
	}
	return dst, before
}
