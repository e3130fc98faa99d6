package levels

import (
	"errors"
	"math"
	"slices"

	"moriens/analysis/period"
	"moriens/analysis/phase"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/parquet"
)

// Instances are the rows of instances.parquet, and whether those of single threads are among them.
type Instances struct {
	Rows     []parquet.InstanceRow
	ByThread bool
	passes   int // over all records of all threads
}

// rowBytes is about what a row takes in instances.parquet: of those over threads 24 to 30 bytes were measured, with
// those of single threads, whose columns are fewer, 16 to 18.
const rowBytes = 25

// leastPoints is how many points a path has at least where it has as many instances, however little room there is.
const leastPoints = 16

// Instances are what each instance took of each phase that the program named, and of each phase of iterations that was
// found, in about so many bytes: where they are too many, a row is of several that follow each other. Rows of single
// threads are there where all of them fit besides. It is collective; the first member has the rows.
func (p *Phases) Instances(run *trace.Run, owners team.Threads, found []period.Phase, bytes int64, threadsAtWork int) (*Instances, error) {
	things, err := thingsOf(run, owners)
	if err != nil {
		return nil, err
	}
	looped, err := p.iterations(run, owners, found, threadsAtWork)
	if err != nil {
		return nil, err
	}
	trees := []tree{{phases: p, texts: p.Texts(run)}, {phases: looped, texts: make([]string, looped.Paths.Len()), loops: looped.Paths}}
	rows := int(min(bytes/rowBytes, math.MaxInt32))
	points := 1
	for i := range trees {
		t := &trees[i]
		if t.counts, err = t.phases.counts(run, owners); err != nil {
			return nil, err
		}
		points = max(points, int(min(slices.Max(t.counts), phase.MostPoints)))
	}
	out := &Instances{ByThread: true}
	at := summing{run: run, owners: owners, things: things, threadsAtWork: threadsAtWork}
	limits := phase.Limits{Things: things.count, Points: points, Single: rows}
	if err := at.fit(trees, limits, out); err != nil {
		return nil, err
	}
	sums, single := 0, 0
	for i := range trees {
		list, all := trees[i].sums.Single()
		sums += trees[i].sums.Len()
		single, out.ByThread = single+len(list), out.ByThread && all
	}
	out.ByThread = out.ByThread && sums+single <= rows
	if owners.Rank() != 0 {
		return out, nil
	}
	out.Rows = []parquet.InstanceRow{} // of a run without a thread there are none, which the file says
	for _, t := range trees {
		out.addSums(run, things, t)
	}
	for _, t := range trees {
		if out.ByThread {
			out.addSingle(run, things, t)
		}
	}
	return out, nil
}

// A tree is phases with their sums.
type tree struct {
	phases *Phases
	counts []int64 // by path: the largest number of instances of a thread
	sums   *phase.Instances
	texts  []string
	loops  *phase.Paths // nil: they are the program's; else the names of paths are phases of iterations
}

// row is one of a path; false: it is of none that the tree is about.
func (t *tree) row(things *things, path int32, thing int) (r parquet.InstanceRow, is bool) {
	r.InPhase, r.Phase, r.Iterations = path != 0 && t.loops == nil, t.texts[path], -1
	if t.loops != nil {
		if path == 0 {
			return r, false
		}
		r.Iterations = int32(t.loops.Of(path).Name)
	}
	things.describe(thing, &r)
	return r, true
}

func (x *Instances) addSums(run *trace.Run, things *things, t tree) {
	t.sums.Each(func(p phase.Point) {
		r, is := t.row(things, p.Path, p.Thing)
		if !is {
			return
		}
		r.Instance, r.Instances, r.Count, r.Calls, r.SumNS, r.DirectNS = p.First, p.Instances, p.Threads, p.Calls, p.SumNS, p.DirectNS
		r.LeastNS, r.MostNS, r.SquaresNS2, r.LongestNS, r.LongestInstance = p.LeastNS, p.MostNS, p.Squares.Float(), p.LongestNS, p.LongestInstance
		r.Timed, r.BeginNS, r.EndNS = p.Thing == phase.Whole, p.BeginNS, p.EndNS
		most := &run.Threads[p.MostThread]
		r.MostWorld, r.MostRank, r.MostThread = int32(most.World), int32(most.Rank), int32(most.Thread)
		x.Rows = append(x.Rows, r)
	})
}

