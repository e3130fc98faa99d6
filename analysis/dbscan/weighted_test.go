package dbscan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
	"moriens/analysis/dbscan"
)

// summed is points in cells of a side; of says which cell each point is in.
func summed(t rapid.TB, p dbscan.Points, side float64) (cells []cell.Cell, of []int) {
	t.Helper()
	s, err := cell.NewSet(p.Dims, side)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(p.Coords); err != nil {
		return nil, nil
	}
	cells = s.Cells()
	for i := range p.Len() {
		key, err := s.KeyOf(p.Coords[i*p.Dims:])
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, slices.IndexFunc(cells, func(c cell.Cell) bool { return c.Key == key }))
	}
	return cells, of
}

// drawSummed draws points, what to ask about them, and their cells; of is nil if they are too far out for cells of
// their side.
func drawSummed(t *rapid.T) (p dbscan.Points, eps float64, minPts int, cells []cell.Cell, of []int) {
	p, eps = drawPoints(t, 4, 80)
	minPts = rapid.IntRange(1, 10).Draw(t, "minPts")
	side := eps / rapid.SampledFrom([]float64{.5, 1, 2, 4, 16}).Draw(t, "fineness")
	if !(side > 0) || math.IsInf(side, 0) {
		side = .1
	}
	cells, of = summed(t, p, side)
	return p, eps, minPts, cells, of
}

// An answer that is said to be exact is; and where it is not, the points of the cells in question make it
// so within a few rounds.
func TestWeightedIsExact(t *testing.T) {
	firstTime, rounds := 0, 0
	property := func(t *rapid.T) {
		p, eps, minPts, cells, of := drawSummed(t)
		if of == nil {
			return
		}
		want := reference(p, eps, minPts)
		for round := 0; ; round++ {
			var first *dbscan.Weighting
			for _, threads := range []int{1, 8} {
				w, err := dbscan.Weighted(p.Dims, cells, eps, minPts, threads)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = w
				} else if w.Exact != first.Exact || !slices.Equal(w.Labels, first.Labels) || !slices.Equal(w.Questions, first.Questions) {
					t.Fatalf("%d threads: %+v, 1 thread %+v", threads, w, first)
				}
			}
			if first.Exact {
				if first.Clusters != want.Clusters || len(first.Questions) > 0 {
					t.Fatalf("%d clusters, want %d; %d questions", first.Clusters, want.Clusters, len(first.Questions))
				}
				for i, c := range of {
					if first.Labels[c] != want.Labels[i] {
						t.Fatalf("point %d in cell %d: label %d, want %d", i, c, first.Labels[c], want.Labels[i])
					}
				}
				if round == 0 {
					firstTime++
				}
				rounds = max(rounds, round)
				return
			}
			if len(first.Questions) == 0 {
				t.Fatal("neither exact nor a question")
			}
			cells, of = answer(p, cells, of, first.Questions)
		}
	}
	// Chance may draw as few as a short test takes without one or the other.
	for try := 0; (firstTime == 0 || rounds == 0) && try < 100; try++ {
		rapid.Check(t, property)
	}
	t.Logf("exact at once: %d; at most %d rounds of questions", firstTime, rounds)
	if firstTime == 0 || rounds == 0 {
		t.Error("both should happen")
	}
}

