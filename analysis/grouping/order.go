package grouping

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"moriens/analysis/dbscan"
	"moriens/analysis/kinds"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/analysis/workers"
	"moriens/internal/team"
)

// byKinds reports whether clusters are what density proposes and order decides, not one density or ClusteringSuite's
// refinement.
func (o *Options) byKinds() bool { return o.Fixed == nil && !o.Strict && o.Kinds != KindsByScore }

// A kinding is the bursts of the groups as package kinds wants them.
type kinding struct {
	*computation
	groups []*group
	rows   []int32 // of all bursts that are clustered here
	bursts kinds.Bursts
	scale  []float64 // by dimension: the factor of its coordinates; nil = they are not scaled
	leaves []kinds.Leaf
	nodes  []refine.Node // by leaf
	leafOf []int32       // per burst that is clustered
}

// findKinds finds basins of density, clusters each, and has order decide which clusters are kinds.
func (c *computation) findKinds(groups []*group, r *Result) error {
	k := &kinding{computation: c, groups: groups}
	if err := k.collect(); err != nil {
		return err
	}
	for _, g := range groups {
		g.rows = nil // memory, until there are labels
	}
	err := k.find(r)
	if err != nil { // there may be time for a sample
		k.listGroups()
	}
	return err
}

func (k *kinding) find(r *Result) error {
	c := k.computation
	p, err := kinds.Propose(k.bursts, c.options.ForKinds())
	if err != nil {
		return err
	}
	k.bursts.Cell, k.bursts.Length = nil, nil // the proposal may have others by now
	basins, err := k.cluster(p)
	if err != nil {
		return err
	}
	return k.decide(p, basins, r)
}

// decide has order decide, and gives the bursts their clusters and kinds.
func (k *kinding) decide(p *kinds.Proposal, basins []*group, r *Result) error {
	c := k.computation
	proposed := &Proposed{
		Options: c.options, Bursts: &k.bursts, Groups: foundIn(k.groups), Proposal: p, Basins: foundIn(basins), Leaves: k.leaves, Nodes: k.nodes, LeafOf: k.leafOf,
		Scale: k.scale, TimeNS: func() []int64 { return c.bursts.DurationNS }, DurationNS: func(i int) int64 { return c.bursts.DurationNS[i] },
	}
	rows := k.rows
	if len(rows) == c.bursts.Len() {
		rows = nil // all are clustered
	} else {
		proposed.TimeNS = k.durations
		proposed.DurationNS = func(i int) int64 { return c.bursts.DurationNS[rows[i]] }
	}
	made, err := proposed.Decide(r)
	if err != nil {
		return err
	}
	k.listGroups()
	k.bursts.Group, k.bursts.Anchors = nil, nil // memory
	if len(k.rows) >= manyBursts {              // there is most from now on
		debug.FreeOSMemory()
	}
	c.beginLabels(r)
	made.Label(r, rows)
	c.stopped, c.decided = r.Stopped, made
	tallies := make([]*GroupTally, len(k.groups))
	k.everyGroup(k.groups, func(i int) { tallies[i] = k.tally(k.groups[i], r.Labels) })
	return Describe(k.team, proposed.Groups, tallies)
}

// listGroups gives the groups the rows of their bursts.
func (k *kinding) listGroups() {
	for i, rows := range k.rowsBy(len(k.groups), k.bursts.Group) {
		k.groups[i].rows = rows
	}
}

// rowsBy are the rows of the bursts that are clustered by what each is of.
func (k *kinding) rowsBy(lists int, of []int32) [][]int32 {
	all := workers.Lists(len(k.rows), lists, k.workers, func(i int) int32 { return of[i] })
	for _, list := range all {
		workers.Chunks(len(list), k.workers, func(_, from, to int) {
			for at := from; at < to; at++ {
				list[at] = k.rows[list[at]]
			}
		})
	}
	return all
}

// durations are those of the bursts that are clustered, where not all are.
func (k *kinding) durations() []int64 {
	list := make([]int64, len(k.rows))
	workers.Chunks(len(list), k.workers, func(_, from, to int) {
		for i, row := range k.rows[from:to] {
			list[from+i] = k.computation.bursts.DurationNS[row]
		}
	})
	return list
}

// ForKinds are the options of package kinds.
func (o *Options) ForKinds() kinds.Options {
	return kinds.Options{
		Least: o.leastEps(), Unaligned: o.Unaligned, Unstrated: o.Unstrated, Unordered: o.Kinds == KindsByDensity, Crowded: o.Crowded, MinPts: o.minPts,
		Workers: max(1, o.Workers), Halt: o.Halt,
	}
}

