package dbscan

import (
	"math"
	"slices"
)

const (
	digitBits = 11
	digits    = 1 << digitBits
)

// sortRows sorts x ascending and moves rows, which may be nil, along. x must hold no NaN.
// It is a radix sort from the least significant digit, where each thread counts its own stretch, so
// that the threads' places in the output are known before they write.
func sortRows(x []float64, rows []int32, threads int) {
	n := len(x)
	if n < digits {
		sortFew(x, rows)
		return
	}
	threads = threadsFor(n, threads)
	varying := varyingBits(x, threads)
	from, fromRows := x, rows
	to, toRows := make([]float64, n), make([]int32, len(rows))
	offsets := make([][digits]int32, threads)
	for shift := 0; shift < 64; shift += digitBits {
		if varying>>shift&(digits-1) == 0 {
			continue
		}
		inChunks(n, threads, func(t, begin, end int) {
			count := &offsets[t]
			clear(count[:])
			for _, v := range from[begin:end] {
				count[radixKey(v)>>shift&(digits-1)]++
			}
		})
		var sum int32
		for digit := range digits {
			for t := range offsets {
				sum, offsets[t][digit] = sum+offsets[t][digit], sum
			}
		}
		inChunks(n, threads, func(t, begin, end int) {
			scatter(from, fromRows, to, toRows, &offsets[t], shift, begin, end)
		})
		from, to = to, from
		fromRows, toRows = toRows, fromRows
	}
	if &from[0] != &x[0] {
		copy(x, from)
		copy(rows, fromRows)
	}
}

func scatter(from []float64, fromRows []int32, to []float64, toRows []int32, offset *[digits]int32, shift, begin, end int) {
	if len(fromRows) == 0 {
		for _, v := range from[begin:end] {
			at := &offset[radixKey(v)>>shift&(digits-1)]
			to[*at] = v
			*at++
		}
		return
	}
	fromRows = fromRows[begin:end]
	for i, v := range from[begin:end] {
		at := &offset[radixKey(v)>>shift&(digits-1)]
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

func varyingBits(x []float64, threads int) uint64 {
	either := make([]uint64, threads)
	first := radixKey(x[0])
	inChunks(len(x), threads, func(t, begin, end int) {
		var bits uint64
		for _, v := range x[begin:end] {
			bits |= radixKey(v) ^ first
		}
		either[t] = bits
	})
	var bits uint64
	for _, b := range either {
		bits |= b
	}
	return bits
}

func sortFew(x []float64, rows []int32) {
	if len(rows) == 0 {
		slices.Sort(x)
		return
	}
	type entry struct {
		x   float64
		row int32
	}
	entries := make([]entry, len(x))
	for i := range x {
		entries[i] = entry{x[i], rows[i]}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return int(a.row) - int(b.row)
	})
	for i, e := range entries {
		x[i], rows[i] = e.x, e.row
	}
}
