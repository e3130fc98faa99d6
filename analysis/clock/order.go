package clock

import (
	"cmp"
	"math"
	"slices"
)

// An Ordered says what Order had to do.
type Ordered struct {
	// Late counts calls whose exit was moved behind what they waited for, LargestNS and TotalNS by how much.
	Late               int
	LargestNS, TotalNS int64
	// OffNS is how far an entry or exit lies, at most, from where its node's line has it: what was moved, and the
	// drift during a burst, which keeps its length.
	OffNS int64
	// Unordered counts calls that wait for each other in a circle: whoever matched them was wrong.
	Unordered int
}

// Order brings threads to one time line, in place: at gives the time of a node's clock there. No call returns
// before what it waited for was sent, and no burst changes its length by a nanosecond, as the node's own
// clock has measured it. So calls give way: one that waited returns later where it has to, what follows on its thread
// moves with it, and the following calls make up for that as far as they last, but none to less than half.
//
// That is the controlled logical clock (Rabenseifner, EuroPVM/MPI 1997; Becker, Rabenseifner, Wolf,
// Linford, Parallel Computing 35, 2009) with forward amortisation, which takes it from the calls alone.
func Order(threads []Thread, t *Traffic, at func(node int, ns int64) int64) (Ordered, error) {
	if err := t.Check(threads); err != nil {
		return Ordered{}, err
	}
	o := &ordering{threads: threads, at: at, states: make([]state, len(threads)), needs: needsOf(t)}
	for i := range t.Collectives {
		o.meetings = append(o.meetings, meeting{collective: &t.Collectives[i]})
	}
	ready := make([]int32, len(threads))
	for i := range threads {
		ready[i] = int32(i)
		o.states[i].needs = o.needsOf(int32(i))
		o.states[i].gaps = threads[i].Gaps
	}
	for stuck := int32(0); ; {
		for len(ready) > 0 {
			last := len(ready) - 1
			i := ready[last]
			ready = o.run(i, ready[:last])
		}
		for int(stuck) < len(threads) && !o.states[stuck].blocked {
			stuck++
		}
		if int(stuck) == len(threads) {
			return o.Ordered, nil
		}
		// What it waits for waits for it.
		s := &o.states[stuck]
		s.blocked = false
		s.needs = s.needs[1:]
		o.Unordered++
		ready = append(ready, stuck)
		stuck = 0
	}
}

// A need is what the exit of a call waits for: the entry of another, or, of a collective, those of members.
type need struct {
	at         Place
	from       Place
	collective int32 // -1: none
	members    int32 // the first so many of it
}

// needsOf lists what calls wait for, by thread and row.
func needsOf(t *Traffic) []need {
	list := make([]need, 0, len(t.Messages))
	for _, m := range t.Messages {
		list = append(list, need{at: m.Recv, from: m.Send, collective: -1})
	}
	for i, c := range t.Collectives {
		for k, m := range c.Members {
			all := need{at: m.End, collective: int32(i), members: int32(len(c.Members))}
			switch {
			case c.Flow == AllToAll, c.Flow == ToRoot && k == c.Root:
				list = append(list, all)
			case c.Flow == Prefix && k > 0:
				all.members = int32(k)
				list = append(list, all)
			case c.Flow == FromRoot && k != c.Root:
				list = append(list, need{at: m.End, from: c.Members[c.Root].Start, collective: -1})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.at.Thread, b.at.Thread), cmp.Compare(a.at.Row, b.at.Row))
	})
	return list
}

// A meeting counts who has come to a collective.
type meeting struct {
	collective *Collective
	latest     []int64 // entry of the latest of the first 1, 2, … members, as far as they have come
}

// A state is how far a thread has come.
type state struct {
	row     int32 // the next, or the one whose entry is placed
	entered bool
	blocked bool
	enterNS int64 // of row, as the node's clock had it
	exitNS  int64 // of the row before, likewise
	latest  int64 // of what row waits for and what has come
	needs   []need
	gaps    []int32
	waiting []waiter // for this thread
}

type waiter struct {
	row    int32 // until its entry is placed
	thread int32
}

