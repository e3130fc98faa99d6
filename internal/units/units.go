// Package units reads and writes amounts as people give them on a command line.
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
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

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

// String writes an amount in the largest binary unit that leaves one or more.
func (b Bytes) String() string {
	for i := 3; i >= 0; i-- {
		if u := byteUnits[i]; float64(b) >= u.size {
			return strconv.FormatFloat(math.Round(10*float64(b)/u.size)/10, 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + " B"
}
