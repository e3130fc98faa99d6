package kinds

import (
	"cmp"
	"math/bits"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/mix"
	"moriens/internal/team"
)

// A Table says how often keys were met: rows of Width words each, ascending, all different.
type Table struct {
	Width  int
	Keys   []int64
	Counts []int64
}

// Len is the number of different keys.
func (t *Table) Len() int { return len(t.Counts) }

// Key is the words of a row.
func (t *Table) Key(i int) []int64 { return t.Keys[i*t.Width : (i+1)*t.Width] }

// Merge adds up tables of one width. What it returns may be one of them.
func Merge(width int, tables ...Table) Table {
	sum := Table{Width: width}
	for _, t := range tables {
		sum = mergeTwo(sum, t)
	}
	return sum
}

func mergeTwo(a, b Table) Table {
	switch {
	case b.Len() == 0:
		return a
	case a.Len() == 0:
		return b
	}
	if slices.Compare(a.Key(a.Len()-1), b.Key(0)) < 0 { // as of workers that counted one thread after the other
		return Table{Width: a.Width, Keys: slices.Concat(a.Keys, b.Keys), Counts: slices.Concat(a.Counts, b.Counts)}
	}
	sum := Table{Width: a.Width, Keys: make([]int64, 0, len(a.Keys)+len(b.Keys)), Counts: make([]int64, 0, a.Len()+b.Len())}
	for i, k := 0, 0; i < a.Len() || k < b.Len(); {
		order := 0 // which table has the next key
		switch {
		case k == b.Len():
			order = -1
		case i == a.Len():
			order = 1
		default:
			order = slices.Compare(a.Key(i), b.Key(k))
		}
		n := int64(0)
		if order >= 0 {
			n += b.Counts[k]
		}
		if order <= 0 {
			n += a.Counts[i]
			sum.Keys = append(sum.Keys, a.Key(i)...)
			i++
		} else {
			sum.Keys = append(sum.Keys, b.Key(k)...)
		}
		if order >= 0 {
			k++
		}
		sum.Counts = append(sum.Counts, n)
	}
	return sum
}

// A counter counts keys.
type counter struct {
	width  int
	slots  []int32 // index of the row, plus 1
	mask   uint64
	shift  uint // of the hash of a key of one word
	keys   []int64
	counts []int64
	done   Table // of keys that are less than all of these
}

func newCounter(width int) *counter {
	c := &counter{width: width, done: Table{Width: width}}
	c.resize(64)
	return c
}

func (c *counter) resize(slots int) {
	c.slots, c.mask, c.shift = make([]int32, slots), uint64(slots-1), uint(64-bits.TrailingZeros(uint(slots)))
}

// hash of a key of one word is Knuth's, by multiplying: most are of one, and asked for at every burst.
func (c *counter) hash(key []int64) uint64 {
	if c.width == 1 {
		return c.hashOne(key[0])
	}
	h := uint64(0)
	for _, w := range key {
		h = mix.Bits(h ^ uint64(w))
	}
	return h
}

func (c *counter) hashOne(key int64) uint64 {
	return uint64(key) * 0x9e3779b97f4a7c15 >> (c.shift & 63)
}

// find is the row of a key of one word, or -1.
func (c *counter) find(key int64) int32 {
	for at := c.hashOne(key); c.slots[at] != 0; at = (at + 1) & c.mask {
		if row := c.slots[at] - 1; c.keys[row] == key {
			return row
		}
	}
	return -1
}

// row finds the row of a key, or makes it.
func (c *counter) row(key ...int64) int32 {
	if c.width == 1 {
		if row := c.find(key[0]); row >= 0 {
			return row
		}
	}
	at := c.hash(key) & c.mask
	for c.slots[at] != 0 {
		row := c.slots[at] - 1
		if slices.Equal(c.keys[int(row)*c.width:(int(row)+1)*c.width], key) {
			return row
		}
		at = (at + 1) & c.mask
	}
	c.keys = append(c.keys, key...)
	c.counts = append(c.counts, 0)
	row := int32(len(c.counts))
	c.slots[at] = row
	if 2*len(c.counts) > len(c.slots) {
		c.grow()
	}
	return row - 1
}

func (c *counter) grow() {
	c.resize(4 * len(c.slots))
	for row := range c.counts {
		at := c.hash(c.keys[row*c.width:(row+1)*c.width]) & c.mask
		for c.slots[at] != 0 {
			at = (at + 1) & c.mask
		}
		c.slots[at] = int32(row + 1)
	}
}

func (c *counter) add(n int64, key ...int64) { c.counts[c.row(key...)] += n }

