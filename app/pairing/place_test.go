package pairing

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moriens/internal/hint"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

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
		found := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == rundir.PairsPlacing })
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

// Of four ranks on two nodes one order has least bytes between nodes, and another least blocked time. What saves a
// tenth is advised, and less is not: then ranks stay as they are.
func TestPlacementOfFour(t *testing.T) {
	together := func(p *Placement) (with []int) { // who is with rank 0
		for _, n := range p.Nodes {
			if slices.Contains(n.Ranks, 0) {
				return n.Ranks
			}
		}
		return nil
	}
	for _, c := range []struct {
		what            string
		of01            int64 // bytes; all others are the same
		weigh           bool
		better          bool
		with            []int
		advised         int64
		blocked, before int64 // ns
	}{
		{"a tenth of the bytes", 25, false, true, []int{0, 2}, 90, 24, 24},
		{"less than a tenth", 26, false, false, []int{0, 1}, 100, 24, 24},
		{"blocked time", 25, true, true, []int{0, 3}, 110, 8, 24},
	} {
		file := &rundir.Pairs{Basis: rundir.PairsAll, Seconds: 1e-9, Totals: new(rundir.PairsTotals), Hosts: []rundir.PairsHost{{Name: "a", Ranks: "0-1"}, {Name: "b", Ranks: "2-3"}}}
		file.Findings = []rundir.PairsFinding{{Kind: rundir.PairsSlowLink, Seconds: 9}, {Kind: rundir.PairsIrregular, Seconds: 1e-12}}
		line := rundir.PairsLine{SameNode: true, Latency: 0, Bandwidth: 1e9}
		file.Lines = []rundir.PairsLine{line, {Latency: 0, Bandwidth: 5e8}}
		var rows []parquet.PairsRow
		add := func(a, b int32, bytes, ns int64) {
			rows = append(rows, parquet.PairsRow{Kind: parquet.PairsReceived, Rank: a, Peer: b, FromBytes: -1, ToBytes: -1, Messages: 1, Bytes: bytes, BlockedNS: ns})
		}
		add(0, 1, c.of01, 2)
		add(2, 3, 25, 2)
		add(0, 2, 30, 2)
		add(1, 3, 30, 2)
		add(0, 3, 20, 10)
		add(1, 2, 20, 10)
		r, err := Solve(file, rows, Question{Weigh: c.weigh})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Placement
		if p.Better != c.better || p.InternodeBytes != 100 || p.Advised != c.advised || !slices.Equal(together(p), c.with) || !near(p.Blocked, rundir.Number(float64(c.before)/1e9)) || !near(p.AdvisedBlocked, rundir.Number(float64(c.blocked)/1e9)) {
			t.Errorf("%s: %+v", c.what, p)
		}
		var found []string // only fewer bytes are a finding, among others by what it saves: 10 B at 1 ns
		for _, f := range r.Findings {
			found = append(found, f.Kind)
		}
		want := []string{rundir.PairsSlowLink, rundir.PairsIrregular}
		if c.better && !c.weigh {
			want = slices.Insert(want, 1, rundir.PairsPlacing)
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: %q, want %q", c.what, found, want)
		}
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
		if said := slices.ContainsFunc(r.Why, func(s string) bool {
			return s == "placement: none is computed for 5,001 ranks and 1 pair unless it is asked for, as that takes long above 5,000 ranks or 1,000,000 pairs: moriens pairs --weigh bytes DIR"
		}); said == place || (r.Placement != nil) != place {
			t.Errorf("asked for %t: %+v, %q", place, r.Placement, r.Why)
		}
	}
}

// Two ranks on two nodes send each other all there is: nothing can be saved where they are the only ranks, and all
// where each has room for a partner. Without a row of their own for many of the bytes nothing is advised.
func TestPlacementOfPartners(t *testing.T) {
	row := func(rank, peer int32) parquet.PairsRow {
		return parquet.PairsRow{Kind: parquet.PairsReceived, Rank: rank, Peer: peer, FromBytes: -1, ToBytes: -1, Messages: 10, Bytes: 1000}
	}
	for _, tt := range []struct {
		name    string
		ranks   [2]string
		rows    []parquet.PairsRow
		summed  int64 // bytes
		advised int64
		why     bool
	}{
		{"two ranks", [2]string{"0-0", "1-1"}, []parquet.PairsRow{row(0, 1)}, 0, 1000, false},
		{"four ranks", [2]string{"0-1", "2-3"}, []parquet.PairsRow{row(0, 2), row(1, 3)}, 0, 0, false},
		{"few others have no row", [2]string{"0-1", "2-3"}, []parquet.PairsRow{row(0, 2), row(1, 3)}, 100, 0, false},
		{"many others have no row", [2]string{"0-1", "2-3"}, []parquet.PairsRow{row(0, 2), row(1, 3)}, 400, -1, true},
	} {
		file := &rundir.Pairs{Basis: rundir.PairsAll, Totals: new(rundir.PairsTotals), Hosts: []rundir.PairsHost{{Name: "a", Ranks: tt.ranks[0]}, {Name: "b", Ranks: tt.ranks[1]}}}
		file.Totals.Bytes = int64(len(tt.rows))*1000 + tt.summed
		file.Table.Summed, file.Table.SummedBytes = tt.summed/100, tt.summed
		r, err := Solve(file, tt.rows, Question{})
		if err != nil {
			t.Fatal(err)
		}
		advised := int64(-1)
		if r.Placement != nil {
			advised = r.Placement.Advised
		}
		why := slices.ContainsFunc(r.Why, func(s string) bool {
			return strings.Contains(s, "placement: none is advised, as pairs without a row of their own exchanged 17 % of the bytes")
		})
		if advised != tt.advised || why != tt.why {
			t.Errorf("%s: %d bytes between nodes, %q", tt.name, advised, r.Why)
		}
		if !tt.why {
			continue
		}
		err = (&Answer{Result: r}).WriteOrder(filepath.Join(t.TempDir(), "order"), OrderMPICH)
		if err == nil || !strings.Contains(err.Error(), "no order is written: too many pairs have no row of their own") || !strings.Contains(hint.Of(err), "--keep") {
			t.Errorf("%s: %v, hint %q", tt.name, err, hint.Of(err))
		}
	}
}
