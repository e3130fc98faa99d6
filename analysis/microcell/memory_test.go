package microcell_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
)

// memory is a source that has all bursts, and what is asked of it.
type memory struct {
	t      rapid.TB
	bursts grouping.Bursts
	coords [][]float64 // per burst; nil for one in no unit
	unit   []int32     // per burst: the one that it is in, or -1
	units  []microcell.Unit
	gone   func(unit int32) bool // nil = none are

	scored  map[string]bool
	splits  [][]int32
	refused int // units
}

// summed makes a set, and its source, of bursts. The units come in the order of the cells' first bursts, or as shuffle
// has it.
func summed(t rapid.TB, b grouping.Bursts, o grouping.Options, side float64, shuffle func([]int) []int) (microcell.Set, *memory) {
	t.Helper()
	return summedInParts(t, b, o, side, shuffle, 1)
}

// summedInParts makes several units of the bursts in one cell.
func summedInParts(t rapid.TB, b grouping.Bursts, o grouping.Options, side float64, shuffle func([]int) []int, parts int) (microcell.Set, *memory) {
	t.Helper()
	m := &memory{t: t, bursts: b, scored: make(map[string]bool)}
	s := microcell.Set{Dims: o.Dims, Side: side, Counters: b.CounterNames, Threads: len(b.ThreadEnds), Bursts: b.Len()}
	if o.By == grouping.ByNone {
		s.Groups = []microcell.Group{{}}
	}
	points, err := space.New(b.Columns, o.Dims)
	if err != nil {
		t.Fatal(err)
	}
	selection, err := points.Select(space.Filter{MinNS: o.Filter.MinNS})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := cell.NewSet(len(o.Dims), side)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		group, part int
		key         cell.Key
	}
	known := make(map[place]int)
	m.coords, m.unit = make([][]float64, b.Len()), slices.Repeat([]int32{-1}, b.Len())
	var rows [][]int32
	for row, status := range selection.Status {
		s.TimeNS += b.DurationNS[row]
		if status != space.Complete {
			to := &s.Missing
			if status == space.Short {
				to = &s.Short
			}
			to.Bursts++
			to.TimeNS += b.DurationNS[row]
			continue
		}
		group := 0
		if o.By == grouping.ByCalls {
			g := microcell.Group{Before: b.Before[row], After: b.After[row]}
			if group = slices.Index(s.Groups, g); group < 0 {
				group, s.Groups = len(s.Groups), append(s.Groups, g)
			}
		}
		m.coords[row] = points.Coordinates(nil, []int32{int32(row)})
		key, err := cells.KeyOf(m.coords[row])
		if err != nil {
			t.Fatal(err)
		}
		at, seen := known[place{group, row % parts, key}]
		if !seen {
			at, rows = len(rows), append(rows, nil)
			known[place{group, row % parts, key}] = at
			s.Units = append(s.Units, microcell.Unit{Group: group, Cell: cell.Cell{Key: key}})
		}
		rows[at] = append(rows[at], int32(row))
	}
	order := make([]int, len(s.Units))
	for i := range order {
		order[i] = i
	}
	if shuffle != nil {
		order = shuffle(order)
	}
	units := make([]microcell.Unit, len(order))
	for to, from := range order {
		units[to] = m.sum(s.Units[from], rows[from])
		for _, row := range rows[from] {
			m.unit[row] = int32(to)
		}
	}
	s.Units, m.units = units, slices.Clone(units)
	return s, m
}

// sum sums up bursts in a unit.
func (m *memory) sum(u microcell.Unit, rows []int32) microcell.Unit {
	d := len(m.coords[rows[0]])
	for i, row := range rows {
		one := cell.Of(m.coords[row], 1)
		u.Cell.Count++
		u.Duration.Add(uint64(m.bursts.DurationNS[row]))
		for j := range d {
			if i == 0 {
				u.Cell.Lo[j], u.Cell.Hi[j] = one.Lo[j], one.Hi[j]
			}
			u.Cell.Lo[j], u.Cell.Hi[j] = min(u.Cell.Lo[j], one.Lo[j]), max(u.Cell.Hi[j], one.Hi[j])
			u.Cell.Sum[j] += one.Sum[j]
		}
	}
	u.Counters = nil
	for _, column := range m.bursts.Counters {
		u.Counters = append(u.Counters, momentOf(column, rows))
	}
	return u
}

func (m *memory) Score(labels []int32, count int) (*sequence.Score, error) {
	if len(labels) != len(m.units) {
		return nil, fmt.Errorf("%d labels for %d units", len(labels), len(m.units))
	}
	t := sequence.Threads{Count: count}
	if m.bursts.Anchors != nil {
		t.Anchors = make([][]sequence.Anchor, len(m.bursts.ThreadEnds))
	}
	begin := 0
	for thread, end := range m.bursts.ThreadEnds {
		first, kept := len(t.Labels), []int{0} // of the thread's bursts so far
		for row := begin; row < end; row++ {
			label := refine.Absent
			if i := m.unit[row]; i >= 0 {
				label = labels[i]
			}
			if label != refine.Absent {
				t.Labels, t.DurationNS = append(t.Labels, label), append(t.DurationNS, m.bursts.DurationNS[row])
			}
			kept = append(kept, len(t.Labels)-first)
		}
		if t.Anchors != nil {
			for _, a := range m.bursts.Anchors[thread] {
				t.Anchors[thread] = append(t.Anchors[thread], sequence.Anchor{At: kept[a.At], Event: a.Event})
			}
		}
		t.Ends = append(t.Ends, len(t.Labels))
		begin = end
	}
	// The same sequences are never to be scored twice.
	shown := fmt.Sprint(t.Labels, count)
	if m.scored[shown] {
		m.t.Fatalf("labels are scored twice")
	}
	m.scored[shown] = true
	return sequence.Align(t, 1)
}

