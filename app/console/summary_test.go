package console

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/rundir"
)

// unequal is a run in which rank 1 computes twice what rank 0 does, most of it between the same calls.
func unequal() *Results {
	frame := func(f string, line int) trace.Frame {
		return trace.Frame{Module: "ring", Function: f, File: "ring.c", Line: line, Offset: uint64(line)}
	}
	path := func(function string, frames ...trace.Frame) trace.CallPath {
		return trace.CallPath{Function: function, Frames: frames}
	}
	paths := []trace.CallPath{{},
		path("MPI_Sendrecv", frame("halo", 5), frame("solve", 20)), path("MPI_Allreduce", frame("norm", 9)),
		path("MPI_Sendrecv", frame("halo", 5), frame("precondition", 31)), path("MPI_Barrier", frame("main", 3)),
	}
	count := func(p uint32) []trace.PathCount { return []trace.PathCount{{Path: p, Bursts: 100}} }
	places := trace.Places(paths)
	kind := func(id int32, share, ms float64, before, after uint32) trace.Cluster {
		return trace.Cluster{ID: id, Bursts: 100, TimeNS: int64(ms * 1e8), Share: share, Before: count(places[before]), After: count(places[after]),
			WholeBefore: count(before), WholeAfter: count(after), Kinship: trace.Kinship{KindBursts: 100, KindNS: int64(ms * 1e8), MedianNS: ms * 1e6, DistinctBy: "calls"}}
	}
	one, zero := rundir.ThreadName{Rank: 1}, rundir.ThreadName{}
	run := rundir.EfficiencyRun{
		Ranks: 2, Locations: 2,
		EfficiencyFactors: rundir.EfficiencyFactors{
			Seconds: 2.4, Parallel: .625, Balance: .75, Communication: .8333333, MeanComputing: 1.5, MostComputing: 2, Most: &one,
		},
		Budget: rundir.EfficiencyBudget{Total: 4.8, Computing: 3, MPI: 1.8},
		Clusters: []rundir.EfficiencyCluster{
			{ID: 1, Seconds: 1.8, Ranks: 2, Balance: .9 / 1.3, Lost: .4, Most: &one}, {ID: 2, Seconds: .7, Ranks: 2, Balance: .35 / .4, Lost: .05, Most: &zero},
		},
		Threads: []rundir.EfficiencyLocation{{ThreadName: zero, Computing: 1, MPI: 1.4}, {ThreadName: one, Computing: 2, MPI: .4}},
	}
	return &Results{
		Run: &trace.Run{CallPaths: paths, Clusters: []trace.Cluster{
			kind(1, .6, 10.5, 1, 2), kind(2, .2, 9, 3, 2), kind(3, .1, 4, 4, 1), kind(4, .05, 2, 4, 1),
		}},
		Manifest: &rundir.Manifest{
			Ranks: 2, Bursts: 400, Seconds: 2.5, MPICalls: map[string]int64{"MPI_Sendrecv": 200}, Hosts: []rundir.Host{{Name: "n1"}}, Complete: true,
			Worlds: []rundir.World{{Executable: "/opt/ring", Size: 2, MPI: rundir.MPI{Library: "MPICH", Version: "4.0.2"}}},
			Notes:  []string{"one", "two", "three", "four"},
		},
		Clusters:   &rundir.Clusters{Total: rundir.Shares{NoiseBursts: 7, Noise: .05}},
		Efficiency: &rundir.Efficiency{Within: "main", Runs: []rundir.EfficiencyRun{run}},
		Dir:        "/tmp/a run", Written: []rundir.File{{Name: rundir.ReportFile}},
	}
}

