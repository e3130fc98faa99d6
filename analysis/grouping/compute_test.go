package grouping_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
)

func compute(t interface{ Fatal(...any) }, b grouping.Bursts, o grouping.Options) *grouping.Result {
	r, err := grouping.Compute(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestComputeByHand(t *testing.T) {
	b := grouping.Bursts{
		Columns: space.Columns{
			//                   pair 1→2            | pair 2→1      | 3→3 | filtered, missing
			DurationNS:   []int64{100, 100, 102, 500, 200, 200, 200, 90, 3, 100},
			CounterNames: []string{"INS", "L2"},
			Counters: [][]int64{
				{10, 10, 10, 70, 4, 6, 8, 5, 5, -1},
				{0, -1, 4, 1, -1, -1, -1, 9, 9, 9},
			},
		},
		Before: []uint32{1, 1, 1, 1, 2, 2, 2, 3, 1, 1},
		After:  []uint32{2, 2, 2, 2, 1, 1, 1, 3, 2, 2},
	}
	dims := []space.Dim{{Num: space.Duration}, {Num: "INS"}}
	r := compute(t, b, grouping.Options{
		Dims: dims, Filter: space.Filter{MinNS: 50}, Fixed: &grouping.Density{Eps: 2.5, MinPts: 2},
	})
	if want := []int32{2, 2, 2, -1, 1, 1, 1, 3, -2, -3}; !slices.Equal(r.Labels, want) {
		t.Fatalf("labels %v, want %v", r.Labels, want)
	}
	nan := math.NaN()
	const total = 1595
	wantClusters := []grouping.Cluster{
		{ID: 1, Group: 1, Bursts: 3, TimeNS: 600, Share: 600. / total, MeanNS: 200, Eps: 2.5, MinPts: 2, Score: nan, Node: 1,
			Before: []grouping.PathCount{{Path: 2, Bursts: 3}}, After: []grouping.PathCount{{Path: 1, Bursts: 3}},
			CounterMean: []float64{6, nan}, CounterStd: []float64{math.Sqrt(8. / 3), nan}},
		{ID: 2, Group: 0, Bursts: 3, TimeNS: 302, Share: 302. / total, MeanNS: 302. / 3, StdNS: math.Sqrt(8) / 3, Eps: 2.5, MinPts: 2, Score: nan, Node: 2,
			Before: []grouping.PathCount{{Path: 1, Bursts: 3}}, After: []grouping.PathCount{{Path: 2, Bursts: 3}},
			CounterMean: []float64{10, 2}, CounterStd: []float64{0, 2}},
		{ID: 3, Group: 2, Bursts: 1, TimeNS: 90, Share: 90. / total, MeanNS: 90, MinPts: 2, Rare: true, Score: nan, Node: 3,
			Before: []grouping.PathCount{{Path: 3, Bursts: 1}}, After: []grouping.PathCount{{Path: 3, Bursts: 1}},
			CounterMean: []float64{5, 9}, CounterStd: []float64{0, 0}},
	}
	if len(r.Clusters) != len(wantClusters) {
		t.Fatalf("%d clusters, want %d", len(r.Clusters), len(wantClusters))
	}
	for i, want := range wantClusters {
		if !sameCluster(r.Clusters[i], want) {
			t.Errorf("cluster\n%+v, want\n%+v", r.Clusters[i], want)
		}
	}
	wantGroups := []grouping.Group{
		{Before: 1, After: 2, Bursts: 4, TimeNS: 802, Eps: 2.5, MinPts: 2, From: grouping.FromFixed, Clusters: 1, NoiseBursts: 1},
		{Before: 2, After: 1, Bursts: 3, TimeNS: 600, Eps: 2.5, MinPts: 2, From: grouping.FromFixed, Clusters: 1},
		{Before: 3, After: 3, Bursts: 1, TimeNS: 90, MinPts: 2, From: grouping.FromNone, Clusters: 1},
	}
	if !slices.Equal(r.Groups, wantGroups) {
		t.Errorf("groups\n%+v, want\n%+v", r.Groups, wantGroups)
	}
	if want := (grouping.Tally{Bursts: 1, TimeNS: 500, Share: 500. / total}); r.Noise != want {
		t.Errorf("noise %+v, want %+v", r.Noise, want)
	}
	if want := (grouping.Tally{Bursts: 7, TimeNS: 992, Share: 992. / total}); r.Clustered != want {
		t.Errorf("clustered %+v, want %+v", r.Clustered, want)
	}
	if r.TotalNS != total || r.Selection.Bursts != [4]int{8, 1, 1, 0} {
		t.Errorf("%d ns of %v bursts", r.TotalNS, r.Selection.Bursts)
	}

	// The same without splitting: bursts 0 to 2 and 7 to 9 are not near, but 4 to 6 are of one kind.
	r = compute(t, b, grouping.Options{
		Dims: dims[:1], By: grouping.ByNone, Filter: space.Filter{MinNS: 50}, Fixed: &grouping.Density{Eps: 12, MinPts: 2},
	})
	if want := []int32{2, 2, 2, -1, 1, 1, 1, 2, -2, 2}; !slices.Equal(r.Labels, want) {
		t.Fatalf("labels %v, want %v", r.Labels, want)
	}
	if want := []grouping.PathCount{{Path: 1, Bursts: 4}, {Path: 3, Bursts: 1}}; !slices.Equal(r.Clusters[1].Before, want) {
		t.Errorf("before: %+v, want %+v", r.Clusters[1].Before, want)
	}
	b.Before, b.After = nil, nil
	r = compute(t, b, grouping.Options{Dims: dims[:1], By: grouping.ByNone, Fixed: &grouping.Density{Eps: 12, MinPts: 2}})
	if r.Clusters[0].Before != nil {
		t.Errorf("before: %+v, want none", r.Clusters[0].Before)
	}
}

// sameCluster takes NaN for equal to NaN and allows for rounding.
func sameCluster(a, b grouping.Cluster) bool {
	near := func(x, y float64) bool {
		return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-12*math.Abs(y)
	}
	same := near(a.StdNS, b.StdNS) && near(a.Score, b.Score) && near(a.MeanNS, b.MeanNS) &&
		slices.EqualFunc(a.CounterMean, b.CounterMean, near) && slices.EqualFunc(a.CounterStd, b.CounterStd, near)
	for _, c := range []*grouping.Cluster{&a, &b} {
		c.StdNS, c.MeanNS, c.Score, c.CounterMean, c.CounterStd = 0, 0, 0, nil, nil
	}
	return same && reflect.DeepEqual(a, b)
}

func TestEqualTimesAreNumberedByKey(t *testing.T) {
	b := grouping.Bursts{
		Columns: space.Columns{DurationNS: []int64{30, 30, 20, 20, 20, 60, 60}},
		Before:  []uint32{7, 7, 7, 7, 7, 2, 2},
		After:   []uint32{1, 1, 1, 1, 1, 9, 9},
	}
	o := grouping.Options{Dims: []space.Dim{{Num: space.Duration}}, Fixed: &grouping.Density{MinPts: 2}}
	// 120 ns of pair 2→9, then 60 each, of which the one with the smaller duration is first.
	if r := compute(t, b, o); !slices.Equal(r.Labels, []int32{3, 3, 2, 2, 2, 1, 1}) {
		t.Errorf("labels %v", r.Labels)
	}
	b.DurationNS = []int64{30, 30, 20, 20, 20, 30, 30}
	// All have 60 ns: 2→9 is first by its call paths.
	if r := compute(t, b, o); !slices.Equal(r.Labels, []int32{3, 3, 2, 2, 2, 1, 1}) {
		t.Errorf("labels %v", r.Labels)
	}
}

func TestAutomaticDensity(t *testing.T) {
	equal := func(n int) grouping.Bursts {
		return grouping.Bursts{
			Columns: space.Columns{DurationNS: slices.Repeat([]int64{100}, n)},
			Before:  make([]uint32, n), After: make([]uint32, n),
		}
	}
	spread := planted(3000, 1, 1)
	for i := range spread.DurationNS { // 4 decades without structure
		spread.DurationNS[i] = int64(1000 * math.Exp(9*float64(i)/3000))
	}
	spread.DurationNS[0], spread.DurationNS[1], spread.DurationNS[2] = 1, 5, 30
	for _, c := range []struct {
		name   string
		bursts grouping.Bursts
		o      grouping.Options
		want   grouping.Group // what of it is not 0
	}{
		{"fewer than 4", equal(3), grouping.Options{}, grouping.Group{MinPts: 4, From: grouping.FromNone}},
		{"4", equal(4), grouping.Options{}, grouping.Group{MinPts: 4, From: grouping.FromFloor, Eps: .1}},
		{"a quarter of the threads", equal(50), grouping.Options{JobThreads: 64}, grouping.Group{MinPts: 16, From: grouping.FromFloor, Eps: .1}},
		{"rare among many threads", equal(50), grouping.Options{JobThreads: 800}, grouping.Group{MinPts: 200, From: grouping.FromNone}},
		{"n/200", equal(2000), grouping.Options{JobThreads: 16}, grouping.Group{MinPts: 10, From: grouping.FromFloor, Eps: .1}},
		{"MinPts given", equal(2000), grouping.Options{JobThreads: 16, MinPts: 5}, grouping.Group{MinPts: 5, From: grouping.FromFloor, Eps: .1}},
		{"resolution given", equal(9), grouping.Options{Resolution: .3}, grouping.Group{MinPts: 4, From: grouping.FromFloor, Eps: .3}},
		{"no resolution", equal(9), grouping.Options{Resolution: -1, Kinds: grouping.KindsByScore}, grouping.Group{MinPts: 4, From: grouping.FromFloor}},
		{"fixed", equal(9), grouping.Options{Fixed: &grouping.Density{Eps: .7, MinPts: 3}, Resolution: 2}, grouping.Group{MinPts: 3, From: grouping.FromFixed, Eps: .7}},
		{"knee", spread, grouping.Options{Resolution: .01}, grouping.Group{MinPts: 15, From: grouping.FromKnee}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Dims = logDuration
			r := compute(t, c.bursts, c.o)
			g := r.Groups[0]
			if g.MinPts != c.want.MinPts || g.From != c.want.From || g.From != grouping.FromKnee && g.Eps != c.want.Eps {
				t.Errorf("%+v, want %+v", g, c.want)
			}
			if g.From == grouping.FromKnee && (g.Eps != g.Knee || g.Eps <= .01) {
				t.Errorf("%+v: Eps is not its knee", g)
			}
			zero := g.Eps == 0 && g.From == grouping.FromFloor
			if warned := strings.Contains(strings.Join(r.Warnings, "; "), "Eps is 0"); warned != zero {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

// Ids that differ only in one of their bits, in no order.
func TestPathsOfAllSizesAreSplit(t *testing.T) {
	var b grouping.Bursts
	for range 3 {
		for bit := 31; bit >= 0; bit-- {
			b.DurationNS = append(b.DurationNS, 10)
			b.Before = append(b.Before, 1<<bit)
			b.After = append(b.After, 1<<(31-bit))
		}
	}
	r := compute(t, b, grouping.Options{Dims: logDuration})
	if len(r.Groups) != 32 {
		t.Fatalf("%d groups, want 32", len(r.Groups))
	}
	for i, g := range r.Groups {
		if g.Before != 1<<i || g.After != 1<<(31-i) || g.Bursts != 3 {
			t.Errorf("group %d: %+v", i, g)
		}
	}
}

func TestDefaultResolution(t *testing.T) {
	for spec, want := range map[string]float64{
		"duration":              .1,
		"PAPI_TOT_INS:log,IPC":  .02,
		"duration,IPC":          .1,
		"PAPI_TOT_INS/duration": .02,
		"duration/A:log":        .1,
		"A/duration:log":        .1,
		"duration:lin":          0,
		"PAPI_TOT_INS:lin,A/B":  .02,
	} {
		dims, err := space.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := grouping.DefaultResolution(dims); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name      string
		durations []int64
		counter   []int64
		dims      string
		filter    space.Filter
		want      string
	}{
		{"none", nil, nil, "duration", space.Filter{}, "no bursts"},
		{"all missing", []int64{5, 5}, []int64{-1, -1}, "A", space.Filter{}, "no bursts left to cluster: 2 lack data for the dimensions, 0 are filtered"},
		{"all filtered", []int64{5, 5}, []int64{1, 1}, "A", space.Filter{MinNS: 9}, "0 lack data for the dimensions, 2 are filtered"},
		{"some missing", []int64{5, 5, 10}, []int64{1, -1, 4}, "A", space.Filter{}, "1 bursts with 25.0 % of the computing time lack data"},
		{"constant", []int64{5, 7, 10}, []int64{4, 4, 4}, "duration,A:lin", space.Filter{}, "dimension A:lin separates no bursts: it is 4 in all of them"},
		{"nothing to say", []int64{5, 7, 10}, []int64{4, 5, 4}, "duration,A:lin", space.Filter{}, ""},
	} {
		b := grouping.Bursts{Columns: space.Columns{
			DurationNS: c.durations, CounterNames: []string{"A"}, Counters: [][]int64{c.counter}}}
		dims, err := space.Parse(c.dims)
		if err != nil {
			t.Fatal(err)
		}
		r := compute(t, b, grouping.Options{Dims: dims, By: grouping.ByNone, Filter: c.filter})
		got := strings.Join(r.Warnings, "; ")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBadInput(t *testing.T) {
	paths := []uint32{1, 2}
	durations := space.Columns{DurationNS: []int64{5, 6}}
	good := grouping.Bursts{Columns: durations, Before: paths, After: paths}
	for _, c := range []struct {
		want   string
		bursts grouping.Bursts
		o      grouping.Options
	}{
		{"0 dimensions", good, grouping.Options{Dims: []space.Dim{}}},
		{"0 call paths for 2 bursts", grouping.Bursts{Columns: durations}, grouping.Options{}},
		{"1 call paths for 2 bursts", grouping.Bursts{Columns: durations, Before: paths[:1], After: paths[:1]}, grouping.Options{By: grouping.ByNone}},
		{"2 call paths before bursts, 0 after", grouping.Bursts{Columns: durations, Before: paths}, grouping.Options{}},
		{"no way 9", good, grouping.Options{By: 9}},
		{"Eps NaN", good, grouping.Options{Fixed: &grouping.Density{Eps: math.NaN(), MinPts: 1}}},
		{"Eps -1", good, grouping.Options{Fixed: &grouping.Density{Eps: -1, MinPts: 1}}},
		{"MinPts 0", good, grouping.Options{Fixed: &grouping.Density{Eps: 1}}},
		{"one of them", good, grouping.Options{Fixed: &grouping.Density{Eps: 1, MinPts: 1}, MinPts: 3}},
		{"MinPts -3", good, grouping.Options{MinPts: -3}},
		{"resolution NaN", good, grouping.Options{Resolution: math.NaN()}},
		{"job of -1 threads", good, grouping.Options{JobThreads: -1}},
		{"minimal duration", good, grouping.Options{Filter: space.Filter{MinNS: -1}}},
	} {
		if c.o.Dims == nil {
			c.o.Dims = logDuration
		}
		if _, err := grouping.Compute(c.bursts, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %q", err, c.want)
		}
	}
	if _, err := grouping.ParseBy("ranks"); err == nil {
		t.Error("bursts are split by ranks")
	}
	if by, err := grouping.ParseBy("none"); by != grouping.ByNone || err != nil {
		t.Errorf("none is read as %v, %v", by, err)
	}
}

func drawBursts(t *rapid.T) grouping.Bursts {
	n := rapid.IntRange(0, 300).Draw(t, "n")
	paths := rapid.SampledFrom([]uint32{1, 3, 5000, math.MaxUint32}).Draw(t, "paths")
	kinds := rapid.SliceOfN(rapid.Int64Range(0, 1e7), 1, 5).Draw(t, "kinds")
	b := grouping.Bursts{Before: make([]uint32, n), After: make([]uint32, n)}
	b.DurationNS, b.CounterNames, b.Counters = make([]int64, n), []string{"A"}, [][]int64{make([]int64, n)}
	for i := range n {
		b.Before[i] = rapid.Uint32Range(0, paths).Draw(t, "before")
		b.After[i] = rapid.Uint32Range(0, paths).Draw(t, "after")
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		b.DurationNS[i] = kind + rapid.Int64Range(0, kind/50).Draw(t, "jitter")
		b.Counters[0][i] = rapid.Int64Range(-1, 20).Draw(t, "counter")
	}
	return b
}

func drawOptions(t *rapid.T) grouping.Options {
	spec := rapid.SampledFrom([]string{"duration", "A:lin", "duration,A:log", "A/duration"}).Draw(t, "dims")
	dims, err := space.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	o := grouping.Options{
		Dims:       dims,
		By:         rapid.SampledFrom([]grouping.By{grouping.ByCalls, grouping.ByNone}).Draw(t, "by"),
		Filter:     space.Filter{Auto: rapid.Bool().Draw(t, "auto")},
		JobThreads: rapid.SampledFrom([]int{0, 2, 40}).Draw(t, "threads"),
	}
	if rapid.Bool().Draw(t, "isFixed") {
		o.Fixed = &grouping.Density{Eps: rapid.Float64Range(0, 1).Draw(t, "eps"), MinPts: rapid.IntRange(1, 6).Draw(t, "minPts")}
	}
	return o
}

// With one density the answer is what grouping by a map and clustering each group by itself gives.
func TestComputeIsGroupByGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		o.Fixed = cmp.Or(o.Fixed, &grouping.Density{Eps: .1, MinPts: 4})
		r := compute(t, b, o)
		s, err := space.New(b.Columns, o.Dims)
		if err != nil {
			t.Fatal(err)
		}
		groups := map[[2]uint32][]int32{}
		for row, status := range r.Selection.Status {
			switch want := map[space.Status]int32{space.Missing: -3, space.Short: -2}[status]; {
			case want != 0 && r.Labels[row] != want:
				t.Fatalf("row %d of status %d has label %d", row, status, r.Labels[row])
			case want != 0:
			case o.By == grouping.ByNone:
				groups[[2]uint32{}] = append(groups[[2]uint32{}], int32(row))
			default:
				pair := [2]uint32{b.Before[row], b.After[row]}
				groups[pair] = append(groups[pair], int32(row))
			}
		}
		if len(r.Groups) != len(groups) {
			t.Fatalf("%d groups, want %d", len(r.Groups), len(groups))
		}
		clusters := 0
		for _, g := range r.Groups {
			rows := groups[[2]uint32{g.Before, g.After}]
			want := &dbscan.Result{Labels: make([]int32, len(rows)), Clusters: 1}
			if len(rows) >= g.MinPts {
				p := dbscan.Points{Dims: len(o.Dims), Coords: s.Coordinates(nil, rows)}
				if want, err = dbscan.Cluster(p, g.Eps, g.MinPts, 1); err != nil {
					t.Fatal(err)
				}
			}
			clusters += want.Clusters
			ids := map[int32]int32{dbscan.Noise: grouping.LabelNoise}
			for i, row := range rows {
				id, seen := ids[want.Labels[i]]
				if !seen {
					id = r.Labels[row]
					ids[want.Labels[i]] = id
				}
				if r.Labels[row] != id {
					t.Fatalf("row %d has label %d, others of its cluster %d", row, r.Labels[row], id)
				}
			}
			if len(rows) != g.Bursts || want.Clusters != g.Clusters {
				t.Fatalf("%+v has %d bursts and %d clusters", g, len(rows), want.Clusters)
			}
		}
		if len(r.Clusters) != clusters {
			t.Fatalf("%d clusters, want %d", len(r.Clusters), clusters)
		}
		checkSums(t, b, r)
	})
}

func checkSums(t *rapid.T, b grouping.Bursts, r *grouping.Result) {
	count, time := map[int32]int{}, map[int32]int64{}
	for row, label := range r.Labels {
		count[label]++
		time[label] += b.DurationNS[row]
	}
	for i, k := range r.Clusters {
		if k.ID != int32(i+1) || k.Bursts != count[k.ID] || k.TimeNS != time[k.ID] || k.Bursts == 0 {
			t.Fatalf("cluster %d: %+v, by its labels %d bursts of %d ns", i, k, count[k.ID], time[k.ID])
		}
		if i > 0 && k.TimeNS > r.Clusters[i-1].TimeNS {
			t.Fatalf("cluster %d has more time than %d", k.ID, k.ID-1)
		}
		sum := 0
		for j, p := range k.After {
			sum += p.Bursts
			if j > 0 && p.Bursts > k.After[j-1].Bursts {
				t.Fatalf("cluster %d: paths %+v", k.ID, k.After)
			}
		}
		if sum != k.Bursts {
			t.Fatalf("cluster %d: paths of %d bursts, want %d", k.ID, sum, k.Bursts)
		}
	}
	if r.Noise.Bursts != count[-1] || r.Noise.TimeNS != time[-1] {
		t.Fatalf("noise %+v, by its labels %d bursts of %d ns", r.Noise, count[-1], time[-1])
	}
	all := r.Noise.Share + r.Clustered.Share + grouping.Share(r.Selection.TimeNS[space.Missing]+r.Selection.TimeNS[space.Short], r.TotalNS)
	if r.TotalNS > 0 && math.Abs(all-1) > 1e-9 {
		t.Fatalf("the shares of time add up to %v", all)
	}
}

func TestOrderAndWorkersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		order := make([]int, b.Len())
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var q grouping.Bursts
		q.CounterNames, q.Counters = b.CounterNames, [][]int64{nil}
		for _, from := range order {
			q.DurationNS = append(q.DurationNS, b.DurationNS[from])
			q.Counters[0] = append(q.Counters[0], b.Counters[0][from])
			q.Before = append(q.Before, b.Before[from])
			q.After = append(q.After, b.After[from])
		}
		want := compute(t, b, o)
		for _, workers := range []int{2, 8} {
			o.Workers = workers
			if got := compute(t, b, o); !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Groups, want.Groups) {
				t.Fatalf("%d workers give another answer than 1", workers)
			}
			permuted := compute(t, q, o)
			for to, from := range order {
				if permuted.Labels[to] != want.Labels[from] {
					t.Fatalf("burst %d: %d in its place, %d permuted", from, want.Labels[from], permuted.Labels[to])
				}
			}
			if !slices.Equal(permuted.Groups, want.Groups) {
				t.Fatalf("groups\n%+v, permuted\n%+v", want.Groups, permuted.Groups)
			}
		}
	})
}
