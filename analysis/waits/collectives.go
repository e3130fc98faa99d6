package waits

import (
	"cmp"
	"math"
	"slices"
)

// A place is a call of the run.
type place struct{ thread, row int32 }

// An operation is one collective, by all that take part in it.
type operation struct {
	call
	function int32
	size     int32 // of its group
	members  int32 // that were seen
	mixed    bool  // they do not agree on what it is
	unclear  bool  // some left it early, or none: those that are here do not say
	inter    bool
	latest   place // the last one that has something to give, and when it entered
	latestNS int64
	leftNS   int64 // when the first one was through that takes something
	root     place
	hasRoot  bool
}

// synchronises says that members waited for each other as the function has it.
func (o *operation) synchronises() bool {
	return !o.mixed && !o.unclear && o.members > 1 && !(o.loose && o.leftNS < o.latestNS)
}

// A part is what one thread has in an operation.
type part struct {
	op           int32
	start, done  int32 // rows; done -1: not known
	gives, takes bool
	root         bool
	rank         int32 // in the communicator; of scans alone
}

// operations are the collectives of a run.
type operations struct {
	s     *solver
	list  []operation
	parts [][]part // by thread
	dense []ordinals
	other map[[3]int64]int32 // persistent ones
	ranks []map[int32]int32  // by communicator: ranks in it by rank of the world
}

// ordinals are those of a communicator: numbers of operations from first on, one for each ordinal from least on.
type ordinals struct {
	least, most, count int64
	first              int32
	list               []int64 // that there are, ascending, where they lie far apart; else nil
}

func newOperations(s *solver) *operations {
	x := &operations{s: s, parts: make([][]part, len(s.lanes)), dense: make([]ordinals, len(s.run.Comms)), other: make(map[[3]int64]int32), ranks: make([]map[int32]int32, len(s.run.Comms))}
	for k := range x.dense {
		x.dense[k].least = math.MaxInt64
	}
	for i := range s.lanes {
		c := &s.lanes[i].Collectives
		for k, comm := range c.Comm {
			if comm >= 0 && !c.persistent(k) {
				o := &x.dense[comm]
				o.least, o.most, o.count = min(o.least, c.Ordinal[k]), max(o.most, c.Ordinal[k]), o.count+1
			}
		}
	}
	x.findFar()
	n := int32(0)
	for k := range x.dense {
		o := &x.dense[k]
		if o.first = n; o.count == 0 {
			continue
		}
		numbers := o.most - o.least + 1
		if o.far() {
			numbers = int64(len(o.list))
		}
		for range numbers {
			s.commOf = append(s.commOf, int32(k))
		}
		n += int32(numbers)
	}
	x.list = make([]operation, n, int(n)+2*len(s.worlds))
	for first := 0; first < len(s.lanes); {
		behind := first + 1
		for behind < len(s.lanes) && s.lanes[behind].World == s.lanes[first].World && s.lanes[behind].Rank == s.lanes[first].Rank {
			behind++
		}
		x.addRank(first, behind)
		first = behind
	}
	for w := range s.worlds {
		x.ends(w)
	}
	return x
}

// far says that the ordinals lie so far apart that most numbers between them would stand for nothing.
func (o *ordinals) far() bool { return o.count > 0 && uint64(o.most-o.least) >= uint64(4*o.count) }

// findFar lists the ordinals of those communicators whose lie far apart.
func (x *operations) findFar() {
	for i := range x.s.lanes {
		c := &x.s.lanes[i].Collectives
		for k, comm := range c.Comm {
			if comm >= 0 && !c.persistent(k) && x.dense[comm].far() {
				x.dense[comm].list = append(x.dense[comm].list, c.Ordinal[k])
			}
		}
	}
	for k := range x.dense {
		slices.Sort(x.dense[k].list)
		x.dense[k].list = slices.Compact(x.dense[k].list)
	}
}

func (c *Collectives) persistent(k int) bool { return c.Instance != nil && c.Instance[k] >= 0 }

// number is that of an operation.
func (x *operations) number(comm int32, ordinal, instance int64) int32 {
	o := &x.dense[comm]
	if instance < 0 && o.list == nil {
		return o.first + int32(ordinal-o.least)
	}
	if instance < 0 {
		n, _ := slices.BinarySearch(o.list, ordinal)
		return o.first + int32(n)
	}
	key := [3]int64{int64(comm), ordinal, instance}
	n, known := x.other[key]
	if !known {
		n = int32(len(x.list))
		x.other[key] = n
		x.list, x.s.commOf = append(x.list, operation{}), append(x.s.commOf, comm)
	}
	return n
}

