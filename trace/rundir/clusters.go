package rundir

import (
	"math"
	"slices"

	"moriens/trace"
	"moriens/trace/palette"
)

// Clusters is clusters.json. docs/format/clusters.md gives each field's unit.
type Clusters struct {
	Format        int           `json:"format"`
	Algorithm     string        `json:"algorithm"` // e.g. "dbscan"
	Dimensions    []Dimension   `json:"dimensions"`
	By            string        `json:"by"`  // "none", or "calls": each pair of call paths apart
	How           string        `json:"how"` // how Eps and MinPts were chosen: "knee of the k-distance, …" or "given"
	Eps           []Number      `json:"eps"` // every Eps of the steps up to the answer, ascending
	Resolution    Number        `json:"resolution"`
	MinPts        string        `json:"min_pts"` // the rule, or the number given
	Normalisation string        `json:"normalisation"`
	Kinds         int           `json:"kinds"`     // of computation, of which clusters are
	Predicted     Number        `json:"predicted"` // mean of the kinds', weighted by their time; null = none has one
	Score         Number        `json:"score"`     // of all clusters and noise, 0–1; null = not defined
	NoiseScore    Number        `json:"noise_score"`
	Shuffled      Number        `json:"shuffled_score"` // what the score were if each thread did what it does in an order drawn at random; null = not known
	Total         Shares        `json:"total"`
	Paths         []CallPath    `json:"call_paths"` // those that groups and clusters name
	Groups        []Group       `json:"groups"`
	Clusters      []Cluster     `json:"clusters"`
	Refinement    Refinement    `json:"refinement"`
	Phases        []PhaseBursts `json:"phases"`

	Cells  *CellsClustering  `json:"cells,omitempty"`  // of micro-cells; nil = the bursts themselves were clustered
	Sample *SampleClustering `json:"sample,omitempty"` // whose clusters they are; nil = of all bursts
}

// A SampleClustering says of which bursts the clusters were found, for lack of time for all.
type SampleClustering struct {
	Bursts   int    `json:"bursts"`         // that were clustered
	Of       int    `json:"of"`             // that were to be
	Assigned Number `json:"assigned_share"` // of these, in a cluster
}

// A Dimension is one axis of the burst space.
type Dimension struct {
	Name  string `json:"name"`  // "duration", a counter, or a ratio of two: "A/B"; IPC
	Scale string `json:"scale"` // "log" (natural logarithm) or "lin"
	Unit  string `json:"unit"`  // of the value before the logarithm
}

// Shares says how the bursts and their time fall; the shares are of the computing time, 0–1, and together 1.
type Shares struct {
	Bursts          int    `json:"bursts"`
	Seconds         Number `json:"seconds"`
	Clustered       Number `json:"clustered_share"`
	Noise           Number `json:"noise_share"`
	Filtered        Number `json:"filtered_share"`
	Missing         Number `json:"missing_share"`
	FilteredBursts  int    `json:"filtered_bursts"`
	MissingBursts   int    `json:"missing_bursts"`
	NoiseBursts     int    `json:"noise_bursts"`
	ClusteredBursts int    `json:"clustered_bursts"`
}

// A Group is a set of bursts that were clustered apart from the others.
type Group struct {
	Before   int    `json:"before"` // index into Clusters.Paths, -1 with By "none"
	After    int    `json:"after"`
	Bursts   int    `json:"bursts"` // filtered and incomplete ones not counted
	Seconds  Number `json:"seconds"`
	Eps      Number `json:"eps"`      // 0 in a rare group
	EpsFrom  string `json:"eps_from"` // knee, floor (the resolution), refinement, fixed, or none in a rare group
	Knee     Number `json:"knee"`     // of the k-distance curve; 0 where there is none or it was not sought
	MinPts   int    `json:"min_pts"`
	Clusters int    `json:"clusters"`
	Noise    int    `json:"noise_bursts"`
	Rare     bool   `json:"rare"`
}

