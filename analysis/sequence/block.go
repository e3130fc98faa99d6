package sequence

import "math/bits"

// blockSize is how many columns and bursts a block has at most: it sees what one side has alone up to about
// half of that. A step of a burst costs blockSize/64 words.
const blockSize = 256

// rareShare is what part of the profile's threads have a label in a column at least for it to agree in a block: without
// that every column of many disturbed threads would agree with all.
const rareShare = 16

// A block finds the longest common subsequence of two short sequences of labels, with a bit per column and a step
// per burst (Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004).
type block struct {
	place  []int32 // by label: 1 + where its mask is; 0 = no column has it
	labels []int32
	masks  []uint64 // by place: the columns that have the label
	rows   []uint64 // after each burst: bit i is 0 where the common subsequence gets longer with column i
	pairs  []match
}

// common returns the matches of a longest common subsequence of columns of a profile and of bursts, last first. The
// slice lasts until the next call.
func (b *block) common(p *profile, columns, bursts []int32) []match {
	words := (len(columns) + 63) / 64
	b.masks = b.masks[:0]
	set := func(i int, label int32) {
		if b.place[label] == 0 {
			b.masks = append(b.masks, make([]uint64, words)...)
			b.place[label] = int32(len(b.masks) / words)
			b.labels = append(b.labels, label)
		}
		b.masks[int(b.place[label]-1)*words+i/64] |= 1 << (i % 64)
	}
	for i, at := range columns {
		c := &p.columns[at]
		set(i, c.label)
		for _, e := range p.othersOf(c) {
			if rareShare*e.threads >= p.threads {
				set(i, e.label)
			}
		}
	}
	b.rows = sized(b.rows, (len(bursts)+1)*words)
	row := b.rows[:words]
	for k := range row {
		row[k] = ^uint64(0)
	}
	for j, label := range bursts {
		next := b.rows[(j+1)*words : (j+2)*words]
		if place := int(b.place[label]); place == 0 {
			copy(next, row)
		} else {
			mask := b.masks[(place-1)*words : place*words][:len(row)]
			next := next[:len(row)]
			var sum, carry uint64
			for k, v := range row {
				sum, carry = bits.Add64(v, v&mask[k], carry)
				next[k] = sum | v&^mask[k]
			}
		}
		row = next
	}
	found := b.back(len(columns), bursts, words)
	for _, label := range b.labels {
		b.place[label] = 0
	}
	b.labels = b.labels[:0]
	return found
}

// back goes back from the ends: by a match where there is one, which is always on a way to a longest subsequence, or
// else past a column and a burst at once where that leads to one too, so that the two can share a column.
func (b *block) back(column int, bursts []int32, words int) []match {
	b.pairs = b.pairs[:0]
	for burst := len(bursts); column > 0 && burst > 0; {
		word, bit := (column-1)/64, uint64(1)<<((column-1)%64)
		if place := int(b.place[bursts[burst-1]]); place > 0 && b.masks[(place-1)*words+word]&bit != 0 {
			column, burst = column-1, burst-1
			b.pairs = append(b.pairs, match{int32(column), int32(burst)})
			continue
		}
		row, above := b.rows[burst*words:][:words], b.rows[(burst-1)*words:][:words]
		longer := bits.OnesCount64(above[word]&(bit-1)) - bits.OnesCount64(row[word]&(bit-1)) // with the burst, up to the column before
		for k := range word {
			longer += bits.OnesCount64(above[k]) - bits.OnesCount64(row[k])
		}
		switch {
		case row[word]&bit == 0: // not without the column
			burst--
		case longer > 0: // not without the burst
			column--
		default:
			column, burst = column-1, burst-1
		}
	}
	return b.pairs
}
