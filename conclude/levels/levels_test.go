package levels

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/analysis/sample"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// The profile of any run adds up to the run; its structure is the run's symbols again.
func TestSumsOfAnyRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		p := profileOf(t, run, nil, 2)
		type sums struct{ count, ns, sent, received int64 }
		var want, got [2]sums
		for i := range run.Threads {
			th := &run.Threads[i]
			for _, ns := range th.Bursts.DurationNS {
				want[0].count++
				want[0].ns += ns
			}
			for k, enter := range th.Calls.EnterNS {
				n := int64(1)
				if th.Calls.Count != nil {
					n = th.Calls.Count[k]
				}
				want[1].count += n
				want[1].ns += th.Calls.ExitNS[k] - enter
			}
			for k := range th.Collectives.Call {
				want[1].sent += th.Collectives.Sent[k]
				want[1].received += th.Collectives.Received[k]
			}
			for k, kind := range th.Transfers.Kind {
				if kind == trace.Sent || kind == trace.Put || kind == trace.Written {
					want[1].sent += th.Transfers.Bytes[k]
				} else {
					want[1].received += th.Transfers.Bytes[k]
				}
			}
		}
		inCall := func(thread int, ns int64) bool {
			c := &run.Threads[thread].Calls
			for k, enter := range c.EnterNS {
				if enter <= ns && ns <= c.ExitNS[k] {
					return true
				}
			}
			return false
		}
		for i := range run.Messages {
			m := &run.Messages[i]
			if only, err := OnlyMessages(run, alone); err != nil || !only {
				break
			}
			if inCall(m.From, m.SendNS) {
				want[1].sent += m.Bytes
			}
			if inCall(m.To, m.RecvNS) {
				want[1].received += m.Bytes
			}
		}
		for _, r := range p.Rows {
			got[r.Kind].count += r.Count
			got[r.Kind].ns += r.Time.Total
			got[r.Kind].sent += r.Sent
			got[r.Kind].received += r.Received
		}
		if got != want {
			t.Fatalf("sums %+v, want %+v", got, want)
		}

		table := symbolsOf(t, run, 1)
		s := structureOf(t, run, table, 2)
		for i, of := range s.Of {
			if got := s.Rebuild(int(of)); !slices.Equal(got, table.Threads[i]) {
				t.Fatalf("thread %d: rebuilt %v, want %v", i, got, table.Threads[i])
			}
		}
	})
}

