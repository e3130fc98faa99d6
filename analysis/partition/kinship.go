package partition

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/team"
)

// A decided is a decision at work. Clusters are those of the decision; some have no bursts.
type decided struct {
	*Proposed
	*kinds.Decision
	basins []kinds.Basin
	bursts []int64  // by cluster
	timeNS []int64  // likewise
	noise  [2]int64 // bursts, ns
	root   []int32  // by cluster: the one with most bursts of its kind
	at     []KindOf // by cluster: where it is among those of its group
	scores *sequence.Score
}

// sums are how many bursts each of some labels has, and how long these last, of all members; and in the end those of none.
func (x *decided) sums(label []int32, labels int) (bursts, timeNS []int64, err error) {
	sums := make([]int64, 2*(labels+1))
	for i, k := range label {
		if k == kinds.None {
			k = int32(labels)
		}
		sums[k]++
		sums[labels+1+int(k)] += x.TimeNS(i)
	}
	err = x.Team.AllReduce(sums, team.Sum)
	return sums[:labels+1], sums[labels+1:], err
}

// count counts the clusters' bursts, of all members.
func (x *decided) count() error {
	n := len(x.KindOf)
	bursts, timeNS, err := x.sums(x.Cluster, n)
	if err != nil {
		return err
	}
	x.bursts, x.timeNS, x.noise = bursts[:n], timeNS[:n], [2]int64{bursts[n], timeNS[n]}
	most := make(map[int32]int32)
	for cluster, kind := range x.KindOf {
		if best, known := most[kind]; !known || x.bursts[cluster] > x.bursts[best] {
			most[kind] = int32(cluster)
		}
	}
	for _, kind := range x.KindOf {
		x.root = append(x.root, most[kind])
	}
	return nil
}

// variantShare is the share of the bursts of its kind that makes a variant a cluster though it has little time.
const variantShare = .05

// dissolve makes noise of variants that have neither much time nor many bursts of their kind: their bursts keep their kinds.
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
	x.Cluster = slices.Clone(x.Cluster)
	for i, cluster := range x.Cluster {
		if cluster != kinds.None && gone[cluster] {
			x.Cluster[i] = kinds.None
		}
	}
}

// groupOf is the group of a cluster.
func (x *decided) groupOf(cluster int32) int32 { return x.basin(cluster).Group }

func (x *decided) basin(cluster int32) *kinds.Basin {
	return &x.basins[x.Nodes[x.HalfOf[cluster]].Group]
}

// number gives the groups their clusters.
func (x *decided) number() {
	x.at = make([]KindOf, len(x.KindOf))
	for cluster := range x.KindOf {
		if x.bursts[cluster] == 0 {
			continue
		}
		i := x.groupOf(int32(cluster))
		g, node := x.Groups[i], &x.Nodes[x.HalfOf[cluster]]
		x.at[cluster] = KindOf{i, int32(len(g.Clusters))}
		valley := x.basin(int32(cluster)).Valley
		if x.basin(int32(cluster)).Alone {
			valley = math.NaN()
		}
		g.Clusters = append(g.Clusters, Cluster{
			Node: int32(cluster) + 1, Eps: node.Eps, MinPts: node.MinPts,
			Kinship: Kinship{Valley: valley, Predicted: math.NaN(), Why: x.Why[x.HalfOf[cluster]]},
		})
	}
	of := make([][]*Found, len(x.Groups))
	for i, b := range x.Basins {
		of[x.basins[i].Group] = append(of[x.basins[i].Group], b)
	}
	for i, g := range x.Groups {
		g.Group.Clusters = len(g.Clusters)
		g.gather(of[i])
	}
}

