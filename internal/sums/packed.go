package sums

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
)

// Packed are rows as they travel. nil: none.
type Packed []byte

// Pack packs rows, of which each what and kind is known and each count is positive, those of peers in
// the order of their keys: the next one takes a byte. The rows are in that order afterwards.
func Pack(rows []Row) Packed {
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return a.Key.compare(b.Key) })
	packed, err := proto.Marshal(Encode(rows))
	if err != nil {
		panic(err) // there is no text in it
	}
	return packed
}

// Message is the message of the rows.
func (p Packed) Message() *moriensv1.Sums {
	x := new(moriensv1.Sums)
	if err := proto.Unmarshal(p, x); err != nil {
		panic(err) // nothing else has written it
	}
	return x
}

// Rows are the rows.
func (p Packed) Rows() []Row {
	if p == nil {
		return nil
	}
	rows, err := Decode(p.Message())
	if err != nil {
		panic(err) // likewise
	}
	return rows
}

// compare puts keys of a what and kind together, of peers by communicator and rank. The order of others is for who has
// counted them to say: numbers of call paths say nothing.
func (k Key) compare(x Key) int {
	if order := cmp.Or(cmp.Compare(k.What, x.What), cmp.Compare(k.Kind, x.Kind)); order != 0 || k.What != moriensv1.Sums_WHAT_PEER {
		return order
	}
	return cmp.Or(cmp.Compare(k.A, x.A), cmp.Compare(k.B, x.B))
}
