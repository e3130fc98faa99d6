package waits

import (
	"cmp"
	"math/bits"
	"slices"

	"moriens/analysis/workers"
)

// A charger divides waits among what caused them, the latest wait first: each then has all that later ones hand on to
// it.
type charger struct {
	s       *solver
	sums    [][]int64 // by thread: of its waits, up to each
	causes  pairs[Cause]
	links   pairs[Link]
	deeds   []int32 // by key: the first one of its deed
	counted []place // by such a key: the last wait that counts for it
	direct  pairs[Direct]
	redo    []place // waits to which more was handed on after they had been charged
}

// spent is time of waits, by whether they lie within Run.Main; and that of waits in messages alone, which is divided by
// itself, so that it comes to what those waits come to.
type spent struct{ mainNS, restNS, messagesNS int64 }

func (t spent) ns() int64 { return t.mainNS + t.restNS }

func (t *spent) add(o spent) {
	t.mainNS, t.restNS, t.messagesNS = t.mainNS+o.mainNS, t.restNS+o.restNS, t.messagesNS+o.messagesNS
}

// take takes a part of it, rounded down; part ≤ whole.
func (t *spent) take(from spent, part, whole int64) (taken spent) {
	if from.mainNS > 0 {
		taken.mainNS = part64(from.mainNS, part, whole)
	}
	if from.restNS > 0 {
		taken.restNS = part64(from.restNS, part, whole)
	}
	if from.messagesNS > 0 {
		taken.messagesNS = part64(from.messagesNS, part, whole)
	}
	t.mainNS, t.restNS, t.messagesNS = t.mainNS-taken.mainNS, t.restNS-taken.restNS, t.messagesNS-taken.messagesNS
	return taken
}

// block is how many waits one worker finds the causes of at a time.
const block = 1024

// charge finds the causes of all waits. What a wait is charged to is found by all workers; how much is handed on is
// known only when all later waits are charged, one by one.
func (s *solver) charge() {
	order := s.order()
	c := &charger{s: s, sums: s.sums(), deeds: s.deeds()}
	c.counted = slices.Repeat([]place{{-1, -1}}, len(s.keys))
	shared := newShared(s, c.sums)
	part := func(n int) []place { return order[n*block : min((n+1)*block, len(order))] }
	begin := func() func(n int, found *excesses) {
		f := newFinder(shared)
		return func(n int, found *excesses) {
			found.clear()
			for _, p := range part(n) {
				f.find(p, found)
			}
		}
	}
	workers.InOrder((len(order)+block-1)/block, s.run.Workers, begin, func(n int, found *excesses) {
		for k, p := range part(n) {
			c.wait(p, found.of(k))
		}
	})
	c.again(len(order), newFinder(shared))
	s.result.Causes, s.result.Links, s.result.Direct = c.causes.list, c.links.list, c.direct.list
	slices.SortFunc(s.result.Direct, func(a, b Direct) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(s.result.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(s.result.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.For, b.For))
	})
}

// sums are, by thread, those of its waits, up to each.
func (s *solver) sums() [][]int64 {
	list := make([][]int64, len(s.lanes))
	s.each(func(i int) {
		list[i] = make([]int64, len(s.waits[i])+1)
		for k := range s.waits[i] {
			list[i][k+1] = list[i][k] + s.waitNS(int32(i), &s.waits[i][k])
		}
	})
	return list
}

// waitNS is how long a wait is.
func (s *solver) waitNS(thread int32, w *wait) int64 {
	return w.UntilNS - s.lanes[thread].EnterNS[w.Row]
}

// spentIn is what a wait takes.
func (s *solver) spentIn(thread int32, w *wait) spent {
	enterNS := s.lanes[thread].EnterNS[w.Row]
	t := spent{mainNS: s.run.Main.Within(enterNS, w.UntilNS)}
	t.restNS = w.UntilNS - enterNS - t.mainNS
	if w.Kind.InMessages() {
		t.messagesNS = t.ns() << w.halved
	}
	return t
}

// again charges what was handed on late: where a call is left, and another entered, in the same nanosecond, the order
// of waits does not show who comes first. What goes round in a circle of such calls is charged to nothing.
func (c *charger) again(most int, f *finder) {
	var found excesses
	for n := 0; len(c.redo) > 0; n++ {
		p := c.redo[len(c.redo)-1]
		c.redo = c.redo[:len(c.redo)-1]
		w := &c.s.waits[p.thread][p.row]
		switch {
		case w.passed == (spent{}): // it was charged since
		case n < most:
			found.clear()
			f.find(p, &found)
			c.wait(p, found.of(0))
		default:
			c.unexplained(w.passed)
			w.passed = spent{}
		}
	}
}

