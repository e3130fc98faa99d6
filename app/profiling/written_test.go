package profiling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// A summed is what the test itself sums up of a node on a thread.
type summed struct {
	exclusive, inclusive, calls, subcalls  int64
	value, valueInside, below, belowInside int64
	whole, estimated, missing              int64
}

// tallied are of each node, by what leads to it, those of threads.
type tallied map[string]map[wroteThread]*summed

func (x tallied) at(node string, of wroteThread) *summed {
	if x[node] == nil {
		x[node] = make(map[wroteThread]*summed)
	}
	if x[node][of] == nil {
		x[node][of] = new(summed)
	}
	return x[node][of]
}

// A asking says what to sum up.
type asking struct {
	by     By
	nested bool
	metric string
	in     map[string]bool // phases; nil: all
	ranks  func(world, rank int32) bool
}

// way is what leads to a row, outermost first, each with its type; functions of --by function each once.
func (q *asking) way(r *parquet.ProfileRow) (way []string) {
	if q.by == ByPhase && r.InPhase {
		for _, name := range trace.PhaseNames(r.Phase) {
			way = append(way, "phase:"+name)
		}
	}
	calls := strings.Split(frames[r.CallPath], " > ")
	if q.by == ByFunctions || q.by == ByCallPath && q.nested {
		n := 0
		switch {
		case r.Kind == parquet.ProfileMPI || r.Kind == parquet.ProfileTraffic:
			n = len(calls) - 1
		case r.Kind == parquet.ProfileComputation && r.Context > 0:
			if n = int(r.Context); r.CallPath == rundirtest.WaitY && n == 3 {
				n++ // y_solve is inlined into sweep
			}
		}
		for _, f := range calls[:n] {
			if q.by == ByFunctions {
				f, _, _ = strings.Cut(f, "@")
			}
			way = append(way, f)
		}
	}
	switch r.Kind {
	case parquet.ProfileMPI, parquet.ProfileTraffic:
		leaf := calls[len(calls)-1]
		switch {
		case q.by == ByCallPath && !q.nested:
			leaf = "mpi:" + r.CallPath
		case q.by == ByCluster:
			leaf = "mpi:MPI"
		case !q.nested || q.by == ByPhase:
			leaf, _, _ = strings.Cut(leaf, "@")
		}
		return append(way, leaf)
	case parquet.ProfileComputation:
		return append(way, "cluster:"+leafOf(r, q.by))
	case parquet.ProfilePaused:
		return append(way, "paused:Paused")
	case parquet.ProfileUnrecorded:
		return append(way, "unrecorded:Unrecorded")
	}
	return way
}

// values are what a row adds to a metric: its values, or both parts of a ratio.
func (q *asking) values(r *parquet.ProfileRow) (value, below, missing int64) {
	switch q.metric {
	case metricCalls:
		if r.Kind == parquet.ProfileMPI {
			value = r.Count
		}
	case metricBytes:
		value = r.SentBytes + r.ReceivedBytes
	case metricIPC:
		if r.Kind == parquet.ProfileComputation && r.Counters[0].Missing == r.Counters[1].Missing {
			value, below = r.Counters[0].Sum, r.Counters[1].Sum
		}
	case instructions:
		if r.Kind == parquet.ProfileComputation {
			value, missing = r.Counters[0].Sum, r.Counters[0].Missing
		}
	case cycles:
		if r.Kind == parquet.ProfileComputation {
			value, missing = r.Counters[1].Sum, r.Counters[1].Missing
		}
	}
	return value, below, missing
}

