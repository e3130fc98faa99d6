// Package index finds numbers, such as places in a list, by keys of 64 bits: in a table with open addressing, without a
// hash beyond Spread.
package index

// Spread spreads a key over all 64 bits. Different keys remain different.
func Spread(k uint64) uint64 {
	k *= 0x9e3779b97f4a7c15
	return k ^ k>>32
}

// An Index has numbers by keys, which are spread over all 64 bits or are by Spread. Several numbers may have one key:
// then same shows whether a number is the one that is looked for, else it is nil. The zero Index is empty.
type Index struct {
	keys    []uint64
	numbers []uint32 // plus 1; 0: free
	used    int
}

// Get is the number of a key.
func (x *Index) Get(key uint64, same func(number uint32) bool) (number uint32, known bool) {
	if len(x.keys) == 0 {
		return 0, false
	}
	mask := uint64(len(x.keys) - 1)
	for i := key & mask; x.numbers[i] != 0; i = (i + 1) & mask {
		if x.keys[i] == key && (same == nil || same(x.numbers[i]-1)) {
			return x.numbers[i] - 1, true
		}
	}
	return 0, false
}

// Put adds a number, which is not there.
func (x *Index) Put(key uint64, number uint32) {
	if 2*x.used >= len(x.keys) {
		x.grow()
	}
	x.put(key, number+1)
	x.used++
}

func (x *Index) put(key uint64, number uint32) {
	mask := uint64(len(x.keys) - 1)
	i := key & mask
	for x.numbers[i] != 0 {
		i = (i + 1) & mask
	}
	x.keys[i], x.numbers[i] = key, number
}

// least is how many places a table has at least.
const least = 64

func (x *Index) grow() {
	old := *x
	n := max(least, 2*len(old.keys))
	x.keys, x.numbers = make([]uint64, n), make([]uint32, n)
	for i, number := range old.numbers {
		if number != 0 {
			x.put(old.keys[i], number)
		}
	}
}

// Clear removes all numbers, and keeps the memory.
func (x *Index) Clear() {
	if x.used > 0 {
		clear(x.numbers)
		x.used = 0
	}
}
