// Package refine clusters bursts with one density after another and keeps what the program's structure confirms:
// aggregative cluster refinement (González, Huck, Giménez and Labarta, IPDPSW'12).
//
// In come the bursts of a run as points, in groups that are clustered apart, each with a ladder of Eps; and in which
// thread and order they ran. Out come a cluster per burst and the tree: the clusters of each step, their origins, and
// how far all threads executed them together (package sequence).
//
// The first step clusters everything with the least Eps of each group. A cluster whose score reaches a threshold is
// frozen; the bursts of the others, noise included, are clustered again with the next Eps; and so on. The paper's
// procedure, as ClusteringSuite has it, asks for a score of 1, ends with the last step and merges clusters that only
// ever share columns of the alignment (Strict). That alone does not show whether a step was a gain, and a score rewards
// coarseness: one giant cluster scores 1. So without Strict the answer is, for each group, the finest step at which the
// mean score of its time comes near that of its best; with one group that is the score of the whole. And clusters that
// are alternatives of each other are reported, not merged: where ranks do one phase differently, that is what the user
// looks for.
//
// The bursts may be spread over a team. Each group is then clustered by one member, which has all its bursts, or by all
// together. All members learn the result of a step, so that the answer at all is that of one process.
//
// The package never changes its input, and the number of workers does not matter.
package refine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/dbscan"
	"moriens/analysis/sequence"
	"moriens/internal/team"
)

// Noise is the label and the node of bursts that are in no cluster.
const Noise int32 = 0

// Absent is the label of bursts that are in no group.
const Absent int32 = -1

// Bursts are all bursts of a run, thread after thread, each in time order. Those that are in no group are no part of
// the sequences.
type Bursts struct {
	DurationNS []int64             // the sum of those that a row stands for
	Ends       []int               // per thread: where its bursts end; nil = not known, and without Score there is none
	Anchors    [][]sequence.Anchor // per thread, counting all its bursts; nil = not known
	Groups     []Group             // the same at all members of a team, but for their rows and points
	// Score, if not nil, scores labels where the sequences are elsewhere: the rows are in no order then, and Ends is nil.
	// labels has one for each of DurationNS, the ID of a node below count, Noise or Absent, and must not be changed; the
	// score is of count labels.
	Score func(labels []int32, count int) (*sequence.Score, error)
	// Even, if not nil, says of some nodes whether all threads with bursts have as many of each, where who knows the
	// threads is elsewhere: column is by ID a number from 1 to count-1, or -1 of a node that is not asked for. It goes
	// with Options.Unscored, and Ends is nil.
	Even func(labels, column []int32, count int) ([]bool, error)
	// Team says which threads' bursts are here. DurationNS then goes on after the last thread with bursts of others that
	// are clustered here.
	Team team.Threads
	// Home, where Team has several members, is collective: it gives the bursts of this member's threads that are clustered
	// elsewhere the labels that they have there. labels has one for each of DurationNS.
	Home func(labels []int32) error
}

// A Group is a set of bursts that are clustered apart from the others.
type Group struct {
	Rows   []int32        // its bursts in Bursts that are clustered here, ascending
	Points dbscan.Points  // one per row, unless Cluster is set
	Index  *dbscan.Shared // of Points, and those of others if Shared; nil = Run makes it
	Shared bool           // every member of the team has a part of its bursts; else one has all
	Eps    []float64      // by step, ascending, at least one; a group whose ladder ends sooner does not change any more
	MinPts int            // at least 1; with fewer bursts than that the group is one cluster
	// Weights says how many bursts, above 0, each row stands for; nil = one each. All counts are of bursts, and so is
	// MinPts.
	Weights []int64
	// Cluster, if not nil, clusters some of the rows, by their places in Rows, in place of DBSCAN on Points, and as that
	// does: a label for each of them, dbscan.Noise or 0 … clusters-1. Several groups' are called at once. Neither this nor
	// Weights goes with Shared in a team of several.
	Cluster func(at []int32, eps float64, minPts int) (labels []int32, clusters int, err error)
}

