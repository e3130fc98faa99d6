package report

import (
	"errors"
	"fmt"
	"io/fs"

	"moriens/app/pairing"
	"moriens/trace/page"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// addPairs adds what a run directory has of pairs of ranks, with the dendrogram, groups and placement that are the
// answer to the question that nobody has changed. Without pairs.json there are none.
func addPairs(s *page.Source, file *rundir.Pairs, rows []parquet.PairsRow) {
	if file == nil {
		return
	}
	r, err := pairing.Solve(file, rows, pairing.Question{})
	if err != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("%s: %v.", rundir.PairsFile, err))
		return
	}
	s.Pairs = pairsOf(r)
}

// readPairs adds what a run directory has of pairs of ranks.
func readPairs(s *page.Source, dir string) {
	if s.Manifest == nil || s.Manifest.Nobody() {
		return
	}
	r, err := pairing.Of(dir, s.Manifest)
	switch {
	case err == nil:
		s.Pairs = pairsOf(r)
	case !errors.Is(err, fs.ErrNotExist):
		s.Problems = append(s.Problems, err.Error()+".")
	}
}

// pairsOf puts the lists of a result into columns.
func pairsOf(r *pairing.Result) *page.Pairs {
	p := &page.Pairs{
		Why: r.Why, Exact: r.Exact, Seconds: r.Seconds, By: string(r.By), Linkage: r.Linkage, Totals: r.Totals, Table: r.Table,
		Cophenetic: r.Cophenetic, Modularity: r.Modularity, TopologyModularity: r.TopologyModularity, GroupsFollowTopology: r.GroupsFollowTopology,
		Lines: r.Lines, Sizes: r.Sizes, CallPaths: r.CallPaths, Causes: r.Causes, Findings: make([]page.PairsFinding, len(r.Findings)),
		Groups: make([]page.PairsGroup, len(r.Groups)), Nodes: []string{}, Order: make([]int32, len(r.Order)),
	}
	node := make(map[string]int32)
	number := func(name string) int32 {
		n, known := node[name]
		if !known {
			n = int32(len(p.Nodes))
			node[name] = n
			p.Nodes = append(p.Nodes, name)
		}
		return n
	}
	for _, rank := range r.Ranks {
		of := &p.Ranks
		of.World, of.Rank, of.Node = append(of.World, int32(rank.World)), append(of.Rank, int32(rank.Rank)), append(of.Node, number(rank.Node))
		of.Group, of.Advised = append(of.Group, -1), append(of.Advised, -1)
	}
	for i, f := range r.Findings {
		p.Findings[i] = page.PairsFinding(f)
	}
	for i, g := range r.Groups {
		p.Groups[i].Blocked = g.Blocked
		for _, rank := range g.Ranks {
			p.Ranks.Group[rank] = int32(i)
		}
	}
	if of := r.Placement; of != nil {
		p.Placement = &page.PairsPlacement{Internode: of.InternodeBytes, Advised: of.Advised, Saved: of.Saved, Blocks: of.Blocks, RoundRobin: of.RoundRobin}
		for _, n := range of.Nodes {
			for _, rank := range n.Ranks {
				p.Ranks.Advised[rank] = number(n.Name)
			}
		}
	}
	for i := range r.Pairs {
		addPair(p, &r.Pairs[i], int32(i))
	}
	for _, m := range r.Merges {
		of := &p.Merges
		of.Left, of.Right, of.Height = append(of.Left, int32(m.Left)), append(of.Right, int32(m.Right)), append(of.Height, float64(m.Height))
	}
	for i, leaf := range r.Order {
		p.Order[i] = int32(leaf)
	}
	return p
}

func addPair(p *page.Pairs, pair *pairing.Pair, number int32) {
	e, s := &p.Each, &p.BySize
	e.A, e.B = append(e.A, int32(pair.A)), append(e.B, int32(pair.B))
	e.Messages, e.Bytes = append(e.Messages, float64(pair.Messages)), append(e.Bytes, float64(pair.Bytes))
	e.Blocked, e.Send = append(e.Blocked, float64(pair.Blocked)), append(e.Send, float64(pair.Send))
	e.Longest, e.First = append(e.Longest, float64(pair.Longest)), append(e.First, float64(pair.First))
	e.LateSender, e.LateSenderError = append(e.LateSender, float64(pair.LateSender)), append(e.LateSenderError, float64(pair.LateSenderError))
	e.LateReceiver, e.LateReceiverError = append(e.LateReceiver, float64(pair.LateReceiver)), append(e.LateReceiverError, float64(pair.LateReceiverErr))
	for _, of := range pair.Sizes {
		s.Pair, s.From = append(s.Pair, number), append(s.From, float64(of.FromBytes))
		s.Messages, s.Bytes, s.BlockedSec = append(s.Messages, float64(of.Messages)), append(s.Bytes, float64(of.Bytes)), append(s.BlockedSec, float64(of.Blocked))
	}
}
