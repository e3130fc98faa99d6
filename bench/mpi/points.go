package main

import (
	"math"
	"math/rand/v2"

	"moriens/analysis/dbscan"
)

const (
	dims  = 2
	seed  = 42
	block = 1 << 12 // rows that one generator draws, so that a member can make its own alone
)

// A shape is where bursts of one kind lie: a Gaussian blob, one drawn out along an axis, as where the instructions are
// the same and the speed varies, or one along a diagonal.
type shape struct {
	center, spread [dims]float64
	axis           int
	length, slope  float64
	weight         float64
	usual          [][dims]float64 // which bursts have again and again
}

// shapes are 14 tight blobs, 6 streaks and 4 wide blobs, of sizes as far apart as words' are.
func shapes() []shape {
	const blobs, streaks, wide = 14, 6, 4
	draw := rand.New(rand.NewPCG(seed, 0))
	list := make([]shape, blobs+streaks+wide)
	for i := range list {
		s := &list[i]
		s.weight = math.Pow(float64(1+draw.IntN(len(list))), -.8)
		base := 3e-4 * math.Pow(8e-3/3e-4, draw.Float64())
		for d := range dims {
			s.center[d] = .06 + .88*draw.Float64()
			s.spread[d] = base * math.Exp(.8*(draw.Float64()-.5))
		}
		switch {
		case i >= blobs+streaks:
			s.weight /= 4
			s.spread = [dims]float64{.012 + .02*draw.Float64(), .012 + .02*draw.Float64()}
		case i >= blobs:
			s.axis, s.length = draw.IntN(dims), .05+.15*draw.Float64()
			s.spread = [dims]float64{2e-4 + 6e-4*draw.Float64(), 2e-4 + 6e-4*draw.Float64()}
			if i%3 == 0 {
				s.slope = -.6
			}
		}
		for range 200 {
			s.usual = append(s.usual, s.point(draw))
		}
	}
	return list
}

func (s *shape) point(draw *rand.Rand) (p [dims]float64) {
	along := (draw.Float64() - .5) * s.length
	for d := range dims {
		p[d] = s.center[d] + s.spread[d]*draw.NormFloat64()
	}
	p[s.axis] += along
	p[1-s.axis] += s.slope * along
	return p
}

// share makes the points of a member: of all rows, those after the ones of members before it. Half a percent is noise,
// and two fifths are where others are, or nearly.
func share(rows, rank, size int) dbscan.Points {
	begin, end := int(int64(rows)*int64(rank)/int64(size)), int(int64(rows)*int64(rank+1)/int64(size))
	list := shapes()
	total := 0.0
	for i := range list {
		total += list[i].weight
	}
	coords := make([]float64, 0, dims*(end-begin))
	for first := begin / block * block; first < end; first += block {
		draw := rand.New(rand.NewPCG(seed, 1+uint64(first/block)))
		for i := first; i < min(first+block, end); i++ {
			p := burst(list, total, draw)
			if i < begin {
				continue
			}
			for _, v := range p {
				coords = append(coords, math.Round(min(max(v, 0), 1)*1e7)/1e7) // counters are whole numbers
			}
		}
	}
	return dbscan.Points{Dims: dims, Coords: coords}
}

func burst(list []shape, total float64, draw *rand.Rand) (p [dims]float64) {
	if draw.Float64() < .005 {
		return [dims]float64{draw.Float64(), draw.Float64()}
	}
	i := 0
	for u := draw.Float64() * total; i < len(list)-1 && u > list[i].weight; i++ {
		u -= list[i].weight
	}
	s := &list[i]
	if draw.Float64() >= .4 {
		return s.point(draw)
	}
	p = s.usual[int(float64(len(s.usual))*draw.Float64()*draw.Float64())]
	if draw.Float64() < .5 {
		for d := range dims {
			p[d] += 1e-6 * draw.NormFloat64()
		}
	}
	return p
}
