package pairing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/internal/hint"
	"moriens/internal/testenv"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// near compares times, which are sums of nanoseconds; not known equals not known.
func near(a, b rundir.Number) bool {
	x, y := float64(a), float64(b)
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-12*max(1e-3, math.Abs(x))
}

// A planted run has up to two worlds on some nodes, and every row that its ranks may have, drawn at random.
type planted struct {
	file  *rundir.Pairs
	rows  []parquet.PairsRow
	ranks []Rank
}

func plant(t *rapid.T) planted {
	p := planted{file: &rundir.Pairs{Format: 1, Basis: rapid.SampledFrom([]string{rundir.PairsAll, rundir.PairsWindows}).Draw(t, "basis"), Seconds: 1, Totals: &rundir.PairsTotals{}}}
	for world := range rapid.IntRange(1, 2).Draw(t, "worlds") {
		for rank := range rapid.IntRange(1, 4).Draw(t, "ranks") {
			node := fmt.Sprintf("n%d", rapid.IntRange(0, 2).Draw(t, "node"))
			p.ranks = append(p.ranks, Rank{world, 2*rank + world, node})
			p.file.Hosts = append(p.file.Hosts, rundir.PairsHost{Name: node, World: world, Ranks: fmt.Sprint(2*rank + world)})
		}
	}
	kinds := []string{parquet.PairsSent, parquet.PairsReceived, parquet.PairsPut, parquet.PairsGot, parquet.PairsCollective}
	n, late := rapid.Int64Range(1, 1000), []int64{0, 1, 9, 20, 30, 40, 50, -1}
	for range rapid.IntRange(0, 60).Draw(t, "rows") {
		a, b := rapid.SampledFrom(p.ranks).Draw(t, "rank"), rapid.SampledFrom(p.ranks).Draw(t, "peer")
		r := parquet.PairsRow{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), World: int32(a.World), Rank: int32(a.Rank), PeerWorld: int32(b.World), Peer: int32(b.Rank), FromBytes: -1, ToBytes: -1,
			Messages: n.Draw(t, "messages"), Bytes: n.Draw(t, "bytes"), BlockedNS: n.Draw(t, "ns"), LongestNS: n.Draw(t, "longest"), FirstNS: n.Draw(t, "first"),
			LateNS: rapid.SampledFrom(late).Draw(t, "late"), LateErrorNS: rapid.SampledFrom(late).Draw(t, "error"),
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			r.PeerWorld, r.Peer = -1, -1
		case 1:
			r.Peer = 99
		case 2, 3:
			r.FromBytes = int64(1) << rapid.IntRange(0, 3).Draw(t, "size")
			r.ToBytes = 2*r.FromBytes - 1
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// of are the rows of a kind from one rank to another, or of all sizes only.
func (p *planted) of(kind string, rank, peer Rank, sizes bool) (list []parquet.PairsRow) {
	for _, r := range p.rows {
		if r.Kind == kind && int(r.World) == rank.World && int(r.Rank) == rank.Rank && int(r.PeerWorld) == peer.World && int(r.Peer) == peer.Rank && (r.FromBytes >= 0) == sizes {
			list = append(list, r)
		}
	}
	return list
}

// pair adds up a pair the slow way; ok: it has exchanged messages.
func (p *planted) pair(a, b int) (want Pair, ok bool) {
	unknown := rundir.Number(math.NaN())
	want = Pair{A: a, B: b, SameNode: p.ranks[a].Node == p.ranks[b].Node, Longest: unknown, First: unknown}
	late := func(rows []parquet.PairsRow, ns, standardError *rundir.Number) {
		for _, r := range rows {
			e := r.LateErrorNS
			if p.file.Basis == rundir.PairsAll {
				e = 0
			}
			if r.LateNS < 0 || e < 0 {
				*ns, *standardError = unknown, unknown
			}
			*ns += rundir.Number(float64(r.LateNS) / 1e9)
			*standardError += rundir.Number(float64(e) / 1e9)
		}
	}
	for _, way := range [][2]int{{a, b}, {b, a}} {
		from, to := p.ranks[way[0]], p.ranks[way[1]]
		received, sent := p.of(parquet.PairsReceived, to, from, false), p.of(parquet.PairsSent, from, to, false)
		counted, sizes := received, p.of(parquet.PairsReceived, to, from, true)
		if len(received) == 0 {
			counted, sizes = sent, p.of(parquet.PairsSent, from, to, true)
		}
		for _, r := range counted {
			want.Messages += r.Messages
			want.Bytes += r.Bytes
		}
		for _, r := range received {
			want.Blocked += inSeconds(r.BlockedNS)
			if math.IsNaN(float64(want.Longest)) {
				want.Longest, want.First = 0, 0
			}
			want.Longest, want.First = max(want.Longest, inSeconds(r.LongestNS)), max(want.First, inSeconds(r.FirstNS))
		}
		for _, r := range sent {
			want.Send += inSeconds(r.BlockedNS)
		}
		late(received, &want.LateSender, &want.LateSenderError)
		late(sent, &want.LateReceiver, &want.LateReceiverErr)
		if len(counted) > 0 && len(received) == 0 {
			want.LateSender, want.LateSenderError = unknown, unknown
		}
		if len(counted) > 0 && len(sent) == 0 {
			want.LateReceiver, want.LateReceiverErr = unknown, unknown
		}
		for _, r := range sizes {
			k := slices.IndexFunc(want.Sizes, func(s rundir.PairsSize) bool { return s.FromBytes == r.FromBytes })
			if k < 0 {
				k = len(want.Sizes)
				want.Sizes = append(want.Sizes, rundir.PairsSize{FromBytes: r.FromBytes, ToBytes: r.ToBytes})
			}
			want.Sizes[k].Messages += r.Messages
			want.Sizes[k].Bytes += r.Bytes
			if r.Kind == parquet.PairsReceived {
				want.Sizes[k].Blocked += inSeconds(r.BlockedNS)
			}
		}
	}
	slices.SortFunc(want.Sizes, func(x, y rundir.PairsSize) int { return int(x.FromBytes - y.FromBytes) })
	return want, want.Messages > 0
}

// Sums of pairs are those that a simple loop over all rows makes, whatever rows there are.
func TestSumsByBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plant(t)
		by := rapid.SampledFrom([]By{Blocked, Bytes, Messages, Late}).Draw(t, "by")
		r, err := Solve(p.file, p.rows, Question{By: by})
		var want []Pair
		known := false
		for a := range p.ranks {
			for b := a + 1; b < len(p.ranks); b++ {
				if x, ok := p.pair(a, b); ok {
					known = known || !math.IsNaN(float64(x.LateSender+x.LateReceiver))
					want = append(want, x)
				}
			}
		}
		var mistake UsageError
		if by == Late && len(want) > 0 && !known {
			if !errors.As(err, &mistake) {
				t.Fatalf("late times are known of no pair, and the error is %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Ranks, p.ranks) || len(r.Pairs) != len(want) {
			t.Fatalf("ranks %v, want %v; %d pairs, want %d", r.Ranks, p.ranks, len(r.Pairs), len(want))
		}
		for i, w := range want {
			g := r.Pairs[i]
			distance := map[By]rundir.Number{Blocked: w.Blocked, Bytes: rundir.Number(w.Bytes), Messages: rundir.Number(w.Messages), Late: w.LateSender + w.LateReceiver}[by]
			same := g.A == w.A && g.B == w.B && g.SameNode == w.SameNode && g.Messages == w.Messages && g.Bytes == w.Bytes && near(g.Blocked, w.Blocked) && near(g.Send, w.Send) &&
				near(g.Longest, w.Longest) && near(g.First, w.First) && near(g.LateSender, w.LateSender) && near(g.LateSenderError, w.LateSenderError) &&
				near(g.LateReceiver, w.LateReceiver) && near(g.LateReceiverErr, w.LateReceiverErr) && near(g.Distance, distance) && len(g.Sizes) == len(w.Sizes)
			for k := 0; same && k < len(w.Sizes); k++ {
				x, y := g.Sizes[k], w.Sizes[k]
				same = x.FromBytes == y.FromBytes && x.ToBytes == y.ToBytes && x.Messages == y.Messages && x.Bytes == y.Bytes && near(x.Blocked, y.Blocked)
			}
			if !same {
				t.Fatalf("pair %d is\n%+v, want\n%+v", i, g, w)
			}
		}
		p.checkUnpaired(t, r)
		checkTree(t, r)
	})
}

// checkUnpaired compares what is in no pair.
func (p *planted) checkUnpaired(t *rapid.T, r *Result) {
	var want Unpaired
	for _, x := range p.rows {
		received := x.Kind == parquet.PairsReceived
		switch {
		case x.FromBytes >= 0:
		case x.Peer < 0 && received:
			want.SummedMessages += x.Messages
			want.SummedBytes += x.Bytes
			want.SummedBlocked += inSeconds(x.BlockedNS)
		case x.Peer == 99 && (received || x.Kind == parquet.PairsSent):
			want.UnrecordedMessages += x.Messages
			want.UnrecordedBytes += x.Bytes
		case x.Peer == x.Rank && x.PeerWorld == x.World && received:
			want.OwnMessages += x.Messages
		}
	}
	got := r.Unpaired
	if !near(got.SummedBlocked, want.SummedBlocked) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if got.SummedBlocked = want.SummedBlocked; got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

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

// recount adds up what is between the nodes of a placement.
func recount(r *Result, nodes []PlacementNode) (bytes, messages int64, blocked rundir.Number) {
	of := make(map[int]int)
	for n, node := range nodes {
		for _, rank := range node.Ranks {
			of[rank] = n
		}
	}
	for _, p := range r.Pairs {
		if of[p.A] != of[p.B] {
			bytes, messages, blocked = bytes+p.Bytes, messages+p.Messages, blocked+p.Blocked
		}
	}
	return bytes, messages, blocked
}

// The advised figures are those of a count over all pairs, nodes have as many ranks as before, and what is saved
// follows from the lines.
func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		kind   string
		weigh  bool
		better bool
		most   int64
	}{{"placed", false, true, 1000 * 4096}, {"placed", true, true, 1000 * 4096}, {"large", false, true, 8 << 30}, {"late", false, false, math.MaxInt64}, {"worlds", false, true, math.MaxInt64}} {
		r := solve(t, c.kind, Question{Weigh: c.weigh})
		p := r.Placement
		room := make(map[string]int)
		for _, x := range r.Ranks {
			room[x.Node]++
		}
		var now []PlacementNode
		for name := range room {
			n := PlacementNode{Name: name}
			for i, x := range r.Ranks {
				if x.Node == name {
					n.Ranks = append(n.Ranks, i)
				}
			}
			now = append(now, n)
		}
		for _, n := range p.Nodes {
			if room[n.Name] != len(n.Ranks) {
				t.Errorf("%s: node %s has %d ranks, want %d", c.kind, n.Name, len(n.Ranks), room[n.Name])
			}
			delete(room, n.Name)
		}
		bytes, messages, blocked := recount(r, p.Nodes)
		before, messagesBefore, blockedBefore := recount(r, now)
		if p.Advised != bytes || p.InternodeBytes != before || !near(p.AdvisedBlocked, blocked) || !near(p.Blocked, blockedBefore) || len(room) > 0 {
			t.Errorf("%s: advised %d bytes and %v s, want %d and %v; now %d and %v, want %d and %v; without nodes %v", c.kind, p.Advised, p.AdvisedBlocked, bytes, blocked, p.InternodeBytes, p.Blocked, before, blockedBefore, room)
		}
		if p.Better != c.better || p.Advised > c.most || p.Better && float64(before-bytes) < .1*float64(before) {
			t.Errorf("%s: better %t, %d bytes", c.kind, p.Better, p.Advised)
		}
		saved := rundir.Number(math.NaN())
		if len(r.Lines) == 2 {
			saved = rundir.Number(float64(before-bytes)*(1/3e9-1/8e9) + float64(messagesBefore-messages)*1.3e-6)
		}
		if !near(p.Saved, saved) {
			t.Errorf("%s: saves %v s, want %v", c.kind, p.Saved, saved)
		}
		found := slices.ContainsFunc(r.Findings, func(f rundir.PairsFinding) bool { return f.Kind == rundir.PairsPlacing })
		if found != (c.kind == "placed") {
			t.Errorf("%s: findings %+v", c.kind, r.Findings)
		}
	}
	if p := solve(t, "halo", Question{}).Placement; p != nil {
		t.Errorf("on one node: %+v", p)
	}
}

