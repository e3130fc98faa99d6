package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"moriens/trace/rundir"
)

// mostRanks is how many ranks a run may have.
const mostRanks = 1 << 24

// A span of ranks of a world, the last included.
type span struct{ world, first, last int }

// everyWorld is the world of a span that is of all worlds.
const everyWorld = -1

// parseSpans reads "0-3,8": ranks of a world.
func parseSpans(text string, world int) (list []span, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, several := strings.Cut(strings.TrimSpace(part), "-")
		s := span{world: world}
		s.first, err = rankNumber(first)
		if s.last = s.first; err == nil && several {
			s.last, err = rankNumber(last)
		}
		if err != nil || s.last < s.first {
			return nil, fmt.Errorf("%q is no list of ranks: write it like 12-15,21", text)
		}
		list = append(list, s)
	}
	return list, nil
}

func rankNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// A RankList is ranks as a command line has them: 12-15,21. Of a run with several worlds these are ranks of each, and
// 1:12-15 those of world 1.
type RankList []span

// UnmarshalText reads a list.
func (l *RankList) UnmarshalText(text []byte) error {
	*l = nil
	for part := range strings.SplitSeq(string(text), ",") {
		ranks, world := part, everyWorld
		if of, rest, found := strings.Cut(part, ":"); found {
			n, err := rankNumber(strings.TrimSpace(of))
			if err != nil {
				return fmt.Errorf("%q is no list of ranks: write it like 12-15,21, or 1:12 for rank 12 of world 1", text)
			}
			ranks, world = rest, n
		}
		spans, err := parseSpans(ranks, world)
		if err != nil {
			return err
		}
		*l = append(*l, spans...)
	}
	return nil
}

// Of gives the indices of the ranks of a run that are in the list, ascending. Each part of the list has one.
func (l RankList) Of(ranks []Rank) ([]int, error) {
	in := make([]bool, len(ranks))
	for _, s := range l {
		found := false
		for i, r := range ranks {
			if r.Rank >= s.first && r.Rank <= s.last && (s.world == everyWorld || s.world == r.World) {
				in[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no rank %s is recorded", s)
		}
	}
	var list []int
	for i, is := range in {
		if is {
			list = append(list, i)
		}
	}
	return list, nil
}

// Has reports whether a rank is in the list.
func (l RankList) Has(world, rank int) bool {
	return slices.ContainsFunc(l, func(s span) bool {
		return rank >= s.first && rank <= s.last && (s.world == everyWorld || s.world == world)
	})
}

func (s span) String() string {
	text := strconv.Itoa(s.first)
	if s.last > s.first {
		text += "-" + strconv.Itoa(s.last)
	}
	if s.world != everyWorld {
		text = fmt.Sprintf("%d:%s", s.world, text)
	}
	return text
}

// RanksOf are the ranks of hosts, sorted by world and rank.
func RanksOf(hosts []rundir.PairsHost) ([]Rank, error) {
	var ranks []Rank
	for _, h := range hosts {
		spans, err := parseSpans(h.Ranks, h.World)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", h.Name, err)
		}
		if h.World < 0 || h.World > math.MaxInt32 {
			return nil, fmt.Errorf("node %s is of world %d", h.Name, h.World)
		}
		for _, s := range spans {
			if s.last-s.first >= mostRanks-len(ranks) {
				return nil, fmt.Errorf("more than %d ranks", mostRanks)
			}
			for r := s.first; r <= s.last; r++ {
				ranks = append(ranks, Rank{h.World, r, h.Name})
			}
		}
	}
	slices.SortFunc(ranks, func(a, b Rank) int { return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Rank, b.Rank)) })
	for i := 1; i < len(ranks); i++ {
		if a, b := ranks[i-1], ranks[i]; a.World == b.World && a.Rank == b.Rank {
			return nil, fmt.Errorf("rank %d of world %d is on two nodes", a.Rank, a.World)
		}
	}
	return ranks, nil
}

// lay puts ranks on nodes in their order, so many on each.
func lay(ranks []Rank, perNode int) {
	for i := range ranks {
		ranks[i].Node = fmt.Sprintf("node%d", i/perNode)
	}
}

// A numbering finds the index of a rank.
type numbering struct {
	ranks  []Rank
	worlds map[int32]worldRanks
}

// worldRanks are the ranks of a world: where they begin in the list, and where they end. Those of a world without gaps
// need no search.
type worldRanks struct {
	begin, end int
	gaps       bool
}

func newNumbering(ranks []Rank) *numbering {
	n := &numbering{ranks: ranks, worlds: make(map[int32]worldRanks)}
	for begin := 0; begin < len(ranks); {
		end := begin
		for end < len(ranks) && ranks[end].World == ranks[begin].World {
			end++
		}
		n.worlds[int32(ranks[begin].World)] = worldRanks{begin, end, ranks[end-1].Rank-ranks[begin].Rank != end-1-begin}
		begin = end
	}
	return n
}

// of gives the index of a rank; -1: it has no record.
func (n *numbering) of(world, rank int32) int32 {
	w, known := n.worlds[world]
	if !known {
		return -1
	}
	list := n.ranks[w.begin:w.end]
	at := int(rank) - list[0].Rank
	if w.gaps {
		found := false
		if at, found = slices.BinarySearchFunc(list, int(rank), func(r Rank, rank int) int { return cmp.Compare(r.Rank, rank) }); !found {
			return -1
		}
	}
	if at < 0 || at >= len(list) {
		return -1
	}
	return int32(w.begin + at)
}

// nodes numbers the nodes by their first ranks: their names, and by rank its node.
func nodes(ranks []Rank) (names []string, of []int32) {
	known := make(map[string]int32)
	of = make([]int32, len(ranks))
	for i, r := range ranks {
		node, ok := known[r.Node]
		if !ok {
			node = int32(len(names))
			known[r.Node] = node
			names = append(names, r.Node)
		}
		of[i] = node
	}
	return names, of
}
