// Package microcell clusters the bursts of a run of which only micro-cells are known: the bursts stay on the nodes, and
// one place finds which of them are alike.
//
// In come units: the bursts of one group, that is between the same two call paths where these count, in one small cell
// of the burst space, with their number, the box round them and exact sums of their durations (ns) and counters. Out
// come a cluster per unit, for all of its bursts, and descriptions of clusters and groups, by the rules of package
// grouping. Where the certificate says so the answer equals that of package grouping on the bursts themselves. Scores
// come from the holder of the sequences (Source), which is asked by the labels of the units.
package microcell

import (
	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/moment"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
)

// A Unit is the bursts of one group in one micro-cell, or at one place. One without bursts has been split: its bursts
// are in units that come after it.
type Unit struct {
	Group    int            // index into Set.Groups
	Cell     cell.Cell      // how many they are, and where
	Duration moment.Exact   // ns, of all of them
	Counters []moment.Exact // of those that have it, by Set.Counters
	Place    bool           // all are at one place: the box is a point
}

// A Group is the bursts between two call paths, which are numbered as the caller likes; {0, 0} if all bursts are
// together.
type Group struct{ Before, After uint32 }

// A Set is a run.
type Set struct {
	Dims     []space.Dim
	Side     float64  // of a micro-cell, in units of the coordinates
	Counters []string // whose sums units have
	Groups   []Group  // all different
	Units    []Unit
	Threads  int // with bursts in units; 0 = not known, and then there is no score
	// All bursts and their time, those included that are in no unit: Missing lack data for a dimension, Short are shorter
	// than MinNS. Their shares are not used.
	Bursts         int
	TimeNS         int64
	Missing, Short grouping.Tally
	// MostSplit is how many bursts may be asked for one by one in all, where the answer depends on them: all that a group
	// needs at a step or none. 0 = DefaultMostSplit; negative = none.
	MostSplit int
}

// DefaultMostSplit is the default of Set.MostSplit: as places they are a hundred MB at most.
const DefaultMostSplit = 250_000

// A Source has the sequences and the bursts.
type Source interface {
	// Score aligns and scores the sequences of all threads, given a label for each unit of the list as it is now: 0 …
	// count-1, or refine.Absent for units whose bursts are no part of the sequences. The time of a label is that of its
	// units.
	Score(labels []int32, count int) (*sequence.Score, error)
	// Split asks where the bursts of units are, ascending. It returns the places of each of them, which are units with
	// Place set, or nil for one whose points are not held any more. Split units keep their index, and have no bursts from
	// then on; their places are appended to the list of units in the order in which they are returned.
	Split(units []int32) (places [][]Unit, err error)
}

// A Result is the clustering of all units.
type Result struct {
	Units    []Unit             // those of the Set, and the places that some of them were split into
	Labels   []int32            // per unit: a Cluster's ID, grouping.LabelNoise or LabelFiltered; LabelNoise for one without bursts; nil by Kinds: each burst has its own, where it is
	Lineage  []uint32           // per unit: index into Tree.Lineages
	Clusters []grouping.Cluster // as in grouping.Result
	Groups   []grouping.Group   // of units that are clustered, by total time, descending; ties by Before, After
	TotalNS  int64              // Set.TimeNS
	Noise    grouping.Tally
	// Clustered and Filtered are the bursts in a cluster, and those that were left out as too short, here and before.
	Clustered, Filtered grouping.Tally
	MinNS               int64   // units whose bursts last less on average are filtered; 0 = none are
	Score, NoiseScore   float64 // as in grouping.Result
	Shuffled, Predicted float64
	Speed               []float64 // by thread
	Tree                *refine.Tree
	Basins              []grouping.Basin // as in grouping.Result
	Joins               []grouping.Join
	Resolution          float64 // the least Eps that is chosen by itself
	Warnings            []string
	Certificate         Certificate
}

// A Certificate says how far the clustering is that of the bursts themselves.
type Certificate struct {
	Side  float64 // of a micro-cell
	Floor float64 // 4·Side·√dims, the least Eps that is clustered with
	// Bound says that an Eps below the floor was wanted, and raised; Wanted is the least of those.
	Bound  bool
	Wanted float64
	// Exact says that with the densities in Result.Tree the bursts themselves would have given the same labels at every
	// step.
	Exact         bool
	Rounds, Split int // how often units were split, and how many
	Units, Bursts int // still in question at some step
	Steps         []Step
}

// A Step is one level of the refinement.
type Step struct {
	Eps           []float64 // per group, as in Tree.Levels
	Exact         bool
	Units, Bursts int // in question
}
