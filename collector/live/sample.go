package live

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"moriens/analysis/space"
	"moriens/collector/store"
)

// Of a portion with more bursts than are clustered a sample is taken. Its strata are the bursts between calls from the
// same two places, of which the store has the number and the time in each chunk. Some chunks are taken apart, spread
// over all, and runs of their rows are read; of what these hold, more of the larger strata is taken, and of the smaller
// ones a larger part. A stratum of which they hold little is taken where chunks say that it has a burst, so that none
// is lost; those chunks are taken apart as well. All else is for each chunk, and each stratum in it.
const (
	// fedBursts are clustered of a portion at most, and one of each stratum: at .35 us for each that is .7 ms a second.
	fedBursts = 2000
	// readRows are read for that, five times as many, so that also small strata get their part. Each takes 2 to 3 ns.
	readRows = 10_000
	// runRows are consecutive: with fewer, each row touches more lines of memory; with more, the sample is from fewer
	// moments.
	runRows = 64
	// apartRows are about how many rows the chunks have whose runs are read. To know which rows there are takes 4 ns for
	// each, to know the bursts in those that are taken 10 more.
	apartRows = 1 << 14
	// rareBursts is from how many on of a stratum what runs hold of it is enough.
	rareBursts = 16
	// sampleSeed makes the sample of the same chunks the same.
	sampleSeed = 0x6c697665
)

// A sampler takes samples of portions.
type sampler struct {
	portions uint64 // so far: each has its own chance
	number   map[calls]int32
	strata   []stratum // of all portions, by number; the first is none: it is between no calls
	latest   []int32   // per place: the number of the stratum before a call from it that was read last
	active   []int32   // strata of this portion
	entries  []int32   // the number of the stratum of each of its chunks' strata, one chunk after the other
	found    []burstAt // what was read
	lists    []burstAt // the same by stratum
	certain  []burstAt // that are taken by themselves
	apart    []int32   // pieces that runs are read of
	taken    []numbered
	shares   []shared
}

// A stratum is the bursts of a portion between calls from two places.
type stratum struct {
	calls
	bursts, timeNS int64
	found          int     // of them
	quota          int     // of these are taken,
	root           float64 // in this proportion
	from           int     // in lists
	rare           bool
}

// A burstAt is where a burst is.
type burstAt struct {
	piece, row, stratum int32
	ns                  int64 // how long it is, of one that is taken by itself
}

// A numbered burst is the one of a number in what has arrived.
type numbered struct {
	burstAt
	number int
}

// shared is what bursts stand for together, from one number on up to another.
type shared struct {
	from, to       int
	bursts, timeNS int64
}

func compareBursts(a, b burstAt) int {
	return cmp.Or(cmp.Compare(a.piece, b.piece), cmp.Compare(a.row, b.row))
}

func newSampler() sampler {
	return sampler{number: make(map[calls]int32), strata: []stratum{{calls: calls{before: math.MaxUint32}}}}
}

// takeSample takes a sample of what was gathered.
func (f *feed) takeSample(rows int, places []uint32, follower *follower) {
	s := &f.sampler
	random := rand.New(rand.NewPCG(sampleSeed, s.portions))
	s.portions++
	s.sum(f.pieces)
	s.read(f.pieces, s.spread(f.pieces, rows, random), places, random, &f.reader)
	s.addRare(f.pieces)
	s.list()
	s.allot()
	s.addLongest(f.pieces)
	s.taken, s.shares = s.taken[:0], s.shares[:0]
	for _, number := range s.active {
		f.takeOf(number, random, follower)
	}
	f.readTaken(follower)
	for _, x := range s.shares {
		share(f.stands[x.from:x.to], f.bursts.DurationNS[x.from:x.to], x.bursts, x.timeNS)
	}
	if follower != nil {
		for i := range f.pieces {
			follower.calls(&f.pieces[i], &f.reader)
		}
	}
}