// Timed reports whether the logarithm of the duration is the one dimension.
func Timed(dims []space.Dim) bool {
	return len(dims) == 1 && dims[0].Num == space.Duration && dims[0].Den == "" && dims[0].Scale == space.Log
}

// Steady says by dimension whether what disturbs a burst does not change it.
func Steady(dims []space.Dim) (list []bool) {
	for _, d := range dims {
		list = append(list, d.Scale == space.Log && d.Den == "" && strings.Contains(d.Num, "_INS"))
	}
	return list
}

// Plain reports whether the unit of a dimension says nothing of its noise: for kinds it is scaled to its range.
func Plain(d space.Dim) bool { return d.Scale != space.Log && d.Den == "" }

// CheckCells reports an error if kinds cannot be found by cells of a given side that bursts are put into as they
// arrive: the side is too long, or a plain quantity is compared by its range, which is known only after the last burst.
// dims is nil if the dimensions are found later: then the side has to suit either set that may be chosen.
func CheckCells(dims []space.Dim, resolution, side float64) error {
	if i := slices.IndexFunc(dims, Plain); i >= 0 {
		return fmt.Errorf("kinds by %s: a linear quantity is compared by its range, which is known only after the last burst", dims[i])
	}
	most := math.Inf(1)
	choices := [][]space.Dim{dims}
	if dims == nil {
		choices = [][]space.Dim{withCounters, withoutCounters}
	}
	for _, d := range choices {
		most = min(most, MostSide(d, resolution))
	}
	if side > most*(1+0x1p-40) {
		return fmt.Errorf("micro-cells of side %v: want at most %v, to resolve the smallest Eps of kinds", side, most)
	}
	return nil
}

// leastEps is the Eps of the finest basins.
func (o *Options) leastEps() float64 {
	if o.Resolution > 0 {
		return o.Resolution
	}
	return kinds.DefaultLeast(Timed(o.Dims))
}

// MostSide is how long a side the cells may have in which kinds are found, for a least Eps of resolution, 0 = the
// default, and how long it is where nothing else is said.
func MostSide(dims []space.Dim, resolution float64) float64 {
	o := Options{Dims: dims, Resolution: resolution}
	side := kinds.MostSide(len(dims), o.leastEps())
	if Timed(dims) { // speeds are found to a hundredth
		side = min(side, kinds.MostSide(1, kinds.DefaultLeast(true)))
	}
	return side
}

// collect makes cells of the bursts that are clustered.
func (k *kinding) collect() error {
	c := k.computation
	k.chooseRows()
	dims := c.options.Dims
	b := &k.bursts
	b.Dims, b.Groups, b.Nodes, b.Team = len(dims), len(k.groups), c.bursts.Nodes, c.team
	b.Timed, b.Side, b.Steady = Timed(dims), MostSide(dims, c.options.Resolution), Steady(dims)
	if c.bursts.ThreadEnds != nil {
		k.placeThreads()
	}
	if err := k.findScale(); err != nil {
		return err
	}
	k.placeCells()
	if c.options.By == ByNone && c.bursts.Before != nil {
		b.Call = make([]int64, len(k.rows))
		for i, row := range k.rows {
			b.Call[i] = int64(c.bursts.before(row))<<32 | int64(c.bursts.after(row))
		}
	}
	return nil
}

// chooseRows finds the rows of the bursts that are clustered, ascending, and the group of each.
func (k *kinding) chooseRows() {
	c := k.computation
	n, count := c.bursts.Len(), 0
	for _, g := range k.groups {
		count += len(g.rows)
	}
	of := make([]int32, n)
	if count < n {
		for row := range of {
			of[row] = kinds.None
		}
	}
	for i, g := range k.groups {
		workers.Chunks(len(g.rows), c.workers, func(_, from, to int) {
			for _, row := range g.rows[from:to] {
				of[row] = int32(i)
			}
		})
	}
	k.rows = workers.Lists(n, 1, c.workers, func(i int) int32 { return min(of[i], 0) })[0]
	k.bursts.Group = of
	if count < n {
		k.bursts.Group = make([]int32, count)
		workers.Chunks(count, c.workers, func(_, from, to int) {
			for i, row := range k.rows[from:to] {
				k.bursts.Group[from+i] = of[row]
			}
		})
	}
}

