package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/linkage"
	"moriens/app/question"
	"moriens/internal/units"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

const (
	// mostAverage is up to how many ranks average linkage is the default.
	mostAverage = 20_000
	// leastModularity is what a cut must have for groups, and by how much it must exceed that of the same groups if all
	// pairs had equal T.
	leastModularity = .1
)

// Solve answers a question of the two files of a run directory.
func Solve(file *rundir.Pairs, rows []parquet.PairsRow, q Question) (*Result, error) {
	s, err := newSolver(file, q)
	if err != nil {
		return nil, err
	}
	if err := s.add(rows); err != nil {
		return nil, err
	}
	return s.result()
}

// A solver takes the rows, some at a time, and then has the result.
type solver struct {
	*gathering
	file     *rundir.Pairs
	question Question
	out      *Result
	nodes    []string // their names
	node     []int32  // by rank
	spans    spans    // nil: not known
}

func newSolver(file *rundir.Pairs, q Question) (*solver, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	ranks, err := RanksOf(file.Hosts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rundir.PairsFile, err)
	}
	for _, r := range q.Ranks {
		if r < 0 || r >= len(ranks) {
			return nil, question.Misuse("docs/pairs.md says how ranks are numbered", "there is no rank %d: %s recorded", r, units.Count(len(ranks), "rank"))
		}
	}
	if q.Groups > len(ranks) {
		return nil, question.Misuse("for example --groups 4", "%s cannot be cut into %s", units.Count(len(ranks), "rank"), units.Count(q.Groups, "group"))
	}
	if q.RanksPerNode > 0 {
		lay(ranks, q.RanksPerNode)
	}
	q.By = cmp.Or(q.By, Blocked)
	if q.Linkage == "" {
		q.Linkage = Average
		if len(ranks) > mostAverage {
			q.Linkage = Single
		}
	}
	s := &solver{gathering: newGathering(ranks, file.Basis == rundir.PairsAll), file: file, question: q}
	s.nodes, s.node = nodes(ranks)
	s.out = &Result{
		Format: rundir.PairsFormat, Why: slices.Clone(file.Why), Exact: s.exact, Seconds: file.Seconds, By: q.By, Linkage: q.Linkage, Ranks: ranks, Table: file.Table,
		Cophenetic: rundir.Number(math.NaN()), Modularity: rundir.Number(math.NaN()), TopologyModularity: rundir.Number(math.NaN()),
		Lines: file.Lines, Sizes: file.Sizes, CallPaths: file.Paths, Causes: file.Causes,
	}
	if file.Totals != nil {
		totals := *file.Totals
		s.out.Totals = &totals
	}
	return s, nil
}

func (q *Question) check() error {
	if !slices.Contains([]By{"", Blocked, Late, Bytes, Messages, Span}, q.By) {
		return question.Misuse("--by blocked, late, bytes, messages or span", "pairs have no %q", q.By)
	}
	if !slices.Contains([]string{"", Single, Average}, q.Linkage) {
		return question.Misuse("--linkage single or average", "there is no linkage %q", q.Linkage)
	}
	switch {
	case q.Groups < 0:
		return question.Misuse("for example --groups 4", "%d groups", q.Groups)
	case q.Height < 0 || math.IsNaN(q.Height) || math.IsInf(q.Height, 0):
		return question.Misuse("the heights are in the text and in merges of --json", "a cut at height %g", q.Height)
	case q.Groups > 0 && q.Height > 0:
		return question.Misuse("leave out one of them", "--groups and --height are two cuts")
	case q.RanksPerNode < 0:
		return question.Misuse("for example --ranks-per-node 16", "%d ranks on a node", q.RanksPerNode)
	}
	return nil
}

func (s *solver) say(format string, args ...any) {
	s.out.Why = append(s.out.Why, fmt.Sprintf(format, args...))
}

// result is the answer when all rows were added.
func (s *solver) result() (*Result, error) {
	out := s.out
	s.unpaired.SummedBlocked, s.unpaired.OwnBlocked, s.unpaired.UnrecordedBlocked = inSeconds(s.summedNS), inSeconds(s.ownNS), inSeconds(s.unrecordedNS)
	out.Unpaired = s.unpaired
	out.Findings = s.findings()
	all := s.list(s.node)
	if s.question.RanksPerNode > 0 && out.Totals != nil {
		s.count(all)
	}
	if out.Totals != nil {
		place, err := s.place()
		if err != nil {
			return nil, err
		}
		out.Placement = place
		s.findPlacement()
	}
	out.advise()
	s.at, s.pairs, s.sizes = nil, pairTable{}, nil // memory for the tree
	out.Pairs = s.touching(all)
	if err := s.distances(); err != nil {
		return nil, err
	}
	if err := s.tree(); err != nil {
		return nil, err
	}
	out.fillEmpty()
	return out, nil
}

// count counts what is between nodes, as if ranks lay as the question says.
func (s *solver) count(all []Pair) {
	t := s.out.Totals
	t.InternodeMessages, t.InternodeBytes = 0, 0
	for i := range all {
		if p := &all[i]; !p.SameNode {
			t.InternodeMessages += p.Messages
			t.InternodeBytes += p.Bytes
		}
	}
	s.say("nodes are as if each had %s, in their order; lines, and times, are those of the nodes that they ran on", units.Count(s.question.RanksPerNode, "rank"))
}

