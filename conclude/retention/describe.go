package retention

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/analysis/represent"
	"moriens/internal/stage"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// mostDropped is how many windows without room the manifest lists, the most important ones: a small budget is not for
// listing what it does not hold.
const mostDropped = 32

// describe says in the manifest what is kept, why, and what is missing.
func (r *Reduction) describe(c *rundir.Content, o Options) {
	m := c.Manifest
	m.Notes = append(append(m.Notes, r.notes...), r.chosen...)
	k := &m.Kept
	k.How = "everything"
	if r.periods != nil {
		k.Phases = nil
		computing := r.computing()
		for i := range r.periods.Phases {
			d := describePhase(&r.periods.Phases[i], r.times[i])
			d.Computing = computing[i]
			k.Phases = append(k.Phases, d)
		}
	}
	m.Reduction.Missing = append(append(m.Reduction.Missing, r.missing...), r.lacking...)
	m.Reduction.GivenUp = append(m.Reduction.GivenUp, r.givenUp...)
	if r.unwaited != "" {
		text := missed(stage.Waits.Name, rundir.WaitsFile+" has no waits of windows", r.unwaited)
		m.Reduction.Missing, m.Reduction.GivenUp = append(m.Reduction.Missing, text), append(m.Reduction.GivenUp, text)
	}
	m.Losses.TransfersLost += r.lost
	m.Reduction.InstancesByThread, m.Reduction.ProfileByClass = r.instancesByThread, r.byClass
	if r.Kept == nil {
		return
	}
	k.How = fmt.Sprintf("representative windows in full detail, in a directory of at most %v", o.Budget)
	k.SampledOf = int(r.sampledOf)
	r.describeClasses(c.Run, k)
	if x := r.byClass; x != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("%s has %s, which lead to %s, as sums of classes of ranks, and by rank these places: by rank alone it would take %v, more than an eighth of --keep",
			rundir.ProfileFile, units.Count(x.CallPaths, "call path"), units.Count(x.Places, "place"), units.Bytes(x.Bytes)))
	}
	k.MoreAnomalies = r.found.More
	for number, i := range r.order {
		p, w := &r.parts[i], &r.Kept.Windows[number]
		d := rundir.Window{BeginNS: w.BeginNS, EndNS: w.EndNS, Phase: w.Phase, Why: w.Why.String(), Reason: w.Reason, Bytes: p.bytes}
		for _, thread := range w.Threads {
			d.Threads = append(d.Threads, rundir.NameOf(&c.Run.Threads[thread]))
		}
		k.Windows = append(k.Windows, d)
	}
	listed := r.dropped[:min(len(r.dropped), mostDropped)]
	k.MoreDropped = len(r.dropped) - len(listed)
	for _, p := range listed {
		reason := p.Reason
		if w := windowAt(r.found, p.Window); w.FromIteration == w.ToIteration { // which says nothing of when
			reason = represent.Between(w.BeginNS, w.EndNS) + ", " + reason
		}
		k.Dropped = append(k.Dropped, rundir.Dropped{Why: whys[p.Why].String(), Threads: len(p.Threads), Bytes: p.Bytes, Reason: reason})
	}
	x, budget := &m.Reduction, int64(o.Budget)
	x.BudgetBytes, x.FullBytes, x.FullMeasured, x.Error = &budget, r.sizes.Full, r.sizes.Measured, r.fidelity
}

// computing is how long all threads computed in each phase, in seconds.
func (r *Reduction) computing() []rundir.Number {
	list := make([]rundir.Number, len(r.periods.Phases))
	if r.exact == nil {
		for i := range list {
			list[i] = rundir.Number(math.NaN())
		}
		return list
	}
	for i := range r.exact.Rows {
		if row := &r.exact.Rows[i]; row.Kind == profile.Computation && row.Phase >= 0 {
			list[row.Phase] += rundir.Number(float64(row.Time.Total) / 1e9)
		}
	}
	return list
}

