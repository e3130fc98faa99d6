package clock

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// An oscillator is a planted clock: what it shows at a true time, in nanoseconds.
type oscillator struct {
	offset        float64
	drift         float64 // relative to the truth
	wander        float64 // amplitude of the rate
	period, phase float64
	stepAt, step  float64
}

func (o oscillator) at(t float64) int64 {
	swing := 0.0
	if o.wander != 0 {
		w := 2 * math.Pi / o.period
		swing = o.wander / w * (math.Cos(o.phase) - math.Cos(w*t+o.phase))
	}
	if o.step != 0 && t >= o.stepAt {
		swing += o.step
	}
	return int64(math.Round(t + o.offset + o.drift*t + swing))
}

// A plant is clocks and messages between them.
type plant struct {
	clocks []oscillator
	length float64 // of the run, true time
	bounds []Bound
}

// send plants a message that leaves at t and takes so long.
func (p *plant) send(from, to int, t, latency float64) {
	p.bounds = append(p.bounds, Bound{from, to, p.clocks[from].at(t), p.clocks[to].at(t + latency)})
}

func (p *plant) input(reference int) Input {
	in := Input{Reference: reference, Bounds: slices.Values(p.bounds)}
	for _, c := range p.clocks {
		in.Spans = append(in.Spans, Span{c.at(0), c.at(p.length)})
	}
	return in
}

func solve(t require, in Input) *Solution {
	t.Helper()
	s, err := Solve(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type require interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// check compares lines with the truth all through the run. It returns the largest uncertainty.
func (p *plant) check(t require, s *Solution, reference int) float64 {
	t.Helper()
	worst := 0.0
	for i, c := range p.clocks {
		l := &s.Lines[i]
		if l.Tie != TwoWay && i != reference {
			t.Fatalf("node %d is tied %v", i, l.Tie)
		}
		for k := range 257 {
			at := p.length * float64(k) / 256
			local := c.at(at)
			wrong := math.Abs(float64(l.At(local) - p.clocks[reference].at(at)))
			allowed := l.Uncertainty(local)
			if wrong > allowed+2 { // a nanosecond for each rounding
				t.Fatalf("node %d at %g of %g: wrong by %g ns, said to be within %g", i, at, p.length, wrong, allowed)
			}
			if allowed > l.UncertaintyNS {
				t.Fatalf("node %d: uncertainty %g, at worst %g", i, allowed, l.UncertaintyNS)
			}
			worst = max(worst, allowed)
		}
	}
	return worst
}

func drawClocks(t *rapid.T, n int, length float64) []oscillator {
	clocks := make([]oscillator, n)
	for i := range clocks {
		clocks[i] = oscillator{
			offset: rapid.Float64Range(-1e12, 1e12).Draw(t, "offset"),
			drift:  rapid.Float64Range(-200e-6, 200e-6).Draw(t, "drift"),
			wander: rapid.Float64Range(0, .45e-6).Draw(t, "wander"),
			period: rapid.Float64Range(.2, 5).Draw(t, "period") * length,
			phase:  rapid.Float64Range(0, 6.28).Draw(t, "phase"),
		}
	}
	return clocks
}

// Whatever clocks and latencies are planted, the truth lies in the interval that is stated; and with a
// message each way at least every hundredth of the run, the interval is no wider than what the quickest of
// them, and the wander between them, leave open.
func TestTruthWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Float64Range(1e6, 4e12).Draw(t, "length")
		p := &plant{length: length, clocks: drawClocks(t, rapid.IntRange(2, 6).Draw(t, "nodes"), length)}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		there := rapid.Float64Range(100, 1e5).Draw(t, "latency")
		back := there * rapid.Float64Range(.1, 10).Draw(t, "asymmetry")
		jitter := rapid.Float64Range(0, 1e6).Draw(t, "jitter")
		const messages = 1000
		for k := range messages {
			at := length * float64(k) / messages
			i := 1 + random.IntN(len(p.clocks)-1)
			j := random.IntN(i) // so that all hang together
			late := random.ExpFloat64() * jitter
			if k%10 == 0 {
				late = 0
			}
			if k%20 < 10 {
				p.send(i, j, at, there+late)
			} else {
				p.send(j, i, at, back+late)
			}
		}
		for i := 1; i < len(p.clocks); i++ { // the quickest ones, often enough
			for k := range 101 {
				at := length * float64(k) / 100
				p.send(i, i-1, at, there)
				p.send(i-1, i, at, back)
			}
		}
		reference := rapid.IntRange(0, len(p.clocks)-1).Draw(t, "reference")
		s := solve(t, p.input(reference))
		if s.Refused != 0 || s.Contradicted != 0 {
			t.Fatalf("%d refused, %d contradicted", s.Refused, s.Contradicted)
		}
		worst := p.check(t, s, reference)
		// From the lower to the upper bound of a pair it is one way there and one back. In the hundredth of a run
		// between two such messages clocks wander.
		limit := float64(len(p.clocks)-1) * (1.5*(there+back) + 10*firstWander*length/100 + 10)
		if worst > limit {
			t.Fatalf("uncertain by %g ns, want at most %g", worst, limit)
		}
	})
}

