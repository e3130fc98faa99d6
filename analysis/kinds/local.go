package kinds

import (
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// A local is the bursts that are here: what each step knows of them.
type local struct {
	*Bursts
	n       int
	stratum []int32 // per burst: what Group became
	label   []int32 // per burst, then per burst of neighbours elsewhere: a code (see codes)
	begins  []bool  // per burst: the one before it is not known
	starts  []int32 // the bursts of which begins says so
	next    []int32 // per burst: the one at the same place of the next thread, as an index into label; -1 = none
	prev    []int32 // likewise of the thread before; noPrevious where a node has two threads
	far     *far    // neighbours elsewhere; nil = none are
	codes   codes
}

// codes number what a burst can be to its neighbours: 0 is nothing known, then the leaves, then noise by group.
type codes struct{ leaves int }

// A code has codeBits bits, so that three fit a key.
const (
	codeBits = 21
	codeMost = 1<<codeBits - 1
)

func (c codes) leaf(leaf int32) int32 { return min(leaf+1, codeMost) }

func (c codes) noise(group int32) int32 { return min(int32(c.leaves)+1+group, codeMost) }

func newLocal(b *Bursts) *local {
	l := &local{Bursts: b, n: len(b.Group)}
	l.stratum = b.Group
	return l
}

// threadOf is the thread of a burst.
func (l *local) threadOf(i int) int {
	t, _ := slices.BinarySearch(l.Ends, i+1)
	return t
}

// first is where the bursts of a thread begin.
func (l *local) first(thread int) int {
	if thread == 0 {
		return 0
	}
	return l.Ends[thread-1]
}

// groupsOf are the groups of n kinds, each of which has bursts of one; None of a kind without bursts.
func (l *local) groupsOf(c *executor, kindOf []int32, n int) []int32 {
	parts := make([][]int32, max(1, c.workers))
	workers.Chunks(l.n, c.workers, func(w, from, to int) {
		part := slices.Repeat([]int32{None}, n)
		for i, k := range kindOf[from:to] {
			if k >= 0 {
				part[k] = l.Group[from+i]
			}
		}
		parts[w] = part
	})
	groups, most := make([]int32, n), slices.Repeat([]int64{int64(None)}, n)
	for _, part := range parts {
		for k, g := range part {
			most[k] = max(most[k], int64(g))
		}
	}
	c.Reduce(team.Max, most)
	for k, g := range most {
		groups[k] = int32(g)
	}
	return groups
}

// eachThread calls work for the parts of the threads that bursts from … to-1 are of.
func (l *local) eachThread(from, to int, work func(thread, from, to int)) {
	if from == to {
		return
	}
	if l.Ends == nil {
		work(0, from, to)
		return
	}
	for t := l.threadOf(from); from < to; t++ {
		if end := min(l.Ends[t], to); end > from {
			work(t, from, end)
			from = end
		}
	}
}

// shiftBy moves the bursts of each thread by whole cells.
func (l *local) shiftBy(cells []int32, workers_ int) {
	moved := make([]int32, l.n)
	workers.Chunks(l.n, workers_, func(_, from, to int) {
		l.eachThread(from, to, func(t, from, to int) {
			for i := from; i < to; i++ {
				moved[i] = l.Cell[i] - cells[t]
			}
		})
	})
	b := *l.Bursts
	b.Cell, b.Length = moved, moved
	l.Bursts = &b
}

// noPrevious is the burst before of one of two threads: the other is the next.
const noPrevious = -2

// findBegins finds the bursts of which the one before is not known.
func (l *local) findBegins() {
	l.begins, l.starts = make([]bool, l.n+1), nil
	l.begins[l.n] = true
	note := func(i int) {
		if !l.begins[i] {
			l.begins[i] = true
			l.starts = append(l.starts, int32(i))
		}
	}
	for t, end := range l.Ends {
		first := l.first(t)
		if first == end {
			continue
		}
		note(first)
		for _, at := range l.gapsOf(t) {
			if i := first + int(at); i < end {
				note(i)
			}
		}
	}
}

// order finds what is next to each burst: before, after, and on the next threads of its node. It is collective.
func (l *local) order(c *executor) {
	if l.begins == nil {
		l.findBegins()
	}
	l.next, l.prev = make([]int32, l.n), make([]int32, l.n)
	nextOf, prevOf := l.ring(c)
	l.far = newFar(l, c, nextOf, prevOf)
	workers.Every(lengths(l.Ends), c.workers, func(t int) {
		if !l.Team.Mine(t) {
			return
		}
		none := int32(-1)
		if prevOf[t] < 0 {
			none = noPrevious
		}
		for i := l.first(t); i < l.Ends[t]; i++ {
			l.next[i], l.prev[i] = -1, none
		}
		l.beside(t, nextOf[t], l.next)
		l.beside(t, prevOf[t], l.prev)
	})
}

func lengths(ends []int) []int {
	list := make([]int, len(ends))
	begin := 0
	for t, end := range ends {
		list[t] = end - begin
		begin = end
	}
	return list
}

func (l *local) gapsOf(thread int) []int32 {
	if l.Gaps == nil {
		return nil
	}
	return l.Gaps[thread]
}

// ring says by thread which ones are next to it on its node: the next and the one before, of those that have bursts
// anywhere; -1 = none. Of two the other is the next. Where no node has threads of several members it says that of
// threads here alone.
func (l *local) ring(c *executor) (nextOf, prevOf []int) {
	bursts := make([]int64, len(l.Ends))
	for t, n := range lengths(l.Ends) {
		bursts[t] = int64(n)
	}
	if l.nodesMixed() {
		c.Reduce(team.Sum, bursts)
	}
	nextOf, prevOf = slices.Repeat([]int{-1}, len(l.Ends)), slices.Repeat([]int{-1}, len(l.Ends))
	of := make(map[int32][]int)
	for t, n := range bursts {
		if n > 0 {
			of[l.nodeOf(t)] = append(of[l.nodeOf(t)], t)
		}
	}
	for _, threads := range of {
		for k, t := range threads {
			if len(threads) > 1 {
				nextOf[t] = threads[(k+1)%len(threads)]
			}
			if len(threads) > 2 {
				prevOf[t] = threads[(k+len(threads)-1)%len(threads)]
			}
		}
	}
	return nextOf, prevOf
}

func (l *local) nodeOf(thread int) int32 {
	if l.Nodes == nil {
		return 0
	}
	return l.Nodes[thread]
}

// nodesMixed reports whether a node has threads of several members.
func (l *local) nodesMixed() bool {
	owner := make(map[int32]int)
	for t := range l.Ends {
		of := l.Team.Owner(t)
		if was, known := owner[l.nodeOf(t)]; known && was != of {
			return true
		}
		owner[l.nodeOf(t)] = of
	}
	return false
}

// A stretch is bursts of a thread that follow an event, or the thread's begin, up to the next event or a gap: their
// ordinals show what is at the same place on other threads.
type stretch struct {
	event    int64 // -1 = the thread's begin
	from, to int32 // indices into label
}

// stretches of a thread of this member, by event.
func (l *local) stretches(thread int) (list []stretch) {
	first, end := l.first(thread), l.Ends[thread]
	gaps := l.gapsOf(thread)
	add := func(event int64, from, to int) {
		if event < 0 && len(gaps) > 0 && gaps[0] == 0 {
			return // records were lost right after the thread's begin
		}
		k, _ := slices.BinarySearch(gaps, int32(from-first+1))
		if k < len(gaps) {
			to = min(to, first+int(gaps[k]))
		}
		if from < to {
			list = append(list, stretch{event, int32(from), int32(to)})
		}
	}
	if l.Anchors == nil {
		add(-1, first, end)
		return list
	}
	event, at := int64(-1), first
	for _, a := range l.Anchors[thread] {
		to := min(max(first+a.At, at), end)
		add(event, at, to)
		event, at = int64(a.Event), to
	}
	add(event, at, end)
	return list
}

// beside finds what another thread has at the places of a thread's bursts.
func (l *local) beside(thread, other int, to []int32) {
	if other < 0 {
		return
	}
	theirs := l.far.stretches(l, other)
	for _, s := range l.stretches(thread) {
		for len(theirs) > 0 && theirs[0].event < s.event {
			theirs = theirs[1:]
		}
		if len(theirs) == 0 {
			return
		}
		if theirs[0].event == s.event {
			for k := range min(s.to-s.from, theirs[0].to-theirs[0].from) {
				to[s.from+k] = theirs[0].from + k
			}
		}
	}
}

// far are the bursts of neighbours that another member has. Their labels follow those of the bursts here.
type far struct {
	sent     [][]int           // by member: threads here that it has neighbours of
	received [][]int           // by member: its threads that are next to threads here
	of       map[int][]stretch // by thread
	first    map[int]int       // where the labels of its bursts begin
	bursts   map[int]int       // how many it has
	end      int               // of all labels
	beside   []int             // threads here that are next to one elsewhere
}

func newFar(l *local, c *executor, nextOf, prevOf []int) *far {
	f := &far{end: l.n, of: make(map[int][]stretch), first: make(map[int]int), bursts: make(map[int]int)}
	if c.Alone() {
		return f
	}
	f.sent, f.received = make([][]int, c.Size()), make([][]int, c.Size())
	for t := range nextOf {
		for _, other := range []int{nextOf[t], prevOf[t]} {
			if other < 0 || l.Team.Owner(t) == l.Team.Owner(other) {
				continue
			}
			if l.Team.Mine(other) {
				f.sent[l.Team.Owner(t)] = append(f.sent[l.Team.Owner(t)], other)
			}
			if l.Team.Mine(t) {
				f.received[l.Team.Owner(other)] = append(f.received[l.Team.Owner(other)], other)
				f.beside = append(f.beside, t)
			}
		}
	}
	f.beside = sorted(f.beside)
	words := make([][]int64, c.Size())
	for m := range f.sent {
		f.sent[m], f.received[m] = sorted(f.sent[m]), sorted(f.received[m])
		for _, t := range f.sent[m] {
			list := l.stretches(t)
			first := l.first(t)
			words[m] = append(words[m], int64(l.Ends[t]-first), int64(len(list)))
			for _, s := range list {
				words[m] = append(words[m], s.event, int64(int(s.from)-first), int64(int(s.to)-first))
			}
		}
	}
	words = team.Must(team.Exchange(c.Panicking, words))
	for m, list := range words {
		for _, t := range f.received[m] {
			bursts, count := int(list[0]), int(list[1])
			list = list[2:]
			f.first[t], f.bursts[t] = f.end, bursts
			for range count {
				f.of[t] = append(f.of[t], stretch{list[0], int32(f.end) + int32(list[1]), int32(f.end) + int32(list[2])})
				list = list[3:]
			}
			f.end += bursts
		}
	}
	return f
}

func sorted(threads []int) []int {
	slices.Sort(threads)
	return slices.Compact(threads)
}

// stretches of any thread that is here or next to one here.
func (f *far) stretches(l *local, thread int) []stretch {
	if l.Team.Mine(thread) {
		return l.stretches(thread)
	}
	return f.of[thread]
}

// exchange gives the bursts of neighbours elsewhere the labels that they have there.
func (f *far) exchange(l *local, c *executor) {
	if c.Alone() {
		return
	}
	parts := make([][]int32, c.Size())
	for m, threads := range f.sent {
		for _, t := range threads {
			parts[m] = append(parts[m], l.label[l.first(t):l.Ends[t]]...)
		}
	}
	parts = team.Must(team.Exchange(c.Panicking, parts))
	for m, threads := range f.received {
		for _, t := range threads {
			to := l.label[f.first[t]:]
			n := copy(to, parts[m][:min(len(parts[m]), f.bursts[t])])
			parts[m] = parts[m][n:]
		}
	}
}

// relabel gives the bursts here labels, by what they had.
func (l *local) relabel(c *executor, of func(i int) int32) {
	if len(l.label) != l.far.end {
		l.label = make([]int32, l.far.end)
	}
	workers.Chunks(l.n, c.workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			l.label[i] = of(i)
		}
	})
	l.far.exchange(l, c)
}

// after is the label that comes next; 0 = not known.
func (l *local) after(i int) int32 {
	if l.begins[i+1] {
		return 0
	}
	return l.label[i+1]
}

// others is what the next threads have at the same place, as a key; 0 = not known.
func (l *local) others(i int) int64 {
	if l.next[i] < 0 || l.prev[i] == -1 { // half of what is around is worse than nothing
		return 0
	}
	key := int64(l.label[l.next[i]]) << codeBits
	if l.prev[i] >= 0 {
		key |= int64(l.label[l.prev[i]])
	}
	return key
}