func (m *memory) Split(units []int32) ([][]microcell.Unit, error) {
	if !slices.IsSorted(units) || len(units) == 0 || len(slices.Compact(slices.Clone(units))) < len(units) {
		return nil, fmt.Errorf("units %v are asked for", units)
	}
	m.splits = append(m.splits, slices.Clone(units))
	places := make([][]microcell.Unit, len(units))
	of := make(map[int32][]int, len(units)) // rows
	for row, i := range m.unit {
		if _, asked := slices.BinarySearch(units, i); asked {
			of[i] = append(of[i], row)
		}
	}
	for k, i := range units {
		u := m.units[i]
		if u.Place || u.Cell.Count == 0 {
			return nil, fmt.Errorf("unit %d, which has %d bursts, is to be split", i, u.Cell.Count)
		}
		if m.gone != nil && m.gone(i) {
			m.refused++
			continue
		}
		at := make(map[string]int)
		var rows [][]int32
		for _, row := range of[i] {
			text := fmt.Sprint(m.coords[row])
			if _, seen := at[text]; !seen {
				at[text], rows = len(rows), append(rows, nil)
			}
			rows[at[text]] = append(rows[at[text]], int32(row))
		}
		for _, list := range rows {
			p := m.sum(microcell.Unit{Group: u.Group, Place: true}, list)
			for _, row := range list {
				m.unit[row] = int32(len(m.units))
			}
			m.units, places[k] = append(m.units, p), append(places[k], p)
		}
		m.units[i] = microcell.Unit{Group: u.Group}
	}
	return places, nil
}

// drawRun draws bursts on some threads that do similar things between anchors: kinds about as far apart as a distance
// and multiples of it, and bursts at a few places round each.
func drawRun(t *rapid.T, dims, eps int) grouping.Bursts {
	names := []string{"A", "B", "C"}[:dims]
	b := grouping.Bursts{Columns: space.Columns{CounterNames: append(names, "D"), Counters: make([][]int64, dims+1)}}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	one := func(of ...int) int { return of[random.IntN(len(of))] }
	threads, kinds, reach := 1+random.IntN(4), one(1, 5, 12, 30), one(3, 6, 20) // reach: how many distances kinds are apart
	step, spread := max(1, eps/one(40, 40, 20, 2)), one(0, 3, 5, 12)            // of the places round a kind
	size := one(100, 30, 5)                                                     // up to, of a segment
	often := []float64{0, .01, .1}[random.IntN(3)]                              // how often something else is done
	anchored := rapid.Bool().Draw(t, "anchored")
	centres := make([][]int, kinds)
	for k := range centres {
		for range dims {
			centres[k] = append(centres[k], 1000+eps*random.IntN(reach)+step*(random.IntN(2*spread+1)-spread))
		}
	}
	script := make([][]int, 1+random.IntN(4))
	for s := range script {
		for range random.IntN(size + 1) {
			script[s] = append(script[s], random.IntN(kinds))
		}
	}
	if anchored {
		b.Anchors = make([][]sequence.Anchor, threads)
	}
	for thread := range threads {
		begin := b.Len()
		for s, list := range script {
			for _, kind := range list {
				if random.Float64() < often {
					kind = random.IntN(kinds)
				}
				for j := range dims {
					b.Counters[j] = append(b.Counters[j], int64(centres[kind][j]+step*(random.IntN(2*spread+1)-spread)))
				}
				if random.IntN(40) == 0 {
					b.Counters[0][b.Len()] = space.NotRead
				}
				b.Counters[dims] = append(b.Counters[dims], random.Int64N(50)-1)
				b.DurationNS = append(b.DurationNS, []int64{0, 5, 100, 100, 1000, 40_000}[random.IntN(6)])
				b.Before, b.After = append(b.Before, uint32(kind%2)), append(b.After, uint32(kind%3))
			}
			if anchored {
				b.Anchors[thread] = append(b.Anchors[thread], sequence.Anchor{At: b.Len() - begin, Event: uint64(s)})
			}
		}
		b.ThreadEnds = append(b.ThreadEnds, b.Len())
	}
	return b
}

func drawOptions(t *rapid.T, b *grouping.Bursts, dims int) grouping.Options {
	o := grouping.Options{By: rapid.SampledFrom([]grouping.By{grouping.ByNone, grouping.ByCalls}).Draw(t, "by"), Workers: rapid.IntRange(1, 3).Draw(t, "workers")}
	for _, name := range b.CounterNames[:dims] {
		o.Dims = append(o.Dims, space.Dim{Num: name})
	}
	if o.By == grouping.ByNone {
		b.Before, b.After = nil, nil
	}
	o.Filter.MinNS = rapid.SampledFrom([]int64{0, 0, 50}).Draw(t, "minNS")
	return o
}

// sideOf is a side for which an Eps is not below the floor.
func sideOf(t *rapid.T, eps float64, dims int) float64 {
	return eps / (4 * math.Sqrt(float64(dims))) / rapid.SampledFrom([]float64{1, 1, 1, 2, 7}).Draw(t, "fineness")
}
