package clock

import (
	"cmp"
	"math"
	"slices"

	"moriens/analysis/workers"
	"moriens/internal/team"
)

// An Ordered says what Order had to do.
type Ordered struct {
	// Late counts calls whose exit was moved behind what they waited for, LargestNS and TotalNS by how much.
	Late               int
	LargestNS, TotalNS int64
	// OffNS is how far an entry or exit lies, at most, from where its node's line has it: what was moved, and the
	// drift during a burst, which keeps its length.
	OffNS int64
	// Unordered counts calls that wait for each other in a cycle: they are matched wrongly.
	Unordered int
	// Stopped says that there was no time for all: from some call on each thread goes by its node's line alone.
	Stopped bool
}

// Order brings threads to one time line, in place: at gives the time of a node's clock there. No call returns
// before what it waited for was sent, and no burst changes its length by a nanosecond, as the node's own
// clock has measured it. So calls give way: one that waited returns later where it has to, what follows on its thread
// moves with it, and the following calls make up for that as far as they last, but none to less than half.
//
// Threads that wait for none are gone on with side by side, by so many workers, until each has come to a call that
// waits; who may go on is then found one after the other. The answer is the same with any number.
//
// In a team each member has the calls of its own threads, and what those wait for; Order is collective, and its answer
// that of one that has all. Members report each other when a call was entered that others wait for, in as many rounds
// as there are such steps one after the other. stop, which may be nil, is asked in each round; where it says so at one
// member nothing is waited for any more.
//
// That is the controlled logical clock (Rabenseifner, EuroPVM/MPI 1997; Becker, Rabenseifner, Wolf,
// Linford, Parallel Computing 35, 2009) with forward amortisation, which takes it from the calls alone.
func Order(threads []Thread, t *Traffic, at func(node int, ns int64) int64, workers int, of team.Threads, stop func() bool) (Ordered, error) {
	if err := team.Agree(of, t.Check(threads, of)); err != nil {
		return Ordered{}, err
	}
	o := &ordering{threads: threads, team: of, at: at, workers: max(1, workers), states: make([]state, len(threads))}
	o.walkers = make([]walker, o.workers)
	needs, err := o.connect(t)
	if err != nil {
		return Ordered{}, err
	}
	for i := range threads {
		if of.Mine(i) {
			o.ready = append(o.ready, int32(i))
		}
		o.states[i].needs = needs[i]
		o.states[i].gaps = threads[i].Gaps
	}
	for {
		o.goOn()
		if through, err := o.meet(stop != nil && stop()); through || err != nil {
			return o.Ordered, err
		}
	}
}

// goOn advances the threads of this member as far as the data here allows.
func (o *ordering) goOn() {
	var running []int32
	for len(o.ready) > 0 {
		running, o.ready = o.ready, running[:0]
		o.runAll(running)
		for k := range o.walkers {
			o.gather(&o.walkers[k])
		}
		for k := range o.walkers {
			w := &o.walkers[k]
			for _, i := range w.told {
				o.notify(i)
			}
			for _, i := range w.asking {
				if o.notify(i); o.settle(i) {
					o.ready = append(o.ready, i)
				}
			}
			w.told, w.asking = w.told[:0], w.asking[:0]
		}
	}
}

// A need is what the exit of a row waits for: the entry of another, or, of a collective, those of members.
type need struct {
	row        int32
	from       Place
	collective int32 // -1: none
	members    int32 // the first so many of its sources
}

// needsOf lists what calls of each thread of this member wait for, by row.
func (o *ordering) needsOf(t *Traffic) [][]need {
	count := make([]int, len(o.threads))
	for p := range t.needs {
		count[p.Thread]++
	}
	all := 0
	for i := range count {
		if !o.here(int32(i)) {
			count[i] = 0
		}
		all += count[i]
	}
	lists := make([][]need, len(o.threads))
	room := make([]need, all)
	for i, n := range count {
		lists[i], room = room[:0:n], room[n:]
	}
	for p, n := range t.needs {
		if !o.here(p.Thread) {
			continue
		}
		if n.collective >= 0 {
			n.members += int32(len(o.meetings[n.collective].partials))
		}
		lists[p.Thread] = append(lists[p.Thread], n)
	}
	for _, list := range lists {
		if !slices.IsSortedFunc(list, compareNeeds) {
			slices.SortStableFunc(list, compareNeeds)
		}
		for i := range list {
			if list[i].collective < 0 {
				list[i].from = o.locate(list[i].from)
			}
		}
	}
	return lists
}

// compareNeeds orders what calls wait for by row; of a row, too, for where calls wait in a circle the first is let go.
func compareNeeds(a, b need) int {
	if a.row != b.row {
		return cmp.Compare(a.row, b.row)
	}
	return cmp.Or(cmp.Compare(min(a.collective, 0), min(b.collective, 0)), cmp.Compare(a.from.Thread, b.from.Thread), cmp.Compare(a.from.Row, b.from.Row))
}

