// Package anchor numbers windows: stretches of a run between collective calls of all ranks, the anchors, which cut all
// ranks of all nodes at the same events without communication.
//
// The anchors of a process are the collective calls on communicators that hold all ranks of its MPI_COMM_WORLD in their
// order. In come these calls with their ordinals, which count correctly even where records are missing; out come window
// numbers.
package anchor

import (
	"math"
	"math/bits"
	"time"

	"moriens/internal/mix"
)

const (
	// perLevel is how many windows have the same number of anchors before it doubles. A run of a million anchors, some
	// hours, has 32,000 windows; none is longer than 1/4096 of the run before it, where anchors are evenly spaced.
	perLevel = 4096
	// A window without an anchor for long is cut by time. So is a run without any anchor.
	slice         = ShortestPart
	slicesALevel  = 64
	sliceBits     = 16
	lastSlice     = 1<<sliceBits - 1
	durationLimit = 1 << 62
	// comparedAll is how many windows, and parts of a window, are all Compared. Of twice as many that follow each other
	// half are, and so on.
	comparedAll = 64
)

// ShortestPart is how long the first parts of a window are that is cut by time.
const ShortestPart = 10 * time.Second

// An ID is the number of a window. Later windows have larger ones.
type ID uint64

// After returns the window that begins after so many anchors: the first 4,096 windows have one anchor each, the next
// 4,096 two, and so on. A window ends with its last anchor.
func After(anchors uint64) ID {
	level, start := uint64(0), uint64(0)
	for anchors-start >= perLevel<<level {
		start += perLevel << level
		level++
	}
	return ID(perLevel*level+(anchors-start)>>level) << sliceBits
}

// Anchors returns how many anchors lie before a window.
func (w ID) Anchors() uint64 {
	n := uint64(w >> sliceBits)
	level := n / perLevel
	return perLevel*(1<<level-1) + (n%perLevel)<<level
}

// At returns the part of a window that is so long after its beginning: the first 64 parts have 10 s each, the next 64
// have 20 s, and so on. The clock of each rank begins with the window's first anchor, which no two leave at quite the
// same time: the edges between parts of a window are not sharp.
func (w ID) At(since time.Duration) ID {
	since = min(max(since, 0), durationLimit)
	level, start := 0, time.Duration(0)
	for since-start >= slicesALevel*slice<<level {
		start += slicesALevel * slice << level
		level++
	}
	n := slicesALevel*level + int((since-start)/(slice<<level))
	return w>>sliceBits<<sliceBits + ID(min(n, lastSlice))
}

// Hash orders windows by chance, but everywhere in a run alike.
func (w ID) Hash(run string) uint64 {
	hash := uint64(14695981039346656037) // FNV-1a
	for i := range len(run) {
		hash = (hash ^ uint64(run[i])) * 1099511628211
	}
	return mix.Bits(hash + uint64(w))
}

// Compared reports whether clocks are compared by what ranks send each other in the window: by the first 64 windows, by
// every second one of the next 64, every fourth of the next 128, and so on, and likewise by the parts of a window:
// those with the lowest hashes.
func (w ID) Compared(run string) bool {
	halved := w.halved()
	return halved == 0 || w.Hash(run)>>(64-halved) == 0
}

// Share is the share of windows like this one that are Compared: 1, 1/2, 1/4, … It is how likely this one is, over all
// names of a run; whether another one is does not count.
func (w ID) Share() float64 { return math.Ldexp(1, -w.halved()) }

// halved is how often the share is halved.
func (w ID) halved() int {
	return bits.Len64(uint64(w>>sliceBits)/comparedAll) + bits.Len64(uint64(w&lastSlice)/comparedAll)
}