// A Cluster is trace.Cluster in the words of the file.
type Cluster struct {
	ID      int32  `json:"id"`
	Colour  string `json:"colour"` // "#rrggbb", of its kind: the one of every picture and of trace.pcf
	Bursts  int    `json:"bursts"`
	Seconds Number `json:"seconds"`
	Share   Number `json:"share"`
	MeanNS  Number `json:"mean_ns"`
	StdNS   Number `json:"std_ns"`
	Eps     Number `json:"eps"`
	MinPts  int    `json:"min_pts"`
	Rare    bool   `json:"rare"`
	Score   Number `json:"score"` // null = not defined
	Kinship
	*LostSeconds              // nil in a file of an earlier version
	*WaitCosts                // nil where the waits of the whole run are not known
	Before       []PathBursts `json:"before"`
	After        []PathBursts `json:"after"`
	// Whole call paths, the most frequent ones; nil = those of Before and After.
	WholeBefore []PathBursts  `json:"whole_before,omitempty"`
	WholeAfter  []PathBursts  `json:"whole_after,omitempty"`
	Counters    []CounterStat `json:"counters"`
}

// A Kinship is trace.Kinship in the words of the file.
type Kinship struct {
	Kind            int32    `json:"kind"`       // ID of the cluster that stands for the kind
	VariantOf       *int32   `json:"variant_of"` // null = it is a kind of its own
	MedianNS        Number   `json:"median_ns"`  // null, like all below, where clusters were not found by kinds
	Core            Number   `json:"core"`
	Predicted       Number   `json:"predicted"`
	Valley          Number   `json:"valley"`
	DistinctBy      string   `json:"told_by"`   // what distinguishes it from the nearest other kind
	DistinctFrom    *int32   `json:"told_from"` // that kind, or the cluster in whose place a variant comes; null = none
	Why             string   `json:"why"`
	InTime          *Stretch `json:"in_time"`     // where nearly all of its bursts lie; null = all over the run
	KindBursts      int      `json:"kind_bursts"` // all of the kind; 0 in a variant
	KindSeconds     Number   `json:"kind_seconds"`
	DisturbedBursts int      `json:"disturbed_bursts"`
	Disturbed       Number   `json:"disturbed_seconds"`
	Extra           Number   `json:"extra_seconds"`
}

// LostSeconds are what is lost in a cluster.
type LostSeconds struct {
	Lost Number `json:"lost_seconds"` // of efficiency.json; null: not known
}

// WaitCosts are what a cluster costs those that wait, s.
type WaitCosts struct {
	Caused        Number `json:"caused_seconds"`
	Path          Number `json:"path_seconds"`
	PathImbalance Number `json:"path_imbalance_seconds"` // null: not known
}

// takeCosts fills in what clusters cost, as far as that is known.
func (c *Clusters) takeCosts(e *Efficiency, w *Waits) {
	lost, waits := make(map[int32]Number), make(map[int32]WaitCosts)
	if e != nil && len(e.Runs) == 1 {
		for _, x := range e.Runs[0].Clusters {
			lost[x.ID] = x.Lost
		}
	}
	known := w != nil && w.WholeRun != nil
	if known {
		for _, x := range w.Within(WithinMain).Clusters {
			waits[x.Cluster] = WaitCosts{x.Caused, x.Path, x.Imbalance}
		}
	}
	unknown := Number(math.NaN())
	for i := range c.Clusters {
		x := &c.Clusters[i]
		seconds, there := lost[x.ID]
		if !there {
			seconds = unknown
		}
		x.LostSeconds = &LostSeconds{seconds}
		if !known {
			continue
		}
		costs, there := waits[x.ID]
		if !there {
			costs.PathImbalance = unknown // nobody waits for it, and it is not on the path
		}
		x.WaitCosts = &costs
	}
}