// placeThreads says where threads end, and where there are gaps and anchors, among the bursts that are clustered.
func (k *kinding) placeThreads() {
	c, b := k.computation, &k.bursts
	threads := len(c.bursts.ThreadEnds)
	b.Ends = make([]int, threads)
	if c.bursts.Gaps != nil {
		b.Gaps = make([][]int32, threads)
	}
	if c.bursts.Anchors != nil {
		b.Anchors = make([][]sequence.Anchor, threads)
	}
	workers.Chunks(threads, c.workers, func(_, from, to int) {
		for t := from; t < to; t++ {
			k.placeThread(t)
		}
	})
	c.bursts.Anchors = nil // memory
}

func (k *kinding) placeThread(t int) {
	c, b := k.computation, &k.bursts
	begin, end := 0, c.bursts.ThreadEnds[t]
	if t > 0 {
		begin = c.bursts.ThreadEnds[t-1]
	}
	first, _ := slices.BinarySearch(k.rows, int32(begin))
	last, _ := slices.BinarySearch(k.rows, int32(end))
	b.Ends[t] = last
	rows, now := k.rows[first:last], 0
	at := func(i int) int { // where the thread's i-th burst is among those that are clustered, mostly not far from the one before
		row := int32(min(max(begin, begin+i), end))
		for now > 0 && rows[now-1] >= row {
			now--
		}
		for now < len(rows) && rows[now] < row {
			now++
		}
		return now
	}
	if c.bursts.Gaps != nil {
		for _, g := range c.bursts.Gaps[t] {
			b.Gaps[t] = append(b.Gaps[t], int32(at(int(g))))
		}
	}
	if c.bursts.Anchors != nil {
		b.Anchors[t] = make([]sequence.Anchor, len(c.bursts.Anchors[t]))
		for i, a := range c.bursts.Anchors[t] {
			b.Anchors[t][i] = sequence.Anchor{At: at(a.At), Event: a.Event}
		}
	}
}

// findScale has dimensions whose unit says nothing of their noise, plain durations and counters, scaled to their range.
func (k *kinding) findScale() error {
	dims := k.options.Dims
	if !slices.ContainsFunc(dims, Plain) {
		return nil
	}
	lo, hi := make([]float64, len(dims)), make([]float64, len(dims))
	ranges(k.space.Coordinates(nil, k.rows), lo, hi)
	if err := team.Bounds(k.team, lo, hi); err != nil {
		return err
	}
	k.scale = make([]float64, len(dims))
	for j, d := range dims {
		k.scale[j] = 1
		if Plain(d) && hi[j] > lo[j] {
			k.scale[j] = 1 / (hi[j] - lo[j])
		}
	}
	return nil
}

// mostCell bounds the cells of coordinates that are far out.
const mostCell = 1 << 29

func cellOf(v, side float64) int32 {
	return int32(math.Floor(min(max(v/side, -mostCell), mostCell)))
}

// LengthCell is the cell of a burst's length at the resolution of kinds.Step, so that it is the same where only the
// step is known.
func LengthCell(durationNS int64, side float64) int32 {
	return cellOf(math.Log(float64(max(1, kinds.OfStep(kinds.Step(durationNS))))), side)
}

func (k *kinding) placeCells() {
	b, dims := &k.bursts, k.bursts.Dims
	b.Cell = make([]int32, len(k.rows)*dims)
	b.Length = b.Cell
	if !b.Timed {
		b.Length = make([]int32, len(k.rows))
	}
	workers.Chunks(len(k.rows), k.workers, func(_, from, to int) {
		var coords []float64
		for from < to {
			end := min(from+1<<12, to)
			coords = k.coordinates(coords[:0], k.rows[from:end])
			for i, v := range coords {
				b.Cell[from*dims+i] = cellOf(v, b.Side)
			}
			if !b.Timed {
				for i := from; i < end; i++ {
					b.Length[i] = LengthCell(k.computation.bursts.DurationNS[k.rows[i]], b.Side)
				}
			}
			from = end
		}
	})
}

// coordinates of bursts, as kinds have them.
func (k *kinding) coordinates(to []float64, rows []int32) []float64 {
	to = k.space.Coordinates(to, rows)
	if k.scale != nil {
		for i := range to {
			to[i] *= k.scale[i%len(k.scale)]
		}
	}
	return to
}

// manyBursts is how many bursts make it worth while to collect at once what a step has left, and to return it: it would
// stay beside what is allocated next, which is seldom of its size.
const manyBursts = 1 << 20

func sweep(bursts int) {
	if bursts >= manyBursts {
		debug.FreeOSMemory()
	}
}

