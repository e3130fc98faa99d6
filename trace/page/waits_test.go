package page_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/page"
	"moriens/trace/rundir"
	"moriens/trace/tracetest"
)

// passed is long where each call but those of the last thread waits 60 ns for that one, and the critical path goes to
// the next thread with each round.
func passed(threads, rounds int) *trace.Run {
	run := long(threads, rounds)
	for i := range run.Threads[:threads-1] {
		w, enter := &run.Threads[i].Waits, run.Threads[i].Calls.EnterNS
		for k := range rounds {
			w.Call, w.Kind = append(w.Call, uint32(k)), append(w.Kind, trace.AtBarrier)
			w.UntilNS, w.For = append(w.UntilNS, enter[k]+60), append(w.For, int32(threads-1))
		}
	}
	for k := range rounds {
		t := &run.Threads[k%threads]
		t.Critical = append(t.Critical, trace.Stretch{BeginNS: int64(k) * 1000, EndNS: int64(k+1) * 1000})
	}
	return run
}

// TestWaits has a page name the calls that wait, for whom, and where the critical path is.
func TestWaits(t *testing.T) {
	const threads, rounds = 3, 20
	s := written(t, page.Source{Detail: passed(threads, rounds)}, page.LimitsOf(page.Report))
	if s.Document.Detail.Waits != (threads-1)*rounds || s.Document.Detail.Critical != rounds || s.Document.Detail.LeftOut != "" {
		t.Fatalf("%+v", s.Document.Detail)
	}
	for i, call := range s.Floats["waits.call"] {
		thread, enter := s.Floats["calls.thread"][int(call)], s.Floats["calls.enter_ns"][int(call)]
		if want := float64(i % rounds * 1000); int(thread) != i/rounds || enter != want {
			t.Errorf("wait %d is of a call of thread %v at %v, not at %v", i, thread, enter, want)
		}
		if s.Floats["waits.kind"][i] != float64(trace.AtBarrier) || s.Floats["waits.ns"][i] != 60 || s.Floats["waits.for"][i] != threads-1 {
			t.Errorf("wait %d: kind %v, %v ns, for %v", i, s.Floats["waits.kind"][i], s.Floats["waits.ns"][i], s.Floats["waits.for"][i])
		}
	}
	for k, thread := range s.Floats["critical.thread"] {
		if int(thread) != k%threads || s.Floats["critical.begin_ns"][k] != float64(k)*1000 || s.Floats["critical.ns"][k] != 1000 {
			t.Errorf("leg %d: thread %v at %v for %v ns", k, thread, s.Floats["critical.begin_ns"][k], s.Floats["critical.ns"][k])
		}
	}
	if !slices.Contains(s.Floats["overview.wait"], float64(trace.AtBarrier)) {
		t.Error("the overview shows no wait")
	}
}

// TestWaitsLimited has waits of the calls that are here, and of a path that has more legs than there is room for those
// of the same time; the page says so.
func TestWaitsLimited(t *testing.T) {
	const rounds = 100
	run := passed(2, rounds)
	for name, limits := range map[string]struct {
		critical, want int
		words          string
	}{"all": {rounds, rounds, ""}, "of that time": {60, 0, "exact where calls are."}, "fewer": {3, 3, "parts of it."}} {
		s := written(t, page.Source{Detail: run}, page.Limits{Points: 1000, Calls: 20, Messages: 10, Critical: limits.critical, Rows: 10})
		calls, end := s.Document.Detail.Calls, slices.Max(s.Floats["calls.exit_ns"])
		if calls == 0 || calls > 20 || s.Document.Detail.Waits != calls/2 {
			t.Errorf("%s: %d calls, %d waits", name, calls, s.Document.Detail.Waits)
		}
		want := limits.want
		if want == 0 {
			want = int(math.Ceil(end / 1000))
		}
		if d := s.Document.Detail; d.Critical != want || !strings.Contains(d.LeftOut, limits.words) || limits.words == "" && strings.Contains(d.LeftOut, "critical path") {
			t.Errorf("%s: %d legs, not %d; %q", name, d.Critical, want, d.LeftOut)
		}
	}
	run = run.Cut([]trace.Window{{BeginNS: 2000, EndNS: 9100, Threads: []int{0}, Why: trace.Representative}}, [][]trace.Span{{{BeginNS: 2000, EndNS: 9100}}, nil})
	run.Threads[0].Critical = passed(2, rounds).Threads[0].Critical
	s := written(t, page.Source{Detail: run}, page.Limits{Points: 1000, Calls: 20, Messages: 10, Critical: 20, Rows: 10})
	if begin, ns := s.Floats["critical.begin_ns"], s.Floats["critical.ns"]; !slices.Equal(begin, []float64{2000, 4000, 6000, 8000}) || !slices.Equal(ns, []float64{1000, 1000, 1000, 1000}) {
		t.Errorf("the legs in a window begin at %v, and last %v ns", begin, ns)
	}
}

// TestNoWaits has no columns where nobody waits.
func TestNoWaits(t *testing.T) {
	s := written(t, page.Source{Detail: long(2, 10)}, page.LimitsOf(page.Report))
	for name := range s.Floats {
		if strings.HasPrefix(name, "waits.") || strings.HasPrefix(name, "critical.") || name == "overview.wait" {
			t.Errorf("there is %s", name)
		}
	}
	if s.Document.Waits != nil {
		t.Error("there is waits.json")
	}
}

// caused is a waits.json.
func caused() *rundir.Waits {
	cluster := int32(3)
	return &rundir.Waits{
		Format: rundir.WaitsFormat, Why: []string{"first"},
		WholeRun: &rundir.WaitsTable{
			Basis: rundir.WaitsCollectives, Ranks: 2, Locations: 2, Waiting: 4, CausesTotal: 2,
			Causes: []rundir.WaitsCause{{ThreadName: rundir.ThreadName{Rank: 1}, What: rundir.CauseComputing, Cluster: &cluster, Seconds: 3, More: rundir.Number(math.NaN())}},
		},
	}
}

// A page has what waits.json says, whether the run is in memory or in its directory. Directories of earlier versions
// have no such file, which is no problem. One that is damaged is.
func TestWaitsFile(t *testing.T) {
	c := content(tracetest.Planted(), nil)
	c.Levels = &rundir.Levels{Waits: caused()}
	dir, page1 := write(t, c)
	text, err := json.Marshal(c.Levels.Waits) // as it was written, with empty lists
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, rundir.WaitsFile)
	put := func(text []byte) shown {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return fromDirectory(t, dir, page.LimitsOf(page.View))
	}
	for _, s := range []shown{open(t, page1), put(text)} {
		if got, err := json.Marshal(s.Document.Waits); err != nil || string(got) != string(text) {
			t.Errorf("%v %s", err, got)
		}
	}
	if s := put([]byte(`{"format":`)); s.Document.Waits != nil || !strings.Contains(strings.Join(s.Document.Problems, "\n"), rundir.WaitsFile+": it is cut short") {
		t.Errorf("%q", s.Document.Problems)
	}
	dir, _ = write(t, content(tracetest.Planted(), nil))
	if s := fromDirectory(t, dir, page.LimitsOf(page.View)); s.Document.Waits != nil || strings.Contains(strings.Join(s.Document.Problems, "\n"), rundir.WaitsFile) {
		t.Errorf("%q", s.Document.Problems)
	}
}
