package live

import (
	"math"

	"moriens/analysis/dbscan"
)

const (
	// Bursts move by up to half a diagonal when they are put at places: with d dimensions the clusters are
	// between those of the bursts themselves at Eps·(1 ± √d/placesPerEps).
	placesPerEps = 16
	// Where there would be more places in a group, they become twice as wide.
	mostPlaces = 1 << 16
)

// A placeKey numbers a place along each axis; where places have no width it holds the bits of the coordinates.
type placeKey [dbscan.MaxDims]int64

// places are where the bursts of a group are: cubes of a side, of which the middle stands for all of it.
type places struct {
	dims   int
	side   float64 // 0: every burst is where it is, as long as no Eps is known
	number map[placeKey]int32
	keys   []placeKey
	coords []float64
	// Bursts of the sample at each place, how many these stand for, and what those take.
	sampled, count, timeNS []int64
	id                     []int32 // of the cluster that held it last; 0 = none
}

func newPlaces(dims int, side float64) places {
	return places{dims: dims, side: side, number: make(map[placeKey]int32)}
}

func (p *places) key(at []float64) (k placeKey) {
	for j, v := range at {
		if p.side > 0 {
			// Beyond 2^53 places from zero coordinates are coarser than that.
			k[j] = int64(math.Floor(max(-0x1p62, min(0x1p62, v/p.side))))
		} else {
			k[j] = int64(math.Float64bits(v))
		}
	}
	return k
}

// An amount is bursts of the sample, and those that they stand for.
type amount struct {
	sampled int64
	stand
}

// add counts bursts at a place and returns its number.
func (p *places) add(k placeKey, x amount, id int32) int32 {
	i, known := p.number[k]
	if !known {
		i = int32(len(p.keys))
		p.number[k] = i
		p.keys = append(p.keys, k)
		p.sampled, p.count, p.timeNS, p.id = append(p.sampled, 0), append(p.count, 0), append(p.timeNS, 0), append(p.id, id)
		p.coords = p.middle(p.coords, k)
	}
	p.sampled[i] += x.sampled
	p.count[i] += x.bursts
	p.timeNS[i] += x.timeNS
	return i
}

// middle appends the coordinates that stand for a place.
func (p *places) middle(coords []float64, k placeKey) []float64 {
	for j := range p.dims {
		v := math.Float64frombits(uint64(k[j]))
		if p.side > 0 {
			v = (float64(k[j]) + .5) * p.side
		}
		coords = append(coords, v)
	}
	return coords
}

func (p *places) amount(i int) amount { return amount{p.sampled[i], stand{p.count[i], p.timeNS[i]}} }

func (p *places) at(i int32) []float64 { return p.coords[int(i)*p.dims : (int(i)+1)*p.dims] }

// widened returns the same bursts at places of a larger side. From places of half that side the result is that of the
// bursts themselves; a place that takes in others keeps the cluster of the one with most time.
func (p *places) widened(side float64) places {
	wide := newPlaces(p.dims, side)
	most := []int64{}
	for i, k := range p.keys {
		if p.side > 0 && side == 2*p.side {
			for j := range p.dims {
				k[j] >>= 1 // rounds down, as numbers of places do
			}
		} else {
			k = wide.key(p.at(int32(i)))
		}
		at := wide.add(k, p.amount(i), p.id[i])
		if int(at) == len(most) {
			most = append(most, p.timeNS[i])
		} else if p.timeNS[i] > most[at] {
			most[at], wide.id[at] = p.timeNS[i], p.id[i]
		}
	}
	return wide
}

// bounded returns places that are few enough.
func (p *places) bounded() places {
	side := 2 * p.side
	if p.side == 0 {
		// As many as there may be, were they in a line through the range.
		longest := 0.
		for j := range p.dims {
			lo, hi := p.coords[j], p.coords[j]
			for i := j; i < len(p.coords); i += p.dims {
				lo, hi = min(lo, p.coords[i]), max(hi, p.coords[i])
			}
			longest = max(longest, hi-lo)
		}
		side = longest / mostPlaces
	}
	wide := p.widened(side)
	for len(wide.keys) > mostPlaces/2 {
		wide = wide.widened(2 * wide.side)
	}
	return wide
}
