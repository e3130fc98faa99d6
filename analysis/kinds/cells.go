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

// spotWidth is how many words the key of a stratum and a cell has: one in one dimension, where all bursts are asked for theirs again and again.
func (l *local) spotWidth() int {
	if l.Dims == 1 {
		return 1
	}
	return 1 + l.Dims
}

// spotOf appends that key.
func spotOf(key []int64, stratum int32, cell []int32) []int64 {
	if len(cell) == 1 {
		return append(key, int64(stratum)<<32|int64(uint32(cell[0])^1<<31))
	}
	key = append(key, int64(stratum))
	for _, v := range cell {
		key = append(key, int64(v))
	}
	return key
}

// strataCells counts the bursts of the strata by cell.
func (l *local) strataCells(c *crew, strata int) []Cells {
	list := slices.Repeat([]Cells{{Dims: l.Dims, Side: l.Side}}, strata)
	t := c.count(l.spotWidth(), l.n, func(k *counter, from, to int) {
		var key []int64
		for i := from; i < to; i++ {
			key = spotOf(key[:0], l.stratum[i], l.Cell[i*l.Dims:(i+1)*l.Dims])
			k.add(1, key...)
		}
	})
	for i, n := range t.Counts {
		key := t.Key(i)
		if l.Dims == 1 {
			list[key[0]>>32].add([]int32{int32(uint32(key[0]) ^ 1<<31)}, n)
			continue
		}
		s := &list[key[0]]
		for _, v := range key[1:] {
			s.Keys = append(s.Keys, int32(v))
		}
		s.Counts = append(s.Counts, n)
	}
	return list
}
