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
	path      int32
	ns        int64
	estimated int64   // of that, in bursts of which counts are shared by time
	counts    []int64 // of bursts, by event
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
			bytes += 48 + 8*int64(cap(list[i].counts))
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
		s.cuts[row] = addBurst(s.cuts[row], x)
	}
}

// partOf is the part of a path, which is added where it is missing.
func partOf(parts []cutPart, path int32, events int) ([]cutPart, int) {
	for k := range parts {
		if parts[k].path == path {
			return parts, k
		}
	}
	return append(parts, cutPart{path: path, counts: make([]int64, events)}), len(parts)
}

// addCall adds the cuts of a call to the parts of paths.
func addCall(parts []cutPart, cuts []phase.Cut) []cutPart {
	for _, c := range cuts {
		var k int
		parts, k = partOf(parts, c.Path, 0)
		parts[k].ns += c.NS
	}
	return parts
}

// addBurst adds the cuts of a burst to the parts of paths.
func addBurst(parts []cutPart, x *burst) []cutPart {
	at, events := make([]int, len(x.cuts)), len(x.counts)
	for i, c := range x.cuts {
		parts, at[i] = partOf(parts, c.Path, events)
		parts[at[i]].ns += c.NS
		if x.estimated || x.parts == nil {
			parts[at[i]].estimated += c.NS
		}
		for event := range events {
			if x.parts != nil {
				parts[at[i]].counts[event] += x.parts[i*events+event]
			}
		}
	}
	if x.parts != nil {
		return parts
	}
	for event, v := range x.counts {
		if v != noCount {
			profile.ShareCount(v, x.cuts, func(cut int, part int64) { parts[at[cut]].counts[event] += part })
		}
	}
	return parts
}

// takeApart finds out what a burst has counted in each of its cuts, by what was read at their borders, and makes one of
// the cuts of a path.
func (x *burst) takeApart(read *stretchOf) {
	if len(x.cuts) < 2 {
		return
	}
	readings := profile.Readings{NS: read.readNS}
	borders := readings.Borders(x.cuts)
	var of []int // in cuts by path
	x.cuts, of = phase.ByPath(x.cuts)
	if len(borders) == 0 {
		return
	}
	until := make([]int64, len(borders))
	x.share(func(event int, value int64, give func(cut int, part int64)) bool {
		for i, row := range borders {
			until[i] = read.read[row][event]
		}
		return profile.ShareRead(value, until, func(cut int, part int64) { give(of[cut], part) })
	})
}

// takeApartAhead is takeApart of a burst that is settled.
func (x *burst) takeApartAhead(s *settled, stream *phase.Stream) {
	if len(x.cuts) < 2 {
		return
	}
	x.share(func(event int, value int64, give func(cut int, part int64)) bool {
		return stream.Read(event, value, s.of, give)
	})
}

// share gives each of the cuts its part of what was counted, where read does for an event, else by time. Where it does
// for none, nothing changes.
func (x *burst) share(read func(event int, value int64, give func(cut int, part int64)) bool) {
	events, exact, estimated := len(x.counts), 0, false
	parts := make([]int64, len(x.cuts)*events)
	for event, v := range x.counts {
		if v == noCount {
			continue
		}
		give := func(cut int, part int64) { parts[cut*events+event] += part }
		if read(event, v, give) {
			exact++
		} else {
			estimated = true
			profile.ShareCount(v, x.cuts, give)
		}
	}
	if exact > 0 {
		x.parts, x.estimated = parts, estimated
	}
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

// row is the row of a key.
func (s *callSums) row(key callKey) int32 {
	recent := &s.recent[slot(key.site, key.in)%uint32(len(s.recent))]
	if int(*recent) < len(s.keys) && s.keys[*recent] == key {
		return *recent
	}
	row, known := s.number[key]
	if !known {
		row = int32(len(s.keys))
		s.number[key] = row
		s.keys, s.rows = append(s.keys, key), append(s.rows, callSum{})
	}
	*recent = row
	return row
}

// add takes in a record of so many calls.
func (s *callSums) add(row int32, calls uint64, ns int64) {
	x := &s.rows[row]
	x.calls += calls
	x.time.Add(ns)
}