// touching are the pairs that are asked for.
func (s *solver) touching(all []Pair) []Pair {
	if s.question.Ranks == nil {
		return all
	}
	in := make([]bool, len(s.out.Ranks))
	for _, r := range s.question.Ranks {
		in[r] = true
	}
	return slices.DeleteFunc(all, func(p Pair) bool { return !in[p.A] && !in[p.B] })
}

// distances fills in what the distances are made of.
func (s *solver) distances() error {
	pairs, known, unknown := s.out.Pairs, 0, 0
	if s.question.By == Span && s.spans == nil && len(pairs) > 0 {
		return question.Misuse("measure with --keep-bursts all, or take --by blocked", "spans of messages are not known: the run directory does not keep all of them")
	}
	for i := range pairs {
		p := &pairs[i]
		switch s.question.By {
		case Late:
			p.Distance = p.LateSender + p.LateReceiver
		case Bytes:
			p.Distance = rundir.Number(p.Bytes)
		case Messages:
			p.Distance = rundir.Number(p.Messages)
		case Span:
			p.Distance = inSeconds(s.spans[[2]int32{int32(p.A), int32(p.B)}])
		default:
			p.Distance = p.Blocked
		}
		if math.IsNaN(float64(p.Distance)) {
			unknown++
		} else {
			known++
		}
	}
	if known == 0 && unknown > 0 {
		return question.Misuse("measure with --keep-bursts all, or take --by blocked", "late times are known of no pair")
	}
	if unknown > 0 {
		s.say("%s of which late times are not known, or estimated from fewer than 30 messages, %s in no group", units.Count(unknown, "pair"), are(unknown))
	}
	return nil
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// tree makes the dendrogram and cuts it.
func (s *solver) tree() error {
	out := s.out
	edges := make([]linkage.Edge, 0, len(out.Pairs))
	talks := make([]bool, len(out.Ranks))
	for i := range out.Pairs {
		if p := &out.Pairs[i]; p.Distance > 0 {
			edges = append(edges, linkage.Edge{A: int32(p.A), B: int32(p.B), Weight: float64(p.Distance)})
			talks[p.A], talks[p.B] = true, true
		}
	}
	build := linkage.Average
	if s.question.Linkage == Single {
		build = linkage.Single
	}
	t, err := build(len(out.Ranks), edges)
	if err != nil {
		return err
	}
	out.Merges = make([]Merge, len(t.Merges))
	for i, m := range t.Merges {
		out.Merges[i] = Merge{int(m.Left), int(m.Right), rundir.Number(m.Height), int(m.Size)}
	}
	for _, r := range t.Order() {
		out.Order = append(out.Order, int(r))
	}
	if len(edges) == 0 {
		return nil
	}
	out.Cophenetic = rundir.Number(t.Cophenetic(edges))
	s.cut(t, edges, talks)
	return nil
}

// cut makes the groups. Ranks that exchange nothing are in none.
func (s *solver) cut(t *linkage.Tree, edges []linkage.Edge, talks []bool) {
	out, q := s.out, &s.question
	silent := 0
	for _, is := range talks {
		if !is {
			silent++
		}
	}
	var p linkage.Partition
	switch {
	case q.Groups > 0:
		p = t.Groups(q.Groups+silent, edges)
	case q.Height > 0:
		p = t.Height(q.Height, edges)
	default:
		p = t.Best(edges)
	}
	out.Modularity, out.TopologyModularity = rundir.Number(p.Modularity), rundir.Number(p.Topology)
	if q.Groups == 0 && q.Height == 0 {
		switch {
		case p.Modularity < leastModularity:
			p.Groups = [][]int32{nil}
			for r := range talks {
				p.Groups[0] = append(p.Groups[0], int32(r))
				p.Of[r] = 0
			}
		case p.Modularity-p.Topology < leastModularity:
			out.GroupsFollowTopology = true
			return
		}
	}
	place := make([]int, len(p.Groups)) // by group of the cut: its place among those that are reported
	for i, ranks := range p.Groups {
		ranks = slices.DeleteFunc(ranks, func(r int32) bool { return !talks[r] })
		if place[i] = -1; len(ranks) == 0 {
			continue
		}
		place[i] = len(out.Groups)
		var g Group
		for _, r := range ranks {
			g.Ranks = append(g.Ranks, int(r))
		}
		out.Groups = append(out.Groups, g)
	}
	for i := range out.Pairs {
		x := &out.Pairs[i]
		if g := p.Of[x.A]; g == p.Of[x.B] && place[g] >= 0 && talks[x.A] && talks[x.B] {
			x.Group = place[g]
			out.Groups[x.Group].Blocked += x.Blocked
		}
	}
}

// fillEmpty makes lists that are nil empty ones.
func (r *Result) fillEmpty() {
	some(&r.Ranks)
	some(&r.Pairs)
	some(&r.Merges)
	some(&r.Order)
	some(&r.Groups)
	some(&r.Lines)
	some(&r.Sizes)
	some(&r.CallPaths)
	some(&r.Causes)
	some(&r.Findings)
}

func some[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