// Options of a refinement.
type Options struct {
	Strict bool // ClusteringSuite's rules; Freeze and Tolerance do not matter then
	// Freeze is the score from which on a cluster is left as it is. 0 = DefaultFreeze.
	Freeze float64
	// Tolerance is how far below the best score the step's may be that is returned. 0 = DefaultTolerance.
	Tolerance float64
	// RareMinPts, if not nil, gives the MinPts with which that many bursts of noise are clustered once more; in the end
	// two neighbours are enough. Of the clusters found so, those with at least RareShare of the time are kept. Of those
	// made of two neighbours, only those are kept that the sequences confirm, with a score that freezes them.
	RareMinPts func(bursts int) int
	// Unscored leaves out the score: the clusters of the first step are the answer, and the caller evaluates them. Of
	// those made of two neighbours, only those are kept of which all threads have the same number of bursts. There is no
	// Lineage then.
	Unscored bool
	// Stop is asked before each step but the first; true, at any member, ends the refinement with the steps that there
	// are. nil = never.
	Stop func() bool
	// Halt is asked again and again, by several goroutines at once; true, at any member, ends the refinement in the middle
	// of a step. The steps before it are the answer; of the first one the clusters are, if there are any by then, without
	// a score. nil = never.
	Halt    func() bool
	Workers int // below 1 means 1
}

// ErrHalted is why there is no result where Options.Halt was true before there were clusters.
var ErrHalted = sequence.ErrHalted

// The defaults of Options.
const (
	DefaultFreeze    = .99
	DefaultTolerance = .01
)

// RareShare is the share of the time of all bursts in groups that makes a kind of bursts a cluster though it is rare.
// It is the share of bursts that an automatic MinPts of n/200 asks of any.
const RareShare = 1. / 200

// A Result is what a refinement comes to.
type Result struct {
	Labels  []int32  // per burst of this member's threads: a Node's ID, Noise, or Absent
	Lineage []uint32 // per burst of them: index into Tree.Lineages
	Nodes   []Node   // the clusters of Labels, by ID; without noise
	Score   *sequence.Score
	Tree    Tree
	// Stopped says that Options.Stop or Halt has ended the refinement, Unscored that there was no time for the score of
	// the answer: Score is not defined, and nodes may have none.
	Stopped, Unscored bool
}

// A Tree is all steps of a refinement.
type Tree struct {
	Levels []Level
	Chosen []int  // per group: index of the level that was returned
	Why    string // those, a sentence without a full stop
	// Merged are sets of nodes of the chosen levels that only ever share columns of the alignment. With Strict they
	// have become one, with the least ID; without, they stay apart.
	Merged [][]int32
	// Lineages are the ways that bursts took through the levels; the first is that of bursts in no group.
	Lineages []Lineage
}

// A Lineage says which nodes held a burst: those of From at the levels before Level, from Level on Node.
type Lineage struct {
	From  uint32 // index into Tree.Lineages; 0 = the burst was in none before
	Level int    // index into Tree.Levels
	Node  int32
}

// A Level is the clusters after one step.
type Level struct {
	Eps   []float64 // per group; 0 for one with fewer bursts than MinPts
	Score float64   // NaN = not defined
	// Nodes are all clusters, by ID, and before them what is noise, if any.
	Nodes []Node
}

// A Node is a cluster at a step.
type Node struct {
	ID     int32 // a cluster made of others has the least of theirs that none has yet; Noise for noise
	Group  int   // -1 for noise
	Eps    float64
	MinPts int
	Bursts int
	TimeNS int64
	Score  float64 // NaN = not defined
	Frozen bool    // its score reached the threshold: the next step left it alone
	// Parents are the nodes of the level before that its bursts were in, by ID; nil at the first level.
	Parents []Parent
}

