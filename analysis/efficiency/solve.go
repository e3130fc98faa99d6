package efficiency

import (
	"cmp"
	"math"
	"slices"
)

// Factors say how well a set of locations used a stretch of time. Ratios are 0 to 1; NaN: not defined, because nobody
// computed, or no time passed.
type Factors struct {
	Locations     int
	TNS           int64
	Parallel      float64 // mean(U)/T = Balance · Communication
	Balance       float64 // mean(U)/max(U) = BalanceIn · BalanceOut
	BalanceIn     float64 // N/max(U), N the largest over nodes of the mean U of the node's locations
	BalanceOut    float64 // mean(U)/N
	Communication float64 // max(U)/T
	Longest       int     // the location with max(U), the first of several; -1: there is none
	Budget        Budget
	Totals
}

// A Budget is where the time of all locations is: its parts add up to TotalNS, which is locations · T.
type Budget struct {
	TotalNS       int64
	ComputingNS   int64
	MPINS         int64
	OutsideNS     int64 // before a location's first record, after its last
	NotRecordedNS int64 // in its life, neither computing nor in MPI: paused, lost, or not kept
}

// MeanNS is mean(U).
func (f *Factors) MeanNS() float64 { return ratio(f.Budget.ComputingNS, int64(f.Locations)) }

// LongestNS is max(U).
func (f *Factors) LongestNS() float64 { return f.Communication * float64(f.TNS) }

// AllInstructions are those of all the computing time; where some bursts lack them they count like the others. NaN: not
// counted.
func (f *Factors) AllInstructions() float64 {
	return extrapolated(f.Instructions, f.InstructionsNS, f.Budget.ComputingNS)
}

// Solve computes the factors of a region for some locations, nodes[i] being the node of location i. tns is the
// region's elapsed time; 0: the longest of the locations'. A location that computes for longer than that makes T
// longer, for a ratio above 1 says nothing.
func Solve(sums []Sum, nodes []int, tns int64, members []int) Factors {
	f := Factors{Locations: len(members), TNS: tns, Longest: -1}
	type node struct{ computingNS, locations int64 }
	byNode := make(map[int]node)
	longest := int64(-1)
	for _, i := range members {
		s := &sums[i]
		f.TNS = max(f.TNS, s.ComputingNS)
		if tns == 0 {
			f.TNS = max(f.TNS, s.ElapsedNS)
		}
		if s.ComputingNS > longest {
			longest, f.Longest = s.ComputingNS, i
		}
		f.Budget.ComputingNS += s.ComputingNS
		f.Budget.MPINS += s.MPINS
		f.Budget.NotRecordedNS += s.LifeNS - s.ComputingNS - s.MPINS
		f.Totals.Add(&s.Counted)
		n := byNode[nodes[i]]
		byNode[nodes[i]] = node{n.computingNS + s.ComputingNS, n.locations + 1}
	}
	f.Budget.TotalNS = f.TNS * int64(len(members))
	f.Budget.OutsideNS = f.Budget.TotalNS - f.Budget.ComputingNS - f.Budget.MPINS - f.Budget.NotRecordedNS
	most := math.NaN()
	for _, n := range byNode {
		if mean := ratio(n.computingNS, n.locations); !(mean <= most) {
			most = mean
		}
	}
	mean := ratio(f.Budget.ComputingNS, int64(len(members)))
	f.Parallel = mean / nonzero(float64(f.TNS))
	f.Communication = float64(max(longest, 0)) / nonzero(float64(f.TNS))
	f.Balance = mean / nonzero(float64(longest))
	f.BalanceIn = most / nonzero(float64(longest))
	f.BalanceOut = mean / nonzero(most)
	return f
}

// nonzero is NaN for what cannot be divided by.
func nonzero(x float64) float64 {
	if !(x > 0) {
		return math.NaN()
	}
	return x
}

// A Cluster is what a run loses in one cluster.
type Cluster struct {
	ID        int32
	Bursts    int64
	TimeNS    int64 // of all locations
	Share     float64
	Locations int     // that have it
	Balance   float64 // mean over max of its time per location, over those that have it
	Longest   int     // the location with most of it
	LostNS    float64 // max − mean: at most so much does its imbalance cost a location on average; NaN where not all locations have it
	IPC       float64
	Best      float64 // IPC over that of the best cluster alike; NaN where not counted
}

