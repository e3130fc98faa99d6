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
	from, fromRows := keys, rows
	to, toRows := make([]uint64, n), make([]int32, len(rows))
	offsets := make([][digits]int32, threads)
	for shift := 0; shift < 64; shift += digitBits {
		if varying>>shift&(digits-1) == 0 {
			continue
		}
		workers.Chunks(n, threads, func(t, begin, end int) {
			count := &offsets[t]
			clear(count[:])
			for _, v := range from[begin:end] {
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
			scatter(from, fromRows, to, toRows, &offsets[t], shift, begin, end)
		})
		from, to = to, from
		fromRows, toRows = toRows, fromRows
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
		copy(rows, fromRows)
	}
}

func scatter(from []uint64, fromRows []int32, to []uint64, toRows []int32, offset *[digits]int32, shift, begin, end int) {
	if len(fromRows) == 0 {
		for _, v := range from[begin:end] {
			at := &offset[v>>shift&(digits-1)]
			to[*at] = v
			*at++
		}
		return
	}
	fromRows = fromRows[begin:end]
	for i, v := range from[begin:end] {
		at := &offset[v>>shift&(digits-1)]
		to[*at] = v
		toRows[*at] = fromRows[i]
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
