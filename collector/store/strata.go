package store

import "math"

// A Stratum is the bursts of a chunk between calls from the same two places: from these live clusters are sampled.
type Stratum struct {
	Before, After uint32 // places (Store.Places) of the calls round them; Before is 0 for what a thread begins with
	Bursts        uint32
	Row           uint32 // of one of them, as a chance has it that depends on the chunk alone
	Longest       uint32 // row of the first one of the longest
	Ticks         uint64 // of all of them
}

// timedRows is after how many rows a chunk says when it was.
const timedRows = 128

// Start is when the burst before a row's call starts, in ticks.
func (c *Chunk) Start(row int) uint64 {
	at, from := c.Origin, 0
	if k := row / timedRows; k > 0 {
		at, from = c.starts[k-1], k*timedRows
	}
	for i := from; i < row; i++ {
		at += c.Burst[i] + c.Call[i]
	}
	return at
}

// End is when the last call of the chunk ends, in ticks.
func (c *Chunk) End() uint64 { return c.Origin + c.Span }

// Bursts is how many it has.
func (c *Chunk) Bursts() int { return len(c.Path) - len(c.NoBurst) }

// A summer sums chunks up. It has room for one at a time.
type summer struct {
	strata []summed
	latest []uint32 // per place: the number of the latest stratum before a call from it; 0 = none yet
	table  []uint32 // by hash: the number of a stratum
	used   []uint32 // entries of the table
}

// summed is a stratum of a chunk that is summed up.
type summed struct {
	Stratum
	longest uint64 // ticks
}

// sum sums up what a chunk has, which follows a call from a place.
func (s *summer) sum(c *Chunk, before uint32, places []uint32) {
	rows := len(c.Path)
	s.begin(rows, len(places))
	c.starts = make([]uint64, 0, (rows-1)/timedRows)
	chance := uint32(mix(c.Origin) % uint64(rows))
	bursts, calls := c.Burst[:rows], c.Call[:rows]
	noBurst, none := c.NoBurst, rows // rows without a burst, and the first of them
	if len(noBurst) > 0 {
		none = int(noBurst[0])
	}
	at, mpi, latest := c.Origin, uint64(0), s.latest[:len(places)]
	strata := s.strata
	for row, path := range c.Path {
		if row%timedRows == 0 && row > 0 {
			c.starts = append(c.starts, at)
		}
		burst, call, after := bursts[row], calls[row], places[path]
		at += burst + call
		mpi += call
		if row == none {
			none, before = rows, after
			if noBurst = noBurst[1:]; len(noBurst) > 0 {
				none = int(noBurst[0])
			}
			continue
		}
		x := &strata[latest[after]]
		if x.Before != before {
			latest[after] = s.find(before, after, uint32(row))
			strata = s.strata
			x = &strata[latest[after]]
		}
		x.Bursts++
		x.Ticks += burst
		if x.Row < chance {
			x.Row = uint32(row)
		}
		if burst > x.longest {
			x.longest, x.Longest = burst, uint32(row)
		}
		before = after
	}
	c.MPI, c.Span = mpi, at-c.Origin
	c.Strata = make([]Stratum, len(s.strata)-1)
	for i := range c.Strata {
		c.Strata[i] = s.strata[i+1].Stratum
		c.Computing += c.Strata[i].Ticks
	}
}

// begin has room for so many rows and places. The first stratum is none: it is between no calls.
func (s *summer) begin(rows, places int) {
	for _, k := range s.used {
		s.table[k] = 0
	}
	for i := range s.strata {
		s.latest[s.strata[i].After] = 0
	}
	if len(s.latest) < places {
		s.latest = make([]uint32, 2*places)
	}
	s.used = s.used[:0]
	if len(s.table) < 2*rows {
		size := 1 << 10
		for size < 2*rows {
			size *= 2
		}
		s.table = make([]uint32, size)
	}
	s.strata = append(s.strata[:0], summed{Stratum: Stratum{Before: math.MaxUint32}})
}

// find is the number of a stratum, which has a burst in a row if it is new.
func (s *summer) find(before, after, row uint32) uint32 {
	mask := uint32(len(s.table) - 1)
	k := uint32(mix(uint64(before)<<32|uint64(after))) & mask
	for ; s.table[k] != 0; k = (k + 1) & mask {
		if x := &s.strata[s.table[k]]; x.Before == before && x.After == after {
			return s.table[k]
		}
	}
	number := uint32(len(s.strata))
	s.strata = append(s.strata, summed{Stratum: Stratum{Before: before, After: after, Row: row, Longest: row}})
	s.table[k], s.used = number, append(s.used, k)
	return number
}

// mix spreads a number over all bits (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// addChunk takes a chunk of a ring, and sums it up.
func (s *Store) addChunk(r *Ring, c *Chunk) {
	if !r.Process.CallsOnNode() { // of others nothing is asked while the job runs
		before := uint32(0)
		if n := len(r.Chunks); n > 0 {
			path := r.Chunks[n-1].Path
			before = s.paths.lead[path[len(path)-1]]
		}
		s.summer.sum(c, before, s.paths.lead)
	}
	r.Chunks = append(r.Chunks, *c)
	r.Calls += uint64(len(c.Path))
	s.totals.Calls += uint64(len(c.Path))
	for _, n := range c.Polls {
		s.totals.Calls += n - 1
	}
	s.totals.Bursts += uint64(c.Bursts())
}
