package thesis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"moriens/analysis/program"
)

// A Frame is a place that calls something.
type Frame struct {
	Function string // that is called; of the innermost frame that of MPI
	File     string // of the call
	Line     int
}

// Paths are the call paths of a run: numbers of frames, outermost first. What has the same number is the same place.
type Paths struct {
	Frames []Frame
	Paths  [][]int32
}

// of returns the frames of a path; one that is not known has none.
func (p *Paths) of(path uint32) []int32 {
	if int(path) < len(p.Paths) {
		return p.Paths[path]
	}
	return nil
}

// A Result is what the method says of a run.
type Result struct {
	Program *program.Program
	Plot    program.Plot
	Left    []Site // that explain too little
}

// Infer does all steps for threads that are in one process.
func Infer(threads []Thread, paths Paths, o Options) (*Result, error) {
	local := Count(threads, o.Threads)
	classes, err := Classify(Merge(local.Sites), o)
	if err != nil {
		return nil, err
	}
	return Solve(classes, local.Nested(classes), paths), nil
}

// Solve makes the program of loops and of what All says of their nesting.
func Solve(c *Classes, nested []bool, paths Paths) *Result {
	s := &solver{classes: c, paths: paths, parent: make([]int, len(c.Loops)), inside: make([][]int, len(c.Loops)+1), calls: make([][]*item, len(c.Loops)+1)}
	n := len(c.Loops)
	for inner := range n {
		s.parent[inner] = n // the program
		for outer := inner + 1; outer < n; outer++ {
			if nested[inner*n+outer] {
				s.parent[inner] = outer
				break
			}
		}
		s.inside[s.parent[inner]] = append(s.inside[s.parent[inner]], inner)
	}
	s.sites()
	r := &Result{Program: s.program(), Plot: s.plot()}
	for i := range c.Sites {
		if c.Of[i] == LeftOut {
			r.Left = append(r.Left, c.Sites[i])
		}
	}
	return r
}

type solver struct {
	classes *Classes
	paths   Paths
	parent  []int   // by loop; as many as there are = the program
	inside  [][]int // by loop, the program last: loops directly in it
	calls   [][]*item
	ranks   []int
}

// An item is a call or a loop, as a part of the loop round it.
type item struct {
	frames []int32 // up to what is printed: of a call those round it, of a loop what all in it have in common
	place  []int32 // of a call all frames: where it stands among others
	ranks  []int   // sorted
	first  map[int]int64
	node   *program.Node
}

// sites makes an item of each call path in a loop, of all ranks.
func (s *solver) sites() {
	at := make(map[[2]uint32]*item)
	all := make(map[int]bool)
	for i := range s.classes.Sites {
		site, loop := &s.classes.Sites[i], s.classes.Of[i]
		all[int(site.Rank)] = true
		if loop == LeftOut {
			continue
		}
		key := [2]uint32{uint32(loop), site.Path}
		it := at[key]
		if it == nil {
			it = s.call(site)
			at[key] = it
			s.calls[loop] = append(s.calls[loop], it)
		}
		it.node.Count += site.Repetitions
		it.node.MPINS += site.MPINS
		it.at(int(site.Rank), site.FirstNS)
	}
	for rank := range all {
		s.ranks = append(s.ranks, rank)
	}
	slices.Sort(s.ranks)
}

// call makes the item of a site.
func (s *solver) call(site *Site) *item {
	frames := s.paths.of(site.Path)
	it := &item{place: frames, first: make(map[int]int64), node: &program.Node{Kind: program.KindMPI, Paths: []int{int(site.Path)}}}
	if n := len(frames); n > 0 {
		f := s.paths.Frames[frames[n-1]]
		it.frames = frames[:n-1]
		it.node.Function, it.node.File, it.node.Line = f.Function, f.File, f.Line
	} else {
		it.node.Function = s.label(site.Path)
	}
	return it
}

// at notes that a rank reaches the item.
func (it *item) at(rank int, first int64) {
	known, has := it.first[rank]
	if !has {
		at, _ := slices.BinarySearch(it.ranks, rank)
		it.ranks = slices.Insert(it.ranks, at, rank)
	}
	if !has || first < known {
		it.first[rank] = first
	}
}

