package profiling

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"moriens/analysis/program"
	"moriens/analysis/program/text"
	"moriens/app/structure"
	"moriens/conclude/levels"
	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/calltree/rows"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// howPlaced says what is known of the loops round a row of the profile.
type howPlaced int

const (
	exactly      howPlaced = iota
	amongSeveral           // it is in one of several places: these are the loops round all of them
	notKnown
)

// loops are those of the structure of a program, and which of them are round the rows of the profile.
//
// Calls of a path stand in one line of the program, or in copies of it. A burst lies before the line with which its
// second path goes on, in the loop that both paths have open: program.json says so by pairs of paths. A row of the
// profile has the second path, how many functions both have in common, and the cluster. That decides, where several
// pairs end with the same path.
type loops struct {
	nodes  map[int32]*program.Node // by number of the line
	why    []string
	number map[string]int         // of call paths, by name
	calls  map[int][]*spot        // by call path: where its calls stand
	bursts map[int][]placedBursts // by call path: where bursts stand that end with it
}

// A spot is a place in the program: the loops round it, outermost first.
type spot struct{ loops []calltree.Node }

// placedBursts are bursts between two call paths, in a place.
type placedBursts struct {
	at      *spot
	context int32          // functions that both paths have in common; -1 = not known
	in      map[int32]bool // clusters; 0: some are in none
}

// readLoops reads the structure of the program.
func (s *Source) readLoops() error {
	p, err := structure.Read(s.Dir, s.Manifest)
	if err != nil {
		return err
	}
	s.loops = loopsOf(p.Select(program.View{}), s.paths, s.numbers)
	return nil
}

// loopsOf finds what lies where; names are those of the call paths, in the order of their numbers.
func loopsOf(p *program.Program, paths map[string]*trace.CallPath, names []string) *loops {
	l := &loops{
		nodes: make(map[int32]*program.Node), why: p.Why, number: make(map[string]int), calls: make(map[int][]*spot), bursts: make(map[int][]placedBursts),
	}
	for i, name := range slices.Backward(names) {
		l.number[name] = i
	}
	code := make(map[int]string)
	for _, line := range text.Lines(p) {
		code[line.Node.ID], _, _ = strings.Cut(line.Code, "  # ")
	}
	frames := func(number int) []trace.Frame {
		if number >= len(names) || paths[names[number]] == nil {
			return nil
		}
		return paths[names[number]].Frames
	}
	var visit func(list []*program.Node, at *spot)
	visit = func(list []*program.Node, at *spot) {
		for _, n := range list {
			switch n.Kind {
			case program.KindLoop:
				l.nodes[int32(n.ID)] = n
				visit(n.Body, at.with(n, code[n.ID]))
				continue
			case program.KindMPI:
				for _, k := range n.Paths {
					l.calls[k] = append(l.calls[k], at)
				}
			case program.KindOther:
				for _, k := range n.Paths {
					l.calls[k] = append(l.calls[k], at)
				}
				for _, k := range n.After {
					l.bursts[k] = append(l.bursts[k], placedBursts{at: at, context: anyContext})
				}
			case program.KindCompute:
				in := clustersOf(n)
				for _, pair := range n.Around {
					l.bursts[pair[1]] = append(l.bursts[pair[1]], placedBursts{at, levels.Context(frames(pair[0]), frames(pair[1])), in})
				}
			}
			visit(n.Body, at)
		}
	}
	visit(p.Body, &spot{})
	l.distinguish(p)
	return l
}

// anyContext is that of bursts of which only the second path is known.
const anyContext = -2

// clustersOf are those of a line's bursts; 0 stands for all that are in none.
func clustersOf(n *program.Node) map[int32]bool {
	in := make(map[int32]bool)
	left := n.Count
	for _, c := range n.Clusters {
		in[c.Cluster] = true
		left -= c.Bursts
	}
	if left > 0 {
		in[0] = true
	}
	return in
}

// with is a place inside a loop.
func (s *spot) with(n *program.Node, code string) *spot {
	name := code
	if n.File != "" {
		name += fmt.Sprintf(" %s:%d", path.Base(n.File), n.Line)
	} else if n.Function != "" {
		name += " in " + n.Function
	}
	return &spot{append(slices.Clip(s.loops), calltree.Node{Type: calltree.Loop, Name: name, File: n.File, Line: n.Line, Cluster: int32(n.ID)})}
}

