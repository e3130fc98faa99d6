package refine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/internal/team"
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
	if g.Index, err = dbscan.NewShared(team.Solo{}, g.Points, 2); err != nil {
		t.Fatal(err)
	}
	curve, err := g.Index.Curve(g.MinPts, len(g.Rows))
	if err != nil {
		t.Fatal(err)
	}
	g.Eps = ladder(t, curve, 0)
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
	if n := len(r.Nodes); n < 58 || n > 64 { // ClusteringSuite's own aligner comes to 60, with a score of .952 and 3.31 % noise
		t.Errorf("%d clusters, want 58 to 64", n)
	}
	noise := 100 * float64(r.Score.Labels[refine.Noise].TimeNS) / 23.68e9
	if math.Abs(r.Score.Global-.952) > .002 || math.Abs(noise-3.31) > .02 {
		t.Errorf("score %.4f, %.2f %% noise, want .952 and 3.31", r.Score.Global, noise)
	}
}

// With MinPts 4 the ten steps go from 68 nodes to 30, of which the last alone has hardly any noise.
func TestEpochDefault(t *testing.T) {
	b, _ := epoch(t)
	g := &b.Groups[0]
	g.MinPts = 4
	curve, err := g.Index.Curve(g.MinPts, len(g.Rows))
	if err != nil {
		t.Fatal(err)
	}
	g.Eps = ladder(t, curve, 0)
	r, err := refine.Run(b, refine.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	noise := r.Score.Labels[refine.Noise].TimeNS
	if len(r.Nodes) != 29 || r.Score.Global < .99 || noise > 240e6 || !strings.HasPrefix(r.Tree.Why, "step 10 of 10 has the best score") {
		t.Errorf("%d clusters, %d ns noise, score %.4f; %s", len(r.Nodes), noise, r.Score.Global, r.Tree.Why)
	}
}

func BenchmarkEpochStrict(bench *testing.B) {
	b, _ := epoch(bench)
	for bench.Loop() {
		if _, err := refine.Run(b, refine.Options{Strict: true, Workers: 2}); err != nil {
			bench.Fatal(err)
		}
	}
}