// of is the number of a stratum.
func (s *sampler) of(c calls) int32 {
	number, known := s.number[c]
	if !known {
		number = int32(len(s.strata))
		s.number[c] = number
		s.strata = append(s.strata, stratum{calls: c})
	}
	return number
}

// sum sums up the strata.
func (s *sampler) sum(pieces []piece) {
	s.active, s.entries = s.active[:0], s.entries[:0]
	for i := range pieces {
		for _, x := range pieces[i].Strata {
			number := s.of(calls{x.Before, x.After})
			s.entries = append(s.entries, number)
			of := &s.strata[number]
			if of.bursts == 0 {
				s.active = append(s.active, number)
			}
			of.bursts += int64(x.Bursts)
			of.timeNS = min(of.timeNS+pieces[i].ns(x.Ticks), mostNS)
		}
	}
}

// spread chooses the pieces that are taken apart, and returns how many rows these have: all, or as many as there are
// rows for, each from another stretch of the rows.
func (s *sampler) spread(pieces []piece, rows int, random *rand.Rand) (apart int) {
	s.apart = s.apart[:0]
	stretches := max(1, len(pieces)*apartRows/rows)
	if rows <= apartRows {
		stretches = len(pieces)
	}
	chance, behind, next := random.Float64(), 0, 0
	for i := range pieces {
		if behind += pieces[i].Rows; stretches < len(pieces) {
			if float64(behind)*float64(stretches) <= (float64(next)+chance)*float64(rows) {
				continue
			}
			next = int(math.Ceil(float64(behind)*float64(stretches)/float64(rows) - chance))
		}
		s.apart, apart = append(s.apart, int32(i)), apart+pieces[i].Rows
	}
	return apart
}

// read finds bursts in runs of rows of the pieces that are taken apart, one at a random place in each of as many
// stretches that are equally long.
func (s *sampler) read(pieces []piece, rows int, places []uint32, random *rand.Rand, reader *store.Reader) {
	s.found = s.found[:0]
	if len(s.latest) < len(places) {
		s.latest = append(s.latest, make([]int32, len(places)-len(s.latest))...)
	}
	runs, length := readRows/runRows, runRows
	if rows <= readRows {
		runs, length = 1, rows
	}
	at, behind := 0, 0 // the piece that is read, and the row behind it
	for run := range runs {
		from, to := rows*run/runs, rows*(run+1)/runs
		from += random.IntN(to - from - length + 1)
		for to = from + length; from < to; {
			for from >= behind {
				behind += pieces[s.apart[at]].Rows
				at++
			}
			number := s.apart[at-1]
			p := &pieces[number]
			first := behind - p.Rows
			s.readRun(reader.Paths(p.Chunk), p.before, number, from-first, min(to, behind)-first, places)
			from = min(to, behind)
		}
	}
}

// readRun reads rows of a piece, which follows a call from a place.
func (s *sampler) readRun(c *store.Calls, before uint32, number int32, from, to int, places []uint32) {
	if from > 0 {
		before = places[c.Path[from-1]]
	}
	at, _ := slices.BinarySearch(c.NoBurst, uint32(from))
	noBurst := c.NoBurst[at:]
	for row := from; row < to; row++ {
		after := places[c.Path[row]]
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst, before = noBurst[1:], after
			continue
		}
		latest := s.latest[after]
		if s.strata[latest].before != before {
			latest = s.of(calls{before, after})
			s.latest[after] = latest
		}
		s.strata[latest].found++
		s.found = append(s.found, burstAt{piece: number, row: int32(row), stratum: latest})
		before = after
	}
}

