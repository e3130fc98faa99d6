package loops

import (
	"math"
	"slices"
)

// Rebuild returns the symbols of a sequence: exactly those that its threads had, in their order, where Mixed, Unordered
// and Blurred are 0; else as many of each, in an order of which only what lies outside those parts is true.
func (s *Structure) Rebuild(sequence int) []uint32 {
	q := &s.Sequences[sequence]
	out := s.rebuild(make([]uint32, 0, q.Symbols), q.Root)
	if q.Counts != nil {
		s.sharpen(out, q.Counts)
	}
	return out
}

func (s *Structure) rebuild(out []uint32, body int32) []uint32 {
	repeat := func(symbol uint32, times int64) {
		for range times {
			out = append(out, symbol)
		}
	}
	for _, item := range s.Bodies[body].Items {
		repeat(item.Symbol, item.Times)
		for _, t := range item.Turns {
			from := len(out)
			out = s.rebuild(out, t.Body)
			once := len(out) - from
			for range t.Times - 1 {
				out = append(out, out[from:from+once]...)
			}
		}
		from := len(out)
		for _, c := range item.Mixed {
			repeat(c.Symbol, c.Times)
		}
		spread(out[from:])
	}
	return out
}

// spread puts equal symbols, which follow each other, at about equal distances: the golden section steps through the
// list so that any part of it gets its share.
func spread(symbols []uint32) {
	n := len(symbols)
	step := int(math.Round(float64(n) * (math.Sqrt(5) - 1) / 2))
	for step > 1 && gcd(step, n) > 1 {
		step--
	}
	for i, s := range slices.Clone(symbols) {
		symbols[i*step%n] = s
	}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// sharpen puts symbols in the place of coarse ones: as many of each as there were, spread evenly over the places.
func (s *Structure) sharpen(symbols []uint32, counts []Count) {
	type share struct {
		symbol      uint32
		times, used int64
	}
	type class struct {
		shares        []share
		total, placed int64
	}
	classes := make(map[uint32]*class)
	for _, c := range counts {
		of := classes[s.coarse[c.Symbol]]
		if of == nil {
			of = new(class)
			classes[s.coarse[c.Symbol]] = of
		}
		of.shares = append(of.shares, share{symbol: c.Symbol, times: c.Times})
		of.total += c.Times
	}
	for i, coarse := range symbols {
		c := classes[coarse]
		c.placed++
		// The one that is most behind its share. The leads and lags of all add up to less than one place, so none is placed
		// more often than it was there.
		best, most := 0, int64(0)
		for k := range c.shares {
			if behind := c.shares[k].times*c.placed - c.shares[k].used*c.total; k == 0 || behind > most {
				best, most = k, behind
			}
		}
		c.shares[best].used++
		symbols[i] = c.shares[best].symbol
	}
}