func TestSummaryOfAnUnequalRun(t *testing.T) {
	var b strings.Builder
	if err := Summary(&b, unequal()); err != nil {
		t.Fatal(err)
	}
	const want = `
moriens: ring · 2 ranks on 1 host · MPICH 4.0.2 · 2.50 s · 200 MPI calls · 400 bursts
losses: none in the recording
parallel efficiency 62.5 % = load balance 75.0 % × communication efficiency 83.3 %
time in MPI 37.5 %: most on rank 0, 58.3 %; least on rank 1, 16.7 %
most computing: rank 1, 1.33 times the mean; mainly in cluster 1, 400 ms above the mean
lost per rank: 500 ms by imbalance, 400 ms in communication, of 2.40 s, MPI_Init to MPI_Finalize

cluster   share  bursts     mean  imbalance  computing time between the MPI calls
      1  60.0 %     100  10.5 ms     400 ms  from solve: Sendrecv@ring.c:5 → Allreduce@ring.c:9
      2  20.0 %     100  9.00 ms    50.0 ms  from precondition: Sendrecv…ing.c:5 → Allreduc…ring.c:9
      3  10.0 %     100  4.00 ms          -  long: Barrier@ring.c:3 → Sendrecv@ring.c:5
      4   5.0 %     100  2.00 ms          -  short: Barrier@ring.c:3 → Sendrecv@ring.c:5
   rest   5.0 %       7                      bursts in no cluster
note: one
note: two
2 more notes: moriens status --long
results: /tmp/a run
view: open report.html there in a browser; all figures: moriens status --long '/tmp/a run'
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// The cluster in which the slowest rank computes more may be one that the others do not have; a small one is not named.
func TestSlowest(t *testing.T) {
	e := &unequal().Efficiency.Runs[0]
	one := rundir.ThreadName{Rank: 1}
	e.Clusters = []rundir.EfficiencyCluster{
		{ID: 3, Seconds: 1, Ranks: 2, Balance: .5 / .55, Lost: .05, Most: &one}, {ID: 1, Seconds: 1, Ranks: 1, Balance: 1, Lost: rundir.Number(math.NaN()), Most: &one},
	}
	if got := slowest(e, false); got != "rank 1, 1.33 times the mean; mainly in cluster 1, which no other rank has" {
		t.Error(got)
	}
	e.Clusters = e.Clusters[:1]
	if got := slowest(e, false); got != "rank 1, 1.33 times the mean" {
		t.Error(got)
	}
}

func TestSlowestOfEqualRanks(t *testing.T) {
	e := &unequal().Efficiency.Runs[0]
	e.Clusters = nil
	for most, want := range map[rundir.Number]string{1.004: "rank 1, 1.00 times the mean: all compute for about equal times", 1.006: "rank 1, 1.01 times the mean"} {
		e.MostComputing, e.MeanComputing = most, 1
		if got := slowest(e, false); got != want {
			t.Errorf("%v: %q, want %q", most, got, want)
		}
	}
}

// The cluster that the line about the slowest rank names has a row, though others have more time.
func TestNamedClusterHasARow(t *testing.T) {
	r := unequal()
	x := r.Run.Clusters[3]
	for id := int32(5); id < 12; id++ {
		x.ID, x.Share = id, .04-float64(id)/1000
		r.Run.Clusters = append(r.Run.Clusters, x)
	}
	r.Efficiency.Runs[0].Clusters[0].ID = 11
	rows, others := timeKinds(r.Run.Clusters, timeRows, namedCluster(r))
	if len(rows) != timeRows || len(others) != 11-timeRows || rows[timeRows-1].cluster.ID != 11 || rows[0].cluster.ID != 1 {
		t.Errorf("%d rows, the last of cluster %d; %d others", len(rows), rows[len(rows)-1].cluster.ID, len(others))
	}
	r.Efficiency.Runs[0].MostComputing = r.Efficiency.Runs[0].MeanComputing * 1.001
	if id := namedCluster(r); id != 0 {
		t.Errorf("cluster %d of ranks that compute for equal times", id)
	}
}

// A run of no rank has two lines.
func TestSummaryOfNobody(t *testing.T) {
	r := unequal()
	r.Manifest = &rundir.Manifest{Command: []string{"true"}, Empty: "no process of the job called MPI under moriens"}
	var b strings.Builder
	if err := Summary(&b, r); err != nil || b.String() != "\nmoriens: true · 0 ranks\nno rank was recorded: no process of the job called MPI under moriens\n" {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Whatever a run has, its summary is at most 20 lines of 100 characters, and no two rows of its table read alike.
func TestSummaryFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := unequal()
		word := rapid.StringMatching(`[a-z]{1,12}( [a-z]{1,12}){0,30}`)
		m := r.Manifest
		m.Notes = rapid.SliceOfN(word, 0, 9).Draw(t, "notes")
		m.Incomplete = rapid.SliceOfN(word, 0, 9).Draw(t, "incomplete")
		m.Complete = len(m.Incomplete) == 0
		m.Reduction.Missing = rapid.SliceOfN(word, 0, 3).Draw(t, "missing")
		m.Losses.RecordsDropped = rapid.Int64Range(0, 9).Draw(t, "dropped")
		r.Run.Clusters = nil
		for id := range int32(rapid.IntRange(0, 40).Draw(t, "clusters")) {
			before, after := rapid.Uint32Range(0, 4).Draw(t, "before"), rapid.Uint32Range(0, 4).Draw(t, "after")
			c := trace.Cluster{ID: id + 1, Bursts: 10, TimeNS: 1, Share: 1 / float64(id+2),
				Kinship: trace.Kinship{KindBursts: 10, KindNS: 1, MedianNS: rapid.Float64Range(1, 1e10).Draw(t, "ns"), DistinctBy: "calls"}}
			places := trace.Places(r.Run.CallPaths)
			c.Before, c.After = []trace.PathCount{{Path: places[before], Bursts: 10}}, []trace.PathCount{{Path: places[after], Bursts: 10}}
			if rapid.Bool().Draw(t, "whole") {
				c.WholeBefore, c.WholeAfter = []trace.PathCount{{Path: before, Bursts: 10}}, []trace.PathCount{{Path: after, Bursts: 10}}
			}
			r.Run.Clusters = append(r.Run.Clusters, c)
		}
		if rapid.Bool().Draw(t, "long names") {
			for i := range r.Run.CallPaths {
				for k := range r.Run.CallPaths[i].Frames {
					f := &r.Run.CallPaths[i].Frames[k]
					f.Function, f.File = strings.Repeat("space::", 9)+f.Function, strings.Repeat("long", 9)+f.File
				}
			}
		}
		var b strings.Builder
		if err := Summary(&b, r); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
		if len(lines) > 20 {
			t.Fatalf("%d lines:\n%s", len(lines), b.String())
		}
		rows := make(map[string]bool)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > lineWidth {
				t.Fatalf("%d characters:\n%s", n, line)
			}
			var id int
			if _, err := fmt.Sscanf(line, "%d", &id); err != nil || !strings.Contains(line, "→") {
				continue
			}
			_, calls, _ := strings.Cut(line, " ms ")
			if _, text, ok := strings.Cut(line, " -  "); ok {
				calls = text
			}
			if calls != "" && rows[calls] {
				t.Fatalf("two rows read alike: %q\n%s", calls, b.String())
			}
			rows[calls] = true
		}
	})
}

// What is not known is not said.
func TestSummaryWithoutEfficiency(t *testing.T) {
	r := unequal()
	r.Efficiency = nil
	var b strings.Builder
	if err := Summary(&b, r); err != nil || strings.Contains(b.String(), "efficiency") || !strings.Contains(b.String(), "      1  60.0 %     100  10.5 ms  ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A note that is too long ends with a whole clause.
func TestClauses(t *testing.T) {
	for text, want := range map[string]string{
		"note: all of it": "note: all of it",
		"warning: 4 ranks share 2 cores: 89 % off the core (7 switches)": "warning: 4 ranks share 2 cores: 89 % off the core …",
		"note: durations have several modes, in 7 % of the time: kind 3": "note: durations have several modes, in 7 % of the time …",
		"note: an" + strings.Repeat("abcdefgh", 9):                       "note: an" + strings.Repeat("abcdefgh", 6) + "…",
	} {
		if got := clauses(text, 57); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where a row has no room for its classes, a class is named once in all, and in that row not at all if need be, unless
// two rows would read alike then.
func TestClassesAreLeftOut(t *testing.T) {
	calls := func(width int, of ...string) string {
		var rows []timeRow
		for _, x := range of {
			rows = append(rows, timeRow{calls: x})
		}
		leaveOutClasses(rows, width)
		var list []string
		for i := range rows {
			list = append(list, rows[i].calls)
		}
		return strings.Join(list, "; ")
	}
	const forces, file = "Wait@a::Comm::forward → Irecv@a::Comm::reverse", "Bcast@Input::file → Barrier@Comm::f" // 46 and 35 characters
	for width, want := range map[int]string{
		46: forces + "; " + file,
		45: "Wait@a::Comm::forward → Irecv@reverse; " + file,
		37: "Wait@a::Comm::forward → Irecv@reverse; " + file,
		36: "Wait@forward → Irecv@reverse; " + file,
		34: "Wait@forward → Irecv@reverse; Bcast@file → Barrier@f",
	} {
		if got := calls(width, forces, file); got != want {
			t.Errorf("%d characters: %s, want %s", width, got, want)
		}
	}
	const alike = "Wait@Pair::compute → Irecv@f; Wait@Bond::compute → Irecv@f"
	if got := calls(20, strings.Split(alike, "; ")...); got != alike {
		t.Errorf("two functions read alike: %s", got)
	}
	// Of two rows between the same calls that differ in their length one has room, and is named like the other.
	rows := []timeRow{{calls: forces, apart: "long"}, {calls: forces, apart: "short"}}
	leaveOutClasses(rows, utf8.RuneCountInString("long: Wait@a::Comm::forward → Irecv@reverse"))
	if rows[0].calls != "Wait@forward → Irecv@reverse" || rows[1].calls != rows[0].calls {
		t.Errorf("%+v", rows)
	}
}

func TestColours(t *testing.T) {
	var b strings.Builder
	c := &coloured{to: &b}
	const text = "\nmoriens: x\nlosses: none\nlosses: 3\n      1 row\nnote: n"
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	if want := "\n\033[1mmoriens: x\033[0m\nlosses: none\n\033[31mlosses: 3\033[0m\n      1 row\nnote: n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}
