package console

import (
	"strings"
	"testing"

	"moriens/trace/rundir"
)

func TestKept(t *testing.T) {
	phase := func(iterations int, medianNS int64) rundir.Iterations {
		return rundir.Iterations{Iterations: iterations, MedianNS: medianNS, PeriodBursts: 6, Reason: "nothing is repeated"}
	}
	with := func(p rundir.Iterations, inner ...rundir.Inner) rundir.Iterations {
		p.Inner = inner
		return p
	}
	m := &rundir.Manifest{
		Kept: rundir.Kept{
			Phases: []rundir.Iterations{
				phase(0, 0), with(phase(1000, 2_000_000), rundir.Inner{Depth: 1, PeriodBursts: 1, Trips: 4, MinTrips: 4, MaxTrips: 4}), phase(3, 1000), phase(4, 5_000_000),
				with(phase(500, 3_000_000), rundir.Inner{Depth: 1, PeriodBursts: 1, Trips: 3, MinTrips: 3, MaxTrips: 3},
					rundir.Inner{Depth: 1, PeriodBursts: 2, Trips: 4, MinTrips: 3, MaxTrips: 7}, rundir.Inner{Depth: 2, PeriodBursts: 1, Trips: 90, MinTrips: 90, MaxTrips: 90}),
			},
			Classes: []rundir.Class{
				{Size: 6, Exemplar: rundir.ThreadName{Rank: 1}}, {Size: 1, Exemplar: rundir.ThreadName{Rank: 7, Thread: 2}, Differs: "30 % more time in cluster 2 (1.30 s instead of 1.00 s)"}, {Size: 1}, {Size: 1},
			},
			Outliers: []rundir.Outlier{{ThreadName: rundir.ThreadName{Rank: 3}, Reason: "is slow"}, {Reason: "is fast"}, {Reason: "waits"}, {Reason: "sends"}},
			Windows:  []rundir.Window{{Why: "representative"}, {Why: "anomaly"}, {Why: "representative"}},
			Dropped:  []rundir.Dropped{{}}, MoreDropped: 7, Ranks: 3, Calls: 1200, Bursts: 1100, SampledBursts: 2000,
		},
		Reduction: rundir.Reduction{
			BudgetBytes: new(int64), Bytes: 300_000, FullBytes: 33_000_000, Ratio: 110, Missing: []string{"the agent on beta has left"},
			Error: &rundir.Fidelity{
				Represented: .995, Windows: rundir.Errors{Time: .031, WorstTime: .1, WorstCluster: 4}, Weighted: rundir.Errors{Time: .001}, Ranks: rundir.RankErrors{Worst: &rundir.RankError{Rank: 6, Time: .042}},
			},
		},
	}
	var b strings.Builder
	writeKept(&b, m)
	want := `iterations: phase 1: 1,000, median 2.00 ms, 6 bursts each (inner loop: 1 burst, 4 trips); phase 4: 500, median 3.00 ms, 6 bursts each (inner loop: 2 bursts, 3–7 trips); phase 3: 4, median 5.00 ms, 6 bursts each; 1 shorter phase
ranks: 4 classes (6 like rank 1, 1 like rank 7 thread 2 with 30 % more time in cluster 2 (1.30 s instead of 1.00 s), 1 like rank 0, 1 more); rank 3 is slow; rank 0 is fast; rank 0 waits; 1 more unlike their class
kept: 3 windows (2 representative, 1 anomaly) of 3 ranks with 1,200 MPI calls and 1,100 bursts; a sample of 2,000 of the other bursts; no room for 8 more
reduction: all files: 293 KiB; the ratio is not known because parts are missing
reconstruction error: 0.1 % of computing time from kept bursts and sample; 3.1 % from windows alone (99.5 % of the time) (worst: cluster 4, 10.0 %; rank 6, 4.2 %)
missing: the agent on beta has left
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	m.Cells = &rundir.Cells{RanksInFull: 3, RanksInSum: 5}
	for _, of := range []string{"iterations", "kept", "reduction", "error"} {
		want = strings.Replace(want, of+": ", of+" (ranks in full): ", 1)
	}
	for range 2 { // ranks as totals only, and then silent ones
		b.Reset()
		if writeKept(&b, m); b.String() != want {
			t.Errorf("%s\nwant, of some ranks,\n%s", b.String(), want)
		}
		m.Cells.RanksInSum, m.Cells.RanksSilent = 0, 1
	}
	m.Cells.RanksSilent = 0
	b.Reset()
	if writeKept(&b, m); strings.Contains(b.String(), "in full") {
		t.Errorf("of all ranks: %s", b.String())
	}
	m.Reduction.Missing = nil
	if text := reduction(&m.Reduction); text != "all files: 293 KiB; full trace alone: about 31.5 MiB (110 times as much)" {
		t.Errorf("where nothing is missing: %s", text)
	}
	m.Reduction.Bytes, m.Reduction.FullBytes, m.Reduction.FullMeasured, m.Reduction.Ratio = 63_000, 12_000, true, .19
	if text := reduction(&m.Reduction); text != "none: all files: 61.5 KiB; full trace alone: 11.7 KiB" {
		t.Errorf("of a short run: %s", text)
	}
	m.Reduction.Error.Sources.Sample = .44
	if text := errorOf(m.Reduction.Error, true); !strings.HasSuffix(text, "; 3.1 % from windows (99.5 % of the time), sample for 44.0 % (worst: cluster 4, 10.0 %; world 0 rank 6, 4.2 %)") {
		t.Errorf("with a part from the sample: %s", text)
	}
	b.Reset()
	m = &rundir.Manifest{Kept: rundir.Kept{Phases: []rundir.Iterations{phase(0, 0)}}}
	if writeKept(&b, m); b.String() != "iterations: none: nothing is repeated\n" {
		t.Errorf("%q", b.String())
	}
}

// What takes most of the time is first; what takes next to nothing, or ends at once each time, is one clause.
func TestMostTimeIsFirst(t *testing.T) {
	phase := func(iterations int, medianNS, beginNS, endNS int64) rundir.Iterations {
		return rundir.Iterations{Iterations: iterations, MedianNS: medianNS, PeriodBursts: 4, BeginNS: beginNS, EndNS: endNS}
	}
	list := []rundir.Iterations{
		phase(0, 0, 0, 1e9), phase(54, 50_000, 1e9, 1.003e9), phase(400, 1e6, 1.003e9, 1.403e9), phase(10, 400e6, 1.5e9, 5.5e9), phase(3, 200e6, 5.5e9, 6.1e9), phase(0, 0, 6.1e9, 6.2e9),
	}
	want := "phase 3: 10, median 400 ms, 4 bursts each; phase 4: 3, median 200 ms, 4 bursts each; 2 short phases"
	if text := iterations(list, 10); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	list[4].Computing, list[3].Computing, list[2].Computing = 7, 2.5, .4 // the one that computes most waits least
	want = "phase 4: 3, median 200 ms, 4 bursts each; phase 3: 10, median 400 ms, 4 bursts each; 2 short phases"
	if text := iterations(list, 10); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	want = "phase 1: 54, median 50.0 us, 4 bursts each"
	if text := iterations(list[:2], 10); text != want {
		t.Errorf("alone: %s, want %s", text, want)
	}
}
