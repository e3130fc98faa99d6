package waits

import (
	"cmp"
	"math/bits"
	"slices"
)

// A charger divides waits among what caused them, the latest wait first: each then has all that later ones hand on to
// it.
type charger struct {
	s            *solver
	ties         *ties
	sums         [][]int64 // by thread: of its waits, up to each
	cause, other stretch   // of the thread that was waited for, and of the one that waited
	of           place     // whose stretch cause is
	from         from
	causes       pairs[Cause]
	links        pairs[Link]
	excess       []piece
	groups       []int32    // by key: keys of one are compared in sum
	more         [][2]int64 // by group: how much more the cause has, and the same of those keys alone of which it has more
	deeds        []int32    // by key
	counted      []place    // by deed: the last wait that counts for it
	direct       pairs[Direct]
	redo         []place // waits to which more was handed on after they had been charged
}

// A stretch is what a thread has done in a part of its time.
type stretch struct {
	ns           []int64 // by key
	keys         []int32 // that it has
	first, after int     // its waits
	waitNS       int64
}

func (x *stretch) add(key int32, ns int64) {
	if ns == 0 {
		return
	}
	if x.ns[key] == 0 {
		x.keys = append(x.keys, key)
	}
	x.ns[key] += ns
}

func (x *stretch) clear() {
	for _, key := range x.keys {
		x.ns[key] = 0
	}
	x.keys = x.keys[:0]
}

// charge finds the causes of all waits.
func (s *solver) charge() {
	c := &charger{s: s, ties: newTies(s), sums: make([][]int64, len(s.lanes)), of: place{-1, -1}}
	c.cause.ns, c.other.ns = make([]int64, len(s.keys)), make([]int64, len(s.keys))
	c.groups, c.deeds = s.groups(), s.deeds()
	c.counted = slices.Repeat([]place{{-1, -1}}, int(slices.Max(c.deeds))+1)
	c.more = make([][2]int64, int(slices.Max(c.groups))+1)
	s.each(func(i int) {
		sums := make([]int64, len(s.waits[i])+1)
		for k := range s.waits[i] {
			sums[k+1] = sums[k] + s.waitNS(int32(i), &s.waits[i][k])
		}
		c.sums[i] = sums
	})
	order := s.order()
	for i := range order {
		c.wait(order[i].place)
	}
	c.again(len(order))
	s.result.Causes, s.result.Links, s.result.Direct, s.result.Deeds = c.causes.list, c.links.list, c.direct.list, c.deeds
	slices.SortFunc(s.result.Direct, func(a, b Direct) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Deed, b.Deed))
	})
	slices.SortFunc(s.result.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(s.result.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.For, b.For))
	})
}

// waitNS is how long a wait is.
func (s *solver) waitNS(thread int32, w *wait) int64 {
	return w.UntilNS - s.lanes[thread].EnterNS[w.Row]
}

// again charges what was handed on late: where a call is left, and another entered, in the same nanosecond, the order
// of waits does not show who comes first. What goes round in a circle of such calls is charged to nothing.
func (c *charger) again(most int) {
	for n := 0; len(c.redo) > 0; n++ {
		p := c.redo[len(c.redo)-1]
		c.redo = c.redo[:len(c.redo)-1]
		w := &c.s.waits[p.thread][p.row]
		switch {
		case w.passedNS == 0: // it was charged since
		case n < most:
			c.wait(p)
		default:
			c.s.result.UnexplainedNS += w.passedNS
			w.passedNS = 0
		}
	}
}

// wait charges a wait, given by its place among those of its thread, and what was handed on to it.
func (c *charger) wait(p place) {
	s := c.s
	w := &s.waits[p.thread][p.row]
	if w.ForRow < 0 { // what caused it is not here
		if s.result.UnexplainedNS += w.passedNS; !w.done {
			s.result.UnexplainedNS += s.waitNS(p.thread, w)
		}
		w.done, w.passedNS = true, 0
		return
	}
	t := c.ties.of(p.thread, w)
	if source := w.source(); c.of != source || c.from != t.cause {
		c.cause.clear()
		s.stretch(&c.cause, source, t.cause, c.ties.waits)
		c.of, c.from = source, t.cause
	}
	c.other.clear()
	s.stretch(&c.other, place{p.thread, w.Row}, t.waiting, int(p.row))
	total := c.compare()
	var link *Link
	if w.Kind <= LateReceiver && !w.done {
		link = c.link(p.thread, w.For)
		link.Waits++
	}
	if !w.done {
		c.divide(w, s.waitNS(p.thread, w), total, link, true)
		c.count(p, w.For)
	}
	c.divide(w, w.passedNS, total, nil, false)
	w.done, w.passedNS = true, 0
}

