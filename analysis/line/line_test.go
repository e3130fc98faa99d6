package line_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/line"
	"moriens/internal/testenv"
)

func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*want {
		t.Errorf("%s %g, want %g", what, got, want)
	}
}

// plant adds messages of a latency and a bandwidth with noise above them; one in ten takes eight times as long. slow is
// by size: all its messages take so many times as long.
func plant(r *rand.Rand, latency, perByte float64, slow map[int64]float64) *line.Times {
	var times line.Times
	for _, bytes := range planted {
		for range 40 + r.IntN(2000) {
			ns := (latency + float64(bytes)*perByte) * (1 + .02*r.ExpFloat64())
			if f := slow[bytes]; f > 0 {
				ns *= f
			}
			if r.IntN(10) == 0 {
				ns *= 8
			}
			times.Add(bytes, int64(ns), 1)
		}
	}
	return &times
}

var planted = []int64{8, 128, 1024, 3456, 7040, 65536, 164032, 1 << 20}

// A latency and a bandwidth are found as planted, and so are one or two sizes, any of eight, that take 4 to 100 times
// as long.
func TestPlanted(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	for range 100 {
		slow := make(map[int64]float64)
		for range r.IntN(3) {
			slow[planted[r.IntN(len(planted))]] = 4 * math.Pow(25, r.Float64())
		}
		l := plant(r, 1500, .1, slow).Fit() // 1.5 us, 10 GB/s
		if !l.Fitted || len(l.Sizes) != len(planted) {
			t.Fatalf("slow %v: %+v", slow, l)
		}
		if math.Abs(l.LatencyNS-1500) > .06*1500 || math.Abs(l.NSPerByte-.1) > .06*.1 {
			t.Errorf("slow %v: latency %g, want 1500; time per byte %g, want .1", slow, l.LatencyNS, l.NSPerByte)
		}
		odd := make(map[int64]bool)
		for _, s := range l.Odd() {
			odd[s.FromBytes] = true
		}
		for _, bytes := range planted {
			if odd[bytes] != (slow[bytes] > 0) {
				t.Errorf("slow %v: sizes that do not follow: %v", slow, odd)
			}
		}
		if len(slow) == 0 && (l.DoesNotFollow() || !(l.Spread < .1)) {
			t.Errorf("spread %g; %+v", l.Spread, l)
		}
	}
}

// A size with far more messages than the others counts no more than one with a hundred.
func TestMostlyOneSize(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	times := plant(r, 1500, .1, nil)
	times.Add(9000, 90_000, 10_000_000)
	l := times.Fit()
	near(t, "latency", l.LatencyNS, 1500, .06)
	near(t, "time per byte", l.NSPerByte, .1, .06)
}

// Times that do not grow with size are reported; where all sizes are small, nothing is.
func TestDoesNotFollow(t *testing.T) {
	var small, large line.Times
	for i, bytes := range []int64{64, 512, 7040, 20000, 164032} {
		ns := []int64{9000, 40000, 30000, 8000, 11000}[i]
		large.Add(bytes, ns, 50)
		small.Add(bytes/64, ns, 50)
	}
	l := large.Fit()
	if !l.DoesNotFollow() {
		t.Errorf("%+v follows", l)
	}
	if l := small.Fit(); l.DoesNotFollow() {
		t.Errorf("%+v does not", l)
	}
}

// With fewer than three sizes there is no line, but sizes are.
func TestFewSizes(t *testing.T) {
	var times line.Times
	if l := times.Fit(); l.Fitted || len(l.Sizes) > 0 || len(l.Odd()) > 0 || l.DoesNotFollow() {
		t.Errorf("nothing: %+v", l)
	}
	times.Add(8, 1000, 10)
	times.Add(64, 5000, 10)
	times.Add(64, 7000, 1)
	l := times.Fit()
	if l.Fitted || len(l.Sizes) != 2 || l.Sizes[1].Messages != 11 || l.Messages != 21 {
		t.Errorf("%+v", l)
	}
	near(t, "median", l.Sizes[1].MedianNS, 5000, 1./64)
	near(t, "p95", l.Sizes[1].P95NS, 7000, 1./64)
}

// Times that are added by parts, in any order, are those of all; whatever they are no figure is senseless.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 900).Draw(t, "messages")
		most := int64(1) << rapid.IntRange(0, 62).Draw(t, "bytes")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var all line.Times
		parts := make([]line.Times, 3)
		for range n {
			bytes, ns := r.Int64N(most), r.Int64N(1<<r.IntN(62)+1)
			all.Add(bytes, ns, 1)
			parts[r.IntN(3)].Add(bytes, ns, 1)
		}
		var forth, back line.Times
		for i := range parts {
			forth.Merge(&parts[i])
			back.Merge(&parts[len(parts)-1-i])
		}
		l := all.Fit()
		for _, o := range []*line.Times{&forth, &back} {
			if m := o.Fit(); !reflect.DeepEqual(l, m) {
				t.Fatalf("by parts %+v, at once %+v", m, l)
			}
		}
		messages := int64(0)
		for i, s := range l.Sizes {
			messages += s.Messages
			if s.FromBytes > s.ToBytes || s.Bytes < float64(s.FromBytes)*(1-1e-9) || s.Bytes > float64(s.ToBytes)*(1+1e-9) || i > 0 && s.FromBytes <= l.Sizes[i-1].ToBytes {
				t.Fatalf("size %d of %+v", i, l.Sizes)
			}
		}
		if messages != int64(n) || l.Messages != messages || math.IsNaN(l.Spread) || l.LatencyNS < 0 || l.NSPerByte < 0 {
			t.Fatalf("%+v of %d messages", l, n)
		}
	})
}

// BenchmarkAdd is of messages of 24 sizes.
func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	bytes, ns := make([]int64, 1<<16), make([]int64, 1<<16)
	for i := range bytes {
		bytes[i] = 8 << r.IntN(24)
		ns[i] = int64((1500 + float64(bytes[i])/10) * (1 + .3*r.ExpFloat64()))
	}
	var times line.Times
	i := 0
	for b.Loop() {
		times.Add(bytes[i%len(bytes)], ns[i%len(bytes)], 1)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkFit is of 200 sizes.
func BenchmarkFit(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var times line.Times
	for range 200_000 {
		bytes := 64 * (1 + r.Int64N(200))
		times.Add(bytes, int64((1500+float64(bytes)/10)*(1+.3*r.ExpFloat64())), 1)
	}
	for b.Loop() {
		times.Fit()
	}
}
