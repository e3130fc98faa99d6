// Package line finds how long messages take by their size: a latency, a bandwidth, and the sizes that do not follow.
//
// In come messages one by one, or many alike: bytes and nanoseconds. Times hold a histogram for each size; Times of
// several processes are merged, in any order. Out comes a Line: nanoseconds, and nanoseconds per byte; with fewer than
// three sizes none, but the quantiles of each. Durations are known to 1/64 of themselves. With up to 256 sizes each is
// by itself, with more they are put together by quarters of an octave.
//
// What is added must be time on the wire: of messages whose receiver was waiting already when they were sent. Of what
// lay in a buffer the time shows nothing.
package line

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	exactSizes = 256 // with more sizes they are put together
	stepBits   = 6   // of a duration: 2^6 buckets an octave
	sizeBits   = 2   // likewise of sizes that are put together
)

// Times are how long messages took, by size. The zero value is empty.
type Times struct {
	sizes map[int64]*size // by bytes; if joint, by bin
	joint bool
}

type size struct {
	messages int64
	bytes    total           // of all
	from, to int64           // bytes of the smallest and of the largest
	times    map[int32]int64 // by bucket: messages
}

// A total is a sum of 128 bits, which is the same in whatever order it was added up.
type total struct{ high, low uint64 }

func (t *total) add(high, low uint64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high, _ = bits.Add64(t.high, high, carry)
}

// mean is that of the messages' bytes.
func (s *size) mean() float64 {
	return (float64(s.bytes.high)*(1<<64) + float64(s.bytes.low)) / float64(s.messages)
}

// Add adds so many messages of a size that took so long each.
func (t *Times) Add(bytes, ns, messages int64) {
	if messages <= 0 {
		return
	}
	bytes, ns = max(bytes, 0), max(ns, 0)
	if t.sizes == nil {
		t.sizes = make(map[int64]*size)
	}
	key := bytes
	if t.joint {
		key = int64(bucket(bytes, sizeBits))
	}
	s := t.sizes[key]
	if s == nil {
		if !t.joint && len(t.sizes) == exactSizes {
			t.put()
			t.Add(bytes, ns, messages)
			return
		}
		s = &size{from: bytes, to: bytes, times: make(map[int32]int64)}
		t.sizes[key] = s
	}
	s.messages += messages
	s.bytes.add(bits.Mul64(uint64(bytes), uint64(messages)))
	s.from, s.to = min(s.from, bytes), max(s.to, bytes)
	s.times[bucket(ns, stepBits)] += messages
}

// put puts sizes together.
func (t *Times) put() {
	exact := t.sizes
	t.sizes, t.joint = make(map[int64]*size), true
	for _, s := range exact {
		t.merge(int64(bucket(s.from, sizeBits)), s)
	}
}

func (t *Times) merge(key int64, s *size) {
	own := t.sizes[key]
	if own == nil {
		own = &size{from: s.from, to: s.to, times: make(map[int32]int64, len(s.times))}
		t.sizes[key] = own
	}
	own.messages += s.messages
	own.bytes.add(s.bytes.high, s.bytes.low)
	own.from, own.to = min(own.from, s.from), max(own.to, s.to)
	for k, n := range s.times {
		own.times[k] += n
	}
}

// Merge adds all messages of another, which is not changed. It does not matter in which order.
func (t *Times) Merge(o *Times) {
	if t.sizes == nil {
		t.sizes = make(map[int64]*size)
	}
	if o.joint && !t.joint {
		t.put()
	}
	for key, s := range o.sizes {
		if t.joint && !o.joint {
			key = int64(bucket(s.from, sizeBits))
		}
		t.merge(key, s)
	}
	if !t.joint && len(t.sizes) > exactSizes {
		t.put()
	}
}

// bucket numbers values so that those of one bucket differ by one part in 2^precision at most. Small ones have one
// each.
func bucket(value int64, precision int) int32 {
	octave := bits.Len64(uint64(value)) - 1 - precision
	if octave <= 0 {
		return int32(value)
	}
	return int32(octave)<<precision + int32(value>>octave)
}

// middle is in the middle of a bucket.
func middle(bucket int32, precision int) float64 {
	octave := bucket>>precision - 1
	if octave <= 0 {
		return float64(bucket)
	}
	low := int64(bucket) - int64(octave)<<precision
	return float64(low<<octave) + float64(int64(1)<<octave-1)/2
}

// A Size is the messages of one size, or of sizes that are put together.
type Size struct {
	Bytes              float64 // mean
	FromBytes, ToBytes int64
	Messages           int64
	QuartileNS         float64 // a quarter took less
	MedianNS, P95NS    float64
}

