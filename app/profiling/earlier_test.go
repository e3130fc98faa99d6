package profiling

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace/calltree"
	"moriens/trace/rundir/rundirtest"
)

// A directory of format 1 has the figures of its rows by all that it knows, and nothing of phases.
func TestEarlierFormat(t *testing.T) {
	p := rundirtest.Profile(6)
	p.Earlier()
	s := plant(t, p)
	const note = "an earlier version of moriens wrote profile.parquet: paths of phases are not known"
	everything := func(_, _ int32) bool { return true }
	for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByCluster} {
		for _, nested := range []bool{false, true} {
			if nested && by != ByCallPath {
				continue
			}
			for _, metric := range []string{metricTime, metricCalls, metricBytes, instructions} {
				q := asking{by: by, nested: nested, metric: metric, ranks: everything}
				want, threads := q.sum(p.Profile.Rows)
				w, rows := readAnswer(t, ask(t, s, Question{By: by, Nested: nested, Metric: metric}))
				what := fmt.Sprintf("by %s, tree %t, %s", by, nested, metric)
				q.check(t, what+", JSON", w.Rows, &w.Total, want, threads)
				q.check(t, what+", CSV", rows, nil, want, threads)
				if !slices.Equal(w.Notes, []string{note}) {
					t.Errorf("%s: notes %q", what, w.Notes)
				}
			}
		}
	}
	hosts := make(map[[2]int32]string)
	for rank := range int32(6) {
		hosts[[2]int32{0, rank}] = "" // there is no pairs.json
	}
	for _, by := range []By{ByRank, ByNode} {
		for _, metric := range []string{metricTime, metricBytes, instructions} {
			q := asking{by: by, metric: metric, ranks: everything}
			a := ask(t, s, Question{By: by, Metric: metric})
			checkShares(t, fmt.Sprintf("by %s, %s", by, metric), a, q.shares(p.Profile.Rows, hosts))
			if by == ByNode && !slices.Contains(a.Notes, "on which nodes ranks ran is not known") {
				t.Errorf("notes %q", a.Notes)
			}
		}
	}
	if a := ask(t, s, Question{}); a.By != ByCall {
		t.Errorf("the default is by %s", a.By)
	}
	q := asking{by: ByCall, ranks: func(_, rank int32) bool { return rank == 2 || rank == 4 }}
	want, threads := q.sum(p.Profile.Rows)
	q.metric = metricTime
	w, _ := readAnswer(t, ask(t, s, Question{By: ByCall, Ranks: mustRanks(t, "2,4")}))
	q.check(t, "ranks", w.Rows, &w.Total, want, threads)
	for what, q := range map[string]Question{
		"phase": {By: ByPhase}, "phase tree": {By: ByPhase, Nested: true}, "instance": {By: ByInstance}, "instance in": {By: ByInstance, In: mustPattern(t, "adi")}, "iteration": {By: ByIteration},
		"in": {By: ByCall, In: mustPattern(t, "x_solve")}, "in by rank": {By: ByRank, In: mustPattern(t, "**")},
	} {
		q.Dir = s.Dir
		if q.By != ByIteration {
			q.Found = -1
		}
		if _, err := Ask(q); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "of phases: an earlier version of moriens wrote it") || hint.Of(err) != again {
			t.Errorf("%s: %v; hint: %s", what, err, hint.Of(err))
		}
	}
}

// The trees that exports write have what the rows of format 1 have, without phases.
func TestTreeOfEarlierFormat(t *testing.T) {
	p := rundirtest.Profile(6)
	p.Earlier()
	s := plant(t, p)
	for name, shape := range shapes {
		tree, err := s.Tree(shape, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(tree.Threads) != 6 || len(tree.Metrics) != 3 {
			t.Errorf("%s: %+v, %+v", name, tree.Threads, tree.Metrics)
		}
		want := make(map[string][2]int64)
		q := asking{by: ByCallPath, nested: true, metric: metricTime, ranks: func(_, _ int32) bool { return true }}
		switch shape.Calls {
		case ByFunction:
			q.by, q.nested = ByCall, false
		case ByPath:
			q.nested = false
		case Together:
			q.by, q.nested = ByCluster, false
		}
		sums, _ := q.sum(p.Profile.Rows)
		for node, of := range sums {
			for _, x := range of {
				v := want[node]
				want[node] = [2]int64{v[0] + x.exclusive, v[1] + x.calls}
			}
		}
		got := make(map[string][2]int64)
		if err := tree.Each(func(_ int, v *calltree.Values) error {
			for i := range tree.Nodes {
				var names []string
				for _, k := range tree.Stack(int32(i))[1:] {
					names = append(names, nodeText(&tree.Nodes[k]))
				}
				x := got[strings.Join(names, " > ")]
				got[strings.Join(names, " > ")] = [2]int64{x[0] + v.NS[i], x[1] + v.Calls[i]}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for node, x := range want {
			if got[node] != x {
				t.Errorf("%s: %q has %v, want %v", name, node, got[node], x)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d nodes, want %d", name, len(got), len(want))
		}
	}
	if _, err := s.Tree(Shape{Phases: true, In: mustPattern(t, "adi")}, nil); err == nil || hint.Of(err) != again {
		t.Error(err)
	}
}
