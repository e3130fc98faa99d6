package console

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"moriens/app/pairing"
	"moriens/internal/golden"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// solved answers a question of what some ranks exchange.
func solved(t testing.TB, kind string, q pairing.Question) *pairing.Result {
	t.Helper()
	file, rows := rundirtest.Pairs(kind)
	r, err := pairing.Solve(file, rows, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What moriens pairs prints, to the letter.
func TestGoldenPairs(t *testing.T) {
	m := &rundir.Manifest{Scheduling: &rundir.Scheduling{Warning: "8 ranks share 2 cores: 49 % of runnable time off the core (12 involuntary switches); medians, spreads, waiting times are unreliable"}}
	for name, c := range map[string]struct {
		kind string
		q    pairing.Question
		form PairsForm
	}{
		"halo":          {"halo", pairing.Question{}, PairsForm{}},
		"halo-cut":      {"halo", pairing.Question{By: pairing.Bytes, Groups: 4}, PairsForm{Top: 2, Cut: true}},
		"late":          {"late", pairing.Question{}, PairsForm{Manifest: m}},
		"late-single":   {"late", pairing.Question{By: pairing.Late, Linkage: pairing.Single, Ranks: []int{2, 3}}, PairsForm{Ranks: true}},
		"late-planned":  {"late", pairing.Question{By: pairing.Messages, RanksPerNode: 2}, PairsForm{}},
		"estimates":     {"estimates", pairing.Question{}, PairsForm{}},
		"large":         {"large", pairing.Question{}, PairsForm{}},
		"worlds":        {"worlds", pairing.Question{}, PairsForm{}},
		"placed":        {"placed", pairing.Question{}, PairsForm{}},
		"placed-weigh":  {"placed", pairing.Question{Weigh: true}, PairsForm{Order: "/tmp/order", OrderFormat: "rankfile"}},
		"placed-nobody": {"placed", pairing.Question{Ranks: []int{}}, PairsForm{Ranks: true}},
	} {
		c.form.Dir = "/run/a b"
		if c.form.Top == 0 {
			c.form.Top = 5
		}
		var b bytes.Buffer
		if err := Pairs(&b, solved(t, c.kind, c.q), c.form); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join("pairs", name+".txt"), b.Bytes())
	}
}

// The summary has a line about pairs, and one about the largest finding, or that there is none.
func TestSummaryOfPairs(t *testing.T) {
	for kind, want := range map[string]string{
		"halo": "pairs: 24 (48,000 messages, 375 MiB); blocked 96.6 ms (0.1 % of ranks' time)\npairs, findings: none; late senders 1.92 ms, late receivers 0 s\n",
		"late": "pairs: 8 (16,000 messages, 0.977 GiB, 25.0 % between nodes); blocked 3.71 s (9.3 % of ranks' time)\n" +
			"late-sender: rank 2 makes others wait 3.04 s (95 % of all late-sender time) …\n",
		"worlds": "pairs: 6 (4,110 messages, 26 MiB, 68.5 % between nodes); blocked 47.0 ms (0.1 % of ranks' time)\npairs, findings: none; late senders 26.2 ms, late receivers 0 s\n",
		"none":   "",
	} {
		r := unequal()
		r.Manifest.Ranks = 4
		var without, with strings.Builder
		if err := Summary(&without, r); err != nil {
			t.Fatal(err)
		}
		r.Pairs, _ = rundirtest.Pairs(kind)
		if err := Summary(&with, r); err != nil {
			t.Fatal(err)
		}
		if want == "" && with.String() != without.String() || !strings.Contains(with.String(), want) {
			t.Errorf("%s:\n%s, want\n%s", kind, with.String(), want)
		}
	}
	r := unequal()
	r.Pairs, _ = rundirtest.Pairs("estimates")
	var b strings.Builder
	if err := Long(&b, r); err != nil || !strings.Contains(b.String(), "than rank 3; 1 more finding: moriens pairs\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	r.Pairs.Findings = nil
	b.Reset()
	if err := Summary(&b, r); err != nil || !strings.Contains(b.String(), "\npairs, findings: none; late senders 3.20 s ± 120 ms, late receivers 0 s ± 0 s\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	r.Pairs.Totals.LateReceiver = rundir.Number(math.NaN())
	r.Pairs.Totals.Send = 2 * r.Pairs.Totals.Blocked
	b.Reset()
	if err := Summary(&b, r); err != nil || !strings.Contains(b.String(), "; sends 7.93 s (19.8 % of ranks' time) …\n") || !strings.Contains(b.String(), "\npairs, findings: none; late senders 3.20 s ± 120 ms, late receivers not known\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	r.Pairs.Totals.LateSender = rundir.Number(math.NaN())
	b.Reset()
	if err := Summary(&b, r); err != nil || !strings.Contains(b.String(), "\npairs, findings: none; late senders and receivers: not known\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// The dendrogram has a row for each rank, up to 64 of them, and fits.
func TestDendrogramFits(t *testing.T) {
	for _, n := range []int{2, 3, 63, 64, 65} {
		r := &pairing.Result{By: pairing.Blocked, Linkage: pairing.Single, Cophenetic: 1}
		for i := range n {
			r.Ranks = append(r.Ranks, pairing.Rank{Rank: i, Node: strings.Repeat("node", 9)})
			r.Order = append(r.Order, i)
			if i > 0 {
				left := n + i - 2 // a chain, which is as deep as it can be
				if i == 1 {
					left = 0
				}
				r.Merges = append(r.Merges, pairing.Merge{Left: min(left, i), Right: max(left, i), Height: rundir.Number(math.Pow(1.5, float64(i))), Size: i + 1})
			}
		}
		var b strings.Builder
		pairWordsOf(r).writeDendrogram(&b, PairsForm{})
		rows := 0
		for _, line := range strings.Split(b.String(), "\n") {
			if width := utf8.RuneCountInString(line); width > 120 {
				t.Errorf("%d ranks: %d columns: %s", n, width, line)
			}
			if strings.Contains(line, "─") {
				rows++
			}
		}
		want := n
		if n > mostLeaves {
			want = 0
		}
		if rows != want || (n > mostLeaves) != strings.Contains(b.String(), "text has up to 64") {
			t.Errorf("%d ranks: %d rows\n%s", n, rows, b.String())
		}
		if joints := strings.Count(b.String(), "┘"); want > 0 && joints != n-1 {
			t.Errorf("%d ranks: %d joints\n%s", n, joints, b.String())
		}
	}
}

// Lists of ranks are short, and name worlds where there are several.
func TestRankNames(t *testing.T) {
	one, two := pairWords{Result: &pairing.Result{}}, pairWords{Result: &pairing.Result{}}
	for i := range 100 {
		one.Ranks = append(one.Ranks, pairing.Rank{Rank: i})
		two.Ranks = append(two.Ranks, pairing.Rank{World: i / 60, Rank: i % 60})
	}
	even := make([]int, 50)
	for i := range even {
		even[i] = 2 * i
	}
	for _, c := range []struct {
		ranks  []int
		worlds bool
		want   string
	}{
		{[]int{0, 1, 2, 3, 8}, false, "0-3,8"}, {[]int{58, 59, 60, 61}, true, "0:58-59,1:0-1"}, {nil, false, ""}, {[]int{7}, true, "0:7"},
		{even, false, "0,2,4,6,8,10,12,14,… (50 ranks)"}, {even[:9], false, "0,2,4,6,8,10,12,14,16"}, {[]int{-1, 200}, false, "?,?"},
	} {
		w := one
		if c.worlds {
			w = two
		}
		if got := w.list(c.ranks); got != c.want {
			t.Errorf("%v: %s, want %s", c.ranks, got, c.want)
		}
	}
}

// What is read of lines says what there is.
func TestLineTexts(t *testing.T) {
	unknown := rundir.Number(math.NaN())
	size := func(bytes int64, odd bool) rundir.PairsLineSize {
		return rundir.PairsLineSize{FromBytes: bytes, ToBytes: bytes, Messages: 9, Median: 1e-5, Odd: odd}
	}
	for want, l := range map[string]rundir.PairsLine{
		"none was seen whose receiver was waiting":                                                 {Latency: unknown},
		"too few sizes or transfers for a line; median: 8 B takes 10.0 us (9 transfers)":           {Latency: unknown, Messages: 9, Sizes: []rundir.PairsLineSize{size(8, false)}},
		"1.00 us at any size (9 transfers; spread 50.0 %)":                                         {Latency: 1e-6, Bandwidth: unknown, Messages: 9, Spread: .5},
		"1.00 us + size / (1 GiB/s) (9 transfers; spread 50.0 %); off the line: 8 B takes 10.0 us": {Latency: 1e-6, Bandwidth: 1 << 30, Messages: 9, Spread: .5, Sizes: []rundir.PairsLineSize{size(8, true), size(9, false)}},
		"0 s at any size (9 transfers; spread 50.0 %); off the line: 1 B takes 10.0 us, 2 B takes 10.0 us, 3 B takes 10.0 us and 1 more": {
			Messages: 9, Spread: .5, Sizes: []rundir.PairsLineSize{size(1, true), size(2, true), size(3, true), size(4, true)},
		},
	} {
		if got := lineText(&l); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
	for want, sizes := range map[string][]rundir.PairsSize{
		"":                            nil,
		"0 B":                         {{Messages: 1}},
		"64 B–128 B (75.0 %), 1 more": {{Messages: 1}, {FromBytes: 64, ToBytes: 127, Messages: 3}},
	} {
		if got := sizesText(sizes); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cause says what the rank does.
func TestPairCauses(t *testing.T) {
	w := pairWords{Result: &pairing.Result{Ranks: []pairing.Rank{{Rank: 0}, {Rank: 1}}}}
	rank, cluster := 1, int32(3)
	for want, c := range map[string]rundir.PairsCause{
		"rank 1 in cluster 3 before MPI_Wait@a.c:3: 1.00 s (50.0 %)":  {Rank: &rank, What: rundir.CauseComputing, Cluster: &cluster, CallPath: "MPI_Wait@a.c:3"},
		"rank 1 in no cluster before MPI_Wait@a.c:3: 1.00 s (50.0 %)": {Rank: &rank, What: rundir.CauseComputing, CallPath: "MPI_Wait@a.c:3"},
		"rank 1 in MPI_Wait@a.c:3 without waiting: 1.00 s (50.0 %)":   {Rank: &rank, What: rundir.CauseMPI, CallPath: "MPI_Wait@a.c:3"},
		"rank 1 in time that is not recorded: 1.00 s (50.0 %)":        {Rank: &rank, What: rundir.CauseOutside},
		"transfers 0–1: 1.00 s (50.0 %)":                              {Pair: &[2]int{0, 1}, What: rundir.CauseMPI},
	} {
		c.Seconds, c.Direct, c.Share = 1, 1, .5
		if got := w.pairCause(&c); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
	}
}

// inSums makes a result one of messages that are known in sums alone, or besides that by their sizes.
func inSums(sizes bool) func(*pairing.Result) {
	return func(r *pairing.Result) {
		unknown := rundir.Number(math.NaN())
		t := r.Totals
		t.LateSender, t.LateSenderError, t.LateReceiver, t.LateReceiverError, t.Unexplained = unknown, unknown, unknown, unknown, unknown
		r.Causes, r.Why = nil, nil
		for i := range r.Pairs {
			p := &r.Pairs[i]
			p.LateSender, p.LateSenderError, p.LateReceiver, p.LateReceiverErr = unknown, unknown, unknown, unknown
			if !sizes {
				p.Sizes = nil
			}
		}
		if !sizes {
			r.Lines = nil
		}
	}
}

// What nothing is known of is said to be unknown, with the way to know it.
func TestPairsThatWantMore(t *testing.T) {
	text := func(kind string, change func(*pairing.Result)) string {
		r := solved(t, kind, pairing.Question{})
		r.Findings = nil
		change(r)
		var b strings.Builder
		if err := Pairs(&b, r, PairsForm{Dir: "d", Top: 9}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const none, sends, above = "findings: none; no pair, rank or node stands out\n", "sends take longer than receives", "late sender above blocked"
	for _, c := range []struct {
		name, kind    string
		change        func(*pairing.Result)
		has, has2, no string
	}{
		{"exact", "halo", func(*pairing.Result) {}, none, none, sends},
		{"no causes", "estimates", func(r *pairing.Result) {
			r.Causes, r.Totals.LateSender, r.Totals.LateReceiver, r.Totals.Send = nil, rundir.Number(math.NaN()), rundir.Number(math.NaN()), 9
		}, "findings: none; which rank makes others wait is not known: moriens run --keep-bursts all\n", "receives alone: moriens run --keep-bursts all shows late receivers\n", none},
		{"cells", "estimates", inSums(false), "; late times are not known\n", "\nnot known: late times and causes; messages, bytes and blocked times are exact\n", "estimated"},
		{"cells, with sizes", "estimates", inSums(true), "; late times are not known\n", "\nestimated: lines and sizes of pairs are of the compared windows\n", "late times are estimated"},
		{"sends", "late", func(r *pairing.Result) { r.Totals.Send = 9 }, "receives alone: --by late lists pairs", "late receivers: 0 s of that in sends", above},
		{"shared calls", "late", func(r *pairing.Result) { r.Pairs[0].LateSender = 2 * r.Pairs[0].Blocked }, above + ": a call that completes several", none, "MPI_Probe"},
		{"probes", "late", func(r *pairing.Result) {
			r.Totals.LateSender, r.Pairs[0].LateSender = 2*r.Totals.Blocked, 2*r.Totals.Blocked
		}, above + ": waits in MPI_Probe", ", probes and polls included; late receivers: 0 s of that in sends (exact)", "a call that completes several"},
		{"waits known", "late", func(*pairing.Result) {}, "\nnext: moriens waits d;", none, "moriens efficiency"},
		{"waits not known", "late", func(r *pairing.Result) {
			inSums(false)(r)
			r.Totals.Collectives = rundir.Number(math.NaN())
		}, "\nnext: moriens efficiency d;", "not known: late times", "moriens waits"},
	} {
		if got := text(c.kind, c.change); !strings.Contains(got, c.has) || !strings.Contains(got, c.has2) || strings.Contains(got, c.no) {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// What is next is the command of the largest finding's advice, which is printed below it, unless it was just run.
func TestNextOfPairs(t *testing.T) {
	finding := func(kind string) *pairing.Finding {
		return &pairing.Finding{PairsFinding: rundir.PairsFinding{Kind: kind, Text: "it", Ranks: []int{2}, Pairs: [][2]int{{2, 3}}}}
	}
	const order = "moriens pairs --order MPICH_RANK_ORDER --order-format mpich d (or rankfile, hostfile, slurm)"
	for _, c := range []struct {
		kind    string // of the exchange
		finding *pairing.Finding
		form    PairsForm
		next    string
		advised bool // the finding has it too
	}{
		{"late", finding(rundir.PairsLateSender), PairsForm{}, "moriens waits --by callpath d", true},
		{"placed", finding(rundir.PairsLateSender), PairsForm{}, "moriens waits --by callpath d", true},
		{"late", finding(rundir.PairsHeavyPair), PairsForm{}, "moriens pairs --ranks 2,3 d", true},
		{"late", finding(rundir.PairsHeavyPair), PairsForm{Ranks: true}, "moriens waits d", false},
		{"late", finding(rundir.PairsSlowLink), PairsForm{}, "moriens pairs --ranks 2 d", false},
		{"late", finding(rundir.PairsSlowLink), PairsForm{Ranks: true}, "moriens waits d", false},
		{"placed", finding(rundir.PairsSlowLink), PairsForm{}, order, false},
		{"placed", finding(rundir.PairsPlacing), PairsForm{}, order, true},
		{"placed", finding(rundir.PairsPlacing), PairsForm{Order: "file", Ranks: true}, "moriens waits d", false},
		{"placed", nil, PairsForm{}, order, false},
		{"late", nil, PairsForm{}, "moriens waits d", false},
	} {
		r := solved(t, c.kind, pairing.Question{})
		if r.Findings = nil; c.finding != nil {
			r.Findings = []pairing.Finding{*c.finding}
		}
		c.form.Dir = "d"
		var b strings.Builder
		if err := Pairs(&b, r, c.form); err != nil {
			t.Fatal(err)
		}
		advice := ""
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "  → ") {
				advice += line
			}
		}
		if !strings.Contains(b.String(), "\nnext: "+c.next+"; view Pairs of the page; docs/pairs.md\n") || strings.Contains(advice, c.next) != c.advised || (advice == "") != (c.finding == nil) {
			t.Errorf("%+v, %q:\n%s", c.finding, advice, b.String())
		}
	}
}

// A file may say that there are messages, and have no ranks or pairs.
func TestPairsOfNone(t *testing.T) {
	for want, hosts := range map[string][]rundir.PairsHost{"d: 0 ranks on 0 nodes": nil, "d: 2 ranks on 1 node": {{Name: "a", Ranks: "0-1"}}} {
		r, err := pairing.Solve(&rundir.Pairs{Hosts: hosts, Totals: new(rundir.PairsTotals)}, nil, pairing.Question{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := Pairs(&b, r, PairsForm{Dir: "d", Top: 9}); err != nil || !strings.HasPrefix(b.String(), want) || !strings.Contains(b.String(), "groups: none; no pair has any blocked time") || strings.Contains(b.String(), "NaN") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// Names that a program has chosen do nothing to a terminal.
func TestHostilePairs(t *testing.T) {
	var lines [2]int
	for i, text := range []string{"tame", hostile} {
		r := new(pairing.Result)
		poison(reflect.ValueOf(r).Elem(), text, 0)
		var b strings.Builder
		if err := Pairs(&b, r, PairsForm{Dir: text, Top: 3, Order: text, OrderFormat: text}); err != nil {
			t.Fatal(err)
		}
		lines[i] = strings.Count(b.String(), "\n")
		if k := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == '\u202e' }); k >= 0 {
			t.Errorf("something that a terminal obeys at byte %d of %q", k, b.String())
		}
		if !strings.Contains(b.String(), fmt.Sprintf("note: %s", strings.TrimSpace(text))) && text == "tame" {
			t.Errorf("%s", b.String())
		}
	}
	if lines[0] != lines[1] {
		t.Errorf("%d lines where there should be %d", lines[1], lines[0])
	}
}

// Between two ranks of one node there is no link of nodes: the advice is about cores. No pair has more than all blocked
// time, though its own has three digits.
func TestSlowLinkOfOneNode(t *testing.T) {
	for node, want := range map[string]string{
		"n01": "  → compare where the two ranks run with others: cores, sockets, NUMA domains (mpirun --report-bindings); bind them next to each other\n",
		"":    "  → compare the link of these nodes with others; place the ranks elsewhere\n",
	} {
		r := solved(t, "late", pairing.Question{})
		r.Findings = r.Findings[1:]
		r.Findings[0].Node = node
		r.Pairs = r.Pairs[:1]
		r.Pairs[0].Blocked = r.Totals.Blocked * 1.002
		var b strings.Builder
		if err := Pairs(&b, r, PairsForm{Dir: "d", Top: 1}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), " s  100.0 % ") {
			t.Errorf("%q:\n%s", node, b.String())
		}
	}
}
