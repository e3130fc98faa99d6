package rundir

import (
	"math/bits"
	"slices"

	"moriens/internal/team"
	"moriens/trace"
)

// figures are what manifest and clusters count of calls, bursts, transfers, phases and events: whole numbers, so that
// those of a run's threads add up in any order.
type figures struct {
	Busy            []bool  // by thread: it has a call or a burst
	Calls           []int64 // by call path; each poll of a run of polls counts
	Sends, Receives int64   // by transfers
	Communicators   []communicatorFigures
	Phases          []phaseFigures // by name
	Events          []eventFigures // by name
	Pauses          int
	PausedNS        int64
	Total           total
	InPhases        []phaseBurstFigures // in any order
	Has             Has
}

type communicatorFigures struct {
	Transfers, TransferBytes                            int64
	CollectiveCalls, CollectiveSent, CollectiveReceived int64
}

type phaseFigures struct {
	Count, Threads, Unfinished int
	NS, OwnNS, ComputingNS     int64
}

type eventFigures struct {
	Count    int
	Min, Max int64
	Sum      wide
}

// total is how bursts fall.
type total struct {
	Bursts, Clustered, Noise, Filtered, Missing       int
	LongestFilteredNS                                 int64
	TimeNS, ClusterNS, NoiseNS, FilteredNS, MissingNS int64
}

// phaseBurst are the bursts of a cluster in phases of a name.
type phaseBurst struct {
	Name    int // index into Run.MarkNames; -1: of no phase
	Cluster int32
}

type phaseBurstFigures struct {
	Of     phaseBurst
	Bursts int
	NS     int64
}

// Has says which files of detail there are for a run.
type Has struct{ Phases, Events, Transfers bool }

// HasOf says it of a run whose threads are all here.
func HasOf(run *trace.Run) Has {
	var h Has
	for i := range run.Threads {
		t := &run.Threads[i]
		h.Phases = h.Phases || len(t.Phases) > 0
		h.Events = h.Events || len(t.Events) > 0
		h.Transfers = h.Transfers || t.Transfers.Len() > 0
	}
	return h
}

// Shared is collective: it says what a run has of which each member has some threads.
func (h Has) Shared(t team.Team) (Has, error) {
	all, err := team.Values(t, h)
	for _, o := range all {
		h = h.or(o)
	}
	return h, err
}

func (h Has) or(o Has) Has {
	return Has{h.Phases || o.Phases, h.Events || o.Events, h.Transfers || o.Transfers}
}

// figuresOf counts what the threads have that are here.
func figuresOf(run *trace.Run) *figures {
	f := &figures{
		Busy: make([]bool, len(run.Threads)), Calls: make([]int64, len(run.CallPaths)), Communicators: make([]communicatorFigures, len(run.Communicators)),
		Phases: make([]phaseFigures, len(run.MarkNames)), Events: make([]eventFigures, len(run.MarkNames)), Has: HasOf(run),
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		f.Busy[i] = t.Calls.Len()+t.Bursts.Len() > 0
		f.addCalls(&t.Calls)
		f.addMoved(t)
		f.addPhases(t)
		for _, e := range t.Events {
			f.Events[e.Name].add(eventFigures{1, e.Value, e.Value, wideOf(e.Value)})
		}
		for _, pause := range t.Pauses {
			f.Pauses++
			f.PausedNS += pause.EndNS - pause.BeginNS
		}
		f.Total.addBursts(&t.Bursts)
	}
	f.InPhases = inPhases(run)
	return f
}

func (f *figures) addCalls(calls *trace.Calls) {
	for k, p := range calls.Path {
		if calls.Count == nil {
			f.Calls[p]++
		} else {
			f.Calls[p] += calls.Count[k]
		}
	}
}

