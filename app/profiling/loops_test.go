package profiling

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
	"moriens/analysis/program/programtest"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// putProgram puts program.json into a run directory.
func putProgram(t *testing.T, dir string, p *program.Program) {
	t.Helper()
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ProgramFile), text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

const (
	steps   = "FOR i = 1..3 bt.f:19"
	solveX  = steps + "|FOR j = 1..2 x_solve.f:59"
	solveY  = steps + "|FOR j = 1..2 y_solve.f:80"
	norms   = "FOR i = 1..4 error.f:16"
	outside = "In no loop"
	unknown = "Loop not known"
)

// plantedLoop is where a row of the planted profile lies in programtest.Adi.
func plantedLoop(r *parquet.ProfileRow) string {
	switch {
	case r.Kind == parquet.ProfilePaused:
		return "Paused"
	case r.Kind == parquet.ProfileUnrecorded:
		return "Unrecorded"
	case r.CallPath == rundirtest.Read:
		return unknown
	case r.CallPath == rundirtest.Missing:
		return outside
	case r.CallPath == rundirtest.Reduce:
		return norms
	case r.CallPath == rundirtest.SendX:
		return solveX
	case r.CallPath == rundirtest.WaitX && r.Kind == parquet.ProfileComputation && r.Context == 2:
		return steps
	case r.CallPath == rundirtest.WaitX:
		return solveX
	case r.CallPath == rundirtest.WaitY && r.Kind == parquet.ProfileComputation:
		return steps // or in the loop in it
	case r.CallPath == rundirtest.WaitY:
		return solveY
	}
	return "?"
}

// A loopSum is what a row of loops has.
type loopSum struct{ Exclusive, Inclusive, MPI, Calls, Value, Inside int64 }

// TestLoops: each figure of each loop is what the rows of the file that lie in it add up to, and all add up to the
// total.
func TestLoops(t *testing.T) {
	p := rundirtest.Profile(6)
	s := plant(t, p)
	putProgram(t, s.Dir, programtest.Adi())
	values := map[string]func(r *parquet.ProfileRow) int64{
		metricTime:  func(*parquet.ProfileRow) int64 { return 0 },
		metricBytes: func(r *parquet.ProfileRow) int64 { return max(r.SentBytes, 0) + max(r.ReceivedBytes, 0) },
		metricCalls: func(r *parquet.ProfileRow) int64 {
			if r.Kind == parquet.ProfileMPI {
				return r.Count
			}
			return 0
		},
		instructions: func(r *parquet.ProfileRow) int64 {
			if r.Kind == parquet.ProfileComputation {
				return r.Counters[0].Sum
			}
			return 0
		},
	}
	for metric, value := range values {
		for _, ranks := range []string{"", "1,3"} {
			for _, in := range []string{"", "adi"} {
				q := Question{Dir: s.Dir, By: ByLoop, Metric: metric, Found: -1, Top: -1}
				if ranks != "" {
					q.Ranks = mustRanks(t, ranks)
				}
				if in != "" {
					q.In = mustPattern(t, in)
				}
				want := make(map[string]loopSum)
				var total int64
				for i := range p.Profile.Rows {
					r := &p.Profile.Rows[i]
					switch r.Kind {
					case parquet.ProfileMPI, parquet.ProfileComputation, parquet.ProfilePaused, parquet.ProfileUnrecorded:
					default:
						continue
					}
					if ranks != "" && r.Rank != 1 && r.Rank != 3 || in != "" && !strings.HasPrefix(r.Phase, rundirtest.Adi) {
						continue
					}
					at := plantedLoop(r)
					total += r.TimeNS
					for name := at; ; name = name[:strings.LastIndex(name, "|")] {
						x := want[name]
						if name == at {
							x.Exclusive += r.TimeNS
							x.Value += value(r)
						}
						x.Inclusive += r.TimeNS
						x.Inside += value(r)
						if r.Kind == parquet.ProfileMPI {
							x.MPI += r.TimeNS
							if name == at {
								x.Calls += r.Count
							}
						}
						want[name] = x
						if !strings.Contains(name, "|") {
							break
						}
					}
				}
				a := ask(t, s, q)
				got := make(map[string]loopSum)
				var sum int64
				for _, r := range a.Table.Rows[1:] {
					got[strings.Join(r.Stack, "|")] = loopSum{r.ExclusiveNS.Sum, r.InclusiveNS.Sum, r.MPINS.Sum, r.Subcalls.Sum, r.Exclusive.Sum, r.Inclusive.Sum}
					sum += r.ExclusiveNS.Sum
				}
				for _, name := range []string{"Paused", "Unrecorded"} { // they are no loops
					x := got[name]
					x.Calls = 0
					if x != (loopSum{}) {
						got[name] = x
					}
				}
				what := fmt.Sprintf("%s, ranks %q, in %q", metric, ranks, in)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: -want +got\n%s", what, diff)
				}
				if sum != total || total != a.Table.Total.InclusiveNS.Sum {
					t.Errorf("%s: rows have %d ns, the file %d, the total is %d", what, sum, total, a.Table.Total.InclusiveNS.Sum)
				}
			}
		}
	}
}

