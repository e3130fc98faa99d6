package message

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/ring"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// sent is one operation as it went out, in the clear.
type sent struct {
	Kind           moriensv1.Transfers_Kind
	Ring, Row      uint64
	Peer, Tag      int32
	Comm           uint32
	Bytes          uint64
	DoneRing, Done uint64 // 0, 0: none
	Unreported     bool
	Meeting        uint64 // ordinal of a collective, plus 1
}

// placed is a transfer with its place in its lane.
type placed struct {
	What    sent
	Epoch   uint32
	Ordinal uint64
}

// sink keeps what a Matcher finds.
type sink struct {
	all    []sent
	placed []placed
	before map[uint64][]uint64
	inside map[uint64][]uint64
}

func (s *sink) Gap(t *Thread, row uint64, inside bool) {
	if s.before == nil {
		s.before, s.inside = make(map[uint64][]uint64), make(map[uint64][]uint64)
	}
	if inside {
		s.inside[t.ring] = append(s.inside[t.ring], row)
	} else {
		s.before[t.ring] = append(s.before[t.ring], row)
	}
}

func (s *sink) Moved(t *Thread, m *Move) {
	o := sent{Kind: m.Kind, Ring: t.ring, Row: m.Row, Peer: m.Peer, Tag: m.Tag, Comm: m.Comm, Bytes: m.Bytes, Unreported: m.Untold}
	if m.By != nil {
		o.DoneRing, o.Done = m.By.ring, m.Done
	}
	if m.Kind == wasMet {
		o.Meeting = m.Ordinal
	}
	s.all = append(s.all, o)
	s.placed = append(s.placed, placed{o, m.Epoch, m.Ordinal})
}

// none takes no notice.
type none struct{}

func (none) Gap(*Thread, uint64, bool) {}
func (none) Moved(*Thread, *Move)      {}

func (s *sink) sorted() []sent {
	slices.SortFunc(s.all, func(a, b sent) int {
		return cmp.Or(cmp.Compare(a.Ring, b.Ring), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Meeting, b.Meeting))
	})
	return s.all
}

// A program is a random process of several threads, made call by call, with the outcome of each of its operations.
type program struct {
	t         *rapid.T
	now       uint64
	exits     map[uint64]bool
	threads   []*planned
	live      []*task
	tasks     []*task // all that ever were
	handles   uint64  // given out
	freed     []uint64
	want      []sent
	cancelled uint64
	met       uint64 // of want, collectives
	meetings  uint32 // of the process's communicator so far
	unique    int32
}

type planned struct {
	ring    uint64
	records []ring.Record
	busy    uint64 // until then it is inside a call
}

// A task is a request of the program.
type task struct {
	handle     uint64
	persistent bool
	active     bool
	kind       ring.TransferKind // 0: a collective's
	posted     sent
	resolved   sent // what a receive became
	shared     bool
	ready      uint64 // the call that made, started or ended it has returned by then
}

const sharedHandle = 7

// call begins a call of a thread; other threads' calls can begin before it ends.
func (p *program) call(th *planned) ring.Record {
	p.now = max(p.now+1+rapid.Uint64Range(0, 5).Draw(p.t, "gap"), th.busy)
	th.busy = p.now + rapid.Uint64Range(1, 30).Draw(p.t, "ticks")
	for p.exits[th.busy] { // else the order of the two would be undefined
		th.busy++
	}
	p.exits[th.busy] = true
	return ring.Record{Enter: p.now, Exit: th.busy}
}

func (p *program) handle() uint64 {
	if n := len(p.freed); n > 0 && rapid.Bool().Draw(p.t, "reuse") {
		h := p.freed[n-1]
		p.freed = p.freed[:n-1]
		return h
	}
	p.handles++
	return 100 + p.handles
}

func (p *program) record(th *planned, call mpicall.ID, r ring.Record) uint64 {
	r.Call = call
	th.records = append(th.records, r)
	return uint64(len(th.records)) - 1
}

