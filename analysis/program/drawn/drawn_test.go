package drawn

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/program"
)

func options(t *rapid.T) Options {
	return Options{Functions: 4, Depth: 4, Ranks: 8, Recursion: rapid.Bool().Draw(t, "recursion")}
}

func draw(t *rapid.T) *Program {
	return Draw(func(least, most int, what string) int { return rapid.IntRange(least, most).Draw(t, what) }, options(t))
}

// bit says whether the site at one address can follow that at another, in a loop, or in the function for -1.
func (f *Function) bit(loop int, a, b uint64) (follows, inside bool) {
	var sites []uint64
	for _, s := range f.Code.Sites {
		for l := s.Loop; ; l = f.Code.Loops[l].Parent {
			if l == loop {
				sites = append(sites, s.Offset)
				break
			}
			if l < 0 {
				break
			}
		}
	}
	i, okA := slices.BinarySearch(sites, a)
	j, okB := slices.BinarySearch(sites, b)
	if !okA || !okB {
		return false, false
	}
	k := i*len(sites) + j
	return f.Code.Follows[1+loop][k/8]>>(k%8)&1 != 0, true
}

// Each call in the sequences can follow the one before: in the deepest function that both have open, by its code.
func TestSequencesAgreeWithTheCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		for f := range p.Functions {
			c := &p.Functions[f].Code
			if len(c.Follows) != len(c.Loops)+1 || !slices.IsSortedFunc(c.Sites, func(a, b program.Site) int { return int(a.Offset) - int(b.Offset) }) {
				t.Fatalf("%d matrices of %d loops; sites %v", len(c.Follows), len(c.Loops), c.Sites)
			}
			for l, loop := range c.Loops {
				if loop.Parent >= l {
					t.Fatalf("loop %d stands before its parent %d", l, loop.Parent)
				}
			}
		}
		for rank, list := range p.Sequences {
			if len(list) == 0 {
				t.Fatalf("rank %d calls nothing", rank)
			}
			for i := 1; i < len(list); i++ {
				a, b := p.Paths[list[i-1]].Steps, p.Paths[list[i]].Steps
				d := 0
				for d < min(len(a), len(b))-1 && a[d] == b[d] {
					d++
				}
				if a[d].Function != b[d].Function {
					t.Fatalf("rank %d, call %d: %v, then %v", rank, i, a, b)
				}
				if ok, _ := p.Functions[a[d].Function].bit(-1, a[d].Site, b[d].Site); !ok {
					t.Fatalf("rank %d, call %d: %v cannot follow %v", rank, i, b, a)
				}
			}
		}
	})
}

// What is drawn is what the calls show: counted from sequences and code alone, each loop has the trips and entries of
// the truth.
func TestTripsAreThoseThatTheCallsShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		for rank := range p.Ranks {
			shown := make(map[int][2]int) // by line of the loop: entries, trips
			count(p, p.Sequences[rank], shown)
			want := make(map[int][2]int)
			var walk func(n *Node)
			walk = func(n *Node) {
				if n.Kind == Loop {
					inner := n.Lines[len(n.Lines)-1]
					for _, x := range n.Trips(rank) {
						want[inner] = [2]int{want[inner][0] + 1, want[inner][1] + x}
					}
					if len(n.Lines) > 1 { // the outer one of two with nothing between never goes on
						want[n.Lines[0]] = [2]int{want[n.Lines[0]][0] + len(n.Trips(rank)), want[n.Lines[0]][1] + len(n.Trips(rank))}
					}
				}
				for _, c := range n.Body {
					walk(c)
				}
			}
			walk(p.Truth)
			for line, w := range want {
				if w != shown[line] && w != [2]int{} {
					t.Fatalf("rank %d: the loop in line %d has %v entries and trips, the calls show %v", rank, line, w, shown[line])
				}
			}
			for line, s := range shown {
				if s != want[line] {
					t.Fatalf("rank %d: the calls show %v entries and trips of the loop in line %d, it has %v", rank, s, line, want[line])
				}
			}
		}
	})
}

