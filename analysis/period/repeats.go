package period

import (
	"cmp"
	"slices"
)

// A repeat is a stretch of tokens each of which, from the lag-th on, equals the one lag before it.
type repeat struct {
	lag, begin, end int
}

// grams are the windows of some length of a sequence, numbered by content.
type grams struct {
	size     int
	id       []int32 // by where the window begins
	distinct int
}

func singles(kinds []int32, count int) grams { return grams{1, kinds, count} }

// double gives the windows of twice the length: pairs of windows side by side (Karp, Miller and Rosenberg, STOC'72).
func (g grams) double() grams {
	n := len(g.id) - g.size
	d := grams{size: 2 * g.size}
	if n <= 0 {
		return d
	}
	d.id = make([]int32, n)
	table := newPairs(n)
	for i := range n {
		d.id[i] = table.number(uint64(uint32(g.id[i]))<<32 | uint64(uint32(g.id[i+g.size])))
	}
	d.distinct = table.count
	return d
}

// repeats finds the stretches of three times their lag and more, by lag and begin. Only such lags are tried as some
// window has to the last equal one before it. Every repetition is found by windows of twice its lag at the latest, most
// by single tokens.
func repeats(kinds []int32, g grams) []repeat {
	n := len(kinds)
	last := make([]int32, g.distinct) // where the window was last, counted from 1
	tried := make([]int32, n/3+1)     // by lag: up to where it was tried
	var found []repeat
	for i, id := range g.id {
		lag := i + 1 - int(last[id])
		seen := last[id] != 0
		last[id] = int32(i + 1)
		if !seen || lag > n/3 || i < int(tried[lag]) {
			continue
		}
		begin := i
		for begin > lag && kinds[begin-1] == kinds[begin-1-lag] {
			begin--
		}
		end := i + g.size
		for end < n && kinds[end] == kinds[end-lag] {
			end++
		}
		tried[lag] = int32(end)
		if end-begin >= 2*lag {
			found = append(found, repeat{lag, begin - lag, end})
		}
	}
	slices.SortFunc(found, func(a, b repeat) int {
		return cmp.Or(cmp.Compare(a.lag, b.lag), cmp.Compare(a.begin, b.begin))
	})
	return found
}

// pairs numbers pairs of 32 bits in the order of their coming. It is an open hash table: the map of the language takes
// three times as long, and this is where sequences without repetitions spend their time.
type pairs struct {
	key   []uint64
	value []int32 // counted from 1
	shift uint
	count int
}

func newPairs(n int) *pairs {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return &pairs{key: make([]uint64, 1<<bits), value: make([]int32, 1<<bits), shift: 64 - bits}
}

func (p *pairs) number(key uint64) int32 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: Fibonacci hashing
	mask := len(p.key) - 1
	mixed := key ^ key>>32
	for i := int(mixed * golden >> p.shift); ; i = (i + 1) & mask {
		if p.value[i] == 0 {
			p.key[i] = key
			p.count++
			p.value[i] = int32(p.count)
		}
		if p.key[i] == key {
			return p.value[i] - 1
		}
	}
}