// post makes a request, at rest or not, or starts one.
func (p *program) post(th *planned) {
	kind := rapid.SampledFrom([]ring.TransferKind{ring.Sent, ring.Received, 0}).Draw(p.t, "kind")
	x := &task{kind: kind, persistent: rapid.IntRange(0, 3).Draw(p.t, "persistent") == 0}
	x.shared = kind == ring.Sent && !x.persistent && rapid.Bool().Draw(p.t, "shared")
	x.handle = sharedHandle
	if !x.shared {
		x.handle = p.handle()
	}
	p.unique++
	tag := p.unique
	peer := int32(rapid.IntRange(0, 3).Draw(p.t, "peer"))
	bytes := rapid.Uint64Range(0, 1000).Draw(p.t, "bytes")
	r := p.call(th)
	call := mpicall.Isend
	if x.persistent {
		call = mpicall.SendInit
	}
	asked, askedTag := peer, tag
	if kind == ring.Received && rapid.Bool().Draw(p.t, "wild") {
		asked, askedTag = ring.Any, ring.Any
	}
	if kind == 0 {
		if call = mpicall.Iallreduce; x.persistent {
			call = mpicall.AllreduceInit
		}
		r.IsCollective, r.Collective = true, ring.Collective{Comm: 1, Root: ring.Any, Ordinal: p.meetings, Sent: bytes, Received: bytes}
		r.Requests = []ring.Request{{Event: ring.Made, Handle: x.handle}}
	} else {
		r.Transfers = []ring.Transfer{{Kind: kind, Bytes: bytes, Request: x.handle, Peer: asked, Tag: askedTag, Comm: 1}}
	}
	row := p.record(th, call, r)
	x.posted = sent{Kind: kindOf(kind), Ring: th.ring, Row: row, Peer: asked, Tag: askedTag, Comm: 1, Bytes: bytes}
	x.resolved = sent{Peer: peer, Tag: tag, Bytes: bytes / 2}
	if kind == 0 {
		p.meetings++
		x.posted = sent{Kind: wasMet, Ring: th.ring, Row: row, Peer: ring.Any, Tag: ring.Any, Comm: 1, Meeting: uint64(p.meetings)}
	}
	x.active, x.ready = !x.persistent, r.Exit
	p.live = append(p.live, x)
	p.tasks = append(p.tasks, x)
}

