package microcell_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/space"
)

// byA are bursts with this counter, on one thread, as one group, and the options to cluster them by it.
func byA(ns int64, values ...int64) (grouping.Bursts, grouping.Options) {
	b := grouping.Bursts{Columns: space.Columns{CounterNames: []string{"A"}, Counters: [][]int64{values}}}
	b.DurationNS = slices.Repeat([]int64{ns}, len(values))
	b.ThreadEnds = []int{len(values)}
	return b, grouping.Options{Dims: []space.Dim{{Num: "A"}}, By: grouping.ByNone}
}

// Two cells of which the nearest bursts are within Eps, and the means are not.
func TestPlacesThatCannotBeHad(t *testing.T) {
	b, o := byA(100, 0, 2, 11, 12)
	o.Fixed = &grouping.Density{Eps: 10, MinPts: 2}
	never := func() bool { return true }
	for _, c := range []struct {
		name      string
		gone      func(unit int32) bool
		mostSplit int
		stop      func() bool
		labels    []int32 // of the bursts
		want      microcell.Certificate
	}{
		{"all are held", nil, 0, nil, []int32{1, 1, 1, 1}, microcell.Certificate{Exact: true, Rounds: 1, Split: 2}},
		{"none is", func(int32) bool { return true }, 0, nil, []int32{1, 1, 2, 2}, microcell.Certificate{Rounds: 1, Units: 2, Bursts: 4}},
		// The mean of the first is just within Eps of a burst of the second.
		{"the first is gone", func(i int32) bool { return i == 0 }, 0, nil, []int32{1, 1, 1, 1}, microcell.Certificate{Rounds: 1, Split: 1, Units: 1, Bursts: 2}},
		{"all may be asked for", nil, 4, nil, []int32{1, 1, 1, 1}, microcell.Certificate{Exact: true, Rounds: 1, Split: 2}},
		{"one too many", nil, 3, nil, []int32{1, 1, 2, 2}, microcell.Certificate{Units: 2, Bursts: 4}},
		{"none may be asked for", nil, -1, nil, []int32{1, 1, 2, 2}, microcell.Certificate{Units: 2, Bursts: 4}},
		{"no time", nil, 0, never, []int32{1, 1, 2, 2}, microcell.Certificate{Units: 2, Bursts: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m := summed(t, b, o, 2.5, nil)
			s.MostSplit, m.gone = c.mostSplit, c.gone
			o.Stop = c.stop
			r := compute(t, s, m, o)
			for row, want := range c.labels {
				if got := r.Labels[m.unit[row]]; got != want {
					t.Errorf("burst %d has label %d, want %d", row, got, want)
				}
			}
			c.want.Side, c.want.Floor = 2.5, 10
			c.want.Steps = []microcell.Step{{Eps: []float64{10}, Exact: c.want.Exact, Units: c.want.Units, Bursts: c.want.Bursts}}
			if !reflect.DeepEqual(r.Certificate, c.want) {
				t.Errorf("%+v, want %+v", r.Certificate, c.want)
			}
			if warned := strings.Contains(strings.Join(r.Warnings, "; "), fmt.Sprintf("the positions of %d bursts (%d micro-cells)", c.want.Bursts, c.want.Units)); warned == c.want.Exact {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

// A question that comes up only once what is gone is at its mean is asked.
func TestQuestionsBehindDoubts(t *testing.T) {
	// It depends on the places of the first whether there is a cluster at all, and on those of the last which of them are
	// near another cluster.
	b, o := byA(100, 100, 102, 111, 111, 111, 0, 0, 0, 5, 5, 15, 17)
	o.Fixed = &grouping.Density{Eps: 10, MinPts: 5}
	s, m := summed(t, b, o, 2.5, nil)
	m.gone = func(unit int32) bool { return unit == 0 }
	r := compute(t, s, m, o)
	for row, want := range []int32{2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, grouping.LabelNoise} {
		if got := r.Labels[m.unit[row]]; got != want {
			t.Errorf("burst %d has label %d, want %d", row, got, want)
		}
	}
	if x := r.Certificate; x.Exact || x.Rounds != 2 || x.Split != 1 || x.Units != 1 || x.Bursts != 2 {
		t.Errorf("%+v", x)
	}
}

// What is too much for one group does not keep others from asking, until no more may be asked for.
func TestGroupsShareWhatMayBeAskedFor(t *testing.T) {
	b, o := byA(100, 0, 0, 2, 11, 12, 0, 2, 11, 12, 0, 2, 11, 12, 12)
	b.Before = []uint32{1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3}
	b.After, b.DurationNS[0], b.DurationNS[9] = b.Before, 1000, 10
	o.By, o.Fixed = grouping.ByCalls, &grouping.Density{Eps: 10, MinPts: 2}
	for most, want := range map[int][]int{3: nil, 4: {2}, 8: {1}, 9: {1, 2}, 10: {1, 3}, 13: {1, 3}, 14: {1, 2, 3}} {
		s, m := summed(t, b, o, 2.5, nil)
		s.MostSplit = most
		var groups []int
		r := compute(t, s, m, o)
		for _, u := range r.Units[len(s.Units):] {
			groups = append(groups, u.Group+1)
		}
		slices.Sort(groups)
		if got := slices.Compact(groups); !slices.Equal(got, want) || r.Certificate.Units != 2*(3-len(want)) || r.Certificate.Split != 2*len(want) {
			t.Errorf("%d bursts may be asked for: of groups %v, want %v; %+v", most, got, want, r.Certificate)
		}
	}
}

// A group with one step is in doubt at that, and not at those that others take.
func TestDoubtsOfGroups(t *testing.T) {
	b, o := manyBursts(1)
	b.Before = make([]uint32, b.Len())
	for _, x := range []float64{14.001, 14.021, 14.111, 14.121} {
		b.Counters[0] = append(b.Counters[0], int64(math.Exp(x)))
		b.DurationNS, b.Before = append(b.DurationNS, 100), append(b.Before, 1)
	}
	b.After, b.ThreadEnds = b.Before, append(b.ThreadEnds, b.Len())
	o.By = grouping.ByCalls
	s, m := summed(t, b, o, .1/4, nil)
	m.gone = func(unit int32) bool { return m.units[unit].Group == 1 }
	r := compute(t, s, m, o)
	if x := r.Certificate; x.Units != 2 || x.Bursts != 4 || len(x.Steps) < 3 || x.Steps[0].Units != 2 {
		t.Fatalf("%+v", x)
	}
	for _, step := range r.Certificate.Steps[1:] {
		if !step.Exact || step.Units != 0 {
			t.Errorf("%+v", step)
		}
	}
}

// A doubt is reported at the step that has it, and once in all.
func TestDoubtsByStep(t *testing.T) {
	b, o := manyBursts(1)
	s, m := summed(t, b, o, .1/4, nil)
	exact := compute(t, s, m, o)
	if exact.Certificate.Split < 2 {
		t.Fatalf("%+v", exact.Certificate)
	}
	for _, step := range exact.Certificate.Steps {
		if !step.Exact || step.Units > 0 || step.Bursts > 0 {
			t.Fatalf("%+v", step)
		}
	}
	s, m = summed(t, b, o, .1/4, nil)
	m.gone = func(unit int32) bool { return unit%2 == 0 }
	r := compute(t, s, m, o)
	x := r.Certificate
	if x.Exact || x.Units == 0 || x.Units > m.refused || x.Bursts < x.Units || len(x.Steps) != len(r.Tree.Levels) {
		t.Fatalf("%+v", x)
	}
	least, most, sum := x.Units, 0, 0
	for i, step := range x.Steps {
		if step.Exact != (step.Units == 0) || !slices.Equal(step.Eps, r.Tree.Levels[i].Eps) {
			t.Errorf("%+v", step)
		}
		least, most, sum = min(least, step.Units), max(most, step.Units), sum+step.Units
	}
	if x.Units < most || x.Units > sum || least == x.Units {
		t.Errorf("%d units in doubt, by step %+v", x.Units, x.Steps)
	}
	all := 0
	for _, k := range r.Clusters {
		all += k.Bursts
	}
	if all+r.Noise.Bursts != b.Len() {
		t.Errorf("%d bursts in clusters, %d noise, of %d", all, r.Noise.Bursts, b.Len())
	}
}

// The refinement ends when there is no time, with all steps that there are, and no bursts are asked for then.
func TestStop(t *testing.T) {
	b, o := manyBursts(5)
	var asked, late int // how often it was asked for the time, and from when on there is none
	o.Stop = func() bool {
		asked++
		return asked > late
	}
	run := func(n int) (*microcell.Result, *memory) {
		asked, late = 0, n
		s, m := summed(t, b, o, .1/4, nil)
		return compute(t, s, m, o), m
	}
	all, _ := run(math.MaxInt)
	if x := all.Certificate; !x.Exact || x.Rounds < 3 || asked > len(all.Tree.Levels)+x.Rounds {
		t.Fatalf("asked %d times for %d steps and %d rounds", asked, len(all.Tree.Levels), x.Rounds)
	}
	before, inexact := 0, 0
	for n := range asked + 1 {
		r, m := run(n)
		steps := len(r.Tree.Levels)
		if steps < before || n == 0 && steps > 1 || len(m.splits) > n {
			t.Errorf("time for %d: %d steps, %d before; %d splits", n, steps, before, len(m.splits))
		}
		before = steps
		if !r.Certificate.Exact {
			inexact++
			continue
		}
		if got, want := fmt.Sprint(r.Tree.Levels), fmt.Sprint(all.Tree.Levels[:steps]); got != want {
			t.Errorf("time for %d: %s, want %s", n, got, want)
		}
		if warned := strings.Contains(strings.Join(r.Warnings, "; "), "no time"); warned != (steps < len(all.Tree.Levels)) {
			t.Errorf("time for %d: %d steps, warnings %q", n, steps, r.Warnings)
		}
	}
	if before != len(all.Tree.Levels) || inexact == 0 {
		t.Errorf("%d steps with time for all, %d times inexact", before, inexact)
	}
}

func TestFloor(t *testing.T) {
	var values []int64 // kinds that are 100 wide and 1000 apart
	for i := range int64(400) {
		values = append(values, 10_000+i%4*1000+i%7)
	}
	b, o := byA(100, values...)
	fixed := func(eps float64) func(*grouping.Options) {
		return func(o *grouping.Options) { o.Fixed = &grouping.Density{Eps: eps, MinPts: 3} }
	}
	resolution := func(r float64) func(*grouping.Options) {
		return func(o *grouping.Options) { o.Resolution = r }
	}
	for _, c := range []struct {
		name   string
		side   float64
		change func(*grouping.Options)
		eps    float64
		from   grouping.EpsFrom
		wanted float64 // 0 = the floor does not bind
	}{
		{"fixed above", 5, fixed(21), 21, grouping.FromFixed, 0},
		{"fixed at the floor", 5, fixed(20), 20, grouping.FromFixed, 0},
		{"fixed below", 5, fixed(19), 20, grouping.FromFixed, 19},
		{"resolution above the knee", 5, resolution(30), 30, grouping.FromFloor, 0},
		{"resolution below the floor, and the knee too", 5, resolution(7), 20, grouping.FromFloor, 7},
		{"nothing asked for", 5, resolution(-1), 20, grouping.FromFloor, 1},
		{"a side that was rounded", .3 / 4, fixed(.3), .3, grouping.FromFixed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := o
			c.change(&o)
			s, m := summed(t, b, o, c.side, nil)
			r := compute(t, s, m, o)
			if x := r.Certificate; x.Bound != (c.wanted != 0) || x.Bound && x.Wanted > c.wanted || x.Side != c.side || x.Floor != 4*c.side {
				t.Errorf("%+v, want %v to be raised", x, c.wanted)
			}
			if g := r.Groups[0]; g.Eps != c.eps || g.From != c.from {
				t.Errorf("%+v, want Eps %v from the %v", g, c.eps, c.from)
			}
			if warned := strings.Contains(strings.Join(r.Warnings, "; "), "was requested"); warned != (c.wanted != 0) {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

// Of several groups' wishes the least is reported.
func TestWantedIsTheLeast(t *testing.T) {
	b, o := manyBursts(1)
	b.Before = make([]uint32, b.Len())
	for row := range b.Len() { // the same, twice as near to each other, and shorter
		b.Counters[0] = append(b.Counters[0], int64(1e3*math.Sqrt(float64(b.Counters[0][row]))))
		b.DurationNS, b.Before = append(b.DurationNS, b.DurationNS[row]/2), append(b.Before, 1)
	}
	b.After, b.ThreadEnds = b.Before, []int{b.Len()}
	o.By, o.Resolution = grouping.ByCalls, -1
	s, m := summed(t, b, o, .001, nil)
	s.Side = 100
	r := compute(t, s, m, o)
	if x := r.Certificate; !x.Bound || x.Wanted != r.Groups[1].Knee || x.Wanted >= r.Groups[0].Knee || x.Wanted == 0 {
		t.Errorf("%+v, groups %+v", x, r.Groups)
	}
}

// The automatic filter leaves out what is short, but no part of a kind, as for bursts.
func TestAutoFilter(t *testing.T) {
	var b grouping.Bursts
	add := func(n int, path uint32, from, to int64) {
		for i := range n {
			b.DurationNS = append(b.DurationNS, from+int64(i)*(to-from)/int64(n))
			b.Before, b.After = append(b.Before, path), append(b.After, path)
		}
	}
	add(100, 0, 1_000_000, 1_250_000)
	add(100, 1, 100_000, 125_000)
	add(50, 2, 10_000, 12_500)
	measured := b.Len()
	add(400, 0, 1_000_000, 1_000_000) // but not with the counter
	b.ThreadEnds = []int{b.Len()}
	b.CounterNames, b.Counters = []string{"A"}, [][]int64{make([]int64, b.Len())}
	for row := measured; row < b.Len(); row++ {
		b.Counters[0][row] = space.NotRead
	}
	o := grouping.Options{Dims: []space.Dim{{Num: space.Duration, Scale: space.Log}, {Num: "A"}}, Filter: space.Filter{Auto: true}}
	s, m := summed(t, b, o, .1/4, nil)
	r := compute(t, s, m, o)
	want, err := grouping.Compute(b, o)
	if err != nil {
		t.Fatal(err)
	}
	for row, label := range want.Labels[:measured] {
		if got := r.Labels[m.unit[row]]; (got == grouping.LabelFiltered) != (label == grouping.LabelFiltered) {
			t.Fatalf("burst %d of %d ns: label %d, want %d", row, b.DurationNS[row], got, label)
		}
	}
	short := want.Selection.Bursts[space.Short]
	if r.Filtered.Bursts != short || short != 50 || r.Filtered.TimeNS != want.Selection.TimeNS[space.Short] || r.Filtered.Share != grouping.Share(r.Filtered.TimeNS, want.Selection.TotalNS()) {
		t.Errorf("%+v are filtered, want %d", r.Filtered, short)
	}
	// The limit is within a kind that is kept whole. Units are 2.5 hundredths wide.
	if math.Abs(float64(r.MinNS-want.Selection.MinNS)) > .03*float64(want.Selection.MinNS) {
		t.Errorf("bursts below %d ns are short, want below %d", r.MinNS, want.Selection.MinNS)
	}
}

func TestWithoutMuch(t *testing.T) {
	for _, c := range []struct {
		name    string
		bursts  func() (grouping.Bursts, grouping.Options)
		warning string
		labels  []int32
	}{
		{"nothing", func() (grouping.Bursts, grouping.Options) { return byA(1) }, "no bursts", nil},
		{"missing", func() (grouping.Bursts, grouping.Options) { return byA(1, -1, -1) }, "no bursts left to cluster: 2 lack data for the dimensions, 0 are filtered", nil},
		{"short", func() (grouping.Bursts, grouping.Options) {
			b, o := byA(1, 5, 5)
			o.Filter.MinNS = 2
			return b, o
		}, "0 lack data for the dimensions, 2 are filtered", nil},
		{"one burst", func() (grouping.Bursts, grouping.Options) { return byA(0, 7) }, "", []int32{1}},
		{"one cell", func() (grouping.Bursts, grouping.Options) { return byA(3, 7, 7, 7, 7, 7, 7) }, "dimension A:lin separates no bursts: it is 7 in all of them", []int32{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, o := c.bursts()
			s, m := summed(t, b, o, .5, nil)
			r := compute(t, s, m, o)
			if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, c.warning) {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
			if !slices.Equal(r.Labels, c.labels) || !r.Certificate.Exact || !math.IsNaN(r.Score) {
				t.Errorf("labels %v, want %v; %+v", r.Labels, c.labels, r.Certificate)
			}
		})
	}
}

// What is in no unit, and in no count of what is not, is reported.
func TestBurstsInNoUnit(t *testing.T) {
	b, o := byA(3, 7, 7, 7, 7, 7, 7)
	s, m := summed(t, b, o, .5, nil)
	s.Bursts += 2
	s.TimeNS += 10
	r := compute(t, s, m, o)
	if got := strings.Join(r.Warnings, "; "); !strings.Contains(got, "2 of 8 bursts are in no micro-cell") || r.TotalNS != 28 || r.Clustered.Share != 18./28 {
		t.Errorf("warnings %q; %+v", got, r.Clustered)
	}
}

// Where threads are not known there is no score, and none is requested.
func TestWithoutThreads(t *testing.T) {
	b, o := manyBursts(2)
	s, m := summed(t, b, o, .1/4, nil)
	s.Threads = 0
	r := compute(t, s, m, o)
	if !math.IsNaN(r.Score) || len(m.scored) > 0 || len(r.Tree.Levels) != 1 || !r.Certificate.Exact {
		t.Errorf("score %v, %d asked for, %d steps, %+v", r.Score, len(m.scored), len(r.Tree.Levels), r.Certificate)
	}
	b.ThreadEnds = nil
	sameRefinement(t, s, &memory{t: t, bursts: b, coords: m.coords, unit: m.unit, units: m.units}, o, r)
}

// Units that were split before, and places of them, are units like others.
func TestWhatWasSplitBefore(t *testing.T) {
	b, o := manyBursts(1)
	o.Fixed = &grouping.Density{Eps: .1, MinPts: 6} // a knee that is sought sees that units are smaller now
	s, m := summed(t, b, o, .1/4, nil)
	first := compute(t, s, m, o)
	s.Units, m.scored = m.units, make(map[string]bool)
	again := compute(t, s, m, o)
	if first.Certificate.Split == 0 || again.Certificate.Split > 0 || !slices.Equal(first.Labels, again.Labels) || fmt.Sprint(first.Clusters) != fmt.Sprint(again.Clusters) {
		t.Errorf("%+v, again %+v", first.Certificate, again.Certificate)
	}
}

// Neither the order of units and groups nor the number of workers matters.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.IntRange(1, 2).Draw(t, "dims")
		b := drawRun(t, dims, 40)
		o := drawOptions(t, &b, dims)
		o.Filter = space.Filter{Auto: rapid.Bool().Draw(t, "auto")}
		if rapid.Bool().Draw(t, "isFixed") {
			o.Fixed = &grouping.Density{Eps: 40, MinPts: 4}
		}
		gone := rapid.SampledFrom([]int{0, 2, 1}).Draw(t, "gone") // every so many-th cell
		run := func(shuffle func([]int) []int) (*memory, *microcell.Result) {
			s, m := summed(t, b, o, 10/math.Sqrt(float64(dims)), shuffle)
			s.MostSplit = 60
			if gone > 0 {
				m.gone = func(unit int32) bool { return m.units[unit].Cell.Key[0]%int32(gone) == 0 }
			}
			if shuffle != nil {
				last := len(s.Groups) - 1
				slices.Reverse(s.Groups)
				for i := range s.Units {
					s.Units[i].Group = last - s.Units[i].Group
					m.units[i].Group = s.Units[i].Group
				}
			}
			return m, compute(t, s, m, o)
		}
		m, want := run(nil)
		o.Workers = 5
		p, got := run(func(order []int) []int { return rapid.Permutation(order).Draw(t, "order") })
		for row, i := range m.unit {
			if k := p.unit[row]; i >= 0 && (got.Labels[k] != want.Labels[i] || way(got.Tree, got.Lineage[k]) != way(want.Tree, want.Lineage[i])) {
				t.Fatalf("burst %d: label %d, want %d", row, got.Labels[k], want.Labels[i])
			}
		}
		for _, r := range []*microcell.Result{got, want} {
			r.Units, r.Labels, r.Lineage = nil, nil, nil
		}
		tree, wanted := shape(got.Tree), shape(want.Tree)
		got.Tree, want.Tree = nil, nil
		if x, y := fmt.Sprintf("%+v %+v", *got, tree), fmt.Sprintf("%+v %+v", *want, wanted); x != y {
			t.Fatalf("%s, want\n%s", x, y)
		}
	})
}

// Compute does not change the set.
func TestComputeDoesNotChangeTheSet(t *testing.T) {
	b, o := byA(100, 0, 2, 11, 12)
	o.Fixed = &grouping.Density{Eps: 10, MinPts: 2}
	s, m := summed(t, b, o, 2.5, nil)
	s.Units = slices.Grow(s.Units, 10) // room to be written to
	before := slices.Clone(s.Units)
	cells := []cell.Cell{s.Units[0].Cell, s.Units[1].Cell}
	if r := compute(t, s, m, o); r.Certificate.Split != 2 || len(r.Units) != 6 {
		t.Fatalf("%+v", r.Certificate)
	}
	if !reflect.DeepEqual(s.Units, before) || s.Units[0].Cell != cells[0] || s.Units[1].Cell != cells[1] || o.Fixed.Eps != 10 {
		t.Errorf("%+v, were %+v", s.Units, before)
	}
}