// needs goes through what calls wait for, with the place of each.
func (t *Traffic) needs(yield func(Place, need) bool) {
	for _, m := range t.Messages {
		if !yield(m.Recv, need{row: m.Recv.Row, from: m.Send, collective: -1}) {
			return
		}
	}
	for i := range t.Collectives {
		c := &t.Collectives[i]
		for k, m := range c.Members {
			n := need{row: m.End.Row, collective: int32(i), members: int32(len(c.Members))}
			switch {
			case c.Flow == AllToAll, c.Flow == ToRoot && k == c.Root:
			case c.Flow == Prefix && k > 0:
				n.members = int32(k)
			case c.Flow == FromRoot && k != c.Root:
				n.from, n.collective = c.Members[c.Root].Start, -1
			default:
				continue
			}
			if !yield(m.End, n) {
				return
			}
		}
	}
}

// A meeting says who has come to a collective. Where none leaves before all have come, and all are here, it is enough
// to count them (gathering.go). Else it goes through them one by one: its members, and behind them, where other members
// of the team have some, the latest of those of each. It waits for the first of these that has not come, and threads
// wait for it: if each of them waited for that one, all would be woken by every one that comes.
type meeting struct {
	collective *Collective
	gathering
	partials []int32           // slots of what other members of the team report
	waiters  []remote          // who waits for the latest of the collective's members here
	watched  bool              // somebody has waited for it
	latest   []int64           // entry of the latest of the first 1, 2, …, as far as they have got
	waiting  map[int32][]int32 // threads, by how many they wait for
}

// A state is how far a thread has got.
type state struct {
	row     int32 // the next, or the one whose entry is placed
	entered bool
	blocked bool
	enterNS int64 // of row, as the node's clock had it
	exitNS  int64 // of the row before, likewise
	latest  int64 // of what row waits for and what has arrived
	needs   []need
	gaps    []int32
	waiting []waiter  // for this thread
	awaited []awaited // by row: what others of the team wait for and have not received
}

// A waiter is a thread, or a meeting, that waits until the entry of a row is placed.
type waiter struct {
	row     int32
	thread  int32 // -1: none
	meeting int32
}

type ordering struct {
	Ordered
	threads  []Thread
	team     team.Threads
	at       func(node int, ns int64) int64
	workers  int
	states   []state
	meetings []meeting
	ready    []int32 // threads that may go on
	walkers  []walker
	loose    bool // threads may be where they were to be woken, and do not wait for that any more
	elsewhere
}

// sideBySide is from how many threads on they are gone on with by several workers: fewer are through before another
// worker has begun.
const sideBySide = 256

// runAll continues threads, in parallel where they are many.
func (o *ordering) runAll(threads []int32) {
	atOnce := 1
	if len(threads) >= sideBySide {
		atOnce = o.workers
	}
	workers.Chunks(len(threads), atOnce, func(k, from, to int) {
		w := &o.walkers[k]
		for _, i := range threads[from:to] {
			o.run(i, w)
		}
	})
}

// run places a thread's calls until one waits for others. It touches nothing of other threads, nor of meetings.
func (o *ordering) run(i int32, w *walker) {
	s, t := &o.states[i], &o.threads[i]
	s.blocked = false
	for int(s.row) < len(t.EnterNS) {
		if !s.entered {
			o.enter(i, &w.Ordered)
			w.arrive(o, s, t.EnterNS[s.row])
		}
		if len(s.needs) > 0 && s.needs[0].row == s.row {
			switch n := s.needs[0].collective; {
			case n < 0 || !o.meetings[n].counted:
				w.asking = append(w.asking, i)
				return
			case o.meetings[n].missing > 0:
				s.blocked = true
				w.wait(n, i)
				w.tell(s, i)
				return
			default:
				s.latest = max(s.latest, o.meetings[n].lastNS)
				s.needs = s.needs[1:]
				continue
			}
		}
		o.leave(i, &w.Ordered)
	}
	w.tell(s, i)
}

// settle reports whether a thread goes on: what its call waits for has arrived. Else it is woken when it has.
func (o *ordering) settle(i int32) bool {
	s := &o.states[i]
	for len(s.needs) > 0 && s.needs[0].row == s.row {
		sent, there := o.sent(s.needs[0])
		if !there {
			s.blocked = true
			o.wait(i, s.needs[0])
			return false
		}
		s.latest = max(s.latest, sent)
		s.needs = s.needs[1:]
	}
	o.leave(i, &o.Ordered)
	return true
}

// enter places the entry of a thread's row.
func (o *ordering) enter(i int32, did *Ordered) {
	s, t := &o.states[i], &o.threads[i]
	r := s.row
	s.enterNS, s.entered, s.latest = t.EnterNS[r], true, math.MinInt64
	gap := len(s.gaps) > 0 && s.gaps[0] == r
	if gap {
		s.gaps = s.gaps[1:]
	}
	placed := o.at(t.Node, s.enterNS)
	switch {
	case r == 0:
		t.EnterNS[r] = placed
	case gap:
		t.EnterNS[r] = max(t.ExitNS[r-1], placed)
	default:
		t.EnterNS[r] = t.ExitNS[r-1] + s.enterNS - s.exitNS
	}
	did.off(t.EnterNS[r] - placed)
}

