package drawn

import (
	"fmt"
	"slices"
)

// A statement of a program.
type statement struct {
	kind     int // Loop, Call, MPI, or condition
	line     int
	function int
	site     uint64 // return address, of calls

	loop   int // number in Code.Loops
	trips  func(rank, entry int) int
	period int // of trips that are a cycle
	rule   rule
	callee []int // of calls: one; of an indirect call one for each trip, in turn
	mpi    string
	body   []*statement
	other  []*statement // ELSE
	cold   bool         // a condition whose body stands at the end of the function
	within *statement   // the loop
}

const condition = -1

// A rule says whether the body of a condition runs.
type rule struct {
	text  string
	holds func(s state) bool
}

// A state is where a rank is in a function.
type state struct {
	rank, ranks int
	trip, last  int // of the innermost loop
	depth       int
}

type drawer struct {
	draw    Source
	options Options
	p       *Program
	f       int
	cost    []int // by function: calls of MPI that one call of it makes at most
}

// most is how many calls of MPI a function is drawn to make: calls of other functions that would make more are left
// out.
const most = 4000

var mpiFunctions = []string{"MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier", "MPI_Bcast"}

// Draw makes a program.
func Draw(draw Source, o Options) *Program {
	p := &Program{Ranks: draw(1, o.Ranks, "ranks")}
	d := &drawer{draw: draw, options: o, p: p}
	n := draw(1, o.Functions, "functions")
	for f := range n {
		p.Functions = append(p.Functions, Function{Name: fmt.Sprintf("f%d", f), Entry: uint64(0x1000 * (f + 1)), Lines: make(map[uint64]int)})
	}
	p.Functions[0].Name = "main"
	d.cost = make([]int, n)
	for f := n - 1; f >= 0; f-- { // those that are called before their callers, whose cost depends on theirs
		d.f = f
		fn := &p.Functions[f]
		fn.body = d.statements(1, place{times: 1})
		if o.Recursion && f > 0 && d.cost[f] < most/16 && draw(0, 1, "recursion") == 1 {
			fn.body = append(fn.body, d.recursion())
			d.cost[f] = 16 * (d.cost[f] + 1)
		}
		if f == 0 {
			fn.body = append(fn.body, d.mpi(place{times: 1}))
		}
	}
	line := 0
	for f := range p.Functions {
		number(p.Functions[f].body, &line)
		d.lay(&p.Functions[f])
		code(&p.Functions[f])
	}
	p.run()
	return p
}

// A place is where statements stand.
type place struct {
	depth  int
	loop   *statement
	byTrip bool // in a condition on trips of that loop
	times  int  // how often it is passed in a call of the function, at most
}

// number gives statements their lines, in the order of the source.
func number(list []*statement, line *int) {
	for _, s := range list {
		*line++
		s.line = *line
		number(s.body, line)
		number(s.other, line)
	}
}

func (d *drawer) statements(least int, at place) (list []*statement) {
	for range d.draw(least, 3, "statements") {
		list = append(list, d.statement(at))
	}
	return list
}

func (d *drawer) statement(at place) *statement {
	kind := d.draw(0, 9, "kind")
	switch {
	case kind < 3 && at.depth < d.options.Depth:
		return d.loop(at)
	case kind < 5 && at.depth < d.options.Depth:
		return d.condition(at)
	case kind < 8 && d.f+1 < len(d.p.Functions):
		return d.call(at)
	}
	return d.mpi(at)
}

func (d *drawer) mpi(at place) *statement {
	d.cost[d.f] += at.times
	return &statement{kind: MPI, function: d.f, mpi: mpiFunctions[d.draw(0, len(mpiFunctions)-1, "mpi")], within: at.loop}
}

func (d *drawer) call(at place) *statement {
	s := &statement{kind: Call, function: d.f, within: at.loop}
	others := len(d.p.Functions) - d.f - 1
	dear := slices.Max(d.cost[d.f+1:]) * at.times
	if d.cost[d.f]+dear > most {
		return d.mpi(at)
	}
	d.cost[d.f] += dear
	s.callee = []int{d.f + d.draw(1, others, "callee")}
	if at.loop != nil && !at.byTrip && others > 1 && d.draw(0, 3, "indirect") == 0 {
		s.callee = nil
		for k := range others {
			s.callee = append(s.callee, d.f+1+k)
		}
	}
	return s
}

// recursion is IF depth == k { a call of MPI } ELSE { the function itself, once or twice }.
func (d *drawer) recursion() *statement {
	most := d.draw(1, 3, "depth")
	s := &statement{kind: condition, function: d.f}
	s.rule = rule{fmt.Sprintf("depth == %d", most), func(s state) bool { return s.depth == most }}
	s.body = []*statement{d.mpi(place{times: 1})}
	for range d.draw(1, 2, "calls of itself") {
		s.other = append(s.other, &statement{kind: Call, function: d.f, callee: []int{d.f}})
	}
	return s
}

func (d *drawer) loop(at place) *statement {
	s := &statement{kind: Loop, function: d.f, within: at.loop}
	inside := place{depth: at.depth + 1, loop: s}
	if at.times > most/4 {
		return d.mpi(at)
	}
	if inside.depth < d.options.Depth && d.draw(0, 5, "nothing between") == 0 {
		n := d.draw(2, 4, "trips")
		s.trips = func(int, int) int { return n }
		inner := &statement{kind: Loop, function: d.f, within: s}
		m := d.draw(2, 4, "trips")
		inner.trips = func(int, int) int { return m }
		// Its trips are counted on where the outer loop begins its next: no condition may depend on them.
		inner.body = d.anchored(place{depth: inside.depth + 1, loop: inner, byTrip: true, times: at.times * n * m})
		s.body = []*statement{inner}
		return s
	}
	s.trips, inside.times = d.trips(s)
	inside.times *= at.times
	s.body = d.anchored(inside)
	return s
}

