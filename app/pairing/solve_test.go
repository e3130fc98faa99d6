package pairing

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/testenv"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// checkTree checks what holds of every answer.
func checkTree(t interface {
	Fatalf(format string, args ...any)
}, r *Result) {
	n := len(r.Ranks)
	if order := slices.Sorted(slices.Values(r.Order)); len(order) != n || n > 0 && (order[0] != 0 || order[n-1] != n-1) {
		t.Fatalf("order %v of %d ranks", r.Order, n)
	}
	for i, m := range r.Merges {
		if m.Left >= m.Right || m.Right >= n+i || i > 0 && m.Height < r.Merges[i-1].Height {
			t.Fatalf("merge %d is %+v after %+v", i, m, r.Merges[:i])
		}
	}
	in := make(map[int]int)
	for k, g := range r.Groups {
		for _, rank := range g.Ranks {
			if of, twice := in[rank]; twice {
				t.Fatalf("rank %d is in groups %d and %d", rank, of, k)
			}
			in[rank] = k
		}
	}
	blocked := make([]rundir.Number, len(r.Groups))
	for _, p := range r.Pairs {
		a, ofA := in[p.A]
		b, ofB := in[p.B]
		want := -1
		if ofA && ofB && a == b {
			want = a
			blocked[a] += p.Blocked
		}
		if p.Group != want {
			t.Fatalf("pair %d, %d is of group %d, want %d", p.A, p.B, p.Group, want)
		}
	}
	for k, g := range r.Groups {
		if !near(g.Blocked, blocked[k]) {
			t.Fatalf("group %d has %v s blocked, want %v", k, g.Blocked, blocked[k])
		}
	}
}

func solve(t testing.TB, kind string, q Question) *Result {
	t.Helper()
	file, rows := rundirtest.Pairs(kind)
	r, err := Solve(file, rows, q)
	if err != nil {
		t.Fatal(err)
	}
	checkTree(t, r)
	return r
}

// Groups are reported where T says more than who talks to whom, and as they are asked for.
func TestGroups(t *testing.T) {
	if r := solve(t, "halo", Question{}); len(r.Groups) != 0 || !r.GroupsFollowTopology || !(r.Modularity-r.TopologyModularity < .1) {
		t.Errorf("a clean halo has groups %v, modularity %v and %v", r.Groups, r.Modularity, r.TopologyModularity)
	}
	if r := solve(t, "late", Question{}); r.GroupsFollowTopology || !slices.ContainsFunc(r.Groups, func(g Group) bool { return slices.Equal(g.Ranks, []int{2, 3}) }) {
		t.Errorf("groups %v", r.Groups)
	}
	for n := 1; n <= 8; n++ {
		if r := solve(t, "late", Question{Groups: n}); len(r.Groups) != n {
			t.Errorf("--groups %d: %v", n, r.Groups)
		}
	}
	if r := solve(t, "late", Question{Groups: 1, Ranks: []int{2}}); len(r.Groups) != 1 || !slices.Equal(r.Groups[0].Ranks, []int{1, 2, 3}) {
		t.Errorf("ranks that exchange nothing are in groups: %v", r.Groups)
	}
	whole := solve(t, "late", Question{})
	for i, m := range whole.Merges {
		if r := solve(t, "late", Question{Height: float64(m.Height) * 1.0001}); len(r.Groups) > 8-i-1 {
			t.Errorf("above merge %d there are groups %v", i, r.Groups)
		}
	}
	if r := solve(t, "late", Question{Ranks: []int{2, 3}, By: Late, Linkage: Single}); len(r.Groups) != 1 || len(r.Groups[0].Ranks) != 4 || r.GroupsFollowTopology {
		t.Errorf("without communities there are groups %v", r.Groups)
	}
}

// Ranks limit pairs and dendrogram, and nothing else.
func TestRanks(t *testing.T) {
	all, some := solve(t, "late", Question{}), solve(t, "late", Question{Ranks: []int{2, 5}})
	for _, p := range some.Pairs {
		if p.A != 2 && p.B != 2 && p.A != 5 && p.B != 5 {
			t.Errorf("pair %d, %d is neither rank's", p.A, p.B)
		}
	}
	if len(some.Pairs) != 4 || len(some.Merges) != 4 || *some.Totals != *all.Totals || !reflect.DeepEqual(some.Placement, all.Placement) || !reflect.DeepEqual(some.Findings[0].Ranks, all.Findings[0].Ranks) {
		t.Errorf("%d pairs, %d merges, totals %+v, placement %+v", len(some.Pairs), len(some.Merges), some.Totals, some.Placement)
	}
}

// As if ranks lay otherwise: what is between nodes is counted again, and findings about nodes are left out.
func TestRanksPerNode(t *testing.T) {
	r := solve(t, "late", Question{RanksPerNode: 2})
	between := int64(0)
	for _, p := range r.Pairs {
		if same := p.A/2 == p.B/2; p.SameNode != same {
			t.Errorf("%d, %d: same node %t", p.A, p.B, p.SameNode)
		} else if !same {
			between += p.Bytes
		}
	}
	if r.Totals.InternodeBytes != between || r.Placement.InternodeBytes != between || between == 0 || r.Ranks[5].Node != "node2" {
		t.Errorf("%d bytes between nodes, want %d; placement %+v, ranks %v", r.Totals.InternodeBytes, between, r.Placement, r.Ranks)
	}
	for _, f := range r.Findings {
		if f.Kind == rundir.PairsSlowLink {
			t.Errorf("%+v", f)
		}
	}
	if one := solve(t, "late", Question{RanksPerNode: 8}); one.Placement != nil || one.Totals.InternodeBytes != 0 {
		t.Errorf("on one node: %+v, %d bytes", one.Placement, one.Totals.InternodeBytes)
	}
	if file, _ := rundirtest.Pairs("late"); file.Totals.InternodeBytes == 0 || file.Totals.InternodeBytes == between {
		t.Errorf("as they ran %d bytes are between nodes", file.Totals.InternodeBytes)
	}
}