func (c *charger) unexplained(t spent) {
	c.s.result.UnexplainedNS += t.ns()
	c.s.result.MainUnexplainedNS += t.mainNS
	c.s.result.MessagesUnexplainedNS += t.messagesNS
}

// wait charges a wait, given by its place among those of its thread, and what was handed on to it.
func (c *charger) wait(p place, x excess) {
	s := c.s
	w := &s.waits[p.thread][p.row]
	if !w.done {
		t := s.spentIn(p.thread, w)
		s.result.MainWaitNS += t.mainNS
		s.result.MessagesWaitNS += t.messagesNS
		var link *Link
		if w.Kind.InMessages() && w.ForRow >= 0 {
			link = c.link(p.thread, w.For)
			link.wait(t)
		}
		c.divide(w, t, x, link, true)
		c.count(p, w.For, x, t.mainNS > 0)
	}
	c.divide(w, w.passed, x, nil, false)
	w.done, w.passed = true, spent{}
}

// waitKey stands in an excess for waiting.
const waitKey = -1

// divide gives each of the excesses its part of some time; own says that it is a wait for that thread, and not handed
// on by others.
func (c *charger) divide(w *wait, t spent, x excess, link *Link, own bool) {
	if t == (spent{}) {
		return
	}
	if x.total == 0 {
		c.unexplained(t)
		return
	}
	left, largest := t, 0
	for k := range x.list {
		if x.list[k].ns > x.list[largest].ns {
			largest = k
		}
	}
	give := func(e piece, part spent) {
		c.give(w, e, part, x, own)
		if link != nil {
			link.add(c.s.what(e.key), e.key == waitKey, part.ns())
			link.Main.add(c.s.what(e.key), e.key == waitKey, part.mainNS)
		}
	}
	for k, e := range x.list {
		if k != largest {
			give(e, left.take(t, e.ns, x.total))
		}
	}
	give(x.list[largest], left)
}

// part64 is ns · part / whole, rounded down; part ≤ whole.
func part64(ns, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(ns), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

func (s *solver) what(key int32) What {
	if key < 0 {
		return Computing
	}
	return s.keys[key].What
}

// wait adds a wait.
func (l *Link) wait(t spent) {
	l.Waits++
	l.NS += t.ns()
	if t.mainNS > 0 {
		l.Main.Waits++
		l.Main.NS += t.mainNS
	}
}

func (l *LinkSums) add(what What, waiting bool, ns int64) {
	switch {
	case waiting:
		l.HandedOnNS += ns
	case what == Computing:
		l.ComputingNS += ns
	case what == MPI:
		l.MPINS += ns
	case what == Outside:
		l.OutsideNS += ns
	default:
		l.NotExplained += ns
	}
}

// give charges time to a cause, or hands it on to the waits of the thread that was waited for.
func (c *charger) give(w *wait, e piece, t spent, x excess, own bool) {
	switch {
	case e.key == waitKey:
		c.handOn(w.For, t, x)
		return
	case c.s.keys[e.key].What == NotKept:
		c.unexplained(t)
		return
	}
	of := c.causes.of(w.For, e.key, Cause{Thread: w.For, Key: e.key})
	of.charge(t.ns(), e.ns, own)
	if t.mainNS > 0 {
		of.Main.charge(t.mainNS, e.ns, own)
	}
	if t.messagesNS > 0 {
		of.Messages.charge(t.messagesNS, e.ns, own)
	}
}

func (c *Charge) charge(ns, moreNS int64, own bool) {
	c.NS += ns
	if own {
		c.DirectNS += ns
		c.MoreNS += moreNS
		c.Waits++
	}
}

// count counts a wait once for each deed that it is charged to.
func (c *charger) count(p place, cause int32, x excess, main bool) {
	for _, e := range x.list {
		if e.key == waitKey || c.s.keys[e.key].What == NotKept || c.counted[c.deeds[e.key]] == p {
			continue
		}
		deed := c.deeds[e.key]
		c.counted[deed] = p
		of := c.direct.of(cause, deed, Direct{Thread: cause, Key: deed})
		if of.Waits++; main {
			of.MainWaits++
		}
	}
}

// handOn divides time among the waits of the stretch of the thread that was waited for.
func (c *charger) handOn(thread int32, t spent, x excess) {
	if t == (spent{}) {
		return
	}
	left, sums := t, c.sums[thread]
	waited := sums[x.after] - sums[x.first]
	for k := x.after - 1; k >= x.first; k-- {
		part := left
		if k > x.first {
			part = left.take(t, sums[k+1]-sums[k], waited)
		}
		w := &c.s.waits[thread][k]
		if w.passed.add(part); w.done && part != (spent{}) {
			c.redo = append(c.redo, place{thread, k})
		}
	}
}

// link is that of two threads.
func (c *charger) link(thread, other int32) *Link {
	return c.links.of(thread, other, Link{Thread: thread, For: other})
}
