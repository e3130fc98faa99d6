// Package grouping groups the bursts of a run into clusters: the clusters that `moriens run` shows while a job runs,
// and those that it and `moriens analyze` report at the end.
//
// In come columns over all bursts of a run: durations in nanoseconds, counters, and the call paths around each burst.
// Bursts that lack data or are too short are set aside (package space). The others are split by call paths where
// requested, and every group is clustered (package dbscan) with its own Eps. Where the thread of each burst is known,
// Eps is refined by how far the threads do the same (package refine). Out come a label per burst, in the input's order,
// and descriptions of clusters and groups. The package never changes its input. The answer does not depend on the
// number of workers nor, up to that order and the rounding of means, on the order of the bursts. With two and more
// dimensions and over dbscan.DefaultQueries bursts in a group Eps comes from a sample, which may depend on their order.
//
// The threads may be spread over a team, each member with the columns of its own threads. The bursts of a large group
// then stay where they are, and the members cluster them together; those of a small one are sent to one member (a
// coordinate of 8 bytes per dimension, and 8 of duration). The answer equals that of one process with the columns of
// all threads, bit by bit.
//
// The automatic density of a group of n bursts: MinPts is the largest of 4, a quarter of the job's threads, and n/200;
// it is halved until it is below the size of the kinds of nearly all bursts, where that is known. Eps is the knee of
// the curve of distances to the MinPts-th neighbour (González, Huck, Giménez, Labarta, IPDPSW'12), but not below a
// resolution: on a real machine the knee alone follows the noise and splits equal computations. Kinds of bursts that
// are too rare for n/200, but have as large a share of the time, are found in the noise afterwards.
package grouping

import (
	"errors"
	"fmt"
	"math"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/team"
)

// Labels of bursts that are in no cluster; clusters are 1, 2, … (the values of trace.Label…).
const (
	LabelNoise    int32 = -1 // clustered, but in no dense region
	LabelFiltered int32 = -2 // left out by the filter
	LabelMissing  int32 = -3 // lacks data that a dimension needs
)

// Bursts are the columns over bursts. Before and After are the ids of the call paths of the MPI calls
// round a burst; both may be nil under ByNone.
type Bursts struct {
	space.Columns
	Before, After []uint32 // call paths round each
	// Places are by call path what counts of it: bursts between the same of these are alike. nil = the path itself.
	Places []uint32
	// ThreadEnds says for each thread where its bursts end, which are together and in time order; nil where
	// that is not known, and then there is no score and no refinement. Threads of other members have none.
	ThreadEnds []int
	// Anchors are, by thread, the events between its bursts that other threads share; nil = none are known.
	Anchors [][]sequence.Anchor
	// Gaps are, by thread and ascending, the bursts before which something was lost, counting the thread's own; nil = none
	// were.
	Gaps [][]int32
	// Nodes are, by thread, the host that it ran on; nil = all ran on one.
	Nodes []int32
}

func (b *Bursts) before(row int32) uint32 { return b.place(b.Before[row]) }
func (b *Bursts) after(row int32) uint32  { return b.place(b.After[row]) }

func (b *Bursts) place(path uint32) uint32 {
	if b.Places == nil {
		return path
	}
	return b.Places[path]
}

// Between are the places round a burst.
func (b *Bursts) Between(row int) (before, after uint32) {
	return b.before(int32(row)), b.after(int32(row))
}

// By says which bursts are clustered together.
type By uint8

// The ways to split bursts.
const (
	ByCalls By = iota // those between the same pair of call paths
	ByNone            // all
	ByAuto            // what Options.Choose finds best; Compute does not take it
)

func (b By) String() string {
	if b == ByNone {
		return "none"
	}
	return "calls"
}

// ParseBy reads "calls" or "none".
func ParseBy(s string) (By, error) {
	for _, b := range []By{ByCalls, ByNone} {
		if s == b.String() {
			return b, nil
		}
	}
	return 0, fmt.Errorf("%q: want calls or none", s)
}

// KindsBy says who decides which clusters are one kind of computation.
type KindsBy uint8

// Who decides that.
const (
	KindsByOrder   KindsBy = iota // what comes before, after and on other ranks
	KindsByDensity                // density alone: each cluster is a kind
	// KindsByScore has the score of the refinement choose clusters, as it does for micro-cells: to compare with these.
	// Each cluster is a kind.
	KindsByScore
)

func (k KindsBy) String() string {
	return [...]string{"order", "density", "score"}[k]
}

