package kinds

import "slices"

// Cells are where bursts are, all members' together.
type Cells struct {
	Dims   int
	Side   float64
	Keys   []int32 // Dims per cell, ascending
	Counts []int64 // bursts, by cell
}

func (s *Cells) len() int { return len(s.Counts) }

func (s *Cells) key(i int) []int32 { return s.Keys[i*s.Dims : (i+1)*s.Dims] }

func (s *Cells) add(key []int32, bursts int64) {
	s.Keys, s.Counts = append(s.Keys, key...), append(s.Counts, bursts)
}

// Middles are the coordinates of the cells' middles, Dims each.
func (s *Cells) Middles() []float64 {
	list := make([]float64, len(s.Keys))
	for i, v := range s.Keys {
		list[i] = (float64(v) + .5) * s.Side
	}
	return list
}

// byCell are values of cells in one dimension; 0 of a cell that has none.
type byCell struct {
	cells, values []int32 // ascending
	dense         []int32 // from the first cell on, if they lie close together
}

func newByCell(cells, values []int32) byCell {
	const most = 1 << 16
	t := byCell{cells: cells, values: values}
	if n := len(cells); n > 0 && int64(cells[n-1])-int64(cells[0]) < min(most, 16*int64(n)+1<<8) {
		t.dense = make([]int32, cells[n-1]-cells[0]+1)
		for i, cell := range cells {
			t.dense[cell-cells[0]] = values[i]
		}
	}
	return t
}

func (t *byCell) at(cell int32) int32 {
	if t.dense != nil {
		if i := int64(cell) - int64(t.cells[0]); i >= 0 && i < int64(len(t.dense)) {
			return t.dense[i]
		}
		return 0
	}
	if i, found := slices.BinarySearch(t.cells, cell); found {
		return t.values[i]
	}
	return 0
}

// spotOf appends the key of a stratum and a cell.
func spotOf(key []int64, stratum int32, cell []int32) []int64 {
	key = append(key, int64(stratum))
	for _, v := range cell {
		key = append(key, int64(v))
	}
	return key
}

// strataCells counts the bursts of the strata by cell.
func (l *local) strataCells(c *executor, strata int) []Cells {
	list := slices.Repeat([]Cells{{Dims: l.Dims, Side: l.Side}}, strata)
	if l.Dims == 1 { // a word then holds a stratum and a cell
		t := c.count(1, l.n, func(k *counter, from, to int) {
			windows := newWindows(k, strata)
			for i := from; i < to; i++ {
				windows.one(int(l.stratum[i]), int64(l.stratum[i])<<32, l.Cell[i])
			}
			windows.flush()
		})
		for i, n := range t.Counts {
			list[t.Keys[i]>>32].add([]int32{int32(uint32(t.Keys[i]) ^ 1<<31)}, n)
		}
		return list
	}
	t := c.count(1+l.Dims, l.n, func(k *counter, from, to int) {
		var key []int64
		for i := from; i < to; i++ {
			key = spotOf(key[:0], l.stratum[i], l.Cell[i*l.Dims:(i+1)*l.Dims])
			k.add(1, key...)
		}
	})
	for i, n := range t.Counts {
		key := t.Key(i)
		s := &list[key[0]]
		for _, v := range key[1:] {
			s.Keys = append(s.Keys, int32(v))
		}
		s.Counts = append(s.Counts, n)
	}
	return list
}
