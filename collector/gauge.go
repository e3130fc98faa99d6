package collector

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"moriens/analysis/efficiency"
	"moriens/collector/health"
	"moriens/collector/meter"
)

const (
	// gaugeEvery is how often the efficiency is measured: as often as agents report where ranks are.
	gaugeEvery = time.Second
	// apartNS is by how much what the slowest rank has reported may lie behind the latest until it is the one to name.
	apartNS = int64(5e9)
)

// A gauge is the efficiency of the run so far, of all collectors at the first one.
type gauge struct {
	meter *meter.Meter
	now   func() time.Time

	mu      sync.Mutex
	stretch meter.Stretch  // of the run; at others than the first collector as that says
	mine    *measured      // of this collector, not yet reported
	reports []meter.Report // of all collectors, as of the latest measurement
	latest  *efficiency.Recent
	ended   bool      // main is over
	over    bool      // the run is
	since   time.Time // when the stretch became longer last
	at      time.Time // of the measurement
}

// measured is what one collector measures.
type measured struct {
	Report  meter.Report
	Stretch meter.Stretch      // of Recent
	Recent  *efficiency.Recent // nil: there is none
}

func newGauge(s meter.Store, now func() time.Time) *gauge {
	return &gauge{meter: meter.New(s), now: now, since: now()}
}

