package efficiency

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// Options say what to add up.
type Options struct {
	Regions    int   // that each location has Parts of
	Clusters   int   // of the first so many regions the clusters are added up too
	Kinds      bool  // of the first region the kinds too
	Iterations []int // of each phase of iterations
	Workers    int   // that share the work; below 1 means 1
	Team       team.Threads
}

// Local adds up the locations that this member has. Columns that do not fit each other are errors that name the
// location.
func Local(locations []Location, o Options) (*Sums, error) {
	s := &Sums{Regions: make([][]Sum, o.Regions), Clusters: make([][][]ClusterSum, o.Clusters), Loops: make([]LoopSum, len(o.Iterations))}
	for r := range s.Regions {
		s.Regions[r] = make([]Sum, len(locations))
	}
	for r := range s.Clusters {
		s.Clusters[r] = make([][]ClusterSum, len(locations))
	}
	if o.Kinds {
		s.Kinds = make([][]ClusterSum, len(locations))
	}
	for k, n := range o.Iterations {
		s.Loops[k] = newLoopSum(n)
	}
	sizes := make([]int, len(locations))
	for i := range locations {
		sizes[i] = len(locations[i].StartNS) + len(locations[i].EnterNS)
	}
	var mu sync.Mutex // of the sums over locations, whole numbers and maxima: any order gives the same
	return s, workers.Each(sizes, o.Workers, func(i, _ int) error {
		if !o.Team.Mine(i) {
			return nil
		}
		l := &locations[i]
		if err := l.check(o); err != nil {
			return fmt.Errorf("efficiency: location %d: %w", i, err)
		}
		for r, parts := range l.Parts {
			s.Regions[r][i] = l.sum(parts)
		}
		for r := range s.Clusters {
			s.Clusters[r][i] = l.clusters(int32(i), l.Cluster, l.Parts[r])
		}
		if o.Kinds {
			labels := l.Kind
			if labels == nil {
				labels = l.Cluster
			}
			s.Kinds[i] = l.clusters(int32(i), labels, l.Parts[0])
		}
		for k := range l.Loops {
			s.Loops[k].add(l, l.Loops[k].BeginsNS, &mu)
		}
		return nil
	})
}

// check says what of the location does not fit together.
func (l *Location) check(o Options) error {
	n, calls := len(l.StartNS), len(l.EnterNS)
	switch {
	case len(l.DurationNS) != n || len(l.Cluster) != n || l.Kind != nil && len(l.Kind) != n || l.Instructions != nil && len(l.Instructions) != n || l.Cycles != nil && len(l.Cycles) != n:
		return errors.New("the columns of its bursts differ in length")
	case len(l.ExitNS) != calls:
		return errors.New("the columns of its calls differ in length")
	case len(l.Parts) != o.Regions:
		return fmt.Errorf("it has parts of %d regions, want %d", len(l.Parts), o.Regions)
	case len(l.Loops) != len(o.Iterations):
		return fmt.Errorf("it has %d phases of iterations, want %d", len(l.Loops), len(o.Iterations))
	}
	for i, d := range l.DurationNS {
		if d < 0 || i > 0 && l.StartNS[i] < l.StartNS[i-1]+l.DurationNS[i-1] {
			return fmt.Errorf("burst %d lasts less than 0 ns, or begins before the one before it ends", i)
		}
	}
	for i := range l.EnterNS {
		if l.ExitNS[i] < l.EnterNS[i] || i > 0 && l.EnterNS[i] < l.ExitNS[i-1] {
			return fmt.Errorf("call %d lasts less than 0 ns, or begins before the one before it ends", i)
		}
	}
	for r, parts := range l.Parts {
		for i, p := range parts {
			if p.EndNS < p.BeginNS || i > 0 && p.BeginNS < parts[i-1].EndNS {
				return fmt.Errorf("region %d: part %d lasts less than 0 ns, or begins before the one before it ends", r, i)
			}
		}
	}
	for k, loop := range l.Loops {
		if n := len(loop.BeginsNS); n != 0 && n != o.Iterations[k]+1 || !slices.IsSorted(loop.BeginsNS) {
			return fmt.Errorf("phase %d of iterations: %d begins, want %d, ascending", k, n, o.Iterations[k]+1)
		}
	}
	return nil
}

