package sequence_test

import (
	"math"
	"slices"
	"testing"

	"moriens/analysis/dbscan"
	"moriens/analysis/sequence"
	"moriens/internal/testenv"
	"moriens/trace/prv"
)

// epoch clusters the bursts of the real trace by ln INS × IPC over their range, as ClusteringSuite does.
func epoch(t testing.TB, eps float64) (sequence.Threads, *dbscan.Result) {
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
	var threads sequence.Threads
	var x, y []float64
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, d := range b.DurationNS {
			if v, c := b.Counters[ins][k], b.Counters[cyc][k]; v > 0 && c > 0 {
				x = append(x, math.Log(float64(v)))
				y = append(y, float64(v)/float64(c))
				threads.DurationNS = append(threads.DurationNS, d)
			}
		}
		threads.Ends = append(threads.Ends, len(x))
	}
	points := dbscan.Points{Dims: 2}
	x0, y0, dx, dy := slices.Min(x), slices.Min(y), slices.Max(x)-slices.Min(x), slices.Max(y)-slices.Min(y)
	for i := range x {
		points.Coords = append(points.Coords, (x[i]-x0)/dx, (y[i]-y0)/dy)
	}
	r, err := dbscan.Cluster(points, eps, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range r.Labels {
		threads.Labels = append(threads.Labels, label+1) // noise is 0
	}
	threads.Count = r.Clusters + 1
	return threads, r
}

func TestEpoch(t *testing.T) {
	for _, want := range []struct {
		eps              float64
		clusters         int
		noise            float64 // % of the time
		score, tolerance float64
	}{
		{.05, 14, .20, .997, .001},
		{.02, 30, 11.56, .937, .002},
		{.01, 50, 12.92, 0, 1}, // no aligner of reference has symbols for so many
	} {
		threads, r := epoch(t, want.eps)
		s, err := sequence.Align(threads, 2)
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, l := range s.Labels {
			total += l.TimeNS
		}
		noise := 100 * float64(s.Labels[0].TimeNS) / float64(total)
		t.Logf("Eps %v: %d clusters, %.2f %% noise, score %.5f", want.eps, r.Clusters, noise, s.Global)
		if r.Clusters != want.clusters || math.Abs(noise-want.noise) > .005 || math.Abs(s.Global-want.score) > want.tolerance {
			t.Errorf("Eps %v: %d clusters, %.2f %% noise, score %.5f; want %d, %v, %v ± %v",
				want.eps, r.Clusters, noise, s.Global, want.clusters, want.noise, want.score, want.tolerance)
		}
	}
}

func BenchmarkEpoch(b *testing.B) {
	threads, _ := epoch(b, .02)
	for b.Loop() {
		if _, err := sequence.Align(threads, 1); err != nil {
			b.Fatal(err)
		}
	}
}
