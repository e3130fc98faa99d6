package sums

import (
	"cmp"
	"fmt"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// MaxPeers is how many peers of a kind have rows of their own, at most.
	MaxPeers = 4096
	// Kept is how many of them keep theirs when there are more.
	Kept = 1024
)

// kinds is how many kinds of transfers there are, with the one that nothing has.
const kinds = moriensv1.Transfers_KIND_READ + 1

// A Table adds up by keys, of which the same few mostly recur in the same order. Its zero value is empty.
type Table struct {
	rows   []Row
	then   []int // by row: the one of its what that was asked for after it, the latest time
	at     map[Key]int
	latest [whats]int // row
	peers  [kinds]int // rows of peers, by kind
	free   []int      // rows that are given up: nothing has their numbers
	folds  int
}

// Row is the number of a key's row, which it keeps until Folds changes.
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
		n = t.add(key)
	}
	t.then[latest], t.latest[key.What] = n, n
	return n
}

// add adds a row.
func (t *Table) add(key Key) (n int) {
	if key.What == moriensv1.Sums_WHAT_PEER && key.Kind > 0 && key.Kind < kinds {
		if t.peers[key.Kind] >= MaxPeers {
			t.fold(key.Kind)
		}
		t.peers[key.Kind]++
	}
	if t.at == nil {
		t.at = make(map[Key]int)
	}
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
		t.rows[n] = Row{Key: key}
	} else {
		n = len(t.rows)
		t.rows, t.then = append(t.rows, Row{Key: key}), append(t.then, 0)
	}
	t.at[key] = n
	return n
}

// Folds is how often rows of peers were given up. Where it has changed none of them need have its number any more.
func (t *Table) Folds() int { return t.folds }

// fold keeps the heaviest peers of a kind and adds the others to the rest.
func (t *Table) fold(kind moriensv1.Transfers_Kind) {
	t.folds++
	rest := t.Row(Rest(kind))
	var list []int
	for i := range t.rows {
		if k := &t.rows[i].Key; k.What == moriensv1.Sums_WHAT_PEER && k.Kind == kind {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int) int {
		a, b := &t.rows[i], &t.rows[j]
		return cmp.Or(
			cmp.Compare(b.Blocked, a.Blocked), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B),
		)
	})
	for _, i := range list[Kept:] {
		r := &t.rows[i]
		to := &t.rows[rest]
		to.add(r.Count, r.Bytes, r.Blocked)
		to.Longest = max(to.Longest, r.Longest)
		delete(t.at, r.Key)
		*r = Row{}
		t.free = append(t.free, i)
	}
	t.peers[kind] = Kept
}

// Add adds one transfer to a peer's row, with its share of the time in the call that completed it.
func (t *Table) Add(row int, bytes, blocked uint64) {
	r := &t.rows[row]
	if r.Count == 0 {
		r.First = blocked
	}
	r.Longest = max(r.Longest, blocked)
	r.add(1, bytes, blocked)
}

// Sum adds so many transfers to another row.
func (t *Table) Sum(row int, count, bytes, blocked uint64) { t.rows[row].add(count, bytes, blocked) }

// Transfers is how many transfers all sites have.
func (t *Table) Transfers() (n uint64) {
	for i := range t.rows {
		if t.rows[i].What == moriensv1.Sums_WHAT_SITE {
			n += t.rows[i].Count
		}
	}
	return n
}

// Message is the table so far. Whose it is the caller says.
func (t *Table) Message() *moriensv1.Sums {
	if len(t.free) == 0 {
		return Encode(t.rows)
	}
	return Encode(slices.DeleteFunc(slices.Clone(t.rows), func(r Row) bool { return r.Count == 0 }))
}

// Restore returns the table of a message.
func Restore(x *moriensv1.Sums) (Table, error) {
	rows, err := Decode(x)
	if err != nil {
		return Table{}, err
	}
	t := Table{rows: rows, then: make([]int, len(rows)), at: make(map[Key]int, len(rows))}
	for i := range rows {
		k := &rows[i].Key
		if _, twice := t.at[*k]; twice {
			return Table{}, fmt.Errorf("%v twice", *k)
		}
		if k.What == moriensv1.Sums_WHAT_PEER && k.Kind > 0 && k.Kind < kinds {
			t.peers[k.Kind]++
		}
		t.at[*k] = i
		t.then[i] = (i + 1) % len(rows)
	}
	return t, nil
}
