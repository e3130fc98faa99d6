package pairing

import (
	"math"
	"testing"

	"moriens/conclude/blame"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// The particle-in-cell code of the real trace: figures of another implementation.
func TestEpoch(t *testing.T) {
	read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := read.Run
	b, err := blame.Measure(run, team.Threads{}, blame.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Measure(run, team.Threads{}, Options{Blame: b, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got rundir.Number, want, by float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= by) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	x := p.File.Totals
	near("blocked", x.Blocked, .292998708, 1e-12)
	near("late sender", x.LateSender, .222627961, 1e-12)
	if x.Messages != 2556 || p.File.Basis != rundir.PairsAll {
		t.Errorf("%+v", p.File)
	}
	share, sum := make(map[int]float64), int64(math.Round(float64(p.File.Rest+x.Unexplained)*1e9))
	for _, c := range p.File.Causes {
		if c.Rank != nil {
			share[*c.Rank] += float64(c.Share)
		}
		sum += int64(math.Round(float64(c.Seconds) * 1e9))
	}
	near("rank 1 causes", rundir.Number(share[1]), .38, .01)
	near("rank 0 causes", rundir.Number(share[0]), .32, .01)
	near("unexplained", x.Unexplained, 0, .001*.222627961)
	near("causes", rundir.Number(float64(sum)/1e9), float64(x.LateSender+x.LateReceiver), 1e-12)
	if len(p.File.Findings) != 0 {
		t.Errorf("%+v", p.File.Findings)
	}
}
