package profiling

import (
	"math"
	"math/big"

	"moriens/analysis/moment"
	"moriens/trace/calltree"
)

// A Stat is how the figures of threads become one.
type Stat string

// What there is.
const (
	Sum       Stat = "sum"
	Mean      Stat = "mean"
	Most      Stat = "most"
	Least     Stat = "least"
	Std       Stat = "std" // of the population
	Imbalance Stat = "imbalance"
)

// A Spread is a figure over threads, exactly: one that does not have what it is of has 0.
type Spread struct {
	Sum         int64 // stops at the largest number
	Most, Least int64
	MostOf      calltree.Thread // the first that has most
	Mean, Std   float64
	// Summed says that a part is known as a sum over classes of ranks: Sum and Mean are exact, the others not known.
	Summed bool
}

// Imbalance is the most over the mean; NaN where all have 0.
func (s *Spread) Imbalance() float64 {
	if s.Summed {
		return math.NaN()
	}
	return float64(s.Most) / s.Mean
}

// plus adds what so many threads have together.
func (s Spread) plus(x int64, threads int) Spread {
	if x == 0 {
		return s
	}
	sum := plus(s.Sum, x)
	return Spread{Sum: sum, Mean: float64(sum) / float64(threads), Std: math.NaN(), Summed: true}
}

// Of is the figure of a statistic.
func (s *Spread) Of(stat Stat) float64 {
	if s.Summed && stat != Sum && stat != Mean {
		return math.NaN()
	}
	switch stat {
	case Mean:
		return s.Mean
	case Most:
		return float64(s.Most)
	case Least:
		return float64(s.Least)
	case Std:
		return s.Std
	case Imbalance:
		return s.Imbalance()
	}
	return float64(s.Sum)
}

// A spreading is a Spread in the making.
type spreading struct {
	exact  moment.Exact
	most   int64
	least  int64
	mostOf calltree.Thread
}

func (s *spreading) add(x int64, of *calltree.Thread) {
	if s.exact.N == 0 || x > s.most {
		s.most, s.mostOf = x, *of
	}
	if s.exact.N == 0 || x < s.least {
		s.least = x
	}
	s.exact.Add(uint64(x))
}

// of is the spread over so many threads, of which those that were not added have 0; the first of all is first.
func (s *spreading) of(threads int, first calltree.Thread) Spread {
	if s.exact.N < int64(threads) {
		s.least = 0
		s.exact.N = int64(threads)
	}
	if s.most == 0 {
		s.mostOf = first
	}
	out := Spread{Most: s.most, Least: s.least, MostOf: s.mostOf, Mean: s.exact.Mean(), Std: s.exact.Std(), Sum: math.MaxInt64}
	if total := moment.Big(s.exact.Total[:]); total.Cmp(big.NewInt(math.MaxInt64)) < 0 {
		out.Sum = total.Int64()
	}
	return out
}

// A Ratio is a quotient of two sums over threads, such as instructions per cycle; threads without the second have none.
type Ratio struct {
	Overall     float64 // of the sums; NaN: not known
	Mean, Std   float64
	Most, Least float64
	MostOf      calltree.Thread
	Threads     int // that have one; 0: that is not known, or none has
}

// Of is the figure of a statistic.
func (r *Ratio) Of(stat Stat) float64 {
	switch stat {
	case Mean:
		return r.Mean
	case Most:
		return r.Most
	case Least:
		return r.Least
	case Std:
		return r.Std
	case Imbalance:
		return r.Most / r.Mean
	}
	return r.Overall
}

type rating struct {
	above, below  float64
	summed        bool // a part is of several threads together
	n             int
	mean, moment2 float64 // Welford's
	most, least   float64
	mostOf        calltree.Thread
}

func (r *rating) add(above, below int64, of *calltree.Thread) {
	if below <= 0 {
		return
	}
	x := float64(above) / float64(below)
	r.above, r.below = r.above+float64(above), r.below+float64(below)
	if r.n == 0 || x > r.most {
		r.most, r.mostOf = x, *of
	}
	if r.n == 0 || x < r.least {
		r.least = x
	}
	r.n++
	d := x - r.mean
	r.mean += d / float64(r.n)
	r.moment2 += d * (x - r.mean)
}

// addSums takes in what threads have together.
func (r *rating) addSums(above, below int64) {
	if below > 0 {
		r.above, r.below, r.summed = r.above+float64(above), r.below+float64(below), true
	}
}

func (r *rating) of() *Ratio {
	nan := math.NaN()
	if r.summed {
		return &Ratio{Overall: r.above / r.below, Mean: nan, Std: nan, Most: nan, Least: nan}
	}
	if r.n == 0 {
		return &Ratio{Overall: nan, Mean: nan, Std: nan, Most: nan, Least: nan}
	}
	return &Ratio{Overall: r.above / r.below, Mean: r.mean, Std: math.Sqrt(r.moment2 / float64(r.n)), Most: r.most, Least: r.least, MostOf: r.mostOf, Threads: r.n}
}
