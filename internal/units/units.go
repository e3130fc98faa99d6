// Package units reads and writes amounts as users give them on a command line, and counts as sentences have them.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory or disk space. As text it is a number and a unit: 64MiB, 1.5GiB, 500kB, 4096.
type Bytes int64

var byteUnits = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50}, {"EiB", 1 << 60},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"EB", 1e18}, {"B", 1}, {"", 1},
}

// binaryUnits is how many of byteUnits are binary, the least first.
const binaryUnits = 6

// UnmarshalText reads an amount.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, u := range byteUnits {
		digits, fits := strings.CutSuffix(s, u.name)
		if !fits {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(x >= 0) || x*u.size >= math.MaxInt64 {
			break
		}
		*b = Bytes(math.Round(x * u.size))
		return nil
	}
	return fmt.Errorf("%q is no amount of bytes: write it like 64MiB, 1.5GB or 4096", s)
}

// String writes an amount with three figures at most in the binary unit in which it has one to three before the point,
// as the pages do.
func (b Bytes) String() string {
	amount, unit := float64(b), "B"
	for _, larger := range byteUnits[:binaryUnits] {
		if math.Abs(amount) < 999.5 { // what rounds to 1000 of a unit is given in the next
			break
		}
		amount, unit = amount/1024, larger.name
	}
	return strconv.FormatFloat(amount, 'g', 3, 64) + " " + unit
}