// Steady clocks come back with their offsets and drifts, and as straight lines.
func TestOffsetAndDrift(t *testing.T) {
	p := &plant{length: 100e9, clocks: []oscillator{{offset: 5e9}, {offset: -3e9, drift: 40e-6}, {offset: 7e14, drift: -120e-6}}}
	for k := range 10_000 {
		at := p.length * float64(k) / 10_000
		p.send(k%3, (k+1)%3, at, 2000)
		p.send((k+1)%3, k%3, at, 3000)
	}
	s := solve(t, p.input(0))
	if worst := p.check(t, s, 0); worst > 2*2500+200 {
		t.Errorf("uncertain by %g", worst)
	}
	for i, want := range []struct{ offset, drift float64 }{{0, 0}, {8e9, -40}, {5e9 - 7e14, 120}} {
		l := &s.Lines[i]
		if math.Abs(float64(l.OffsetNS)-want.offset) > 6000 || math.Abs(l.DriftPPM-want.drift) > .1 || l.Bends > 0 {
			t.Errorf("node %d: offset %d, drift %g ppm, %d bends, want %g and %g", i, l.OffsetNS, l.DriftPPM, l.Bends, want.offset, want.drift)
		}
	}
	if s.Lines[0].Tie != Itself || s.Lines[1].Tie != TwoWay {
		t.Errorf("%+v", s.Lines[:2])
	}
}

// A drift that moves a clock by more in a stretch than messages differ does not hide the quick ones.
func TestQuickAmongSlow(t *testing.T) {
	p := &plant{length: 1000e9, clocks: []oscillator{{}, {offset: 1e9, drift: 200e-6}}}
	random := rand.New(rand.NewPCG(7, 8))
	for at := 0.0; at < p.length; at += 20e6 {
		late := 0.0
		if random.IntN(50) > 0 {
			late = 50_000 + 50_000*random.Float64()
		}
		p.send(0, 1, at, 1000+late)
		p.send(1, 0, at, 1000+late)
	}
	s := solve(t, p.input(0))
	if worst := p.check(t, s, 0); worst > 15_000 {
		t.Errorf("uncertain by %g", worst)
	}
}

// A clock that wanders by more than is taken for granted bends its line, and nothing contradicts it.
func TestWander(t *testing.T) {
	p := &plant{length: 1000e9, clocks: []oscillator{{}, {offset: 1e6, wander: 20e-6, period: 500e9}}}
	for k := range 20_000 {
		at := p.length * float64(k) / 20_000
		p.send(0, 1, at, 1000)
		p.send(1, 0, at, 1000)
	}
	s := solve(t, p.input(0))
	worst := p.check(t, s, 0)
	if worst > 100_000 || s.Contradicted != 0 || s.Lines[1].Bends == 0 {
		t.Errorf("uncertain by %g ns, %d contradictions, %d bends", worst, s.Contradicted, s.Lines[1].Bends)
	}
}

// A clock that is set during the run is followed; the stretch in which it was set says that it is not sure.
func TestStep(t *testing.T) {
	p := &plant{length: 10e9, clocks: []oscillator{{}, {stepAt: 5.03e9, step: 50e6}}}
	for k := range 10_000 {
		at := p.length * float64(k) / 10_000
		p.send(0, 1, at, 1000)
		p.send(1, 0, at, 1000)
	}
	s := solve(t, p.input(0))
	if s.Contradicted == 0 {
		t.Error("nothing is contradicted")
	}
	if u := s.Lines[1].UncertaintyNS; u < 25e6 {
		t.Errorf("uncertain by %g ns, where the clock jumped by 50 ms", u)
	}
	for _, at := range []float64{2e9, 8e9} {
		local := p.clocks[1].at(at)
		if wrong := math.Abs(float64(s.Lines[1].At(local)) - at); wrong > s.Lines[1].Uncertainty(local)+2 {
			t.Errorf("at %g wrong by %g, said to be within %g", at, wrong, s.Lines[1].Uncertainty(local))
		}
	}
}

