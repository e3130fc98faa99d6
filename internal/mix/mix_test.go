package mix

import (
	"math"
	"math/bits"
	"testing"
)

// TestBits compares with the first numbers of Vigna's splitmix64.c from seed 1234567: its n-th is the hash of the state before it.
func TestBits(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	state := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := Bits(state); got != want {
			t.Errorf("Bits(%d) = %d, want %d", state, got, want)
		}
		state += step
	}
}

// TestEveryBitCounts turns each bit of many numbers over: about half the bits of the hash have to change.
func TestEveryBitCounts(t *testing.T) {
	const numbers = 1 << 12
	for bit := range 64 {
		turned := 0
		for x := range uint64(numbers) {
			turned += bits.OnesCount64(Bits(x) ^ Bits(x^1<<bit))
		}
		if mean := float64(turned) / numbers; math.Abs(mean-32) > 1 {
			t.Errorf("bit %d turns %.2f bits of the hash over on average", bit, mean)
		}
	}
}