// What is in loops is below them in a tree, with the same sums.
func TestLoopTree(t *testing.T) {
	s := plant(t, rundirtest.Profile(6))
	putProgram(t, s.Dir, programtest.Adi())
	flat, tree := ask(t, s, Question{By: ByLoop, Found: -1}), ask(t, s, Question{By: ByLoop, Nested: true, Found: -1})
	loops := func(a *Answer) (list []Row) {
		for _, r := range a.Table.Rows {
			if r.OfLoop() {
				r.ownNS, r.Children = 0, 0
				list = append(list, r)
			}
		}
		return list
	}
	if x, y := loops(flat), loops(tree); len(x) != 6 || len(x) != len(y) {
		t.Errorf("%d and %d loops", len(x), len(y))
	} else {
		for i := range x {
			if x[i].Name != y[i].Name || x[i].ExclusiveNS != y[i].ExclusiveNS || x[i].InclusiveNS != y[i].InclusiveNS || x[i].Subcalls != y[i].Subcalls {
				t.Errorf("flat %+v\ntree %+v", x[i], y[i])
			}
		}
	}
	var leaves int64
	for _, r := range tree.Table.Rows {
		if r.Type == calltree.MPI || r.Type == calltree.Cluster || r.Type == calltree.Paused || r.Type == calltree.Unrecorded {
			leaves += r.ExclusiveNS.Sum
		}
	}
	if leaves != tree.Table.Total.InclusiveNS.Sum {
		t.Errorf("leaves have %d ns of %d", leaves, tree.Table.Total.InclusiveNS.Sum)
	}
	for i, note := range []string{"in which loop 1.", "of the time may be in one of several loops: it is in the loop round them"} {
		if len(flat.Notes) != 2 || !strings.Contains(flat.Notes[i], note) {
			t.Errorf("notes %q, want %q", flat.Notes, note)
		}
	}
	w, rows := readAnswer(t, flat)
	if len(w.Rows) != len(rows) || w.By != "loop" {
		t.Errorf("%d rows of JSON, %d of CSV", len(w.Rows), len(rows))
	}
	exported, err := s.Tree(Shape{Calls: ByLoops}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all int64
	if err := exported.Each(func(_ int, v *calltree.Values) error {
		for _, ns := range v.NS {
			all += ns
		}
		return nil
	}); err != nil || all != flat.Table.Total.InclusiveNS.Sum {
		t.Errorf("an export has %d ns of %d: %v", all, flat.Table.Total.InclusiveNS.Sum, err)
	}
}

// Without program.json there are no loops. Of a folded one those are known that are round what was folded.
func TestLoopsOfFoldedProgram(t *testing.T) {
	s := plant(t, rundirtest.Profile(6))
	_, err := Ask(Question{Dir: s.Dir, By: ByLoop, Found: -1})
	if err == nil || !strings.Contains(err.Error(), "it has no program.json") || hint.Of(err) == "" || errors.As(err, new(question.UsageError)) {
		t.Errorf("without the file: %v, hint %q", err, hint.Of(err))
	}
	whole := programtest.Adi()
	var text bytes.Buffer
	if err := whole.Write(&text); err != nil {
		t.Fatal(err)
	}
	folded, err := program.Fold(whole, text.Len()-500)
	calls := false // were summed up
	program.Walk(folded.Body, func(n *program.Node, _ []*program.Node) { calls = calls || n.Kind == program.KindOther && n.Count > 0 })
	if err != nil || !calls {
		t.Fatalf("not folded: %v", err)
	}
	putProgram(t, s.Dir, whole)
	all := ask(t, s, Question{By: ByLoop, Found: -1})
	putProgram(t, s.Dir, folded)
	some := ask(t, s, Question{By: ByLoop, Found: -1})
	if x, y := all.Table.Total, some.Table.Total; x.InclusiveNS != y.InclusiveNS {
		t.Errorf("total %+v, folded %+v", x.InclusiveNS, y.InclusiveNS)
	}
	named := func(a *Answer, name string) (ns int64) {
		for _, r := range a.Table.Rows {
			if r.Name == name {
				ns += r.InclusiveNS.Sum
			}
		}
		return ns
	}
	if x, y := named(all, unknown), named(some, unknown); x != y {
		t.Errorf("%d ns of no known loop, of the folded program %d", x, y)
	}
	if x, y := named(all, steps), named(some, steps); x != y || x == 0 {
		t.Errorf("the loop of steps has %d ns, of the folded program %d", x, y)
	}
	if len(some.Table.Rows) >= len(all.Table.Rows) {
		t.Errorf("%d rows, of the folded program %d", len(all.Table.Rows), len(some.Table.Rows))
	}
	if !slices.ContainsFunc(some.Table.Rows, func(r Row) bool { return r.Loop != nil && r.Loop.Trips.Total == 18 }) {
		t.Error("no loop has 18 trips")
	}
}