// Clusters lists clusters by what is lost in them, descending; alike says of each cluster's ID, from 1, which others do
// the same (equal numbers: equal call paths).
func Clusters(sums [][]ClusterSum, alike map[int32]int) []Cluster {
	type state struct {
		Cluster
		longestNS int64
		counted   Totals
	}
	byID := make(map[int32]*state)
	total := int64(0)
	for i, list := range sums {
		for k := range list {
			c := &list[k]
			total += c.TimeNS
			if c.Cluster < 1 {
				continue
			}
			s := byID[c.Cluster]
			if s == nil {
				s = &state{Cluster: Cluster{ID: c.Cluster}, longestNS: -1}
				byID[c.Cluster] = s
			}
			s.Bursts += c.Bursts
			s.TimeNS += c.TimeNS
			s.Locations++
			s.counted.Add(&c.Counted)
			if c.TimeNS > s.longestNS {
				s.longestNS, s.Longest = c.TimeNS, i
			}
		}
	}
	best := make(map[int]float64)
	for id, s := range byID {
		s.IPC = s.counted.IPC()
		if group, ok := alike[id]; ok && s.IPC > best[group] {
			best[group] = s.IPC
		}
	}
	list := make([]Cluster, 0, len(byID))
	for id, s := range byID {
		mean := ratio(s.TimeNS, int64(s.Locations))
		s.Share = ratio(s.TimeNS, total)
		s.Balance = mean / nonzero(float64(s.longestNS))
		s.LostNS = float64(s.longestNS) - mean
		if s.Locations < len(sums) {
			s.LostNS = math.NaN()
		}
		s.Best = s.IPC / nonzero(s.IPC)
		if group, ok := alike[id]; ok {
			s.Best = s.IPC / nonzero(best[group])
		}
		list = append(list, s.Cluster)
	}
	slices.SortFunc(list, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(b.lost(), a.lost()), cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (c *Cluster) lost() float64 {
	if math.IsNaN(c.LostNS) {
		return -1
	}
	return c.LostNS
}

// An Iteration is one of a phase of iterations, or several that follow each other.
type Iteration struct {
	First, Count                     int
	TNS                              int64 // from the latest begin of this one to that of the next: they add up to the phase
	Parallel, Balance, Communication float64
	Skewed                           bool // a location computes for longer than TNS, which then is not the base of the ratios
}

// Iterations are those of a phase. Where there are more than so many, those that follow each other share an entry, but
// for a few in which most is lost. Of several in one entry the seconds add up, those of the location that computes most
// of each iteration too, and the ratios are those of the sums.
func (l *LoopSum) Iterations(most int) []Iteration {
	n := len(l.ComputingNS)
	if l.Locations == 0 {
		return nil
	}
	count := (n + most - 1) / most
	alone := l.losing(n, min(n, most/5))
	var list []Iteration
	for first := 0; first < n; first = list[len(list)-1].First + list[len(list)-1].Count {
		end := first + 1
		for !alone[first] && end < n && end%count != 0 && !alone[end] {
			end++
		}
		list = append(list, l.entry(first, end))
	}
	return list
}

// losing marks so many of n iterations in which most is lost.
func (l *LoopSum) losing(n, most int) []bool {
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	lost := func(k int) float64 {
		return float64(max(l.LatestNS[k+1]-l.LatestNS[k], l.LongestNS[k])) - ratio(l.ComputingNS[k], l.Locations)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost(b), lost(a)) })
	alone := make([]bool, n)
	for _, k := range order[:most] {
		alone[k] = true
	}
	return alone
}

// entry is some iterations that follow each other.
func (l *LoopSum) entry(first, end int) Iteration {
	x := Iteration{First: first, Count: end - first, TNS: l.LatestNS[end] - l.LatestNS[first]}
	var base, longest, computing int64
	for k := first; k < end; k++ {
		t := l.LatestNS[k+1] - l.LatestNS[k]
		base += max(t, l.LongestNS[k])
		longest += l.LongestNS[k]
		computing += l.ComputingNS[k]
		x.Skewed = x.Skewed || l.LongestNS[k] > t
	}
	mean := ratio(computing, l.Locations)
	x.Parallel, x.Balance = mean/nonzero(float64(base)), mean/nonzero(float64(longest))
	x.Communication = float64(longest) / nonzero(float64(base))
	return x
}
