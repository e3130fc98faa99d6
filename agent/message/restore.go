package message

import (
	"errors"
	"fmt"
	"math"

	"moriens/internal/mpicall"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
)

// errState is what is wrong with a snapshot that no Snapshot has made.
var errState = errors.New("not the state of a matcher")

// Restore returns a Matcher that continues where the one of a snapshot was, and its threads that have not ended, by
// ring. The process's communicators have to be defined again.
func Restore(s *moriensv1.MatcherState, sink Sink) (*Matcher, map[uint64]*Thread, error) {
	m := New(sink)
	m.threadsSeen, m.coming, m.gaps, m.unrecorded = int(s.GetCame()), int(s.GetComing()), int(s.GetGaps()), s.GetUnrecorded()
	r := reader{m: m, placed: make(map[*posting]bool)}
	live := make(map[uint64]*Thread)
	for _, x := range s.GetThread() {
		if x == nil {
			return nil, nil, errState
		}
		t := &Thread{m: m, ring: x.Ring}
		r.threads = append(r.threads, t)
		if x.Gone {
			continue
		}
		m.threads = append(m.threads, t)
		if !x.Ended {
			if live[x.Ring] != nil {
				return nil, nil, fmt.Errorf("%w: ring %016x twice", errState, x.Ring)
			}
			live[x.Ring] = t
		}
	}
	r.order(s)
	for i, t := range r.threads {
		r.thread(t, s.Thread[i])
	}
	r.requests(s)
	r.probed(s)
	r.unfollowed(s)
	r.numbers(s)
	r.waiting(s)
	r.sums(s.GetSums())
	if r.err != nil {
		return nil, nil, r.err
	}
	return m, live, nil
}

// A reader makes a Matcher of a MatcherState. After an error it reads nothing more.
type reader struct {
	m       *Matcher
	threads []*Thread
	posting []*posting
	placed  map[*posting]bool // by events
	err     error
}

// sums restores what was counted.
func (r *reader) sums(s *moriensv1.Sums) {
	var err error
	if r.m.sums, err = sums.Restore(s); err != nil {
		r.fail(err.Error())
	}
	r.m.counted = r.m.sums.Transfers()
	if r.m.counted > 0 && s.GetPartners() == nil { // the version before this one
		r.m.partners = nil
		return
	}
	rows, err := sums.DecodePartners(s.GetPartners())
	if err == nil {
		r.m.partners, err = sums.RestorePartners(rows)
	}
	if err != nil {
		r.fail(err.Error())
	}
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errState, what)
	}
}

// same reports whether columns have one length.
func (r *reader) same(what string, n int, lengths ...int) bool {
	for _, l := range lengths {
		if l != n {
			r.fail(what)
		}
	}
	return r.err == nil
}

func (r *reader) numbered(n uint32) *Thread {
	if n == 0 {
		return nil
	}
	if int(n) > len(r.threads) {
		r.fail("a thread that is not there")
		return nil
	}
	return r.threads[n-1]
}

func (r *reader) thread(t *Thread, s *moriensv1.MatcherThread) {
	t.lastTicks, t.lastExit, t.until, t.gap, t.ended, t.took = s.LastTicks, s.LastExit, s.Until, s.Gap, s.Ended, s.Took
	if t.took {
		list := r.operations(s.Taken)
		if len(list) != 1 {
			r.fail("what a probe took")
			return
		}
		t.taken = list[0]
	}
	t.polled = s.Polled
	for _, o := range r.operations(s.Landed) {
		if !o.message() {
			r.fail("what a call has completed")
			return
		}
		t.landed = append(t.landed, landing{o.kind, o.comm, o.peer, o.function, o.path, o.bytes})
	}
	n := len(s.What)
	list := r.requestList(s.Request)
	if !r.same("events", n, len(s.Ticks), len(s.Row), len(s.Handle), len(s.Bytes), len(s.Peer), len(s.Tag), len(s.Posting), len(list)) {
		return
	}
	last := uint64(0)
	for i := range n {
		e := event{
			what: eventKind(s.What[i]), ticks: s.Ticks[i], row: s.Row[i], handle: s.Handle[i], request: list[i],
			bytes: s.Bytes[i], peer: s.Peer[i], tag: s.Tag[i], posting: r.posted(s.Posting[i]),
		}
		held := e.request.operations[0].thread != nil
		if s.What[i] > uint32(left) || e.ticks < last || (e.what == probed || e.what == matched || e.what == moved || e.what == left) && !held {
			r.fail("an event")
			return
		}
		if p := e.posting; (e.what == posts) != (p != nil) || p != nil && (p.number > 0 || r.placed[p]) {
			r.fail("an event's posting")
			return
		}
		r.placed[e.posting] = true
		last = e.ticks
		t.queue = append(t.queue, e)
	}
	r.m.held += n
}

func (r *reader) requests(s *moriensv1.MatcherState) {
	list := r.requestList(s.GetRequest())
	if !r.same("handles", len(s.GetHandle()), len(s.GetLast()), len(s.GetLength())) {
		return
	}
	for i, handle := range s.GetHandle() {
		n := int(s.Length[i])
		if n > len(list) || r.m.requests.queues[handle] != nil {
			r.fail("the requests of a handle")
			return
		}
		q := &queue{last: s.Last[i]}
		for _, x := range list[:n] {
			r.m.requests.add(q, x)
		}
		r.m.requests.queues[handle] = q
		list = list[n:]
	}
	r.same("requests without a handle", 0, len(list))
}

