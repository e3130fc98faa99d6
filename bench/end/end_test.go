package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"moriens/collector/store"
	"moriens/conclude/retention"
	"moriens/internal/anchor"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/units"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// What was planted is found, at full length and with few iterations, of ranks on several nodes and with counters; how
// long it takes is not checked.
func TestEnd(t *testing.T) {
	for _, j := range []job{newJob(100, 60_000, false), newJob(70, 20_000, true), newJob(2, 20_000, false), newJob(2, 20_000, true)} {
		e, err := measure(j, retention.Options{Budget: retention.DefaultBudget}, "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if e.Phases != 2 || e.Found != j.iterations || e.Slow != (j.ranks > slowRank) || !e.Odd || e.Messages == 0 || len(e.Missing) > 0 || e.Bursts < 20_000 {
			t.Errorf("%+v", e)
		}
		if len(e.Costs) < 14 || e.Costs[0].Stage != "freeze" || e.Costs[len(e.Costs)-1].Stage != "write" {
			t.Errorf("%+v", e.Costs)
		}
	}
}

// The directory of a thousand ranks fits its budget, and half of it, and what was planted is in it.
func TestBudget(t *testing.T) {
	for _, budget := range []units.Bytes{2 << 20, 1 << 20} {
		e, err := measure(newJob(1000, 100_000, false), retention.Options{Budget: budget}, "", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if e.Bytes > int64(budget) || e.Windows == 0 || !e.Slow || len(e.Missing) > 0 {
			t.Errorf("%v: %+v", budget, e)
		}
	}
}

// Where all ranks have exchanged messages with all others, those pairs are there with all their messages, and the
// directory fits its budget: where that leaves no room for a row of each, the others are added up.
func TestAllToAll(t *testing.T) {
	j := newJob(200, 20_000, false)
	j.peers = j.ranks - 1
	for _, tt := range []struct {
		budget units.Bytes
		summed bool
	}{{64 << 20, false}, {1 << 20, true}} {
		dir := t.TempDir()
		e, err := measure(j, retention.Options{Budget: tt.budget}, "", dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, rows := rundirtest.CheckPairs(t, dir)
		want := int64(j.ranks * j.peers * peerMessages)
		received, sent := int64(0), int64(0)
		for i := range rows {
			switch r := &rows[i]; {
			case r.Sized():
			case r.Kind == parquet.PairsReceived:
				received += r.Messages
			case r.Kind == parquet.PairsSent:
				sent += r.Messages
			}
		}
		if x := p.Totals; x.Pairs != int64(j.ranks*j.peers/2) || x.Messages != want || x.Bytes != peerBytes*want || received != want || sent != want || p.Table.Summed > 0 != tt.summed || e.Bytes > int64(tt.budget) {
			t.Errorf("%d bytes; %d messages received and %d sent in %d rows, want %d each: %+v, %+v", e.Bytes, received, sent, len(rows), want, x, p.Table)
		}
	}
}

// A row for each run, a column for each run's stages.
func TestTables(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, plan{bursts: "30000", ranks: "64", keep: retention.Options{Budget: retention.DefaultBudget}, one: true}); err != nil {
		t.Fatal(err)
	}
	var e end
	if err := json.Unmarshal(out.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	other := e
	other.Slow, other.Missing = false, []string{"there are no windows"}
	out.Reset()
	if err := printTables(&out, []end{e, other}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 64 | 86 | 30336 | ", " messages |\n", "; not the slow rank; there are no windows |\n", "| recount | ", "| stage | 64 ranks, 30336 bursts | 64 ranks, 30336 bursts |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := printRounds(&out, []*series{{version: "before", ends: []end{e, e}}, {version: "now", ends: []end{e, e}}}); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(out.String(), "\n| 64 | 30336 | "); rows != 2 || strings.Contains(out.String(), "| 0.00 – 0.00 | 0 – 0 |") {
		t.Errorf("%d rows in\n%s", rows, out.String())
	}
	if err := run(&out, plan{bursts: "1", ranks: "2", peers: 2, one: true}); err == nil {
		t.Error("two ranks with two others each")
	}
	for _, mistake := range [][2]string{{"0", "1"}, {"1", "x"}, {"", "1"}} {
		if err := run(&out, plan{bursts: mistake[0], ranks: mistake[1], keep: retention.Options{Budget: retention.DefaultBudget}, one: true}); err == nil {
			t.Errorf("%q bursts of %q ranks are taken", mistake[0], mistake[1])
		}
	}
}

// A node's windows have every call of its ranks once, and what those calls moved, of which the ends are known.
func TestWindows(t *testing.T) {
	j := newJob(3, 200_000, false) // more meetings than windows of one each
	var whole []uint32             // functions of all calls
	b := new(section.Block)
	for first := 0; first < j.iterations; first += 100 {
		j.from(b, 1, first, min(first+100, j.iterations))
		for _, site := range b.Site[:b.Rows] {
			whole = append(whole, uint32(b.Sites[site].Function))
		}
	}
	functions := map[uint8]uint32{2: uint32(mpicall.Irecv), 1: uint32(mpicall.Isend)}
	s, m := store.New(), new(maker)
	if err := j.fill(s); err != nil {
		t.Fatal(err)
	}
	f := s.Freeze()
	row, transfers := uint64(0), 0
	for n, last := 0, anchor.ID(1); n <= j.iterations; n++ {
		w := anchor.After(uint64(n))
		if w == last {
			continue
		}
		last = w
		for _, part := range j.window(m, 1, w) {
			if len(part.Ring) != 1 || part.Ring[0] != j.ring(1) || part.FirstRow[0] != row {
				t.Fatalf("window behind %d meetings has rows %v to %v of %v, want %d on", w.Anchors(), part.FirstRow, part.BehindRow, part.Ring, row)
			}
			details, err := f.Details(part.Sections)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range details {
				for i, posted := range d.Row {
					if uint64(posted) < row || uint64(posted) >= part.BehindRow[0] || whole[posted] != functions[d.Kind[i]] ||
						whole[d.Done[i]] != uint32(mpicall.Waitall) || d.OrdinalOf(i) != uint64(transfers/2+1) || d.Bytes[i] != haloBytes {
						t.Fatalf("transfer %d of row %d: %+v", transfers, posted, d)
					}
					transfers++
				}
			}
			row = part.BehindRow[0]
		}
	}
	if row != uint64(len(whole)) || transfers != 2*(j.iterations/2)*3 {
		t.Errorf("%d of %d rows, %d transfers", row, len(whole), transfers)
	}
}

// More transfers than a section has are in several.
func TestMovesInSections(t *testing.T) {
	j := newJob(2, 40_000, false)
	s := store.New()
	if err := j.fill(s); err != nil {
		t.Fatal(err)
	}
	f := s.Freeze()
	details, err := f.Details(j.moves(new(maker), 0, 0, j.iterations))
	n := 0
	for _, d := range details {
		n += d.Len()
	}
	if err != nil || len(details) < 2 || n != 2*(j.iterations/2)*3 {
		t.Errorf("%d transfers in %d sections, %v", n, len(details), err)
	}
}
