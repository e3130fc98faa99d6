// Package mix turns numbers into hashes: every bit of the result depends on every bit of the number.
//
// Where a choice must be random, but the same in every run, the hash of a number or place decides.
package mix

import "math"

// Bits is SplitMix64 (Steele, Lea and Flood, OOPSLA'14): its step and its mixing function. Different numbers have
// different hashes.
func Bits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Normal makes a hash a number of the standard normal distribution, by the transform of Box and Muller of its two
// halves.
func Normal(hash uint64) float64 {
	u, v := (float64(hash>>32)+.5)/(1<<32), float64(hash&math.MaxUint32)/(1<<32)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}