// distinguish adds to the names of loops that would be alike, in the same loop, from where their function is called.
func (l *loops) distinguish(p *program.Program) {
	type name struct {
		round int32
		name  string
	}
	list := make(map[name]map[int32]bool)
	each := func(do func(key name, n *calltree.Node)) {
		for _, s := range l.spots() {
			round := int32(0)
			for i := range s.loops {
				do(name{round, s.loops[i].Name}, &s.loops[i])
				round = s.loops[i].Cluster
			}
		}
	}
	each(func(key name, n *calltree.Node) {
		if list[key] == nil {
			list[key] = make(map[int32]bool)
		}
		list[key][n.Cluster] = true
	})
	called := make(map[int32]string)
	program.Walk(p.Body, func(n *program.Node, in []*program.Node) {
		if n.Kind != program.KindLoop {
			return
		}
		for _, x := range slices.Backward(in) {
			if x.Kind == program.KindCall && x.File != "" {
				called[int32(n.ID)] = fmt.Sprintf(" called at %s:%d", path.Base(x.File), x.Line)
				break
			}
		}
	})
	renamed := make(map[*calltree.Node]string)
	each(func(key name, n *calltree.Node) {
		if len(list[key]) > 1 {
			renamed[n] = n.Name + called[n.Cluster]
		}
	})
	for n, name := range renamed {
		n.Name = name
	}
}

// spots are all places, each once.
func (l *loops) spots() (list []*spot) {
	seen := make(map[*spot]bool)
	add := func(s *spot) {
		if !seen[s] {
			seen[s] = true
			s.loops = slices.Clone(s.loops) // names are changed in each by itself
			list = append(list, s)
		}
	}
	for _, spots := range l.calls {
		for _, s := range spots {
			add(s)
		}
	}
	for _, bursts := range l.bursts {
		for i := range bursts {
			add(bursts[i].at)
		}
	}
	return list
}

// of are the loops round a row, outermost first.
func (l *loops) of(r *rows.Row) ([]calltree.Node, howPlaced) {
	number, known := l.number[r.Path]
	if !known {
		return nil, notKnown
	}
	if r.Kind != parquet.ProfileComputation {
		return common(l.calls[number])
	}
	list := l.bursts[number]
	list = some(list, func(b *placedBursts) bool { return b.context == r.Context || b.context == anyContext })
	cluster := max(r.Cluster, 0)
	list = some(list, func(b *placedBursts) bool { return b.in[cluster] || b.context == anyContext })
	var spots []*spot
	for i := range list {
		spots = append(spots, list[i].at)
	}
	return common(spots)
}

// some are those of a list that fit; all, if none does.
func some(list []placedBursts, fits func(b *placedBursts) bool) (chosen []placedBursts) {
	for i := range list {
		if fits(&list[i]) {
			chosen = append(chosen, list[i])
		}
	}
	if chosen == nil {
		return list
	}
	return chosen
}

// common are the loops that are round all of some places.
func common(spots []*spot) ([]calltree.Node, howPlaced) {
	if len(spots) == 0 {
		return nil, notKnown
	}
	round, how := spots[0].loops, exactly
	for _, s := range spots[1:] {
		n := 0
		for n < min(len(round), len(s.loops)) && round[n].Cluster == s.loops[n].Cluster {
			n++
		}
		if n < len(round) || n < len(s.loops) {
			round, how = round[:n], amongSeveral
		}
	}
	return round, how
}

// noteLoops says what is not known of loops.
func (a *Answer) noteLoops(t *tally, say func(format string, args ...any)) {
	if a.By != ByLoop {
		return
	}
	total := float64(a.Table.Total.InclusiveNS.Sum)
	part := func(ns int64) string {
		if x := 100 * float64(ns) / total; x < 99.5 {
			return fmt.Sprintf("%.2g %%", x)
		}
		return "100 %"
	}
	for i := range a.Table.Rows {
		if r := &a.Table.Rows[i]; r.Type == calltree.Unplaced && r.InclusiveNS.Sum > 0 {
			say("in which loop %s of the time lies is not known: %s does not have its call paths", part(r.InclusiveNS.Sum), rundir.ProgramFile)
		}
	}
	if t.unsure > 0 {
		say("%s of the time may be in one of several loops: it is in the loop round them", part(t.unsure))
	}
	for _, why := range a.Source.loops.why {
		if why != program.WhySampled && why != program.WhyCollectivesSampled { // which is not about loops
			say("%s: %s", rundir.ProgramFile, strings.TrimSuffix(why, "."))
		}
	}
}
