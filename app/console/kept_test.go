package console

import (
	"slices"
	"strings"
	"testing"

	"moriens/trace/rundir"
)

func TestKept(t *testing.T) {
	phase := func(iterations int, medianNS int64) rundir.Iterations {
		return rundir.Iterations{Iterations: iterations, MedianNS: medianNS, PeriodBursts: 6, Reason: "nothing is repeated", EndNS: 4e9}
	}
	with := func(p rundir.Iterations, inner ...rundir.Inner) rundir.Iterations {
		p.Inner = inner
		return p
	}
	bursts := 1234
	e := &rundir.Efficiency{Runs: []rundir.EfficiencyRun{{Classes: []rundir.EfficiencyGroup{{Name: "like rank 1", Mean: 1.5, MPI: .25}, {Name: "like rank 7 thread 2", Mean: 2.5, MPI: .125}}}}}
	m := &rundir.Manifest{
		Kept: rundir.Kept{
			Phases: []rundir.Iterations{
				phase(0, 0), with(phase(1000, 2_000_000), rundir.Inner{Depth: 1, PeriodBursts: 1, Trips: 4, MinTrips: 4, MaxTrips: 4}), phase(3, 1000), phase(4, 5_000_000),
				with(phase(500, 3_000_000), rundir.Inner{Depth: 1, PeriodBursts: 1, Trips: 3, MinTrips: 3, MaxTrips: 3},
					rundir.Inner{Depth: 1, PeriodBursts: 2, Trips: 4, MinTrips: 3, MaxTrips: 7}, rundir.Inner{Depth: 2, PeriodBursts: 1, Trips: 90, MinTrips: 90, MaxTrips: 90}),
			},
			Classes: []rundir.Class{
				{Size: 6, Exemplar: rundir.ThreadName{Rank: 1}, Reason: "rank 1 is closest to the mean of its class; others wait", Profile: "60 % in cluster 1, 20 % in collective calls", Bursts: &bursts},
				{Size: 1, Exemplar: rundir.ThreadName{Rank: 7, Thread: 2}, Differs: "30 % more time in cluster 2 (1.30 s instead of 1.00 s)", Where: "on n3"}, {Size: 1}, {Size: 1},
			},
			Outliers: append([]rundir.Outlier{{ThreadName: rundir.ThreadName{Rank: 3}, Class: 1, Reason: "is slow", Node: "n2"}}, slices.Repeat([]rundir.Outlier{{Reason: "is fast"}}, 9)...),
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
	writeKept(&b, m, e)
	want := `iterations: phase 1: 1,000 iterations, median 2.00 ms, 6 bursts each (inner loop: 1 burst, 4 trips), 50.0 % of the run; phase 4: 500 iterations, median 3.00 ms, 6 bursts each (inner loop: 2 bursts, 3–7 trips), 37.5 % of the run; 2 short phases
ranks: 4 classes of ranks that behave alike, 10 unlike their class
  class            ranks  computing  in MPI  bursts  time spent; of the others: difference from the first
  like rank 1          6     1.50 s  25.0 %   1,234  60 % in cluster 1, 20 % in collective calls; others wait
  rank 7 thread 2      1     2.50 s  12.5 %       -  30 % more time in cluster 2 (1.30 s instead of 1.00 s); on n3
  rank 0               1          -       -       -
  rank 0               1          -       -       -
unlike its class: rank 3 on n2 (class like rank 7 thread 2) is slow
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike its class: rank 0 (class like rank 1) is fast
unlike their class: 2 more, in manifest.json
kept: 3 windows (2 representative, 1 anomaly) of 3 ranks with 1,200 MPI calls and 1,100 bursts; a sample of 2,000 of the other bursts; no room for 8 more windows
reduction: all files: 293 KiB; the ratio is not known because parts are missing
reconstruction error: 0.1 % of the computing time from kept bursts and sample; 3.1 % from windows alone, which represent 99.5 % of it (largest: cluster 4, 10.0 % of its own time; rank 6, 4.2 %)
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
		if writeKept(&b, m, e); b.String() != want {
			t.Errorf("%s\nwant, of some ranks,\n%s", b.String(), want)
		}
		m.Cells.RanksInSum, m.Cells.RanksSilent = 0, 1
	}
	m.Cells.RanksSilent = 0
	b.Reset()
	if writeKept(&b, m, e); strings.Contains(b.String(), "in full") {
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
	if text := errorOf(m.Reduction.Error, true); !strings.HasSuffix(text, "; 3.1 % from windows for 99.5 % of it and the sample for 44.0 % (largest: cluster 4, 10.0 % of its own time; world 0 rank 6, 4.2 %)") {
		t.Errorf("with a part from the sample: %s", text)
	}
	b.Reset()
	m = &rundir.Manifest{Kept: rundir.Kept{Phases: []rundir.Iterations{phase(0, 0)}}}
	if writeKept(&b, m, e); b.String() != "iterations: none: nothing is repeated\n" {
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
	want := "phase 3: 10 iterations, median 400 ms, 4 bursts each, 64.5 % of the run; phase 4: 3 iterations, median 200 ms, 4 bursts each, 9.7 % of the run; 2 short phases"
	if text := iterations(list, 10); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	list[4].Computing, list[3].Computing, list[2].Computing = 7, 2.4, .4 // the one that computes most waits least
	want = "phase 4: 3 iterations, median 200 ms, 4 bursts each, 70.0 % of the computing time; phase 3: 10 iterations, median 400 ms, 4 bursts each, 24.0 % of the computing time; 2 short phases"
	if text := iterations(list, 10); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	list[2].Computing = 2.6 // short iterations of which there are so many that they are the program
	if text := iterations(list, 10); !strings.Contains(text, "; phase 2: 400 iterations, median 1.00 ms, 4 bursts each, 26.0 % of the computing time; phase 3: ") {
		t.Error(text)
	}
	want = "only 1 short phase, the largest: phase 1: 54 iterations, median 50.0 us, 4 bursts each, 0.3 % of the run"
	if text := iterations(list[:2], 10); text != want {
		t.Errorf("next to nothing, alone: %s, want %s", text, want)
	}
	var many []rundir.Iterations
	for i := range 5 {
		many = append(many, phase(10, 20e6, int64(i)*200e6, int64(i+1)*200e6))
	}
	if text := iterations(many, 10); strings.Count(text, "iterations") != 3 || !strings.HasSuffix(text, "; 2 more phases") {
		t.Error(text)
	}
}

// What is said of the ranks first: of two, how they differ; of others, how many classes and how many unlike them.
func TestRanksInWords(t *testing.T) {
	one, two := rundir.Class{Size: 1}, rundir.Class{Size: 2}
	for _, tt := range []struct {
		kept rundir.Kept
		want string
	}{
		{rundir.Kept{Classes: []rundir.Class{one}}, "1"},
		{rundir.Kept{Classes: []rundir.Class{two}}, "both behave alike"},
		{rundir.Kept{Classes: []rundir.Class{{Size: 1234}}}, "all 1,234 behave alike"},
		{rundir.Kept{Classes: []rundir.Class{two}, Outliers: make([]rundir.Outlier, 1)}, "1 of 2 behave alike, 1 unlike"},
		{rundir.Kept{Classes: []rundir.Class{one, one}}, "2 that differ little"},
		{rundir.Kept{Classes: []rundir.Class{one, one}, Differ: "rank 1 sends 100 B, rank 0 none"}, "rank 1 sends 100 B, rank 0 none"},
		{rundir.Kept{Classes: []rundir.Class{two, one}}, "2 classes of ranks that behave alike"},
	} {
		if got := classesText(&tt.kept, "ranks"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	var b strings.Builder
	k := rundir.Kept{}
	for range mostClasses + 3 {
		k.Classes = append(k.Classes, two)
	}
	if writeRanks(&b, &k, nil, false); strings.Count(b.String(), "\n") != mostClasses+3 || !strings.Contains(b.String(), "  3 more           6 ") {
		t.Error(b.String())
	}
	b.Reset()
	writeRanks(&b, &rundir.Kept{Classes: []rundir.Class{two, one}}, &rundir.Efficiency{Runs: []rundir.EfficiencyRun{{Ranks: 1, Locations: 3}}}, false)
	if !strings.HasPrefix(b.String(), "threads: 2 classes of threads that behave alike\n  class        threads  computing") {
		t.Error(b.String())
	}
	b.Reset()
	if writeRanks(&b, &rundir.Kept{}, nil, false); b.String() != "" {
		t.Error(b.String())
	}
}
