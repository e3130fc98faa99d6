package window

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/anchor"
)

// levelBy is the class of a hash: the number of edges 2^64·2^(-(k+1)/4) that are above it, found by their fourth
// powers.
func levelBy(hash uint64) int {
	fourth := new(big.Int).Exp(new(big.Int).SetUint64(hash), big.NewInt(4), nil)
	for k := range levels - 1 {
		if edge := new(big.Int).Lsh(big.NewInt(1), uint(4*64-(k+1))); fourth.Cmp(edge) >= 0 {
			return k
		}
	}
	return levels - 1
}

// Levels are quarters of octaves, exact to the last bit at their edges.
func TestLevels(t *testing.T) {
	for level := range levels - 1 {
		edge := edgeOf(level)
		for _, x := range []struct {
			hash uint64
			want int
		}{{edge + 1, level}, {edge, level + 1}, {edge - 1, level + 1}, {edge + 2, level}} {
			if got := levelOf(x.hash); got != x.want || levelBy(x.hash) != x.want {
				t.Errorf("edge of level %d: %#x is of level %d, and %d by its fourth power, want %d", level, x.hash, got, levelBy(x.hash), x.want)
			}
		}
	}
	if levelOf(0) != levels-1 || levelOf(1<<64-1) != 0 || edgeOf(levels-1) != 0 {
		t.Errorf("the lowest hash is of level %d, the highest one of %d, below the last level is %d", levelOf(0), levelOf(1<<64-1), edgeOf(levels-1))
	}
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.Uint64().Draw(t, "hash") >> rapid.IntRange(0, 63).Draw(t, "octaves")
		if got, want := levelOf(hash), levelBy(hash); got != want {
			t.Fatalf("%#x is of level %d, want %d", hash, got, want)
		}
	})
}

// What is evicted with a log is what is of its class or one with higher hashes.
func TestEvictedByLevel(t *testing.T) {
	for gone := range levels {
		s := &Store{below: [classes]uint64{edgeOf(gone)}}
		for level := range levels {
			if got := s.evicted(logKey{ordinary, level}); got != (level <= gone) {
				t.Errorf("level %d is gone, level %d: %t", gone, level, got)
			}
		}
	}
	s := &Store{below: [classes]uint64{1<<64 - 1}}
	for level := range levels {
		if s.evicted(logKey{ordinary, level}) {
			t.Errorf("none is gone, level %d is", level)
		}
	}
}

// A chunk is 64 windows, and of their parts those with one number.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, 1<<40).Draw(t, "window")
		part := rapid.Uint64Range(0, 1<<partBits-1).Draw(t, "part")
		other := n + rapid.Uint64Range(0, 200).Draw(t, "more")
		otherPart := rapid.SampledFrom([]uint64{part, part ^ 1, part ^ 1<<(partBits-1)}).Draw(t, "other part")
		a, b := chunkOf(anchor.ID(n<<partBits|part)), chunkOf(anchor.ID(other<<partBits|otherPart))
		if want := n/64 == other/64 && part == otherPart; (a == b) != want {
			t.Fatalf("window %d, part %d, and window %d, part %d: chunks %d and %d", n, part, other, otherPart, a, b)
		}
	})
}