// sum adds up, row by row: all is the program.
func (q *asking) sum(rows []parquet.ProfileRow) (tallied, []wroteThread) {
	all := make(tallied)
	var threads []wroteThread
	for i := range rows {
		r := &rows[i]
		of := wroteThread{r.World, r.Rank, r.Thread}
		if !q.ranks(r.World, r.Rank) {
			continue
		}
		if r.Kind != parquet.ProfileTraffic && !slices.Contains(threads, of) {
			threads = append(threads, of)
		}
		if q.in != nil && !q.in[r.Phase] {
			continue
		}
		way := q.way(r)
		if r.Kind == parquet.ProfileTraffic {
			if q.metric != metricBytes {
				continue
			}
			if q.by == ByPhase {
				way = nil
			}
		}
		sep := map[bool]string{true: " > "}[q.by == ByPhase || q.nested]
		node := func(n int) string {
			if n == 0 {
				return ""
			}
			if sep == "" {
				return way[n-1]
			}
			return strings.Join(way[:n], sep)
		}
		value, below, missing := q.values(r)
		own := all.at(node(len(way)), of)
		own.value, own.below = own.value+value, own.below+below
		switch r.Kind {
		case parquet.ProfileTraffic:
		case parquet.ProfilePhase:
			if q.by == ByPhase || !r.InPhase {
				own.calls, own.whole = own.calls+r.Records, own.whole+r.TimeNS
				if len(way) > 0 {
					all.at(node(len(way)-1), of).subcalls += r.Records
				}
			}
			for n := range way {
				all.at(node(n), of)
			}
			continue
		default:
			own.exclusive, own.calls, own.whole = own.exclusive+r.TimeNS, own.calls+r.Count, own.whole+r.WholeNS
			if r.Kind == parquet.ProfileMPI {
				all.at(node(len(way)-1), of).subcalls += r.Count
			}
			if q.by == ByPhase { // exclusively a phase's is what is in none within it
				x := all.at(node(len(way)-1), of)
				x.exclusive, x.value, x.below = x.exclusive+r.TimeNS, x.value+value, x.below+below
			}
		}
		seen := make(map[string]bool)
		for n := range len(way) + 1 {
			if seen[node(n)] {
				continue // a recursion
			}
			seen[node(n)] = true
			x := all.at(node(n), of)
			x.valueInside, x.belowInside, x.missing = x.valueInside+value, x.belowInside+below, x.missing+missing
			if r.Kind != parquet.ProfileTraffic {
				x.inclusive, x.estimated = x.inclusive+r.TimeNS, x.estimated+r.EstimatedNS
			}
		}
	}
	return all, threads
}