// restoreCosts is what takeCosts has filled in; nil where nothing is known.
func (c *Cluster) restoreCosts() *trace.Costs {
	nan := math.NaN()
	x := &trace.Costs{LostNS: nan, CausedNS: nan, PathNS: nan, PathImbalanceNS: nan}
	ns := func(v Number) float64 { return math.Round(float64(v) * 1e9) }
	if c.LostSeconds != nil {
		x.LostNS = ns(c.Lost)
	}
	if c.WaitCosts != nil {
		x.CausedNS, x.PathNS, x.PathImbalanceNS = ns(c.Caused), ns(c.Path), ns(c.PathImbalance)
	}
	if math.IsNaN(x.LostNS) && c.WaitCosts == nil {
		return nil
	}
	return x
}

// A Stretch is a part of the run's time.
type Stretch struct {
	BeginNS int64 `json:"begin_ns"`
	EndNS   int64 `json:"end_ns"`
}

func describeKinship(x *trace.Cluster) Kinship {
	k := Kinship{Kind: x.Kind(), DistinctBy: x.DistinctBy, Why: x.Why, KindBursts: x.KindBursts, KindSeconds: seconds(x.KindNS), DisturbedBursts: x.DisturbedBursts, Disturbed: seconds(x.DisturbedNS), Extra: seconds(x.ExtraNS)}
	if x.VariantOf != 0 {
		k.VariantOf = &x.VariantOf
	}
	if x.DistinctFrom != 0 {
		k.DistinctFrom = &x.DistinctFrom
	}
	if x.InTime != (trace.Stretch{}) {
		k.InTime = &Stretch{x.InTime.BeginNS, x.InTime.EndNS}
	}
	known := func(v float64, known bool) Number {
		if !known {
			v = math.NaN()
		}
		return Number(v)
	}
	k.MedianNS, k.Core = known(x.MedianNS, x.Known()), known(x.Core, x.Known())
	k.Predicted, k.Valley = known(x.Predicted, x.Known() && x.Predicted >= 0), known(x.Valley, x.Known() && x.Valley >= 0)
	return k
}

// restore is what describeKinship has described.
func (k *Kinship) restore() (x trace.Kinship) {
	if !(k.MedianNS > 0) {
		return x
	}
	orNone := func(v Number) float64 {
		if math.IsNaN(float64(v)) {
			return -1
		}
		return float64(v)
	}
	ns := func(v Number) int64 { return int64(math.Round(float64(v) * 1e9)) }
	if k.VariantOf != nil {
		x.VariantOf = *k.VariantOf
	}
	x.MedianNS, x.Core, x.Predicted, x.Valley = float64(k.MedianNS), float64(k.Core), orNone(k.Predicted), orNone(k.Valley)
	x.DistinctBy, x.Why = k.DistinctBy, k.Why
	if k.DistinctFrom != nil {
		x.DistinctFrom = *k.DistinctFrom
	}
	if k.InTime != nil {
		x.InTime = trace.Stretch{BeginNS: k.InTime.BeginNS, EndNS: k.InTime.EndNS}
	}
	x.KindBursts, x.KindNS = k.KindBursts, ns(k.KindSeconds)
	x.DisturbedBursts, x.DisturbedNS, x.ExtraNS = k.DisturbedBursts, ns(k.Disturbed), ns(k.Extra)
	return x
}

// A PathBursts says how many bursts of a cluster touch a call path.
type PathBursts struct {
	Path   int `json:"path"` // index into Clusters.Paths
	Bursts int `json:"bursts"`
}

// A CallPath is one call path.
type CallPath struct {
	Name     string  `json:"name"` // trace.Run.Names
	Function string  `json:"function"`
	Frames   []Frame `json:"frames"` // innermost first
}

// A Frame is a return address: the file, its build id, and the offset from its load address; and where its call is in
// the source.
type Frame struct {
	Module  string `json:"module"`
	BuildID string `json:"build_id"`
	Offset  string `json:"offset"` // hexadecimal: a JSON number loses bits beyond 2^53

	Function string `json:"function"` // demangled; empty = unknown
	File     string `json:"file"`     // source file; empty = unknown
	Line     int    `json:"line"`     // 0 = unknown

	Inlined []FrameScope `json:"inlined,omitempty"` // what the function is inlined into there, outermost first
}