// One node whose messages lie must not cost the others of the run theirs.
func TestLiar(t *testing.T) {
	p := &plant{length: 10e9, clocks: []oscillator{{}, {offset: 1e6}, {offset: 2e6}, {stepAt: 5e9, step: -30e6}}}
	for k := range 4000 {
		at := p.length * float64(k) / 4000
		for i := range 4 {
			for j := range 4 {
				if i != j {
					p.send(i, j, at, 1000)
				}
			}
		}
	}
	s := solve(t, p.input(0))
	for i := 1; i < 3; i++ {
		if u := s.Lines[i].UncertaintyNS; u > 5000 {
			t.Errorf("node %d uncertain by %g ns", i, u)
		}
		for _, at := range []float64{1e9, 4.99e9, 9e9} {
			if wrong := math.Abs(float64(s.Lines[i].At(p.clocks[i].at(at))) - at); wrong > 2000 {
				t.Errorf("node %d at %g wrong by %g", i, at, wrong)
			}
		}
	}
}

func TestLittleOrNothing(t *testing.T) {
	spans := func(n int) []Span { return slices.Repeat([]Span{{1000, 2000}}, n) }
	tests := []struct {
		name   string
		spans  []Span
		bounds []Bound
		node   int
		tie    Tie
		at     int64 // of 1500
		within float64
	}{
		{"one node", spans(1), nil, 0, Itself, 1500, 0},
		{"no bounds", spans(2), nil, 1, Untied, 1500, math.Inf(1)},
		{"one message that the clocks allow", spans(2), []Bound{{0, 1, 1200, 1300}}, 1, OneWay, 1500, math.Inf(1)},
		{"one message that they do not", spans(2), []Bound{{0, 1, 1900, 1400}}, 1, OneWay, 2000, math.Inf(1)},
		{"one the other way", spans(2), []Bound{{1, 0, 1900, 1400}}, 1, OneWay, 1000, math.Inf(1)},
		{"two ways at one moment", spans(2), []Bound{{0, 1, 1500, 1500}, {1, 0, 1500, 1500}}, 1, TwoWay, 1500, 3},
		{"a run of no length", slices.Repeat([]Span{{1500, 1500}}, 2), []Bound{{0, 1, 1500, 1500}, {1, 0, 1500, 1500}}, 1, TwoWay, 1500, 1},
		{"nobody's span is known", slices.Repeat([]Span{{1, 0}}, 2), nil, 1, Untied, 1500, math.Inf(1)},
		{"tied to a node that is not", spans(3), []Bound{{1, 2, 1500, 1600}, {2, 1, 1500, 1600}}, 2, Untied, 1500, math.Inf(1)},
		{"both ways to one that is tied one way", spans(3), []Bound{{0, 1, 1500, 1600}, {1, 2, 1500, 1600}, {2, 1, 1500, 1600}}, 2, OneWay, 1500, math.Inf(1)},
		{"one message to each of two, and one between them", spans(3), []Bound{{0, 1, 1200, 1300}, {0, 2, 1200, 1300}, {1, 2, 1600, 1500}}, 2, OneWay, 1600, math.Inf(1)},
		{"with itself", spans(2), []Bound{{1, 1, 1500, 1600}}, 1, Untied, 1500, math.Inf(1)},
		{"beyond all time", spans(2), []Bound{{0, 1, math.MinInt64, 1600}, {1, 0, 1, math.MaxInt64}}, 1, Untied, 1500, math.Inf(1)},
	}
	for _, tt := range tests {
		s := solve(t, Input{Spans: tt.spans, Bounds: slices.Values(tt.bounds)})
		l := &s.Lines[tt.node]
		if l.Tie != tt.tie || max(l.At(1500)-tt.at, tt.at-l.At(1500)) > 2 || l.Uncertainty(1500) > tt.within {
			t.Errorf("%s: tied %d, at 1500 it is %d within %g, want %d, %d, %g", tt.name, l.Tie, l.At(1500), l.Uncertainty(1500), tt.tie, tt.at, tt.within)
		}
		if math.IsInf(tt.within, 1) && !math.IsInf(l.UncertaintyNS, 1) {
			t.Errorf("%s: uncertain by %g", tt.name, l.UncertaintyNS)
		}
	}
	s := solve(t, Input{Spans: spans(2), Bounds: slices.Values([]Bound{{1, 1, 0, 0}, {0, 1, math.MaxInt64, 0}, {0, 1, 1500, 1600}})})
	if s.Refused != 2 || s.Lines[1].Tie != OneWay {
		t.Errorf("%d refused, tied %d by the other", s.Refused, s.Lines[1].Tie)
	}
}