// check compares rows with what the test has summed up.
func (q *asking) check(t *testing.T, what string, rows []wroteRow, total *wroteRow, want tallied, threads []wroteThread) {
	t.Helper()
	got := make(map[string]bool)
	var way []string
	one := func(r *wroteRow, node string) {
		t.Helper()
		what := fmt.Sprintf("%s: %q", what, node)
		x := func(of wroteThread) *summed {
			if v := want[node][of]; v != nil {
				return v
			}
			return new(summed)
		}
		if want[node] == nil {
			t.Errorf("%s: there is no such row", what)
			return
		}
		all := new(summed)
		for _, thread := range threads {
			v := x(thread)
			all.whole, all.calls, all.estimated, all.inclusive, all.missing = all.whole+v.whole, all.calls+v.calls, all.estimated+v.estimated, all.inclusive+v.inclusive, all.missing+v.missing
		}
		if r.Type == string(calltree.Function) {
			if r.Calls != nil || r.Time.Exclusive != nil {
				t.Errorf("%s: what is not known has figures: %+v", what, r)
			}
		} else {
			checkFigure(t, what+" calls", r.Calls, threads, func(of wroteThread) int64 { return x(of).calls })
			checkFigure(t, what+" exclusive", r.Time.Exclusive, threads, func(of wroteThread) int64 { return x(of).exclusive })
		}
		checkFigure(t, what+" inclusive", r.Time.Inclusive, threads, func(of wroteThread) int64 { return x(of).inclusive })
		checkFigure(t, what+" subcalls", r.Subcalls, threads, func(of wroteThread) int64 { return x(of).subcalls })
		switch {
		case q.metric == metricTime:
			if r.Value != nil {
				t.Errorf("%s: a value", what)
			}
		case q.metric == metricIPC:
			checkRatio(t, what+" value", r.Value.Exclusive, threads, func(of wroteThread) (int64, int64) { return x(of).value, x(of).below })
			checkRatio(t, what+" value inside", r.Value.Inclusive, threads, func(of wroteThread) (int64, int64) { return x(of).valueInside, x(of).belowInside })
		default:
			checkFigure(t, what+" value", r.Value.Exclusive, threads, func(of wroteThread) int64 { return x(of).value })
			checkFigure(t, what+" value inside", r.Value.Inclusive, threads, func(of wroteThread) int64 { return x(of).valueInside })
		}
		if (r.PerCallNS == nil) != (all.calls == 0) || r.PerCallNS != nil && *r.PerCallNS != float64(all.whole)/float64(all.calls) {
			t.Errorf("%s: %v ns per call, want %d / %d", what, r.PerCallNS, all.whole, all.calls)
		}
		share := 0.0
		if all.inclusive > 0 {
			share = float64(all.estimated) / float64(all.inclusive)
		}
		if r.Estimated == nil || *r.Estimated != share || r.Missing != all.missing {
			t.Errorf("%s: estimated %v, missing %d, want %v, %d", what, r.Estimated, r.Missing, share, all.missing)
		}
	}
	for i := range rows {
		r := &rows[i]
		node := r.Type + ":" + r.Name
		if r.Type == string(calltree.Program) {
			node, way = "", way[:0]
		} else if q.by == ByPhase || q.nested {
			if r.Line > 0 {
				node += fmt.Sprintf("@%s:%d", r.File[strings.LastIndex(r.File, "/")+1:], r.Line)
			}
			if r.Depth != len(r.Stack) || r.Depth < 1 || r.Depth > len(way)+1 || r.Stack[r.Depth-1] != r.Name {
				t.Fatalf("%s: %+v behind %v", what, r, way)
			}
			way = append(way[:r.Depth-1], node)
			node = strings.Join(way, " > ")
		} else if r.Depth != 1 || !slices.Equal(r.Stack, []string{r.Name}) {
			t.Errorf("%s: %+v", what, r)
		}
		if got[node] {
			t.Errorf("%s: %q twice", what, node)
		}
		got[node] = true
		q.checkNames(t, r, way)
		one(r, node)
	}
	if total != nil {
		one(total, "")
	}
	for node := range want {
		if !got[node] && node != "" {
			t.Errorf("%s: no row %q", what, node)
		}
	}
}

// checkNames compares the phase and the cluster of a row with its place.
func (q *asking) checkNames(t *testing.T, r *wroteRow, way []string) {
	t.Helper()
	if (r.Cluster != nil) != (r.Type == string(calltree.Cluster)) || r.Cluster != nil && ClusterName(*r.Cluster) != r.Name {
		t.Errorf("%+v has the cluster %v", r, r.Cluster)
	}
	var names []string
	if q.by == ByPhase {
		for _, node := range way[:r.Depth] {
			if name, is := strings.CutPrefix(node, "phase:"); is {
				names = append(names, name)
			}
		}
	}
	if (r.Phase != nil) != (len(names) > 0) || r.Phase != nil && *r.Phase != trace.PhasePath(names...) {
		t.Errorf("%+v is in the phase %v, not %q", r, r.Phase, names)
	}
}

