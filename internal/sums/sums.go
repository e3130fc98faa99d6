// Package sums is what a process counts in total, of what is needed exactly whatever becomes of its calls: one table
// of rows, each with a key (what, kind, a, b) and columns that add up. An agent fills a Table; its rows travel, and
// are stored, as a moriensv1.Sums.
//
// A Table has at most MaxPeers rows of peers of a kind. When another one comes it keeps the Kept heaviest of them, by
// the time that was spent for them, then by bytes, and adds up the others in a row of the rest, which goes on
// counting; a peer that returns begins with nothing. Sums over all peers stay exact. A row takes at most 128 bytes of
// memory, so that the peers that a process sends to and receives from take 1 MiB; rows of sizes are at most 130, and
// those of sites and ends are as many as there are call paths.
//
// Another column is added in two places: the message, and here, in Row, Encode, Decode and Add. Another *what* is
// added to the message, here beside Site and Peer, and where the collector says which keys it can have
// (collector/store).
package sums

import (
	"fmt"
	"math"
	"math/bits"
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
const whats = moriensv1.Sums_WHAT_REST + 1

// Site is the key of transfers of a kind that calls of a function from a call path posted.
func Site(kind moriensv1.Transfers_Kind, function mpicall.ID, path uint32) Key {
	return Key{moriensv1.Sums_WHAT_SITE, kind, uint32(function), int32(path)}
}

// Peer is the key of transfers of a kind to or from a peer.
func Peer(kind moriensv1.Transfers_Kind, comm uint32, peer int32) Key {
	return Key{moriensv1.Sums_WHAT_PEER, kind, comm, peer}
}

// Size is the key of messages of a kind and a number of bytes.
func Size(kind moriensv1.Transfers_Kind, bytes uint64) Key {
	return Key{moriensv1.Sums_WHAT_SIZE, kind, uint32(bits.Len64(bytes)), 0}
}

// End is the key of messages of a kind that calls of a function from a call path completed.
func End(kind moriensv1.Transfers_Kind, function mpicall.ID, path uint32) Key {
	return Key{moriensv1.Sums_WHAT_END, kind, uint32(function), int32(path)}
}

// Rest is the key of transfers of a kind of peers for which there was no room.
func Rest(kind moriensv1.Transfers_Kind) Key { return Key{moriensv1.Sums_WHAT_REST, kind, 0, 0} }

// At returns the key of a site, or of an end, with another call path.
func (k Key) At(path uint32) Key {
	k.B = int32(path)
	return k
}

// Function and Path are those of a site, and of an end.
func (k Key) Function() mpicall.ID { return mpicall.ID(k.A) }
func (k Key) Path() uint32         { return uint32(k.B) }

// Comm and Peer are those of a peer.
func (k Key) Comm() uint32 { return k.A }
func (k Key) Peer() int32  { return k.B }

// HasPath reports whether a key has a function and a call path.
func (k Key) HasPath() bool {
	return k.What == moriensv1.Sums_WHAT_SITE || k.What == moriensv1.Sums_WHAT_END
}

// A Row is a key with what was counted of it. Times are ticks.
type Row struct {
	Key
	Count, Bytes   uint64
	Blocked        uint64 // time in calls that completed them, the share of each
	Longest, First uint64 // share of one: the longest, and that of the first one
}

// add adds transfers; where a number would be too large, which only damaged records reach, it is the largest one.
func (r *Row) add(count, bytes, blocked uint64) {
	r.Count += count
	r.Bytes += min(bytes, math.MaxUint64-r.Bytes)
	r.Blocked += min(blocked, math.MaxUint64-r.Blocked)
}

// Encode makes the message of rows. Those of one what and kind stand together in it, in their order.
func Encode(rows []Row) *moriensv1.Sums {
	n := len(rows)
	x := &moriensv1.Sums{A: make([]uint32, n), B: make([]int32, n), Count: make([]uint64, n), Bytes: make([]uint64, n)}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Blocked|r.Longest|r.First != 0 }) {
		x.Blocked, x.Longest, x.First = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	}
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
		if x.Blocked != nil {
			x.Blocked[at], x.Longest[at], x.First[at] = r.Blocked, r.Longest, r.First
		}
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
	times := len(x.GetBlocked())
	if times != 0 && times != n || len(x.GetLongest()) != times || len(x.GetFirst()) != times {
		return nil, fmt.Errorf("columns of %d, %d and %d times, of %d rows", times, len(x.GetLongest()), len(x.GetFirst()), n)
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
			r := Row{Key: Key{x.What[run], x.Kind[run], x.A[i], b}, Count: x.Count[i], Bytes: x.Bytes[i]}
			if times > 0 {
				r.Blocked, r.Longest, r.First = x.Blocked[i], x.Longest[i], x.First[i]
			}
			list = append(list, r)
		}
	}
	return list, nil
}
