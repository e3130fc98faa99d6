package blame

import (
	"slices"

	"moriens/analysis/period"
	"moriens/analysis/waits"
	"moriens/internal/team"
	"moriens/trace"
)

// Options are what is known of a run beside itself.
type Options struct {
	Phases        []period.Phase // of iterations
	UncertaintyNS []int64        // by node: how far its clock may be off; nil = there is one clock
	Clock         []int32        // by node: which clock it has
	MovedNS       int64          // by how much times of calls were moved in sum, so that none ends before what it waits for
	Main          waits.Span     // the stretch main; without a length: all of the run
	NoMessages    bool           // calls send messages, and there are none
	Skipped       int            // malformed lines of a trace
	Workers       int
}

// A Blame is what calls of a run waited for, who caused it, and the critical path. All members of a team have the same.
type Blame struct {
	*waits.Result
	Full      bool // messages were taken in
	options   Options
	locations int   // threads that called MPI
	elapsedNS int64 // of the run, or of its windows
}

// Measure is collective: it finds the waits of a whole run, whose threads members of a team have. The first member does
// so, with what the others send of their threads.
func Measure(run *trace.Run, owners team.Threads, o Options) (*Blame, error) {
	if o.Main.EndNS <= o.Main.BeginNS {
		o.Main = waits.Span{EndNS: run.DurationNS}
	}
	full := run.Traffic == nil && !o.NoMessages // all messages are known one by one
	locations, err := locationsOf(run, owners)
	if err != nil {
		return nil, err
	}
	in := inputOf(run, o, full)
	lanes, err := waits.Local(in, owners)
	if err := team.Explain(owners, err); err != nil {
		return nil, err
	}
	if err := lanes.Merge(owners); err != nil {
		return nil, err
	}
	r, err := team.First(owners, func() (*waits.Result, error) { return lanes.Solve(), nil })
	if err != nil {
		return nil, err
	}
	return &Blame{r, full, o, locations, run.DurationNS}, nil
}

// locationsOf is collective: it is how many threads called MPI.
func locationsOf(run *trace.Run, owners team.Threads) (locations int, err error) {
	calls := make([]int64, len(run.Threads))
	for i := range run.Threads {
		calls[i] = int64(run.Threads[i].Calls.Len())
	}
	err = owners.AllReduce(calls, team.Max)
	for _, n := range calls {
		if n > 0 {
			locations++
		}
	}
	return locations, err
}

// Apply puts waits and critical path into the threads of a run.
func (b *Blame) Apply(run *trace.Run) {
	for i := range run.Threads {
		t := &run.Threads[i]
		if t.Waits = waitsOf(b.Waits[i]); t.Calls.Len() == 0 {
			t.Waits = trace.Waits{}
		}
		t.Critical = nil
	}
	for _, p := range b.Path {
		t := &run.Threads[p.Thread]
		t.Critical = append(t.Critical, trace.Stretch{BeginNS: p.BeginNS, EndNS: p.EndNS})
	}
}

func waitsOf(list []waits.Wait) (w trace.Waits) {
	if len(list) == 0 {
		return w
	}
	n := len(list)
	w = trace.Waits{Call: make([]uint32, n), Kind: make([]trace.WaitKind, n), UntilNS: make([]int64, n), For: make([]int32, n)}
	for k, x := range list {
		w.Call[k], w.Kind[k], w.UntilNS[k], w.For[k] = uint32(x.Row), trace.WaitKind(x.Kind), x.UntilNS, x.For
	}
	return w
}

// At collectives, in sum and per thread: how long others waited for it, and it for others. It is collective.
func (b *Blame) AtCollectives(run *trace.Run, owners team.Threads) (causedNS, sufferedNS []int64, err error) {
	causedNS, sufferedNS = make([]int64, len(run.Threads)), make([]int64, len(run.Threads))
	for i, list := range b.Waits {
		if !owners.Mine(i) {
			continue
		}
		for _, w := range list {
			if w.Kind < waits.Barrier || w.Kind > waits.Window {
				continue
			}
			ns := w.UntilNS - run.Threads[i].Calls.EnterNS[w.Row]
			sufferedNS[i] += ns
			causedNS[w.For] += ns
		}
	}
	if err := owners.AllReduce(causedNS, team.Sum); err != nil {
		return nil, nil, err
	}
	return causedNS, sufferedNS, owners.AllReduce(sufferedNS, team.Sum)
}

// OnPath are how long the critical path is on threads from one time to another.
func (b *Blame) OnPath(beginNS, endNS int64) map[int32]int64 {
	onNS := make(map[int32]int64)
	i, _ := slices.BinarySearchFunc(b.Path, beginNS, func(p waits.Part, ns int64) int {
		if p.EndNS <= ns {
			return -1
		}
		return 1
	})
	for ; i < len(b.Path) && b.Path[i].BeginNS < endNS; i++ {
		p := b.Path[i]
		onNS[p.Thread] += min(p.EndNS, endNS) - max(p.BeginNS, beginNS)
	}
	return onNS
}
