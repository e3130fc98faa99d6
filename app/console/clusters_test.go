package console

import (
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/rundir"
)

func fourKinds() (*trace.Run, *rundir.Manifest, *rundir.Clusters) {
	of := func(path uint32, bursts int) []trace.PathCount {
		return []trace.PathCount{{Path: path, Bursts: bursts}}
	}
	cluster := func(id int32, bursts int, share float64, before, after uint32, k trace.Kinship) trace.Cluster {
		return trace.Cluster{ID: id, Bursts: bursts, TimeNS: int64(share * 1e9), Share: share, Score: .9, Before: of(before, bursts), After: of(after, bursts), Kinship: k}
	}
	run := &trace.Run{
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Allreduce", Frames: []trace.Frame{{Function: "main", File: "app.c", Line: 38}}}, {Function: "MPI_Send"}},
		Clusters: []trace.Cluster{
			cluster(1, 3200, .401, 1, 1, trace.Kinship{MedianNS: 4.11e6, Core: .009, Predicted: .95, KindBursts: 3840, KindNS: 6.5e8, DisturbedBursts: 280, DisturbedNS: 2e9, ExtraNS: 1e9}),
			cluster(2, 3120, .3, 1, 1, trace.Kinship{MedianNS: 3.2e6, Core: .012, Predicted: .97, KindBursts: 3120, KindNS: 3e8}),
			cluster(3, 10, .02, 1, 2, trace.Kinship{MedianNS: 3e6, Core: .1, Predicted: -1}),
			cluster(4, 360, .01, 1, 1, trace.Kinship{MedianNS: 6.9e6, Core: .31, VariantOf: 1, Predicted: -1}),
			cluster(5, 400, .01, 1, 1, trace.Kinship{MedianNS: 1e6, Core: .01, Predicted: -1, KindBursts: 400, KindNS: 1e7}),
		},
	}
	m := &rundir.Manifest{Ranks: 2, Bursts: 7090}
	c := &rundir.Clusters{By: "calls", Dimensions: []rundir.Dimension{{Name: "duration", Scale: "log"}}}
	return run, m, c
}

