package moriens

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"moriens/analysis/clock"
	"moriens/collector/store"
	moriensv1 "moriens/proto/moriens/v1"
)

// A timeline converts the ticks of one node's clock to nanoseconds since the Unix epoch. It goes through
// the node's first clock sample and takes its rate from the longest baseline, so that a clock which is
// stepped or slewed during the run does not bend the run.
type timeline struct {
	ticks     uint64 // of the first sample
	ns        int64  // since the epoch, then
	nsPerTick float64
	// uncertaintyNS bounds the error of a time against the node's own clocks.
	uncertaintyNS int64
}

// newTimeline also returns how many ticks the samples span.
func newTimeline(samples []*moriensv1.ClockSample) (timeline, uint64, error) {
	if len(samples) < 2 {
		return timeline{}, 0, fmt.Errorf("%d clock samples, two are needed", len(samples))
	}
	byTicks := func(a, b *moriensv1.ClockSample) int { return cmp.Compare(a.Ticks, b.Ticks) }
	first, last := slices.MinFunc(samples, byTicks), slices.MaxFunc(samples, byTicks)
	if last.Ticks == first.Ticks || last.MonotonicNs <= first.MonotonicNs {
		return timeline{}, 0, fmt.Errorf("the clock stood still between two samples at %d and %d ticks", first.Ticks, last.Ticks)
	}
	return timeline{
		ticks:         first.Ticks,
		ns:            first.RealtimeNs,
		nsPerTick:     float64(last.MonotonicNs-first.MonotonicNs) / float64(last.Ticks-first.Ticks),
		uncertaintyNS: max(first.UncertaintyNs, last.UncertaintyNs),
	}, last.Ticks - first.Ticks, nil
}

// at returns the time of a tick reading, in nanoseconds since the Unix epoch.
func (t timeline) at(ticks uint64) int64 {
	// The difference is exact in a float64 for 2^53 ticks, a month of a 3 GHz counter.
	return t.ns + int64(math.Round(float64(int64(ticks-t.ticks))*t.nsPerTick))
}

type clockKey struct {
	agent *store.Agent
	clock moriensv1.Clock
}

// A counter is one clock of the run, whoever reads it: the agents of one node share one, and the collector has that of its host.
type counter struct {
	kind      moriensv1.Clock
	agents    []*store.Agent
	collector bool
	processes int
	line      timeline
	fitted    bool // line tells something
	span      clock.Span
	window    clock.Span // within which its times can be what they seem
}

// A time that lies farther from all samples of its counter is none: a program that overwrites its own memory may
// have hit its ring. Ranks may have run for a while before their agent came, and samples are a minute apart.
const (
	windowBefore = time.Hour
	windowAfter  = 2 * time.Minute
)

// clocks are the counters of a run and what brings them together. The numbers of the counters are those of the
// nodes in analysis/clock.
type clocks struct {
	counters   []*counter
	of         map[clockKey]int
	collectors []int // numbers of the collector's counters, in time order: it may have moved to another host
	reference  int
	lines      []clock.Line // nil: there is one counter only, whose time is the run's
	notes      []string

	exchanged, told []int // by counter: bounds by exchanges, and by messages
	contradicted    int
	refused         int
	ordered         clock.Ordered
}

