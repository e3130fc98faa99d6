package page

import (
	"cmp"
	"slices"

	"moriens/trace/pack"
	"moriens/trace/rundir"
)

// Pairs are who exchanged what with whom, with the dendrogram of the ranks, their groups and where they should lie. The
// lists that grow with ranks and pairs become columns.
type Pairs struct {
	Why     []string      `json:"why"`
	Exact   bool          `json:"exact"` // late times are of all messages
	Seconds rundir.Number `json:"seconds"`
	By      string        `json:"by"` // what heights of the dendrogram are made of
	Linkage string        `json:"linkage"`

	Totals               *rundir.PairsTotals    `json:"totals"`
	Table                rundir.PairsTable      `json:"table"`
	Cophenetic           rundir.Number          `json:"cophenetic"`
	Modularity           rundir.Number          `json:"modularity"`
	TopologyModularity   rundir.Number          `json:"topology_modularity"`
	GroupsFollowTopology bool                   `json:"groups_follow_topology"`
	Groups               []PairsGroup           `json:"groups"` // of which column pairs.rank.group has the index
	Lines                []rundir.PairsLine     `json:"lines"`
	Sizes                []rundir.PairsSize     `json:"sizes"`
	CallPaths            []rundir.PairsCallPath `json:"call_paths"`
	Causes               []rundir.PairsCause    `json:"causes"`
	Findings             []PairsFinding         `json:"findings"`
	Nodes                []string               `json:"nodes"` // names
	Placement            *PairsPlacement        `json:"placement"`
	LeftOut              PairsLeftOut           `json:"left_out"`

	Ranks  PairsRanks  `json:"-"`
	Each   PairsEach   `json:"-"`
	BySize PairsBySize `json:"-"`
	Merges PairsMerges `json:"-"`
	Order  []int32     `json:"-"` // leaves of the dendrogram from left to right
}

// A PairsGroup is ranks that the cut leaves together.
type PairsGroup struct {
	Blocked rundir.Number `json:"blocked_seconds"` // between its ranks
}

// A PairsFinding is something unusual, and what to do about it.
type PairsFinding struct {
	rundir.PairsFinding
	Advice string `json:"advice"` // in words without a full stop
}

// A PairsPlacement is the bytes between nodes, as ranks lay and as they could lie.
type PairsPlacement struct {
	Internode  int64         `json:"internode_bytes"`
	Advised    int64         `json:"advised_internode_bytes"`
	Saved      rundir.Number `json:"saved_seconds"`
	Blocks     int64         `json:"blocks_internode_bytes"`
	RoundRobin int64         `json:"round_robin_internode_bytes"`
}

// PairsLeftOut is what a page has no room for: the pairs with the least blocked time, and messages by size of others.
type PairsLeftOut struct {
	Pairs    int           `json:"pairs"`
	Messages int64         `json:"messages"`
	Bytes    int64         `json:"bytes"`
	Blocked  rundir.Number `json:"blocked_seconds"`
	Sizes    int           `json:"sizes"` // pairs without the sizes that the run directory has
}

// PairsRanks are the ranks that others give the index of, sorted by world and rank.
type PairsRanks struct {
	World, Rank, Node []int32 // Node: index into Pairs.Nodes
	Group, Advised    []int32 // group, and node where it should lie; -1 = none
}

// PairsEach are two ranks that exchanged messages, A < B, both ways together, sorted by both.
type PairsEach struct {
	A, B            []int32
	Messages, Bytes []float64
	// Seconds; NaN: not known.
	Blocked, Send, Longest, First, LateSender, LateSenderError, LateReceiver, LateReceiverError []float64
}

// PairsBySize are messages of a pair of some sizes, in the order of pairs.
type PairsBySize struct {
	Pair                              []int32
	From, Messages, Bytes, BlockedSec []float64
}

// PairsMerges are the joins of the dendrogram, in order of height.
type PairsMerges struct {
	Left, Right []int32
	Height      []float64
}