func (x *Instances) addSingle(run *trace.Run, things *things, t tree) {
	list, _ := t.sums.Single()
	for i := range list {
		s := &list[i]
		r, is := t.row(things, s.Path, s.Thing)
		if !is {
			continue
		}
		of := &run.Threads[s.Thread]
		r.OfThread, r.World, r.Rank, r.Thread = true, int32(of.World), int32(of.Rank), int32(of.Thread)
		r.Instance, r.Instances, r.Count, r.Calls, r.SumNS, r.DirectNS = s.First, s.Instances, 1, s.Calls, s.SumNS, s.DirectNS
		r.LongestNS, r.LongestInstance = s.LongestNS, s.LongestNumber
		x.Rows = append(x.Rows, r)
	}
}

// fitting is the largest number of points, below one with which all trees have been summed up, with which all sums are
// no more than so many, however few that makes them; leastPoints at least.
func fitting(trees []tree, sums, below int) int {
	fits, most := leastPoints, below // most does not fit
	for fits+1 < most {
		points, n := (fits+most)/2, 0
		for i := range trees {
			n += trees[i].sums.LenWith(points)
		}
		if n <= sums {
			fits = points
		} else {
			most = points
		}
	}
	return fits
}

// A summing takes threads into trees.
type summing struct {
	run           *trace.Run
	owners        team.Threads
	things        *things
	threadsAtWork int
}

// leastAsked is how many threads at least say first how many points fit.
const leastAsked = 8

// fit takes all threads in with as many points as there is room for, which some of them say first: most often all do
// the same. Others never make it more. It is collective.
func (x *summing) fit(trees []tree, limits phase.Limits, out *Instances) error {
	every := max(1, len(x.run.Threads)/leastAsked)
	for {
		if every == 1 {
			out.passes++
		}
		sums, err := x.sum(trees, limits, every)
		if err != nil {
			return err
		}
		switch fits := sums <= limits.Single || limits.Points <= leastPoints; {
		case !fits:
			limits.Points = fitting(trees, limits.Single, limits.Points)
		case every == 1:
			return nil
		}
		every = 1
	}
}

// sum takes each such thread in, and returns how many sums there are.
func (x *summing) sum(trees []tree, limits phase.Limits, every int) (sums int, err error) {
	for i := range trees {
		t := &trees[i]
		t.sums = phase.NewInstances(t.counts, limits)
		has := func(i int) bool { return i%every == 0 && t.phases.has(x.run, x.owners, i) }
		var here []*phase.Timeline
		for i := range t.phases.lines {
			if has(i) {
				here = append(here, &t.phases.lines[i])
			}
		}
		t.sums.Expect(here)
		each(x.run, x.threadsAtWork, func(i int) {
			if !has(i) {
				return
			}
			t.phases.with(i, func(list []phase.Interval) {
				t.sums.Add(int32(i), &t.phases.lines[i], list, &t.phases.records[i], x.things.of(&x.run.Threads[i]))
			})
		})
		if err := t.sums.Reduce(x.owners); err != nil {
			return 0, err
		}
		sums += t.sums.Len()
	}
	return sums, nil
}

// counts are by path the largest number of instances that a thread has. It is collective.
func (p *Phases) counts(run *trace.Run, owners team.Threads) ([]int64, error) {
	counts := make([]int64, p.Paths.Len())
	for i := range p.lines {
		if p.has(run, owners, i) {
			p.lines[i].Counts(counts)
		}
	}
	return counts, owners.AllReduce(counts, team.Max)
}

