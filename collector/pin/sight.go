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

// A source is where rows are read.
type source struct {
	view   *store.RingView
	reader *store.Reader
	places []uint32
}

// newSight takes so many rows of a ring. Their symbols are those of the end of the run, as far as one rank shows: the
// places of the calls round a burst, and its cluster among these bursts.
func newSight(of source, meetings []store.Meeting, from cursor, rows int, o grouping.Options) (*sight, error) {
	s := &sight{rank: of.view.Ring.Process.Info.Rank, meeting: meetings}
	bursts := s.take(of, from, rows)
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

// phases are those of the bursts. Where few bursts have many clusters by noise, iterations show in the calls alone.
func (s *sight) phases() ([]period.Phase, error) {
	found, err := period.Find([]period.Thread{s.thread}, period.Options{Workers: 1, Calls: s.calls})
	if err != nil || slices.ContainsFunc(found.Phases, func(x period.Phase) bool { return iterationsOf(&x) != nil }) {
		return found.Phases, err
	}
	calls := s.thread
	calls.Symbols = make([]uint32, len(s.thread.Symbols))
	for i, symbol := range s.thread.Symbols {
		calls.Symbols[i] = s.calls[symbol]
	}
	if found, err = period.Find([]period.Thread{calls}, period.Options{Workers: 1}); err != nil {
		return nil, err
	}
	return found.Phases, nil
}

// take takes the columns of the bursts in so many rows.
func (s *sight) take(of source, from cursor, rows int) grouping.Bursts {
	v, d, places := of.view, of.reader, of.places
	var b grouping.Bursts
	b.CounterNames = v.Ring.Process.Info.Events
	b.Counters = make([][]int64, len(b.CounterNames))
	before := placeBefore(v, d, places, from)
	row, ticks := from.row, ticksAt(v, d, from)
	origin := ticks
	for i := range v.Chunks[from.chunk:] {
		if int(row-from.row) == rows {
			break
		}
		chunk := &v.Chunks[from.chunk+i]
		c := d.Calls(chunk)
		first := 0
		if i == 0 {
			first = from.k
		} else {
			ticks = chunk.Origin
		}
		noBurst := c.NoBurst
		for len(noBurst) > 0 && int(noBurst[0]) < first {
			noBurst = noBurst[1:]
		}
		for k := first; k < len(c.Path); k++ {
			if int(row-from.row) == rows {
				s.last = row
				return b
			}
			path := places[c.Path[k]]
			if len(noBurst) > 0 && int(noBurst[0]) == k {
				noBurst = noBurst[1:]
			} else {
				ns := int64(float64(c.Burst[k]) * v.NSPerTick)
				s.thread.BeginNS = append(s.thread.BeginNS, int64(float64(ticks-origin)*v.NSPerTick))
				s.thread.DurationNS, b.DurationNS = append(s.thread.DurationNS, ns), append(b.DurationNS, ns)
				b.Before, b.After = append(b.Before, before), append(b.After, path)
				for event, column := range c.Counts {
					b.Counters[event] = append(b.Counters[event], max(column[k], space.NotRead))
				}
				s.rows = append(s.rows, row)
			}
			before = path
			ticks += c.Burst[k] + c.Call[k]
			row++
		}
	}
	s.last = row
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

// windows are the windows of full detail that hold bursts.
func (s *sight) windows(from, to int32) []anchor.ID {
	return windowsOf(s.meeting, s.rows[from], s.rowOf(to))
}

// rowOf is the row of the call after a burst, behind the last one that behind all.
func (s *sight) rowOf(burst int32) uint32 {
	if int(burst) < len(s.rows) {
		return s.rows[burst]
	}
	return s.last
}

// windowsOf are the windows of full detail that hold rows, as far as anchors show, mostWindows and one at most: of
// those that were cut by time the first parts.
func windowsOf(meetings []store.Meeting, from, behind uint32) []anchor.ID {
	// The window of a row is the one after the meetings before it.
	had := func(row uint32) uint64 {
		i, _ := slices.BinarySearchFunc(meetings, row, func(m store.Meeting, row uint32) int { return int(int64(m.Row) - int64(row)) })
		if i == 0 {
			return meetings[0].Total - 1
		}
		return meetings[i-1].Total
	}
	var list []anchor.ID
	for n := had(from); n <= had(behind-1) && len(list) <= mostWindows; n++ {
		if w := anchor.After(n); len(list) == 0 || list[len(list)-1] != w {
			list = append(list, w)
		}
	}
	return list
}

// delimiter is a pair that iterations of a phase have once, one of those that are known already if there is any, else
// the earliest in an iteration; where there is none, the one that they have least often.
func (s *sight) delimiter(begins []int32, known func(pair) bool) pair {
	type count struct {
		once, all int // iterations that have it once, bursts
		last      int // iteration
		twice     bool
	}
	counts := make(map[uint32]*count)
	var order []uint32
	for i := range begins[1:] {
		for _, symbol := range s.thread.Symbols[begins[i]:begins[i+1]] {
			call := s.calls[symbol]
			c := counts[call]
			if c == nil {
				c = &count{last: -1}
				counts[call] = c
				order = append(order, call)
			}
			switch {
			case c.last < i:
				c.last, c.twice = i, false
				c.once++
			case !c.twice:
				c.twice = true
				c.once--
			}
			c.all++
		}
	}
	iterations := len(begins) - 1
	most := iterations + iterations/10
	best, bestAll := order[0], 0
	for _, call := range order {
		c := counts[call]
		if c.all+iterations/10 < iterations {
			continue
		}
		if c.once+iterations/10 >= iterations && c.all <= most {
			if known(s.pairs[call]) {
				return s.pairs[call]
			}
			if bestAll == 0 || bestAll > most {
				best, bestAll = call, most
			}
			continue
		}
		if bestAll == 0 || c.all < bestAll && bestAll > most {
			best, bestAll = call, c.all
		}
	}
	return s.pairs[best]
}
