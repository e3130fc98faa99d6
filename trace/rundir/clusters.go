package rundir

import (
	"fmt"
	"math"

	"moriens/trace"
	"moriens/trace/palette"
)

// Clusters is clusters.json. docs/format/clusters.md gives each field's unit.
type Clusters struct {
	Format        int           `json:"format"`
	Algorithm     string        `json:"algorithm"` // e.g. "dbscan"
	Dimensions    []Dimension   `json:"dimensions"`
	By            string        `json:"by"`  // "none", or "calls": each pair of call paths apart
	How           string        `json:"how"` // where Eps and MinPts came from: "knee of the k-distance, …" or "given"
	Eps           []Number      `json:"eps"` // every Eps of the steps up to the answer, ascending
	Resolution    Number        `json:"resolution"`
	MinPts        string        `json:"min_pts"` // the rule, or the number given
	Normalisation string        `json:"normalisation"`
	Score         Number        `json:"score"` // of all clusters and noise, 0–1; null = not defined
	NoiseScore    Number        `json:"noise_score"`
	Total         Shares        `json:"total"`
	Groups        []Group       `json:"groups"`
	Clusters      []Cluster     `json:"clusters"`
	Refinement    Refinement    `json:"refinement"`
	Phases        []PhaseBursts `json:"phases"`
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
	Before   string `json:"before"` // call path, empty with By "none"
	After    string `json:"after"`
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

// A Cluster is trace.Cluster with its call paths written out.
type Cluster struct {
	ID       int32         `json:"id"`
	Colour   string        `json:"colour"` // "#rrggbb", the one of every picture and of trace.pcf
	Bursts   int           `json:"bursts"`
	Seconds  Number        `json:"seconds"`
	Share    Number        `json:"share"`
	MeanNS   Number        `json:"mean_ns"`
	StdNS    Number        `json:"std_ns"`
	Eps      Number        `json:"eps"`
	MinPts   int           `json:"min_pts"`
	Rare     bool          `json:"rare"`
	Score    Number        `json:"score"` // null = not defined
	Before   []CallPath    `json:"before"`
	After    []CallPath    `json:"after"`
	Counters []CounterStat `json:"counters"`
}

// A CallPath is one call path and how many bursts of the cluster touch it.
type CallPath struct {
	Name     string  `json:"name"` // trace.Run.Names
	Function string  `json:"function"`
	Bursts   int     `json:"bursts"`
	Frames   []Frame `json:"frames"` // innermost first
}

// A Frame is a return address: the file, its build id, and the offset from its load address; and where its call is in the source.
type Frame struct {
	Module  string `json:"module"`
	BuildID string `json:"build_id"`
	Offset  string `json:"offset"` // hexadecimal: a JSON number loses bits beyond 2^53

	Function string `json:"function"` // demangled; empty = unknown
	File     string `json:"file"`     // source file; empty = unknown
	Line     int    `json:"line"`     // 0 = unknown
}

// A CounterStat is a counter over the bursts of a cluster.
type CounterStat struct {
	Name string `json:"name"`
	Mean Number `json:"mean"`
	Std  Number `json:"std"` // population
}

// Describe fills in the clusters and the totals from the run.
func (c *Clusters) Describe(run *trace.Run) {
	t := tally(run)
	c.Total = Shares{
		Bursts: t.bursts, Seconds: seconds(t.timeNS),
		Clustered: share(t.clusterNS, t.timeNS), ClusteredBursts: t.clustered,
		Noise: share(t.noiseNS, t.timeNS), NoiseBursts: t.noise,
		Filtered: share(t.filteredNS, t.timeNS), FilteredBursts: t.filtered,
		Missing: share(t.missingNS, t.timeNS), MissingBursts: t.missing,
	}
	c.Phases = describePhaseBursts(run)
	c.Clusters = make([]Cluster, len(run.Clusters))
	names := run.Names()
	for i := range run.Clusters {
		c.Clusters[i] = describeCluster(run, &run.Clusters[i], names)
	}
}

func describeCluster(run *trace.Run, x *trace.Cluster, names []string) Cluster {
	d := Cluster{
		ID: x.ID, Colour: palette.Cluster(x.ID).Hex(), Bursts: x.Bursts, Seconds: seconds(x.TimeNS), Share: Number(x.Share),
		MeanNS: Number(x.MeanNS), StdNS: Number(x.StdNS), Eps: Number(x.Eps), MinPts: x.MinPts, Rare: x.Rare, Score: Number(x.Score),
		Before: describePaths(run, x.Before, names), After: describePaths(run, x.After, names), Counters: []CounterStat{},
	}
	if x.Score == 0 {
		d.Score = Number(math.NaN())
	}
	for k := range min(len(x.CounterMean), len(x.CounterStd), len(run.Counters)) {
		d.Counters = append(d.Counters, CounterStat{run.Counters[k].Name, Number(x.CounterMean[k]), Number(x.CounterStd[k])})
	}
	return d
}

func describePaths(run *trace.Run, counts []trace.PathCount, names []string) []CallPath {
	paths := make([]CallPath, len(counts))
	for i, n := range counts {
		p := run.CallPaths[n.Path]
		paths[i] = CallPath{Name: names[n.Path], Function: p.Function, Bursts: n.Bursts, Frames: []Frame{}}
		for _, f := range p.Frames {
			paths[i].Frames = append(paths[i].Frames, Frame{f.Module, f.BuildID, fmt.Sprintf("%#x", f.Offset), f.Function, f.File, f.Line})
		}
	}
	return paths
}