// ParseKinds reads "order" or "density".
func ParseKinds(s string) (KindsBy, error) {
	for _, k := range []KindsBy{KindsByOrder, KindsByDensity} {
		if s == k.String() {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q: want order or density", s)
}

// Options of a clustering. With Dims and Filter.Auto set, all else zero is what `run` does without
// counters.
type Options struct {
	Dims []space.Dim // nil until Choose
	// AsGiven has Choose leave Dims that need an absent counter alone, so that Compute refuses them. A job
	// that has run does not run again; a trace can be read again with other dimensions.
	AsGiven bool
	By      By
	// Normalise scales every coordinate to 0 … 1 over the bursts that are clustered (space.Normalise), so that Eps is a
	// part of their range, where one density (Fixed) or ClusteringSuite's rules (Strict) decide. Kinds take coordinates as
	// they are, but plain durations and counters, whose unit says nothing of their noise, as parts of their range.
	Normalise bool
	// An automatic filter does not cut through a kind of bursts: those that it would leave out stay where
	// durations of the same group, in steps of a tenth, connect them with bursts that it keeps.
	Filter space.Filter

	// Fixed, if not nil, is the density for all groups (--dbscan).
	Fixed *Density
	// MinPts, if not 0, replaces the automatic MinPts of every group (--min-points).
	MinPts int
	// Resolution is the floor of an automatic Eps, in units of the coordinates: bursts nearer than
	// this are not distinguished (--resolution). 0 = DefaultResolution of the dimensions, and none with Normalise;
	// negative = none, but for that of the cells by which kinds are found.
	Resolution float64
	// Kinds says who decides which clusters are one kind (--kinds), unless Fixed or Strict do.
	Kinds KindsBy
	// Unaligned leaves durations of threads that take longer in everything as they are (--align-ranks=false), Unstrated
	// groups whole whose bursts differ by what surrounds them (--strata=false).
	Unaligned, Unstrated bool
	// Crowded says that ranks shared their cores: kinds are distinguished by order alone, for a machine makes two modes of
	// one.
	Crowded bool `json:"-"`
	// Freeze is the score from which on a refinement leaves a cluster as it is (--freeze). 0 = refine.DefaultFreeze.
	Freeze float64
	// Strict refines by ClusteringSuite's rules (--strict): MinPts is max(2, threads/4), there is no default
	// resolution and no looking for rare kinds, and the last step is the answer.
	Strict bool

	// Stop is asked between the steps of the refinement; true ends it with those that there are, and a warning says so.
	// nil = never.
	Stop func() bool `json:"-"`
	// Halt is asked again and again, by several goroutines at once; once it is true the answer is what there is: the steps
	// that are done, or the first one without a score; an ErrHalted where there is not even that. nil = never.
	Halt func() bool `json:"-"`
	// Sample, if above 0, saves time: about that many bursts are clustered, by one density for each group, and all others
	// get the clusters of these.
	Sample int `json:"-"`
	// Fallback, if above 0, is Sample from when on Halt has been true before there were clusters of all bursts.
	Fallback int `json:"-"`

	// Team says which threads' bursts are here: Bursts has none of others, but their ThreadEnds, and Anchors or nil as all
	// have. The zero Team has all here. All other options are the same at all members, but for Stop and Halt, which are
	// for all what they are at one, and Workers.
	Team team.Threads `json:"-"`

	JobThreads int // threads of the job that is measured; 0 = unknown
	Workers    int // threads to compute with; below 1 means 1
}

// Density is what DBSCAN asks of a neighbourhood.
type Density struct {
	Eps    float64 // in units of the coordinates, ≥ 0
	MinPts int     // ≥ 1
}

// EpsFrom says where a group's Eps comes from.
type EpsFrom uint8

// Where an Eps comes from.
const (
	FromKnee       EpsFrom = iota // the knee of the group's k-distance curve
	FromFloor                     // the resolution: the knee is below it, or there is none
	FromFixed                     // Options.Fixed
	FromRefinement                // a step of the refinement above the knee
	FromNone                      // nowhere: the group has fewer bursts than MinPts and is one rare cluster
	FromBasins                    // several basins of density, each with an Eps of its own: the least of these
)

func (f EpsFrom) String() string {
	return [...]string{"knee", "floor", "fixed", "refinement", "none", "basins"}[f]
}

// A Result is the clustering of all bursts: the same at all members of a team, but for what there is per burst, which
// each has for its own threads.
type Result struct {
	Labels []int32 // per burst: a Cluster's ID or one of the Label constants
	// Kinds are, per burst, the kind of computation that it is: the ID of the cluster that stands for the kind, or one of
	// the Label constants. It differs from the label where the burst's cluster is a variant, and where the burst is a
	// disturbed one of another cluster's kind: what comes before, after and on other ranks says so.
	Kinds    []int32
	Lineage  []uint32  // per burst: index into Tree.Lineages
	Clusters []Cluster // by total time, descending; Clusters[i].ID is i+1
	Groups   []Group   // by total time, descending; ties by Before, After
	// Selection says what was set aside, and the duration filter that was found.
	Selection *space.Selection
	TotalNS   int64 // computing time: the durations of all bursts, those set aside included
	Noise     Tally // bursts that were clustered and are in no cluster
	Clustered Tally // bursts in a cluster
	// Score says how far the threads do the same, 0–1, of all clusters and of noise; NaN where that is not defined: with
	// fewer than two threads, or where nothing says which they are.
	Score, NoiseScore float64
	// Shuffled is the score that the threads would have if each did what it does in an order drawn at random, 0–1: what
	// the score says beyond this is due to order. NaN where there is no score, or clusters are not found by kinds.
	Shuffled float64
	// Predicted is the mean of the kinds' Predicted, weighted by their time; NaN where none has one.
	Predicted float64
	// Speed is by thread how many times as long as the others it takes for everything; coordinates were compared after
	// dividing by that. nil = not compared.
	Speed      []float64
	Tree       *refine.Tree // how the clusters were found, step by step; its groups are Groups
	Basins     []Basin      // of density, by group; nil where clusters are not found by kinds
	Joins      []Join       // that made one kind of two clusters, in their order
	Resolution float64      // the least Eps that is chosen by itself, in units of the coordinates
	// Stopped says that the refinement has ended before its last step, Unscored that there was no time for the score, so
	// that it is not defined.
	Stopped, Unscored bool
	Sample            *Sample // of which the clusters are; nil = of all bursts
	// Warnings are for the user, each a sentence without a full stop.
	Warnings []string
}

// A Tally counts bursts.
type Tally struct {
	Bursts int
	TimeNS int64
	Share  float64 // of Result.TotalNS, 0–1
}

// A Cluster is a set of bursts that behave alike.
type Cluster struct {
	ID     int32 // 1, 2, … by total time, descending; ties by Before, After of its group, then by smallest core point
	Group  int   // index into Result.Groups
	Bursts int
	TimeNS int64   // total duration
	Share  float64 // of Result.TotalNS, 0–1
	MeanNS float64
	StdNS  float64 // population standard deviation of the durations
	Eps    float64 // that it was found with; 0 in a rare cluster
	MinPts int
	// Kind is the ID of the cluster that stands for its kind: its own, or that of the cluster in whose place it comes by
	// chance, of which it is a variant.
	Kind int32
	Kinship
	Rare  bool    // its group has fewer bursts than MinPts: one cluster without a density test
	Score float64 // as Result.Score
	Node  int32   // ID in the chosen level of Result.Tree
	// Call paths round its bursts, most frequent first, then by id. Empty where the input has none.
	Before, After []PathCount
	// Mean and population standard deviation over the bursts where the counter was read, one per
	// counter column; NaN where it never was.
	CounterMean, CounterStd []float64
}

// A Kinship is what is known of a cluster as a kind of computation. It is zero where clusters are not found by kinds.
type Kinship struct {
	MedianNS float64 // of the durations, right to a thousandth; NaN = not measured
	Core     float64 // half the quartile range of the durations over their median
	// Predicted is how far the place of a burst predicts whether it is of this kind or of the next one, 0–1: the least of
	// the nearest neighbours'. NaN where the kind has none, and in a variant.
	Predicted float64
	Valley    float64     // the density between this and the next cluster over that of its peak, 0–1; 0 where they do not meet, NaN for the only cluster of its group
	By        kinds.Cause // what distinguishes it from the nearest other kind, or makes it a variant
	Other     int32       // the ID of that kind, or of the cluster in whose place a variant comes; 0 = none
	Why       string      // both, in words
	// Whole are all bursts of the kind, whatever their cluster. Disturbed are those that are longer than its median, and
	// are of the kind by their place, not by density; ExtraNS is how much longer than the median all of these together
	// took. Of the cluster that stands for the kind; 0 in its variants.
	Whole     Tally
	Disturbed Tally
	ExtraNS   int64
}

// A PathCount says how many bursts touch a call path.
type PathCount struct {
	Path   uint32
	Bursts int
}

// A Group is a set of bursts that were clustered together.
type Group struct {
	Before, After uint32 // 0 under ByNone
	Bursts        int
	TimeNS        int64
	Eps           float64 // 0 if From is FromNone
	MinPts        int
	From          EpsFrom
	Knee          float64 // Eps at the knee of its k-distance curve; 0 if there is none or it was not sought
	Clusters      int
	NoiseBursts   int
}

// DefaultResolution is the floor of an automatic Eps for the dimensions, the largest of theirs: 0.1
// (ln units, that is 10 %) for the log of a measured duration, 0.02 for the log of anything else and
// for plain ratios, 0 for a plain duration or counter, whose unit says nothing of its noise.
// A neighbourhood is a ball, the same in all dimensions, so that a smaller floor would let the noise
// of the noisiest dimension split clusters.
func DefaultResolution(dims []space.Dim) float64 {
	var resolution float64
	for _, d := range dims {
		resolution = max(resolution, resolutionOf(d))
	}
	return resolution
}

// Floor is the least Eps that is chosen by itself. Dims must be set.
func (o *Options) Floor() float64 {
	if o.Resolution == 0 && !o.normalised() && !o.Strict {
		return DefaultResolution(o.Dims)
	}
	return max(0, o.Resolution)
}

// normalised reports whether coordinates are scaled.
func (o *Options) normalised() bool { return o.Normalise && !o.byKinds() }

func resolutionOf(d space.Dim) float64 {
	const ofDuration, ofOthers = .1, .02
	switch {
	case d.Scale == space.Log && (d.Num == space.Duration || d.Den == space.Duration):
		return ofDuration
	case d.Scale == space.Log || d.Den != "":
		return ofOthers
	}
	return 0
}

// minPts is the MinPts of a group.
func (o *Options) minPts(bursts int) int {
	switch {
	case o.Fixed != nil:
		return o.Fixed.MinPts
	case o.MinPts != 0:
		return o.MinPts
	case o.Strict:
		return max(2, o.JobThreads/4)
	}
	return max(4, o.JobThreads/4, bursts/200)
}

// Check reports whether the options are in their ranges, whatever the bursts are.
func (o *Options) Check() error {
	switch {
	case o.By > ByNone:
		return fmt.Errorf("grouping: no way %d to split bursts", o.By)
	case o.Fixed != nil && o.Strict:
		return errors.New("grouping: a fixed density and a strict refinement beside it: want one of them")
	case math.IsNaN(o.Freeze) || o.Freeze < 0 || o.Freeze > 1:
		return fmt.Errorf("grouping: freezing threshold %v: want a number from 0 to 1", o.Freeze)
	case o.Fixed != nil && o.MinPts != 0:
		return fmt.Errorf("grouping: a fixed density and MinPts %d beside it: want one of them", o.MinPts)
	case o.Fixed != nil && (math.IsNaN(o.Fixed.Eps) || o.Fixed.Eps < 0):
		return fmt.Errorf("grouping: Eps %v: want a number ≥ 0", o.Fixed.Eps)
	case o.Fixed != nil && o.Fixed.MinPts < 1:
		return fmt.Errorf("grouping: MinPts %d: want at least 1", o.Fixed.MinPts)
	case o.MinPts < 0:
		return fmt.Errorf("grouping: MinPts %d: want at least 1", o.MinPts)
	case math.IsNaN(o.Resolution):
		return fmt.Errorf("grouping: resolution %v: want a number", o.Resolution)
	case o.Sample < 0 || o.Fallback < 0:
		return fmt.Errorf("grouping: a sample of %d bursts", min(o.Sample, o.Fallback))
	case o.JobThreads < 0:
		return fmt.Errorf("grouping: a job of %d threads", o.JobThreads)
	}
	return nil
}

func (o *Options) check(b *Bursts) error {
	if err := o.Check(); err != nil {
		return err
	}
	switch n := b.Len(); {
	case len(b.Before) != len(b.After):
		return fmt.Errorf("grouping: %d call paths before bursts, %d after", len(b.Before), len(b.After))
	case len(b.Before) != n && (o.By == ByCalls || b.Before != nil):
		return fmt.Errorf("grouping: %d call paths for %d bursts", len(b.Before), n)
	}
	return o.checkTeam(b)
}

// checkTeam reports whether the bursts are of threads of this member.
func (o *Options) checkTeam(b *Bursts) error {
	if o.Team.Size() == 1 {
		return nil
	}
	if b.ThreadEnds == nil {
		return errors.New("grouping: several members need to know their threads")
	}
	if err := o.Team.Check(len(b.ThreadEnds)); err != nil {
		return fmt.Errorf("grouping: %w", err)
	}
	begin := 0
	for i, end := range b.ThreadEnds {
		if end < begin || end > b.Len() || end > begin && !o.Team.Mine(i) {
			return fmt.Errorf("grouping: the bursts of thread %d, which is at member %d, end at %d, those before it at %d, all at %d", i, o.Team.Owner(i), end, begin, b.Len())
		}
		begin = end
	}
	if begin != b.Len() {
		return fmt.Errorf("grouping: the last thread ends at burst %d of %d", begin, b.Len())
	}
	return nil
}
