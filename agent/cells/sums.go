package cells

import "moriens/analysis/moment"

// sums are level 1 of one ring: exact sums of its bursts by the site of the call that ends them and by unit, and of its
// MPI calls by site.
type sums struct {
	number map[sumKey]int32
	keys   []sumKey
	times  []moment.Sum
	counts []moment.Sum // per row one for each of the process's events
	calls  []callSum    // by site
	// recent remembers rows by some bits of their key: the same few recur, and a map costs ten times as much.
	recent [256]int32
}

// A sumKey says whose sum a row is: unitShort and unitMissing are units here.
type sumKey struct{ site, unit uint32 }

// A callSum is MPI calls of a site: more than there are records, where these are runs of polls.
type callSum struct {
	calls uint64
	time  moment.Sum
}

func newSums() sums { return sums{number: make(map[sumKey]int32)} }

// bytes is about what the sums take of memory.
func (s *sums) bytes() int64 {
	return int64(cap(s.keys))*8 + int64(cap(s.times)+cap(s.counts))*56 + int64(len(s.keys))*32 + int64(cap(s.calls))*64
}

// add takes in a burst.
func (s *sums) add(key sumKey, x *burst) {
	recent := &s.recent[slot(key.site, key.unit)%uint32(len(s.recent))]
	row := *recent
	if int(row) >= len(s.keys) || s.keys[row] != key {
		row = s.row(key, len(x.counts))
		*recent = row
	}
	s.times[row].Add(x.ns)
	for i, v := range x.counts {
		if v != noCount {
			s.counts[int(row)*len(x.counts)+i].Add(v)
		}
	}
}

func (s *sums) row(key sumKey, events int) int32 {
	row, known := s.number[key]
	if !known {
		row = int32(len(s.keys))
		s.number[key] = row
		s.keys, s.times = append(s.keys, key), append(s.times, moment.Sum{})
		s.counts = append(s.counts, make([]moment.Sum, events)...)
	}
	return row
}

// remove forgets a row, whose place the last one takes.
func (s *sums) remove(key sumKey, events int) {
	row, known := s.number[key]
	if !known {
		return
	}
	last := int32(len(s.keys) - 1)
	s.keys[row], s.times[row] = s.keys[last], s.times[last]
	copy(s.counts[int(row)*events:][:events], s.counts[int(last)*events:])
	s.number[s.keys[row]] = row
	delete(s.number, key)
	s.keys, s.times, s.counts = s.keys[:last], s.times[:last], s.counts[:int(last)*events]
}

// addCall takes in a record of so many calls.
func (s *sums) addCall(site uint32, calls uint64, ns int64) {
	for int(site) >= len(s.calls) {
		s.calls = append(s.calls, callSum{})
	}
	s.calls[site].calls += calls
	s.calls[site].time.Add(ns)
}
