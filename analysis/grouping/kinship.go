package grouping

import (
	"errors"
	"math"
	"slices"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A decided is a decision at work. Clusters are those of the decision; some have no bursts.
type decided struct {
	*Proposed
	*kinds.Decision
	basins []kinds.Basin
	bursts []int64 // by cluster
	timeNS []int64 // likewise; that of Proposed is by burst
	// leafBursts are the bursts by cluster before some were dissolved.
	leafBursts []int64
	noise      [2]int64 // bursts, ns
	root       []int32  // by cluster: the one with most bursts of its kind
	at         []place  // by cluster: where it is among those of its group
	scores     *sequence.Score
}

// count counts the clusters' bursts, of all members.
func (x *decided) count() error {
	n := len(x.KindOf)
	sums, err := x.sums(n+1, func(i int) int32 {
		if x.Cluster[i] == kinds.None {
			return int32(n)
		}
		return x.Cluster[i]
	})
	if err != nil {
		return err
	}
	for cluster := range n {
		x.bursts, x.timeNS = append(x.bursts, sums[2*cluster]), append(x.timeNS, sums[2*cluster+1])
	}
	x.noise, x.leafBursts = [2]int64(sums[2*n:]), slices.Clone(x.bursts)
	most := make(map[int32]int32)
	for cluster, kind := range x.KindOf {
		if x.Elsewhere != nil && x.Elsewhere[cluster] {
			continue // it does not stand for the kind
		}
		if best, known := most[kind]; !known || x.bursts[cluster] > x.bursts[best] {
			most[kind] = int32(cluster)
		}
	}
	for _, kind := range x.KindOf {
		x.root = append(x.root, most[kind])
	}
	return nil
}

// sums are how many bursts, of all members, are of each of n things, and how long they take. of says of which a burst
// here is; none below 0.
func (x *decided) sums(n int, of func(i int) int32) ([]int64, error) {
	parts := make([][]int64, x.workers())
	workers.Chunks(len(x.Cluster), x.workers(), func(w, from, to int) {
		part := make([]int64, 2*n)
		for i := from; i < to; i++ {
			if k := of(i); k >= 0 {
				part[2*k]++
				part[2*k+1] += x.Proposed.timeNS[i]
			}
		}
		parts[w] = part
	})
	sums := make([]int64, 2*n)
	for _, part := range parts {
		for k, v := range part {
			sums[k] += v
		}
	}
	return sums, x.Team.AllReduce(sums, team.Sum)
}

// variantShare is the share of the bursts of its kind that makes a variant a cluster though it has little time.
const variantShare = .05

// dissolve makes noise of variants that have neither much time nor many bursts of their kind: their bursts keep their
// kinds.
func (x *decided) dissolve() {
	var total int64
	for _, ns := range x.timeNS {
		total += ns
	}
	total += x.noise[1]
	ofKind := make([]int64, len(x.KindOf))
	for cluster, root := range x.root {
		ofKind[root] += x.bursts[cluster]
	}
	gone := make([]bool, len(x.KindOf))
	some := false
	for cluster := range x.KindOf {
		g := x.Groups[x.groupOf(int32(cluster))]
		least := max(int64(x.minPts(g.Bursts)), int64(variantShare*float64(ofKind[x.root[cluster]])))
		much := refine.RareShare * float64(total)
		if ns := float64(x.timeNS[cluster]); x.root[cluster] != int32(cluster) && (x.bursts[cluster] < least && ns < much || ns < much/10) {
			x.noise[0] += x.bursts[cluster]
			x.noise[1] += x.timeNS[cluster]
			x.bursts[cluster], x.timeNS[cluster] = 0, 0
			gone[cluster], some = true, true
		}
	}
	if !some {
		return
	}
	workers.Chunks(len(x.Cluster), x.workers(), func(_, from, to int) {
		for i, cluster := range x.Cluster[from:to] {
			if cluster != kinds.None && gone[cluster] {
				x.Cluster[from+i] = kinds.None
			}
		}
	})
}

// groupOf is the group of a cluster.
func (x *decided) groupOf(cluster int32) int32 { return x.basin(cluster).Group }

func (x *decided) basin(cluster int32) *kinds.Basin {
	return &x.basins[x.Nodes[x.HalfOf[cluster]].Group]
}

// number gives the groups their clusters.
func (x *decided) number() {
	x.at = make([]place, len(x.KindOf))
	for cluster := range x.KindOf {
		if x.bursts[cluster] == 0 {
			continue
		}
		i := x.groupOf(int32(cluster))
		g, node := x.Groups[i], &x.Nodes[x.HalfOf[cluster]]
		x.at[cluster] = place{i, int32(len(g.Clusters))}
		valley := x.basin(int32(cluster)).Valley
		if x.basin(int32(cluster)).Alone {
			valley = math.NaN()
		}
		g.Clusters = append(g.Clusters, Cluster{
			Node: int32(cluster) + 1, Eps: node.Eps, MinPts: node.MinPts,
			Kinship: Kinship{Valley: valley, Predicted: math.NaN()},
		})
	}
	of := make([][]*Clustered, len(x.Groups))
	for i, b := range x.Basins {
		of[x.basins[i].Group] = append(of[x.basins[i].Group], b)
	}
	for i, g := range x.Groups {
		g.Group.Clusters = len(g.Clusters)
		g.gather(of[i])
	}
}

// gather makes the densities of a group's basins those of the group.
func (g *Clustered) gather(basins []*Clustered) {
	for i, b := range basins {
		if i == 0 {
			g.MinPts, g.From, g.Knee, g.Ladder, g.Eps = b.MinPts, b.From, b.Knee, b.Ladder[:1], b.Ladder[0]
			g.Lo, g.Hi = slices.Clone(b.Lo), slices.Clone(b.Hi)
			continue
		}
		g.From, g.Knee = FromBasins, 0
		g.MinPts, g.Eps = max(g.MinPts, b.MinPts), min(g.Eps, b.Ladder[0])
		for j := range g.Lo {
			g.Lo[j], g.Hi[j] = min(g.Lo[j], b.Lo[j]), max(g.Hi[j], b.Hi[j])
		}
	}
	if len(basins) > 1 {
		g.Ladder = []float64{g.Eps}
	}
}

// score scores what the threads do, by kinds, in their order and in a random one. The clusters are measured at the same
// time, since a run without anchors is aligned by one core. In a team they are measured afterwards: its members cannot
// do two collective operations at once.
func (x *decided) score(r *Result) (m measured, err error) {
	r.Score, r.NoiseScore, r.Shuffled, r.Predicted = math.NaN(), math.NaN(), math.NaN(), x.predicted()
	b := x.Bursts
	if b.Ends == nil || r.Unscored {
		return x.measure()
	}
	labels := make([]int32, len(x.Kind))
	workers.Chunks(len(x.Kind), x.workers(), func(_, from, to int) {
		for i := from; i < to; i++ {
			labels[i] = x.Kind[i] + 1 // none is refine.Noise
		}
	})
	threads := sequence.Threads{
		Count: len(x.KindOf) + 1, Labels: labels, DurationNS: x.Proposed.timeNS, Ends: b.Ends, Anchors: b.Anchors, Team: x.Team, Halt: x.Halt,
		Counting: true,
	}
	s, err := sequence.Align(threads, x.workers())
	if err != nil || !s.Defined() {
		if err = x.scored(r, s, err); err != nil {
			return measured{}, err
		}
		return x.measure()
	}
	atOnce := 1
	if x.Team.Size() == 1 {
		atOnce = min(2, x.workers())
	}
	var chance, failed error
	workers.Every([]int{1, 1}, atOnce, func(i int) {
		if i == 0 {
			r.Shuffled, chance = sequence.Shuffled(threads, x.workers())
		} else {
			m, failed = x.measure()
		}
	})
	if err := x.scored(r, s, chance); err != nil {
		return measured{}, err
	}
	return m, failed
}

// scored takes a score, unless there was no time for it.
func (x *decided) scored(r *Result, s *sequence.Score, err error) error {
	if errors.Is(err, sequence.ErrHalted) {
		r.Stopped, r.Unscored, r.Shuffled = true, true, math.NaN()
		return nil
	}
	if err != nil {
		return err
	}
	x.scores, r.Score = s, s.Global
	if s.Defined() {
		r.NoiseScore = s.Labels[refine.Noise].Score
	}
	return nil
}

// scoreOf is that of a cluster's kind.
func (x *decided) scoreOf(cluster int32) float64 {
	if x.scores == nil || !x.scores.Defined() {
		return math.NaN()
	}
	return x.scores.Labels[x.KindOf[cluster]+1].Score
}

// predicted is how far order distinguishes the kinds, weighted by their time.
func (x *decided) predicted() float64 {
	sum, weight := 0., 0.
	for cluster := range x.KindOf {
		if u := x.foretold(int32(cluster)); !math.IsNaN(u) {
			sum += u * float64(x.timeNS[cluster])
			weight += float64(x.timeNS[cluster])
		}
	}
	return sum / weight
}

// foretold is how far order distinguishes a cluster's kind from the next.
func (x *decided) foretold(cluster int32) float64 {
	if x.Predicted == nil {
		return math.NaN()
	}
	return x.Predicted[x.KindOf[cluster]]
}

// measured is what durations the clusters have, and how many bursts of kinds are disturbed.
type measured struct {
	median, core     []float64 // by cluster
	disturbed, whole []int64   // by kind: bursts and ns
}

func (x *decided) measure() (m measured, err error) {
	n := len(x.KindOf)
	if m.median, m.core, err = kinds.Cores(x.Team, x.workers(), len(x.Cluster), n, func(i int) int32 { return x.Cluster[i] }, x.DurationNS); err != nil {
		return m, err
	}
	if m.disturbed, err = x.sums(n, func(i int) int32 {
		kind, cluster := x.Kind[i], x.Cluster[i]
		if kind == kinds.None || cluster != kinds.None && x.KindOf[cluster] == x.KindOf[kind] && !x.Pool[x.HalfOf[cluster]] || float64(kinds.OfStep(kinds.Step(x.DurationNS(i)))) <= m.median[x.root[kind]] {
			return kinds.None
		}
		return kind
	}); err != nil {
		return m, err
	}
	m.whole, err = x.sums(n, func(i int) int32 { return x.Kind[i] })
	return m, err
}

// describe gives the clusters that have bursts their figures.
func (x *decided) describe(m *measured) {
	for cluster := range x.KindOf {
		if x.bursts[cluster] == 0 {
			continue
		}
		k := x.cluster(int32(cluster))
		k.MedianNS, k.Core, k.Score = m.median[cluster], m.core[cluster], x.scoreOf(int32(cluster))
		if x.root[cluster] != int32(cluster) {
			continue
		}
		k.Predicted = x.foretold(int32(cluster))
		kind := x.KindOf[cluster]
		k.Whole.Bursts, k.Whole.TimeNS = int(m.whole[2*kind]), m.whole[2*kind+1]
		k.Disturbed.Bursts, k.Disturbed.TimeNS = int(m.disturbed[2*kind]), m.disturbed[2*kind+1]
		k.ExtraNS = k.Disturbed.TimeNS - int64(float64(k.Disturbed.Bursts)*k.MedianNS)
	}
}

// cluster is the description of one that has bursts.
func (x *decided) cluster(cluster int32) *Cluster {
	at := x.at[cluster]
	return &x.Groups[at.group].Clusters[at.cluster]
}
