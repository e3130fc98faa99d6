package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"moriens/analysis/moment"
)

// variableNames are those of loops, by depth; n is no loop's: it counts executions.
var variableNames = []string{"i", "j", "k", "l", "m", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"}

// A solver turns the tree of a run into lines.
type solver struct {
	*Structure
	size  int              // ranks of all worlds
	first []int            // rank of each world that is its first among all
	open  []map[int32]bool // by group: bodies that were open where it was cut
	names map[int32]string // variables of loops, by body
	vars  map[int32][]index
	busy  map[[2]int32]*burstSum // computing before an item of a body, by body and item
	round map[[2]int32][][2]int  // the call paths round it
	paths map[int32][]int        // call paths by their leaf
	moves map[uint32][]movedSum  // by call path
	whole bool                   // executions in which a sequence was cut count, too

	counted map[int32]bool   // bodies of functions that may have been called more often
	atLeast map[int32]bool   // bodies of loops of which the calls do not show all trips
	atMost  map[int32]bool   // bodies of loops of which the calls do not show all entries
	joined  map[int32]*doubt // of bodies of loops of which what is taken for one trip may be several, if no rule speaks for it
}

// Solve makes the program of a structure: the same for every member of a team.
func (s *Structure) Solve() *Program {
	v := &solver{
		Structure: s, names: make(map[int32]string), vars: make(map[int32][]index),
		busy: make(map[[2]int32]*burstSum), round: make(map[[2]int32][][2]int), paths: make(map[int32][]int), moves: make(map[uint32][]movedSum),
	}
	for _, n := range s.input.Worlds {
		v.first = append(v.first, v.size)
		v.size += n
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
	v.compute()
	v.doubt()
	p := &Program{
		Format: Format, Ranks: v.size, Basis: ByOrder, Why: slices.Concat(v.worlds(), v.missing(), v.deeper(s.why)), Uncoded: v.uncoded(),
	}
	for i := range s.lay.functions {
		if s.lay.functions[i].by == ByCode {
			p.Basis = ByCode
		}
	}
	p.Body = v.roots()
	if text := v.withoutPartners(p.Body); text != "" {
		p.Why = append(p.Why, text)
	}
	finish(p, s.figures.NS)
	withoutSums(p.Body, true)
	return p
}

// WhySampled says of which messages partners and bytes are.
const WhySampled = "Partners and bytes are those of the messages in some windows: others were not kept one by one."

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
		why = append(why, fmt.Sprintf("Of %d of %d ranks there is no sequence of calls: rules hold for the others.", s.size-len(ranks), s.size))
	}
	if s.figures.Lost > 0 {
		why = append(why, fmt.Sprintf("Calls of %d of %d threads were lost: what is not seen there is taken for what was not done.", s.figures.Lost, threads))
	}
	if s.input.Sampled && len(s.figures.Moved) > 0 {
		why = append(why, WhySampled)
	}
	all, pathless := int64(0), int64(0)
	for i := range s.input.Paths {
		p := &s.input.Paths[i]
		all += s.figures.Calls[i].Count
		if p.MPI == "" || p.Lost {
			pathless += s.figures.Calls[i].Count
		}
	}
	if pathless > 0 {
		why = append(why, fmt.Sprintf("%s of the MPI calls (%d) have no call path: where they are is not known.", percent(pathless, all), pathless))
	}
	for _, u := range s.uncoded() {
		why = append(why, u.String())
	}
	return why
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

// rank is the number of a thread's rank among those of all worlds.
func (s *solver) rank(thread int32) int {
	t := &s.input.Threads[thread]
	if t.World < len(s.first) {
		return s.first[t.World] + t.Rank
	}
	return t.Rank
}

// compute says before which item of which body each burst stands.
func (s *solver) compute() {
	l := s.lay
	turns := l.turns(s.figures.Pairs)
	type waiting struct {
		burst *burstSum
		turn  turn
	}
	var entering []waiting
	put := func(at [2]int32, b *burstSum) {
		x := s.busy[at]
		if x == nil {
			x = &burstSum{}
			s.busy[at] = x
		}
		x.merge(b)
		s.round[at] = append(s.round[at], [2]int{s.input.number(b.Before), s.input.number(b.After)})
	}
	for i := range s.figures.Bursts {
		b := &s.figures.Bursts[i]
		p, q := &l.paths[b.Before], &l.paths[b.After]
		if q.leaf < 0 {
			put([2]int32{-1, -1}, b)
			continue
		}
		t := turns.find(b.Before, b.After)
		if t == nil {
			if p.leaf < 0 { // what was before it is not known
				put([2]int32{l.items[q.leaf].body, q.leaf}, b)
				continue
			}
			made := l.turn(b.Before, b.After)
			t = &made
		}
		if t.keep == 0 { // polls in a row are one call: computing between them is before the next one
			put([2]int32{l.items[q.leaf].body, q.leaf}, b)
			continue
		}
		if l.items[t.first].loop >= 0 {
			entering = append(entering, waiting{b, *t})
			continue
		}
		put([2]int32{l.items[t.first].body, t.first}, b)
	}
	// What is done before a loop is entered is what each of its trips begins with, if that is of one cluster; else it
	// stands before the loop.
	for _, w := range entering {
		q := &l.paths[w.burst.After]
		item := w.turn.first
		for k := int(w.turn.keep); l.items[item].loop >= 0; k++ {
			next := q.leaf
			if k+1 < len(q.links) {
				next = q.links[k+1].item
			}
			inner := s.busy[[2]int32{l.items[next].body, next}]
			if l.items[next].loop < 0 && (inner == nil || !inner.alike(w.burst)) {
				break
			}
			if l.items[next].loop < 0 {
				item = next
				break
			}
			if !s.anyAlike(q, k+1, w.burst) {
				break
			}
			item = next
		}
		put([2]int32{l.items[item].body, item}, w.burst)
	}
}

// anyAlike reports whether a loop further in has computing like that of a burst before what the path goes on with.
func (s *solver) anyAlike(q *path, level int, b *burstSum) bool {
	for k := level; k < len(q.links); k++ {
		next := q.leaf
		if k+1 < len(q.links) {
			next = q.links[k+1].item
		}
		if s.lay.items[next].loop < 0 {
			x := s.busy[[2]int32{s.lay.items[next].body, next}]
			return x != nil && x.alike(b)
		}
	}
	return false
}

// alike reports whether most of two sums is of one cluster, or their bursts last about as long.
func (b *burstSum) alike(o *burstSum) bool {
	if x := b.main(); x > 0 && x == o.main() {
		return true
	}
	m, n := b.Duration.Mean(), o.Duration.Mean()
	return m <= 1.5*n && n <= 1.5*m
}

func (b *burstSum) main() int32 {
	best := clusterSum{}
	for _, c := range b.Clusters {
		if c.NS > best.NS {
			best = c
		}
	}
	return best.Cluster
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

// A unit is items that come together: one, or those that lie in one function that the compiler has put there.
type unit struct {
	items []int32
	scope *Inlined
	set   set
}

// body makes the lines of a body, under so many loops, and inside so many inlined functions.
func (s *solver) body(b int32, loops, scopes int) []*Node {
	var items []int32
	for _, i := range s.lay.orders[b] {
		if s.happened(i) > 0 {
			items = append(items, i)
		}
	}
	return s.lines(b, s.universe(b), items, place{loops, scopes})
}

// A place is where lines stand: under so many loops, and inside so many inlined functions.
type place struct{ loops, scopes int }

func (s *solver) happened(i int32) int64 {
	n := int64(0)
	for g := range s.groups {
		n += s.groups[g].Tree.Came[i].len() * int64(len(s.groups[g].Threads))
	}
	return n
}

// scopesOf are the functions that are inlined round an item.
func (s *solver) scopesOf(i int32) []Inlined {
	x := &s.lay.items[i]
	if x.loop < 0 {
		return s.lay.sites[s.lay.calls[x.call].site].scopes
	}
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	// The head of a loop lies in what all that it holds has in common, at most.
	var common []Inlined
	for k, inner := range s.lay.bodies[x.inner].items {
		list := s.scopesOf(inner)
		if k == 0 {
			common = list
			continue
		}
		n := 0
		for n < min(len(common), len(list)) && common[n] == list[n] {
			n++
		}
		common = common[:n]
	}
	if f.by != ByCode || f.loops[x.loop].Line == 0 {
		return common
	}
	head := f.loops[x.loop].Scopes
	n := 0
	for n < min(len(common), len(head)) && common[n] == head[n] {
		n++
	}
	return common[:n]
}

// A branch is units that come in the same executions, and what lies between them.
type branch struct {
	from, to int
	set      set
}

func branchesOf(u set, units []unit) (branches []branch) {
	for i := 0; i < len(units); {
		k := i + 1
		if !units[i].set.equal(u) {
			last := i
			for n := i + 1; n < len(units) && units[n].set.within(units[i].set); n++ {
				if units[n].set.equal(units[i].set) {
					last = n
				}
			}
			k = last + 1
		} else {
			for k < len(units) && units[k].set.equal(u) {
				k++
			}
		}
		branches = append(branches, branch{i, k, units[i].set})
		i = k
	}
	return branches
}

// How well a rule says when something comes.
const (
	withoutRule = iota
	byList      // in trips that are listed
	byRule
)

func (s *solver) ruledIn(b int32, u, c set) int {
	switch r := s.rule(b, u, c); {
	case !r.known:
		return withoutRule
	case r.when != nil && r.when.Trips != nil:
		return byList
	}
	return byRule
}

// nested puts a branch into its neighbour where it comes in some of the executions of that, and has a rule for these
// only: what stands behind a continue, or in a condition in a condition.
func (s *solver) nested(b int32, u set, list []branch) []branch {
	beside := func(i, k int) bool { return list[i].set.within(list[k].set) && !list[k].set.equal(u) }
	near := false
	for i := 1; i < len(list); i++ {
		near = near || beside(i, i-1) || beside(i-1, i)
	}
	if !near {
		return list
	}
	how := make([]int, len(list))
	for i := range list {
		how[i] = s.ruledIn(b, u, list[i].set)
	}
	for _, known := range []bool{true, false} {
		for i := 0; i < len(list); i++ {
			if list[i].set.equal(u) || known != (how[i] > withoutRule) {
				continue
			}
			from := i - s.reach(b, list[:i+1], how[:i+1], -1)
			to := i + s.reach(b, list[i:], how[i:], 1)
			if from == to {
				continue
			}
			list[i].from, list[i].to = list[from].from, list[to].to
			list = slices.Delete(slices.Delete(list, i+1, to+1), from, i)
			how = slices.Delete(slices.Delete(how, i+1, to+1), from, i)
			i = from
		}
	}
	return list
}

// reach says how many branches beside one, the last of a list or with step 1 the first, belong into it.
func (s *solver) reach(b int32, list []branch, how []int, step int) (reach int) {
	at := 0
	if step < 0 {
		at = len(list) - 1
	}
	outer := list[at].set
	least := how[at] // what has no rule has nothing in it by a list of trips alone
	inside := []set{outer}
	for n := 1; n < len(list); n++ {
		x := list[at+step*n].set
		if !x.within(outer) {
			break
		}
		best := how[at+step*n]
		for _, o := range inside {
			if best < byRule && x.within(o) {
				best = max(best, s.ruledIn(b, o, x))
			}
		}
		if best > how[at+step*n] && (best == byRule || least > withoutRule) {
			reach = n
		}
		if best > withoutRule {
			inside = append(inside, x)
		}
	}
	return reach
}

// lines makes those of some items of a body, for the executions u of it.
func (s *solver) lines(b int32, u set, items []int32, at place) (list []*Node) {
	units := s.units(u, items, at.scopes)
	branches := s.nested(b, u, branchesOf(u, units))
	for i := 0; i < len(branches); {
		x := branches[i]
		if x.set.empty() {
			var inside []int32
			for _, z := range units[x.from:x.to] {
				inside = append(inside, z.items...)
			}
			list = append(list, s.cut(b, u, inside, at)...)
			i++
			continue
		}
		if x.set.equal(u) {
			var always []*Node
			for _, n := range units[x.from:x.to] {
				always = append(always, s.unit(b, u, n, at)...)
			}
			list = append(list, s.rolled(always, s.times(u))...)
			i++
			continue
		}
		// How many exclude each other, and together are always: an IF with its ELSE.
		together, n := x.set, 1
		for i+n < len(branches) && together.apart(branches[i+n].set) && !branches[i+n].set.empty() && !together.equal(u) {
			together = together.or(branches[i+n].set)
			n++
		}
		if !together.equal(u) || n == 1 {
			n = 1
		}
		ruled := true
		for k := range n {
			y := branches[i+k]
			node := s.condition(b, u, y.set, k > 0, k == n-1 && n > 1)
			if unknown := node.When != nil && node.When.Kind == WhenUnknown; unknown && ruled && k == n-1 && n > 1 {
				node.When, node.By = nil, s.by(b) // whenever those before it do not
			} else if unknown {
				ruled = false
			}
			var inside []int32
			for _, z := range units[y.from:y.to] {
				inside = append(inside, z.items...)
			}
			node.Body = s.lines(b, y.set, inside, at)
			list = append(list, node)
		}
		i += n
	}
	return list
}

// cut makes the lines of items that were executed only where a sequence was cut. The executions that were cut count for
// them: without these there would be nothing that a condition could say.
func (s *solver) cut(b int32, u set, items []int32, at place) []*Node {
	always := u.equal(s.universe(b))
	s.whole = true
	defer func() { s.whole = false }()
	if always {
		u = s.universe(b)
	}
	for _, i := range items {
		u = u.or(s.in(i))
	}
	return s.lines(b, u, items, at)
}

// times is how many executions a set has on all ranks.
func (s *solver) times(u set) int64 {
	n := int64(0)
	for g := range u {
		n += count(u[g]) * int64(len(s.groups[g].Threads))
	}
	return n
}

// units puts items together that lie in one inlined function.
func (s *solver) units(u set, items []int32, scopes int) (units []unit) {
	for _, i := range items {
		var scope *Inlined
		if list := s.scopesOf(i); len(list) > scopes {
			scope = &list[scopes]
		}
		c := s.in(i).and(u)
		if k := len(units) - 1; k >= 0 && scope != nil && units[k].scope != nil && *units[k].scope == *scope {
			units[k].items = append(units[k].items, i)
			units[k].set = units[k].set.or(c)
			continue
		}
		units = append(units, unit{items: []int32{i}, scope: scope, set: c})
	}
	return units
}

func (s *solver) by(b int32) string {
	return s.lay.functions[s.lay.contexts[s.lay.bodies[b].context].function].by
}

// condition makes an IF, or the ELSE of the one before it.
func (s *solver) condition(b int32, u, c set, behind, closes bool) *Node {
	node := &Node{Kind: KindIf, By: s.by(b), Else: behind}
	node.Of, node.Happened = s.times(u), s.times(c)
	r := s.rule(b, u, c)
	if !r.known {
		if other, threads := s.byThread(b, u, c); threads != nil {
			r, node.Threads = other, threads
		}
	}
	node.Ranks, node.RanksText, node.When, node.WhenText = r.ranks, r.text, r.when, r.words
	if !r.known {
		node.When = &When{Kind: WhenUnknown}
		node.By = BySequence
	}
	if behind && closes {
		node.WhenText, node.RanksText = "", ""
	}
	return node
}

// unit makes the lines of what comes together.
func (s *solver) unit(b int32, u set, x unit, at place) (list []*Node) {
	if x.scope != nil {
		node := &Node{Kind: KindCall, Function: x.scope.Function, File: x.scope.CallFile, Line: x.scope.CallLine, Inlined: true}
		list = append(list, s.busyNode(b, x.items[0])...)
		s.busy[[2]int32{b, x.items[0]}] = nil // it stands before the call
		node.Body = s.lines(b, x.set, x.items, place{at.loops, at.scopes + 1})
		return append(list, node)
	}
	i := x.items[0]
	y := &s.lay.items[i]
	list = append(list, s.busyNode(b, i)...)
	if y.loop >= 0 {
		return append(list, s.loop(i, at)...)
	}
	c := s.lay.calls[y.call]
	site := &s.lay.sites[c.site]
	node := &Node{File: site.file, Line: site.line, column: site.column}
	if site.caller {
		node.Note = "caller unknown"
	}
	if n := len(s.lay.copies[c.site]); n > 1 && site.line == 0 {
		node.Note = fmt.Sprintf("%d copies", n) // perhaps several calls of the source
	}
	switch {
	case y.inner < 0:
		return append(list, s.mpiNode(node, i))
	case y.again:
		node.Kind, node.Function, node.Count = KindRecursion, s.nameOf(c.callee), s.happened(i)
		return append(list, node)
	}
	if s.rest(i) {
		return append(list, s.body(y.inner, at.loops, 0)...)
	}
	node.Kind, node.Function = KindCall, s.nameOf(c.callee)
	node.Recursive = s.lay.contexts[s.lay.bodies[y.inner].context].recursive
	node.Body = s.body(y.inner, at.loops, 0)
	return append(list, node)
}

// rest reports whether a call is that of the rest of a function whose beginning the compiler has inlined, or whose
// rest it has put into a function of its own: one of the same name and place, called at its first line. To a reader it
// is the same function.
func (s *solver) rest(i int32) bool {
	x := &s.lay.items[i]
	c := &s.lay.calls[x.call]
	site, callee := &s.lay.sites[c.site], &s.lay.functions[c.callee]
	if callee.Line == 0 || site.file != callee.File || site.line > callee.Line || s.lay.contexts[s.lay.bodies[x.inner].context].recursive {
		return false
	}
	if n := len(site.scopes); n > 0 {
		return site.scopes[n-1].Function == callee.Name
	}
	caller := &s.lay.functions[site.function]
	return site.function != c.callee && caller.Name == callee.Name && caller.File == callee.File && caller.Line == callee.Line
}

func (s *solver) nameOf(function int32) string {
	return cmp.Or(s.lay.functions[function].Name, "?")
}

// loop makes the line of a loop and its body. Loops round each other with nothing beside, of which the outer one never
// went round, are one in the data.
func (s *solver) loop(i int32, at place) []*Node {
	x := &s.lay.items[i]
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	loop := &f.loops[x.loop]
	node := &Node{Kind: KindLoop, By: f.by, Function: f.Name, File: loop.File, Line: loop.Line, Trips: s.trips(i)}
	node.Trips.AtLeast, node.Trips.AtMost = s.atLeast[x.inner], s.atMost[x.inner]
	node.Trips.WithCalls = f.ways != nil && f.ways.skips(x.loop)
	scopes := len(s.scopesOf(i))
	if scopes > 0 {
		node.Function = s.scopesOf(i)[scopes-1].Function
	}
	busy := s.busy
	if s.joined[x.inner] != nil {
		s.busy = maps.Clone(busy)
	}
	if node.Trips.Most > 1 && !node.Trips.AtLeast && !node.Trips.AtMost { // else conditions cannot count them
		node.Variable = variableNames[min(at.loops, len(variableNames)-1)]
		s.names[x.inner] = node.Variable
		at.loops++
	}
	node.Body = s.body(x.inner, at.loops, scopes)
	if d := s.joined[x.inner]; d != nil && !spoken(node.Body, s.entries(i) >= enoughEntries) {
		// Nothing speaks for this way to divide the calls into trips: no condition is said of them.
		delete(s.joined, x.inner)
		s.busy = busy
		s.bound(x.inner, d)
		delete(s.names, x.inner)
		clear(s.vars)
		at.loops--
		return s.loop(i, at)
	}
	if last := len(node.Body) - 1; s.merges(x) && last >= 0 && node.Body[last].Kind == KindLoop {
		node.Body[last].StandsFor = max(node.Body[last].StandsFor, 1) + 1
		return node.Body
	}
	return []*Node{node}
}

// enoughEntries is how often a rank has to enter a loop for conditions on its first, last or other trips to say how its
// calls are divided: they hold each time.
const enoughEntries = 4

// entries is how often a rank entered a loop, of those that did the one that did so least.
func (s *solver) entries(i int32) int {
	least := 0
	for g := range s.groups {
		if n := s.groups[g].Tree.Trips[i].len(); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// spoken reports whether what happens in a loop speaks for its trips: there are conditions on them, by remainders, or
// by others if it was entered often; and none that a few trips could have by chance.
func spoken(list []*Node, often bool) bool {
	found, weak := false, false
	var walk func(list []*Node)
	walk = func(list []*Node) {
		for _, n := range list {
			if w := n.When; w != nil {
				strong := w.Kind == WhenEvery || w.Kind == WhenNotEvery || often && w.Kind != WhenUnknown
				found, weak = found || strong, weak || !strong
			}
			if n.Kind != KindLoop {
				walk(n.Body)
			}
		}
	}
	walk(list)
	return found && !weak
}

// merges reports whether a loop never went round and holds nothing but one other loop: they are one in the data.
func (s *solver) merges(x *item) bool {
	f := &s.lay.functions[s.lay.contexts[s.lay.bodies[x.body].context].function]
	for g := range s.groups {
		if t := &s.groups[g].Tree.Trips[s.lay.bodies[x.inner].entry]; t.Each != nil && slices.Max(t.Each) > 1 || t.Each == nil && t.Same > 1 {
			return false
		}
	}
	k := slices.IndexFunc(f.loops, func(o Loop) bool { return o.Parent == x.loop })
	return k >= 0 && s.sameSites(f, x.loop, k)
}

// sameSites reports whether all sites of a loop that were seen lie in a loop of it.
func (s *solver) sameSites(f *function, outer, inner int) bool {
	for _, n := range f.sites {
		at := s.lay.sites[n].at
		if f.row[1+outer][at] >= 0 && f.row[1+inner][at] < 0 {
			return false
		}
	}
	return true
}

// busyNode is the computing before an item of a body.
func (s *solver) busyNode(b, i int32) []*Node {
	key := [2]int32{b, i}
	x := s.busy[key]
	if x == nil || x.Duration.N == 0 {
		return nil
	}
	node := &Node{Kind: KindCompute, Count: x.Duration.N, ComputeNS: x.Duration.Total, MeanNS: x.Duration.Mean(), StdNS: x.Duration.Std(), Around: s.round[key]}
	list := slices.Clone(x.Clusters)
	slices.SortStableFunc(list, func(a, b clusterSum) int { return cmp.Compare(b.NS, a.NS) })
	for _, c := range list {
		if c.Cluster > 0 {
			node.Clusters = append(node.Clusters, ClusterShare{c.Cluster, c.Bursts, float64(c.NS) / float64(max(1, x.Duration.Total))})
		}
	}
	for k, c := range x.Counters {
		if c.N > 0 {
			node.Counters = append(node.Counters, CounterMean{s.input.Counters[k], float64(c.Total) / float64(c.N), c.N})
		}
	}
	return []*Node{node}
}

// mpiNode fills in the line of MPI calls.
func (s *solver) mpiNode(node *Node, i int32) *Node {
	node.Kind, node.Function = KindMPI, s.lay.mpi[^s.lay.calls[s.lay.items[i].call].callee]
	for _, p := range s.paths[i] {
		node.Paths = append(node.Paths, s.input.number(uint32(p)))
		c := &s.figures.Calls[p]
		node.Count += c.Count
		node.MPINS += c.NS
		node.LateNS += c.LateNS
	}
	s.moved(node)
	by := make(map[member]int64)
	for g := range s.groups {
		if n := s.groups[g].Tree.Came[i].len(); n > 0 {
			for _, t := range s.groups[g].Threads {
				by[s.member(t)] += n
			}
		}
	}
	node.Each = s.each(by)
	return node
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

// trips says how often a loop went round.
func (s *solver) trips(i int32) *Trips {
	var sum moment.Sum
	var values []int64 // of entries of which the end is known
	t := &Trips{}
	b := s.lay.items[i].inner
	byRank := make(map[int]int64)
	constant := true
	for g := range s.groups {
		x := &s.groups[g].Tree.Trips[i]
		n := x.len()
		for k := range n {
			v := int64(x.at(k))
			for range s.groups[g].Threads {
				sum.Add(v)
			}
			if s.open[g][b] && k == n-1 && n > 1 {
				continue // it was cut
			}
			values = append(values, v)
			for _, thread := range s.groups[g].Threads {
				r := s.rank(thread)
				if old, ok := byRank[r]; ok && old != v {
					constant = false
				}
				byRank[r] = v
			}
		}
	}
	t.Entries, t.Total, t.Least, t.Most, t.Mean = sum.N, sum.Total, sum.Min, sum.Max, sum.Mean()
	if len(values) > 0 && slices.Min(values) == slices.Max(values) {
		t.Kind, t.Expression = TripsConstant, fmt.Sprint(values[0])
		return t
	}
	if constant {
		t.Kind, t.ByRank = TripsByRank, sums(byRank)
		t.Expression = s.tripsByRank(byRank)
		if t.Expression == "" {
			t.Expression = fmt.Sprintf("%d..%d by rank", t.Least, t.Most)
		}
		return t
	}
	if c := s.cycle(i); c != nil {
		t.Kind, t.Cycle = TripsCycle, c
		t.Expression = strings.Trim(strings.ReplaceAll(fmt.Sprint(c), " ", ","), "[]") + " in turn"
		return t
	}
	if e := s.linear(i); e != nil {
		t.Kind, t.Linear, t.Expression = TripsLinear, e, affine(e.Variable, e.Slope, e.Offset)
		return t
	}
	slices.Sort(values)
	t.Kind, t.Expression = TripsVaries, fmt.Sprintf("%d..%d", t.Least, t.Most)
	for q := 1; q <= 3; q++ {
		t.Quartiles = append(t.Quartiles, float64(values[min(len(values)*q/4, len(values)-1)]))
	}
	return t
}

// tripsByRank says the trips of each rank in a formula; "": there is none.
func (s *solver) tripsByRank(by map[int]int64) string {
	ranks := sorted(func() map[int]bool {
		m := make(map[int]bool)
		for r := range by {
			m[r] = true
		}
		return m
	}())
	a, b := ranks[0], ranks[len(ranks)-1]
	if a == b || (by[b]-by[a])%int64(b-a) != 0 {
		return ""
	}
	if len(s.first) > 1 { // ranks of several worlds have no number of their own
		return ""
	}
	k := (by[b] - by[a]) / int64(b-a)
	c := by[a] - k*int64(a)
	for r, v := range by {
		if v != k*int64(r)+c {
			return ""
		}
	}
	return affine("rank", k, c)
}

// sums puts ranks together that have the same number.
func sums(by map[int]int64) (list []RankSum) {
	at := make(map[int64]int)
	ranks := make(map[int]bool)
	for r := range by {
		ranks[r] = true
	}
	for _, r := range sorted(ranks) {
		k, ok := at[by[r]]
		if !ok {
			k = len(list)
			at[by[r]] = k
			list = append(list, RankSum{Count: by[r]})
		}
		list[k].Ranks = append(list[k].Ranks, r)
	}
	return list
}

// affine writes k·x + c.
func affine(x string, k, c int64) string {
	text := x
	switch k {
	case 1:
	case -1:
		if c != 0 {
			return fmt.Sprintf("%d-%s", c, x)
		}
		return "-" + x
	default:
		text = fmt.Sprintf("%d*%s", k, x)
	}
	switch {
	case c > 0:
		text += fmt.Sprintf("+%d", c)
	case c < 0:
		text += fmt.Sprint(c)
	}
	return text
}

// longestCycle is how many entries a cycle of trips may have.
const longestCycle = 12

// cycle are the trips of entries in turn, the same on all ranks, over two periods at least; nil: there is none.
func (s *solver) cycle(i int32) []int64 {
	for p := 2; p <= longestCycle; p++ {
		var c []int64
		holds, seen := true, 0
		for g := range s.groups {
			x := &s.groups[g].Tree.Trips[i]
			n := x.len()
			if s.open[g][s.lay.items[i].inner] {
				n--
			}
			for k := 0; k < n && holds; k++ {
				v := int64(x.at(k))
				if len(c) < p && k == len(c) {
					c = append(c, v)
				}
				holds = k%p < len(c) && c[k%p] == v
			}
			seen = max(seen, n)
		}
		if holds && len(c) == p && seen >= 2*p {
			return c
		}
	}
	return nil
}

// linear says the trips as a formula of a trip of a loop round it.
func (s *solver) linear(i int32) *Linear {
	b := s.lay.items[i].body
	if s.lay.contexts[s.lay.bodies[b].context].recursive {
		return nil
	}
	for _, v := range s.variables(b) {
		var x0, y0, k int64
		n, holds := 0, true
		for g := range s.groups {
			t := &s.groups[g].Tree
			if v.values[g] == nil {
				continue
			}
			entry := 0
			last := t.Trips[i].len() - 1
			t.Came[i].all(func(e uint32) bool {
				x, y := int64(v.values[g][e]), int64(t.Trips[i].at(entry))
				cut := entry == last && s.open[g][s.lay.items[i].inner]
				entry++
				switch {
				case cut:
				case n == 0:
					x0, y0 = x, y
					n = 1
				case n == 1:
					if x == x0 {
						holds = y == y0
						break
					}
					holds = (y-y0)%(x-x0) == 0
					if holds {
						k, n = (y-y0)/(x-x0), 2
					}
				default:
					holds = y == y0+k*(x-x0)
					n++
				}
				return holds
			})
			if !holds {
				break
			}
		}
		if holds && n > 2 && k != 0 {
			return &Linear{v.name, k, y0 - k*x0}
		}
	}
	return nil
}
