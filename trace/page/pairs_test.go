package page_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"moriens/trace/page"
	"moriens/trace/rundir"
)

// ring is n ranks, of which each exchanged messages with the next; the longer, the higher their numbers. Each pair has
// messages of two sizes.
func ring(n int) *page.Pairs {
	p := &page.Pairs{Totals: &rundir.PairsTotals{Pairs: int64(n - 1)}, Nodes: []string{"n1"}, Groups: []page.PairsGroup{{Blocked: 3}}, By: "blocked"}
	for i := range n {
		r := &p.Ranks
		r.World, r.Rank, r.Node, r.Group, r.Advised = append(r.World, 0), append(r.Rank, int32(i)), append(r.Node, 0), append(r.Group, 0), append(r.Advised, -1)
		p.Order = append(p.Order, int32(i))
		if i == 0 {
			continue
		}
		e, s := &p.Each, &p.BySize
		seconds := float64(i)
		e.A, e.B = append(e.A, int32(i-1)), append(e.B, int32(i))
		e.Messages, e.Bytes, e.Blocked = append(e.Messages, 10), append(e.Bytes, 1000), append(e.Blocked, seconds)
		e.Send, e.Longest, e.First = append(e.Send, 0), append(e.Longest, seconds), append(e.First, 0)
		e.LateSender, e.LateSenderError, e.LateReceiver = append(e.LateSender, math.NaN()), append(e.LateSenderError, math.NaN()), append(e.LateReceiver, 0)
		e.LateReceiverError = append(e.LateReceiverError, 0)
		for k := range 2 {
			s.Pair, s.From = append(s.Pair, int32(i-1)), append(s.From, float64(64*(k+1)))
			s.Messages, s.Bytes, s.BlockedSec = append(s.Messages, 5), append(s.Bytes, 500), append(s.BlockedSec, seconds/2)
		}
		m := &p.Merges
		m.Left, m.Right, m.Height = append(m.Left, int32(i)), append(m.Right, int32(max(0, n+i-2))), append(m.Height, 1/float64(n-i))
	}
	return p
}

// TestPairs has all of what ranks exchanged in columns, and nothing of it in the document.
func TestPairs(t *testing.T) {
	const ranks = 5
	p := ring(ranks)
	s := written(t, page.Source{Pairs: p}, page.LimitsOf(page.Report))
	for name, want := range map[string][]float64{
		"pairs.each.a": {0, 1, 2, 3}, "pairs.each.b": {1, 2, 3, 4}, "pairs.each.blocked": {1, 2, 3, 4}, "pairs.size.pair": {0, 0, 1, 1, 2, 2, 3, 3}, "pairs.order": {0, 1, 2, 3, 4},
		"pairs.merge.height": p.Merges.Height, "pairs.rank.advised": {-1, -1, -1, -1, -1},
	} {
		if got := s.Floats[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
	text, err := json.Marshal(s.Document.Pairs)
	if err != nil || strings.Contains(string(text), "Left") || s.Document.Pairs.LeftOut != (page.PairsLeftOut{}) {
		t.Errorf("%s %v", text, err)
	}
	if none := written(t, page.Source{}, page.LimitsOf(page.Report)); none.Document.Pairs != nil {
		t.Error("there are pairs of a run that has none")
	}
}

// TestPairsLimited leaves out the pairs with the least blocked time, and says how much they have; the dendrogram is
// whole.
func TestPairsLimited(t *testing.T) {
	const ranks, room, sizes = 8, 4, 5
	limits := page.LimitsOf(page.Report)
	limits.Pairs, limits.PairSizes = room, sizes
	p := ring(ranks)
	s := written(t, page.Source{Pairs: p}, limits)
	if got := s.Floats["pairs.each.a"]; !slices.Equal(got, []float64{3, 4, 5, 6}) {
		t.Errorf("pairs of %v", got)
	}
	want := page.PairsLeftOut{Pairs: 3, Messages: 30, Bytes: 3000, Blocked: 1 + 2 + 3, Sizes: 2}
	if got := s.Document.Pairs.LeftOut; got != want {
		t.Errorf("left out: %+v, not %+v", got, want)
	}
	if pair, blocked := s.Floats["pairs.size.pair"], s.Floats["pairs.size.blocked"]; !slices.Equal(pair, []float64{2, 2, 3, 3}) || !slices.Equal(blocked, []float64{3, 3, 3.5, 3.5}) {
		t.Errorf("sizes of %v: %v", pair, blocked)
	}
	if len(s.Floats["pairs.merge.left"]) != ranks-1 || len(s.Floats["pairs.rank.rank"]) != ranks {
		t.Error("the dendrogram is not whole")
	}
	if len(p.Each.A) != ranks-1 || len(p.BySize.Pair) != 2*(ranks-1) || p.LeftOut.Pairs != 0 {
		t.Error("what the source has was changed")
	}
}
