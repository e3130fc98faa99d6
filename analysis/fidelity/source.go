package fidelity

import (
	"math"

	"moriens/analysis/profile"
)

// A source is kept bursts that are alike, from which others are rebuilt.
type source struct {
	bursts   float64 // that they stand for
	timeNS   float64
	logNS    float64 // sum of ln(duration)
	sampled  bool    // some are of the sample
	counters []count
	shape    []bucket
}

// A count is one counter over the bursts of a source.
type count struct{ bursts, sum float64 }

// A bucket is one of the cluster's histogram that has bursts. There are few in a source.
type bucket struct {
	number int32
	bursts float64
}

func (s *source) put(number int32, bursts float64) {
	for i := range s.shape {
		if s.shape[i].number == number {
			s.shape[i].bursts += bursts
			return
		}
	}
	s.shape = append(s.shape, bucket{number, bursts})
}

// add takes in one burst that stands for weight.
func (s *source) add(b *Bursts, k int, weight float64, number int32) {
	s.bursts += weight
	s.timeNS += weight * float64(b.DurationNS[k])
	s.logNS += weight * math.Log(float64(max(b.DurationNS[k], 1)))
	s.put(number, weight)
	for c := range s.counters {
		if v := b.Counters[c][k]; v != profile.NotRead {
			s.counters[c].bursts += weight
			s.counters[c].sum += weight * float64(v)
		}
	}
}

// take takes in so many bursts that are like those of another source.
func (s *source) take(o *source, bursts float64) {
	scale := bursts / o.bursts
	s.bursts += bursts
	s.timeNS += scale * o.timeNS
	for _, b := range o.shape {
		s.put(b.number, scale*b.bursts)
	}
	for c, n := range o.counters {
		s.counters[c].bursts += scale * n.bursts
		s.counters[c].sum += scale * n.sum
	}
}

func (s *source) meanNS() float64 { return s.timeNS / s.bursts }

// typicalNS is the geometric mean, which a few long bursts do not change much.
func (s *source) typicalNS() float64 { return math.Exp(s.logNS / s.bursts) }

// An owner is whose bursts a source has.
type owner struct {
	who uint8
	of  int32 // thread or class
}

// Values of owner.who. Symbols and clusters of one owner are sources of their own.
const (
	ofThread uint8 = iota
	ofClass
	ofRun
)

// A stock is the sources of kept windows, or of those and the sample.
type stock map[place]*source

// A place is a part of a kind, and what of it.
type place struct {
	owner
	symbol int32 // anySymbol: all of the part
	part   int32
}

const anySymbol = -1