// addRank takes in the collectives of a rank's threads: one of them may start what another one has made.
func (x *operations) addRank(first, behind int) {
	made := make(map[[2]int64]int32) // persistent operations: the function that made them
	for i := first; i < behind; i++ {
		l := &x.s.lanes[i]
		for k, row := range l.Collectives.Call {
			if f := x.s.function[l.Path[row]]; x.s.calls[f].starts != nil {
				made[[2]int64{int64(l.Collectives.Comm[k]), l.Collectives.Ordinal[k]}] = f
			}
		}
	}
	for i := first; i < behind; i++ {
		x.add(int32(i), made)
	}
}

// add takes in the collectives of a thread.
func (x *operations) add(thread int32, made map[[2]int64]int32) {
	l := &x.s.lanes[thread]
	c := &l.Collectives
	if len(c.Call) == 0 {
		return
	}
	counted := int32(-1)                    // the last row of which it is counted that it is not explained
	parts := make([]part, 0, len(c.Call)+2) // and the thread's start and end
	for k := range c.Call {
		f, of, reason := x.meaningOf(l, k, made)
		row, comm := int32(c.Call[k]), c.Comm[k]
		done := row
		if of.begins {
			if done = -1; c.Done != nil {
				done = c.Done[k]
			}
		}
		dead := l.Unfinished && int(max(row, done)) == l.calls()-1
		p := part{start: row, done: done}
		if dead && int(done) == l.calls()-1 || of.begins && done >= 0 && !x.s.completes(place{thread, done}) {
			p.done = -1
		}
		if reason < 0 && p.done < 0 && of.kind != None && comm >= 0 && !x.between(of, comm) && !x.s.run.Known { // in windows it may be outside
			reason = ofCompletion
		}
		if reason >= 0 && !dead && row != counted {
			counted = row
			l.unexplained(reason, row, x.s.run.Main)
		}
		if of.kind == None || comm < 0 {
			continue
		}
		instance := int64(-1)
		if c.persistent(k) {
			instance = int64(c.Instance[k])
		}
		p.op = x.number(comm, c.Ordinal[k], instance)
		x.role(&p, of, l, k)
		x.meet(&p, of, f, thread, &x.s.run.Comms[comm])
		parts = append(parts, p)
	}
	x.parts[thread] = parts
}

// meaningOf is what a collective of a thread is, and the function that says so; of a start what has made it. The reason
// is why it is not explained, if it is for what is recorded of a begun one, else below 0.
func (x *operations) meaningOf(l *lane, k int, made map[[2]int64]int32) (function int32, of call, reason int) {
	c := &l.Collectives
	f := x.s.function[l.Path[c.Call[k]]]
	if !c.persistent(k) {
		return f, x.s.calls[f], -1
	}
	maker, known := made[[2]int64{int64(c.Comm[k]), c.Ordinal[k]}]
	switch {
	case c.Comm[k] < 0:
		return f, call{}, ofUnknown
	case !known && x.s.run.Known: // it may be outside of the window
		return f, call{}, -1
	case !known:
		return f, call{}, ofMaking
	}
	of = *x.s.calls[maker].starts
	reason = -1
	if why, is := of.unexplained(); is {
		reason = why
	} else if x.between(of, c.Comm[k]) {
		reason = ofGroups
	}
	return maker, of, reason
}

// between says that a collective has no root, and is between two groups.
func (x *operations) between(of call, comm int32) bool {
	return of.flow == allToAll && x.s.run.Comms[comm].Inter
}

// role says what a thread gives and takes in one of its collectives.
func (x *operations) role(p *part, of call, l *lane, k int) {
	c := &l.Collectives
	sent, received := c.Sent[k] > 0 || !of.moves, c.Received[k] > 0 || !of.moves
	comm := &x.s.run.Comms[c.Comm[k]]
	switch of.flow {
	case fromRoot, toRoot:
		switch {
		case comm.Inter:
			p.root = c.Root[k] == -3
			if c.Root[k] == -2 {
				return // of the root's group, but not the root
			}
		case c.Root[k] >= 0:
			p.root = int(c.Root[k]) < len(comm.Ranks) && comm.Ranks[c.Root[k]] == l.Rank
		}
		if of.flow == fromRoot {
			p.gives, p.takes = p.root, received && !p.root
		} else {
			p.gives, p.takes = sent && !p.root, p.root
		}
	case prefix:
		p.rank = x.rankIn(c.Comm[k], l.Rank)
		p.gives, p.takes = sent, received
	default:
		p.gives, p.takes = sent && !comm.Inter, received && !comm.Inter
	}
}

