package main

import (
	"math/bits"

	"moriens/internal/mix"
	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// Of the messages of a rank with one peer: each way so many, of so many bytes.
const (
	peerMessages = 100
	peerBytes    = 4096
)

// sums is what a rank has counted: messages with the ranks next to it, on a ring.
func (j job) sums(rank int) *moriensv1.Sums {
	t := new(sums.Table)
	for _, kind := range []moriensv1.Transfers_Kind{moriensv1.Transfers_KIND_SENT, moriensv1.Transfers_KIND_RECEIVED} {
		blocked := uint64(0)
		for k := range j.peers {
			// A peer has sent what the other has received.
			peer, ticks := (rank+k+1)%j.ranks, uint64(0)
			if kind == moriensv1.Transfers_KIND_RECEIVED {
				peer = (rank - k - 1 + j.ranks) % j.ranks
				ticks = 1000 + mix.Bits(uint64(rank)<<32|uint64(peer))%50_000
			}
			row := t.Row(sums.Peer(kind, worldComm, int32(peer)))
			for n := range uint64(peerMessages) {
				t.Add(row, peerBytes, ticks*(1+n%7))
				blocked += ticks * (1 + n%7)
			}
		}
		count, bytes := uint64(j.peers*peerMessages), uint64(j.peers*peerMessages*peerBytes)
		call, path := mpicall.Isend, uint32(2)
		if kind == moriensv1.Transfers_KIND_RECEIVED {
			call, path = mpicall.Irecv, 1
		}
		t.Sum(t.Row(sums.Site(kind, call, path)), count, bytes, 0)
		t.Sum(t.Row(sums.Size(kind, 1<<(bits.Len(peerBytes)-1))), count, bytes, blocked)
		t.Sum(t.Row(sums.End(kind, mpicall.Waitall, 3)), count, bytes, blocked)
	}
	x := t.Message()
	x.Process = j.process(rank)
	return x
}