// cluster clusters the basins, each by itself.
func (k *kinding) cluster(p *kinds.Proposal) ([]*group, error) {
	basins := make([]*group, len(p.Basins))
	for i, x := range p.Basins {
		of := k.groups[x.Group]
		basins[i] = &group{Clustered: Clustered{Group: Group{Before: of.Before, After: of.After, Bursts: int(x.Bursts)}}}
	}
	for i, rows := range k.rowsBy(len(basins), p.Of) {
		basins[i].rows = rows
	}
	c := k.computation
	if err := k.findDensities(p, basins); err != nil {
		return nil, err
	}
	if err := c.bring(basins, func(basins []*group) error { return k.scatter(p, basins) }); err != nil {
		return nil, err
	}
	input := refine.Bursts{DurationNS: c.spread.durationNS, Ends: c.bursts.ThreadEnds, Team: c.team, Home: c.home}
	for _, g := range basins {
		input.Groups = append(input.Groups, refine.Group{
			Rows: g.at, Points: g.points, Index: g.index, Shared: g.place == everywhere, Eps: g.Ladder[:1], MinPts: g.MinPts,
		})
		g.points, g.index = dbscan.Points{}, nil
	}
	o := c.options.Refinement()
	o.Unscored = true
	refined, err := refine.Run(input, o)
	if err != nil {
		return nil, err
	}
	k.leafOf, c.spread, p.Of = p.Of, spread{}, nil // memory
	for _, g := range basins {
		g.rows, g.at = nil, nil
	}
	input.Groups = nil
	sweep(len(k.rows))
	k.nodes = refined.Nodes
	var leaf []int32
	k.leaves, leaf = Leaves(p, k.nodes)
	workers.Chunks(len(k.rows), k.workers, func(_, from, to int) {
		for i, row := range k.rows[from:to] {
			k.leafOf[from+i] = leaf[refined.Labels[row]]
		}
	})
	return basins, nil
}

// scatter fills in the coordinates of the basins' bursts, and how far they reach: in one pass through all bursts, for
// to gather those of each basin would take as many.
func (k *kinding) scatter(p *kinds.Proposal, basins []*group) error {
	dims, ends := k.bursts.Dims, k.bursts.Ends
	reach := make([][2][]float64, max(1, k.workers)) // by worker and basin
	workers.Chunks(len(k.rows), k.workers, func(w, from, to int) {
		if from == to {
			return
		}
		next := make([]int, len(basins)) // where the coordinates of a basin's next burst go
		lo, hi := make([]float64, dims*len(basins)), make([]float64, dims*len(basins))
		ranges(nil, lo, hi)
		for i, g := range basins {
			at, _ := slices.BinarySearch(g.rows, k.rows[from])
			next[i] = at * dims
		}
		var coords []float64
		for from < to {
			end, shift := min(from+1<<12, to), 0.
			if p.Shift != nil {
				thread, _ := slices.BinarySearch(ends, from+1)
				end, shift = min(end, ends[thread]), p.Shift[thread]
			}
			coords = k.coordinates(coords[:0], k.rows[from:end])
			for i, basin := range p.Of[from:end] {
				at := next[basin]
				next[basin] += dims
				to, lo, hi := basins[basin].points.Coords[at:at+dims], lo[int(basin)*dims:], hi[int(basin)*dims:]
				for j, v := range coords[i*dims : (i+1)*dims] {
					v -= shift
					to[j], lo[j], hi[j] = v, min(lo[j], v), max(hi[j], v)
				}
			}
			from = end
		}
		reach[w] = [2][]float64{lo, hi}
	})
	for _, x := range reach {
		for at := range x[0] {
			g := basins[at/dims]
			g.Lo[at%dims], g.Hi[at%dims] = min(g.Lo[at%dims], x[0][at]), max(g.Hi[at%dims], x[1][at])
		}
	}
	return nil
}

// Leaves are the clusters of the basins, which are nodes of a refinement; of are their numbers, by node.
func Leaves(p *kinds.Proposal, nodes []refine.Node) (leaves []kinds.Leaf, of []int32) {
	last := refine.Noise
	for _, n := range nodes {
		last = max(last, n.ID)
	}
	of = slices.Repeat([]int32{kinds.None}, 1+int(last))
	for i, n := range nodes {
		of[n.ID] = int32(i)
		leaves = append(leaves, kinds.Leaf{Stratum: p.Basins[n.Group].Stratum, Bursts: int64(n.Bursts)})
	}
	return leaves, of
}