// weightedReference compares each two cells, and asks for those that a definite answer could depend on.
func weightedReference(dims int, cells []cell.Cell, eps float64, minPts int) (labels []int32, questions []int32) {
	part, exponent := math.Frexp(eps)
	n := len(cells)
	near, all := make([][]bool, n), make([][]bool, n) // some points within Eps, perhaps; all, for sure
	for i := range cells {
		near[i], all[i] = make([]bool, n), make([]bool, n)
		for k := range cells {
			var least, most float64
			for j := range dims {
				gap := max(cells[i].Lo[j]-cells[k].Hi[j], cells[k].Lo[j]-cells[i].Hi[j], 0)
				span := max(cells[i].Hi[j]-cells[k].Lo[j], cells[k].Hi[j]-cells[i].Lo[j])
				gap, span = math.Ldexp(gap, -exponent), math.Ldexp(span, -exponent)
				least, most = least+float64(gap*gap), most+float64(span*span)
			}
			near[i][k], all[i][k] = least <= part*part, most <= part*part
		}
	}
	asked := make([]bool, n)
	known := func() bool {
		questions = nil
		for i := range cells {
			if asked[i] && cells[i].Lo != cells[i].Hi {
				questions = append(questions, int32(i))
			}
		}
		return len(questions) == 0
	}
	core, perhaps := make([]bool, n), make([]bool, n)
	for i := range cells {
		var least, most int64
		for k := range cells {
			if near[i][k] {
				most += cells[k].Count
			}
			if all[i][k] {
				least += cells[k].Count
			}
		}
		if !all[i][i] {
			least++
		}
		core[i] = least >= int64(minPts)
		perhaps[i] = !core[i] && most >= int64(minPts)
	}
	doubt := func(i int) {
		asked[i] = true
		for k := range cells {
			asked[k] = asked[k] || perhaps[i] && near[i][k] && !all[i][k]
		}
	}
	const none = -1
	set := make([]int, n)
	for i := range set {
		if set[i] = i; !core[i] {
			set[i] = none
		}
	}
	for i := range cells {
		for k := range cells {
			if from, to := set[i], set[k]; core[i] && core[k] && all[i][k] && from != to {
				for j := range set {
					if set[j] == from {
						set[j] = to
					}
				}
			}
		}
	}
	for i := range cells {
		if !perhaps[i] {
			continue
		}
		sure := make(map[int]bool)
		for k := range cells {
			if core[k] && all[i][k] {
				sure[set[k]] = true
			}
		}
		if len(sure) != 1 {
			doubt(i)
			continue
		}
		for s := range sure {
			set[i] = s
		}
	}
	smallest := make(map[int]int) // per set: the cell
	for i := range cells {
		if core[i] && !all[i][i] {
			doubt(i)
		}
		for k := range cells {
			if set[i] != none && set[k] != none && set[i] != set[k] && near[i][k] {
				doubt(i)
			}
		}
		if at, seen := smallest[set[i]]; core[i] && (!seen || slices.Compare(cells[i].Lo[:dims], cells[at].Lo[:dims]) < 0) {
			smallest[set[i]] = i
		}
	}
	number := make(map[int]int32)
	for s, at := range smallest {
		for other, b := range smallest {
			if other == s {
				continue
			}
			before := slices.Compare(cells[b].Lo[:dims], cells[at].Lo[:dims])
			if before < 0 {
				number[s]++
			}
			for i := range cells {
				if set[i] == s && cells[i].Lo[0] <= cells[b].Lo[0] && (before < 0 || cells[b].Lo[0] == cells[at].Lo[0]) {
					doubt(i)
				}
			}
		}
	}
	if !known() {
		return nil, questions
	}
	for i := range cells {
		if set[i] != none {
			labels = append(labels, number[set[i]])
			continue
		}
		best := dbscan.Noise
		for k := range cells {
			if core[k] && all[i][k] && (best == dbscan.Noise || number[set[k]] < best) {
				best = number[set[k]]
			}
		}
		for k := range cells {
			if set[k] != none && near[i][k] && (best == dbscan.Noise || number[set[k]] < best) {
				asked[i] = true
				doubt(k)
			}
		}
		labels = append(labels, best)
	}
	if !known() {
		return nil, questions
	}
	return labels, nil
}

// No more is asked than the definition leaves open, and no less.
func TestWeightedIsTheReference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	exact, open := 0, make(map[bool]int)
	for trial := range 4000 {
		dims := 1 + trial%4
		p, width := kindsOfPoints(random, 10+random.IntN(120), dims)
		eps := width * []float64{.02, .1, .3, 1.5}[random.IntN(4)]
		minPts := []int{1, 2, 4, 10, 50}[random.IntN(5)]
		var cells []cell.Cell
		var of []int
		if random.IntN(2) == 0 {
			cells, of = summed(t, p, eps/[]float64{.3, 1, 3, 8}[random.IntN(4)])
		} else { // few, most of them places, so that labels and numbers are what is left to ask about
			for i := range min(p.Len(), 4+random.IntN(16)) {
				c := cell.Of(p.Coords[i*dims:(i+1)*dims], []int64{1, 3, 6, 60}[random.IntN(4)])
				for j := range c.Hi[:dims] {
					c.Hi[j] += eps * []float64{0, 0, 0, 0, .1, .6}[random.IntN(6)]
				}
				cells = append(cells, c)
			}
		}
		labels, questions := weightedReference(dims, cells, eps, minPts)
		for _, threads := range []int{1, 4} {
			got, err := dbscan.Weighted(dims, cells, eps, minPts, threads)
			if err != nil {
				t.Fatal(err)
			}
			if got.Exact != (questions == nil) || !slices.Equal(got.Labels, labels) || !slices.Equal(got.Questions, questions) {
				t.Fatalf("trial %d, %d-D, %d cells, Eps %v, MinPts %d, %d threads: %+v, want %v, questions %v",
					trial, dims, len(cells), eps, minPts, threads, got, labels, questions)
			}
		}
		if questions == nil {
			exact++
			want := reference(p, eps, minPts)
			for i, c := range of {
				if labels[c] != want.Labels[i] {
					t.Fatalf("trial %d: point %d in cell %d: label %d, want %d", trial, i, c, labels[c], want.Labels[i])
				}
			}
		}
		open[len(questions) > 10]++
	}
	t.Logf("%d exact, %v", exact, open)
	if exact == 0 || open[true] == 0 {
		t.Error("both should happen")
	}
}

