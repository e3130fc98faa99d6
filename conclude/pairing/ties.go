package pairing

import (
	"cmp"
	"slices"

	"moriens/trace/parquet"
)

// A tie is what two ranks exchanged in messages, both ways together; a < b.
type tie struct {
	a, b              int32
	same              bool // node
	messages, bytes   int64
	there             int64 // messages from a to b
	moved             int64 // bytes of collectives and one-sided communication, for the placement
	blockedNS, lateNS int64
}

// ties are all of them, by ranks, and what each rank is blocked with.
type ties struct {
	list    []tie
	ofRank  []int64 // blocked time of its ties
	totalNS int64
}

func tiesOf(d *describer) (x ties) {
	list := make([]tie, 0, len(d.rows)/2+1)
	for i := range d.rows {
		r := &d.rows[i]
		if r.Sized() || r.Peer < 0 {
			continue
		}
		own, peer := d.index(r.World, r.Rank), d.index(r.PeerWorld, r.Peer)
		if peer < 0 || own == peer {
			continue
		}
		t := tie{a: min(own, peer), b: max(own, peer), same: r.SameHost}
		switch r.Kind {
		case parquet.PairsReceived:
			t.messages, t.bytes, t.blockedNS, t.lateNS = r.Messages, r.Bytes, r.BlockedNS, max(0, r.LateNS)
			if peer == t.a {
				t.there = r.Messages
			}
		case parquet.PairsSent: // the receiver counts them
		default:
			t.moved = r.Bytes
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(p, q tie) int { return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b)) })
	for _, t := range list {
		if n := len(x.list) - 1; n >= 0 && x.list[n].a == t.a && x.list[n].b == t.b {
			s := &x.list[n]
			s.messages, s.bytes, s.blockedNS = s.messages+t.messages, s.bytes+t.bytes, s.blockedNS+t.blockedNS
			s.there, s.moved, s.lateNS = s.there+t.there, s.moved+t.moved, s.lateNS+t.lateNS
			continue
		}
		x.list = append(x.list, t)
	}
	x.ofRank = make([]int64, len(d.known.Ranks))
	for _, t := range x.list {
		x.ofRank[t.a] += t.blockedNS
		x.ofRank[t.b] += t.blockedNS
		x.totalNS += t.blockedNS
	}
	return x
}

// of is that of two ranks; nil: they exchanged nothing, or are in no row of their own.
func (x *ties) of(a, b int32) *tie {
	i, known := slices.BinarySearchFunc(x.list, [2]int32{min(a, b), max(a, b)}, func(t tie, of [2]int32) int {
		return cmp.Or(cmp.Compare(t.a, of[0]), cmp.Compare(t.b, of[1]))
	})
	if !known {
		return nil
	}
	return &x.list[i]
}
