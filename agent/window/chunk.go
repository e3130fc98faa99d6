package window

import (
	"fmt"
	"math/bits"

	"moriens/internal/anchor"
)

// A chunk is windows that are kept and evicted together: 64 that follow each other, of which each part that is cut off
// by time is one by itself.
type chunk uint64

const (
	chunkBits = 6
	partBits  = 16 // of a window's number, as in anchor
)

func chunkOf(w anchor.ID) chunk {
	return chunk(w>>partBits>>chunkBits<<partBits | w&(1<<partBits-1))
}

// Chunks with consecutive hashes share a class: four classes to an octave. So a chunk's class is known before anything
// of it is written, and what goes first is files of its own.
const (
	quarters = 4
	levels   = 64 // the last one has all hashes below the others
)

// edges of an octave in quarters: 2^64·2^(-k/4) for k = 1, 2, 3, and 4, rounded up.
var octave = [quarters]uint64{0xd744fccad69d6af5, 0xb504f333f9de6485, 0x9837f0518db8a970, 1 << 63}

// levelOf is the class of a hash: 0 has the highest ones.
func levelOf(hash uint64) int {
	zeros := bits.LeadingZeros64(hash)
	if zeros >= levels/quarters {
		return levels - 1
	}
	k := 0
	for hash<<zeros < octave[k] {
		k++
	}
	return zeros*quarters + k
}

// edgeOf is the highest hash that is not in a class or one with higher hashes; 0 where there is none.
func edgeOf(level int) uint64 {
	if level == levels-1 {
		return 0
	}
	return (octave[level%quarters] - 1) >> (level / quarters)
}

func (c chunk) hash(run string) uint64 { return anchor.ID(c).Hash(run) }

// A held is where what is kept of a process's chunk lies.
type held struct {
	rank    class
	offsets []int64 // of its records, in the log of its rank and level
}

// A chunkKey is a chunk of a process.
type chunkKey struct {
	process uint64
	chunk   chunk
}

// A logKey names a log.
type logKey struct {
	rank  class
	level int
}

var rankNames = [classes]string{"ordinary", "unusual", "pinned"}

func (k logKey) dir() string { return fmt.Sprintf("%s-%02d", rankNames[k.rank], k.level) }

// evicted reports whether a log's chunks are.
func (s *Store) evicted(k logKey) bool { return edgeOf(k.level) >= s.below[k.rank] }