// Each burst and call is under its named phase and its phase of iterations.
func TestRegions(t *testing.T) {
	run := halo(2, 5, -1, 0)
	phases := []period.Phase{
		{Threads: []period.Loop{{From: 0, To: 1}, {From: 0, To: 1}}},
		{Iterations: 5, Threads: []period.Loop{{From: 1, To: 11, Begins: []int32{1, 3, 5, 7, 9, 11}}, {From: 1, To: 11, Begins: []int32{1, 3, 5, 7, 9, 11}}}},
		{Threads: []period.Loop{{From: 11, To: 12}, {From: 11, To: 12}}},
	}
	p := profileOf(t, run, phases, 1)
	type row struct {
		kind          profile.Kind
		path          uint32
		cluster       int32
		region, phase int32
		count, sent   int64
	}
	var got []row
	for _, r := range p.Rows {
		if r.Thread == 1 {
			got = append(got, row{r.Kind, r.Path, r.Cluster, r.Region, r.Phase, r.Count, r.Sent})
		}
	}
	want := []row{
		{profile.Computation, 2, 2, 1, 1, 5, 0},
		{profile.Computation, 2, 3, 0, -1, 1, 0},
		{profile.Computation, 3, 1, 1, 1, 5, 0},
		{profile.Computation, 5, 4, 0, -1, 1, 0},
		{profile.MPI, 1, 0, 0, -1, 1, 0},
		{profile.MPI, 2, 0, 1, -1, 1, 4096}, // it ends the burst before the iterations
		{profile.MPI, 2, 0, 1, 1, 4, 4 * 4096},
		{profile.MPI, 3, 0, 1, 1, 5, 40},
		{profile.MPI, 4, 0, 0, 1, 1, 0},
		{profile.MPI, 5, 0, 0, -1, 1, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%+v, want\n%+v", got, want)
	}
	if c := p.Curves[1]; c.Iterations != 5 || c.Threads != 2 || len(p.Curves[0].Computing) != 0 {
		t.Errorf("curves %+v", p.Curves)
	}
	if _, err := Profile(run, alone, []period.Phase{{}}, 1); err == nil {
		t.Error("a phase of no threads: no error")
	}
}

// spansOf are spans of the threads that lie round some of their bursts.
func spansOf(run *trace.Run, threads []int, from, to int) [][]trace.Span {
	spans := make([][]trace.Span, len(run.Threads))
	for _, i := range threads {
		b := &run.Threads[i].Bursts
		spans[i] = []trace.Span{{BeginNS: b.StartNS[from], EndNS: b.StartNS[to-1] + b.DurationNS[to-1]}}
	}
	return spans
}

// What is kept is what lies in the spans, and the weights of each cluster add up to what the run has of it.
func TestKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		whole := counts(run, nil)
		copied := make([][]int32, len(run.Threads))
		for i := range run.Threads {
			copied[i] = slices.Clone(run.Threads[i].Bursts.Cluster)
		}
		reduced := *run
		reduced.Threads = slices.Clone(run.Threads)
		for i := range reduced.Threads { // the columns of which Keep replaces
			b := &reduced.Threads[i].Bursts
			b.Counters = slices.Clone(b.Counters)
		}
		tracetest.Keep(t, &reduced)
		spans := make([][]trace.Span, len(run.Threads))
		inside := 0
		for i := range reduced.Threads {
			spans[i] = reduced.Threads[i].Kept
			inside += reduced.Threads[i].Bursts.Len()
		}
		rows := rapid.IntRange(0, 40).Draw(t, "rows")
		kept, s, err := Keep(run, alone, spans, nil, rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range kept {
			b := &kept[i]
			n += b.Len()
			if !slices.IsSorted(b.StartNS) || len(b.Weight) != b.Len() || len(b.Counters) != len(run.Counters) || (b.Phase == nil) != (run.Threads[i].Bursts.Phase == nil) {
				t.Fatalf("thread %d: %+v", i, b)
			}
			if !slices.Equal(copied[i], run.Threads[i].Bursts.Cluster) {
				t.Fatal("the run has changed")
			}
		}
		if n != inside+s.Rows {
			t.Fatalf("%d bursts, %d in spans and %d drawn", n, inside, s.Rows)
		}
		if got := counts(run, kept); s.By != sample.Nothing && !reflect.DeepEqual(got, whole) {
			t.Fatalf("by weight %v, want %v", got, whole)
		}
	})
}

// counts are those of the bursts of each cluster, by weight where bursts are given.
func counts(run *trace.Run, kept []trace.Bursts) map[int32]float64 {
	n := make(map[int32]float64)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		if kept != nil {
			b = &kept[i]
		}
		for k, cluster := range b.Cluster {
			if kept != nil {
				n[cluster] += b.Weight[k]
			} else {
				n[cluster]++
			}
		}
	}
	return n
}

