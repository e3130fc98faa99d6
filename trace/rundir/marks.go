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

// A PhaseFunction is a function of which phases were made, from the first call inside it to the last.
type PhaseFunction struct {
	Name      string `json:"name"`       // as it was asked for
	CallPaths int    `json:"call_paths"` // of the run that hold it; 0: there is no such function
	Phases    int64  `json:"phases"`
	Divided   int64  `json:"divided"`  // of these, parts of one that a phase of the program does not nest with
	TooDeep   int64  `json:"too_deep"` // left out, with phases of the program in them: they would lie in too many others
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

// describePhases lists the phases by name, those with the most time first.
func describePhases(run *trace.Run, f *figures) []Phase {
	list := []Phase{}
	for name, s := range f.Phases {
		if s.Count > 0 {
			list = append(list, Phase{run.MarkNames[name], s.Count, s.Threads, seconds(s.NS), seconds(s.OwnNS), seconds(s.ComputingNS), s.Unfinished})
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

func describeEvents(run *trace.Run, f *figures) []Event {
	list := []Event{}
	for name, e := range f.Events {
		if e.Count > 0 {
			list = append(list, Event{run.MarkNames[name], e.Count, e.Min, e.Max, Number(e.Sum.over(e.Count))})
		}
	}
	return list
}

// describe leaves alone what only the measurement knows: how many calls were left out.
func (p *Paused) describe(f *figures) { p.Pauses, p.Seconds = f.Pauses, seconds(f.PausedNS) }

// describePhaseBursts is the table of phases by clusters; empty where no thread has a phase.
func describePhaseBursts(run *trace.Run, f *figures) []PhaseBursts {
	list := []PhaseBursts{}
	if !f.Has.Phases {
		return list
	}
	sums := make(map[phaseBurst]phaseBurstFigures)
	for _, x := range f.InPhases {
		s := sums[x.Of]
		sums[x.Of] = phaseBurstFigures{x.Of, s.Bursts + x.Bursts, s.NS + x.NS}
	}
	rows := make([]PhaseBursts, len(run.MarkNames)+1) // the first: of no phase
	ns := make([]int64, len(rows))
	for at, s := range sums {
		row := &rows[at.Name+1]
		row.Clusters = append(row.Clusters, PhaseCluster{at.Cluster, s.Bursts, seconds(s.NS)})
		row.Bursts += s.Bursts
		ns[at.Name+1] += s.NS
	}
	for i, row := range rows {
		if row.Bursts == 0 {
			continue
		}
		if row.Outside = i == 0; !row.Outside {
			row.Name = run.MarkNames[i-1]
		}
		row.Seconds, row.Share = seconds(ns[i]), share(ns[i], f.Total.TimeNS)
		slices.SortFunc(row.Clusters, func(a, b PhaseCluster) int {
			return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
		})
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(a, b PhaseBursts) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return list
}