// What collectives and one-sided communication move counts for placement alone.
func TestMoved(t *testing.T) {
	file, rows := rundirtest.Pairs("placed")
	for _, kind := range []string{parquet.PairsPut, parquet.PairsGot, parquet.PairsCollective} {
		rows = append(rows, parquet.PairsRow{Kind: kind, Rank: 0, Peer: 7, FromBytes: -1, ToBytes: -1, Messages: 1, Bytes: 1000, LateNS: -1, LateErrorNS: -1})
	}
	r, err := Solve(file, rows, Question{})
	if err != nil {
		t.Fatal(err)
	}
	without := solve(t, "placed", Question{})
	if len(r.Pairs) != len(without.Pairs) || r.Placement.InternodeBytes != without.Placement.InternodeBytes+3000 {
		t.Errorf("%d pairs, %d bytes, without %d and %d", len(r.Pairs), r.Placement.InternodeBytes, len(without.Pairs), without.Placement.InternodeBytes)
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
		var mistake UsageError
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

// Large runs are placed on request alone, and say so.
func TestPlacedOnRequest(t *testing.T) {
	file := &rundir.Pairs{Basis: rundir.PairsAll, Totals: new(rundir.PairsTotals), Hosts: []rundir.PairsHost{{Name: "a", Ranks: "0-4999"}, {Name: "b", Ranks: "5000-5000"}}}
	rows := []parquet.PairsRow{{Kind: parquet.PairsReceived, Rank: 5000, Peer: 1, FromBytes: -1, ToBytes: -1, Messages: 1, Bytes: 1}}
	for _, place := range []bool{false, true} {
		r, err := Solve(file, rows, Question{Place: place})
		if err != nil {
			t.Fatal(err)
		}
		if said := slices.ContainsFunc(r.Why, func(s string) bool { return strings.Contains(s, "--weigh bytes computes it") }); said == place || (r.Placement != nil) != place {
			t.Errorf("asked for %t: %+v, %q", place, r.Placement, r.Why)
		}
	}
}

// JSON has all fields, lists are never null, and what is not known is.
func TestJSON(t *testing.T) {
	for _, kind := range rundirtest.Exchanges {
		r := solve(t, kind, Question{})
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		for _, field := range []string{"ranks", "pairs", "merges", "order", "groups", "lines", "sizes", "call_paths", "causes", "findings"} {
			if _, list := got[field].([]any); !list {
				t.Errorf("%s: %s is %v", kind, field, got[field])
			}
		}
		for _, field := range []string{"format", "exact", "totals", "cophenetic", "modularity", "placement"} {
			if _, there := got[field]; !there {
				t.Errorf("%s: no %s", kind, field)
			}
		}
		back := new(Result)
		if err := json.Unmarshal(b.Bytes(), back); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := back.WriteJSON(&again); err != nil || again.String() != b.String() {
			t.Errorf("%s: read and written again it differs: %v", kind, err)
		}
		if strings.Count(b.String(), "\n") < len(r.Pairs)+len(r.Ranks) {
			t.Errorf("%s: pairs have no lines of their own", kind)
		}
	}
}

// Ranks of a list are those of the run; of several worlds each world's, or one's.
func TestRankList(t *testing.T) {
	ranks := solve(t, "worlds", Question{}).Ranks
	for text, want := range map[string][]int{"0": {0, 4}, "1-2": {1, 2, 5}, "3,1:1": {3, 5}, "0:0-9": {0, 1, 2, 3}, "1:0, 1": {1, 4, 5}} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Of(ranks); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1-", "-1", "a", "2-1", "1:", ":1", "x:1", "1,,2", "99999999999"} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, l)
		}
	}
	for text, want := range map[string]string{"7": "no rank 7 is recorded", "0,1:2-3": "no rank 1:2-3 is recorded", "2:0": "no rank 2:0"} {
		var l RankList
		if err := l.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Of(ranks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// More groups than ranks there cannot be.
func TestMoreGroupsThanRanks(t *testing.T) {
	file, rows := rundirtest.Pairs("late")
	if r, err := Solve(file, rows, Question{Groups: 8}); err != nil || len(r.Groups) != 8 {
		t.Errorf("%v: %+v", err, r)
	}
	var wrong UsageError
	if _, err := Solve(file, rows, Question{Groups: 9}); !errors.As(err, &wrong) || err.Error() != "8 ranks cannot be cut into 9 groups" || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}