// count finds activations and trips of a sequence as docs of package program define them.
func count(p *Program, list []int, shown map[int][2]int) {
	enter := func(f *Function, site uint64, above int) {
		for l := f.loopOf(site); l != above; l = f.Code.Loops[l].Parent {
			x := shown[f.Code.Loops[l].Line]
			shown[f.Code.Loops[l].Line] = [2]int{x[0] + 1, x[1] + 1}
		}
	}
	var open []Step
	for _, k := range list {
		path := p.Paths[k].Steps
		d := 0
		if len(open) > 0 {
			for d < min(len(open), len(path))-1 && open[d] == path[d] {
				d++
			}
			for {
				f := &p.Functions[path[d].Function]
				if ok, _ := f.bit(-1, open[d].Site, path[d].Site); ok {
					break
				}
				d-- // not in the same activation
			}
			f := &p.Functions[path[d].Function]
			a, b := open[d].Site, path[d].Site
			l := f.loopOf(b)
			for {
				_, inside := f.bit(l, a, b)
				if inside {
					break
				}
				l = f.Code.Loops[l].Parent
			}
			if ok, _ := f.bit(l, a, b); l >= 0 && !ok {
				x := shown[f.Code.Loops[l].Line]
				shown[f.Code.Loops[l].Line] = [2]int{x[0], x[1] + 1}
			}
			enter(f, b, l)
			d++
		}
		for ; d < len(path); d++ {
			enter(&p.Functions[path[d].Function], path[d].Site, -1)
		}
		open = path
	}
}

func (f *Function) loopOf(site uint64) int {
	for _, s := range f.Code.Sites {
		if s.Offset == site {
			return s.Loop
		}
	}
	return -1
}

// written writes a truth as an inference would; each condition has a rule.
func written(t *rapid.T, p *Program) []*program.Node {
	id := 0
	var body func(n *Node) []*program.Node
	body = func(n *Node) (list []*program.Node) {
		for _, c := range n.Body {
			id++
			g := &program.Node{ID: id, Line: c.Line}
			switch c.Kind {
			case Loop:
				g.Kind, g.Trips, g.StandsFor = program.KindLoop, tripsOf(p, c), c.StandsFor
				g.Body = body(c)
			case MPI:
				g.Kind, g.Function = program.KindMPI, c.MPI
				for rank := range p.Ranks {
					g.Count += int64(c.Calls(rank))
				}
			case Call:
				g.Kind, g.Function, g.Body = program.KindCall, p.Functions[c.Callee].Name, body(c)
			case Recursion:
				g.Kind, g.Function = program.KindRecursion, p.Functions[c.Callee].Name
			}
			list = append(list, round(t, p, n, c, g))
		}
		return list
	}
	return body(p.Truth)
}

func tripsOf(p *Program, n *Node) *program.Trips {
	var all []int
	x := &program.Trips{Kind: program.TripsConstant}
	for rank := range p.Ranks {
		trips := n.Trips(rank)
		if all = append(all, trips...); n.from.period > 0 && len(trips) > len(x.Cycle) {
			x.Cycle = nil
			for _, v := range trips {
				x.Cycle = append(x.Cycle, int64(v))
			}
		}
	}
	for _, v := range all {
		x.Total += int64(v)
	}
	x.Least, x.Most, x.Entries = int64(slices.Min(all)), int64(slices.Max(all)), int64(len(all))
	switch {
	case x.Least == x.Most:
		x.Cycle = nil
	case n.from.period > 0:
		x.Kind = program.TripsCycle
	default:
		x.Kind, x.Cycle = program.TripsByRank, nil
	}
	return x
}