// readClocks sorts the clocks of a run into counters and fits each. Where a counter was read once only the rate
// of another one of the same kind has to do; a note says so.
func readClocks(f store.Frozen) *clocks {
	c := &clocks{of: make(map[clockKey]int)}
	known := make(map[string]int) // counters by identity
	add := func(kind moriensv1.Clock, identity string) int {
		if n, same := known[identity]; same && identity != "" {
			return n
		}
		n := len(c.counters)
		c.counters = append(c.counters, &counter{kind: kind, span: clock.Span{BeginNS: math.MaxInt64, EndNS: math.MinInt64}})
		known[identity] = n
		return n
	}
	series := make(map[int][][]*moriensv1.ClockSample)
	for _, its := range f.Clocks {
		n := add(its.Kind, its.Samples[0].Identity)
		c.collectors = append(c.collectors, n)
		c.counters[n].collector = true
		series[n] = append(series[n], its.Samples)
	}
	for _, a := range f.Agents {
		for _, kind := range slices.Sorted(maps.Keys(a.Samples)) {
			samples := a.Samples[kind]
			identity := samples[0].Identity
			if n, same := known[identity]; same && !c.oneCounter(n, a.Exchanges[kind]) {
				// A virtual machine that was copied while it ran has its original's boot id.
				identity = ""
			}
			n := add(kind, identity)
			c.counters[n].agents = append(c.counters[n].agents, a)
			c.of[clockKey{a, kind}] = n
			series[n] = append(series[n], samples)
		}
	}
	c.fit(series)
	c.limit(series)
	for _, p := range f.Processes {
		if n, has := c.of[clockKey{p.Agent, p.Info.Clock}]; has && c.counters[n].fitted {
			c.counters[n].add(p)
		}
	}
	c.choose()
	return c
}

// oneCounter says whether exchanges with the collector while it read counter n can be of a reader of that counter.
func (c *clocks) oneCounter(n int, exchanges []*moriensv1.ClockExchange) bool {
	return !slices.ContainsFunc(exchanges, func(e *moriensv1.ClockExchange) bool {
		return c.collectors[e.Collector] == n && (e.ReceivedTicks < e.SentTicks || e.ReturnedTicks < e.RepliedTicks)
	})
}

// fit finds the counters' time lines, each from its longest series of samples.
func (c *clocks) fit(series map[int][][]*moriensv1.ClockSample) {
	rates := map[moriensv1.Clock]float64{moriensv1.Clock_CLOCK_MONOTONIC_RAW: 1}
	for n, counter := range c.counters {
		longest := uint64(0)
		for _, samples := range series[n] {
			line, length, err := newTimeline(samples)
			if err == nil && length > longest {
				counter.line, counter.fitted, longest = line, true, length
			}
		}
		if counter.fitted {
			rates[counter.kind] = counter.line.nsPerTick
		}
	}
	for n, counter := range c.counters {
		rate, known := rates[counter.kind]
		if counter.fitted || !known {
			continue
		}
		s := series[n][0][0]
		counter.line = timeline{ticks: s.Ticks, ns: s.RealtimeNs, nsPerTick: rate, uncertaintyNS: s.UncertaintyNs}
		counter.fitted = true
		for _, a := range counter.agents {
			c.notes = append(c.notes, fmt.Sprintf("host %s: its clock was read once only; its rate is taken from elsewhere", a.Hello.Host))
		}
	}
}

// limit finds the counters' windows.
func (c *clocks) limit(series map[int][][]*moriensv1.ClockSample) {
	for n, counter := range c.counters {
		w := clock.Span{BeginNS: math.MaxInt64, EndNS: math.MinInt64}
		for _, samples := range series[n] {
			for _, s := range samples {
				at := counter.line.at(s.Ticks)
				w.BeginNS, w.EndNS = min(w.BeginNS, at-int64(windowBefore)), max(w.EndNS, at+int64(windowAfter))
			}
		}
		counter.window = w
	}
}

// add takes in the time for which a process ran.
func (n *counter) add(p *store.Process) {
	n.processes++
	for _, r := range p.Rings {
		if r.Calls > 0 {
			first, last := r.Span()
			n.span.BeginNS = min(n.span.BeginNS, n.line.at(first))
			n.span.EndNS = max(n.span.EndNS, n.line.at(last))
		}
	}
}

// choose makes one of the counters that processes have the run's time: the collector's latest if it is one, else that of
// most processes.
func (c *clocks) choose() {
	most := 0
	for n, counter := range c.counters {
		processes := counter.processes
		if last := len(c.collectors) - 1; last >= 0 && n == c.collectors[last] && processes > 0 {
			processes = math.MaxInt
		}
		if processes > most {
			c.reference, most = n, processes
		}
	}
}

