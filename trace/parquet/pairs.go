package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	pq "github.com/parquet-go/parquet-go"
)

// Kinds of rows of pairs.parquet: docs/format/pairs.md.
const (
	PairsSent       = "send"       // messages that the rank sent to the peer
	PairsReceived   = "receive"    // messages that it received from it
	PairsPut        = "put"        // bytes that it put into the peer's window
	PairsGot        = "get"        // bytes that it got out of it
	PairsCollective = "collective" // bytes that collectives of a part of the ranks move to the peer
)

// A PairsRow is what one rank has exchanged with one peer: in all, or in messages of some sizes.
type PairsRow struct {
	World, Rank     int32
	PeerWorld, Peer int32 // -1: of several peers, for which there was no room of their own, or of an unknown one
	Kind            string
	SameHost        bool
	// Sizes of messages, in bytes: a power of 2, to twice that less 1; 0 to 0. -1, -1: the row is of all sizes. Rows of
	// sizes are of messages that are known one by one.
	FromBytes, ToBytes int64

	Messages, Bytes int64
	// Of receives: what the calls that completed them took, shared equally among the receives of a call; the rows of a
	// rank add up to its time in these calls. Of sends likewise, of calls that completed no receive.
	BlockedNS          int64
	LongestNS, FirstNS int64 // of one message: the longest, and the first one's; of rows of sizes and of several peers 0
	// How long the rank waited for the peer: of receives for late senders, of sends for late receivers. LateErrorNS is the
	// standard error where that is estimated from windows, 0 where it is exact; -1: not known.
	LateNS, LateErrorNS int64
}

// Sized says that a row is of messages of some sizes, not of all.
func (r *PairsRow) Sized() bool { return r.FromBytes >= 0 }

// ofMessages says that a row is of messages, which cost time.
func (r *PairsRow) ofMessages() bool { return r.Kind == PairsSent || r.Kind == PairsReceived }

// timed says that a row is of all messages for one peer.
func (r *PairsRow) timed() bool { return r.ofMessages() && !r.Sized() && r.Peer >= 0 }

// pairsColumns are all columns, in their order. Most have few words: a dictionary of them takes the least room.
func pairsColumns() []column[PairsRow] {
	few := func(name, unit string, has func(*PairsRow) bool, field func(*PairsRow) *int64) column[PairsRow] {
		c := int64Column(name, unit, has, field)
		c.node = pq.Encoded(pq.Int(64), &pq.RLEDictionary)
		return c
	}
	time := func(name string, has func(*PairsRow) bool, field func(*PairsRow) *int64) column[PairsRow] {
		c := few(name, unitTime, has, field)
		c.get = func(r *PairsRow) pq.Value { return pq.Int64Value(threeDigits(*field(r))) }
		return c
	}
	return []column[PairsRow]{
		textColumn(columnOfKind, &pq.RLEDictionary, nil, func(r *PairsRow) *string { return &r.Kind }),
		ascending(int32Column("world", nil, func(r *PairsRow) *int32 { return &r.World })),
		ascending(int32Column("rank", nil, func(r *PairsRow) *int32 { return &r.Rank })),
		ascending(int32Column("peer_world", func(r *PairsRow) bool { return r.Peer >= 0 }, func(r *PairsRow) *int32 { return &r.PeerWorld })),
		ascending(int32Column("peer", func(r *PairsRow) bool { return r.Peer >= 0 }, func(r *PairsRow) *int32 { return &r.Peer })),
		{
			name: "same_host", node: pq.Leaf(pq.BooleanType), get: func(r *PairsRow) pq.Value { return pq.BooleanValue(r.SameHost) },
			fill: func(rows []PairsRow, c *columnValues) {
				for k := range rows {
					rows[k].SameHost = c.booleans[k].Boolean()
				}
			},
		},
		few("from_bytes", "", (*PairsRow).Sized, func(r *PairsRow) *int64 { return &r.FromBytes }),
		few("to_bytes", "", (*PairsRow).Sized, func(r *PairsRow) *int64 { return &r.ToBytes }),
		few("messages", "", nil, func(r *PairsRow) *int64 { return &r.Messages }),
		few("bytes", "", nil, func(r *PairsRow) *int64 { return &r.Bytes }),
		time("blocked_ns", (*PairsRow).ofMessages, func(r *PairsRow) *int64 { return &r.BlockedNS }),
		time("longest_ns", (*PairsRow).timed, func(r *PairsRow) *int64 { return &r.LongestNS }),
		time("first_ns", (*PairsRow).timed, func(r *PairsRow) *int64 { return &r.FirstNS }),
		time("late_ns", func(r *PairsRow) bool { return r.LateNS >= 0 }, func(r *PairsRow) *int64 { return &r.LateNS }),
		time("late_error_ns", func(r *PairsRow) bool { return r.LateErrorNS > 0 }, func(r *PairsRow) *int64 { return &r.LateErrorNS }),
	}
}

