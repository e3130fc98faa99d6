package program

import (
	"strings"
	"testing"
)

// A text that says something else than the figures beside it is found, whichever it is.
func TestTexts(t *testing.T) {
	trips := func(t Trips) *Node { return &Node{Kind: KindLoop, Trips: &t} }
	condition := func(n Node) *Node {
		n.Kind = KindIf
		return &n
	}
	by := func(counts ...int64) (list []RankSum) {
		for r, n := range counts {
			list = append(list, RankSum{Ranks: []int{r}, Count: n})
		}
		return list
	}
	for text, n := range map[string]*Node{
		"12":                  trips(Trips{Kind: TripsConstant, Most: 12}),
		"3,4,5 in turn":       trips(Trips{Kind: TripsCycle, Cycle: []int64{3, 4, 5}}),
		"2*i+1":               trips(Trips{Kind: TripsLinear, Linear: &Linear{"i", 2, 1}}),
		"rank+4":              trips(Trips{Kind: TripsByRank, ByRank: by(4, 5, 6, 7)}),
		"9 on rank 1, else 4": trips(Trips{Kind: TripsByRank, ByRank: []RankSum{{Ranks: []int{0, 2, 3}, Count: 4}, {Ranks: []int{1}, Count: 9}}}),
		"1..9 by rank":        trips(Trips{Kind: TripsByRank, Least: 1, Most: 9, ByRank: by(1, 9, 5, 2)}),
		"3..7":                trips(Trips{Kind: TripsVaries, Least: 3, Most: 7}),
		"rank % 2 == 1":       condition(Node{Ranks: []int{1, 3}}),
		"rank != 0":           condition(Node{Ranks: []int{1, 3}, OfRanks: []int{0, 1, 3}}),
		"thread < 3":          condition(Node{Ranks: []int{0, 1, 2, 3}, Threads: []int{1, 2}, OfThreads: []int{1, 2, 3, 4}}),
		"i % 10 == 3":         condition(Node{When: &When{Kind: WhenEvery, Variable: "i", Period: 10, Offset: 3}}),
		"(i + rank) % 2 == 0": condition(Node{When: &When{Kind: WhenEvery, Variable: "i", Period: 2, Rank: 1}}),
		"j in 3, 7":           condition(Node{When: &When{Kind: WhenAt, Variable: "j", Trip: 3, Trips: []int64{3, 7}}}),
		"(rank+1) mod size":   {Kind: KindMPI, Peers: []Peer{{Kind: peerRing}}},
		"rank^4, or none":     {Kind: KindMPI, Peers: []Peer{{Kind: peerXor}}},
		"each other rank":     {Kind: KindMPI, Peers: []Peer{{Kind: peerEach}}},
	} {
		p := &Program{Ranks: 4, Body: []*Node{n}}
		set := func(text string) {
			switch {
			case n.Trips != nil:
				n.Trips.Expression = text
			case n.When != nil:
				n.WhenText = text
			case n.Peers != nil:
				n.Peers[0].Text = text
			default:
				n.RanksText = text
			}
		}
		if set(text); p.Texts() != "" {
			t.Errorf("%q: %s", text, p.Texts())
		}
		for _, other := range []string{"x" + text, strings.Replace(text, "1", "2", 1) + " ", ""} {
			if set(other); p.Texts() == "" {
				t.Errorf("%q passes for %q", other, text)
			}
		}
	}
}

// The last ELSE of a chain that always holds needs no words; no other condition may be without.
func TestTextsOfElse(t *testing.T) {
	chain := func(happened int64, text string) *Program {
		return &Program{Ranks: 4, Body: []*Node{
			{ID: 1, Kind: KindIf, Ranks: []int{0}, RanksText: "rank == 0", Happened: 1, Of: 4},
			{ID: 2, Kind: KindIf, Else: true, Ranks: []int{1, 2, 3}, RanksText: text, Happened: happened, Of: 4},
		}}
	}
	for _, c := range []struct {
		p    *Program
		want string
	}{
		{chain(3, ""), ""},
		{chain(3, "rank != 0"), ""},
		{chain(2, ""), `line 2 of the text has "", its figures say "rank != 0"`},
		{chain(3, "rank >= 2"), `line 2 of the text has "rank >= 2", its figures say "rank != 0"`},
	} {
		if got := c.p.Texts(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
