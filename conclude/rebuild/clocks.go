package rebuild

import (
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

type clockKey struct {
	agent *store.Agent
	clock moriensv1.Clock
}

// A counter is one clock of the run, for all its readers: the agents of one node share one, and the collector has that
// of its host.
type counter struct {
	kind      moriensv1.Clock
	agents    []*store.Agent
	collector bool
	processes int
	line      timeline
	fitted    bool // line is usable
	span      clock.Span
	window    clock.Span // within which its times can be what they seem
}

// A time farther away from all samples of its counter is invalid: a program that overwrites its own memory may have hit
// its ring. Ranks may have run for a while before their agent started, and samples are a minute apart.
const (
	windowBefore = time.Hour
	windowAfter  = 2 * time.Minute
)

// clocks are the counters of a run and the exchanges between them. The numbers of the counters are those of the
// nodes in analysis/clock.
type clocks struct {
	counters   []*counter
	of         map[clockKey]int
	collectors []int                                   // numbers of the collector's counters, by when they were read last: it may have moved to another host
	collector  func(a *store.Agent, number uint32) int // the place among those of the one that an exchange of an agent names
	reference  int
	notes      []string

	links []link // between counters of collectors
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
	c.collector = f.Clock
	for _, l := range f.Links {
		from, known1 := known[l.From]
		to, known2 := known[l.To]
		if e := l.Exchange; known1 && known2 && from != to && e.GetReturnedTicks() >= e.GetSentTicks() && e.GetRepliedTicks() >= e.GetReceivedTicks() {
			c.links = append(c.links, link{from, to, e})
		}
	}
	for _, a := range f.Agents {
		for _, kind := range slices.Sorted(maps.Keys(a.Samples)) {
			samples := a.Samples[kind]
			identity := samples[0].Identity
			if n, same := known[identity]; same && !c.oneCounter(n, a, a.Exchanges[kind]) {
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
func (c *clocks) oneCounter(n int, a *store.Agent, exchanges []*moriensv1.ClockExchange) bool {
	return !slices.ContainsFunc(exchanges, func(e *moriensv1.ClockExchange) bool {
		return c.collectors[c.collector(a, e.Collector)] == n && (e.ReceivedTicks < e.SentTicks || e.ReturnedTicks < e.RepliedTicks)
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
			c.notes = append(c.notes, fmt.Sprintf("host %s: its clock was read only once; its rate is taken from other hosts", a.Hello.Host))
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
	for _, ticks := range spans(p) {
		n.span.BeginNS = min(n.span.BeginNS, n.line.at(ticks.first))
		n.span.EndNS = max(n.span.EndNS, n.line.at(ticks.last))
	}
}

// choose makes one of the counters that processes have the run's time: the collector's latest if it is one, else that
// of most processes.
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

// credible says whether a time is within its counter's window.
func (c *clocks) credible(counter int, ns int64) bool {
	w := &c.counters[counter].window
	return ns >= w.BeginNS && ns <= w.EndNS
}

// count says for each counter how many bounds name it.
func (c *clocks) count(bounds []clock.Bound) []int64 {
	n := make([]int64, len(c.counters))
	for _, b := range bounds {
		n[b.From]++
		n[b.To]++
	}
	return n
}

// A link compares the counters of two collectors, by their numbers.
type link struct {
	from, to int
	exchange *moriensv1.ClockExchange
}

// exchanges are the bounds that agents and collectors have of each other.
func (c *clocks) exchanges() iter.Seq[clock.Bound] {
	return func(yield func(clock.Bound) bool) {
		both := func(from, to int, e *moriensv1.ClockExchange) bool {
			asks, answers := c.counters[from].line, c.counters[to].line
			return yield(clock.Bound{From: from, To: to, SendNS: asks.at(e.SentTicks), RecvNS: answers.at(e.ReceivedTicks)}) &&
				yield(clock.Bound{From: to, To: from, SendNS: answers.at(e.RepliedTicks), RecvNS: asks.at(e.ReturnedTicks)})
		}
		for _, l := range c.links {
			if c.counters[l.from].fitted && c.counters[l.to].fitted && !both(l.from, l.to, l.exchange) {
				return
			}
		}
		for n, counter := range c.counters {
			if !counter.fitted {
				continue
			}
			for _, a := range counter.agents {
				for _, e := range a.Exchanges[counter.kind] {
					with := c.collectors[c.collector(a, e.Collector)]
					if with == n || !c.counters[with].fitted {
						continue
					}
					if !both(n, with, e) {
						return
					}
				}
			}
		}
	}
}

// local gives the number of a process's counter and its line, if there is one.
func (c *clocks) local(p *store.Process) (counter int, line timeline, fitted bool) {
	n, has := c.of[clockKey{p.Agent, p.Info.Clock}]
	if !has || !c.counters[n].fitted {
		return 0, timeline{}, false
	}
	return n, c.counters[n].line, true
}