func (p *program) start(th *planned) {
	r := p.call(th)
	var rest []*task
	for _, x := range p.live {
		if x.persistent && !x.active && x.ready <= r.Enter {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		return
	}
	n := rapid.IntRange(1, len(rest)).Draw(p.t, "starts")
	row := uint64(len(th.records))
	for _, x := range rest[:n] {
		if x.active, x.ready, x.posted.Ring, x.posted.Row = true, r.Exit, th.ring, row; x.kind == 0 {
			x.posted.Tag++
		}
		r.Requests = append(r.Requests, ring.Request{Event: ring.Started, Handle: x.handle})
	}
	p.record(th, mpicall.Startall, r)
}

// end completes, cancels or frees some of the requests, of whatever thread.
func (p *program) end(th *planned) {
	r := p.call(th)
	row := uint64(len(th.records))
	kept := p.live[:0:0]
	sharedSends := 0
	for _, x := range p.live {
		if len(r.Requests) >= 5 || rapid.Bool().Draw(p.t, "leave") || x.ready > r.Enter {
			kept = append(kept, x)
			continue
		}
		if x.shared {
			// Which of the requests that share a handle is meant is not known: the oldest of the thread's, and the oldest.
			sharedSends++
			kept = append(kept, x)
			continue
		}
		event := rapid.SampledFrom([]ring.RequestEvent{ring.Completed, ring.Completed, ring.Completed, ring.Cancelled, ring.Freed}).Draw(p.t, "event")
		if !x.active {
			event = ring.Freed
		}
		q := ring.Request{Event: event, Handle: x.handle, Source: ring.Any, Tag: ring.Any}
		if x.active {
			p.finish(x, &q, th.ring, row)
		}
		r.Requests = append(r.Requests, q)
		x.ready = r.Exit
		if x.active = false; x.persistent && event != ring.Freed {
			kept = append(kept, x)
		} else {
			p.freed = append(p.freed, x.handle)
		}
	}
	p.live = kept
	for range sharedSends {
		i := -1
		for k, x := range p.live {
			if better := x.shared && x.ready <= r.Enter; better && (i < 0 || older(x, p.live[i], th.ring)) {
				i = k
			}
		}
		q := ring.Request{Event: ring.Completed, Handle: sharedHandle}
		p.finish(p.live[i], &q, th.ring, row)
		r.Requests = append(r.Requests, q)
		p.live = slices.Delete(p.live, i, i+1)
	}
	if len(r.Requests) > 0 {
		p.record(th, rapid.SampledFrom([]mpicall.ID{mpicall.Waitsome, mpicall.Testsome}).Draw(p.t, "ends"), r)
	}
}

// poll is a run of calls that find nothing.
func (p *program) poll(th *planned) {
	p.record(th, rapid.SampledFrom([]mpicall.ID{mpicall.Test, mpicall.Iprobe}).Draw(p.t, "poll"), p.call(th))
}

// calls are the records of the program.
func (p *program) calls() calls {
	c := make(calls)
	for _, th := range p.threads {
		for row, r := range th.records {
			c[rowOf{th.ring, uint64(row)}] = r
		}
	}
	return c
}

// older reports whether, of two sends that share a handle, a thread ends x rather than y: its own first, then the one
// that was made first.
func older(x, y *task, by uint64) bool {
	if own := x.posted.Ring == by; own != (y.posted.Ring == by) {
		return own
	}
	return x.ready < y.ready
}

// finish notes the outcome of an active request.
func (p *program) finish(x *task, q *ring.Request, by, row uint64) {
	if x.kind == 0 {
		if o := x.posted; q.Event == ring.Completed {
			o.DoneRing, o.Done = by, row
			p.met++
			p.want = append(p.want, o)
		}
		return
	}
	switch o := x.posted; q.Event {
	case ring.Cancelled:
		p.cancelled++
	case ring.Freed:
		p.want = append(p.want, o)
	default:
		o.DoneRing, o.Done = by, row
		if x.kind == ring.Received {
			o.Peer, o.Tag, o.Bytes = x.resolved.Peer, x.resolved.Tag, x.resolved.Bytes
			q.Source, q.Tag, q.Bytes = o.Peer, o.Tag, o.Bytes
		}
		p.want = append(p.want, o)
	}
}

func random(t *rapid.T) *program {
	p := &program{t: t, exits: make(map[uint64]bool)}
	for i := range rapid.IntRange(1, 3).Draw(t, "threads") {
		p.threads = append(p.threads, &planned{ring: uint64(i + 1)})
	}
	for range rapid.IntRange(0, 60).Draw(t, "calls") {
		th := rapid.SampledFrom(p.threads).Draw(t, "thread")
		rapid.SampledFrom([]func(*planned){p.post, p.post, p.start, p.end, p.end, p.poll}).Draw(t, "call")(th)
	}
	return p
}

// TestMatchesModel runs random programs of several threads, whose calls follow each other but whose rings are read in
// pieces, against what each request is known to become.
func TestMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := random(t)
		open := uint64(0)
		for _, x := range p.live {
			if x.active {
				open++
			}
			if x.active && x.kind != 0 {
				p.want = append(p.want, x.posted)
			}
		}
		var got sink
		m := feed(t, p, make([]bool, len(p.threads)), &got)
		want := sink{all: p.want}
		if d := gocmp.Diff(want.sorted(), got.sorted()); d != "" {
			t.Fatalf("operations differ (-want +got):\n%s", d)
		}
		checkSums(t, m, got.all, p.calls())
		s := m.Stats()
		if s.EndsUnknown+s.StartsUnknown+s.Lost+s.Late != 0 || s.Open != open || s.Cancelled != p.cancelled || s.Transfers+p.met != uint64(len(p.want)) || s.Collectives != p.met {
			t.Fatalf("stats %+v; open %d, cancelled %d, transfers and collectives %d, collectives %d", s, open, p.cancelled, len(p.want), p.met)
		}
	})
}

