package moment

import (
	"math"
	"math/big"
	"math/bits"
)

// An Exact adds up whole numbers ≥ 0 so that their mean and their standard deviation are rounded but once: however the
// numbers are shared out, and in whatever order the parts come together. Up to 2^63 numbers fit. The zero value is of
// none.
type Exact struct {
	N       int64
	Total   [2]uint64 // the low word first
	Squares [3]uint64
}

// Add takes another number in.
func (e *Exact) Add(x uint64) {
	e.N++
	var carry uint64
	e.Total[0], carry = bits.Add64(e.Total[0], x, 0)
	e.Total[1] += carry
	high, low := bits.Mul64(x, x)
	e.Squares[0], carry = bits.Add64(e.Squares[0], low, 0)
	e.Squares[1], carry = bits.Add64(e.Squares[1], high, carry)
	e.Squares[2] += carry
}

// Merge takes in the numbers of another.
func (e *Exact) Merge(o *Exact) {
	e.N += o.N
	var carry uint64
	for i := range e.Total {
		e.Total[i], carry = bits.Add64(e.Total[i], o.Total[i], carry)
	}
	carry = 0
	for i := range e.Squares {
		e.Squares[i], carry = bits.Add64(e.Squares[i], o.Squares[i], carry)
	}
}

// Mean is NaN without numbers.
func (e *Exact) Mean() float64 {
	if e.N == 0 {
		return math.NaN()
	}
	return rounded(Big(e.Total[:])) / float64(e.N)
}

// Std is the population's standard deviation; NaN without numbers.
func (e *Exact) Std() float64 {
	if e.N == 0 {
		return math.NaN()
	}
	n, total := big.NewInt(e.N), Big(e.Total[:])
	spread := n.Mul(n, Big(e.Squares[:]))
	spread.Sub(spread, total.Mul(total, total)) // N² times the variance
	if spread.Sign() < 0 {                      // sums that were shared out are rounded
		return 0
	}
	return math.Sqrt(rounded(spread)) / float64(e.N)
}

// Parts is how many numbers Split makes.
const Parts = 1 + 2*2 + 2*3

// Split appends to dst what makes up e, in numbers that may be added up, each by itself, for up to 2^31 Exacts; Join
// makes one of the sums.
func (e *Exact) Split(dst []int64) []int64 {
	dst = append(dst, e.N)
	for _, word := range e.words() {
		dst = append(dst, int64(*word&math.MaxUint32), int64(*word>>32))
	}
	return dst
}

// Join is of all Exacts whose parts were added up.
func Join(parts []int64) Exact {
	e := Exact{N: parts[0]}
	parts = parts[1:]
	for i, words := range [][]*uint64{e.words()[:2], e.words()[2:]} {
		var carry uint64
		for k, word := range words {
			at := 4*i + 2*k
			low := uint64(parts[at]) + carry
			high := uint64(parts[at+1]) + low>>32
			*word = high<<32 | low&math.MaxUint32
			carry = high >> 32
		}
	}
	return e
}

func (e *Exact) words() []*uint64 {
	return []*uint64{&e.Total[0], &e.Total[1], &e.Squares[0], &e.Squares[1], &e.Squares[2]}
}

// Big is the number of which these are the words, the lowest first.
func Big(words []uint64) *big.Int {
	x := new(big.Int)
	for i := len(words) - 1; i >= 0; i-- {
		x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(words[i]))
	}
	return x
}

func rounded(x *big.Int) float64 {
	f, _ := new(big.Float).SetInt(x).Float64()
	return f
}
