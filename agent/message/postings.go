package message

import (
	"cmp"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// keptLanes is the largest number of lanes in a snapshot, which is written with every transaction. A program that uses
// more peers and tags than that restarts counting when its agent is restarted.
const keptLanes = 1024

// Bits of MatcherPostings.flags.
const (
	postingReceives = 1 << iota
	postingOpen
	postingPassed
	postingCounted
	postingWild
	postingLive
	postingActive
)

// order writes down the lanes with what is under way in them, if they are not too many.
func (w *writer) order(r *ordinals) {
	w.kept = len(r.streams) <= keptLanes
	w.epoch = r.epoch
	if !w.kept {
		return
	}
	w.state.NextPosting = r.next
	l := &moriensv1.MatcherLanes{}
	for at, x := range r.streams {
		l.Receive, l.Comm, l.Peer, l.Tag = append(l.Receive, at.receive), append(l.Comm, at.comm), append(l.Peer, at.peer), append(l.Tag, at.tag)
		l.Count, l.Sent = append(l.Count, x.count), append(l.Sent, x.sent)
	}
	w.state.Lane = l
	are := func(list []*posting, flag uint32) {
		for _, p := range list {
			w.state.Posting.Flags[w.posting(p)-1] |= flag
		}
	}
	for _, x := range r.streams {
		are(x.live, postingLive)
	}
	for _, x := range r.sides {
		are(x.active, postingActive)
		are(x.wild, postingWild)
	}
}

// posting gives a posting its number in the snapshot; 0 for one that does not count any more.
func (w *writer) posting(p *posting) uint32 {
	if p == nil || p.number > 0 && (!w.kept || p.epoch != w.epoch) {
		return 0
	}
	if n := w.postings[p]; n != 0 {
		return n
	}
	s := w.state.Posting
	flags := bit(p.receive, postingReceives) | bit(p.open, postingOpen) | bit(p.passed, postingPassed) | bit(p.stream != nil, postingCounted) |
		bit(p.wild, postingWild)
	s.Flags, s.Comm, s.Peer, s.Tag = append(s.Flags, flags), append(s.Comm, p.comm), append(s.Peer, p.peer), append(s.Tag, p.tag)
	s.Start, s.End, s.Number, s.Ordinal = append(s.Start, p.start), append(s.End, p.end), append(s.Number, p.number), append(s.Ordinal, p.ordinal)
	n := uint32(len(s.Flags))
	w.postings[p] = n
	return n
}

func bit(is bool, flag uint32) uint32 {
	if is {
		return flag
	}
	return 0
}

// order restores the lanes, or begins a new epoch where they were not written down.
func (r *reader) order(s *moriensv1.MatcherState) {
	o := &r.m.order
	o.epoch, o.unknown, o.void = s.GetEpoch(), s.GetStats().GetUnordered(), s.GetStats().GetVoid()
	x, l := s.GetPosting(), s.GetLane()
	n := len(x.GetFlags())
	if !r.same("postings", n, len(x.GetComm()), len(x.GetPeer()), len(x.GetTag()), len(x.GetStart()), len(x.GetEnd()), len(x.GetNumber()), len(x.GetOrdinal())) ||
		!r.same("lanes", len(l.GetReceive()), len(l.GetComm()), len(l.GetPeer()), len(l.GetTag()), len(l.GetCount()), len(l.GetSent())) {
		return
	}
	if l == nil {
		o.epoch++
	} else {
		o.next = max(o.next, s.GetNextPosting())
	}
	for i := range l.GetReceive() {
		x := o.stream(lane{l.Receive[i], l.Comm[i], l.Peer[i], l.Tag[i]})
		x.count, x.sent = l.Count[i], l.Sent[i]
	}
	numbers := make(map[uint64]bool)
	for i, flags := range x.GetFlags() {
		p := &posting{
			lane:  lane{flags&postingReceives != 0, x.Comm[i], x.Peer[i], x.Tag[i]},
			start: x.Start[i], end: x.End[i], epoch: o.epoch, number: x.Number[i], ordinal: x.Ordinal[i],
			open: flags&postingOpen != 0, passed: flags&postingPassed != 0, wild: flags&postingWild != 0,
		}
		posted := p.number > 0
		if posted && (l == nil || p.number >= o.next || numbers[p.number]) || !posted && flags&^postingReceives != 0 {
			r.fail("a posting")
			return
		}
		numbers[p.number] = true
		r.posting = append(r.posting, p)
		if !posted {
			continue
		}
		p.side = o.side(p.receive, p.comm)
		if p.wild {
			p.side.wild = append(p.side.wild, p)
		}
		if flags&postingCounted != 0 {
			p.stream = o.stream(p.lane)
		}
		if flags&postingLive != 0 {
			x := o.stream(p.lane)
			x.live = append(x.live, p)
		}
		if flags&postingActive != 0 {
			p.side.active = append(p.side.active, p)
		}
	}
	byNumber := func(a, b *posting) int { return cmp.Compare(a.number, b.number) }
	for _, x := range o.streams {
		slices.SortFunc(x.live, byNumber)
	}
	for _, x := range o.sides {
		slices.SortFunc(x.active, byNumber)
		slices.SortFunc(x.wild, byNumber)
	}
}

func (r *reader) posted(n uint32) *posting {
	if n == 0 {
		return nil
	}
	if int(n) > len(r.posting) {
		r.fail("a posting that is not there")
		return nil
	}
	return r.posting[n-1]
}

// wait has a posting that has ended wait again for what it has waited for.
func (r *reader) wait(p *posting, h held) {
	if p.held != nil || !p.receive || p.number == 0 {
		r.fail("what waits")
		return
	}
	w := p.blocker()
	if w == nil {
		r.fail("what waits for nothing")
		return
	}
	p.held = &h
	w.waiters = append(w.waiters, p)
	r.m.order.waiting = append(r.m.order.waiting, p)
}
