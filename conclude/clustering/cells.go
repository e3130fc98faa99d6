package clustering

import (
	"fmt"
	"math"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/refine"
	"moriens/analysis/space"
	"moriens/trace"
)

// Located says what became of the bursts of a run that have the labels of cells.
type Located struct {
	Moved  int // they are in no unit, and have the label of one in a cell beside theirs
	Astray int // nor is there one; they are noise
}

// FromCells gives the bursts of a run the labels of their cells. The cells show what clusters and groups are like, of
// all bursts, those included which are not in the run.
//
// A node has made the length of a burst with the rate of its clock as far as that was known by then, the run has it
// with the rate that is known in the end, and each rounds to whole nanoseconds: a burst near the edge of a cell may be
// on the other side of it, one of some nanoseconds some cells away. It has the label of the nearest unit.
func FromCells(run *trace.Run, c Cells, options grouping.Options) (*Proposal, Located, error) {
	f := choose(run, options)
	f.options.Dims, f.options.By = c.Dims, c.By
	f.notes, f.cells = append(f.notes, c.Warnings...), &c
	f.result = &grouping.Result{
		Clusters: slices.Clone(c.Clusters), Groups: c.Groups, Selection: &space.Selection{MinNS: max(c.MinNS, c.Result.MinNS)},
		TotalNS: c.TotalNS, Noise: c.Noise, Clustered: c.Clustered, Score: c.Score, NoiseScore: c.NoiseScore, Tree: c.Tree, Resolution: c.Resolution,
		Shuffled: c.Shuffled, Predicted: c.Predicted, Speed: c.Speed, Basins: c.Basins, Joins: c.Joins,
	}
	for i := range f.result.Clusters {
		x := &f.result.Clusters[i]
		x.CounterMean, x.CounterStd = c.inOrder(run, x.CounterMean), c.inOrder(run, x.CounterStd)
	}
	located, err := c.label(run, f.result)
	if err != nil {
		return nil, located, fmt.Errorf("find the cells of the bursts: %w", err)
	}
	f.notes = append(f.notes, kindNotes(run, f.result, &f.options)...)
	return f, located, nil
}

// inOrder puts figures of counters in the order of the run's.
func (c *Cells) inOrder(run *trace.Run, figures []float64) []float64 {
	list := make([]float64, len(run.Counters))
	for k, counter := range run.Counters {
		list[k] = math.NaN()
		if i := slices.Index(c.Counters, counter.Name); i >= 0 && i < len(figures) {
			list[k] = figures[i]
		}
	}
	return list
}

// label labels the bursts of a run.
func (c *Cells) label(run *trace.Run, result *grouping.Result) (Located, error) {
	var located Located
	all := run.BurstColumns()
	columns := burstColumns(run, &all)
	n := columns.Len()
	result.Labels = make([]int32, n)
	if c.Lineage != nil {
		result.Lineage = make([]uint32, n)
	}
	s, err := space.New(columns.Columns, c.Dims)
	if err != nil {
		return located, err
	}
	selection, err := s.Select(space.Filter{MinNS: c.MinNS})
	if err != nil {
		return located, err
	}
	if c.Found != nil {
		return c.labelFound(run, result, s, selection)
	}
	finder, err := newFinder(c)
	if err != nil {
		return located, err
	}
	at := make([]float64, 0, len(c.Dims))
	for i := range n {
		switch selection.Status[i] {
		case space.Missing:
			result.Labels[i] = grouping.LabelMissing
			continue
		case space.Short, space.OutOfRange:
			result.Labels[i] = grouping.LabelFiltered
			continue
		}
		at = s.Coordinates(at[:0], []int32{int32(i)})
		own, err := finder.set.KeyOf(at)
		if err != nil { // its node has found no cell for it either
			result.Labels[i] = grouping.LabelMissing
			continue
		}
		var between microcell.Group
		between.Before, between.After = columns.Between(i)
		if c.By == grouping.ByNone {
			between = microcell.Group{}
		}
		unit, is := c.Locate(between.Before, between.After, at)
		if !is || c.Units[unit].Cell.Count == 0 { // of a unit that was split the places are known, to the last bit
			var beside bool
			if unit, beside, is = finder.nearest(between, own, at, columns.DurationNS[i]); beside {
				located.Moved++
			}
		}
		if !is {
			located.Astray++
			result.Labels[i] = grouping.LabelNoise
			continue
		}
		result.Labels[i] = c.Labels[unit]
		if c.Lineage != nil {
			result.Lineage[i] = c.Lineage[unit]
		}
	}
	return located, nil
}