// iterations are those of all phases in which they were found, as phases that the number of these names.
func (p *Phases) iterations(run *trace.Run, owners team.Threads, found []period.Phase, threadsAtWork int) (*Phases, error) {
	n := len(run.Threads)
	looped := &Phases{
		lines: make([]phase.Timeline, n), records: make([]phase.Records, n),
		intervals: func(i int, to []phase.Interval) []phase.Interval { return iterationsOf(&run.Threads[i], i, found, to) },
	}
	errs := make([]error, n)
	each(run, threadsAtWork, func(i int) {
		if !p.has(run, owners, i) {
			return
		}
		t := &run.Threads[i]
		looped.records[i] = p.records[i]
		looped.records[i].CountsIn = nil
		looped.with(i, func(list []phase.Interval) { looped.lines[i], errs[i] = phase.Lay(t.BeginNS, t.EndNS, list) })
	})
	if err := team.Explain(owners, errors.Join(errs...)); err != nil {
		return nil, err
	}
	var err error
	looped.Paths, err = phase.Number(looped.lines, owners)
	return looped, err
}

// iterationsOf are the iterations of a thread: from the begin of the burst with which one begins to that of the next
// one; the last ends where its phase does, with the calls behind its last burst. One that the thread lacks is left out.
func iterationsOf(t *trace.Thread, number int, found []period.Phase, list []phase.Interval) []phase.Interval {
	beginNS := func(burst int32) int64 {
		if int(burst) < t.Bursts.Len() {
			return t.Bursts.StartNS[burst]
		}
		return t.EndNS
	}
	for k := range found {
		begins := found[k].Threads[number].Begins
		for i := 0; i+1 < len(begins); i++ {
			if begins[i] < begins[i+1] {
				list = append(list, phase.Interval{Name: uint32(k), BeginNS: beginNS(begins[i]), EndNS: beginNS(begins[i+1]), Number: int32(i)})
			}
		}
	}
	return list
}

// things are what threads do in an instance: besides the instance itself, pauses and what is not recorded, the
// functions that they call and the kinds of their bursts, which are labels like those of clusters.
type things struct {
	count     int
	functions []string
	function  []int // of each call path
	label     int   // thing of label LabelMissing; the others follow
}

// The first things.
const (
	thingPaused = iota + 1
	thingUnrecorded
	thingFunctions
)

// thingsOf is collective: it takes the labels of all threads.
func thingsOf(run *trace.Run, owners team.Threads) (*things, error) {
	x := &things{function: make([]int, len(run.CallPaths))}
	for i := range run.CallPaths {
		x.functions = append(x.functions, run.CallPaths[i].Function)
	}
	slices.Sort(x.functions)
	x.functions = slices.Compact(x.functions)
	for i := range run.CallPaths {
		k, _ := slices.BinarySearch(x.functions, run.CallPaths[i].Function)
		x.function[i] = thingFunctions + k
	}
	x.label = thingFunctions + len(x.functions)
	most := []int64{0}
	for i := range run.Threads {
		for _, label := range run.Threads[i].Bursts.Kinds() {
			most[0] = max(most[0], int64(label))
		}
	}
	err := owners.AllReduce(most, team.Max)
	x.count = x.label + int(most[0]) - int(trace.LabelMissing) + 1
	return x, err
}

// of says what a thread's records are.
func (x *things) of(t *trace.Thread) func(what phase.What, record int32) int {
	kinds := t.Bursts.Kinds()
	return func(what phase.What, record int32) int {
		switch what {
		case phase.Call:
			return x.function[t.Calls.Path[record]]
		case phase.Burst:
			return x.label + int(kinds[record]-trace.LabelMissing)
		case phase.Paused:
			return thingPaused
		}
		return thingUnrecorded
	}
}

// describe says in a row what a thing is.
func (x *things) describe(thing int, r *parquet.InstanceRow) {
	switch {
	case thing == phase.Whole:
		r.What = parquet.InstanceWhole
	case thing == thingPaused:
		r.What = parquet.InstancePaused
	case thing == thingUnrecorded:
		r.What = parquet.InstanceUnrecorded
	case thing < x.label:
		r.What, r.Function = parquet.InstanceMPI, x.functions[thing-thingFunctions]
	default:
		r.What, r.Cluster = parquet.InstanceComputation, int32(thing-x.label)+trace.LabelMissing
	}
}