// plantThreads puts the ranks of a planted profile onto worlds, ranks and threads, and has some bytes known by rank
// alone, some bursts without a value, and a name that a spreadsheet takes for a formula.
func plantThreads(t *testing.T) (*Source, *rundirtest.Profiled) {
	t.Helper()
	p := rundirtest.Profile(6)
	formula := trace.PhasePath("=1+1", "'-a/b")
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		if r.Rank == 3 && r.Phase == rundirtest.Strange {
			r.Phase = formula
		}
		if r.Kind == parquet.ProfileComputation && r.Cluster == 3 && r.Rank%2 == 0 {
			r.Counters[0] = parquet.ProfileCounter{Missing: r.Count}
		}
		r.World, r.Rank, r.Thread = r.Rank/4, r.Rank%4/2, r.Rank%2
		if r.Kind == parquet.ProfileMPI && r.CallPath == rundirtest.WaitX {
			r.SentBytes, r.ReceivedBytes, r.InTraffic = 0, 0, true
		}
	}
	for _, of := range [][2]int32{{0, 0}, {0, 1}, {1, 0}} {
		p.Profile.Rows = append(p.Profile.Rows, parquet.ProfileRow{
			Kind: parquet.ProfileTraffic, World: of[0], Rank: of[1], CallPath: rundirtest.WaitX, Context: -1, Iterations: -1, Count: 5, Records: 5, SentBytes: 1, ReceivedBytes: 100 + int64(of[1]),
		})
	}
	p.Seal()
	return plant(t, p), p
}

// Each figure of each row of JSON and CSV is what the rows of the file add up to, for each list, metric, phase and
// rank.
func TestWrittenFigures(t *testing.T) {
	s, p := plantThreads(t)
	formula := trace.PhasePath("=1+1", "'-a/b")
	everything := func(world, rank int32) bool { return true }
	for _, of := range []struct {
		in    string
		is    []string
		ranks string
		has   func(world, rank int32) bool
	}{
		{"", nil, "", everything},
		{"adi", []string{rundirtest.Adi, rundirtest.XSolve, rundirtest.YSolve}, "", everything},
		{"*/x_solve", []string{rundirtest.XSolve, rundirtest.Strange}, "", everything},
		{"=1+1/**", []string{trace.PhasePath("=1+1"), formula}, "", everything},
		{"", nil, "0:1,1:0", func(world, rank int32) bool { return world == 1 || rank == 1 }},
		{"adi/y_solve", []string{rundirtest.YSolve}, "1:0", func(world, rank int32) bool { return world == 1 }},
	} {
		question := Question{Stat: Sum}
		var in map[string]bool
		if of.in != "" {
			question.In = mustPattern(t, of.in)
			in = make(map[string]bool)
			for _, phase := range of.is {
				in[phase] = true
			}
		}
		if of.ranks != "" {
			question.Ranks = mustRanks(t, of.ranks)
		}
		for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByPhase, ByCluster} {
			for _, nested := range []bool{false, true} {
				if nested && by != ByCallPath && by != ByPhase {
					continue
				}
				for metric, unit := range map[string]string{metricTime: "ns", metricCalls: "calls", metricBytes: "bytes", metricIPC: "instructions per cycle", instructions: "instructions"} {
					q := asking{by: by, nested: nested, metric: metric, in: in, ranks: of.has}
					want, threads := q.sum(p.Profile.Rows)
					question.By, question.Nested, question.Metric = by, nested, metric
					a := ask(t, s, question)
					w, rows := readAnswer(t, a)
					what := fmt.Sprintf("by %s, tree %t, %s, in %q, ranks %q", by, nested, metric, of.in, of.ranks)
					ranks := make(map[[2]int32]bool)
					for _, thread := range threads {
						ranks[[2]int32{thread.World, thread.Rank}] = true
					}
					if w.Format != 1 || w.By != string(by) || w.Tree != nested || (w.In != nil) != (in != nil) || w.In != nil && *w.In != of.in || w.Metric.Name != metric || w.Metric.Unit != unit || w.Threads != len(threads) || w.Ranks != len(ranks) {
						t.Errorf("%s: %+v", what, w)
					}
					q.check(t, what+", JSON", w.Rows, &w.Total, want, threads)
					q.check(t, what+", CSV", rows, nil, want, threads)
				}
			}
		}
	}
}

func mustPattern(t *testing.T, text string) *Pattern {
	t.Helper()
	p, err := PatternOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