// Two of a thousand iterations of an exemplar and of the slow rank, and a small sample, give a run whose error is below
// a hundredth, and which says so.
func TestHalo(t *testing.T) {
	run := halo(8, 1000, 5, 0)
	table := symbolsOf(t, run, 2)
	phases := periodsOf(t, run, table)
	iterating := slices.IndexFunc(phases, func(p period.Phase) bool { return p.Iterations > 900 })
	if iterating < 0 {
		t.Fatalf("no iterations found: %+v", phases)
	}
	begins := phases[iterating].Threads[0].Begins
	spans := spansOf(run, []int{0, 5}, int(begins[400]), int(begins[402]))
	classes := []int32{0, 0, 0, 0, 0, 1, 0, 0}
	p := profileOf(t, run, phases, 2)
	s := structureOf(t, run, table, 2)
	kept, drawn, err := Keep(run, alone, spans, classes, 200, 2)
	if err != nil {
		t.Fatal(err)
	}
	if drawn.By != sample.ByThread || drawn.Rows != 200 {
		t.Errorf("drawn %+v", drawn)
	}
	f, err := Evaluate(run, Kept{Bursts: kept, Spans: spans, Classes: classes, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []rundir.Errors{f.Windows, f.Weighted} {
		if e.Time > .01 || e.WorstTime > .01 || e.Counters[0].Error > .01 || len(e.Clusters) != 4 {
			t.Errorf("%+v", e)
		}
	}
	if c := f.Windows.Curves; len(c) != 1 || c[0].Phase != iterating || c[0].Mean > .01 || c[0].Worst > .05 {
		t.Errorf("curves %+v", c)
	}
	if f.Represented < .99 || f.Inside < .0004 || f.Inside > .0006 {
		t.Errorf("represented %v, inside %v", f.Represented, f.Inside)
	}
	// Evaluated as if all ranks were alike the slow one is wrong, and that shows: where nothing else is known in the
	// error, else in what windows stand for.
	spans = spansOf(run, []int{0}, int(begins[400]), int(begins[402]))
	f, err = Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if f.Represented > .2 || f.Windows.WorstTime > .01 {
		t.Errorf("without the slow rank, beside a sample: %v of the time in windows; %+v", f.Represented, f.Windows)
	}
	if kept, _, err = Keep(run, alone, spans, nil, 0, 2); err != nil {
		t.Fatal(err)
	}
	f, err = Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Phases: phases, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	force := slices.IndexFunc(f.Windows.Clusters, func(c rundir.ClusterError) bool { return c.ID == 1 })
	if math.Abs(float64(f.Windows.Clusters[force].Time)-1/25.) > .01 { // of 8 + 1/3 only 8 are there
		t.Errorf("without the slow rank: %+v", f.Windows)
	}
}

// Where everything is kept nothing is wrong.
func TestJudgeEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		table := symbolsOf(t, run, 1)
		p := profileOf(t, run, nil, 1)
		s := structureOf(t, run, table, 1)
		spans := make([][]trace.Span, len(run.Threads))
		for i := range run.Threads {
			spans[i] = []trace.Span{{BeginNS: math.MinInt64, EndNS: math.MaxInt64}}
		}
		kept, _, err := Keep(run, alone, spans, nil, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Evaluate(run, Kept{Bursts: kept, Spans: spans, Exact: p.Profile, Structure: s, Table: table, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(f.Windows.Clusters, f.Weighted.Clusters) {
			if c.Time > 1e-9 || c.Kolmogorov > 1e-9 || c.Wasserstein > 1e-9 {
				t.Fatalf("%+v", c)
			}
		}
		if f.Windows.Time > 1e-9 || f.Weighted.Time > 1e-9 {
			t.Fatalf("%+v", f)
		}
	})
}

// The files hold what was put into them, and structure.json grows very little with the number of iterations.
func TestFiles(t *testing.T) {
	sizes := make(map[string]int)
	for _, c := range []struct{ iterations, noise int }{{100, 0}, {10_000, 0}, {10_000, 30}} {
		run := halo(4, c.iterations, 1, c.noise)
		table := symbolsOf(t, run, 2)
		phases := periodsOf(t, run, table)
		p := profileOf(t, run, phases, 2)
		s := structureOf(t, run, table, 2)
		profileFile, text := filesOf(t, run, p, s, table)
		sizes[fmt.Sprint(c)] = len(text)
		structure := parseStructure(t, text)
		if len(structure.Threads) != len(run.Threads) {
			t.Fatalf("%+v: %d threads", c, len(structure.Threads))
		}
		// What a reader counts in the file is what the run has.
		for i, th := range structure.Threads {
			if got, want := structure.clusters(t, th.Sequence), counts(&trace.Run{Threads: run.Threads[i : i+1]}, nil); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, rank %d: %v, want %v", c, i, got, want)
			}
		}
		again, err := parquet.ReadProfile(bytes.NewReader(profileFile), int64(len(profileFile)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Rows, ProfileRows(run, p).Rows) || !reflect.DeepEqual(again.Counters, run.Counters) {
			t.Errorf("%+v: the profile is read back otherwise", c)
		}
	}
	small, large := sizes["{100 0}"], sizes["{10000 0}"]
	t.Logf("structure.json: %v bytes", sizes)
	if large > small*110/100 {
		t.Errorf("structure.json has %d bytes of 100 iterations, %d of 10,000", small, large)
	}
}

func TestRefuses(t *testing.T) {
	run := halo(2, 3, -1, 0)
	if _, _, err := Keep(run, alone, nil, nil, 10, 1); err == nil {
		t.Error("spans of no threads: no error")
	}
}