// feed reads a program's rings piece by piece, now this one, now that.
func feed(t *rapid.T, p *program, missing []bool, to *sink) *Matcher {
	return feedInto(t, p, missing, NewRoom(0), to)
}

func feedInto(t *rapid.T, p *program, missing []bool, room *Room, to *sink) *Matcher {
	m := New(to)
	m.Share(room)
	m.Define(1, 4)
	threads := make([]*Thread, len(p.threads))
	read := make([]int, len(p.threads))
	left := 0
	for i, th := range p.threads {
		threads[i] = m.Thread(th.ring)
		left += len(th.records)
	}
	for left > 0 {
		i := rapid.IntRange(0, len(threads)-1).Draw(t, "ring")
		records := p.threads[i].records
		n := rapid.IntRange(0, len(records)-read[i]).Draw(t, "piece")
		for range n {
			threads[i].Add(uint64(read[i]), &records[read[i]], false)
			read[i]++
		}
		left -= n
		if read[i] < len(records) && records[read[i]].Lost || read[i] == len(records) && missing[i] {
			threads[i].Read(threads[i].lastExit)
		} else if read[i] < len(records) {
			threads[i].Read(records[read[i]].Enter)
		} else {
			threads[i].Read(p.now + 1)
		}
		m.Advance()
	}
	for i, th := range p.threads {
		threads[i].End(uint64(len(th.records)), missing[i])
	}
	m.End()
	return m
}

// A collective that reads a file moves what it reads at once and has an end besides; a start is counted from the making
// of its request on.
func TestCollectivesEnd(t *testing.T) {
	var s sink
	m, th := one(&s)
	call := func(row uint64, of mpicall.ID, r ring.Record) {
		r.Call, r.Enter, r.Exit = of, 10*row, 10*row+5
		th.Add(row, &r, false)
	}
	meet := func(ordinal uint32) ring.Collective {
		return ring.Collective{Comm: 1, Root: ring.Any, Ordinal: ordinal}
	}
	does := func(event ring.RequestEvent, handle uint64) []ring.Request {
		return []ring.Request{{Event: event, Handle: handle, Source: ring.Any, Tag: ring.Any}}
	}
	call(0, mpicall.FileIreadAll, ring.Record{
		Transfers:    []ring.Transfer{{Kind: ring.Read, Bytes: 9, Request: 5, Peer: ring.Any, Tag: ring.Any, Comm: 1}},
		IsCollective: true, Collective: meet(3),
	})
	call(1, mpicall.BarrierInit, ring.Record{IsCollective: true, Collective: meet(4), Requests: does(ring.Made, 6)})
	call(2, mpicall.Start, ring.Record{Requests: does(ring.Started, 6)})
	call(3, mpicall.Waitall, ring.Record{Requests: append(does(ring.Completed, 5), does(ring.Completed, 6)...)})
	call(4, mpicall.Start, ring.Record{Requests: does(ring.Started, 6)})
	call(5, mpicall.Wait, ring.Record{Requests: does(ring.Completed, 6)})
	call(6, mpicall.Start, ring.Record{Requests: does(ring.Started, 6)})
	call(7, mpicall.RequestFree, ring.Record{Requests: does(ring.Freed, 6)}) // never known to be complete
	call(8, mpicall.Ibarrier, ring.Record{IsCollective: true, Collective: meet(5), Requests: does(ring.Made, 6)})
	expect(t, &s, m, Stats{Collectives: 3, Open: 1},
		sent{Kind: wasMet, Ring: 1, Peer: -1, Tag: -1, Comm: 1, Meeting: 4, DoneRing: 1, Done: 3},
		sent{Kind: moriensv1.Transfers_KIND_READ, Ring: 1, Peer: -1, Tag: -1, Comm: 1, Bytes: 9},
		sent{Kind: wasMet, Ring: 1, Row: 2, Peer: -1, Tag: 0, Comm: 1, Meeting: 5, DoneRing: 1, Done: 3},
		sent{Kind: wasMet, Ring: 1, Row: 4, Peer: -1, Tag: 1, Comm: 1, Meeting: 5, DoneRing: 1, Done: 5})
}