// round puts a node into the condition that it needs.
func round(t *rapid.T, p *Program, parent, n *Node, g *program.Node) *program.Node {
	var ranks program.RankList
	there := 0
	for rank := range p.Ranks {
		if len(parent.Times[rank]) > 0 {
			there++
		}
		if n.Calls(rank) > 0 {
			ranks = append(ranks, rank)
		}
	}
	if len(ranks) == there {
		ranks = nil
	}
	c := &check{p: p}
	// fits says whether rules say together when it happened; allows, whether they all hold whenever it did.
	fits := func(list ...*program.When) (fits, allows bool) {
		allows, fits = true, true
		for rank := range p.Ranks {
			if n.Calls(rank) == 0 {
				continue
			}
			last, happened := parent.lasts(rank), n.Happened(parent, rank)
			for k, at := range parent.Times[rank] {
				holds := !slices.ContainsFunc(list, func(w *program.When) bool { return !c.when(w, rank, k, at, last[k]) })
				fits = fits && holds == happened[k]
				allows = allows && (holds || !happened[k])
			}
		}
		return fits, allows
	}
	rules := []*program.When{{Kind: program.WhenFrom}, {Kind: program.WhenLast}, {Kind: program.WhenNotLast}, {Kind: program.WhenFrom, Rank: -1}, {Kind: program.WhenTo, Rank: -1, Trip: -1}}
	for x := range int64(16) {
		for _, kind := range []string{program.WhenAt, program.WhenNotAt, program.WhenFrom, program.WhenTo, program.WhenDepth} {
			rules = append(rules, &program.When{Kind: kind, Trip: x})
		}
		rules = append(rules, &program.When{Kind: program.WhenTo, Variable: "depth", Trip: x}, &program.When{Kind: program.WhenAt, Trip: x, Rank: 1}, &program.When{Kind: program.WhenNotAt, Trip: x, Rank: 1})
		for period := x + 1; period <= 5; period++ {
			for rank := range int64(3) {
				for _, kind := range []string{program.WhenEvery, program.WhenNotEvery} {
					rules = append(rules, &program.When{Kind: kind, Period: period, Offset: x, Rank: rank - 1})
				}
			}
		}
	}
	var allow, found []*program.When
	for k, w := range rules {
		fits, allows := fits(w)
		if fits && k == 0 && ranks == nil {
			return g
		}
		if fits {
			found = []*program.When{w}
			break
		}
		if allows {
			allow = append(allow, w)
		}
	}
	for i := 0; i < len(allow) && found == nil; i++ { // a condition in a condition
		for _, w := range allow[:i] {
			if fits, _ := fits(w, allow[i]); fits {
				found = []*program.When{w, allow[i]}
				break
			}
		}
	}
	if found == nil {
		t.Fatalf("%s has no rule", c.name(n))
	}
	it := &program.Node{Kind: program.KindIf, Ranks: ranks, When: found[0], Body: []*program.Node{g}}
	if found[0] == rules[0] {
		it.When = nil
	}
	if len(found) > 1 {
		it.Body = []*program.Node{{Kind: program.KindIf, When: found[1], Body: it.Body}}
	}
	return it
}

// A text that is right passes; all that is drawn has a rule.
func TestRightPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		if faults := p.Check(written(t, p)); faults != nil {
			t.Fatal(strings.Join(faults, "\n"))
		}
	})
}