// Both directions contradict each other by a millisecond at one moment: no clock can do that.
func TestContradiction(t *testing.T) {
	s := solve(t, Input{Spans: slices.Repeat([]Span{{0, 1e9}}, 2), Bounds: slices.Values([]Bound{{0, 1, 5e8, 5e8 - 1e6}, {1, 0, 5e8, 5e8 - 1e6}})})
	if s.Contradicted == 0 {
		t.Error("nothing is contradicted")
	}
	if l := &s.Lines[1]; l.Uncertainty(5e8) < 1e6 || l.At(5e8) < 5e8-2e3 || l.At(5e8) > 5e8+2e3 {
		t.Errorf("%d within %g", l.At(5e8), l.Uncertainty(5e8))
	}
}

// Round three nodes time cannot get lost, though each pair for itself is fine.
func TestContradictionRoundACircle(t *testing.T) {
	var bounds []Bound
	for at := int64(0); at < 1e9; at += 1e6 {
		for i := range 3 {
			bounds = append(bounds, Bound{i, (i + 1) % 3, at, at - 1e5}, Bound{(i + 1) % 3, i, at, at + 2e5})
		}
	}
	s := solve(t, Input{Spans: slices.Repeat([]Span{{0, 1e9}}, 3), Bounds: slices.Values(bounds)})
	if s.Contradicted == 0 {
		t.Error("nothing is contradicted")
	}
	for i := 1; i < 3; i++ {
		if u := s.Lines[i].UncertaintyNS; u < 1e5 || u > 1e7 {
			t.Errorf("node %d: uncertain by %g", i, u)
		}
	}
}

func TestSolveRefuses(t *testing.T) {
	for _, in := range []Input{
		{Reference: 0},
		{Reference: -1, Spans: make([]Span, 1)},
		{Spans: make([]Span, 1), Bounds: slices.Values([]Bound{{0, 1, 0, 0}})},
		{Spans: make([]Span, 1), Bounds: slices.Values([]Bound{{-1, 0, 0, 0}})},
		{Spans: []Span{{math.MinInt64, 0}}, Bounds: slices.Values([]Bound(nil))},
	} {
		if _, err := Solve(in); err == nil {
			t.Errorf("%+v is solved", in)
		}
	}
}

// The order of the bounds changes nothing.
func TestOrderOfBounds(t *testing.T) {
	p := &plant{length: 1e9, clocks: []oscillator{{}, {offset: 1e6, drift: 1e-5}, {offset: -1e6, drift: 2e-5}}}
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		i := random.IntN(3)
		p.send(i, (i+1+random.IntN(2))%3, random.Float64()*p.length, 1000+1e4*random.ExpFloat64())
	}
	a := solve(t, p.input(0))
	random.Shuffle(len(p.bounds), func(i, k int) { p.bounds[i], p.bounds[k] = p.bounds[k], p.bounds[i] })
	b := solve(t, p.input(0))
	for i := range a.Lines {
		for ns := int64(0); ns < 1e9; ns += 1e7 {
			if x, y := a.Lines[i].At(ns), b.Lines[i].At(ns); x != y {
				t.Fatalf("node %d at %d: %d and %d", i, ns, x, y)
			}
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, size := range []struct {
		name            string
		nodes, messages int
	}{{"nodes=16/messages=1M", 16, 1_000_000}, {"nodes=1000/messages=1M", 1000, 1_000_000}, {"nodes=4000/messages=4M", 4000, 4_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			p := &plant{length: 600e9}
			for range size.nodes {
				p.clocks = append(p.clocks, oscillator{offset: 1e6 * random.NormFloat64(), drift: 1e-5 * random.NormFloat64()})
			}
			for k := range size.messages {
				i := random.IntN(size.nodes)
				p.send(i, (i+1-2*(k%2)+size.nodes)%size.nodes, p.length*float64(k)/float64(size.messages), 2000+1e4*random.ExpFloat64())
			}
			in := p.input(0)
			for b.Loop() {
				if _, err := Solve(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.messages), "ns/message")
		})
	}
}

// A solver that is stopped returns no clocks, at the first question and at the last.
func TestStop(t *testing.T) {
	bounds := []Bound{{0, 1, 1000, 3000}, {1, 0, 1500, 2500}, {0, 1, 1e9, 1e9 + 2000}, {1, 0, 1e9, 1e9 + 2000}}
	asked := 0
	in := Input{Spans: slices.Repeat([]Span{{0, 1e9}}, 2), Bounds: slices.Values(bounds), Stop: func() bool { asked++; return false }}
	if _, err := Solve(in); err != nil || asked == 0 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
	for _, last := range []int{1, asked} {
		left := last
		in.Stop = func() bool { left--; return left == 0 }
		if _, err := Solve(in); !errors.Is(err, ErrStopped) {
			t.Errorf("stopped at question %d of %d: %v", last, asked, err)
		}
	}
}