// threeDigits is a time with three significant digits: more would take most of the room, and say nothing of a pair.
func threeDigits(ns int64) int64 {
	unit := int64(1)
	for ns/unit >= 1000 {
		unit *= 10
	}
	if half := unit / 2; ns <= math.MaxInt64-half {
		ns += half
	}
	return ns / unit * unit
}

// pairsBlock is how many ranks are in order of who their peers are, rank by rank within that: neighbours have peers at
// the same offsets, and what they exchange is alike.
const pairsBlock = 1024

// compare gives the order of rows in the file.
func (r *PairsRow) compare(o *PairsRow) int {
	return cmp.Or(
		cmp.Compare(r.World, o.World), cmp.Compare(r.Rank/pairsBlock, o.Rank/pairsBlock), cmp.Compare(r.Kind, o.Kind), cmp.Compare(min(r.FromBytes, 0), min(o.FromBytes, 0)),
		cmp.Compare(r.PeerWorld, o.PeerWorld), cmp.Compare(r.offset(), o.offset()), cmp.Compare(r.FromBytes, o.FromBytes), cmp.Compare(r.Rank, o.Rank),
		cmp.Compare(r.Messages, o.Messages), cmp.Compare(r.Bytes, o.Bytes), cmp.Compare(r.BlockedNS, o.BlockedNS),
	)
}

// offset is how far the peer is from the rank; rows of several peers come last.
func (r *PairsRow) offset() int32 {
	if r.Peer < 0 {
		return math.MaxInt32
	}
	return r.Peer - r.Rank
}

// SortPairs puts rows into the order of the file.
func SortPairs(rows []PairsRow) {
	slices.SortFunc(rows, func(a, b PairsRow) int { return a.compare(&b) })
}

// WritePairs writes every row; they are in the order of SortPairs. Times get three significant digits.
func WritePairs(w io.Writer, rows []PairsRow) error {
	for i := range rows {
		if err := rows[i].check(); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if i > 0 && rows[i-1].compare(&rows[i]) > 0 {
			return fmt.Errorf("row %d: not in order", i)
		}
	}
	columns := pairsColumns()
	var names []string // whose bounds take more room than the little that they spare
	for _, c := range columns {
		names = append(names, c.name)
	}
	return writeColumns(w, "pairs", columns, rows, names...)
}

// ScanPairs hands out the rows that WritePairs wrote, some at a time; each call overwrites those of the call before.
// Columns of a later version are left out.
func ScanPairs(in io.ReaderAt, bytes int64, give func(rows []PairsRow) error) error {
	empty := func(rows []PairsRow) {
		for k := range rows {
			rows[k] = PairsRow{PeerWorld: -1, Peer: -1, FromBytes: -1, ToBytes: -1, LateNS: -1}
		}
	}
	return withFile(in, bytes, func(f *pq.File) error {
		return scanColumns(f, pairsColumns(), nil, empty, func(rows []PairsRow) error {
			for k := range rows {
				if rows[k].LateNS < 0 && rows[k].LateErrorNS == 0 {
					rows[k].LateErrorNS = -1
				}
				if err := rows[k].check(); err != nil {
					return err
				}
			}
			return give(rows)
		})
	})
}

// ReadPairs reads what WritePairs wrote.
func ReadPairs(in io.ReaderAt, bytes int64) (rows []PairsRow, err error) {
	err = ScanPairs(in, bytes, func(batch []PairsRow) error {
		rows = append(rows, batch...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// check refuses what no row says.
func (r *PairsRow) check() error {
	if !slices.Contains([]string{PairsSent, PairsReceived, PairsPut, PairsGot, PairsCollective}, r.Kind) {
		return fmt.Errorf("there is no kind of rows %q", r.Kind)
	}
	switch {
	case min(r.World, r.Rank) < 0:
		return errors.New("a rank below 0")
	case min(r.PeerWorld, r.Peer) < -1 || (r.PeerWorld < 0) != (r.Peer < 0):
		return errors.New("a peer that is none")
	case min(r.FromBytes, r.ToBytes) < -1 || (r.FromBytes < 0) != (r.ToBytes < 0) || r.ToBytes < r.FromBytes:
		return errors.New("sizes that are none")
	case min(r.Messages, r.Bytes, r.BlockedNS, r.LongestNS, r.FirstNS) < 0:
		return errors.New("a time or number below 0")
	case !r.ofMessages() && (r.BlockedNS != 0 || r.LateNS >= 0) || !r.timed() && (r.LongestNS != 0 || r.FirstNS != 0):
		return errors.New("a time of what has none")
	case min(r.LateNS, r.LateErrorNS) < -1 || (r.LateNS < 0) != (r.LateErrorNS < 0):
		return errors.New("a late time that is none")
	}
	return nil
}