// gaugeAll measures until ctx ends.
func (c *Collector) gaugeAll(ctx context.Context) {
	tick := time.NewTicker(gaugeEvery)
	defer tick.Stop()
	for {
		if c.peers == nil || c.peers.first() {
			var others []*measured
			complete := true
			if c.peers != nil {
				for _, r := range c.peers.others() {
					complete = complete && r.Measured != nil
					others = append(others, r.Measured)
				}
			}
			if complete {
				c.gauge.measure(others)
			}
			if c.peers != nil {
				next := c.gauge.ordered()
				c.peers.order(func(o *orders) { o.Stretch = next })
			}
		} else {
			c.gauge.share()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// share measures for the first collector, in the stretch that it has ordered.
func (g *gauge) share() {
	m := &measured{Report: g.meter.Look(g.now())}
	g.mu.Lock()
	m.Stretch = g.stretch
	g.mu.Unlock()
	if m.Stretch != (meter.Stretch{}) {
		m.Recent = g.meter.To(m.Stretch)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mine = m
}

// news is what the first collector is to know, once.
func (g *gauge) news() *measured {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.mine
	g.mine = nil
	return m
}

// heed takes the first collector's order.
func (g *gauge) heed(s meter.Stretch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stretch = s
}

// ordered is the stretch that others are to measure in.
func (g *gauge) ordered() meter.Stretch {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stretch
}

// measure has the first collector measure. Others have done so in the stretch that was ordered before: when all have,
// the sum is the run's, and there is a new stretch.
func (g *gauge) measure(others []*measured) {
	now := g.now()
	all := []meter.Report{g.meter.Look(now)}
	before := g.ordered()
	ready := true
	for _, o := range others {
		all = append(all, o.Report)
		ready = ready && (o.Recent != nil && o.Stretch == before || before == meter.Stretch{})
	}
	next, ended, known := meter.Agree(before, all...)
	of := next // of one collector alone
	if len(others) > 0 {
		of = before
	}
	var sum *efficiency.Recent
	if ready && of != (meter.Stretch{}) && (known || len(others) > 0) {
		if sum = g.meter.To(of); sum != nil {
			for _, o := range others {
				sum.Merge(o.Recent)
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reports, g.at = all, now
	if sum != nil {
		g.latest = sum
	}
	if ready && known {
		if g.stretch != next {
			g.since = now
		}
		g.stretch, g.ended = next, ended
	}
}

// finish ends the use of the store, with what it has last where this is the only collector.
func (g *gauge) finish(alone bool) {
	if alone {
		g.measure(nil)
	}
	g.meter.Finish()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended, g.over = true, true
	for i := range g.reports {
		g.reports[i].Waiting = nil // its rank has ended, or is not measured any more
	}
}

// page is what a page shows at this moment.
func (g *gauge) page() (*health.Efficiency, *health.Waiting) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	e := &health.Efficiency{BinSeconds: float64(efficiency.BinNS) / 1e9, Bins: []float64{}, Age: max(0, now.Sub(g.since).Seconds()), Ended: g.ended}
	slowest, latest := slowestOf(g.reports)
	stale := !g.over && e.Age >= health.StaleSeconds
	switch {
	case g.latest == nil && latest == math.MinInt64:
		e.Why = "no MPI call has ended yet"
	case g.latest == nil:
		e.Why = "no rank has left MPI_Init and reported more"
	case stale && g.ended:
		e.Why = fmt.Sprintf("the figures end at the first MPI_Finalize, %.0f s ago", e.Age)
	case stale && latest-slowest.UntilNS > apartNS:
		e.Why = fmt.Sprintf("rank %d reported nothing for %.0f s", slowest.Slowest.Rank, e.Age)
	case stale:
		e.Why = fmt.Sprintf("no rank reported anything for %.0f s", e.Age)
	}
	if r := g.latest; r != nil {
		e.Run = factorsOf(&r.All, r.UntilNS-r.BeginNS)
		if !stale {
			e.Minute = factorsOf(&r.Minute, r.MinuteNS())
			e.Bins = r.Efficiencies()
		}
	}
	return e, g.waiting(now)
}

// slowestOf is the collector whose ranks have reported of the least time, and the latest time that any has.
func slowestOf(all []meter.Report) (slowest meter.Report, latestNS int64) {
	slowest.UntilNS, latestNS = math.MaxInt64, math.MinInt64
	for _, t := range all {
		latestNS = max(latestNS, t.LatestNS)
		if t.UntilNS < slowest.UntilNS {
			slowest = t
		}
	}
	return slowest, latestNS
}

// waiting is the rank that has been in one call for longest, of all collectors.
func (g *gauge) waiting(now time.Time) *health.Waiting {
	var longest *meter.Waiting
	for _, t := range g.reports {
		longest = longest.Longer(t.Waiting)
	}
	if longest == nil {
		return nil
	}
	return &health.Waiting{
		Rank: longest.Rank.Rank, World: g.world(longest.World), Call: longest.Call, CallPath: longest.Place, Seconds: longest.Seconds + max(0, now.Sub(g.at).Seconds()),
	}
}

// world is the number of a world by the time of its first call; one that has had none is behind all.
func (g *gauge) world(name string) int {
	first := make(map[string]int64)
	for _, t := range g.reports {
		for _, w := range t.Worlds {
			if ns, known := first[w.Name]; !known || w.FirstNS < ns {
				first[w.Name] = w.FirstNS
			}
		}
	}
	names := make([]string, 0, len(first))
	for name := range first {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a, b)) })
	if at := slices.Index(names, name); at >= 0 {
		return at
	}
	return len(names)
}

// factorsOf are the factors of a part of the run; what is not defined is null.
func factorsOf(u *efficiency.Use, tns int64) health.Factors {
	f := u.Factors(tns)
	known := func(x float64) *float64 {
		if math.IsNaN(x) {
			return nil
		}
		return &x
	}
	return health.Factors{
		ParallelEfficiency: known(f.Parallel), LoadBalance: known(f.Balance), LoadBalanceInNodes: known(f.BalanceIn), LoadBalanceBetweenNodes: known(f.BalanceOut),
		CommunicationEfficiency: known(f.Communication), Seconds: known(float64(f.TNS) / 1e9), ComputingSeconds: known(float64(u.ComputingNS) / 1e9),
		MPISeconds: known(float64(u.MPINS) / 1e9), Locations: f.Locations,
	}
}
