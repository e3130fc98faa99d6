package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"moriens/internal/units"
)

// longestNames is how many characters of names of ranks a sentence has.
const longestNames = 60

// shortly names ranks: if that is long how many of each world there are.
func (s *solver) shortly(ranks []int) string {
	text := s.named(ranks)
	if len(text) <= longestNames {
		return units.Plural(len(ranks), "rank") + " " + text
	}
	if len(s.first) < 2 {
		return units.Counted(len(ranks), "rank")
	}
	in := make([]int, len(s.first))
	for _, r := range ranks {
		w, _ := s.worldOf(r)
		in[w]++
	}
	var list []string
	for w, n := range in {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s of world %d", units.Counted(n, "rank"), w))
		}
	}
	return strings.Join(list, ", ")
}

// missing says what of the run is not in the program.
func (s *solver) missing() (why []string) {
	ranks := make(map[int]bool)
	threads := 0
	for g := range s.groups {
		for _, t := range s.groups[g].Threads {
			ranks[s.rank(t)] = true
			threads++
		}
	}
	if len(ranks) < s.size {
		why = append(why, fmt.Sprintf("Of %d of %d ranks there is no sequence of calls: rules hold for the others (%s).", s.size-len(ranks), s.size, s.shortly(sorted(ranks))))
	}
	if s.figures.Lost > 0 {
		why = append(why, fmt.Sprintf("Of some of the time of %d of %d threads there are no records of calls: what is not seen there is taken for what was not done.", s.figures.Lost, threads))
	}
	switch collective := func(m movedSum) bool { return m.Peer == NoPeer }; {
	case s.input.Sampled && len(s.figures.Moved) > 0:
		why = append(why, WhySampled)
	case s.input.CollectivesSampled && slices.ContainsFunc(s.figures.Moved, collective):
		why = append(why, WhyCollectivesSampled)
	}
	if p := s.pathless(); p.Calls > 0 {
		why = append(why, p.String()+".")
	}
	for _, u := range s.uncoded() {
		why = append(why, u.String())
	}
	return slices.Concat(why, s.cutPaths(), s.ended())
}

// uncoded finds the functions of which the machine code is not known.
func (s *solver) uncoded() (list []Uncoded) {
	number := make(map[string]int)
	all := int64(0)
	for i := range s.input.Paths {
		calls := s.figures.Calls[i].Count
		all += calls
		if calls == 0 {
			continue
		}
		on := make(map[int]bool)
		for _, x := range s.input.Paths[i].Steps {
			f := &s.lay.functions[x.Function]
			if f.Unknown == "" {
				continue
			}
			n, ok := number[f.Unknown]
			if !ok {
				n = len(list)
				number[f.Unknown], list = n, append(list, Uncoded{Why: f.Unknown})
			}
			if !slices.Contains(list[n].Functions, f.Name) {
				list[n].Functions = append(list[n].Functions, f.Name)
			}
			on[n] = true
		}
		for n := range on {
			list[n].Calls += calls
		}
	}
	for i := range list {
		list[i].All = all
	}
	slices.SortFunc(list, func(a, b Uncoded) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Why, b.Why)) })
	return list
}

// withoutPartners says of how many calls that send or receive nothing is known because their messages were not kept.
func (s *solver) withoutPartners(body []*Node) string {
	if !s.input.Sampled {
		return ""
	}
	var lines, calls int64
	Walk(body, func(n *Node, _ []*Node) {
		if n.Kind == KindMPI && n.Bytes == nil && len(n.Peers) == 0 && moves(n.Function) {
			lines++
			calls += n.Count
		}
	})
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d calls in %d lines that send or receive no message was kept: their partners and bytes are not known.", calls, lines)
}

// moves reports whether calls of a function send or receive a message each.
func moves(function string) bool {
	name := strings.ToLower(function)
	return (strings.Contains(name, "send") || strings.Contains(name, "recv")) && !strings.HasSuffix(name, "_init")
}

// finish numbers lines, and sets what depends on all of them.
func finish(p *Program, ns int64) {
	id := 0
	var certain, calls, certainNS, busy, all int64
	var computing func(list []*Node)
	computing = func(list []*Node) {
		for _, n := range list {
			busy += n.ComputeNS
			computing(n.Body)
		}
	}
	computing(p.Body)
	var walk func(list []*Node, known bool) int64
	walk = func(list []*Node, known bool) (sum int64) {
		for _, n := range list {
			id++
			n.ID = id
			under := known && (n.When == nil || n.When.Kind != WhenUnknown)
			own := n.MPINS + n.ComputeNS
			if n.Kind == KindMPI {
				calls += n.Count
				if known {
					certain += n.Count
				}
			}
			all += own
			if known {
				certainNS += own
			}
			own += walk(n.Body, under)
			if n.Kind == KindLoop && ns > 0 {
				n.Explains = float64(own) / float64(ns)
			}
			if n.Kind == KindCompute && busy > 0 {
				n.Share = float64(n.ComputeNS) / float64(busy)
			}
			sum += own
		}
		return sum
	}
	walk(p.Body, true)
	p.Certain = Certain{Calls: share(certain, calls), Time: share(certainNS, all)}
}

// withoutSums leaves out what rules say already.
func withoutSums(list []*Node, ruled bool) {
	for _, n := range list {
		if ruled {
			n.Each = nil
		}
		again := n.Recursive && unruledRecursion(n.Body, false)
		withoutSums(n.Body, ruled && !again && (n.When == nil || n.When.Kind != WhenUnknown) && (n.Trips == nil || n.Trips.Kind != TripsVaries))
	}
}

// unruledRecursion reports whether a function calls itself under a line without a rule: how often it was executed then
// follows from no rule either.
func unruledRecursion(list []*Node, under bool) bool {
	return slices.ContainsFunc(list, func(n *Node) bool {
		unruled := under || n.When != nil && n.When.Kind == WhenUnknown || n.Trips != nil && n.Trips.Kind == TripsVaries
		return n.Kind == KindRecursion && under || unruledRecursion(n.Body, unruled)
	})
}

func share(part, of int64) float64 {
	if of == 0 {
		return 1
	}
	return float64(part) / float64(of)
}

// WhySampled says of which messages partners and bytes are, WhyCollectivesSampled of which collective calls
// communicators, roots and bytes are.
const (
	WhySampled            = "Partners and bytes are those of the messages in some windows: others were not kept one by one."
	WhyCollectivesSampled = "Communicators, roots and bytes of collective calls are those in some windows: others were not kept one by one."
)
