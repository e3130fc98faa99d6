package program

import (
	"cmp"
	"slices"
)

// variableNames are those of loops, by depth; n is no loop's: it counts executions.
var variableNames = []string{"i", "j", "k", "l", "m", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"}

// A solver turns the tree of a run into lines.
type solver struct {
	*Structure
	numbering
	open   []map[int32]bool // by group: bodies that were open where it was cut
	names  map[int32]string // variables of loops, by body
	vars   map[int32][]index
	busy   map[[2]int32]*burstSum // computing before an item of a body, by body and item
	round  map[[2]int32][][2]int  // the call paths round it
	paths  map[int32][]int        // call paths by their leaf
	folded map[int]bool           // functions of which call paths have calls left out; nil = not asked for yet
	leaves map[int][]int32        // leaves by call path; nil = not asked for yet
	moves  map[uint32][]movedSum  // by call path
	never  map[int32][]execution  // by item: in which executions of its body a sequence ended before it

	counted map[int32]bool   // bodies of functions that may have been called more often
	atLeast map[int32]bool   // bodies of loops of which the calls do not show all trips
	atMost  map[int32]bool   // bodies of loops of which the calls do not show all entries
	joined  map[int32]*doubt // of bodies of loops of which what is taken for one trip may be several, if nothing speaks for it
	likely  map[int32]bool   // bodies of loops that share trips with the one round them as is likely
}

// Solve makes the program of a structure: the same for every member of a team.
func (s *Structure) Solve() *Program {
	v := &solver{
		Structure: s, numbering: numberingOf(s.input.Worlds), names: make(map[int32]string), vars: make(map[int32][]index),
		busy: make(map[[2]int32]*burstSum), round: make(map[[2]int32][][2]int), paths: make(map[int32][]int), moves: make(map[uint32][]movedSum),
	}
	v.open = make([]map[int32]bool, len(s.groups))
	for g := range s.groups {
		v.open[g] = make(map[int32]bool)
		for _, i := range s.groups[g].Tree.Open {
			v.open[g][s.lay.items[i].body] = true
		}
	}
	for i := range s.lay.paths {
		if leaf := s.lay.paths[i].leaf; leaf >= 0 {
			v.paths[leaf] = append(v.paths[leaf], i)
		}
	}
	for _, m := range s.figures.Moved {
		v.moves[m.Path] = append(v.moves[m.Path], m)
	}
	s.lay.ordered()
	v.unreached()
	v.compute()
	v.doubt()
	p := &Program{
		Format: Format, Ranks: v.size, Basis: ByOrder, Why: slices.Concat(v.worlds(), v.missing(), v.unsure(), v.deeper(s.why)), Uncoded: v.uncoded(), Pathless: v.pathless(),
	}
	for i := range s.lay.functions {
		if s.lay.functions[i].by == ByCode {
			p.Basis = ByCode
		}
	}
	if len(v.sizes) > 1 {
		p.Worlds = v.sizes
	}
	p.Body = v.roots()
	if of := v.ranksOf(nil); len(of) < v.size {
		p.OfRanks = of
	}
	withoutOfRanks(p.Body, p.ofRanks())
	if text := v.withoutPartners(p.Body); text != "" {
		p.Why = append(p.Why, text)
	}
	finish(p, s.figures.NS)
	withoutSums(p.Body, true)
	return p
}

func (s *solver) pathless() (sum Pathless) {
	for i := range s.input.Paths {
		p := &s.input.Paths[i]
		sum.All += s.figures.Calls[i].Count
		if p.MPI == "" || p.Lost {
			sum.Calls += s.figures.Calls[i].Count
		}
	}
	return sum
}

// rank is the number of a thread's rank among those of all worlds.
func (s *solver) rank(thread int32) int {
	t := &s.input.Threads[thread]
	if t.World < len(s.first) {
		return s.first[t.World] + t.Rank
	}
	return t.Rank
}

// roots are the functions in which threads began.
func (s *solver) roots() (list []*Node) {
	l := s.lay
	var bodies []int32
	for b := range l.bodies {
		if l.bodies[b].loop < 0 && l.contexts[l.bodies[b].context].parent < 0 && s.executed(int32(b)) {
			bodies = append(bodies, int32(b))
		}
	}
	// The main function comes first; of others that in which the first thread began.
	begin := func(b int32) int32 {
		for g := range s.groups {
			if s.groups[g].Tree.Executions[b] > 0 {
				return s.groups[g].Threads[0]
			}
		}
		return 0
	}
	slices.SortStableFunc(bodies, func(a, b int32) int { return cmp.Compare(begin(a), begin(b)) })
	for _, b := range bodies {
		body := s.body(b, 0, 0)
		if len(bodies) == 1 {
			return body
		}
		f := &l.functions[l.contexts[l.bodies[b].context].function]
		node := &Node{Kind: KindCall, Function: cmp.Or(f.Name, "?"), File: f.File, Line: f.Function.Line, Body: body}
		s.startedBy(node, b)
		list = append(list, node)
	}
	return list
}

// startedBy says which threads began in a function.
func (s *solver) startedBy(n *Node, b int32) {
	ranks, threads := make(map[int]bool), make(map[int]bool)
	for g := range s.groups {
		if s.groups[g].Tree.Executions[b] == 0 {
			continue
		}
		for _, t := range s.groups[g].Threads {
			ranks[s.rank(t)] = true
			threads[s.input.Threads[t].Thread] = true
		}
	}
	n.Threads = sorted(threads)
	if len(ranks) < s.size {
		n.Ranks = sorted(ranks)
	}
}

func sorted(m map[int]bool) []int {
	var list []int
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

func (s *solver) executed(b int32) bool {
	for g := range s.groups {
		if s.groups[g].Tree.Executions[b] > 0 {
			return true
		}
	}
	return false
}