// A FrameScope is a function into which another one is inlined at a line.
type FrameScope struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// A CounterStat is a counter over the bursts of a cluster.
type CounterStat struct {
	Name string `json:"name"`
	Mean Number `json:"mean"`
	Std  Number `json:"std"` // population
}

// describe fills in the clusters and the totals from the run, and from what was counted of it.
func (c *Clusters) describe(run *trace.Run, f *figures) {
	t := &f.Total
	c.Total = Shares{
		Bursts: t.Bursts, Seconds: seconds(t.TimeNS),
		Clustered: share(t.ClusterNS, t.TimeNS), ClusteredBursts: t.Clustered,
		Noise: share(t.NoiseNS, t.TimeNS), NoiseBursts: t.Noise,
		Filtered: share(t.FilteredNS, t.TimeNS), FilteredBursts: t.Filtered,
		Missing: share(t.MissingNS, t.TimeNS), MissingBursts: t.Missing,
	}
	c.Phases = describePhaseBursts(run, f)
	c.Clusters, c.Kinds = make([]Cluster, len(run.Clusters)), 0
	paths := c.PathsOf(run)
	for i := range run.Clusters {
		if c.Clusters[i] = describeCluster(run, &run.Clusters[i], paths); run.Clusters[i].VariantOf == 0 {
			c.Kinds++
		}
	}
}

// mostOf are as many places of calls as there are whole call paths.
func mostOf(places []trace.PathCount) []trace.PathCount {
	return places[:min(len(places), trace.MostPaths)]
}

func describeCluster(run *trace.Run, x *trace.Cluster, paths func(path uint32) int) Cluster {
	d := Cluster{
		ID: x.ID, Colour: palette.Cluster(x.Kind()).Hex(), Bursts: x.Bursts, Seconds: seconds(x.TimeNS), Share: Number(x.Share),
		MeanNS: Number(x.MeanNS), StdNS: Number(x.StdNS), Eps: Number(x.Eps), MinPts: x.MinPts, Rare: x.Rare, Score: Number(x.Score),
		Kinship: describeKinship(x), Before: describePaths(x.Before, paths), After: describePaths(x.After, paths), Counters: []CounterStat{},
	}
	if x.Score == 0 {
		d.Score = Number(math.NaN())
	}
	if !slices.Equal(x.WholeBefore, mostOf(x.Before)) || !slices.Equal(x.WholeAfter, mostOf(x.After)) {
		d.WholeBefore, d.WholeAfter = describePaths(x.WholeBefore, paths), describePaths(x.WholeAfter, paths)
	}
	for k := range min(len(x.CounterMean), len(x.CounterStd), len(run.Counters)) {
		d.Counters = append(d.Counters, CounterStat{run.Counters[k].Name, Number(x.CounterMean[k]), Number(x.CounterStd[k])})
	}
	return d
}

func describePaths(counts []trace.PathCount, paths func(path uint32) int) []PathBursts {
	list := make([]PathBursts, len(counts))
	for i, n := range counts {
		list[i] = PathBursts{paths(n.Path), n.Bursts}
	}
	return list
}

// PathsOf gives call paths of a run, by their numbers there, their places in c.Paths: each is put there when it is
// asked for first. Names distinguish them.
func (c *Clusters) PathsOf(run *trace.Run) func(path uint32) int {
	names := run.Names()
	places := make(map[string]int, len(c.Paths))
	for i := range c.Paths {
		places[c.Paths[i].Name] = i
	}
	return func(path uint32) int {
		name := names[path]
		place, there := places[name]
		if !there {
			place = len(c.Paths)
			places[name] = place
			p := run.CallPaths[path]
			x := CallPath{Name: name, Function: p.Function, Frames: []Frame{}}
			for _, f := range p.Frames {
				frame := Frame{f.Module, f.BuildID, offsetOf(f), f.Function, f.File, f.Line, nil}
				for _, s := range f.Inlined {
					frame.Inlined = append(frame.Inlined, FrameScope{s.Function, s.File, s.Line})
				}
				x.Frames = append(x.Frames, frame)
			}
			c.Paths = append(c.Paths, x)
		}
		return place
	}
}