// Any change of a text is found.
func TestChangesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		text := written(t, p)
		var all []*program.Node
		var parents []*[]*program.Node
		var walk func(list *[]*program.Node)
		walk = func(list *[]*program.Node) {
			for _, n := range *list {
				all, parents = append(all, n), append(parents, list)
				walk(&n.Body)
			}
		}
		walk(&text)
		k := rapid.IntRange(0, len(all)-1).Draw(t, "node")
		n, list := all[k], parents[k]
		at := slices.Index(*list, n)
		var what string
		switch n.Kind {
		case program.KindLoop:
			what = rapid.SampledFrom([]string{"trips", "entries", "kind", "stands", "without"}).Draw(t, "change")
			switch what {
			case "trips":
				n.Trips.Most++
			case "entries":
				n.Trips.Entries++
			case "kind":
				n.Trips.Kind = map[bool]string{true: program.TripsByRank, false: program.TripsConstant}[n.Trips.Kind == program.TripsConstant]
			case "stands":
				n.StandsFor = 3
			case "without":
				*list = slices.Replace(*list, at, at+1, n.Body...)
			}
		case program.KindIf:
			what = "no condition"
			*list = slices.Replace(*list, at, at+1, n.Body...)
		case program.KindMPI:
			what = rapid.SampledFrom([]string{"count", "function", "twice", "condition"}).Draw(t, "change")
			switch what {
			case "count":
				n.Count++
			case "function":
				n.Function = "MPI_Scan"
			case "twice":
				*list = append(*list, n)
			case "condition":
				(*list)[at] = &program.Node{Kind: program.KindIf, When: &program.When{Kind: program.WhenUnknown}, Body: []*program.Node{n}}
			}
		default:
			what = rapid.SampledFrom([]string{"gone", "function"}).Draw(t, "change")
			if what == "function" {
				n.Function = "nothing"
			} else {
				*list = slices.Delete(*list, at, at+1)
			}
		}
		if faults := p.Check(text); len(faults) == 0 {
			t.Fatalf("%s of node %d (%s in line %d) is not found", what, n.ID, n.Kind, n.Line)
		}
	})
}

// Calls that follow each other in the text do so in the program.
func TestOrderMatters(t *testing.T) {
	draws, seen := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		draws++
		p := draw(t)
		text := written(t, p)
		if len(p.Truth.Body) < 2 || !together(p.Truth.Body[0], p.Truth.Body[1]) {
			return
		}
		seen++
		text[0], text[1] = text[1], text[0]
		if faults := p.Check(text); len(faults) == 0 {
			t.Fatal("another order is not found")
		}
	})
	if seen < draws/4 {
		t.Errorf("only %d of %d programs had two statements", seen, draws)
	}
}

// What programs can have, they have now and then: two hundred programs, always the same.
func TestProgramsAreOfAllKinds(t *testing.T) {
	seen := make(map[string]int)
	longest := 0
	programs := rapid.Custom(draw)
	for seed := range 200 {
		p := programs.Example(seed)
		for _, list := range p.Sequences {
			longest = max(longest, len(list))
		}
		had := make(map[string]bool)
		var walk func(n *Node, depth int)
		walk = func(n *Node, depth int) {
			for _, c := range n.Body {
				had[[]string{"loop", "call", "recursion", "mpi"}[c.Kind]] = true
				switch {
				case c.Kind == Loop && n.Kind == Loop:
					had["loop in a loop"] = true
				case c.Kind == Call && n.Kind == Loop:
					had["call in a loop"] = true
				case c.Kind == Loop && c.StandsFor == 2:
					had["two loops"] = true
				}
				for rank := range p.Ranks {
					if k := c.Calls(rank); k > 0 && k < len(n.Times[rank]) && n.Kind == Loop {
						had["condition by trip"] = true
					} else if k == 0 && len(n.Times[rank]) > 0 {
						had["condition by rank"] = true
					}
					if trips := c.Trips(rank); c.Kind == Loop && len(trips) > 1 && slices.Min(trips) < slices.Max(trips) {
						had["trips in turn"] = true
					}
				}
				walk(c, depth+1)
			}
		}
		walk(p.Truth, 0)
		for name := range had {
			seen[name]++
		}
	}
	for _, name := range []string{"loop", "call", "recursion", "mpi", "loop in a loop", "call in a loop", "two loops", "condition by trip", "condition by rank", "trips in turn"} {
		if seen[name] == 0 {
			t.Errorf("no program has a %s", name)
		}
	}
	t.Logf("%v; the longest sequence has %d calls", seen, longest)
	if longest > 40*most {
		t.Errorf("a rank makes %d calls", longest)
	}
}
