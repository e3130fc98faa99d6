package mix

import (
	"math"
	"math/bits"
	"testing"
)

// TestBits compares with the first numbers of Vigna's splitmix64.c from seed 1234567: its n-th is the hash of the state
// before it.
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

// TestNormal compares the first four moments of many numbers with those of the distribution, and its ends with what
// they have to be.
func TestNormal(t *testing.T) {
	const numbers = 1 << 16
	var moments [4]float64
	for n := range uint64(numbers) {
		x, power := Normal(Bits(n)), 1.0
		for k := range moments {
			power *= x
			moments[k] += power / numbers
		}
	}
	for k, want := range [4]float64{0, 1, 0, 3} {
		if math.Abs(moments[k]-want) > .1 {
			t.Errorf("moment %d is %v, want %v", k+1, moments[k], want)
		}
	}
	for _, hash := range []uint64{0, math.MaxUint64} {
		if x := Normal(hash); math.IsNaN(x) || math.Abs(x) > 7 {
			t.Errorf("Normal(%#x) = %v", hash, x)
		}
	}
}