func (r *reader) requestList(s *moriensv1.MatcherRequests) []request {
	operations := r.operations(s.GetOperation())
	n := len(s.GetFlags())
	if !r.same("requests", n, len(s.GetBy()), len(s.GetHeld())) {
		return nil
	}
	list := make([]request, n)
	for i := range list {
		x, held := &list[i], int(s.Held[i])
		count := s.Flags[i] >> countShift
		if held > len(x.operations) || held > len(operations) || int(count) > held {
			r.fail("a request's operations")
			return nil
		}
		x.count, x.by = uint8(count), r.numbered(s.By[i])
		x.persistent, x.active = s.Flags[i]&flagPersistent != 0, s.Flags[i]&flagActive != 0
		copy(x.operations[:], operations[:held])
		operations = operations[held:]
		for k := range x.operations[:count] {
			if x.operations[k].thread == nil {
				r.fail("an operation of no thread")
			}
		}
	}
	r.same("operations without a request", 0, len(operations))
	return list
}

func (r *reader) operations(s *moriensv1.MatcherOperations) []operation {
	n := len(s.GetKind())
	if !r.same("operations", n, len(s.GetThread()), len(s.GetRow()), len(s.GetPeer()), len(s.GetTag()), len(s.GetComm()), len(s.GetBytes()), len(s.GetChannel()), len(s.GetPosting()),
		len(s.GetFunction()), len(s.GetPath()), len(s.GetOrdinal())) {
		return nil
	}
	list := make([]operation, n)
	for i := range list {
		if s.Function[i] > math.MaxUint16 {
			r.fail("an operation's call")
			return nil
		}
		list[i] = operation{
			kind: moriensv1.Transfers_Kind(s.Kind[i] &^ flagUnreported), unreported: s.Kind[i]&flagUnreported != 0, thread: r.numbered(s.Thread[i]), row: s.Row[i],
			function: mpicall.ID(s.Function[i]), path: s.Path[i],
			peer: s.Peer[i], tag: s.Tag[i], comm: s.Comm[i], bytes: s.Bytes[i], channel: s.Channel[i], ordinal: s.Ordinal[i],
			posting: r.posted(s.Posting[i]),
		}
	}
	return list
}

func (r *reader) probed(s *moriensv1.MatcherState) {
	list := r.operations(s.GetProbed())
	if !r.same("matched probes", len(s.GetMessage()), len(s.GetMessageLength())) {
		return
	}
	for _, o := range list {
		if o.thread == nil {
			r.fail("a message of no thread")
			return
		}
	}
	r.m.probe(len(list))
	for i, handle := range s.GetMessage() {
		n := int(s.MessageLength[i])
		if n == 0 || n > len(list) || r.m.messages[handle] != nil {
			r.fail("the messages of a handle")
			return
		}
		r.m.messages[handle], list = list[:n:n], list[n:]
	}
	r.same("messages without a handle", 0, len(list))
}

func (r *reader) unfollowed(s *moriensv1.MatcherState) {
	if !r.same("requests that are not followed", len(s.GetUnfollowed()), len(s.GetUnfollowedEnds()), len(s.GetUnfollowedPersistent())) {
		return
	}
	for i, handle := range s.GetUnfollowed() {
		u := unfollowed{s.UnfollowedEnds[i], s.UnfollowedPersistent[i]}
		if _, there := r.m.unfollowed[handle]; there || u == (unfollowed{}) {
			r.fail("requests that are not followed")
			return
		}
		r.m.unfollowed[handle] = u
	}
}

// waiting restores what has ended and was not sent off. What has no posting any more goes out once communicators are
// defined, and without an ordinal.
func (r *reader) waiting(s *moriensv1.MatcherState) {
	list := r.operations(s.GetWaiting())
	if !r.same("what waits", len(list), len(s.GetWaitingBy()), len(s.GetWaitingRow())) {
		return
	}
	for i, o := range list {
		if o.thread == nil {
			r.fail("what waits, of no thread")
			return
		}
		if h := (held{o, r.numbered(s.WaitingBy[i]), s.WaitingRow[i]}); o.posting != nil {
			r.wait(o.posting, h)
		} else {
			r.m.order.old = append(r.m.order.old, h)
		}
	}
}

// numbers restores what is counted.
func (r *reader) numbers(s *moriensv1.MatcherState) {
	channels := r.operations(s.GetChannel())
	if !r.same("ordinals", len(s.GetComm()), len(s.GetOrdinal())) || !r.same("channels", len(channels), len(s.GetChannels())) {
		return
	}
	for i, comm := range s.GetComm() {
		r.m.meetings.set(comm, s.Ordinal[i])
	}
	for i, o := range channels {
		r.m.channels[channel{o.kind, o.comm, o.peer, o.tag}] = s.Channels[i]
	}
	x := s.GetStats()
	r.m.stats = Stats{
		Transfers: x.GetTransfers(), EndsUnknown: x.GetEndsUnknown(), StartsUnknown: x.GetStartsUnknown(), Lost: x.GetLost(),
		Open: x.GetOpen(), Unfollowed: x.GetUnfollowed(), Shared: x.GetShared(), Cancelled: x.GetCancelled(), Late: x.GetLate(),
		Collectives: x.GetCollectives(),
	}
}