func (s *solver) program() *program.Program {
	p := &program.Program{Format: program.Format, Ranks: len(s.ranks), Basis: program.BySequence}
	top := len(s.classes.Loops)
	var items []*item
	for _, loop := range s.inside[top] {
		items = append(items, s.loop(loop))
	}
	p.Body = s.body(s.ordered(items), 0, s.ranks)
	var calls, time, left, leftTime int64
	for i := range s.classes.Sites {
		site := &s.classes.Sites[i]
		calls += site.Repetitions
		time += site.MPINS
		if s.classes.Of[i] == LeftOut {
			left += site.Repetitions
			leftTime += site.MPINS
		}
	}
	if calls > 0 {
		p.Certain.Calls = float64(calls-left) / float64(calls)
	}
	if time > 0 {
		p.Certain.Time = float64(time-leftTime) / float64(time)
	}
	id := 0
	number(p.Body, &id)
	return p
}

func number(nodes []*program.Node, id *int) {
	for _, n := range nodes {
		*id++
		n.ID = *id
		number(n.Body, id)
	}
}

// loop makes the item of a loop, with all that lies in it.
func (s *solver) loop(loop int) *item {
	items := slices.Clone(s.calls[loop])
	for _, inner := range s.inside[loop] {
		items = append(items, s.loop(inner))
	}
	l := &s.classes.Loops[loop]
	it := &item{first: make(map[int]int64), frames: items[0].frames, place: items[0].place}
	for _, in := range items {
		it.frames = it.frames[:common(it.frames, in.frames)]
		for _, rank := range in.ranks {
			it.at(rank, in.first[rank])
		}
	}
	ordered := s.ordered(items)
	it.place = ordered[0].place
	it.node = &program.Node{Kind: program.KindLoop, By: program.BySequence, Trips: s.trips(loop), Explains: min(l.Delta, 1)}
	if n := len(it.frames); n > 0 {
		it.node.Function = s.paths.Frames[it.frames[n-1]].Function
	}
	it.node.Body = s.body(ordered, len(it.frames), it.ranks)
	return it
}

// trips of a loop: its repetitions by those of the loop round it on the same rank, or by one.
func (s *solver) trips(loop int) *program.Trips {
	outer := make(map[int32]int64) // by rank: repetitions of the site with the most
	most := make(map[int32]int64)
	for i := range s.classes.Sites {
		site := &s.classes.Sites[i]
		switch int(s.classes.Of[i]) {
		case s.parent[loop]:
			outer[site.Rank] = max(outer[site.Rank], site.Repetitions)
		case loop:
			most[site.Rank] = max(most[site.Rank], site.Repetitions)
		}
	}
	t := &program.Trips{Kind: program.TripsConstant}
	first := true
	for i := range s.classes.Sites {
		site := &s.classes.Sites[i]
		if int(s.classes.Of[i]) != loop {
			continue
		}
		by := max(outer[site.Rank], 1)
		low, high := site.Repetitions/by, (site.Repetitions+by-1)/by
		if first {
			t.Least, t.Most, first = low, high, false
		}
		t.Least, t.Most = min(t.Least, low), max(t.Most, high)
	}
	for rank, repetitions := range most {
		t.Total += repetitions
		t.Entries += max(outer[rank], 1)
	}
	t.Mean = float64(t.Total) / float64(t.Entries)
	t.Expression = strconv.FormatInt(t.Least, 10)
	if t.Least != t.Most {
		t.Kind = program.TripsVaries
		t.Expression += ".." + strconv.FormatInt(t.Most, 10)
	}
	return t
}

// common counts the frames that two lists begin with both.
func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ordered puts items one after the other: as each rank reaches them, and by line where no rank says which is first. If
// ranks contradict each other, the line decides.
func (s *solver) ordered(items []*item) []*item {
	after := make([][]int, len(items)) // by item: items that follow it directly on some rank
	waits := make([]int, len(items))
	byRank := make(map[int][]int)
	for i, it := range items {
		for _, rank := range it.ranks {
			byRank[rank] = append(byRank[rank], i)
		}
	}
	seen := make(map[[2]int]bool)
	for rank, list := range byRank {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Or(cmp.Compare(items[a].first[rank], items[b].first[rank]), s.compare(items[a], items[b]))
		})
		for k := 1; k < len(list); k++ {
			if edge := [2]int{list[k-1], list[k]}; !seen[edge] {
				seen[edge] = true
				after[edge[0]] = append(after[edge[0]], edge[1])
				waits[edge[1]]++
			}
		}
	}
	byLine := make([]int, len(items))
	for i := range byLine {
		byLine[i] = i
	}
	slices.SortFunc(byLine, func(a, b int) int { return s.compare(items[a], items[b]) })
	sorted := make([]*item, 0, len(items))
	for len(byLine) > 0 {
		at := max(slices.IndexFunc(byLine, func(i int) bool { return waits[i] <= 0 }), 0)
		next := byLine[at]
		byLine = slices.Delete(byLine, at, at+1)
		sorted = append(sorted, items[next])
		for _, i := range after[next] {
			waits[i]--
		}
	}
	return sorted
}

