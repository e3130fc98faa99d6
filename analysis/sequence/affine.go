package sequence

// The weights of an alignment. A match counts for the share of the profile's threads that do the same, times
// its label's gain: matchGain, and shareGain more in proportion to the label's share of the time. No gap costs
// as much as the least match of half the threads gives.
const (
	matchGain = 64
	shareGain = 1024
	gapOpen   = 16
	gapExtend = 1
)

// weigh finds what a match of each label gains.
func (a *aligner) weigh() {
	a.gain = make([]int64, a.Count)
	var total int64
	for _, l := range a.labels {
		total += l.TimeNS
	}
	for i, l := range a.labels {
		a.gain[i] = matchGain
		if l.TimeNS > 0 {
			a.gain[i] += int64(shareGain * (float64(l.TimeNS) / float64(total)))
		}
	}
}

// affine aligns a stretch of a profile and of a piece with affine gaps.
type affine struct {
	pair, skip, insert []int64 // best of the row above, by what its last step did
	from               []uint8 // per cell: where the best of each of the three comes from, two bits each
}

// What the last step to a cell did.
const (
	pairs   = iota // the burst belongs to the column
	skips          // the column has no burst of the piece
	inserts        // the burst has a column of its own
)

const never = int64(-1 << 60)

// align writes to at the columns of the stretch's bursts. Where several alignments are best it takes pairs
// before gaps and skipped columns before inserted bursts, from the end.
func (f *affine) align(a *aligner, p *profile, labels []int32, s stretch, at []int32) {
	rows, width := s.lastBurst-s.burst, s.lastColumn-s.column+1
	f.pair, f.skip, f.insert = sized(f.pair, width), sized(f.skip, width), sized(f.insert, width)
	f.from = sized(f.from, (rows+1)*width)
	f.pair[0], f.skip[0], f.insert[0] = 0, never, never
	for j := 1; j < width; j++ {
		f.pair[j], f.insert[j] = never, never
		f.skip[j] = -gapOpen - gapExtend*int64(j)
		f.from[j] = skips << (2 * skips)
		if j == 1 {
			f.from[j] = pairs << (2 * skips)
		}
	}
	for i := 1; i <= rows; i++ {
		label := labels[s.burst+i-1]
		gain := a.gain[label]
		from := f.from[i*width : (i+1)*width]
		diagonal, was := best(f.pair[0], f.skip[0], f.insert[0]) // of the row above, a column to the left
		value, by := best(f.pair[0]-gapOpen, f.skip[0]-gapOpen, f.insert[0])
		f.pair[0], f.skip[0], f.insert[0] = never, never, value-gapExtend
		from[0] = by << (2 * inserts)
		for j := 1; j < width; j++ {
			c := &p.columns[s.column+j-1]
			paired := diagonal
			pairedBy := was
			if n := p.threadsWith(c, label); n > 0 {
				paired += gain * n / p.threads
			}
			diagonal, was = best(f.pair[j], f.skip[j], f.insert[j])
			inserted, insertedBy := best(f.pair[j]-gapOpen, f.skip[j]-gapOpen, f.insert[j])
			skipped, skippedBy := best(f.pair[j-1]-gapOpen, f.skip[j-1], f.insert[j-1]-gapOpen)
			f.pair[j], f.skip[j], f.insert[j] = paired, skipped-gapExtend, inserted-gapExtend
			from[j] = pairedBy | skippedBy<<(2*skips) | insertedBy<<(2*inserts)
		}
	}
	_, step := best(f.pair[width-1], f.skip[width-1], f.insert[width-1])
	for i, j := rows, width-1; i > 0 || j > 0; {
		from := f.from[i*width+j] >> (2 * step) & 3
		switch step {
		case pairs:
			i, j = i-1, j-1
			at[s.burst+i] = int32(s.column + j)
		case skips:
			j--
		case inserts:
			i--
		}
		step = from
	}
}

func best(pair, skip, insert int64) (value int64, by uint8) {
	value, by = pair, pairs
	if skip > value {
		value, by = skip, skips
	}
	if insert > value {
		value, by = insert, inserts
	}
	return value, by
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