// one counts a key of one word: the way of tables that have a key for every burst.
func (c *counter) one(key int64) {
	if row := c.find(key); row >= 0 {
		c.counts[row]++
		return
	}
	c.add(1, key)
}

// cut says that all keys to come are larger than those so far, which need not be looked for any more.
func (c *counter) cut() {
	c.finish()
	clear(c.slots)
	c.keys, c.counts = c.keys[:0], c.counts[:0]
}

// last counts a key of one word that is no less than any so far, of which none is left to be looked for.
func (c *counter) last(key, n int64) {
	t := &c.done
	if i := len(t.Keys) - 1; i >= 0 && t.Keys[i] == key {
		t.Counts[i] += n
		return
	}
	t.grow(1, 1)
	t.Keys, t.Counts = append(t.Keys, key), append(t.Counts, n)
}

// table is what was counted. The counter is not to be used any more.
func (c *counter) table() Table {
	c.finish()
	return c.done
}

// finish puts what was counted behind what is done.
func (c *counter) finish() {
	order := make([]int32, 0, len(c.counts))
	for row, n := range c.counts {
		if n != 0 {
			order = append(order, int32(row))
		}
	}
	key := func(row int32) []int64 { return c.keys[int(row)*c.width : (int(row)+1)*c.width] }
	if c.width == 1 {
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(c.keys[a], c.keys[b]) })
	} else {
		slices.SortFunc(order, func(a, b int32) int { return slices.Compare(key(a), key(b)) })
	}
	t := &c.done
	t.grow(len(order), c.width)
	for _, row := range order {
		t.Keys = append(t.Keys, key(row)...)
		t.Counts = append(t.Counts, c.counts[row])
	}
}

// grow makes room for rows, twofold where there is not enough: tables of many rows are long.
func (t *Table) grow(rows, width int) {
	if need := len(t.Keys) + rows*width; need > cap(t.Keys) {
		t.Keys = slices.Grow(t.Keys, max(need, 2*len(t.Keys))-len(t.Keys))
	}
	if need := len(t.Counts) + rows; need > cap(t.Counts) {
		t.Counts = slices.Grow(t.Counts, max(need, 2*len(t.Counts))-len(t.Counts))
	}
}

// executor is the team at work: what a call of it finds wrong ends the work (team.Leave).
type executor struct {
	team.Panicking
	workers int
	halt    func() bool
}

// rows are the words of a table, row by row, each with its count.
func (t *Table) rows() []int64 {
	words := make([]int64, 0, len(t.Keys)+len(t.Counts))
	for i, n := range t.Counts {
		words = append(append(words, t.Key(i)...), n)
	}
	return words
}

// tableOf is the table of which these are the rows.
func tableOf(width int, rows []int64) Table {
	t := Table{Width: width, Keys: make([]int64, 0, len(rows)/(width+1)*width), Counts: make([]int64, 0, len(rows)/(width+1))}
	for ; len(rows) > 0; rows = rows[width+1:] {
		t.Keys, t.Counts = append(t.Keys, rows[:width]...), append(t.Counts, rows[width])
	}
	return t
}

// all adds up the tables of all members.
func (c *executor) all(t Table) Table {
	if c.Alone() {
		return t
	}
	return tableOf(t.Width, team.Must(c.Merge(t.Width, t.rows())))
}

// decide has the first member decide by the sum of all members' tables, and sends the decision to all: for tables that
// grow with the threads, of which no member needs those of all.
func (c *executor) decide(t Table, by func(sum *Table) []int64) []int64 {
	if c.Alone() {
		return by(&t)
	}
	parts := make([][]int64, c.Size())
	parts[0] = t.rows()
	lists := team.Must(team.Exchange(c.Panicking, parts))
	var decided []int64
	if c.Rank() == 0 {
		sum := tableOf(t.Width, team.MergeRows(t.Width, lists))
		decided = by(&sum)
	}
	return team.Must(team.Gather(c.Panicking, decided))[0]
}

// tally has each worker count some of n things here.
func (c *executor) tally(width, n int, work func(k *counter, from, to int)) Table {
	c.halted()
	parts := make([]Table, max(1, c.workers))
	workers.Chunks(n, c.workers, func(w, from, to int) {
		k := newCounter(width)
		work(k, from, to)
		parts[w] = k.table()
	})
	return Merge(width, parts...)
}

// count is tally of the things of all members.
func (c *executor) count(width, n int, work func(k *counter, from, to int)) Table {
	return c.all(c.tally(width, n, work))
}

// halted is collective: it ends the work where a member has no time left.
func (c *executor) halted() {
	if team.Must(team.Any(c.Panicking, c.halt != nil && c.halt())) {
		team.Must(0, ErrHalted)
	}
}