// labelFound gives the bursts of a run what their nodes have found of them.
func (c *Cells) labelFound(run *trace.Run, result *grouping.Result, s *space.Space, selection *space.Selection) (located Located, err error) {
	result.Kinds, result.Lineage = make([]int32, len(result.Labels)), make([]uint32, len(result.Labels))
	ways := c.ways()
	set, err := cell.NewSet(len(c.Dims), c.Side)
	if err != nil {
		return located, err
	}
	i := 0
	for t := range run.Threads {
		for k := range run.Threads[t].Bursts.Len() {
			x := BurstLabel{}
			if k < len(c.Found[t]) {
				x = c.Found[t][k]
			}
			switch selection.Status[i] {
			case space.Missing:
				x = BurstLabel{grouping.LabelMissing, grouping.LabelMissing}
			case space.Short, space.OutOfRange:
				x = BurstLabel{grouping.LabelFiltered, grouping.LabelFiltered}
			}
			if x.Cluster == 0 {
				x = BurstLabel{grouping.LabelNoise, grouping.LabelNoise}
				if _, err := set.KeyOf(s.Coordinates(nil, []int32{int32(i)})); err != nil { // there is no cell for it
					x = BurstLabel{grouping.LabelMissing, grouping.LabelMissing}
				} else {
					located.Astray++
				}
			}
			result.Labels[i], result.Kinds[i], result.Lineage[i] = x.Cluster, x.Kind, ways[max(x.Cluster, grouping.LabelNoise)]
			i++
		}
	}
	return located, nil
}

// ways are, by cluster and for noise, the ways through the tree, as indices into its lineages.
func (c *Cells) ways() map[int32]uint32 {
	ways := make(map[int32]uint32)
	if c.Tree == nil {
		return ways
	}
	of := make(map[int32]int32) // clusters, by node
	for i := range c.Clusters {
		of[c.Clusters[i].Node] = c.Clusters[i].ID
	}
	from := make(map[uint32]int32)
	for i, l := range c.Tree.Lineages {
		switch way := uint32(i); {
		case i == 0:
		case l.Node == refine.Noise:
			ways[grouping.LabelNoise] = way
		case l.From == 0:
			from[way] = of[l.Node]
			ways[of[l.Node]] = way
		default:
			ways[from[l.From]] = way
		}
	}
	return ways
}

// A finder finds units that are near.
type finder struct {
	cells *Cells
	set   *cell.Set                                // of no cells: it knows the key of a point
	of    map[microcell.Group]map[cell.Key][]int32 // units with bursts, by where they are
}

func newFinder(c *Cells) (*finder, error) {
	set, err := cell.NewSet(len(c.Dims), c.Side)
	if err != nil {
		return nil, err
	}
	f := &finder{cells: c, set: set, of: make(map[microcell.Group]map[cell.Key][]int32)}
	for i := range c.Units {
		u := &c.Units[i]
		if u.Cell.Count == 0 {
			continue
		}
		key := u.Cell.Key
		if u.Place {
			if key, err = set.KeyOf(u.Cell.Lo[:]); err != nil {
				return nil, err
			}
		}
		between := c.Between[u.Group]
		if f.of[between] == nil {
			f.of[between] = make(map[cell.Key][]int32)
		}
		f.of[between][key] = append(f.of[between][key], int32(i))
	}
	return f, nil
}

// nearest is the unit of a group that is nearest to a burst, in its own cell or, if there is none, in those around and
// as far away as rounding may have put it, and whether it is in one of those.
func (f *finder) nearest(between microcell.Group, own cell.Key, at []float64, durationNS int64) (unit int32, beside, is bool) {
	of, dims := f.of[between], f.set.Dims()
	if list := of[own]; len(list) > 0 {
		return f.best(list, at), false, true
	}
	var list []int32
	around := 1
	for range dims {
		around *= 3
	}
	for n := range around {
		key := own
		for j, rest := 0, n; j < dims; j, rest = j+1, rest/3 {
			key[j] += int32(rest%3 - 1)
		}
		list = append(list, of[key]...)
	}
	if len(list) == 0 {
		list = f.rounded(of, at, durationNS)
	}
	if len(list) == 0 {
		return 0, false, false
	}
	return f.best(list, at), true, true
}

// rounded are the units no farther from a burst than a cell's side plus the effect of a nanosecond at either end of it.
func (f *finder) rounded(of map[cell.Key][]int32, at []float64, durationNS int64) (list []int32) {
	reach := make([]float64, len(f.cells.Dims))
	for j, d := range f.cells.Dims {
		reach[j] = f.cells.Side
		if d.Num != space.Duration && d.Den != space.Duration {
			continue
		}
		part := 2 / float64(max(durationNS, 1))
		if d.Scale == space.Lin {
			part *= math.Abs(at[j])
		}
		reach[j] += part
	}
	for _, units := range of {
		for _, i := range units {
			c := &f.cells.Units[i].Cell
			near := true
			for j, x := range at {
				near = near && x >= c.Lo[j]-reach[j] && x <= c.Hi[j]+reach[j]
			}
			if near {
				list = append(list, i)
			}
		}
	}
	return list
}

// best is the unit whose bursts are on average nearest to a point, the first of those that are as near.
func (f *finder) best(list []int32, at []float64) int32 {
	best, least := int32(-1), math.Inf(1)
	for _, i := range list {
		c := &f.cells.Units[i].Cell
		distance := 0.
		for j, x := range at {
			d := x - c.Sum[j]/float64(c.Count)
			distance += d * d
		}
		if best < 0 || distance < least || distance == least && i < best {
			best, least = i, distance
		}
	}
	return best
}
