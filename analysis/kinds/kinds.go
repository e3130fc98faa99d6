// Package kinds finds which bursts are the same computation: density proposes, order decides.
//
// In come the bursts of a run, thread after thread in time order, as cells of the burst space, already split into
// groups (by the calls around them). Propose finds how much slower some threads are in everything, splits groups by the
// surroundings of their bursts, and finds the basins of density: peaks with valleys between them. The caller clusters
// each basin and returns leaves. Decide then finds whether neighbouring leaves are two kinds of computation or one:
// they are two if the bursts before and after, or on the next ranks, predict which of them occurs. The others are
// variants of one kind. Finally, a burst that is longer than the kind that its place predicts is that kind, disturbed.
//
// Each step counts the bursts of a member, adds up the counts of all members, and decides from the sums alone. So the
// members of a team reach the same answer, to the bit, however the threads are distributed. docs/design/kinds.md
// describes the method, with its figures.
//
// Lengths of coordinates are in ln units where a coordinate is a logarithm: .1 is about 10 %. Shares and measures of
// order are 0 to 1.
package kinds

import (
	"fmt"
	"math"

	"moriens/analysis/sequence"
	"moriens/internal/team"
)

// None is the group of a burst that is not clustered, and the leaf of one that is noise.
const None int32 = -1

// Bursts are those of a run, thread after thread, each in time order. All are clustered: what was set aside is not
// among them.
type Bursts struct {
	Dims   int
	Timed  bool    // the one coordinate is the logarithm of the duration: threads may differ in speed
	Side   float64 // of a cell; Cell is floor(coordinate / Side)
	Cell   []int32 // Dims per burst
	Length []int32 // floor(ln(duration/ns) / Side); may be Cell where Timed
	Steady []bool  // per dimension: what disturbs a burst does not change it, as its instructions; nil = none is
	Group  []int32 // 0 … Groups-1
	Groups int
	Call   []int64 // the calls round the burst, as context where Group does not give them; nil = Group does
	Ends   []int   // per thread: where its bursts end; nil = not known, and then there is no order
	// Gaps are, by thread and ascending, the bursts of the thread before which something was lost, counted in its own; nil
	// = none were.
	Gaps [][]int32
	// Anchors are, by thread, the events between its bursts that other threads share, At counting its own bursts; nil =
	// none are known.
	Anchors [][]sequence.Anchor
	// Nodes are, by thread, the host that it ran on: next to each other are threads of one. nil = all ran on one.
	Nodes []int32
	Team  team.Threads // threads of other members have no bursts here
}

// Options of the method. The zero value is the default.
type Options struct {
	Least     float64 // Eps of the finest basins; 0 = DefaultLeast
	Unaligned bool    // speeds of threads are not compared
	Unstrated bool    // groups are not cut by what surrounds their bursts
	Unordered bool    // density alone: what is not next to each other is apart
	Crowded   bool    // order alone distinguishes kinds: two modes are the machine's
	// MinPts is how many bursts a basin of a group of so many has at least that meets no other; with those of none where
	// order decides about the basins. nil = a quarter of the threads, but not below leastBasin.
	MinPts  func(bursts int) int
	Workers int
	Halt    func() bool // true ends the work with ErrHalted; nil = never
}

// leastBasin is how many bursts a basin has at least that meets no other, if nothing else is said.
const leastBasin = 4

// ErrHalted is why there is no answer where Options.Halt was true.
var ErrHalted = sequence.ErrHalted

// Coarsest is the Eps of the coarsest basins.
const Coarsest = .32

// DefaultLeast is the Eps of the finest basins: of durations, and with counters.
func DefaultLeast(timed bool) float64 {
	if timed {
		return .01
	}
	return .02
}

// MostSide is how long a cell's side may be for a least Eps: with longer ones single kinds fall apart.
func MostSide(dims int, least float64) float64 {
	if dims == 1 {
		return least / 2
	}
	return least / 4
}

// scales are the Eps of the basins, descending by the square root of 2.
func scales(least float64) (list []float64) {
	for k := 0; ; k++ {
		eps := Coarsest * math.Exp2(-float64(k)/2)
		if eps < least*(1-1e-3) {
			break
		}
		list = append(list, eps)
	}
	if len(list) == 0 {
		list = []float64{least}
	}
	return list
}

func (b *Bursts) check() error {
	n := len(b.Group)
	switch {
	case b.Dims < 1 || len(b.Cell) != n*b.Dims || len(b.Length) != n || b.Call != nil && len(b.Call) != n:
		return fmt.Errorf("kinds: %d groups of bursts, %d cells in %d dimensions, %d lengths, %d calls", n, len(b.Cell), b.Dims, len(b.Length), len(b.Call))
	case !(b.Side > 0):
		return fmt.Errorf("kinds: cells of side %v: want a length above 0", b.Side)
	case b.Dims > mostDims:
		return fmt.Errorf("kinds: %d dimensions: want at most %d", b.Dims, mostDims)
	case b.Timed && b.Side > speedCell:
		return fmt.Errorf("kinds: durations in cells of side %v: want at most %v", b.Side, speedCell)
	case b.Timed && b.Dims != 1:
		return fmt.Errorf("kinds: durations alone in %d dimensions", b.Dims)
	case b.Anchors != nil && len(b.Anchors) != len(b.Ends) || b.Gaps != nil && len(b.Gaps) != len(b.Ends) || b.Nodes != nil && len(b.Nodes) != len(b.Ends):
		return fmt.Errorf("kinds: %d threads, anchors of %d, gaps of %d, nodes of %d", len(b.Ends), len(b.Anchors), len(b.Gaps), len(b.Nodes))
	}
	begin := 0
	for i, end := range b.Ends {
		if end < begin || end > n {
			return fmt.Errorf("kinds: the bursts of thread %d end at %d, those before it at %d, all at %d", i, end, begin, n)
		}
		begin = end
	}
	if b.Ends != nil && begin != n {
		return fmt.Errorf("kinds: the last thread ends at burst %d of %d", begin, n)
	}
	for i, g := range b.Group {
		if g < 0 || int(g) >= b.Groups {
			return fmt.Errorf("kinds: burst %d is of group %d of %d", i, g, b.Groups)
		}
	}
	if b.Ends != nil {
		return b.Team.Check(len(b.Ends))
	}
	return nil
}