func (f *figures) addMoved(t *trace.Thread) {
	at := func(comm int32) *communicatorFigures {
		if comm < 0 || int(comm) >= len(f.Communicators) {
			return new(communicatorFigures)
		}
		return &f.Communicators[comm]
	}
	x := &t.Transfers
	for k, kind := range x.Kind {
		switch kind {
		case trace.Sent:
			f.Sends++
		case trace.Received:
			f.Receives++
		}
		if kind != trace.Received { // counted where it was sent
			c := at(x.Comm[k])
			c.Transfers++
			c.TransferBytes += x.Bytes[k]
		}
	}
	for k, comm := range t.Collectives.Comm {
		if t.Collectives.Started(k) {
			continue
		}
		c := at(comm)
		c.CollectiveCalls++
		c.CollectiveSent += t.Collectives.Sent[k]
		c.CollectiveReceived += t.Collectives.Received[k]
	}
}

// addPhases adds a thread's phases. One inside another of its own name adds to their number and not to their time.
func (f *figures) addPhases(t *trace.Thread) {
	var open []*trace.Phase // outermost first
	seen := make(map[uint32]bool)
	t.EachPhase(func(p *trace.Phase) {
		s := &f.Phases[p.Name]
		if !seen[p.Name] {
			seen[p.Name] = true
			s.Threads++
		}
		s.Count++
		if p.Unfinished {
			s.Unfinished++
		}
		d := p.EndNS - p.BeginNS
		s.OwnNS += d
		if n := len(open); n > 0 {
			f.Phases[open[n-1].Name].OwnNS -= d
		}
		if !slices.ContainsFunc(open, func(o *trace.Phase) bool { return o.Name == p.Name }) {
			s.NS += d
			s.ComputingNS += computing(t, *p)
		}
		open = append(open, p)
	}, func(*trace.Phase) { open = open[:len(open)-1] })
}

func (t *total) addBursts(b *trace.Bursts) {
	for k, d := range b.DurationNS {
		t.put(b.Cluster[k], LabelSums{1, d, d})
	}
}

// put adds bursts of a label.
func (t *total) put(label int32, x LabelSums) {
	t.Bursts += x.Bursts
	t.TimeNS += x.TimeNS
	switch {
	case label == trace.LabelNoise:
		t.Noise += x.Bursts
		t.NoiseNS += x.TimeNS
	case label == trace.LabelFiltered:
		t.Filtered += x.Bursts
		t.FilteredNS += x.TimeNS
		t.LongestFilteredNS = max(t.LongestFilteredNS, x.LongestNS)
	case label == trace.LabelMissing:
		t.Missing += x.Bursts
		t.MissingNS += x.TimeNS
	case label > 0:
		t.Clustered += x.Bursts
		t.ClusterNS += x.TimeNS
	}
}

// inPhases sums bursts up by the name of their innermost phase and by cluster, of a run in which anything has a name.
func inPhases(run *trace.Run) []phaseBurstFigures {
	if len(run.MarkNames) == 0 {
		return nil
	}
	var list []phaseBurstFigures
	places := make(map[phaseBurst]int)
	for i := range run.Threads {
		t := &run.Threads[i]
		for k, d := range t.Bursts.DurationNS {
			at := phaseBurst{-1, t.Bursts.Cluster[k]}
			if t.Bursts.Phase != nil && t.Bursts.Phase[k] >= 0 {
				at.Name = int(t.Phases[t.Bursts.Phase[k]].Name)
			}
			place, there := places[at]
			if !there {
				place = len(list)
				places[at] = place
				list = append(list, phaseBurstFigures{Of: at})
			}
			list[place].Bursts++
			list[place].NS += d
		}
	}
	return list
}

