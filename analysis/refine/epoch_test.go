package refine_test

import (
	"math"
	"slices"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

// epoch is the real trace by ln INS × IPC over their range, as ClusteringSuite has it.
func epoch(t testing.TB) (refine.Bursts, []float64) {
	read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := read.Run
	column := func(name string) int {
		for i, c := range run.Counters {
			if c.Name == name {
				return i
			}
		}
		t.Fatalf("no counter %s", name)
		return 0
	}
	ins, cyc := column("PAPI_TOT_INS"), column("PAPI_TOT_CYC")
	var b refine.Bursts
	var x, y []float64
	g := refine.Group{MinPts: 2, Points: dbscan.Points{Dims: 2}}
	for i := range run.Threads {
		bursts := &run.Threads[i].Bursts
		for k, d := range bursts.DurationNS {
			if v, c := bursts.Counters[ins][k], bursts.Counters[cyc][k]; v > 0 && c > 0 {
				g.Rows = append(g.Rows, int32(len(b.DurationNS)))
				x = append(x, math.Log(float64(v)))
				y = append(y, float64(v)/float64(c))
			}
			b.DurationNS = append(b.DurationNS, d)
		}
		b.Ends = append(b.Ends, len(b.DurationNS))
	}
	x0, y0, dx, dy := slices.Min(x), slices.Min(y), slices.Max(x)-slices.Min(x), slices.Max(y)-slices.Min(y)
	for i := range x {
		g.Points.Coords = append(g.Points.Coords, (x[i]-x0)/dx, (y[i]-y0)/dy)
	}
	if g.Index, err = dbscan.NewIndex(g.Points, 2); err != nil {
		t.Fatal(err)
	}
	curve, err := g.Index.KDistance(g.MinPts, len(g.Rows))
	if err != nil {
		t.Fatal(err)
	}
	g.Eps = refine.Ladder(curve, 0)
	b.Groups = []refine.Group{g}
	return b, g.Eps
}

func TestEpochStrict(t *testing.T) {
	b, eps := epoch(t)
	want := []float64{.00413, .00465, .00514, .00567, .00648, .00727, .00864, .01015, .01234, .01615}
	if !slices.EqualFunc(eps, want, func(a, b float64) bool { return math.Abs(a-b) < .000005 }) {
		t.Errorf("Eps %.5f, want %.5f", eps, want)
	}
	r, err := refine.Run(b, refine.Options{Strict: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Tree.Levels {
		t.Logf("Eps %.5f score %.4f nodes %d", l.Eps[0], l.Score, len(l.Nodes))
	}
	t.Logf("%d clusters, merged %v, score %.4f; %s", len(r.Nodes), r.Tree.Merged, r.Score.Global, r.Tree.Why)
	if n := len(r.Nodes); n < 58 || n > 64 {
		t.Errorf("%d clusters, want 58 to 64", n)
	}
}

func TestEpochDefault(t *testing.T) {
	b, _ := epoch(t)
	for _, min := range []int{4} {
		b.Groups[0].MinPts = min
		curve, err := b.Groups[0].Index.KDistance(min, len(b.Groups[0].Rows))
		if err != nil {
			t.Fatal(err)
		}
		b.Groups[0].Eps = refine.Ladder(curve, 0)
		r, err := refine.Run(b, refine.Options{Workers: 2, RareMinPts: func(n int) int { return max(4, n/200) }})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Tree.Levels {
			noise := 0.
			if l.Nodes[0].ID == 0 {
				noise = float64(l.Nodes[0].TimeNS) / 23.68e9
			}
			t.Logf("Eps %.5f score %.4f nodes %d noise %.4f", l.Eps[0], l.Score, len(l.Nodes), noise)
		}
		t.Logf("%d clusters, %v, score %.4f; %s", len(r.Nodes), r.Tree.Merged, r.Score.Global, r.Tree.Why)
	}
}
