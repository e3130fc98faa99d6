package dbscan

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
)

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// sortRows sorts x ascending and moves rows, which may be nil, along. x must hold no NaN.
func sortRows(x []float64, rows []int32, threads int) {
	keys := make([]uint64, len(x))
	workers.Chunks(len(x), threadsFor(len(x), threads), func(_, begin, end int) {
		for i := begin; i < end; i++ {
			keys[i] = radixKey(x[i])
		}
	})
	sortKeys(keys, rows, threads)
	workers.Chunks(len(x), threadsFor(len(x), threads), func(_, begin, end int) {
		for i := begin; i < end; i++ {
			x[i] = fromRadixKey(keys[i])
		}
	})
}

// sortKeys sorts keys ascending and moves rows, which may be nil, along, stably.
// It is a radix sort from the least significant digit, where each thread counts its own stretch, so
// that the threads' places in the output are known before they write.
func sortKeys(keys []uint64, rows []int32, threads int) {
	n := len(keys)
	if n < digits {
		sortFew(keys, rows)
		return
	}
	threads = threadsFor(n, threads)
	varying := varyingBits(keys, threads)
	from, to := keyed{keys, rows}, keyed{make([]uint64, n), make([]int32, len(rows))}
	offsets := make([][digits]int32, threads)
	for shift := 0; shift < 64; shift += digitBits {
		if varying>>shift&(digits-1) == 0 {
			continue
		}
		workers.Chunks(n, threads, func(t, begin, end int) {
			count := &offsets[t]
			clear(count[:])
			for _, v := range from.keys[begin:end] {
				count[v>>shift&(digits-1)]++
			}
		})
		var sum int32
		for digit := range digits {
			for t := range offsets {
				sum, offsets[t][digit] = sum+offsets[t][digit], sum
			}
		}
		workers.Chunks(n, threads, func(t, begin, end int) {
			from.part(begin, end).scatter(to, &offsets[t], shift)
		})
		from, to = to, from
	}
	if &from.keys[0] != &keys[0] {
		copy(keys, from.keys)
		copy(rows, from.rows)
	}
}

// keyed are keys and the rows that they belong to; rows may be empty.
type keyed struct {
	keys []uint64
	rows []int32
}

func (k keyed) part(begin, end int) keyed {
	p := keyed{keys: k.keys[begin:end]}
	if len(k.rows) > 0 {
		p.rows = k.rows[begin:end]
	}
	return p
}

// scatter copies each key, and its row, to where its digit's next one belongs.
func (k keyed) scatter(to keyed, offset *[digits]int32, shift int) {
	if len(k.rows) == 0 {
		for _, v := range k.keys {
			at := &offset[v>>shift&(digits-1)]
			to.keys[*at] = v
			*at++
		}
		return
	}
	for i, v := range k.keys {
		at := &offset[v>>shift&(digits-1)]
		to.keys[*at] = v
		to.rows[*at] = k.rows[i]
		*at++
	}
}

// radixKey maps floats to integers of the same order.
func radixKey(v float64) uint64 {
	bits := math.Float64bits(v)
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}

func fromRadixKey(key uint64) float64 {
	return math.Float64frombits(key ^ (^uint64(int64(key)>>63) | 1<<63))
}

func varyingBits(keys []uint64, threads int) uint64 {
	either := make([]uint64, threads)
	workers.Chunks(len(keys), threads, func(t, begin, end int) {
		var bits uint64
		for _, v := range keys[begin:end] {
			bits |= v ^ keys[0]
		}
		either[t] = bits
	})
	var bits uint64
	for _, b := range either {
		bits |= b
	}
	return bits
}

func sortFew(keys []uint64, rows []int32) {
	if len(rows) == 0 {
		slices.Sort(keys)
		return
	}
	type entry struct {
		key uint64
		row int32
	}
	entries := make([]entry, len(keys))
	for i := range keys {
		entries[i] = entry{keys[i], rows[i]}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	for i, e := range entries {
		keys[i], rows[i] = e.key, e.row
	}
}