// add adds those of other threads of the run.
func (f *figures) add(o *figures) {
	for i, busy := range o.Busy {
		f.Busy[i] = f.Busy[i] || busy
	}
	addTo(f.Calls, o.Calls)
	f.Sends, f.Receives = f.Sends+o.Sends, f.Receives+o.Receives
	for i, c := range o.Communicators {
		to := &f.Communicators[i]
		to.Transfers, to.TransferBytes = to.Transfers+c.Transfers, to.TransferBytes+c.TransferBytes
		to.CollectiveCalls += c.CollectiveCalls
		to.CollectiveSent, to.CollectiveReceived = to.CollectiveSent+c.CollectiveSent, to.CollectiveReceived+c.CollectiveReceived
	}
	for i, p := range o.Phases {
		to := &f.Phases[i]
		to.Count, to.Threads, to.Unfinished = to.Count+p.Count, to.Threads+p.Threads, to.Unfinished+p.Unfinished
		to.NS, to.OwnNS, to.ComputingNS = to.NS+p.NS, to.OwnNS+p.OwnNS, to.ComputingNS+p.ComputingNS
	}
	for i := range o.Events {
		f.Events[i].add(o.Events[i])
	}
	f.Pauses, f.PausedNS = f.Pauses+o.Pauses, f.PausedNS+o.PausedNS
	f.Total.add(&o.Total)
	f.InPhases = append(f.InPhases, o.InPhases...)
	f.Has = f.Has.or(o.Has)
}

func addTo(sums, more []int64) {
	for i, n := range more {
		sums[i] += n
	}
}

func (t *total) add(o *total) {
	t.Bursts, t.TimeNS = t.Bursts+o.Bursts, t.TimeNS+o.TimeNS
	t.Clustered, t.ClusterNS = t.Clustered+o.Clustered, t.ClusterNS+o.ClusterNS
	t.Noise, t.NoiseNS = t.Noise+o.Noise, t.NoiseNS+o.NoiseNS
	t.Filtered, t.FilteredNS = t.Filtered+o.Filtered, t.FilteredNS+o.FilteredNS
	t.Missing, t.MissingNS = t.Missing+o.Missing, t.MissingNS+o.MissingNS
	t.LongestFilteredNS = max(t.LongestFilteredNS, o.LongestFilteredNS)
}

func (e *eventFigures) add(o eventFigures) {
	if o.Count == 0 {
		return
	}
	if e.Count == 0 {
		e.Min, e.Max = o.Min, o.Max
	}
	e.Count += o.Count
	e.Min, e.Max = min(e.Min, o.Min), max(e.Max, o.Max)
	e.Sum.add(o.Sum)
}

// Count is collective: of a run whose threads several members have it counts for all of them what Describe then says.
func (c *Content) Count() error {
	if c.Team.Size() == 1 {
		return nil
	}
	all, err := team.Values(c.Team, *figuresOf(c.Run))
	if err != nil {
		return err
	}
	sum := &all[0]
	for i := range all[1:] {
		sum.add(&all[1+i])
	}
	c.figures = sum
	return nil
}

// Complete is collective: it leaves the first member with what Write needs of the run's columns, as far as Count and
// RenderPictures have not been called before.
func (c *Content) Complete(threadsAtWork int) error {
	if c.figures == nil {
		if err := c.Count(); err != nil {
			return err
		}
	}
	if c.drawn {
		return team.Explain(c.Team, nil)
	}
	_, err := c.RenderPictures(threadsAtWork)
	return team.Explain(c.Team, err)
}

// A wide is a whole number of 128 bits, with two's complement.
type wide struct {
	High int64
	Low  uint64
}

func wideOf(x int64) wide { return wide{x >> 63, uint64(x)} }

func (w *wide) add(o wide) {
	low, carry := bits.Add64(w.Low, o.Low, 0)
	w.High, w.Low = w.High+o.High+int64(carry), low
}

// over is the quotient with a number of things.
func (w wide) over(count int) float64 {
	sign := 1.
	if w.High < 0 {
		low, borrow := bits.Sub64(0, w.Low, 0)
		sign, w = -1, wide{-w.High - int64(borrow), low}
	}
	return sign * (float64(w.High)*(1<<64) + float64(w.Low)) / float64(count)
}