// Without messages there is an answer that says so.
func TestNoMessages(t *testing.T) {
	r := solve(t, "none", Question{})
	if r.Totals != nil || len(r.Why) != 1 || len(r.Ranks) != 4 || len(r.Pairs) != 0 || r.Placement != nil {
		t.Errorf("%+v", r)
	}
}

// Late times of a pair that was hardly seen are not known, and say so.
func TestEstimates(t *testing.T) {
	r := solve(t, "estimates", Question{By: Late})
	for _, p := range r.Pairs {
		if unknown := p.A == 6 && p.B == 7; math.IsNaN(float64(p.LateSender)) != unknown || math.IsNaN(float64(p.Distance)) != unknown {
			t.Errorf("%+v", p)
		}
	}
	if r.Exact || !slices.ContainsFunc(r.Why, func(s string) bool { return strings.HasPrefix(s, "1 pair of which late times are not known") }) {
		t.Errorf("exact %t, %q", r.Exact, r.Why)
	}
}

// Questions and files to which there is no answer: what is wrong, and what to do.
func TestRefused(t *testing.T) {
	for want, q := range map[string]Question{
		`pairs have no "size"`:            {By: "size"},
		`no linkage "complete"`:           {Linkage: "complete"},
		"-1 groups":                       {Groups: -1},
		"height -1":                       {Height: -1},
		"height NaN":                      {Height: math.NaN()},
		"two cuts":                        {Groups: 2, Height: 2},
		"-2 ranks on a node":              {RanksPerNode: -2},
		"there is no rank 8":              {Ranks: []int{1, 8}},
		"there is no rank -1":             {Ranks: []int{-1}},
		"spans of messages are not known": {By: Span},
	} {
		file, rows := rundirtest.Pairs("late")
		_, err := Solve(file, rows, q)
		var mistake question.UsageError
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%+v: %v, hint %q, want %q", q, err, hint.Of(err), want)
		}
	}
	for want, spoil := range map[string]func(*rundir.Pairs, []parquet.PairsRow){
		`"3-1" is no list of ranks`:           func(p *rundir.Pairs, _ []parquet.PairsRow) { p.Hosts[0].Ranks = "3-1" },
		`"" is no list of ranks`:              func(p *rundir.Pairs, _ []parquet.PairsRow) { p.Hosts[0].Ranks = "" },
		"more than 16777216 ranks":            func(p *rundir.Pairs, _ []parquet.PairsRow) { p.Hosts[0].Ranks = "0-2147483647" },
		"rank 4 of world 0 is on two nodes":   func(p *rundir.Pairs, _ []parquet.PairsRow) { p.Hosts[0].Ranks = "0-4" },
		"is of world -1":                      func(p *rundir.Pairs, _ []parquet.PairsRow) { p.Hosts[0].World = -1 },
		"rank 77 of world 0 is not in pairs.": func(_ *rundir.Pairs, rows []parquet.PairsRow) { rows[0].Rank = 77 },
		"rank 0 of world 3 is not in pairs.":  func(_ *rundir.Pairs, rows []parquet.PairsRow) { rows[0].World = 3 },
		"it has figures that cannot be":       func(_ *rundir.Pairs, rows []parquet.PairsRow) { rows[0].Bytes = -1 },
	} {
		file, rows := rundirtest.Pairs("late")
		spoil(file, rows)
		if _, err := Solve(file, rows, Question{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	file, rows := rundirtest.Pairs("late")
	for i := range rows {
		rows[i].BlockedNS = math.MaxInt64 - 5
	}
	if _, err := Solve(file, rows, Question{}); !errors.Is(err, errImpossible) {
		t.Errorf("sums of more than 63 bits: %v", err)
	}
}

// The answer is the same with 1 thread and with 8, and in whatever order the rows come.
func TestSameAnswer(t *testing.T) {
	random := testenv.Drawer(testenv.Seed(t), "order")
	file, rows := rundirtest.Pairs("large")
	var texts []string
	for _, threads := range []int{1, 8} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		random.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
		r, err := Solve(file, rows, Question{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Error("two answers")
	}
}

// More groups than ranks there cannot be.
func TestMoreGroupsThanRanks(t *testing.T) {
	file, rows := rundirtest.Pairs("late")
	if r, err := Solve(file, rows, Question{Groups: 8}); err != nil || len(r.Groups) != 8 {
		t.Errorf("%v: %+v", err, r)
	}
	var wrong question.UsageError
	if _, err := Solve(file, rows, Question{Groups: 9}); !errors.As(err, &wrong) || err.Error() != "8 ranks cannot be cut into 9 groups" || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}
