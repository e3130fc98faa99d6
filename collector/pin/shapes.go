package pin

import (
	"math"
	"slices"
)

const (
	// mostShapes is how many shapes are distinguished; a program that has more is irregular.
	mostShapes = 256
	// mostPairs is how many pairs of places are distinguished; later ones have the numbers of earlier ones too.
	mostPairs = 64
	// cached is how many pairs of places are found at once.
	cached = 1 << 10
	// blockLength is of how many stretches the median shows how long iterations take.
	blockLength = 16
	// looseRows is how long a stretch is at least that is closed because no delimiter comes.
	looseRows = 512
)

// A level is how thoroughly iterations were searched for where a shape occurs.
type level int8

const (
	unseen  level = iota
	once          // in few bursts
	settled       // in as many as are ever looked at
)

// Shapes are what is known of the calls of all ranks. Calls are cut into stretches by delimiters: pairs of places of
// which iterations have one each. What a stretch calls, as a set of pairs, is its shape. A stretch fits if one of its
// shape was in what a search has looked at, and takes about as long: then the search has found what there is to pin.
type shapes struct {
	pairs     map[pair]uint8 // numbers, below mostPairs
	delimiter uint64         // bits of those that are
	cache     [cached]cachedPair
	list      map[shapeKey]*shape
	longest   int // rows that a stretch may have
}

type cachedPair struct {
	pair
	known     bool
	delimiter bool
	bit       uint64
}

// A shapeKey is the pairs of a stretch, and whether delimiters are at both of its ends.
type shapeKey struct {
	pairs uint64
	cut   bool
}

type shape struct {
	level     level
	seen      int       // stretches since it was last searched for
	medianNS  int64     // of the iterations that it stands for, the longest kind; 0 = of none
	durations []spanned // that are known
}

// A spanned is how long stretches take, by the logarithm of their median, and how thoroughly that was searched for.
type spanned struct {
	class int
	level level
}

func newShapes() *shapes {
	return &shapes{pairs: make(map[pair]uint8), list: make(map[shapeKey]*shape), longest: looseRows}
}

// at finds a pair of places.
func (s *shapes) at(x pair) *cachedPair {
	c := &s.cache[(x.before*0x9e3779b1^x.after*0x85ebca6b)>>16%cached]
	if c.pair != x || !c.known {
		n, known := s.pairs[x]
		if !known {
			n = uint8(len(s.pairs) % mostPairs)
			s.pairs[x] = n
		}
		bit := uint64(1) << n
		*c = cachedPair{x, true, s.delimiter&bit != 0, bit}
	}
	return c
}

// delimit makes a pair a delimiter.
func (s *shapes) delimit(x pair) {
	s.delimiter |= s.at(x).bit
	clear(s.cache[:])
}

// of is the shape of a stretch, nil where it is new and there is no room.
func (s *shapes) of(key shapeKey) *shape {
	x := s.list[key]
	if x == nil && len(s.list) < mostShapes {
		x = new(shape)
		s.list[key] = x
	}
	return x
}

// duration is what is known of stretches that take so long.
func (x *shape) duration(ns int64) *spanned {
	class := int(math.Round(math.Log(float64(max(1, ns))) / math.Log(alike)))
	for i := range x.durations {
		if d := class - x.durations[i].class; d >= -1 && d <= 1 {
			return &x.durations[i]
		}
	}
	x.durations = append(x.durations, spanned{class: class})
	return &x.durations[len(x.durations)-1]
}

// A block is stretches of one shape on one rank.
type block struct {
	ns      [blockLength]int64
	n       int
	strange bool // the block before took long in a way that is not known,
	class   int  // this one
}

// add returns the median once there are enough of them.
func (b *block) add(ns int64) (medianNS int64, full bool) {
	b.ns[b.n] = ns
	if b.n++; b.n < blockLength {
		return 0, false
	}
	b.n = 0
	slices.Sort(b.ns[:])
	return b.ns[blockLength/2], true
}
