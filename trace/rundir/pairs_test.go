package rundir_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"moriens/trace/rundir"
)

// pairsFile are pairs of three ranks on two nodes.
func pairsFile() *rundir.Pairs {
	rank, cluster := 2, int32(4)
	return &rundir.Pairs{
		Format: rundir.PairsFormat, Basis: rundir.PairsAll, Seconds: 2, Within: rundir.WithinRun,
		Hosts:  []rundir.PairsHost{{Name: "a", Ranks: "0-1"}, {Name: "b", Ranks: "2"}},
		Totals: &rundir.PairsTotals{Messages: 10, Bytes: 100, Pairs: 2, Blocked: .5, LateSender: .25, LateReceiver: .125, Unexplained: .125},
		Table:  rundir.PairsTable{Rows: 4},
		Lines:  []rundir.PairsLine{{SameNode: true, Latency: .000001, Bandwidth: 1e10, Messages: 5, Spread: .1, Sizes: []rundir.PairsLineSize{{FromBytes: 8, ToBytes: 8, Messages: 5, Quartile: .000001, Median: .000001, P95: .000002}}}},
		Sizes:  []rundir.PairsSize{{FromBytes: 8, ToBytes: 15, Messages: 10, Bytes: 100, Blocked: .5}},
		Paths:  []rundir.PairsCallPath{{CallPath: "MPI_Recv@a.c:1", Messages: 10, Bytes: 100, Blocked: .5}},
		Causes: []rundir.PairsCause{
			{Rank: &rank, What: rundir.CauseComputing, Cluster: &cluster, Share: .5, Seconds: .1875, Direct: .125}, {Pair: &[2]int{0, 2}, What: rundir.CauseMPI, Share: .1, Seconds: .0625},
		},
		Findings: []rundir.PairsFinding{{Kind: rundir.PairsLateSender, Seconds: .1875, Ranks: []int{2}, Pairs: [][2]int{}, Text: "rank 2 is late"}},
	}
}

func readPairs(t *testing.T, p *rundir.Pairs) (*rundir.Pairs, error) {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, rundir.PairsFile), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return rundir.ReadPairs(dir)
}

// What is written is read; figures that cannot be are refused, and the error names the file.
func TestPairs(t *testing.T) {
	if back, err := readPairs(t, pairsFile()); err != nil || !reflect.DeepEqual(back, pairsFile()) {
		t.Errorf("%+v: %v", back, err)
	}
	for what, spoil := range map[string]func(p *rundir.Pairs){
		"a rank that is not there":   func(p *rundir.Pairs) { p.Findings[0].Ranks[0] = 3 },
		"a pair the wrong way round": func(p *rundir.Pairs) { p.Causes[1].Pair = &[2]int{2, 0} },
		"a rank and a pair":          func(p *rundir.Pairs) { p.Causes[1].Rank = p.Causes[0].Rank },
		"ranks out of order":         func(p *rundir.Pairs) { p.Hosts[0].Ranks = "1,0" },
		"no ranks":                   func(p *rundir.Pairs) { p.Hosts[0].Ranks = "0-" },
		"a basis of none":            func(p *rundir.Pairs) { p.Basis = "some" },
		"no totals without why":      func(p *rundir.Pairs) { p.Totals = nil },
		"a negative time":            func(p *rundir.Pairs) { p.Totals.Send = -1 },
		"a share above 1":            func(p *rundir.Pairs) { p.Causes[0].Share = 1.5 },
		"a finding of no kind":       func(p *rundir.Pairs) { p.Findings[0].Kind = "odd" },
		"sizes from end to begin":    func(p *rundir.Pairs) { p.Lines[0].Sizes[0].ToBytes = math.MinInt64 },
		"no words":                   func(p *rundir.Pairs) { p.Findings[0].Text = "" },
		"sizes the wrong way round":  func(p *rundir.Pairs) { p.Sizes[0].ToBytes = 7 },
		"no bandwidth":               func(p *rundir.Pairs) { p.Lines[0].Bandwidth = 0 },
		"within nothing":             func(p *rundir.Pairs) { p.Within = "loop" },
	} {
		p := pairsFile()
		spoil(p)
		if _, err := readPairs(t, p); err == nil || !strings.Contains(err.Error(), "pairs.json has figures that cannot be") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := rundir.ReadPairs(t.TempDir()); err == nil || !strings.Contains(err.Error(), rundir.PairsFile) {
		t.Errorf("no file: %v", err)
	}
	p := pairsFile()
	p.Totals.LateSender = rundir.Number(math.NaN())
	if back, err := readPairs(t, p); err != nil || !math.IsNaN(float64(back.Totals.LateSender)) {
		t.Errorf("%+v: %v", back, err)
	}
}

// A list of ranks is written as people do, and read.
func TestRankList(t *testing.T) {
	for text, ranks := range map[string][]int{"": nil, "0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,4,6-7": {2, 4, 6, 7}} {
		if got := rundir.RankList(ranks); got != text {
			t.Errorf("%v: %q, want %q", ranks, got, text)
		}
		if n, known := rundir.CountRanks(text); known != (text != "") || n != len(ranks) {
			t.Errorf("%q: %d, %v", text, n, known)
		}
	}
	for _, text := range []string{"-", "1-", ",1", "1,", "3-1", "1,1", "a", "1 2", "99999999999"} {
		if _, known := rundir.CountRanks(text); known {
			t.Errorf("%q is a list of ranks", text)
		}
	}
}
