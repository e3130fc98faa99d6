package cells

import (
	"cmp"
	"fmt"
	"slices"

	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

// split answers with the places of units.
func (k *Store) split(ask *moriensv1.CellsSplit, to *reply) error {
	asked, err := k.asked(ask.Unit)
	if err != nil {
		return err
	}
	k.mu.Lock()
	for _, unit := range asked {
		if k.units.parent[unit] != 0 {
			k.mu.Unlock()
			return fmt.Errorf("cells: unit %d is a place: it cannot be split", unit)
		}
	}
	k.mu.Unlock()
	var places, unknown []uint32
	for _, unit := range asked { // each by itself, so that commits wait for one at most
		k.mu.Lock()
		own, known, err := k.splitUnit(unit)
		k.mu.Unlock()
		if err != nil {
			return err
		}
		if !known {
			unknown = append(unknown, unit)
		}
		places = append(places, own...)
	}
	slices.Sort(places)
	k.mu.Lock()
	parts := k.unitParts(places, true)
	k.mu.Unlock()
	if len(parts) == 0 {
		parts = append(parts, new(moriensv1.CellsUnits))
	}
	parts[0].Unknown = unknown
	return to.units(parts)
}

// asked gives the units of a column of differences.
func (k *Store) asked(differences []uint32) ([]uint32, error) {
	k.mu.Lock()
	n := k.units.len()
	k.mu.Unlock()
	list := make([]uint32, len(differences))
	at := uint64(0)
	for i, d := range differences {
		if at += uint64(d); at >= uint64(n) || i > 0 && d == 0 {
			return nil, fmt.Errorf("cells: unit %d behind %d: want ascending ones below %d", at, at-uint64(d), n)
		}
		list[i] = uint32(at)
	}
	return list, nil
}

// splitUnit makes places of a unit, and returns them all in the order of their numbers; not known where its points are
// not held.
func (k *Store) splitUnit(unit uint32) (list []uint32, known bool, err error) {
	u := &k.units
	if places, split := u.places[unit]; split {
		for _, number := range places {
			list = append(list, number)
		}
		slices.Sort(list)
		return list, true, nil
	}
	if k.points.logs[unit].gone {
		return nil, false, nil
	}
	bursts, at, err := k.locate(k.points.take(unit))
	if err != nil {
		return nil, false, fmt.Errorf("cells: unit %d: %w", unit, err)
	}
	dims := u.dims
	order := make([]int, len(bursts)) // by place: numbers do not depend on the order of arrival
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(at[a*dims:][:dims], at[b*dims:][:dims]) })
	places := make(map[place]uint32)
	u.places[unit] = places
	for _, i := range order {
		if number := u.placeOf(unit, places, at[i*dims:][:dims]); len(list) == 0 || number != list[len(list)-1] {
			list = append(list, number)
		}
	}
	u.empty(unit)
	moved := make(map[*ring][]move)
	for i := range bursts {
		x := &bursts[i]
		r := k.rings[x.ring]
		number := u.placeOf(unit, places, at[i*dims:][:dims])
		u.count(number, x, r.process.events)
		r.sums.remove(sumKey{x.site, unit, x.in}, len(x.counts))
		r.sums.add(sumKey{x.site, number, x.in}, x)
		moved[r] = append(moved[r], move{x.row, number + 1})
	}
	for r, rows := range moved {
		r.move(rows)
	}
	return list, true, nil
}

// locate gives the bursts of a log with their coordinates.
func (k *Store) locate(l pointLog) (bursts []burst, at []float64, err error) {
	var b columns
	b.choose(k.dims)
	var rows []int32
	var counts []int64
	l.each(func(ring uint32) int { return len(k.rings[ring].process.events) }, func(x *burst) {
		own := *x
		counts = append(counts, x.counts...)
		own.counts = counts[len(counts)-len(x.counts):]
		own.cuts = slices.Clone(x.cuts) // its parts are its own
		rows, bursts = append(rows, int32(len(bursts))), append(bursts, own)
		b.DurationNS = append(b.DurationNS, x.ns)
		for axis, event := range k.rings[x.ring].process.axes {
			b.Counters[axis] = append(b.Counters[axis], max(x.counts[event], space.NotRead)) // it is in a unit: it has all
		}
	})
	s, err := space.New(b.Columns, k.dims)
	if err != nil {
		return nil, nil, err
	}
	return bursts, s.Coordinates(nil, rows), nil
}

// A move is a row that has another unit from now on.
type move struct{ row, unit uint32 }

// move gives rows, ascending, their units.
func (r *ring) move(rows []move) {
	chunks := slices.Clone(r.chunks) // readers of the list continue
	for len(rows) > 0 {
		i, found := slices.BinarySearchFunc(chunks, rows[0].row, func(c *chunk, row uint32) int { return cmp.Compare(c.first, row) })
		if !found {
			i--
		}
		if i < 0 || int(rows[0].row-chunks[i].first) >= chunks[i].len() {
			break // in the tail
		}
		was := chunks[i]
		units := was.unpack(nil)
		for len(rows) > 0 && int(rows[0].row-was.first) < len(units) {
			units[rows[0].row-was.first] = rows[0].unit
			rows = rows[1:]
		}
		chunks[i] = pack(was.first, units)
		chunks[i].steps, chunks[i].sites = was.steps, was.sites
		r.packed += chunks[i].bytes() - was.bytes()
	}
	r.chunks = chunks
	begin := uint32(r.rows) - uint32(len(r.tail))
	for _, m := range rows {
		r.tail[m.row-begin] = m.unit
	}
}