// gather makes the densities of a group's basins those of the group.
func (g *Found) gather(basins []*Found) {
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

// score scores what the threads do, by kinds.
func (x *decided) score(r *Result) error {
	r.Score, r.NoiseScore, r.Shuffled, r.Predicted = math.NaN(), math.NaN(), math.NaN(), x.predicted()
	b := x.Bursts
	if b.Ends == nil || r.Unscored {
		return nil
	}
	labels, durations := make([]int32, len(x.Kind)), make([]int64, len(x.Kind))
	for i, kind := range x.Kind {
		durations[i] = x.TimeNS(i)
		if kind != kinds.None {
			labels[i] = kind + 1
		}
	}
	threads := sequence.Threads{
		Count: len(x.KindOf) + 1, Labels: labels, DurationNS: durations, Ends: b.Ends, Anchors: b.Anchors, Team: x.Team, Halt: x.Halt,
		Counting: true,
	}
	s, err := sequence.Align(threads, max(1, x.Workers))
	if err == nil && s.Defined() {
		r.Shuffled, err = sequence.Shuffled(threads, max(1, x.Workers))
	}
	switch {
	case errors.Is(err, sequence.ErrHalted):
		r.Stopped, r.Unscored = true, true
		return nil
	case err != nil:
		return err
	}
	x.scores = s
	r.Score = s.Global
	if !s.Defined() {
		return nil
	}
	r.NoiseScore = s.Labels[refine.Noise].Score
	return nil
}

// scoreOf is that of a cluster's kind.
func (x *decided) scoreOf(cluster int32) float64 {
	if x.scores == nil || !x.scores.Defined() {
		return math.NaN()
	}
	return x.scores.Labels[x.KindOf[cluster]+1].Score
}

// predicted is how far order tells the kinds apart, weighted by their time.
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

// foretold is how far order tells a cluster's kind from the next.
func (x *decided) foretold(cluster int32) float64 {
	if x.Predicted == nil {
		return math.NaN()
	}
	return x.Predicted[x.KindOf[cluster]]
}

// measure finds what durations the clusters have, and how many of a kind's bursts are disturbed.
func (x *decided) measure() error {
	n := len(x.KindOf)
	median, core, err := kinds.Cores(x.Team, max(1, x.Workers), len(x.Cluster), n, func(i int) int32 { return x.Cluster[i] }, x.DurationNS)
	if err != nil {
		return err
	}
	disturbed := make([]int32, len(x.Kind))
	for i, kind := range x.Kind {
		disturbed[i] = kinds.None
		if cluster := x.Cluster[i]; kind != kinds.None && (cluster == kinds.None || x.KindOf[cluster] != x.KindOf[kind]) {
			disturbed[i] = kind
		}
	}
	bursts, timeNS, err := x.sums(disturbed, n)
	if err != nil {
		return err
	}
	for cluster := range n {
		if x.bursts[cluster] == 0 {
			continue
		}
		k := x.cluster(int32(cluster))
		k.MedianNS, k.Core, k.Score = median[cluster], core[cluster], x.scoreOf(int32(cluster))
		if x.root[cluster] != int32(cluster) {
			continue
		}
		k.Predicted = x.foretold(int32(cluster))
		kind := x.KindOf[cluster]
		k.Disturbed.Bursts, k.Disturbed.TimeNS = int(bursts[kind]), timeNS[kind]
		k.ExtraNS = k.Disturbed.TimeNS - int64(float64(k.Disturbed.Bursts)*k.MedianNS)
	}
	return nil
}

// cluster is the description of one that has bursts.
func (x *decided) cluster(cluster int32) *Cluster {
	at := x.at[cluster]
	return &x.Groups[at.Group].Clusters[at.Cluster]
}

// label gives the bursts their clusters, as numbers in their groups, and kinds.
func (x *decided) label() *Decided {
	d := &Decided{Label: make([]int32, len(x.Cluster)), Kind: make([]KindOf, len(x.Kind))}
	for i, cluster := range x.Cluster {
		d.Label[i], d.Kind[i] = LabelNoise, KindOf{Group: LabelNoise - 1}
		if cluster != kinds.None {
			d.Label[i] = x.at[cluster].Cluster
		}
		if kind := x.Kind[i]; kind != kinds.None {
			d.Kind[i] = x.at[x.root[kind]]
		}
	}
	for cluster, root := range x.root {
		if x.bursts[cluster] > 0 {
			x.cluster(int32(cluster)).Kind = x.at[root].Cluster // until clusters have their numbers
		}
	}
	return d
}

// AdoptKinds gives bursts and clusters the numbers of their kinds: ids are those of the clusters, by group.
func (r *Result) AdoptKinds(of []KindOf, ids [][]int32) {
	r.Kinds = make([]int32, len(of))
	for row, k := range of {
		if k.Group < 0 {
			r.Kinds[row] = k.Group + 1
		} else {
			r.Kinds[row] = ids[k.Group][k.Cluster]
		}
	}
	for i := range r.Clusters {
		k := &r.Clusters[i]
		k.Kind = ids[k.Group][k.Kind]
	}
}

// tree tells the clusters of density, and then the kinds that order made of them.
func (x *decided) tree(score float64) *refine.Tree {
	clusters, kindCount := 0, 0
	for cluster, n := range x.bursts {
		if n > 0 {
			clusters++
			if x.root[cluster] == int32(cluster) {
				kindCount++
			}
		}
	}
	t := &refine.Tree{Chosen: make([]int, len(x.Groups)), Lineages: []refine.Lineage{{Node: refine.Absent}}}
	t.Why = fmt.Sprintf("density proposes %d clusters, order leaves %d kinds", clusters, kindCount)
	own := make([]int32, len(x.KindOf))
	for cluster := range own {
		own[cluster] = int32(cluster) + 1
	}
	t.Levels = []refine.Level{x.level(own, nil)}
	if kindCount < clusters {
		t.Levels = append(t.Levels, x.level(x.kindNodes(), own))
	}
	t.Levels[len(t.Levels)-1].Score = score
	if x.scores != nil && x.scores.Defined() {
		t.Merged = refine.Alternatives(x.scores, t.Levels[len(t.Levels)-1].Nodes)
	}
	return t
}

// kindNodes is, by cluster, the node of its kind.
func (x *decided) kindNodes() []int32 {
	of := make([]int32, len(x.KindOf))
	for cluster, root := range x.root {
		of[cluster] = root + 1
	}
	return of
}

// level is the nodes that clusters are in, which were others before; nil = nothing was.
func (x *decided) level(at, before []int32) refine.Level {
	l := refine.Level{Score: math.NaN()}
	for _, g := range x.Groups {
		l.Eps = append(l.Eps, g.Eps)
	}
	byID := make(map[int32]*refine.Node)
	from := make(map[int32]map[int32]int)
	for cluster, id := range at {
		if x.bursts[cluster] == 0 {
			continue
		}
		n := byID[id]
		if n == nil {
			leaf := &x.Nodes[x.HalfOf[cluster]]
			n = &refine.Node{ID: id, Group: int(x.groupOf(int32(cluster))), Eps: leaf.Eps, MinPts: leaf.MinPts, Score: math.NaN()}
			byID[id], from[id] = n, make(map[int32]int)
		}
		n.Bursts += int(x.bursts[cluster])
		n.TimeNS += x.timeNS[cluster]
		n.Score = x.scoreOf(int32(cluster))
		if before != nil {
			from[id][before[cluster]] += int(x.bursts[cluster])
		}
	}
	if x.noise[0] > 0 {
		n := refine.Node{ID: refine.Noise, Group: -1, Bursts: int(x.noise[0]), TimeNS: x.noise[1], Score: math.NaN()}
		if before != nil {
			n.Parents = []refine.Parent{{ID: refine.Noise, Bursts: n.Bursts}}
		}
		l.Nodes = append(l.Nodes, n)
	}
	for id, n := range byID {
		for parent, bursts := range from[id] {
			n.Parents = append(n.Parents, refine.Parent{ID: parent, Bursts: bursts})
		}
		slices.SortFunc(n.Parents, func(a, b refine.Parent) int { return cmp.Compare(a.ID, b.ID) })
		l.Nodes = append(l.Nodes, *n)
	}
	slices.SortFunc(l.Nodes, func(a, b refine.Node) int { return cmp.Compare(a.ID, b.ID) })
	return l
}

// lineage gives each burst here the way that its cluster took.
func (x *decided) lineage(t *refine.Tree) []uint32 {
	of := make([]uint32, len(x.KindOf))
	add := func(cluster, level int, node int32) {
		t.Lineages = append(t.Lineages, refine.Lineage{From: of[cluster], Level: level, Node: node})
		of[cluster] = uint32(len(t.Lineages) - 1)
	}
	for cluster, root := range x.root {
		if x.bursts[cluster] > 0 {
			add(cluster, 0, int32(cluster)+1)
			if int(root) != cluster {
				add(cluster, 1, root+1)
			}
		}
	}
	noise := uint32(len(t.Lineages))
	t.Lineages = append(t.Lineages, refine.Lineage{Node: refine.Noise})
	list := make([]uint32, len(x.Cluster))
	for i, cluster := range x.Cluster {
		list[i] = noise
		if cluster != kinds.None {
			list[i] = of[cluster]
		}
	}
	return list
}
