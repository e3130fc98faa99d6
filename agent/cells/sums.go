package cells

import (
	"moriens/analysis/moment"
	"moriens/analysis/phase"
	"moriens/analysis/profile"
)

// sums are level 1 of one ring: exact sums of its bursts by the site of the call that ends them, by unit and by where
// they count, and of its MPI calls by site and by where they count.
type sums struct {
	number map[sumKey]int32
	keys   []sumKey
	times  []moment.Sum
	counts []moment.Sum // per row one for each of the process's events
	cuts   [][]cutPart  // per row of bursts that borders cut; nil of others
	calls  callSums
	// recent remembers rows by some bits of their key: the same few recur, and a map costs ten times as much.
	recent [256]int32
}

// A sumKey says whose sum a row is: unitShort and unitMissing are units here.
type sumKey struct{ site, unit, in uint32 }

// A cutPart is what one path has of records that borders cut.
type cutPart struct {
	path   int32
	ns     int64
	counts []int64 // of bursts, by event
}

// callSums are MPI calls of a site, by where they count.
type callSums struct {
	number map[callKey]int32
	keys   []callKey
	rows   []callSum
	recent [64]int32
}

type callKey struct{ site, in uint32 }

// A callSum is MPI calls: more than there are records, where these are runs of polls.
type callSum struct {
	calls uint64
	time  moment.Sum
	cuts  []cutPart
}

func newSums() sums {
	return sums{number: make(map[sumKey]int32), calls: callSums{number: make(map[callKey]int32)}}
}

// bytes is about what the sums take of memory.
func (s *sums) bytes() int64 {
	bytes := int64(cap(s.keys))*12 + int64(cap(s.times)+cap(s.counts))*56 + int64(cap(s.cuts))*24 + int64(len(s.keys))*36 + int64(cap(s.calls.rows))*(88+8+28)
	for _, list := range s.cuts {
		for i := range list {
			bytes += 40 + 8*int64(cap(list[i].counts))
		}
	}
	return bytes
}

// add takes in a burst.
func (s *sums) add(key sumKey, x *burst) {
	recent := &s.recent[slot(key.site*31+key.in, key.unit)%uint32(len(s.recent))]
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
	if len(x.cuts) > 0 {
		s.cuts[row] = addCuts(s.cuts[row], x.cuts, x.counts)
	}
}

// addCuts adds the cuts of a record to the parts of paths.
func addCuts(parts []cutPart, cuts []phase.Cut, counts []int64) []cutPart {
	at := make([]int, len(cuts))
	for i, c := range cuts {
		k := 0
		for k < len(parts) && parts[k].path != c.Path {
			k++
		}
		if k == len(parts) {
			parts = append(parts, cutPart{c.Path, 0, make([]int64, len(counts))})
		}
		parts[k].ns += c.NS
		at[i] = k
	}
	for event, v := range counts {
		if v != noCount {
			profile.ShareCount(v, cuts, func(cut int, part int64) { parts[at[cut]].counts[event] += part })
		}
	}
	return parts
}

func (s *sums) row(key sumKey, events int) int32 {
	row, known := s.number[key]
	if !known {
		row = int32(len(s.keys))
		s.number[key] = row
		s.keys, s.times, s.cuts = append(s.keys, key), append(s.times, moment.Sum{}), append(s.cuts, nil)
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
	s.keys[row], s.times[row], s.cuts[row] = s.keys[last], s.times[last], s.cuts[last]
	copy(s.counts[int(row)*events:][:events], s.counts[int(last)*events:])
	s.number[s.keys[row]] = row
	delete(s.number, key)
	s.cuts[last] = nil
	s.keys, s.times, s.cuts, s.counts = s.keys[:last], s.times[:last], s.cuts[:last], s.counts[:int(last)*events]
}

// add takes in a record of so many calls.
func (s *callSums) add(key callKey, calls uint64, ns int64, cuts []phase.Cut) {
	recent := &s.recent[slot(key.site, key.in)%uint32(len(s.recent))]
	row := *recent
	if int(row) >= len(s.keys) || s.keys[row] != key {
		var known bool
		if row, known = s.number[key]; !known {
			row = int32(len(s.keys))
			s.number[key] = row
			s.keys, s.rows = append(s.keys, key), append(s.rows, callSum{})
		}
		*recent = row
	}
	x := &s.rows[row]
	x.calls += calls
	x.time.Add(ns)
	if len(cuts) > 0 {
		x.cuts = addCuts(x.cuts, cuts, nil)
	}
}
