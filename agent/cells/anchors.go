package cells

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// maxOrdinal bounds the number of a collective call, so that no sum of them overflows.
const maxOrdinal = 1 << 48

// anchors are the collective calls of a ring on communicators of all ranks, in the order of its rows. How many anchors
// lie before one its ordinal shows, also where records are missing.
type anchors struct {
	rows  []uint32
	jumps []jump            // the first, and those that do not follow the one before them
	past  map[uint32]uint64 // by communicator: how many there have been
	total uint64            // on all
	turns []turn            // where another communicator has its turn, or some of its calls are not known
}

// A turn says on which communicator an anchor is, and its ordinal there. Those that follow, up to the next turn, are on
// the same, each with the next ordinal.
type turn struct {
	anchor  int
	comm    uint32
	ordinal uint64
}

// A jump says how many anchors lie before one. Behind each of those that follow, up to the next jump, there is one
// more.
type jump struct {
	anchor int
	before uint64
}

var errAnchorOrder = errors.New("collectives of one communicator, or of one thread, are not in their order")

// add takes the collective of a row. One that is there already changes nothing.
func (a *anchors) add(row, comm uint32, ordinal uint64) error {
	if n := len(a.rows); n > 0 && row <= a.rows[n-1] {
		if _, known := slices.BinarySearch(a.rows, row); known {
			return nil
		}
		return fmt.Errorf("row %d: %w", row, errAnchorOrder)
	}
	if ordinal > maxOrdinal || ordinal < a.past[comm] {
		return fmt.Errorf("row %d: ordinal %d behind %d: %w", row, ordinal, a.past[comm], errAnchorOrder)
	}
	if a.past == nil {
		a.past = make(map[uint32]uint64)
	}
	before := a.total + ordinal - a.past[comm]
	if len(a.rows) == 0 || before != a.total {
		a.jumps = append(a.jumps, jump{len(a.rows), before})
	}
	if n := len(a.turns); n == 0 || a.turns[n-1].comm != comm || a.turns[n-1].ordinal+uint64(len(a.rows)-a.turns[n-1].anchor) != ordinal {
		a.turns = append(a.turns, turn{len(a.rows), comm, ordinal})
	}
	a.rows = append(a.rows, row)
	a.total, a.past[comm] = before+1, ordinal+1
	return nil
}

// before is how many anchors lie before one.
func (a *anchors) before(anchor int) uint64 {
	i := sort.Search(len(a.jumps), func(i int) bool { return a.jumps[i].anchor > anchor }) - 1
	return a.jumps[i].before + uint64(anchor-a.jumps[i].anchor)
}

// each gives the anchors in their order, each with its communicator, and its ordinal there.
func (a *anchors) each(do func(row, comm uint32, ordinal uint64)) {
	for i, t := range a.turns {
		end := len(a.rows)
		if i+1 < len(a.turns) {
			end = a.turns[i+1].anchor
		}
		for k := t.anchor; k < end; k++ {
			do(a.rows[k], t.comm, t.ordinal+uint64(k-t.anchor))
		}
	}
}

func (a *anchors) bytes() int64 {
	return 4*int64(cap(a.rows)) + 16*int64(cap(a.jumps)) + 24*int64(cap(a.turns))
}