// sum adds up what the location does in parts of its time.
func (l *Location) sum(parts []Span) (s Sum) {
	for _, p := range parts {
		s.ElapsedNS += p.EndNS - p.BeginNS
		s.LifeNS += overlap(p, l.Life)
		l.eachBurst(p, func(i int, ns int64) {
			s.ComputingNS += ns
			s.count(l, i, ns)
		})
		for i := sort.Search(len(l.ExitNS), func(i int) bool { return l.ExitNS[i] > p.BeginNS }); i < len(l.EnterNS) && l.EnterNS[i] < p.EndNS; i++ {
			s.MPINS += overlap(p, Span{l.EnterNS[i], l.ExitNS[i]})
		}
	}
	return s
}

// eachBurst hands out the bursts that are in a part of the time, and how long they are there.
func (l *Location) eachBurst(p Span, give func(i int, ns int64)) {
	end := func(i int) int64 { return l.StartNS[i] + l.DurationNS[i] }
	for i := sort.Search(len(l.StartNS), func(i int) bool { return end(i) > p.BeginNS }); i < len(l.StartNS) && l.StartNS[i] < p.EndNS; i++ {
		give(i, overlap(p, Span{l.StartNS[i], end(i)}))
	}
}

// count adds what a burst has counted in so much of its time.
func (c *Counted) count(l *Location, i int, ns int64) {
	value := func(column []int64) (int64, bool) {
		if column == nil || column[i] == NotRead || column[i] < 0 {
			return 0, false
		}
		return partOf(column[i], ns, l.DurationNS[i]), true
	}
	instructions, hasInstructions := value(l.Instructions)
	cycles, hasCycles := value(l.Cycles)
	if hasInstructions {
		c.Instructions += instructions
		c.InstructionsNS += ns
	}
	if hasCycles {
		c.Cycles += cycles
		c.CyclesNS += ns
	}
	if hasInstructions && hasCycles {
		c.BothInstructions += instructions
		c.BothCycles += cycles
	}
}

// partOf is value · part / whole, rounded down; value and part are not negative, part ≤ whole.
func partOf(value, part, whole int64) int64 {
	if part == whole {
		return value
	}
	hi, lo := bits.Mul64(uint64(value), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

func overlap(a, b Span) int64 { return max(0, min(a.EndNS, b.EndNS)-max(a.BeginNS, b.BeginNS)) }

// clusters adds up what the location has of each label of its bursts in parts of its time.
func (l *Location) clusters(location int32, labels []int32, parts []Span) []ClusterSum {
	var list []ClusterSum
	at := make(map[int32]int)
	for _, p := range parts {
		l.eachBurst(p, func(i int, ns int64) {
			k, ok := at[labels[i]]
			if !ok {
				k = len(list)
				at[labels[i]] = k
				list = append(list, ClusterSum{Location: location, Cluster: labels[i]})
			}
			list[k].Bursts++
			list[k].TimeNS += ns
			list[k].count(l, i, ns)
		})
	}
	slices.SortFunc(list, func(a, b ClusterSum) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return list
}

func newLoopSum(iterations int) LoopSum {
	return LoopSum{LatestNS: slices.Repeat([]int64{math.MinInt64}, iterations+1), ComputingNS: make([]int64, iterations), LongestNS: make([]int64, iterations)}
}

// add takes in the iterations of a location.
func (s *LoopSum) add(l *Location, begins []int64, mu *sync.Mutex) {
	if len(begins) == 0 {
		return
	}
	computing := make([]int64, len(begins)-1)
	for k := range computing {
		l.eachBurst(Span{begins[k], begins[k+1]}, func(_ int, ns int64) { computing[k] += ns })
	}
	mu.Lock()
	defer mu.Unlock()
	s.Locations++
	for k, ns := range computing {
		s.ComputingNS[k] += ns
		s.LongestNS[k] = max(s.LongestNS[k], ns)
	}
	for k, ns := range begins {
		s.LatestNS[k] = max(s.LatestNS[k], ns)
	}
}