// addPairs adds pairs, of too many those with the most blocked time.
func (b *builder) addPairs() {
	p := b.source.Pairs
	if p == nil {
		return
	}
	shown := *p
	e := &shown.Each
	if out := len(e.A) - b.limits.Pairs; out > 0 {
		shown.thin(b.limits.Pairs)
		shown.LeftOut.Pairs = out
	}
	shown.thinSizes(b.limits.PairSizes)
	b.doc.Pairs = &shown
	c := &b.columns
	pack.Add(c, "pairs.rank.world", shown.Ranks.World)
	pack.Add(c, "pairs.rank.rank", shown.Ranks.Rank)
	pack.Add(c, "pairs.rank.node", shown.Ranks.Node)
	pack.Add(c, "pairs.rank.group", shown.Ranks.Group)
	pack.Add(c, "pairs.rank.advised", shown.Ranks.Advised)
	pack.Add(c, "pairs.each.a", e.A)
	pack.Add(c, "pairs.each.b", e.B)
	for _, column := range e.columns() {
		pack.Add(c, "pairs.each."+column.name, *column.values)
	}
	pack.Add(c, "pairs.size.pair", shown.BySize.Pair)
	pack.Add(c, "pairs.size.from", shown.BySize.From)
	pack.Add(c, "pairs.size.messages", shown.BySize.Messages)
	pack.Add(c, "pairs.size.bytes", shown.BySize.Bytes)
	pack.Add(c, "pairs.size.blocked", shown.BySize.BlockedSec)
	pack.Add(c, "pairs.merge.left", shown.Merges.Left)
	pack.Add(c, "pairs.merge.right", shown.Merges.Right)
	pack.Add(c, "pairs.merge.height", shown.Merges.Height)
	pack.Add(c, "pairs.order", shown.Order)
}

type pairsColumn struct {
	name   string
	values *[]float64
}

func (e *PairsEach) columns() []pairsColumn {
	return []pairsColumn{
		{"messages", &e.Messages}, {"bytes", &e.Bytes}, {"blocked", &e.Blocked}, {"send", &e.Send}, {"longest", &e.Longest}, {"first", &e.First},
		{"late_sender", &e.LateSender}, {"late_sender_error", &e.LateSenderError}, {"late_receiver", &e.LateReceiver}, {"late_receiver_error", &e.LateReceiverError},
	}
}

// heaviest are the numbers of at most n pairs with the most blocked time, in the order of pairs.
func (e *PairsEach) heaviest(of []int32, n int) []int32 {
	if len(of) <= n {
		return of
	}
	slices.SortFunc(of, func(a, b int32) int { return cmp.Or(cmp.Compare(e.Blocked[b], e.Blocked[a]), cmp.Compare(a, b)) })
	of = of[:max(n, 0)]
	slices.Sort(of)
	return of
}

func numbers(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// thin leaves n pairs.
func (p *Pairs) thin(n int) {
	e := p.Each
	keep := e.heaviest(numbers(len(e.A)), n)
	to := make([]int32, len(e.A)) // 0: left out, else one more than the new number
	for i, old := range keep {
		to[old] = int32(i + 1)
	}
	for i := range to {
		if to[i] == 0 {
			p.LeftOut.Messages += int64(e.Messages[i])
			p.LeftOut.Bytes += int64(e.Bytes[i])
			p.LeftOut.Blocked += rundir.Number(e.Blocked[i])
		}
	}
	p.Each.A, p.Each.B = taken(e.A, keep), taken(e.B, keep)
	for _, column := range p.Each.columns() {
		*column.values = taken(*column.values, keep)
	}
	p.sizesOf(func(pair int32) int32 { return to[pair] - 1 })
}

// thinSizes leaves at most n rows of sizes, those of the pairs with the most blocked time.
func (p *Pairs) thinSizes(n int) {
	if len(p.BySize.Pair) <= n {
		return
	}
	pairs := slices.Compact(slices.Clone(p.BySize.Pair))
	rows := make(map[int32]int, len(pairs))
	for _, pair := range p.BySize.Pair {
		rows[pair]++
	}
	slices.SortFunc(pairs, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.Each.Blocked[b], p.Each.Blocked[a]), cmp.Compare(a, b))
	})
	here := make(map[int32]bool)
	for _, pair := range pairs {
		if n -= rows[pair]; n < 0 {
			break
		}
		here[pair] = true
	}
	p.LeftOut.Sizes = len(pairs) - len(here)
	p.sizesOf(func(pair int32) int32 {
		if here[pair] {
			return pair
		}
		return -1
	})
}

// sizesOf leaves the rows of sizes of the pairs that to gives a number, which is theirs then.
func (p *Pairs) sizesOf(to func(pair int32) int32) {
	var rows, pair []int32
	for i, old := range p.BySize.Pair {
		if now := to(old); now >= 0 {
			rows, pair = append(rows, int32(i)), append(pair, now)
		}
	}
	s := p.BySize
	p.BySize = PairsBySize{pair, taken(s.From, rows), taken(s.Messages, rows), taken(s.Bytes, rows), taken(s.BlockedSec, rows)}
}

// taken are some of the values.
func taken[T any](values []T, which []int32) []T {
	of := make([]T, len(which))
	for i, n := range which {
		of[i] = values[n]
	}
	return of
}
