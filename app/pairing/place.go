package pairing

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"moriens/analysis/placement"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

const (
	// leastSaving is the part of what is between nodes that another order of ranks must save to be advised.
	leastSaving = .1
	// leastFinding is the part of the ranks' time that a finding must cost.
	leastFinding = .005
)

// What a placement makes small between nodes.
const (
	weighBytes   = "bytes"
	weighBlocked = "blocked"
)

// A cost is what is between nodes.
type cost struct {
	all             int64 // bytes of messages and others
	messages, bytes int64 // of messages alone
	blocked, rest   int64 // in ns; rest: without what late senders take of it
}

// between is what is between nodes if ranks lay so.
func (s *solver) between(of []int32) (c cost) {
	for _, p := range s.pairs.all() {
		if of[p.a] == of[p.b] {
			continue
		}
		messages, bytes := p.messages()
		c.all += bytes + p.moved
		c.messages += messages
		c.bytes += bytes
		c.blocked += p.blocked
		if c.rest += p.blocked; !p.sender.unknown {
			c.rest -= min(p.blocked, p.sender.ns)
		}
	}
	return c
}

// place advises where ranks should lie; nil where all are on one node, or nothing is to be weighed.
func (s *solver) place() (*Placement, error) {
	if len(s.nodes) < 2 {
		return nil, nil
	}
	room := make([]int32, len(s.nodes))
	for _, n := range s.node {
		room[n]++
	}
	edges := s.edges()
	if len(edges) == 0 {
		return nil, nil
	}
	if rest := s.withoutRows(); rest > leastSaving {
		s.say("placement: none is advised, as pairs without a row of their own exchanged %.0f %% of the bytes; %s", 100*rest, moreRoom)
		return nil, nil
	}
	of := s.node
	most, err := placement.MostSaved(len(s.node), edges, room, s.node)
	if err != nil {
		return nil, err
	}
	if most >= leastSaving {
		if !s.question.Place && !placement.Quick(len(s.node), len(edges)) {
			s.say(
				"placement: none is computed for %s and %s unless it is asked for, as that takes long above %s ranks or %s pairs: moriens pairs --weigh bytes DIR",
				units.Counted(len(s.node), "rank"), units.Counted(len(edges), "pair"), units.Integer(placement.QuickRanks), units.Integer(placement.QuickEdges),
			)
			return nil, nil
		}
		plan, err := placement.Advise(len(s.node), edges, room, s.node)
		if err != nil {
			return nil, err
		}
		of = plan.Of
	}
	now, then := s.between(s.node), s.between(of)
	weigh := func(c cost) float64 { return float64(c.all) }
	p := &Placement{Weigh: weighBytes, RanksPerNode: s.question.RanksPerNode}
	if s.question.Weigh {
		p.Weigh = weighBlocked
		weigh = func(c cost) float64 { return float64(c.blocked) }
	}
	if p.Better = weigh(now)-weigh(then) >= leastSaving*weigh(now) && weigh(now) > 0; !p.Better {
		of, then = s.node, now
	}
	p.InternodeBytes, p.Advised = now.all, then.all
	p.Blocked, p.AdvisedBlocked = inSeconds(now.blocked), inSeconds(then.blocked)
	p.Blocks, p.RoundRobin = s.between(placement.Blocks(room)).all, s.between(placement.RoundRobin(room)).all
	p.Saved = s.saved(now, then)
	for _, name := range s.nodes {
		p.Nodes = append(p.Nodes, PlacementNode{Name: name})
	}
	for r, n := range of {
		p.Nodes[n].Ranks = append(p.Nodes[n].Ranks, r)
	}
	return p, nil
}

// moreRoom is what to do where pairs have no row of their own.
const moreRoom = "measure with more room, for example --keep 4GiB"

// withoutRows is the part of the bytes of pairs that have no row of their own, because there was no room for it.
func (s *solver) withoutRows() float64 {
	all := s.file.Totals.Bytes
	if s.file.Table.Summed == 0 || all == 0 {
		return 0
	}
	rest := all - s.unpaired.OwnBytes - s.unpaired.UnrecordedBytes
	for _, p := range s.pairs.all() {
		_, bytes := p.messages()
		rest -= bytes
	}
	return max(0, float64(rest)/float64(all))
}

