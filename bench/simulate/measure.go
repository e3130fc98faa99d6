package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"

	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/bench/timing"
	"moriens/collector/cells"
	moriensv1 "moriens/proto/moriens/v1"
)

// A stage is what one part of the end took.
type stage struct {
	Name  string
	Asked int     // labellings, splits, surveys: times that the agents were asked
	CPU   float64 // seconds of processor time of the Coordinator, including its work as answers arrive
	work
	Way cells.Way
}

// An end is the cost of the end of a run, and its results.
type end struct {
	Job    job
	Side   float64
	Bursts int
	Stages []stage
	// Of the run.
	Threads, Groups, Units, Places, Segments, Distinct int
	UnitsOfAgent, MostUnitsOfAgent                     int // median, most
	AgentBytes, MostAgentBytes                         int64
	Resident, Peak, Heap                               float64 // bytes: before the end, at most, and what the Coordinator and the result hold after it
	Clusters                                           int
	Score                                              float64
	Certificate                                        microcell.Certificate
	Warnings                                           []string
	Kinds, Found                                       int // planted kinds, and those that are a cluster of their own
	Lost                                               []string
	Equal                                              string // what comparing with all bursts has shown; empty = it was not asked for
	Differ                                             int    // labels that differ there, at least one if anything does
	SameEps                                            bool   // Eps and MinPts of all groups are the same there
}

// A run is one at work.
type run struct {
	job
	options     *options
	crowd       *crowd
	coordinator *cells.Coordinator
	end         *end
	latest      float64 // processor time when the present stage began
	traffic     cells.Way
	sums        map[int32]int64 // bursts by label, of the agents' sums
	dims        []space.Dim
}

// byFunction numbers call paths as a collector does: by function and frames, which here are the same in all processes.
type byFunction struct{}

func (byFunction) Path(_ uint64, function, path uint32) uint32 { return number(function, path) }

func number(function, path uint32) uint32 { return function<<16 | path }

// measure has agents keep a job's bursts, and ends the run.
func measure(j job, o *options) (*end, error) {
	r := &run{job: j, options: o, end: &end{Job: j, Bursts: j.all()}, sums: make(map[int32]int64)}
	var err error
	if r.crowd, err = newCrowd(j, o.config()); err != nil {
		return nil, err
	}
	runtime.GC()
	before, err := timing.UsageOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	heap := heapBytes()
	if err := r.profiled(); err != nil {
		return nil, err
	}
	after, err := timing.UsageOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	runtime.GC()
	r.end.Resident, r.end.Peak, r.end.Heap = before.Resident, after.Peak, heapBytes()-heap
	runtime.KeepAlive(r.coordinator)
	r.held()
	return r.end, nil
}

func heapBytes() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// held describes what agents hold.
func (r *run) held() {
	var units []int
	var bytes []int64
	for _, k := range r.crowd.stores {
		s := k.Stats()
		units, bytes = append(units, s.Units), append(bytes, s.Bytes)
	}
	slices.Sort(units)
	slices.Sort(bytes)
	r.end.UnitsOfAgent, r.end.MostUnitsOfAgent = units[(len(units)-1)/2], units[len(units)-1]
	r.end.AgentBytes, r.end.MostAgentBytes = bytes[(len(bytes)-1)/2], bytes[len(bytes)-1]
}

// begin begins a stage: what was done until now is of the one before.
func (r *run) begin() (err error) {
	r.latest, err = timing.CPU()
	return err
}

// took gives a stage what was done since begin.
func (r *run) took(name string, asked int) error {
	now, err := timing.CPU()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.end.Stages, func(s stage) bool { return s.Name == name })
	if i < 0 {
		i = len(r.end.Stages)
		r.end.Stages = append(r.end.Stages, stage{Name: name})
	}
	s := &r.end.Stages[i]
	w := r.crowd.taken()
	s.CPU += now - r.latest - w.Seconds - w.CompressSeconds
	s.add(w)
	s.Asked += asked
	traffic := r.coordinator.Traffic().All()
	s.Way.Down.Messages += traffic.Down.Messages - r.traffic.Down.Messages
	s.Way.Down.Bytes += traffic.Down.Bytes - r.traffic.Down.Bytes
	s.Way.Up.Messages += traffic.Up.Messages - r.traffic.Up.Messages
	s.Way.Up.Bytes += traffic.Up.Bytes - r.traffic.Up.Bytes
	r.traffic = traffic
	r.latest = now
	return nil
}