// A Parent says how many bursts of a node were in a node of the level before.
type Parent struct {
	ID     int32
	Bursts int
}

// Run refines. Groups with rows out of range, out of order or in two groups, without Eps, with points that do not fit
// their rows are errors, and so is what packages dbscan and sequence refuse.
func Run(b Bursts, o Options) (*Result, error) {
	if o.Freeze == 0 {
		o.Freeze = DefaultFreeze
	}
	if o.Strict {
		o.Freeze = 1
	}
	if o.Tolerance == 0 {
		o.Tolerance = DefaultTolerance
	}
	if err := team.Explain(b.Team, b.check(&o)); err != nil {
		return nil, err
	}
	b.Groups = slices.Clone(b.Groups)
	r := &refinement{bursts: &b, options: &o, own: len(b.DurationNS)}
	if n := len(b.Ends); n > 0 {
		r.own = b.Ends[n-1]
	} else if b.Ends != nil {
		r.own = 0
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	result, err := r.result()
	if result != nil {
		result.Stopped, result.Unscored = r.stopped, r.unscored
	}
	return result, err
}

func (b *Bursts) check(o *Options) error {
	if math.IsNaN(o.Freeze) || o.Freeze < 0 || math.IsNaN(o.Tolerance) || o.Tolerance < 0 {
		return fmt.Errorf("refine: freezing threshold %v and tolerance %v: want numbers ≥ 0", o.Freeze, o.Tolerance)
	}
	if b.Anchors != nil && len(b.Anchors) != len(b.Ends) {
		return fmt.Errorf("refine: anchors of %d threads for %d threads", len(b.Anchors), len(b.Ends))
	}
	if b.Score != nil && b.Ends != nil {
		return errors.New("refine: the threads of the bursts are known, and a score of another making: want one of them")
	}
	begin := 0
	for i, end := range b.Ends {
		if end < begin || end > len(b.DurationNS) {
			return fmt.Errorf("refine: the bursts of thread %d end at %d, those before it at %d, all at %d", i, end, begin, len(b.DurationNS))
		}
		begin = end
	}
	if b.Team.Size() > 1 {
		if b.Ends == nil || b.Home == nil {
			return errors.New("refine: several members need to know their threads, and the way home of labels")
		}
		if err := b.Team.Check(len(b.Ends)); err != nil {
			return fmt.Errorf("refine: %w", err)
		}
	} else if b.Ends != nil && begin != len(b.DurationNS) {
		return fmt.Errorf("refine: the last thread ends at burst %d of %d", begin, len(b.DurationNS))
	}
	for i := range b.Groups {
		if err := b.Groups[i].check(b.Team.Size()); err != nil {
			return fmt.Errorf("refine: group %d %w", i, err)
		}
	}
	return nil
}

// mostBursts is how many bursts the rows of a group may stand for.
const mostBursts = 1 << 48

func (g *Group) check(members int) error {
	switch {
	case len(g.Eps) == 0:
		return errors.New("has no Eps")
	case g.MinPts < 1:
		return fmt.Errorf("has MinPts %d: want at least 1", g.MinPts)
	case g.Cluster == nil && g.Points.Len() != len(g.Rows):
		return fmt.Errorf("has %d points for %d bursts", g.Points.Len(), len(g.Rows))
	case g.Weights != nil && len(g.Weights) != len(g.Rows):
		return fmt.Errorf("has %d weights for %d rows", len(g.Weights), len(g.Rows))
	case g.Shared && members > 1 && (g.Weights != nil || g.Cluster != nil):
		return errors.New("is shared: want neither weights nor its own clustering")
	}
	var sum int64
	for i, w := range g.Weights {
		if w < 1 || w > mostBursts-sum {
			return fmt.Errorf("has the weight %d for row %d: want at least 1, and all together at most %d", w, i, int64(mostBursts))
		}
		sum += w
	}
	return nil
}