// edges are what each pair has to be weighed by.
func (s *solver) edges() []placement.Edge {
	edges := make([]placement.Edge, 0, len(s.at))
	for _, p := range s.pairs.all() {
		_, bytes := p.messages()
		weight := float64(bytes) + float64(p.moved)
		if s.question.Weigh {
			weight = float64(p.blocked)
		}
		if weight > 0 {
			edges = append(edges, placement.Edge{A: p.a, B: p.b, Weight: weight})
		}
	}
	slices.SortFunc(edges, func(a, b placement.Edge) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return edges
}

// saved is the time of transfers, of all ranks together, by the lines within and between nodes; NaN: not known.
func (s *solver) saved(now, then cost) rundir.Number {
	unknown := rundir.Number(math.NaN())
	within, between := s.line(true), s.line(false)
	if within == nil || between == nil {
		return unknown
	}
	latency := float64(between.Latency - within.Latency)
	perByte := secondsPerByte(between) - secondsPerByte(within)
	return rundir.Number(float64(now.bytes-then.bytes)*perByte + float64(now.messages-then.messages)*latency)
}

// line is that of pairs within a node, or between two; nil: not known.
func (s *solver) line(sameNode bool) *rundir.PairsLine {
	k := slices.IndexFunc(s.file.Lines, func(l rundir.PairsLine) bool { return l.SameNode == sameNode && !math.IsNaN(float64(l.Latency)) })
	if k < 0 {
		return nil
	}
	return &s.file.Lines[k]
}

// secondsPerByte is 0 where no time depends on the bytes.
func secondsPerByte(l *rundir.PairsLine) float64 {
	if l.Bandwidth > 0 {
		return 1 / float64(l.Bandwidth)
	}
	return 0
}

// findings are those of the file, but for those that are not of the nodes that the question is about.
func (s *solver) findings() (list []Finding) {
	left := 0
	for _, f := range s.file.Findings {
		switch f.Kind {
		case rundir.PairsPlacing:
			continue
		case rundir.PairsSlowLink, rundir.PairsSlowNode, rundir.PairsHeavyPair:
			if s.question.RanksPerNode > 0 {
				left++
				continue
			}
		}
		list = append(list, Finding{PairsFinding: f})
	}
	if left > 0 {
		s.say("%s about links and nodes as they ran %s left out", units.Count(left, "finding"), are(left))
	}
	return list
}

// findPlacement adds the placement to the findings, if what it saves is worth one.
func (s *solver) findPlacement() {
	p := s.out.Placement
	if p == nil || !p.Better || p.Advised >= p.InternodeBytes {
		return
	}
	rest := inSeconds(s.between(s.node).rest)
	worth := min(p.Saved, rest) // it is at most what calls took for it
	if math.IsNaN(float64(p.Saved)) {
		worth = rest * rundir.Number(1-float64(p.Advised)/float64(p.InternodeBytes))
	}
	if !(worth >= leastFinding*s.file.Seconds*rundir.Number(len(s.out.Ranks))) {
		return
	}
	f := rundir.PairsFinding{
		Kind: rundir.PairsPlacing, Seconds: p.Saved, Ranks: []int{}, Pairs: [][2]int{}, Bytes: p.InternodeBytes - p.Advised, Factor: rundir.Number(math.NaN()),
		Text: fmt.Sprintf("another order of the ranks cuts bytes between nodes from %v to %v", units.Bytes(p.InternodeBytes), units.Bytes(p.Advised)),
	}
	if p.Advised > 0 {
		f.Factor = rundir.Number(float64(p.InternodeBytes) / float64(p.Advised))
	}
	list := s.out.Findings
	k := slices.IndexFunc(list, func(x Finding) bool { return f.Seconds > x.Seconds })
	if k < 0 {
		k = len(list)
	}
	s.out.Findings = slices.Insert(list, k, Finding{PairsFinding: f})
}