type ordering struct {
	Ordered
	threads  []Thread
	at       func(node int, ns int64) int64
	states   []state
	needs    []need
	meetings []meeting
}

func (o *ordering) needsOf(thread int32) []need {
	first, _ := slices.BinarySearchFunc(o.needs, thread, func(n need, t int32) int { return cmp.Compare(n.at.Thread, t) })
	last, _ := slices.BinarySearchFunc(o.needs, thread+1, func(n need, t int32) int { return cmp.Compare(n.at.Thread, t) })
	return o.needs[first:last]
}

// run places a thread's calls until one has to wait; it adds to ready who waited for them.
func (o *ordering) run(i int32, ready []int32) []int32 {
	s, t := &o.states[i], &o.threads[i]
	for ; int(s.row) < len(t.EnterNS); s.row++ {
		r := s.row
		if !s.entered {
			ready = o.enter(i, ready)
		}
		// Where it would end by its own clock, and no sooner than after half of its time.
		localExit := t.ExitNS[r]
		exit := max(o.at(t.Node, localExit), t.EnterNS[r]+(localExit-s.enterNS)/2)
		for len(s.needs) > 0 && s.needs[0].at.Row == r {
			sent, missing, there := o.sent(s.needs[0])
			if !there {
				s.blocked = true
				m := &o.states[missing.Thread]
				m.waiting = append(m.waiting, waiter{missing.Row, i})
				return ready
			}
			s.latest = max(s.latest, sent)
			s.needs = s.needs[1:]
		}
		if late := s.latest - exit; s.latest > exit {
			o.Late++
			o.LargestNS = max(o.LargestNS, late)
			o.TotalNS += late
			exit = s.latest
		}
		o.off(exit - o.at(t.Node, localExit))
		t.ExitNS[r] = exit
		s.exitNS, s.entered = localExit, false
	}
	return ready
}

// enter places the entry of a thread's row, and wakes who waited for it.
func (o *ordering) enter(i int32, ready []int32) []int32 {
	s, t := &o.states[i], &o.threads[i]
	r := s.row
	s.enterNS, s.entered, s.latest = t.EnterNS[r], true, math.MinInt64
	gap := len(s.gaps) > 0 && s.gaps[0] == r
	if gap {
		s.gaps = s.gaps[1:]
	}
	switch {
	case r == 0:
		t.EnterNS[r] = o.at(t.Node, s.enterNS)
	case gap:
		t.EnterNS[r] = max(t.ExitNS[r-1], o.at(t.Node, s.enterNS))
	default:
		t.EnterNS[r] = t.ExitNS[r-1] + s.enterNS - s.exitNS
	}
	o.off(t.EnterNS[r] - o.at(t.Node, s.enterNS))
	kept := s.waiting[:0]
	for _, w := range s.waiting {
		if w.row > r {
			kept = append(kept, w)
		} else if o.states[w.thread].blocked {
			o.states[w.thread].blocked = false
			ready = append(ready, w.thread)
		}
	}
	s.waiting = kept
	return ready
}

func (o *ordering) off(ns int64) { o.OffNS = max(o.OffNS, ns, -ns) }

// entered says whether a row's entry is placed.
func (o *ordering) entered(p Place) bool {
	s := &o.states[p.Thread]
	return p.Row < s.row || p.Row == s.row && s.entered
}

// sent gives the time of what a call waits for, or a row that has to be placed before it can be told.
func (o *ordering) sent(n need) (ns int64, missing Place, there bool) {
	if n.collective < 0 {
		if !o.entered(n.from) {
			return 0, n.from, false
		}
		return o.threads[n.from.Thread].EnterNS[n.from.Row], Place{}, true
	}
	m := &o.meetings[n.collective]
	for len(m.latest) < int(n.members) {
		next := m.collective.Members[len(m.latest)].Start
		if !o.entered(next) {
			return 0, next, false
		}
		ns = o.threads[next.Thread].EnterNS[next.Row]
		if k := len(m.latest); k > 0 {
			ns = max(ns, m.latest[k-1])
		}
		m.latest = append(m.latest, ns)
	}
	return m.latest[n.members-1], Place{}, true
}