// compare finds what the cause has more of: in each kind of computation, in MPI, outside, and in waiting. What it has
// more of in a kind, or in MPI, is divided among the call paths at which it has more.
func (c *charger) compare() (total int64) {
	c.excess = c.excess[:0]
	for _, key := range c.cause.keys {
		of := &c.more[c.groups[key]]
		more := c.cause.ns[key] - c.other.ns[key]
		of[0] += more
		of[1] += max(0, more)
	}
	for _, key := range c.other.keys {
		if c.cause.ns[key] == 0 {
			c.more[c.groups[key]][0] -= c.other.ns[key]
		}
	}
	for _, key := range c.cause.keys {
		of := &c.more[c.groups[key]]
		more := max(0, c.cause.ns[key]-c.other.ns[key])
		if of[0] <= 0 || more == 0 {
			continue
		}
		n := part64(of[0], more, of[1])
		of[0], of[1] = of[0]-n, of[1]-more
		if n > 0 {
			c.excess = append(c.excess, piece{key, n})
			total += n
		}
	}
	for _, key := range c.cause.keys {
		c.more[c.groups[key]] = [2]int64{}
	}
	for _, key := range c.other.keys {
		c.more[c.groups[key]] = [2]int64{}
	}
	if waited := c.cause.waitNS - c.other.waitNS; waited > 0 {
		c.excess = append(c.excess, piece{waitKey, waited})
		total += waited
	}
	return total
}

// waitKey stands in an excess for waiting.
const waitKey = -1

// divide gives each of the excesses its part of some time; own says that it is a wait for that thread, and not handed
// on by others.
func (c *charger) divide(w *wait, ns, total int64, link *Link, own bool) {
	if ns == 0 {
		return
	}
	if link != nil {
		link.NS += ns
	}
	if total == 0 {
		c.s.result.UnexplainedNS += ns
		return
	}
	left, largest := ns, 0
	for k := range c.excess {
		if c.excess[k].ns > c.excess[largest].ns {
			largest = k
		}
		left -= part64(ns, c.excess[k].ns, total)
	}
	for k, e := range c.excess {
		n := part64(ns, e.ns, total)
		if k == largest {
			n += left
		}
		c.give(w, e, n, own)
		if link != nil {
			link.add(c.s.what(e.key), e.key == waitKey, n)
		}
	}
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

func (l *Link) add(what What, waiting bool, ns int64) {
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
func (c *charger) give(w *wait, e piece, ns int64, own bool) {
	switch {
	case e.key == waitKey:
		c.handOn(w.For, ns)
		return
	case c.s.keys[e.key].What == NotKept:
		c.s.result.UnexplainedNS += ns
		return
	}
	of := c.causes.of(w.For, e.key, Cause{Thread: w.For, Key: e.key})
	of.NS += ns
	if own {
		of.DirectNS += ns
		of.MoreNS += e.ns
		of.Waits++
	}
}

// count counts a wait once for each deed that it is charged to.
func (c *charger) count(p place, cause int32) {
	for _, e := range c.excess {
		if e.key == waitKey || c.s.keys[e.key].What == NotKept || c.counted[c.deeds[e.key]] == p {
			continue
		}
		deed := c.deeds[e.key]
		c.counted[deed] = p
		c.direct.of(cause, deed, Direct{Thread: cause, Deed: deed}).Waits++
	}
}

// handOn divides time among the waits of the stretch of the thread that was waited for.
func (c *charger) handOn(thread int32, ns int64) {
	if ns == 0 {
		return
	}
	left, sums := ns, c.sums[thread]
	for k := c.cause.after - 1; k >= c.cause.first; k-- {
		n := left
		if k > c.cause.first {
			n = part64(ns, sums[k+1]-sums[k], c.cause.waitNS)
		}
		left -= n
		w := &c.s.waits[thread][k]
		if w.passedNS += n; w.done && n > 0 {
			c.redo = append(c.redo, place{thread, int32(k)})
		}
	}
}

// link is that of two threads.
func (c *charger) link(thread, other int32) *Link {
	return c.links.of(thread, other, Link{Thread: thread, For: other})
}

// stretch is what a thread does up to the entry of a call, before which it has so many waits.
func (s *solver) stretch(x *stretch, to place, begin from, before int) {
	l, waits := &s.lanes[to.thread], s.waits[to.thread]
	x.first = before
	for x.first > 0 && (waits[x.first-1].Row > begin.row || waits[x.first-1].Row == begin.row && begin.entry) {
		x.first--
	}
	x.after, x.waitNS = x.first, 0
	if begin.row >= to.row {
		return
	}
	at := x.first
	row := begin.row
	if row >= 0 {
		fromNS := l.EnterNS[row]
		switch {
		case at < len(waits) && waits[at].Row == row:
			x.waitNS += waits[at].UntilNS - fromNS
			fromNS = waits[at].UntilNS
			at++
		case at > 0 && waits[at-1].Row == row: // which is before the stretch
			fromNS = waits[at-1].UntilNS
		}
		x.add(mpiKey(l.Path[row]), l.ExitNS[row]-fromNS)
	}
	for row++; row < to.row; row++ {
		l.addGap(x, row)
		fromNS := l.EnterNS[row]
		if at < len(waits) && waits[at].Row == row {
			x.waitNS += waits[at].UntilNS - fromNS
			fromNS = waits[at].UntilNS
			at++
		}
		x.add(mpiKey(l.Path[row]), l.ExitNS[row]-fromNS)
	}
	l.addGap(x, to.row)
	x.after = at
}

// addGap adds what is before a call.
func (l *lane) addGap(x *stretch, row int32) {
	if l.gap[row] == several {
		for _, p := range l.pieces[row] {
			x.add(p.key, p.ns)
		}
		return
	}
	ns := l.EnterNS[row]
	if row > 0 {
		ns -= l.ExitNS[row-1]
	}
	x.add(l.gap[row], ns)
}