// addRare adds the bursts that chunks name of strata of which the runs hold too few.
func (s *sampler) addRare(pieces []piece) {
	some := false
	for _, number := range s.active {
		x := &s.strata[number]
		x.rare = int64(x.found) < min(x.bursts, rareBursts)
		some = some || x.rare
	}
	if !some {
		return
	}
	entry := 0
	for i := range pieces {
		for _, x := range pieces[i].Strata {
			number := s.entries[entry]
			entry++
			if of := &s.strata[number]; of.rare {
				of.found += 2 // one of them may be the other, or was read: list finds out
				s.found = append(s.found, burstAt{piece: int32(i), row: int32(x.Row), stratum: number}, burstAt{piece: int32(i), row: int32(x.Longest), stratum: number})
			}
		}
	}
}

// list sorts what was found by strata.
func (s *sampler) list() {
	s.lists = slices.Grow(s.lists[:0], len(s.found))[:len(s.found)]
	from := 0
	for _, number := range s.active {
		x := &s.strata[number]
		x.from, from = from, from+x.found
		x.found = 0
	}
	for _, b := range s.found {
		x := &s.strata[b.stratum]
		s.lists[x.from+x.found] = b
		x.found++
	}
	for _, number := range s.active {
		if x := &s.strata[number]; x.rare {
			list := s.lists[x.from : x.from+x.found]
			slices.SortFunc(list, compareBursts)
			x.found = len(slices.Compact(list))
		}
	}
}

// allot says how many bursts are taken of each stratum: in the proportion of the square root of its share of the bursts
// and of their time, as far as they were found. So most are of those that have most, and those that have little have
// enough.
func (s *sampler) allot() {
	bursts, timeNS := 0., 1.
	for _, number := range s.active {
		bursts, timeNS = bursts+float64(s.strata[number].bursts), timeNS+float64(s.strata[number].timeNS)
	}
	left, roots := float64(fedBursts), 0.
	for _, number := range s.active {
		x := &s.strata[number]
		x.quota, x.root = 0, math.Sqrt(float64(x.bursts)/bursts+float64(x.timeNS)/timeNS)
		roots += x.root
	}
	for again := true; again; {
		again = false
		for _, number := range s.active {
			if x := &s.strata[number]; x.quota == 0 && float64(x.found)*roots <= left*x.root {
				x.quota, again = x.found, true
				left, roots = left-float64(x.found), roots-x.root
			}
		}
	}
	for _, number := range s.active {
		if x := &s.strata[number]; x.quota == 0 {
			x.quota = max(1, int(left*x.root/roots))
		}
	}
}

// addLongest finds the bursts that take at least twice as long as each that is taken of their stratum stands for. They
// stand for themselves alone: were one of them missed, the others would stand for its time, and were it taken as one of
// many, it would stand for time that there never was. There are at most half as many as are taken.
func (s *sampler) addLongest(pieces []piece) {
	s.certain = s.certain[:0]
	entry := 0
	for i := range pieces {
		p := &pieces[i]
		for _, x := range p.Strata {
			number := s.entries[entry]
			entry++
			of := &s.strata[number]
			enough := 2 * float64(of.timeNS) / float64(of.quota)
			if ns := p.ns(x.LongestTicks); int64(of.quota) < of.bursts && float64(ns) >= enough {
				s.certain = append(s.certain, burstAt{int32(i), int32(x.Longest), number, ns})
			}
		}
	}
	slices.SortStableFunc(s.certain, func(a, b burstAt) int { return cmp.Compare(a.stratum, b.stratum) })
}

// certainOf are those of a stratum.
func (s *sampler) certainOf(number int32) []burstAt {
	from, _ := slices.BinarySearchFunc(s.certain, number, func(b burstAt, number int32) int { return cmp.Compare(b.stratum, number) })
	to := from
	for to < len(s.certain) && s.certain[to].stratum == number {
		to++
	}
	return s.certain[from:to]
}