// rankIn is the rank in a communicator of a rank of its world; -1: it is not in it.
func (x *operations) rankIn(comm, rank int32) int32 {
	if x.ranks[comm] == nil {
		x.ranks[comm] = make(map[int32]int32)
		for i, r := range x.s.run.Comms[comm].Ranks {
			x.ranks[comm][r] = int32(i)
		}
	}
	if i, is := x.ranks[comm][rank]; is {
		return i
	}
	return -1
}

// meet adds a part to its operation.
func (x *operations) meet(p *part, of call, function, thread int32, comm *Comm) {
	l := &x.s.lanes[thread]
	o := &x.list[p.op]
	if o.members++; o.members == 1 {
		o.call, o.function, o.size, o.inter = of, function, int32(len(comm.Ranks)), comm.Inter
		o.latestNS, o.leftNS = math.MinInt64, math.MaxInt64
	}
	o.mixed = o.mixed || o.function != function
	if p.root {
		o.mixed = o.mixed || o.hasRoot
		o.root, o.hasRoot = place{thread, p.start}, true
	}
	if ns := l.EnterNS[p.start]; p.gives && ns > o.latestNS {
		o.latest, o.latestNS = place{thread, p.start}, ns
	}
	if p.takes && p.done >= 0 {
		o.leftNS = min(o.leftNS, l.ExitNS[p.done])
	}
}

// ends takes in MPI_Init and MPI_Finalize of a world.
func (x *operations) ends(world int) {
	for _, of := range []flow{start, end} {
		n, comm := int32(len(x.list)), Comm{Ranks: x.s.worlds[world].ranks}
		x.list, x.s.commOf = append(x.list, operation{}), append(x.s.commOf, int32(-1-world))
		for _, thread := range x.s.worlds[world].threads {
			l := &x.s.lanes[thread]
			row := l.start
			if of == end {
				row = l.end
			}
			if row < 0 {
				continue
			}
			p := part{op: n, start: row, done: row, gives: true, takes: true}
			if l.Unfinished && int(row) == l.calls()-1 {
				p.done = -1
			}
			f := x.s.function[l.Path[row]]
			x.meet(&p, x.s.calls[f], int32(-of), thread, &comm)
			x.parts[thread] = append(x.parts[thread], p)
		}
	}
}

// scans gives each part of a scan the last of those with lower ranks.
func (x *operations) scans(give func(thread int32, p *part, before place)) {
	type entry struct {
		place
		part *part
	}
	var list []entry
	for thread := range x.parts {
		for k := range x.parts[thread] {
			if p := &x.parts[thread][k]; x.list[p.op].flow == prefix && x.list[p.op].synchronises() {
				list = append(list, entry{place{int32(thread), p.start}, p})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.part.op, b.part.op), cmp.Compare(a.part.rank, b.part.rank))
	})
	var latest place
	latestNS := int64(math.MinInt64)
	for i, e := range list {
		if i == 0 || e.part.op != list[i-1].part.op {
			latestNS = math.MinInt64
		}
		if e.part.takes && latestNS != math.MinInt64 {
			give(e.thread, e.part, latest)
		}
		if ns := x.s.lanes[e.thread].EnterNS[e.row]; e.part.gives && ns > latestNS {
			latest, latestNS = e.place, ns
		}
	}
}

// judge finds out which operations with members that are not here synchronised, of those that need not have: the ones
// at which a wait is known. Others are incomplete.
func (x *operations) judge() {
	for i := range x.list {
		o := &x.list[i]
		o.unclear = o.loose && o.members > 1 && o.members < o.size && !o.inter
	}
	for i := range x.parts {
		kind := make(map[int32]Kind) // by row: of the wait that is known
		for _, w := range x.s.lanes[i].Known {
			kind[w.Row] = w.Kind
		}
		completed := make(map[int32]int) // by row: how many operations of that kind, for one of which it waited
		for _, p := range x.parts[i] {
			if x.list[p.op].kind == kind[p.done] {
				completed[p.done]++
			}
		}
		for _, p := range x.parts[i] {
			if o := &x.list[p.op]; completed[p.done] == 1 && o.kind == kind[p.done] {
				o.unclear = false
			}
		}
	}
	for i := range x.list {
		if x.list[i].unclear {
			x.s.result.Incomplete++
		}
	}
}