// leave places the exit of a thread's row, when all that it waits for has arrived, and goes to the next.
func (o *ordering) leave(i int32, did *Ordered) {
	s, t := &o.states[i], &o.threads[i]
	r := s.row
	// Where it would end by its own clock, and no sooner than after half of its time.
	localExit := t.ExitNS[r]
	placed := o.at(t.Node, localExit)
	exit := max(placed, t.EnterNS[r]+(localExit-s.enterNS)/2)
	if late := s.latest - exit; s.latest > exit {
		did.Late++
		did.LargestNS = max(did.LargestNS, late)
		did.TotalNS += late
		exit = s.latest
	}
	did.off(exit - placed)
	t.ExitNS[r] = exit
	s.exitNS, s.entered = localExit, false
	s.row++
}

// notify wakes who waited for entries of a thread that are placed.
func (o *ordering) notify(i int32) {
	s := &o.states[i]
	for len(s.awaited) > 0 && o.entered(Place{i, s.awaited[0].row}) {
		o.send(s.awaited[0].remote, o.threads[i].EnterNS[s.awaited[0].row])
		s.awaited = s.awaited[1:]
	}
	if len(s.waiting) == 0 {
		return
	}
	kept := s.waiting[:0]
	var meetings []int32
	for _, w := range s.waiting {
		switch {
		case !o.entered(Place{i, w.row}):
			kept = append(kept, w)
		case w.thread < 0:
			meetings = append(meetings, w.meeting)
		default:
			o.wake(w.thread)
		}
	}
	s.waiting = kept
	for _, m := range meetings { // which may wait for this thread once more
		o.advance(m)
	}
}

func (o *ordering) wake(thread int32) {
	if o.states[thread].blocked {
		o.states[thread].blocked = false
		o.ready = append(o.ready, thread)
	}
}

func (o *Ordered) off(ns int64) { o.OffNS = max(o.OffNS, ns, -ns) }

// entered reports whether a row's entry is placed.
func (o *ordering) entered(p Place) bool {
	if p.Thread < 0 {
		return o.slots[p.Row].known
	}
	s := &o.states[p.Thread]
	return p.Row < s.row || p.Row == s.row && s.entered
}

// entryNS is the time of an entry that is placed.
func (o *ordering) entryNS(p Place) int64 {
	if p.Thread < 0 {
		return o.slots[p.Row].ns
	}
	return o.threads[p.Thread].EnterNS[p.Row]
}

// sent gives the time of what a call waits for, if that is placed.
func (o *ordering) sent(n need) (ns int64, there bool) {
	if n.collective < 0 {
		if !o.entered(n.from) {
			return 0, false
		}
		return o.entryNS(n.from), true
	}
	m := &o.meetings[n.collective]
	if m.counted {
		return m.lastNS, m.missing == 0
	}
	if !m.watched {
		m.watched = true
		o.advance(n.collective) // no thread waits for it yet
	}
	if len(m.latest) < int(n.members) {
		return 0, false
	}
	return m.latest[n.members-1], true
}

// wait has a thread woken when what it waits for is placed.
func (o *ordering) wait(thread int32, n need) {
	if n.collective < 0 {
		o.await(n.from, waiter{row: n.from.Row, thread: thread})
		return
	}
	m := &o.meetings[n.collective]
	if m.counted {
		m.queue = append(m.queue, thread)
		return
	}
	if m.waiting == nil {
		m.waiting = make(map[int32][]int32)
	}
	m.waiting[n.members] = append(m.waiting[n.members], thread)
}

// await has somebody woken when an entry is placed.
func (o *ordering) await(p Place, w waiter) {
	if p.Thread < 0 {
		o.slots[p.Row].waiting = append(o.slots[p.Row].waiting, w)
		return
	}
	s := &o.states[p.Thread]
	s.waiting = append(s.waiting, w)
}

// advance counts what of a meeting has arrived since it was last looked at, wakes who waited for no more than that, and
// waits for the next.
func (o *ordering) advance(number int32) {
	m := &o.meetings[number]
	members := m.collective.Members
	for len(m.latest) < len(members)+len(m.partials) {
		k := len(m.latest)
		var next Place
		if k < len(members) {
			next = o.locate(members[k].Start)
		} else {
			next = Place{away, m.partials[k-len(members)]}
		}
		if !o.entered(next) {
			o.await(next, waiter{next.Row, -1, number})
			return
		}
		ns := o.entryNS(next)
		if k > 0 {
			ns = max(ns, m.latest[k-1])
		} else {
			m.latest = make([]int64, 0, len(members)+len(m.partials))
		}
		m.latest = append(m.latest, ns)
		if k == len(members)-1 {
			for _, to := range m.waiters {
				o.send(to, ns)
			}
		}
		for _, thread := range m.waiting[int32(k+1)] {
			o.wake(thread)
		}
		delete(m.waiting, int32(k+1))
	}
}