// severalClocks says whether processes have more than one counter.
func (c *clocks) severalClocks() bool {
	used := 0
	for _, counter := range c.counters {
		if counter.processes > 0 {
			used++
		}
	}
	return used > 1
}

// solve brings the counters to one time line by the exchanges of their agents with the collector and by what
// traffic between threads says.
func (c *clocks) solve(traffic *clock.Traffic, threads []clock.Thread) error {
	if !c.severalClocks() {
		return nil
	}
	in := clock.Input{Reference: c.reference}
	for _, counter := range c.counters {
		in.Spans = append(in.Spans, clock.Span{
			BeginNS: max(counter.span.BeginNS, counter.window.BeginNS), EndNS: min(counter.span.EndNS, counter.window.EndNS),
		})
	}
	exchanges, messages := c.credible(c.exchanges()), c.credible(traffic.Bounds(threads))
	in.Bounds = func(yield func(clock.Bound) bool) {
		for b := range exchanges {
			if !yield(b) {
				return
			}
		}
		messages(yield)
	}
	solution, err := clock.Solve(in)
	if err != nil {
		return err
	}
	c.lines, c.contradicted = solution.Lines, solution.Contradicted
	c.exchanged, c.told = c.count(exchanges), c.count(messages)
	c.refused = solution.Refused + length(c.exchanges()) + length(traffic.Bounds(threads)) - length(in.Bounds)
	return nil
}

func length(bounds iter.Seq[clock.Bound]) int {
	n := 0
	for range bounds {
		n++
	}
	return n
}

// credible leaves out bounds with a time outside of its counter's window.
func (c *clocks) credible(bounds iter.Seq[clock.Bound]) iter.Seq[clock.Bound] {
	within := func(n int, ns int64) bool {
		w := c.counters[n].window
		return ns >= w.BeginNS && ns <= w.EndNS
	}
	return func(yield func(clock.Bound) bool) {
		for b := range bounds {
			if within(b.From, b.SendNS) && within(b.To, b.RecvNS) && !yield(b) {
				return
			}
		}
	}
}

// count says for each counter how many bounds name it.
func (c *clocks) count(bounds iter.Seq[clock.Bound]) []int {
	n := make([]int, len(c.counters))
	for b := range bounds {
		n[b.From]++
		n[b.To]++
	}
	return n
}

// exchanges are the bounds that agents and collector have of each other.
func (c *clocks) exchanges() iter.Seq[clock.Bound] {
	return func(yield func(clock.Bound) bool) {
		for n, counter := range c.counters {
			if !counter.fitted {
				continue
			}
			for _, a := range counter.agents {
				for _, e := range a.Exchanges[counter.kind] {
					with := c.collectors[e.Collector]
					if with == n || !c.counters[with].fitted {
						continue
					}
					collector := c.counters[with].line
					if !yield(clock.Bound{From: n, To: with, SendNS: counter.line.at(e.SentTicks), RecvNS: collector.at(e.ReceivedTicks)}) ||
						!yield(clock.Bound{From: with, To: n, SendNS: collector.at(e.RepliedTicks), RecvNS: counter.line.at(e.ReturnedTicks)}) {
						return
					}
				}
			}
		}
	}
}

// at turns a time of a counter's line into the run's, as far as that is known.
func (c *clocks) at(counter int, ns int64) int64 {
	if c.lines == nil {
		return ns
	}
	return c.lines[counter].At(ns)
}

// local gives the number of a process's counter and its line, if there is one.
func (c *clocks) local(p *store.Process) (counter int, line timeline, fitted bool) {
	n, has := c.of[clockKey{p.Agent, p.Info.Clock}]
	if !has || !c.counters[n].fitted {
		return 0, timeline{}, false
	}
	return n, c.counters[n].line, true
}