func describePhase(p *period.Phase, time trace.Span) rundir.Iterations {
	d := rundir.Iterations{
		BeginNS: time.BeginNS, EndNS: time.EndNS,
		Iterations: p.Iterations, PeriodBursts: p.Period, MedianNS: p.MedianNS, Agreement: rundir.Number(p.Agreement),
		Autocorrelation: rundir.Number(p.Correlation), Inner: describeInner([]rundir.Inner{}, p.Inner, 1), Reason: p.Reason,
	}
	for i := range p.Threads {
		if len(p.Threads[i].Begins) > 0 {
			d.Threads++
		}
	}
	return d
}

// describeInner adds loops, each followed by those within it.
func describeInner(list []rundir.Inner, loops []period.Inner, depth int) []rundir.Inner {
	for i := range loops {
		l := &loops[i]
		list = append(list, rundir.Inner{
			Depth: depth, OffsetBursts: l.Offset, PeriodBursts: l.Period, Trips: l.Trips, MinTrips: l.MinTrips, MaxTrips: l.MaxTrips, Share: rundir.Number(l.Share),
		})
		list = describeInner(list, l.Inner, depth+1)
	}
	return list
}

func (r *Reduction) describeClasses(run *trace.Run, k *rundir.Kept) {
	k.Grouped, k.Differ = r.classes.Method, r.classes.Differ
	for i := range r.classes.Classes {
		c := &r.classes.Classes[i]
		d := rundir.Class{Size: len(c.Threads), Exemplar: rundir.NameOf(&run.Threads[c.Exemplar]), Reason: c.Reason, Profile: c.Profile, Differs: c.Differs, Bursts: r.medianBursts(c.Threads), Where: where(run, c.Threads)}
		for _, thread := range c.Threads {
			if n := len(d.Threads); n > 0 && d.Threads[n-1][1]+1 == int(thread) {
				d.Threads[n-1][1]++
			} else {
				d.Threads = append(d.Threads, [2]int{int(thread), int(thread)})
			}
		}
		k.Classes = append(k.Classes, d)
	}
	for _, x := range r.classes.Outliers {
		k.Outliers = append(k.Outliers, rundir.Outlier{
			ThreadName: rundir.NameOf(&run.Threads[x.Thread]), Class: x.Class, Distance: rundir.Number(x.Distance), Reason: x.Reason,
			Cause: x.Quantity.Kind.String(), Cluster: x.Quantity.Cluster, Node: nodeOf(run, x.Thread),
		})
	}
}

// medianBursts is the lower median of the bursts of threads; nil: not known.
func (r *Reduction) medianBursts(threads []int32) *int {
	if r.bursts == nil || len(threads) == 0 {
		return nil
	}
	var list []int
	for _, t := range threads {
		list = append(list, r.bursts[t])
	}
	slices.Sort(list)
	return &list[(len(list)-1)/2]
}

// nodeOf is the node of a thread; empty where there is one node.
func nodeOf(run *trace.Run, thread int) string {
	if len(run.Nodes) < 2 {
		return ""
	}
	return run.Nodes[run.Threads[thread].Node].Name
}

// where says on which nodes threads ran: "on n3", "all ranks of n3 and n4", "on n3 and n4 alone"; empty where they are
// on most nodes, or there is one.
func where(run *trace.Run, threads []int32) string {
	if len(run.Nodes) < 2 {
		return ""
	}
	if len(threads) == 1 {
		return "on " + nodeOf(run, int(threads[0]))
	}
	own, all := make(map[int]int), make(map[int]int)
	for i := range run.Threads {
		all[run.Threads[i].Node]++
	}
	for _, t := range threads {
		own[run.Threads[t].Node]++
	}
	if 2*len(own) > len(all) {
		return "" // there are threads of it about everywhere
	}
	whole, nodes := true, slices.Sorted(maps.Keys(own))
	for _, n := range nodes {
		whole = whole && own[n] == all[n]
	}
	var names []string
	for _, n := range nodes {
		names = append(names, run.Nodes[n].Name)
	}
	text := strings.Join(names, " and ")
	if len(names) > 2 {
		text = fmt.Sprintf("%d of %d nodes", len(names), len(all))
	}
	switch {
	case whole:
		return "all ranks of " + text
	case len(threads) >= 2*len(nodes):
		return "on " + text + " alone"
	}
	return "" // so few are on few nodes anyway
}
