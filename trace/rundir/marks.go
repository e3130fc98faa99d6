package rundir

import (
	"cmp"
	"slices"

	"moriens/trace"
)

// A Phase is what all phases of one name come to, in manifest.json.
type Phase struct {
	Name       string `json:"name"`
	Count      int    `json:"count"`
	Threads    int    `json:"threads"`
	Seconds    Number `json:"seconds"`
	Own        Number `json:"own_seconds"`
	Computing  Number `json:"computing_seconds"`
	Unfinished int    `json:"unfinished"`
}

// An Event is what all events of one name come to.
type Event struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	Mean  Number `json:"mean"`
}

// Paused says how much of the run the program left out by MPI_Pcontrol.
type Paused struct {
	Calls   int64  `json:"calls"`
	Pauses  int    `json:"pauses"`
	Seconds Number `json:"seconds"`
}

// PhaseBursts are the bursts whose innermost phase has one name, in clusters.json.
type PhaseBursts struct {
	Name     string         `json:"name"`
	Outside  bool           `json:"outside"` // those of no phase, which has no name
	Bursts   int            `json:"bursts"`
	Seconds  Number         `json:"seconds"`
	Share    Number         `json:"share"`
	Clusters []PhaseCluster `json:"clusters"`
}

// A PhaseCluster is those of them that are in one cluster.
type PhaseCluster struct {
	ID      int32  `json:"id"` // as in bursts.parquet: below 1 in none
	Bursts  int    `json:"bursts"`
	Seconds Number `json:"seconds"`
}

// describePhases sums the phases up by name, those with the most time first. A phase inside one of its own name adds to their number and not
// to their time.
func describePhases(run *trace.Run) []Phase {
	type sum struct {
		count, threads, unfinished int
		ns, ownNS, computingNS     int64
		lastThread                 int
	}
	sums := make([]sum, len(run.MarkNames))
	for i := range run.Threads {
		t := &run.Threads[i]
		var open []int // of t.Phases
		for k, p := range t.Phases {
			for len(open) > 0 && int(p.Depth) <= len(open)-1 {
				open = open[:len(open)-1]
			}
			s := &sums[p.Name]
			if s.threads == 0 || s.lastThread != i {
				s.threads++
				s.lastThread = i
			}
			s.count++
			if p.Unfinished {
				s.unfinished++
			}
			d := p.EndNS - p.BeginNS
			s.ownNS += d
			if len(open) > 0 {
				sums[t.Phases[open[len(open)-1]].Name].ownNS -= d
			}
			if !slices.ContainsFunc(open, func(o int) bool { return t.Phases[o].Name == p.Name }) {
				s.ns += d
				s.computingNS += computing(t, p)
			}
			open = append(open, k)
		}
	}
	list := []Phase{}
	for name, s := range sums {
		if s.count > 0 {
			list = append(list, Phase{run.MarkNames[name], s.count, s.threads, seconds(s.ns), seconds(s.ownNS), seconds(s.computingNS), s.unfinished})
		}
	}
	slices.SortStableFunc(list, func(a, b Phase) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list
}

// computing is how much of a phase lies in bursts.
func computing(t *trace.Thread, p trace.Phase) int64 {
	b := &t.Bursts
	k, exact := slices.BinarySearch(b.StartNS, p.BeginNS)
	if !exact && k > 0 {
		k--
	}
	sum := int64(0)
	for ; k < b.Len() && b.StartNS[k] < p.EndNS; k++ {
		sum += max(0, min(p.EndNS, b.StartNS[k]+b.DurationNS[k])-max(p.BeginNS, b.StartNS[k]))
	}
	return sum
}

func describeEvents(run *trace.Run) []Event {
	events := make([]Event, len(run.MarkNames))
	mean := make([]float64, len(run.MarkNames))
	for i := range run.Threads {
		for _, e := range run.Threads[i].Events {
			d := &events[e.Name]
			if d.Count == 0 {
				d.Min, d.Max = e.Value, e.Value
			}
			d.Count++
			d.Min, d.Max = min(d.Min, e.Value), max(d.Max, e.Value)
			mean[e.Name] += (float64(e.Value) - mean[e.Name]) / float64(d.Count)
		}
	}
	list := []Event{}
	for name, e := range events {
		if e.Count > 0 {
			e.Name, e.Mean = run.MarkNames[name], Number(mean[name])
			list = append(list, e)
		}
	}
	return list
}

// describe leaves alone what only the measurement knows: how many calls were left out.
func (p *Paused) describe(run *trace.Run) {
	p.Pauses, p.Seconds = 0, 0
	ns := int64(0)
	for i := range run.Threads {
		for _, pause := range run.Threads[i].Pauses {
			p.Pauses++
			ns += pause.EndNS - pause.BeginNS
		}
	}
	p.Seconds = seconds(ns)
}

// describePhaseBursts is the table of phases by clusters; empty where no thread has a phase.
func describePhaseBursts(run *trace.Run) []PhaseBursts {
	list := []PhaseBursts{}
	type key struct {
		name    int // -1: of no phase
		cluster int32
	}
	type sum struct {
		bursts int
		ns     int64
	}
	sums := make(map[key]sum)
	phases, total := false, int64(0)
	for i := range run.Threads {
		t := &run.Threads[i]
		phases = phases || len(t.Phases) > 0
		for k, d := range t.Bursts.DurationNS {
			at := key{-1, t.Bursts.Cluster[k]}
			if t.Bursts.Phase != nil && t.Bursts.Phase[k] >= 0 {
				at.name = int(t.Phases[t.Bursts.Phase[k]].Name)
			}
			s := sums[at]
			sums[at] = sum{s.bursts + 1, s.ns + d}
			total += d
		}
	}
	if !phases {
		return list
	}
	rows := make([]PhaseBursts, len(run.MarkNames)+1) // the first: of no phase
	ns := make([]int64, len(rows))
	for at, s := range sums {
		row := &rows[at.name+1]
		row.Clusters = append(row.Clusters, PhaseCluster{at.cluster, s.bursts, seconds(s.ns)})
		row.Bursts += s.bursts
		ns[at.name+1] += s.ns
	}
	for i, row := range rows {
		if row.Bursts == 0 {
			continue
		}
		if row.Outside = i == 0; !row.Outside {
			row.Name = run.MarkNames[i-1]
		}
		row.Seconds, row.Share = seconds(ns[i]), share(ns[i], total)
		slices.SortFunc(row.Clusters, func(a, b PhaseCluster) int {
			return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
		})
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(a, b PhaseBursts) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list
}
