package pairing

import (
	"math"
	"math/bits"

	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// bytesPerRow is about what a row of pairs.parquet takes.
const bytesPerRow = 4

// makeRows makes the rows of pairs.parquet, and what they come to: totals, and the ties of ranks. Where there is no
// room for all, the heaviest stay.
func (d *describer) makeRows() {
	t := &rundir.PairsTotals{LateSender: unknown, LateSenderError: unknown, LateReceiver: unknown, LateReceiverError: unknown, Unexplained: unknown, Collectives: unknown}
	s := scale{}
	var blockedNS, sendNS int64
	var messages bool
	tally := pairCount{d: d}
	d.each(func(r *parquet.PairsRow) {
		s.add(r)
		if r.Sized() || r.Kind != parquet.PairsReceived && r.Kind != parquet.PairsSent {
			return
		}
		messages = true
		tally.add(r)
		if r.Kind == parquet.PairsSent {
			sendNS += r.BlockedNS
			if r.Peer < 0 || d.recorded(r) {
				return // the receiver counts it, and so do those of several peers
			}
		} else {
			blockedNS += r.BlockedNS
		}
		t.Messages += r.Messages
		t.Bytes += r.Bytes
		if r.Peer >= 0 && !r.SameHost && d.recorded(r) {
			t.InternodeMessages += r.Messages
			t.InternodeBytes += r.Bytes
		}
	})
	if s.rows == 0 {
		return
	}
	t.Blocked, t.Send, t.Pairs = seconds(blockedNS), seconds(sendNS), tally.pairs
	d.file.Totals, d.file.Basis = t, rundir.PairsAll
	if d.counted {
		d.file.Basis = rundir.PairsWindows
	}
	if !messages {
		d.file.Why = append(d.file.Why, "no rank sent a message: pairs are of collectives and one-sided communication alone")
	}
	d.keep(&s)
	parquet.SortPairs(d.rows)
	d.file.Table.Rows = int64(len(d.rows))
	d.ties = tiesOf(d)
}

// keep makes the rows that there is room for, and adds up the others.
func (d *describer) keep(s *scale) {
	room := int64(math.MaxInt64)
	if d.Room > 0 {
		room = max(1, d.Room/bytesPerRow)
	}
	if s.rows <= room {
		d.rows = make([]parquet.PairsRow, 0, s.rows)
		d.each(func(r *parquet.PairsRow) { d.rows = append(d.rows, *r) })
		return
	}
	for _, coarse := range []bool{false, true} {
		most := s.heaviest(room / 2)
		rest := make(map[likeness]*parquet.PairsRow)
		d.rows, d.file.Table.Summed, d.file.Table.SummedBytes = d.rows[:0], 0, 0
		summedNS := int64(0)
		d.each(func(r *parquet.PairsRow) {
			if most.takes(r) {
				d.rows = append(d.rows, *r)
				return
			}
			d.file.Table.Summed++
			d.file.Table.SummedBytes += r.Bytes
			summedNS += r.BlockedNS
			if int64(len(rest)) > room/2 && !coarse {
				return
			}
			like := d.like(r, coarse)
			sum := rest[like]
			if sum == nil {
				sum = &parquet.PairsRow{
					Kind: r.Kind, World: r.World, Rank: r.Rank, PeerWorld: -1, Peer: -1, SameHost: r.SameHost, FromBytes: r.FromBytes, ToBytes: r.ToBytes, LateNS: -1, LateErrorNS: -1,
				}
				if r.LateNS >= 0 {
					sum.LateNS, sum.LateErrorNS = 0, 0
				}
				rest[like] = sum
			}
			sum.Messages += r.Messages
			sum.Bytes += r.Bytes
			sum.BlockedNS += r.BlockedNS
			switch {
			case r.LateNS < 0:
				sum.LateNS, sum.LateErrorNS = -1, -1 // of some it is not known
			case sum.LateNS >= 0:
				sum.LateNS += r.LateNS
				sum.LateErrorNS = int64(math.Hypot(float64(sum.LateErrorNS), float64(r.LateErrorNS)))
			}
		})
		d.file.Table.SummedBlocked = seconds(summedNS)
		if int64(len(rest)) > room/2 && !coarse {
			continue
		}
		for _, r := range rest {
			d.rows = append(d.rows, *r)
		}
		break
	}
	d.file.Why = append(d.file.Why, "the heaviest pairs alone have rows of their own: "+count(d.file.Table.Summed)+" others are added up by class of rank, offset and node")
}

// A likeness is what rows share that are added up.
type likeness struct {
	kind              string
	world             int32
	class, peers      int32
	offset, fromBytes int64
	sameHost          bool
}

func (d *describer) like(r *parquet.PairsRow, coarse bool) likeness {
	x := likeness{kind: r.Kind, world: r.World, class: d.class(r.World, r.Rank), peers: d.class(r.PeerWorld, r.Peer), offset: int64(r.Peer) - int64(r.Rank), fromBytes: r.FromBytes, sameHost: r.SameHost}
	if r.Peer < 0 {
		x.offset = math.MaxInt64
	}
	if coarse {
		x.class, x.peers = 0, 0
		if bits := int64(bits.Len64(uint64(max(x.offset, -x.offset)))); x.offset < 0 {
			x.offset = -bits
		} else {
			x.offset = bits
		}
	}
	return x
}

// class is that of a rank; -1: none is known.
func (d *describer) class(world, rank int32) int32 {
	i := d.index(world, rank)
	if i < 0 || d.Class == nil {
		return -1
	}
	if d.classOf == nil {
		d.classOf = make([]int32, len(d.known.Ranks))
		for thread := len(d.Class) - 1; thread >= 0; thread-- { // that of a rank's first thread
			d.classOf[d.known.RankOf[thread]] = d.Class[thread]
		}
	}
	return d.classOf[i]
}

// recorded says that the peer of a row is a rank with a record.
func (d *describer) recorded(r *parquet.PairsRow) bool { return d.index(r.PeerWorld, r.Peer) >= 0 }

// index is that of a rank; -1: it has no record.
func (d *describer) index(world, rank int32) int32 {
	if rank < 0 {
		return -1
	}
	if world >= 0 && int(world) < len(d.zero) { // mostly all ranks of a world have records
		if i := int(d.zero[world]) + int(rank); i < len(d.known.Ranks) && d.known.Ranks[i].World == world && d.known.Ranks[i].Rank == rank {
			return int32(i)
		}
	}
	if i, known := d.at[[2]int32{world, rank}]; known {
		return i
	}
	return -1
}

func (d *describer) sameHost(a, b int32) bool {
	return a >= 0 && b >= 0 && d.known.Ranks[a].Node == d.known.Ranks[b].Node
}

// A scale counts rows by their weight.
type scale struct {
	rows int64
	of   [64 << weightBits]int64
}

const weightBits = 5

// weight is what a row weighs: its time, a byte as much as a nanosecond.
func weight(r *parquet.PairsRow) int {
	w := uint64(r.BlockedNS) + uint64(r.Bytes)
	octave := bits.Len64(w) - 1 - weightBits
	if octave <= 0 {
		return int(w)
	}
	return min(octave<<weightBits+int(w>>octave), 64<<weightBits-1)
}

func (s *scale) add(r *parquet.PairsRow) {
	s.rows++
	s.of[weight(r)]++
}

// heaviest are so many of the rows.
func (s *scale) heaviest(n int64) *heaviest {
	h := &heaviest{}
	for k := len(s.of) - 1; k >= 0; k-- {
		if s.of[k] > n {
			h.above, h.left = k, n
			break
		}
		n -= s.of[k]
	}
	return h
}

// heaviest takes rows of more than a weight, and the first of those that have it.
type heaviest struct {
	above int
	left  int64
}

func (h *heaviest) takes(r *parquet.PairsRow) bool {
	w := weight(r)
	if w == h.above && h.left > 0 {
		h.left--
		return true
	}
	return w > h.above
}