// answer replaces cells by their points.
func answer(p dbscan.Points, cells []cell.Cell, of []int, questions []int32) ([]cell.Cell, []int) {
	var out []cell.Cell
	moved := make([]int, len(cells))
	for i, c := range cells {
		moved[i] = len(out)
		if !slices.Contains(questions, int32(i)) {
			out = append(out, c)
		} else {
			moved[i] = -1
		}
	}
	now := make([]int, len(of))
	for i, c := range of {
		now[i] = moved[c]
		if now[i] < 0 {
			now[i] = len(out)
			out = append(out, cell.Of(p.Coords[i*p.Dims:(i+1)*p.Dims], 1))
		}
	}
	return out, now
}

// Cells that are small against Eps decide nearly all by themselves.
func TestFewQuestions(t *testing.T) {
	p := burstLike(5_000, 2)
	cells, of := summed(t, p, .02/8)
	questions := 0
	for round := 0; ; round++ {
		w, err := dbscan.Weighted(2, cells, .02, 5, 2)
		if err != nil {
			t.Fatal(err)
		}
		if w.Exact {
			want := reference(p, .02, 5)
			for i, c := range of {
				if w.Labels[c] != want.Labels[i] {
					t.Fatalf("point %d: label %d, want %d", i, w.Labels[c], want.Labels[i])
				}
			}
			break
		}
		for _, i := range w.Questions {
			questions += int(cells[i].Count)
		}
		cells, of = answer(p, cells, of, w.Questions)
		if round > 10 {
			t.Fatal("no end of questions")
		}
	}
	if questions > p.Len()/3 {
		t.Errorf("%d of %d points were asked for", questions, p.Len())
	}
	t.Logf("%d cells at the end, %d points asked for", len(cells), questions)
}

func TestWeightedMistakes(t *testing.T) {
	good := cell.Of([]float64{1, 2}, 3)
	for _, c := range []struct {
		dims   int
		change func(*cell.Cell)
		eps    float64
		minPts int
		want   string
	}{
		{0, func(*cell.Cell) {}, 1, 1, "0 dimensions"},
		{9, func(*cell.Cell) {}, 1, 1, "9 dimensions"},
		{2, func(*cell.Cell) {}, -1, 1, "Eps -1"},
		{2, func(*cell.Cell) {}, 1, 0, "MinPts 0"},
		{2, func(c *cell.Cell) { c.Count = 0 }, 1, 1, "cell 1: 0 points"},
		{2, func(c *cell.Cell) { c.Count = math.MaxInt64 }, 1, 1, "cell 1: 9223372036854775807 points"},
		{2, func(c *cell.Cell) { c.Lo[1] = 7 }, 1, 1, "cell 1: dimension 1: from 7 to 2"},
		{2, func(c *cell.Cell) { c.Hi[0] = math.NaN() }, 1, 1, "cell 1: dimension 0: from 1 to NaN"},
		{2, func(c *cell.Cell) { c.Hi[0] = math.Inf(1) }, 1, 1, "cell 1: dimension 0: from 1 to +Inf"},
	} {
		bad := good
		c.change(&bad)
		if _, err := dbscan.Weighted(c.dims, []cell.Cell{good, bad}, c.eps, c.minPts, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
	if w, err := dbscan.Weighted(2, nil, 1, 1, 1); err != nil || !w.Exact || w.Clusters != 0 {
		t.Errorf("no cells: %+v, %v", w, err)
	}
}
