package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/overview"
	"moriens/trace/page"
	"moriens/trace/rundir"
)

// long is a run of threads that go round two clusters, the second of which is rare.
func long(threads, rounds int) *trace.Run {
	run := &trace.Run{
		DurationNS: int64(rounds) * 1000, Worlds: []trace.World{{Executable: "/opt/app", Size: threads}}, Nodes: []trace.Node{{Name: "n"}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Barrier"}}, Clusters: []trace.Cluster{{ID: 1}, {ID: 2}},
	}
	for i := range threads {
		t := trace.Thread{Rank: i, EndNS: run.DurationNS}
		for k := range rounds {
			at := int64(k) * 1000
			t.Calls.EnterNS, t.Calls.ExitNS, t.Calls.Path = append(t.Calls.EnterNS, at), append(t.Calls.ExitNS, at+100), append(t.Calls.Path, 1)
			t.Bursts.StartNS, t.Bursts.DurationNS = append(t.Bursts.StartNS, at+100), append(t.Bursts.DurationNS, 900)
			t.Bursts.Before, t.Bursts.After = append(t.Bursts.Before, 1), append(t.Bursts.After, 1)
			cluster := int32(1)
			if k%50 == 0 {
				cluster = 2
			}
			t.Bursts.Cluster = append(t.Bursts.Cluster, cluster)
		}
		t.Calls.EnterNS, t.Calls.ExitNS, t.Calls.Path = append(t.Calls.EnterNS, run.DurationNS), append(t.Calls.ExitNS, run.DurationNS), append(t.Calls.Path, 1)
		run.Threads = append(run.Threads, t)
	}
	run.SummariseClusters()
	return run
}

func written(t *testing.T, s page.Source, l page.Limits) shown {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, page.Report, s, l); err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

// TestLimits has a page hold less than there is: weights say for how much each point stands, the beginning is here call
// by call, and words say what is not.
func TestLimits(t *testing.T) {
	const threads, rounds = 20, 500
	run := long(threads, rounds)
	l := page.Limits{Points: 2000, Calls: 1000, Messages: 10, Rows: 7}
	s := written(t, page.Source{Detail: run, Rows: run}, l)
	d := s.Document
	if d.Points.Count > l.Points || d.Points.Count < l.Points-5 || d.Points.Of != threads*rounds {
		t.Errorf("%d points of %d", d.Points.Count, d.Points.Of)
	}
	weights, rows := make(map[float64]float64), make(map[float64]int)
	for i, label := range s.Floats["points.cluster"] {
		weights[label] += s.Floats["points.weight"][i]
		rows[label]++
	}
	for label, want := range map[float64]float64{1: threads * rounds * 49 / 50, 2: threads * rounds / 50} {
		if math.Abs(weights[label]-want) > 1e-3*want {
			t.Errorf("the points of cluster %v stand for %v bursts, not %v", label, weights[label], want)
		}
	}
	if rows[2] != threads*rounds/50 {
		t.Errorf("%d points of the small cluster, of %d", rows[2], threads*rounds/50)
	}
	if d.Detail.Calls > l.Calls || d.Detail.Calls < l.Calls-2*threads || !strings.Contains(d.Detail.LeftOut, "the first ") {
		t.Errorf("%d calls, %q", d.Detail.Calls, d.Detail.LeftOut)
	}
	end := 0.
	for _, ns := range s.Floats["calls.exit_ns"] {
		end = max(end, ns)
	}
	early := 0
	for i, start := range s.Floats["points.start_ns"] {
		if start+s.Floats["points.duration"][i] < end {
			early++
		}
	}
	if want := d.Detail.Calls - threads; early != want {
		t.Errorf("%d bursts of the time in which all calls are here, not %d", early, want)
	}
	if len(d.Groups) != 7 || d.Groups[6][1] != threads-1 {
		t.Errorf("groups %v", d.Groups)
	}
	for _, words := range []string{"2,000 of the 10,000 bursts", "groups of 3 threads"} {
		if !strings.Contains(d.Resolution, words) {
			t.Errorf("%q is not in %q", words, d.Resolution)
		}
	}
}

// TestBurstsWithoutCalls has as many points as there is room for where hardly any MPI call lies between bursts, as in
// traces of others.
func TestBurstsWithoutCalls(t *testing.T) {
	const rounds = 5000
	for name, reduced := range map[string]bool{"whole": false, "windows": true} {
		run := long(2, rounds)
		for i := range run.Threads {
			run.Threads[i].Calls = trace.Calls{EnterNS: []int64{0}, ExitNS: []int64{100}, Path: []uint32{1}}
		}
		if reduced {
			span := trace.Span{EndNS: run.DurationNS}
			run = run.Cut([]trace.Window{{EndNS: run.DurationNS, Threads: []int{0, 1}, Why: trace.Representative}}, [][]trace.Span{{span}, {span}})
		}
		l := page.Limits{Points: 1000, Calls: 1000, Messages: 10, Rows: 10}
		d := written(t, page.Source{Detail: run, Rows: run}, l).Document
		if d.Points.Count > l.Points || d.Points.Count < l.Points-5 || d.Points.Of != 2*rounds {
			t.Errorf("%s: %d points of %d", name, d.Points.Count, d.Points.Of)
		}
		if d.Detail.LeftOut == "" {
			t.Errorf("%s: nothing says that not all is here", name)
		}
	}
}

// TestEveryClusterIsSeen has room for hardly more points than there are clusters, and for fewer.
func TestEveryClusterIsSeen(t *testing.T) {
	const clusters, bursts = 60, 600
	run := long(1, bursts)
	for k := range bursts {
		run.Threads[0].Bursts.Cluster[k] = int32(1 + k%clusters)
	}
	run.SummariseClusters()
	for _, points := range []int{0, 40, 70, 130} {
		s := written(t, page.Source{Rows: run}, page.Limits{Points: points, Rows: 1})
		if n := s.Document.Points.Count; n > max(points, clusters) {
			t.Errorf("%d points where there is room for %d", n, points)
		}
		weights := make(map[float64]float64)
		for i, label := range s.Floats["points.cluster"] {
			weights[label] += s.Floats["points.weight"][i]
		}
		for label := range clusters {
			if w := weights[float64(label+1)]; math.Abs(w-bursts/clusters) > 1e-3 {
				t.Errorf("%d points: those of cluster %d stand for %v bursts, not %d", points, label+1, w, bursts/clusters)
			}
		}
	}
}

// TestMessagesFit leaves out the latest messages, and says how many.
func TestMessagesFit(t *testing.T) {
	run := long(2, 100)
	for k := range int64(30) {
		run.Messages = append(run.Messages, trace.Message{From: 0, To: 1, SendNS: k * 1000, PhysicalSendNS: k * 1000, RecvNS: k * 1000, PhysicalRecvNS: k*1000 + 100, Bytes: 8, Tag: math.MaxInt64})
	}
	s := written(t, page.Source{Detail: run, Rows: run}, page.Limits{Points: 1000, Calls: 1000, Messages: 20, Rows: 10})
	if d := s.Document.Detail; d.Messages != 20 || d.LeftOut != "Left out: the latest 10 messages." {
		t.Errorf("%+v", d)
	}
	for k, ns := range s.Floats["messages.sent_ns"] {
		if ns != float64(k*1000) || s.Floats["messages.received_ns"][k] != ns+100 || s.Floats["messages.to"][k] != 1 || s.Floats["messages.tag"][k] != math.MaxInt32 {
			t.Errorf("message %d is sent at %v ns: %v", k, ns, s.Floats)
		}
	}
}

// TestWindowsFit takes windows that stand for the run first, each whole.
func TestWindowsFit(t *testing.T) {
	run := long(2, 100)
	spans := [][]trace.Span{{{BeginNS: 0, EndNS: 20_100, Window: 0}, {BeginNS: 30_000, EndNS: 40_100, Window: 1}}, {{BeginNS: 30_000, EndNS: 40_100, Window: 1}}}
	kept := run.Cut([]trace.Window{
		{EndNS: 20_100, Threads: []int{0}, Why: trace.Outlier}, {BeginNS: 30_000, EndNS: 40_100, Threads: []int{0, 1}, Why: trace.Representative},
	}, spans)
	s := written(t, page.Source{Detail: kept, Rows: kept}, page.Limits{Points: 100, Calls: 30, Rows: 10})
	for i, ns := range s.Floats["calls.enter_ns"] {
		if ns < 30_000 {
			t.Fatalf("call %d is of the other window", i)
		}
	}
	if s.Document.Detail.Calls != 22 || !strings.HasPrefix(s.Document.Detail.LeftOut, "Calls are shown for 1 of 2 kept windows;") {
		t.Errorf("%+v", s.Document.Detail)
	}
	windows := make(map[float64]int)
	for _, w := range s.Floats["points.window"] {
		windows[w]++
	}
	if windows[0] != 20 || windows[1] != 20 {
		t.Errorf("points by window: %v", windows)
	}
}

// TestDamaged damages each file of a run directory: what can be read is shown, and the rest named.
func TestDamaged(t *testing.T) {
	dir, _ := write(t, &rundir.Content{Run: long(3, 100), Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)})
	for _, name := range []string{rundir.BurstsFile, rundir.TraceFile, rundir.OverviewFile, rundir.ClustersFile} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)/2], "other": []byte("<script>alert(1)</script>")} {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
			s := fromDirectory(t, dir, page.LimitsOf(page.Report))
			if problems := strings.Join(s.Document.Problems, " "); !strings.Contains(problems, name) || strings.Contains(problems, dir) {
				t.Errorf("%s, %s: problems %q", name, what, problems)
			}
			if s.Document.Threads != 3 || len(s.Document.Manifest) < 100 {
				t.Errorf("%s, %s: %d threads, a manifest of %d bytes", name, what, s.Document.Threads, len(s.Document.Manifest))
			}
			if points := s.Document.Points.Count; (name == rundir.BurstsFile) != (points == 0) {
				t.Errorf("%s, %s: %d points", name, what, points)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		problems := fromDirectory(t, dir, page.LimitsOf(page.Report)).Document.Problems
		if !strings.Contains(strings.Join(problems, " "), name) {
			t.Errorf("without %s: problems %q", name, problems)
		}
		for _, problem := range problems {
			if !strings.Contains(problem, name) && !strings.Contains(problem, rundir.ProfileFile) {
				t.Errorf("without %s: problem %q", name, problem)
			}
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for what, text := range map[string]string{"empty": "", "later": `{"format": 99}`, "other": `{"a": 1}`} {
		if err := os.WriteFile(filepath.Join(dir, rundir.ManifestFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := page.Open(dir); err == nil {
			t.Errorf("a manifest that is %s: no error", what)
		}
	}
}

// TestOverviewOfOtherThreads has a directory without a trace that would say of how many threads its overview has to be.
func TestOverviewOfOtherThreads(t *testing.T) {
	run := long(3, 100)
	dir, _ := write(t, &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)})
	if err := os.Remove(filepath.Join(dir, rundir.TraceFile)); err != nil {
		t.Fatal(err)
	}
	for threads, words := range map[int]string{0: "it is of 0 threads, 3 are known", 2: "it is of 2 threads, 3 are known", 3: ""} {
		var b bytes.Buffer
		if err := overview.Of(&trace.Run{DurationNS: run.DurationNS, Threads: run.Threads[:threads]}, 1000).Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, rundir.OverviewFile), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		d := fromDirectory(t, dir, page.LimitsOf(page.Report)).Document
		said := strings.Join(d.Problems, " ")
		if (d.Overview != nil) != (words == "") || !strings.Contains(said, words) || words == "" && strings.Contains(said, rundir.OverviewFile+": ") {
			t.Errorf("an overview of %d threads, a page of 3: %+v, problems %q", threads, d.Overview, said)
		}
	}
}

// TestEmpty writes pages of runs of which there is little or nothing.
func TestEmpty(t *testing.T) {
	for name, s := range map[string]page.Source{"nothing known": {}, "no thread": {Detail: &trace.Run{}, Rows: &trace.Run{}}} {
		d := written(t, s, page.LimitsOf(page.View)).Document
		text, err := json.Marshal(d)
		if err != nil || d.Threads != 0 || d.Points.Count != 0 || d.Overview != nil || string(d.Manifest) != "null" {
			t.Errorf("%s: %v %s", name, err, text)
		}
		for _, list := range []string{"problems", "hosts", "counters", "paths", "functions", "nodes", "groups"} {
			if !strings.Contains(string(text), fmt.Sprintf("%q:[]", list)) {
				t.Errorf("%s: %s is no list in %s", name, list, text)
			}
		}
	}
}

// TestNothingRan writes the page of a run in which no process called MPI: the viewer takes every list for one.
func TestNothingRan(t *testing.T) {
	c := &rundir.Content{Run: &trace.Run{CallPaths: []trace.CallPath{{}}}, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
	_, text := write(t, c)
	o := open(t, text).Document.Overview
	if o == nil || o.Rows == nil || len(o.Rows) > 0 || o.Codes == nil {
		t.Errorf("the overview of no thread: %+v", o)
	}
}
