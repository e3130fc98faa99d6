package sums

import (
	"fmt"
	"math"

	moriensv1 "moriens/proto/moriens/v1"
)

// A Table adds up by keys, of which the same few mostly recur in the same order. Its zero value is empty.
type Table struct {
	rows   []Row
	then   []int // by row: the one of its what that was asked for after it, the latest time
	at     map[Key]int
	latest [whats]int // row
}

// Row is the number of a key's row, which it keeps.
func (t *Table) Row(key Key) int {
	latest := t.latest[key.What]
	if len(t.rows) > 0 {
		if t.rows[latest].Key == key {
			return latest
		}
		if next := t.then[latest]; t.rows[next].Key == key {
			t.latest[key.What] = next
			return next
		}
	}
	n, known := t.at[key]
	if !known {
		if t.at == nil {
			t.at = make(map[Key]int)
		}
		n = len(t.rows)
		t.at[key] = n
		t.rows, t.then = append(t.rows, Row{Key: key}), append(t.then, 0)
	}
	t.then[latest], t.latest[key.What] = n, n
	return n
}

// Add adds one to a row; bytes stop at the largest number, which only damaged records reach.
func (t *Table) Add(row int, bytes uint64) {
	r := &t.rows[row]
	r.Count++
	r.Bytes += min(bytes, math.MaxUint64-r.Bytes)
}

// Message is the table so far. Whose it is the caller says.
func (t *Table) Message() *moriensv1.Sums { return Encode(t.rows) }

// Restore returns the table of a message.
func Restore(x *moriensv1.Sums) (Table, error) {
	rows, err := Decode(x)
	if err != nil {
		return Table{}, err
	}
	t := Table{rows: rows, then: make([]int, len(rows)), at: make(map[Key]int, len(rows))}
	for i := range rows {
		if _, twice := t.at[rows[i].Key]; twice {
			return Table{}, fmt.Errorf("%v twice", rows[i].Key)
		}
		t.at[rows[i].Key] = i
		t.then[i] = (i + 1) % len(rows)
	}
	return t, nil
}
