package pin

import (
	"hash/fnv"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/period"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/internal/anchor"
)

// A sight is what a rank did recently.
type sight struct {
	rank    int32
	thread  period.Thread
	pairs   []pair   // of the places of the calls round bursts
	calls   []uint32 // per symbol: its pair's number
	rows    []uint32 // per burst: the call after it
	last    uint32   // row after the last
	meeting []store.Meeting
}

type pair struct{ before, after uint32 }

// newSight takes the last bursts of a ring. Their symbols are those of the end of the run, as far as one rank shows:
// the places of the calls round a burst, and its cluster among these bursts.
func newSight(v store.RingView, places []uint32, meetings []store.Meeting, o grouping.Options) (*sight, error) {
	s := &sight{rank: v.Ring.Process.Info.Rank, meeting: meetings}
	bursts := s.take(v, places)
	for _, m := range meetings {
		at, _ := slices.BinarySearch(s.rows, m.Row+1) // of the burst that ends with the meeting's call, the next one
		if len(s.rows) > 0 && m.Row >= s.rows[0] {
			s.thread.Anchors = append(s.thread.Anchors, int32(at))
		}
	}
	o, _ = o.Choose(bursts.CounterNames)
	o.Workers, o.Stop = 1, nil
	clusters, err := grouping.Compute(bursts, o)
	if err != nil {
		return nil, err
	}
	type symbol struct {
		pair
		cluster int32
	}
	symbols, pairs := make(map[symbol]uint32), make(map[pair]uint32)
	for k, cluster := range clusters.Labels {
		x := symbol{pair{bursts.Before[k], bursts.After[k]}, cluster}
		number, known := symbols[x]
		if !known {
			call, known := pairs[x.pair]
			if !known {
				call = uint32(len(s.pairs))
				pairs[x.pair] = call
				s.pairs = append(s.pairs, x.pair)
			}
			number = uint32(len(s.calls))
			symbols[x] = number
			s.calls = append(s.calls, call)
		}
		s.thread.Symbols = append(s.thread.Symbols, number)
	}
	return s, nil
}

// take takes the columns of the last bursts.
func (s *sight) take(v store.RingView, places []uint32) grouping.Bursts {
	first, row := len(v.Chunks), 0
	for bursts := 0; first > 0 && bursts < recentBursts; {
		first--
		bursts += len(v.Chunks[first].Path) - len(v.Chunks[first].NoBurst)
	}
	for _, c := range v.Chunks[:first] {
		row += len(c.Path)
	}
	var b grouping.Bursts
	b.CounterNames = v.Ring.Process.Info.Events
	b.Counters = make([][]int64, len(b.CounterNames))
	var before uint32
	origin := uint64(0)
	for i, c := range v.Chunks[first:] {
		if i == 0 {
			origin = c.Origin
		}
		counts := make([][]int64, len(b.Counters))
		for event := range counts {
			counts[event] = c.Column(event)
		}
		ticks, noBurst := c.Origin, c.NoBurst
		for k, number := range c.Path {
			path := places[number]
			if len(noBurst) > 0 && int(noBurst[0]) == k {
				noBurst = noBurst[1:]
			} else {
				ns := int64(float64(c.Burst[k]) * v.NSPerTick)
				s.thread.BeginNS = append(s.thread.BeginNS, int64(float64(ticks-origin)*v.NSPerTick))
				s.thread.DurationNS, b.DurationNS = append(s.thread.DurationNS, ns), append(b.DurationNS, ns)
				b.Before, b.After = append(b.Before, before), append(b.After, path)
				for event, column := range counts {
					b.Counters[event] = append(b.Counters[event], max(column[k], space.NotRead))
				}
				s.rows = append(s.rows, uint32(row))
			}
			before = path
			ticks += c.Burst[k] + c.Call[k]
			row++
		}
	}
	s.last = uint32(row)
	return b
}

// kind is the same for iterations with the same calls from the same places.
func (s *sight) kind(from, to int32) uint64 {
	pairs := make([]uint64, 0, to-from)
	for _, symbol := range s.thread.Symbols[from:to] {
		p := s.pairs[s.calls[symbol]]
		pairs = append(pairs, uint64(p.before)<<32|uint64(p.after))
	}
	slices.Sort(pairs)
	h := fnv.New64a()
	for _, pair := range slices.Compact(pairs) {
		for shift := 0; shift < 64; shift += 8 {
			h.Write([]byte{byte(pair >> shift)})
		}
	}
	return h.Sum64()
}

// windows are the windows of full detail that hold bursts, as far as anchors show, mostWindows and one at most: of
// those that were cut by time the first parts.
func (s *sight) windows(from, to int32) []anchor.ID {
	behind := s.last
	if int(to) < len(s.rows) {
		behind = s.rows[to]
	}
	// The window of a row is the one after the meetings before it.
	had := func(row uint32) uint64 {
		i, _ := slices.BinarySearchFunc(s.meeting, row, func(m store.Meeting, row uint32) int { return int(int64(m.Row) - int64(row)) })
		if i == 0 {
			return s.meeting[0].Total - 1
		}
		return s.meeting[i-1].Total
	}
	var list []anchor.ID
	for n := had(s.rows[from]); n <= had(behind-1) && len(list) <= mostWindows; n++ {
		if w := anchor.After(n); len(list) == 0 || list[len(list)-1] != w {
			list = append(list, w)
		}
	}
	return list
}