// profiled is all, with a profile of the processor if that is wanted.
func (r *run) profiled() error {
	if r.options.profile == "" {
		return r.all()
	}
	f, err := os.Create(r.options.profile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return r.all()
}

// all is the end: what the collector does of it.
func (r *run) all() error {
	ctx := context.Background()
	r.coordinator = cells.New(r.crowd, slog.New(slog.DiscardHandler))
	if err := r.begin(); err != nil {
		return err
	}
	set, err := r.coordinator.Survey(ctx, byFunction{})
	if err != nil {
		return err
	}
	if left := r.coordinator.Left(); len(left) > 0 {
		return fmt.Errorf("agent %d is left out: %w", left[0].Agent, left[0].Err)
	}
	if err := r.took("survey", 1); err != nil {
		return err
	}
	r.dims = set.Dims
	set.MostSplit = r.options.split
	result, err := microcell.Compute(*set, &source{run: r, from: r.coordinator.Source(ctx, runtime.NumCPU())}, r.partition())
	if err != nil {
		return err
	}
	if err := r.took("cluster", 0); err != nil {
		return err
	}
	if err := r.coordinator.Label(ctx, result.Labels); err != nil {
		return err
	}
	if err := r.took("label", 1); err != nil {
		return err
	}
	if err := r.coordinator.Sums(ctx, r.addUp); err != nil {
		return err
	}
	if err := r.took("sums", 1); err != nil {
		return err
	}
	r.describe(set, result)
	return r.check(result)
}

// partition is how a run's bursts are clustered by default; where all bursts are clustered too, without the automatic
// filter, which goes by the mean of a unit here.
func (r *run) partition() grouping.Options {
	o := grouping.Options{Filter: space.Filter{Auto: !r.options.equal}, JobThreads: r.ranks(), Workers: runtime.NumCPU()}
	if r.Counters {
		o.By = grouping.ByNone
	}
	if r.options.eps > 0 {
		o.Fixed = &grouping.Density{Eps: r.options.eps, MinPts: r.options.minPts}
	}
	return o
}

// addUp counts bursts by label.
func (r *run) addUp(_ uint64, m *moriensv1.CellsSums) error {
	for i, call := range m.Call {
		if !call {
			r.sums[m.Label[i]] += int64(m.Count[i])
		}
	}
	return nil
}

// source passes on what package microcell asks, and says what it took.
type source struct {
	*run
	from microcell.Source
}

func (s *source) Score(labels []int32, count int) (*sequence.Score, error) {
	if err := s.took("cluster", 0); err != nil {
		return nil, err
	}
	score, err := s.from.Score(labels, count)
	if err != nil {
		return nil, err
	}
	s.end.Segments, s.end.Distinct = score.Segments, max(s.end.Distinct, score.Distinct)
	return score, s.took("score", 1)
}

func (s *source) Split(units []int32) ([][]microcell.Unit, error) {
	if err := s.took("cluster", 0); err != nil {
		return nil, err
	}
	places, err := s.from.Split(units)
	if err != nil {
		return nil, err
	}
	return places, s.took("split", 1)
}

// describe describes the results.
func (r *run) describe(set *microcell.Set, result *microcell.Result) {
	e := r.end
	e.Side, e.Threads, e.Groups, e.Units, e.Places = set.Side, set.Threads, len(set.Groups), len(set.Units), len(result.Units)-len(set.Units)
	e.Clusters, e.Score, e.Certificate, e.Warnings = len(result.Clusters), result.Score, result.Certificate, result.Warnings
}