// takeOf takes what is allotted to a stratum, and makes it ready for the next portion.
func (f *feed) takeOf(number int32, random *rand.Rand, follower *follower) {
	s := &f.sampler
	x := &s.strata[number]
	list, certain := s.lists[x.from:x.from+x.found], s.certainOf(number)
	others := slices.DeleteFunc(list, func(b burstAt) bool {
		_, is := slices.BinarySearchFunc(certain, b, compareBursts)
		return is
	})
	bursts, timeNS := x.bursts, x.timeNS
	if len(others) == 0 {
		others, certain = certain, nil // nothing else would stand for the others
	}
	for _, b := range certain {
		f.takeBurst(b, x, stand{1, b.ns}, follower)
		bursts, timeNS = bursts-1, max(0, timeNS-b.ns)
	}
	first := len(f.stands)
	take := min(max(1, x.quota-len(certain)), len(others))
	for i, b := range others {
		if left := len(others) - i; left == take || random.IntN(left) < take {
			f.takeBurst(b, x, stand{}, follower)
			if take--; take == 0 {
				break
			}
		}
	}
	s.shares = append(s.shares, shared{first, len(f.stands), bursts, timeNS})
	*x = stratum{calls: x.calls}
}

// share divides bursts, and the time that they take, between those that stand for them. The sums are exact; the time is
// divided in the proportion of how long each takes.
func share(stands []stand, durationNS []int64, bursts, timeNS int64) {
	n, all := int64(len(stands)), 0.
	for i := range stands {
		stands[i].bursts = (int64(i)+1)*bursts/n - int64(i)*bursts/n
		all += float64(stands[i].bursts) * float64(durationNS[i])
	}
	upTo, given := 0., int64(0)
	for i := range stands {
		part := float64(i+1) / float64(n)
		if all > 0 {
			upTo += float64(stands[i].bursts) * float64(durationNS[i])
			part = upTo / all
		}
		next := min(timeNS, int64(float64(timeNS)*part))
		if i == len(stands)-1 {
			next = timeNS
		}
		stands[i].timeNS, given = next-given, next
	}
}

// takeBurst takes one burst, which is read later.
func (f *feed) takeBurst(b burstAt, x *stratum, of stand, follower *follower) {
	f.sampler.taken = append(f.sampler.taken, numbered{b, len(f.stands)})
	f.bursts.DurationNS = append(f.bursts.DurationNS, 0)
	f.bursts.Before, f.bursts.After = append(f.bursts.Before, x.before), append(f.bursts.After, x.after)
	f.stands = append(f.stands, of)
	for column := range f.bursts.Counters {
		f.bursts.Counters[column] = append(f.bursts.Counters[column], space.NotRead)
	}
	if follower != nil {
		f.moments = append(f.moments, moment{})
	}
}

// readTaken reads the bursts that were taken, piece by piece.
func (f *feed) readTaken(follower *follower) {
	list := f.sampler.taken
	slices.SortFunc(list, func(a, b numbered) int { return compareBursts(a.burstAt, b.burstAt) })
	for len(list) > 0 {
		p, n := &f.pieces[list[0].piece], 1
		for n < len(list) && list[n].piece == list[0].piece {
			n++
		}
		f.readBursts(p, f.reader.Calls(p.Chunk), list[:n], follower)
		list = list[n:]
	}
}

// readBursts reads some bursts of a chunk, in the order of its rows.
func (f *feed) readBursts(p *piece, c *store.Calls, list []numbered, follower *follower) {
	m, row, at := f.moment(p), int32(0), p.Origin
	if follower != nil {
		m.fromNS, m.toNS, m.known = follower.stretch(p)
	}
	whole := m.known
	for _, x := range list {
		f.bursts.DurationNS[x.number] = p.ns(c.Burst[x.row])
		for event, column := range p.columns {
			f.bursts.Counters[column][x.number] = max(c.Counts[event][x.row], space.NotRead)
		}
		if follower == nil {
			continue
		}
		for ; row < x.row; row++ {
			at += c.Burst[row] + c.Call[row]
		}
		m.startNS, m.known = line{p.view, follower.zeroNS}.at(at)
		if !whole {
			m.fromNS, m.toNS = m.startNS, m.startNS
		}
		f.moments[x.number] = m
	}
}