// compare orders items by the lines on their call paths, then by path and ranks.
func (s *solver) compare(a, b *item) int {
	n := common(a.place, b.place)
	if n < len(a.place) && n < len(b.place) {
		f, g := s.paths.Frames[a.place[n]], s.paths.Frames[b.place[n]]
		if f.File == g.File && f.Line != g.Line {
			return cmp.Compare(f.Line, g.Line)
		}
	}
	return cmp.Or(slices.Compare(a.place, b.place), slices.Compare(a.node.Paths, b.node.Paths), slices.Compare(a.ranks, b.ranks))
}

// body prints items whose first frames, depth of them, are printed already. Neighbours that go through the same frame
// share its line; neighbours on the same ranks, which are not those of all, share a condition.
func (s *solver) body(items []*item, depth int, ranks []int) []*program.Node {
	var nodes []*program.Node
	var open *program.Node
	for i := 0; i < len(items); {
		it := items[i]
		if len(it.frames) > depth {
			end := i
			for end < len(items) && len(items[end].frames) > depth && items[end].frames[depth] == it.frames[depth] {
				end++
			}
			f := s.paths.Frames[it.frames[depth]]
			nodes = append(nodes, &program.Node{Kind: program.KindCall, Function: f.Function, File: f.File, Line: f.Line, Body: s.body(items[i:end], depth+1, ranks)})
			open, i = nil, end
			continue
		}
		i++
		switch {
		case slices.Equal(it.ranks, ranks):
			nodes, open = append(nodes, it.node), nil
		case open != nil && slices.Equal([]int(open.Ranks), it.ranks):
			open.Body = append(open.Body, it.node)
		default:
			open = &program.Node{Kind: program.KindIf, By: program.BySequence, Ranks: program.RankList(it.ranks), RanksText: "rank in [" + ranges(it.ranks) + "]", Body: []*program.Node{it.node}}
			nodes = append(nodes, open)
		}
	}
	return nodes
}

// ranges prints ranks in short form.
func ranges(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		end := i + 1
		for end < len(ranks) && ranks[end] == ranks[end-1]+1 {
			end++
		}
		if end-i > 2 {
			parts = append(parts, fmt.Sprintf("%d..%d", ranks[i], ranks[end-1]))
		} else {
			for _, r := range ranks[i:end] {
				parts = append(parts, strconv.Itoa(r))
			}
		}
		i = end
	}
	return strings.Join(parts, ", ")
}

// plot joins threads with equal repetitions, so that it has as many points as there is to see.
func (s *solver) plot() program.Plot {
	c := s.classes
	type key struct {
		path        uint32
		loop        int32
		repetitions int64
	}
	p := program.Plot{Eps: c.Options.Eps, Delta: c.Options.Delta, Loops: len(c.Loops), Points: []program.Point{}}
	at := make(map[key]int)
	for i := range c.Sites {
		site := &c.Sites[i]
		k := key{site.Path, c.Of[i], site.Repetitions}
		j, known := at[k]
		if !known {
			j = len(p.Points)
			at[k] = j
			p.Points = append(p.Points, program.Point{Path: site.Path, Repetitions: site.Repetitions, Loop: c.Of[i]})
		}
		point := &p.Points[j]
		point.Ranks++
		point.MeanNS += site.MeanNS()
		point.Delta += site.Delta(c.Options.RunNS)
	}
	for i := range p.Points {
		point := &p.Points[i]
		point.MeanNS /= float64(point.Ranks)
		point.Delta /= float64(point.Ranks)
	}
	once := make(map[uint32]bool) // by path: reached once wherever it is
	for _, x := range p.Points {
		all, known := once[x.Path]
		once[x.Path] = x.Repetitions == 1 && (all || !known)
	}
	p.Points = slices.DeleteFunc(p.Points, func(x program.Point) bool { return once[x.Path] })
	for _, is := range once {
		if is {
			p.Once++
		}
	}
	slices.SortFunc(p.Points, func(a, b program.Point) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Repetitions, b.Repetitions), cmp.Compare(a.Loop, b.Loop))
	})
	return p
}

func (s *solver) label(path uint32) string {
	frames := s.paths.of(path)
	if len(frames) == 0 {
		return "call path " + strconv.FormatUint(uint64(path), 10)
	}
	f := s.paths.Frames[frames[len(frames)-1]]
	if f.File == "" {
		return f.Function
	}
	return f.Function + "@" + f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
}