func TestSummaryOfKinds(t *testing.T) {
	run, m, c := fourKinds()
	c.Total.Noise = .25
	c.Score, c.Shuffled = .95, .41
	var b strings.Builder
	if err := Long(&b, &Results{Run: run, Manifest: m, Clusters: c, Dir: "/tmp/r"}); err != nil {
		t.Fatal(err)
	}
	want := `
cluster  bursts   share   median   spread  kind  score  between the MPI calls
      1   3,200  40.1 %  4.11 ms   ±0.9 %     1  0.900  MPI_Allreduce@app.c:38 → MPI_Allreduce@app.c:38 (kind 1: 65.0 % in all)
      4     360   1.0 %  6.90 ms  ±31.0 %     1         variant of 1, 1.68 times as long
      2   3,120  30.0 %  3.20 ms   ±1.2 %     2  0.900  same calls as 1, 0.78 times as long; distinguished by order (.97 of 1)
      3      10   2.0 %  3.00 ms  ±10.0 %     3  0.900  MPI_Allreduce@app.c:38 → MPI_Send
      5     400   1.0 %  1.00 ms   ±1.0 %     5  0.900  same calls as 1, 0.24 times as long

kinds: 4 kinds of computation; 3 of them share one pair of MPI calls and are distinguished by the order of bursts (predicted with .96 of 1); 4 % of their bursts are disturbed: longer than usual, assigned by order
score: 0.950 of 1 (1: all ranks compute the same clusters in the same order; 0.410 in shuffled order)
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("summary:\n%s\nwant:\n%s", b.String(), want)
	}
	const hint = "hint: hardware counters (--events) separate kinds better than durations\n"
	if !strings.Contains(b.String(), hint) {
		t.Errorf("no hint:\n%s", b.String())
	}
	m.Scheduling = &rundir.Scheduling{Overcommitted: true}
	if text := advice(m, c); text != "" {
		t.Errorf("on a crowded machine: %s", text)
	}
	m.Scheduling, c.Dimensions = nil, append(c.Dimensions, rundir.Dimension{Name: "IPC"})
	if text := advice(m, c); text != "" {
		t.Errorf("with counters: %s", text)
	}
}

func TestKindsAtSeveralPlaces(t *testing.T) {
	run, _, c := fourKinds()
	run.Clusters = append(run.Clusters, run.Clusters[2])
	run.Clusters[5].ID = 6
	if got, want := kinds(run, c), "5 kinds of computation, which share 2 pairs of MPI calls and are distinguished by the order of bursts (predicted with .96 of 1); 4 % of their bursts are disturbed: longer than usual, assigned by order"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.By = "none"
	if got := kinds(run, c); !strings.HasPrefix(got, "5 kinds of computation, distinguished by the order of bursts (predicted with .96 of 1)") {
		t.Errorf("all together: %q", got)
	}
	c.By = "calls"
	apart := run.Clusters
	run.Clusters = []trace.Cluster{apart[0], apart[2]}
	if got, want := kinds(run, c), "2 kinds of computation, each between its own pair of MPI calls; 7 % of their bursts are disturbed: longer than usual, assigned by order"; got != want {
		t.Errorf("each between its own calls: %q, want %q", got, want)
	}
	run.Clusters = apart[2:3]
	run.Clusters[0].ID = 1
	if got := kinds(run, c); got != "1 kind of computation" {
		t.Errorf("one kind: %q", got)
	}
	run.Clusters[0].Kinship = trace.Kinship{}
	if got := kinds(run, c); got != "" {
		t.Errorf("not by kinds: %q", got)
	}
}

// Each cause that separates kinds is named, and `predicted` is of order alone.
func TestSeparation(t *testing.T) {
	for _, tt := range []struct {
		name       string
		by         string
		distinctBy []string // of kinds 1, 2, 3 and 5
		want       string
	}{
		{"order and density", "calls", []string{"order", "order", "nothing", "density"}, "4 kinds of computation; 3 of them share one pair of MPI calls and are distinguished by the order of bursts (2 kinds, predicted with .96 of 1), density (1 kind); 4 % of their bursts are disturbed: longer than usual, assigned by order"},
		{"turns are order", "calls", []string{"turns", "order", "nothing", "surroundings"}, "4 kinds of computation; 3 of them share one pair of MPI calls and are distinguished by the order of bursts (predicted with .96 of 1); 4 % of their bursts are disturbed: longer than usual, assigned by order"},
		{"density alone", "calls", []string{"density", "density", "nothing", "density"}, "4 kinds of computation; 3 of them share one pair of MPI calls and are distinguished by density; 4 % of their bursts are disturbed: longer than usual, assigned by order"},
		{"order was not asked", "calls", []string{"unjudged", "unjudged", "unjudged", "unjudged"}, "4 kinds of computation; 3 of them share one pair of MPI calls and are distinguished by density; 4 % of their bursts are disturbed: longer than usual, assigned by order"},
		{"counters", "none", []string{"calls", "order", "calls", "instructions"}, "4 kinds of computation, distinguished by MPI calls (2 kinds), instructions (1 kind), the order of bursts (1 kind, predicted with .97 of 1); 4 % of their bursts are disturbed: longer than usual, assigned by order"},
		{"counters, all by calls", "none", []string{"calls", "calls", "calls", "calls"}, "4 kinds of computation, distinguished by MPI calls; 4 % of their bursts are disturbed: longer than usual, assigned by order"},
	} {
		run, _, c := fourKinds()
		c.By = tt.by
		for i, k := range []int{0, 1, 2, 4} {
			run.Clusters[k].DistinctBy = tt.distinctBy[i]
		}
		if got := kinds(run, c); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A kind says in its row what distinguishes it from another between the same calls, and when it occurs if that is not
// all over the run.
func TestKinship(t *testing.T) {
	for _, tt := range []struct {
		kinship trace.Kinship
		want    string
	}{
		{trace.Kinship{DistinctBy: "order", DistinctFrom: 1, Predicted: .93}, "same calls as 1, 0.24 times as long; distinguished by order (.93 of 1)"},
		{trace.Kinship{DistinctBy: "density", DistinctFrom: 1, Predicted: .1}, "same calls as 1, 0.24 times as long; distinguished by density"},
		{trace.Kinship{DistinctBy: "turns", DistinctFrom: 1, Predicted: .8}, "same calls as 1, 0.24 times as long; alternates with 1"},
		{trace.Kinship{DistinctBy: "order", DistinctFrom: 1, Predicted: .93, InTime: trace.Stretch{BeginNS: 1.2e9, EndNS: 2.31e9}}, "same calls as 1, 0.24 times as long; distinguished by order (.93 of 1); mostly at 1.20 s to 2.31 s of the run"},
		{trace.Kinship{VariantOf: 1, DistinctBy: "chance", DistinctFrom: 1, Predicted: -1, InTime: trace.Stretch{EndNS: 1e9}}, "variant of 1, 0.24 times as long; mostly at 0 s to 1.00 s of the run"},
	} {
		run, m, c := fourKinds()
		run.Clusters = run.Clusters[:2]
		tt.kinship.MedianNS = 1e6
		run.Clusters[1].Kinship = tt.kinship
		table := clusterTable(&Results{Run: run, Manifest: m, Clusters: c})
		if row := table.rows[1]; row[len(row)-1] != tt.want {
			t.Errorf("%q, want %q", row[len(row)-1], tt.want)
		}
	}
}

// Rows that would read alike say how long their bursts are, or whose caller differs.
func TestNoRowsAlike(t *testing.T) {
	r := unequal()
	several := []trace.PathCount{{Path: 4, Bursts: 60}, {Path: 2, Bursts: 40}}
	for i := 2; i < 4; i++ {
		r.Run.Clusters[i].Before = several // of more than one pair of calls nothing says what distinguishes them
	}
	table := clusterTable(r)
	var got []string
	for _, row := range table.rows[:4] {
		got = append(got, row[len(row)-1])
	}
	want := []string{
		"MPI_Sendrecv@ring.c:5 → MPI_Allreduce@ring.c:9; from solve", "same calls as 1, 0.86 times as long; distinguished by order (.00 of 1); from precondition",
		"MPI_Barrier@ring.c:3 and 1 more → MPI_Sendrecv@ring.c:5; bursts of 4.00 ms", "MPI_Barrier@ring.c:3 and 1 more → MPI_Sendrecv@ring.c:5; bursts of 2.00 ms",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Many variants of a kind are one row.
func TestManyVariants(t *testing.T) {
	run, m, c := fourKinds()
	for id := int32(6); id < 10; id++ {
		x := run.Clusters[3]
		x.ID, x.MedianNS = id, 1e6*float64(id)
		run.Clusters = append(run.Clusters, x)
	}
	var text strings.Builder
	writeTable(&text, clusterTable(&Results{Run: run, Manifest: m, Clusters: c}))
	for _, want := range []string{"      4     360   1.0 %", "      6     360   1.0 %", " 3 more   1,080   3.0 %                       1         variants of 1, medians 7.00 ms to 9.00 ms\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "      7     360") {
		t.Errorf("a variant too many:\n%s", text.String())
	}
}

// A variant of a kind whose row is not shown says itself between which calls it is; quartiles of a few bursts are not
// shown.
func TestKindWithoutRow(t *testing.T) {
	run, m, c := fourKinds()
	for i, x := range []trace.Cluster{run.Clusters[3], run.Clusters[2], run.Clusters[0]} {
		x.ID, x.VariantOf = int32(i+1), 0
		run.Clusters[i] = x
	}
	run.Clusters = run.Clusters[:3]
	run.Clusters[0].VariantOf, run.Clusters[1].Bursts, run.Clusters[2].Share = 3, 3, tableShare/2
	table := clusterTable(&Results{Run: run, Manifest: m, Clusters: c})
	if got, want := table.rows[0][7], "MPI_Allreduce@app.c:38 → MPI_Allreduce@app.c:38 (variant of 3, 1.68 times as long)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := []string{table.rows[0][4], table.rows[1][4]}; got[0] != "±31.0 %" || got[1] != "" {
		t.Errorf("cores %q, the second of three bursts", got)
	}
}
