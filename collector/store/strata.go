package store

import (
	"math"

	"moriens/internal/index"
	"moriens/internal/mix"
	"moriens/internal/section"
)

// A Stratum is the bursts of a chunk between calls from the same two places: from these live clusters are sampled.
type Stratum struct {
	Before, After uint32 // places (Store.Places) of the calls round them; Before is 0 for what a thread begins with
	Ticks         uint64 // of all of them
	LongestTicks  uint64 // of the longest
	Longest       uint16 // row of the first one of the longest
	Row           uint16 // of one of them, as a chance has it that depends on the chunk alone
	Bursts        uint16
}

// A summer sums chunks up. It has room for one at a time.
type summer struct {
	strata []Stratum
	latest []uint16    // per site: the number of the latest stratum before a call from it; 0 = none yet
	of     []uint16    // per row: the stratum of the burst before it; 0 = of none
	number index.Index // of a stratum, by what it is between
}

// sum finds the strata of a chunk of a block's rows, whose bursts are sorted by sites, and the ticks of all its bursts.
// It follows a call from a place; places are those of its sites.
func (s *summer) sum(b *section.Block, before uint32, places []uint32, rows []uint16, burst []uint64) (strata []Stratum, computing uint64) {
	s.begin(b.Rows, len(places))
	s.divide(b, before, places)
	all := s.strata
	for i, row := range rows {
		x, ticks := &all[s.of[row]], burst[i]
		x.Ticks += ticks
		if ticks > x.LongestTicks || ticks == x.LongestTicks && row < x.Longest {
			x.LongestTicks, x.Longest = ticks, row
		}
	}
	strata = append(make([]Stratum, 0, len(all)-1), all[1:]...)
	for i := range strata {
		computing += strata[i].Ticks
	}
	return strata, computing
}

// divide finds of which stratum each burst is.
func (s *summer) divide(b *section.Block, before uint32, places []uint32) {
	chance := uint16(mix.Bits(b.Origin) % uint64(b.Rows))
	noBurst, none := b.NoBurst, b.Rows // rows without a burst, and the first of them
	if len(noBurst) > 0 {
		none = int(noBurst[0])
	}
	strata, latest, of := s.strata, s.latest[:len(places)], s.of[:b.Rows]
	for row, site := range b.Site[:b.Rows] {
		after := places[site]
		if row == none {
			if noBurst, none = noBurst[1:], b.Rows; len(noBurst) > 0 {
				none = int(noBurst[0])
			}
			of[row], before = 0, after
			continue
		}
		number := latest[site]
		if strata[number].Before != before {
			number = s.find(before, after, uint16(row))
			latest[site], strata = number, s.strata
		}
		of[row] = number
		x := &strata[number]
		x.Bursts++
		if x.Row < chance {
			x.Row = uint16(row)
		}
		before = after
	}
}

// begin has room for so many rows and sites. The first stratum is none: it is between no calls.
func (s *summer) begin(rows, sites int) {
	if len(s.of) < rows {
		s.of = make([]uint16, rows)
	}
	if len(s.latest) < sites {
		s.latest = make([]uint16, sites)
	}
	clear(s.latest[:sites])
	s.number.Clear()
	s.strata = append(s.strata[:0], Stratum{Before: math.MaxUint32})
}

// find is the number of a stratum, which has a burst in a row if it is new.
func (s *summer) find(before, after uint32, row uint16) uint16 {
	key := index.Spread(uint64(before)<<32 | uint64(after))
	n, known := s.number.Get(key, nil)
	if !known {
		n = uint32(len(s.strata))
		s.strata = append(s.strata, Stratum{Before: before, After: after, Row: row, Longest: row})
		s.number.Put(key, n)
	}
	return uint16(n)
}
