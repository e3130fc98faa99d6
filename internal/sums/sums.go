// Package sums is what a process counts in total, of what is needed exactly whatever becomes of its calls: one table of
// rows, each with a key (what, kind, a, b) and columns that add up. An agent fills a Table; its rows travel, and are
// stored, as a moriensv1.Sums.
//
// Another column is added in two places: the message, and here, in Row, Encode, Decode and Add. Another *what* is added
// to the message, here beside Site and Peer, and where the collector says which keys it can have (collector/store).
package sums

import (
	"fmt"
	"slices"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Key says what a row is of.
type Key struct {
	What moriensv1.Sums_What
	Kind moriensv1.Transfers_Kind
	A    uint32
	B    int32
}

// whats is how many there are, with the one that nothing has.
const whats = moriensv1.Sums_WHAT_PEER + 1

// Site is the key of transfers of a kind that calls of a function from a call path posted.
func Site(kind moriensv1.Transfers_Kind, function mpicall.ID, path uint32) Key {
	return Key{moriensv1.Sums_WHAT_SITE, kind, uint32(function), int32(path)}
}

// Peer is the key of transfers of a kind to or from a peer.
func Peer(kind moriensv1.Transfers_Kind, comm uint32, peer int32) Key {
	return Key{moriensv1.Sums_WHAT_PEER, kind, comm, peer}
}

// Function and Path are those of a site.
func (k Key) Function() mpicall.ID { return mpicall.ID(k.A) }
func (k Key) Path() uint32         { return uint32(k.B) }

// Comm and Peer are those of a peer.
func (k Key) Comm() uint32 { return k.A }
func (k Key) Peer() int32  { return k.B }

// A Row is a key with what was counted of it.
type Row struct {
	Key
	Count, Bytes uint64
}

// Encode makes the message of rows. Those of one what and kind stand together in it, in their order.
func Encode(rows []Row) *moriensv1.Sums {
	n := len(rows)
	x := &moriensv1.Sums{A: make([]uint32, n), B: make([]int32, n), Count: make([]uint64, n), Bytes: make([]uint64, n)}
	for i := range rows {
		k := &rows[i].Key
		run := runOf(x, k)
		if run == len(x.Rows) {
			x.What, x.Kind, x.Rows = append(x.What, k.What), append(x.Kind, k.Kind), append(x.Rows, 0)
		}
		x.Rows[run]++
	}
	next := make([]uint32, len(x.Rows)+1) // row of each run
	for run, rows := range x.Rows {
		next[run+1] = next[run] + rows
	}
	for i := range rows {
		r := &rows[i]
		run := runOf(x, &r.Key)
		at := next[run]
		next[run]++
		x.A[at], x.B[at], x.Count[at], x.Bytes[at] = r.A, r.B, r.Count, r.Bytes
	}
	for i := n - 1; i > 0; i-- {
		x.B[i] -= x.B[i-1]
	}
	return x
}

// runOf is the run of a key among those that a message has, or behind them. They are few.
func runOf(x *moriensv1.Sums, k *Key) int {
	for run, kind := range x.Kind {
		if kind == k.Kind && x.What[run] == k.What {
			return run
		}
	}
	return len(x.Kind)
}

// Decode returns the rows of a message, if each what is known, and each count positive. What else they can be is for
// the caller to know.
func Decode(x *moriensv1.Sums) ([]Row, error) {
	n, runs := len(x.GetA()), len(x.GetRows())
	if len(x.GetWhat()) != runs || len(x.GetKind()) != runs {
		return nil, fmt.Errorf("columns of %d, %d and %d runs", len(x.GetWhat()), len(x.GetKind()), runs)
	}
	if len(x.GetB()) != n || len(x.GetCount()) != n || len(x.GetBytes()) != n {
		return nil, fmt.Errorf("columns of %d, %d, %d and %d rows", n, len(x.GetB()), len(x.GetCount()), len(x.GetBytes()))
	}
	all := uint64(0)
	for run, rows := range x.GetRows() {
		if what := x.What[run]; what <= moriensv1.Sums_WHAT_UNSPECIFIED || what >= whats {
			return nil, fmt.Errorf("what %d", what)
		}
		all += uint64(rows)
	}
	if all != uint64(n) {
		return nil, fmt.Errorf("runs of %d rows, of %d", all, n)
	}
	if i := slices.Index(x.GetCount(), 0); i >= 0 {
		return nil, fmt.Errorf("row %d counts nothing", i)
	}
	list := make([]Row, 0, n)
	b := int32(0)
	for run, rows := range x.GetRows() {
		for range rows {
			i := len(list)
			b += x.B[i]
			list = append(list, Row{Key{x.What[run], x.Kind[run], x.A[i], b}, x.Count[i], x.Bytes[i]})
		}
	}
	return list, nil
}
