package kinds

import (
	"cmp"
	"slices"

	"moriens/analysis/team"
	"moriens/analysis/workers"
	"moriens/internal/mix"
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
	some := slices.DeleteFunc(slices.Clone(tables), func(t Table) bool { return t.Len() == 0 })
	if len(some) == 1 {
		return some[0]
	}
	c := newCounter(width)
	for i := range some {
		for k, n := range some[i].Counts {
			c.add(n, some[i].Key(k)...)
		}
	}
	return c.table()
}

// A counter counts keys.
type counter struct {
	width  int
	slots  []int32 // index of the row, plus 1
	mask   uint64
	keys   []int64
	counts []int64
}

func newCounter(width int) *counter {
	return &counter{width: width, slots: make([]int32, 64), mask: 63}
}

func (c *counter) hash(key []int64) uint64 {
	h := uint64(0)
	for _, w := range key {
		h = mix.Bits(h ^ uint64(w))
	}
	return h
}

// find is the row of a key of one word, or -1.
func (c *counter) find(key int64) int32 {
	for at := mix.Bits(uint64(key)) & c.mask; c.slots[at] != 0; at = (at + 1) & c.mask {
		if row := c.slots[at] - 1; c.keys[row] == key {
			return row
		}
	}
	return -1
}

// row finds the row of a key, or makes it.
func (c *counter) row(key ...int64) int32 {
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
	c.slots = make([]int32, 4*len(c.slots))
	c.mask = uint64(len(c.slots) - 1)
	for row := range c.counts {
		at := c.hash(c.keys[row*c.width:(row+1)*c.width]) & c.mask
		for c.slots[at] != 0 {
			at = (at + 1) & c.mask
		}
		c.slots[at] = int32(row + 1)
	}
}

func (c *counter) add(n int64, key ...int64) { c.counts[c.row(key...)] += n }

// one counts one key of one word: the way of tables that have a key for every burst.
func (c *counter) one(key int64) {
	if row := c.find(key); row >= 0 {
		c.counts[row]++
		return
	}
	c.add(1, key)
}

// table is what was counted. The counter is not to be used any more.
func (c *counter) table() Table {
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
	t := Table{Width: c.width}
	for _, row := range order {
		t.Keys = append(t.Keys, key(row)...)
		t.Counts = append(t.Counts, c.counts[row])
	}
	return t
}

// crew is the team at work: what a call of it finds wrong ends the work (team.Leave).
type crew struct {
	team.Crew
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
func (c *crew) all(t Table) Table {
	if c.Alone() {
		return t
	}
	return tableOf(t.Width, team.Must(c.Merge(t.Width, t.rows())))
}

// decide has the first member decide by the sum of all members' tables, and tells all: for tables that grow with the threads, of which no member needs those of all.
func (c *crew) decide(t Table, by func(sum *Table) []int64) []int64 {
	if c.Alone() {
		return by(&t)
	}
	parts := make([][]int64, c.Size())
	parts[0] = t.rows()
	lists := team.Must(team.Exchange(c.Crew, parts))
	var decided []int64
	if c.Rank() == 0 {
		sum := tableOf(t.Width, team.MergeRows(t.Width, lists))
		decided = by(&sum)
	}
	return team.Must(team.Gather(c.Crew, decided))[0]
}

// tally has each worker count some of n things here.
func (c *crew) tally(width, n int, work func(k *counter, from, to int)) Table {
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
func (c *crew) count(width, n int, work func(k *counter, from, to int)) Table {
	return c.all(c.tally(width, n, work))
}

// halted is collective: it ends the work where a member has no time left.
func (c *crew) halted() {
	if team.Must(team.Any(c.Crew, c.halt != nil && c.halt())) {
		team.Must(0, ErrHalted)
	}
}