// anchored are statements with a call of MPI among them that is made in any case.
func (d *drawer) anchored(at place) []*statement {
	list := d.statements(0, at)
	k := d.draw(0, len(list), "place of the call")
	anchor := d.mpi(at)
	list = append(list, nil)
	copy(list[k+1:], list[k:])
	list[k] = anchor
	return list
}

// trips draws how often a loop goes round, and at most.
func (d *drawer) trips(s *statement) (trips func(rank, entry int) int, most int) {
	n := d.draw(2, 7, "trips")
	switch d.draw(0, 3, "kind of trips") {
	case 0:
		cycle := make([]int, d.draw(2, 4, "cycle"))
		for k := range cycle {
			cycle[k] = d.draw(1, 6, "trips in turn")
		}
		s.period = len(cycle)
		return func(_, entry int) int { return cycle[entry%len(cycle)] }, slices.Max(cycle)
	case 1:
		return func(rank, _ int) int { return rank + n - 1 }, d.p.Ranks + n - 2
	}
	return func(int, int) int { return n }, n
}

func (d *drawer) condition(at place) *statement {
	s := &statement{kind: condition, function: d.f, within: at.loop}
	inside := at
	inside.depth++
	if at.loop != nil && !at.byTrip && d.draw(0, 1, "by trip") == 1 {
		s.rule = d.byTrip()
		inside.byTrip = true
	} else {
		s.rule = d.byRank()
	}
	s.cold = d.draw(0, 3, "cold") == 0
	if inside.byTrip && !at.byTrip && inside.depth < d.options.Depth && d.draw(0, 2, "in the condition") == 0 {
		// A condition in a condition: beside it stands a call that shows the outer one.
		inner := &statement{kind: condition, function: d.f, within: at.loop, rule: d.byTrip()}
		s.body = []*statement{d.mpi(inside)}
		inner.body = d.statements(1, place{depth: inside.depth + 1, loop: at.loop, byTrip: true, times: inside.times})
		s.body = slices.Insert(s.body, d.draw(0, 1, "place of the call"), inner)
	} else {
		s.body = d.statements(1, inside)
	}
	if d.draw(0, 1, "else") == 1 {
		s.other = d.statements(1, inside)
	}
	return s
}

func (d *drawer) byRank() rule {
	k := d.draw(0, d.p.Ranks-1, "rank")
	m := d.draw(2, 4, "remainder of")
	rules := []rule{
		{fmt.Sprintf("rank == %d", k), func(s state) bool { return s.rank == k }},
		{fmt.Sprintf("rank != %d", k), func(s state) bool { return s.rank != k }},
		{"rank == size-1", func(s state) bool { return s.rank == s.ranks-1 }},
		{fmt.Sprintf("rank < %d", k), func(s state) bool { return s.rank < k }},
		{fmt.Sprintf("rank %% %d == %d", m, k%m), func(s state) bool { return s.rank%m == k%m }},
	}
	return rules[d.draw(0, len(rules)-1, "rule")]
}

func (d *drawer) byTrip() rule {
	k := d.draw(0, 4, "trip")
	m := d.draw(2, 5, "period")
	rules := []rule{
		{fmt.Sprintf("i %% %d == %d", m, k%m), func(s state) bool { return s.trip%m == k%m }},
		{fmt.Sprintf("i %% %d != %d", m, k%m), func(s state) bool { return s.trip%m != k%m }},
		{fmt.Sprintf("i == %d", k), func(s state) bool { return s.trip == k }},
		{fmt.Sprintf("i != %d", k), func(s state) bool { return s.trip != k }},
		{"i == last", func(s state) bool { return s.trip == s.last }},
		{"i != last", func(s state) bool { return s.trip != s.last }},
		{fmt.Sprintf("i >= %d", k), func(s state) bool { return s.trip >= k }},
		{fmt.Sprintf("i <= %d", k), func(s state) bool { return s.trip <= k }},
		{fmt.Sprintf("(i + rank) %% %d == %d", m, k%m), func(s state) bool { return (s.trip+s.rank)%m == k%m }},
		{fmt.Sprintf("i %% %d == (rank + %d) %% %d", m, k%m, m), func(s state) bool { return s.trip%m == (s.rank+k)%m }},
		{fmt.Sprintf("i %% %d != rank %% %d", m, m), func(s state) bool { return s.trip%m != s.rank%m }},
		{"i >= rank", func(s state) bool { return s.trip >= s.rank }},
		{fmt.Sprintf("i == %d - rank", k), func(s state) bool { return s.trip == k-s.rank }},
	}
	return rules[d.draw(0, len(rules)-1, "rule")]
}

// lay gives calls their return addresses: as they are written, but that cold parts are at the end.
func (d *drawer) lay(f *Function) {
	at := f.Entry
	var later []*statement
	var walk func(list []*statement)
	walk = func(list []*statement) {
		for _, s := range list {
			switch s.kind {
			case Loop:
				f.loops = append(f.loops, s)
				walk(s.body)
			case condition:
				if s.cold {
					later = append(later, s)
				} else {
					walk(s.body)
				}
				walk(s.other)
			default:
				at += uint64(d.draw(4, 60, "bytes"))
				s.site = at
				f.Lines[at] = s.line
				f.sites = append(f.sites, s)
			}
		}
	}
	walk(f.body)
	for len(later) > 0 {
		s := later[0]
		later = later[1:]
		walk(s.body)
	}
}
