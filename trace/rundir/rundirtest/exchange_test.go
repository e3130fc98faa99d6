package rundirtest

import (
	"math"
	"testing"

	"moriens/trace/rundir"
)

// What some ranks exchange adds up, as the files of a run do. Findings are about causes that are listed.
func TestExchanges(t *testing.T) {
	for _, kind := range Exchanges {
		t.Run(kind, func(t *testing.T) {
			file, planted := Pairs(kind)
			dir := t.TempDir()
			if err := WritePairs(dir, file, planted); err != nil {
				t.Fatal(err)
			}
			p, rows := CheckPairs(t, dir)
			if len(rows) != len(planted) || (p.Totals == nil) != (kind == "none") || p.Totals == nil && len(p.Findings) > 0 {
				t.Fatalf("%d rows of %d, %+v", len(rows), len(planted), p.Totals)
			}
			if p.Totals == nil {
				return
			}
			var messages, bytes, sized int64
			for i := range rows {
				if r := &rows[i]; r.Kind == "receive" && !r.Sized() {
					messages += r.Messages
					bytes += r.Bytes
				}
			}
			for _, s := range p.Sizes {
				sized += s.Messages
				bytes -= s.Bytes
			}
			if messages != p.Totals.Messages || sized != messages || bytes != 0 || len(p.Paths) != 1 || p.Paths[0].Messages != messages {
				t.Errorf("%d messages received, sizes of %d, %d bytes more; %+v", messages, sized, bytes, p.Totals)
			}
			if p.Rest < 0 || p.Rest > p.Totals.LateSender/10 {
				t.Errorf("causes of %v s are not listed, of %v", p.Rest, p.Totals.LateSender)
			}
			for i := range p.Findings {
				checkFinding(t, p, &p.Findings[i])
			}
		})
	}
}

// checkFinding checks that a finding costs what one must, and that one of a late rank is about what this causes.
func checkFinding(t *testing.T, p *rundir.Pairs, f *rundir.PairsFinding) {
	ranks := 0
	for _, h := range p.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		ranks += n
	}
	if f.Seconds < .005*p.Seconds*rundir.Number(ranks) {
		t.Errorf("%v s of %d ranks and %v s are no finding", f.Seconds, ranks, p.Seconds)
	}
	if f.Kind != rundir.PairsLateSender {
		return
	}
	caused := rundir.Number(0)
	for _, c := range p.Causes {
		if c.Rank != nil && *c.Rank == f.Ranks[0] {
			caused += c.Seconds
		}
	}
	if math.Abs(float64(caused-f.Seconds)) > 1e-9 {
		t.Errorf("rank %d causes %v s: %+v", f.Ranks[0], caused, f)
	}
}