// A Line is what messages take: LatencyNS + bytes · NSPerByte.
type Line struct {
	Fitted    bool // there are three sizes and more; else no line is known, but sizes are
	LatencyNS float64
	NSPerByte float64
	// Spread is how far the usual message is from the line: the median of |time ÷ line − 1|.
	Spread   float64
	Messages int64
	Sizes    []Size // ascending
}

// TimeNS is what a message of so many bytes takes by the line.
func (l *Line) TimeNS(bytes float64) float64 { return l.LatencyNS + bytes*l.NSPerByte }

// fewMessages is how many a size must have to be one of the line's points, where three others have.
const fewMessages = 5

// Fit finds the line: through the lower quartiles of the sizes, which are what the network can do: what a busy host or
// a slow link adds is above them, and so are up to three quarters of a size's messages. Of all lines through two of
// these points, or with no latency, or level, it is the one nearest to most points: as factors, of which those beyond 2
// hardly count. So sizes that do not follow do not move it, however far they are.
func (t *Times) Fit() Line {
	l := Line{Sizes: t.list()}
	points := make([]Size, 0, len(l.Sizes))
	for _, s := range l.Sizes {
		l.Messages += s.Messages
		if s.Messages >= fewMessages {
			points = append(points, s)
		}
	}
	if len(points) < 3 {
		points = l.Sizes
	}
	if len(points) < 3 {
		return l
	}
	best := math.Inf(1)
	try := func(latency, perByte float64) {
		if !(latency >= 0) || !(perByte >= 0) || latency+perByte == 0 {
			return
		}
		c := Line{LatencyNS: latency, NSPerByte: perByte}
		if far := c.far(points, best); far < best {
			best, l.LatencyNS, l.NSPerByte = far, latency, perByte
		}
	}
	for i, p := range points {
		try(p.QuartileNS, 0)
		if p.Bytes > 0 {
			try(0, p.QuartileNS/p.Bytes)
		}
		for _, q := range points[:i] {
			perByte := (p.QuartileNS - q.QuartileNS) / (p.Bytes - q.Bytes)
			try(p.QuartileNS-perByte*p.Bytes, perByte)
		}
	}
	l.Fitted = !math.IsInf(best, 1)
	if l.Fitted {
		l.Spread = t.spread(&l)
	}
	return l
}

const (
	knownMessages = 100    // with more messages a size counts no more than with these
	beyond        = 1. / 8 // so much of a factor beyond 2 counts
)

// far says how far points are from the line, or something above most if they are further than that.
func (l *Line) far(points []Size, most float64) float64 {
	sum := 0.
	for _, p := range points {
		// No clock shows less than a nanosecond.
		factor := math.Abs(math.Log(max(p.QuartileNS, 1) / max(l.TimeNS(p.Bytes), 1)))
		factor = min(factor, math.Ln2) + beyond*max(0, factor-math.Ln2)
		sum += math.Sqrt(float64(min(p.Messages, knownMessages))) * factor
		if sum >= most {
			break
		}
	}
	return sum
}

func (t *Times) spread(l *Line) float64 {
	type distance struct{ far, messages float64 }
	var list []distance
	for _, s := range t.sizes {
		line := max(l.TimeNS(s.mean()), 1)
		for k, n := range s.times {
			list = append(list, distance{math.Abs(middle(k, stepBits)/line - 1), float64(n)})
		}
	}
	slices.SortFunc(list, func(a, b distance) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.messages, b.messages)) })
	far, messages := make([]float64, len(list)), make([]float64, len(list))
	for i, d := range list {
		far[i], messages[i] = d.far, d.messages
	}
	return stat.Quantile(.5, stat.Empirical, far, messages)
}

func (t *Times) list() []Size {
	list := make([]Size, 0, len(t.sizes))
	for _, s := range t.sizes {
		buckets := slices.Sorted(maps.Keys(s.times))
		ns, messages := make([]float64, len(buckets)), make([]float64, len(buckets))
		for i, k := range buckets {
			ns[i], messages[i] = middle(k, stepBits), float64(s.times[k])
		}
		quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, ns, messages) }
		list = append(list, Size{
			Bytes: s.mean(), FromBytes: s.from, ToBytes: s.to, Messages: s.messages,
			QuartileNS: quantile(.25), MedianNS: quantile(.5), P95NS: quantile(.95),
		})
	}
	slices.SortFunc(list, func(a, b Size) int { return cmp.Compare(a.FromBytes, b.FromBytes) })
	return list
}
