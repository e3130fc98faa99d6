package rebuild

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/collector/store"
	"moriens/conclude/match"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// An act is a send or a receive of a planted job.
type act struct {
	receive          bool
	of, peer         int // ranks
	tag              int32
	wild             bool
	row, done        int // of the rank; the same rank's
	rowGone, unknown bool
	failed           bool // it returned an error; whether it has moved anything is not reported
	partner          *act
}

// A plan is a job of some ranks that exchange messages, row by row.
type plan struct {
	rows  []int // of each rank
	acts  []*act
	queue map[[3]int][2][]*act // by from, to, tag: sends and receives in their order
}

func (p *plan) add(receive bool, of, peer int, tag int32, wild bool, later int) {
	a := &act{receive: receive, of: of, peer: peer, tag: tag, wild: wild && receive, row: p.rows[of]}
	p.rows[of] += 1
	a.done = a.row + later
	p.acts = append(p.acts, a)
	key, side := [3]int{of, peer, int(tag)}, 0
	if receive {
		key, side = [3]int{peer, of, int(tag)}, 1
	}
	q := p.queue[key]
	q[side] = append(q[side], a)
	if n := len(q[side]); n <= len(q[1-side]) {
		a.partner, q[1-side][n-1].partner = q[1-side][n-1], a
	}
	p.queue[key] = q
}

// fail adds a call that returned an error.
func (p *plan) fail(receive bool, of, peer int, tag int32) {
	p.acts = append(p.acts, &act{receive: receive, of: of, peer: peer, tag: tag, row: p.rows[of], done: p.rows[of], failed: true})
	p.rows[of]++
}

// planned draws a job in which every message is received in the end. Some calls fail, if they may, and have moved
// nothing.
func planned(t *rapid.T, failures bool) *plan {
	ranks := rapid.IntRange(2, 3).Draw(t, "ranks")
	p := &plan{rows: make([]int, ranks), queue: make(map[[3]int][2][]*act)}
	step := func(receive bool, of, peer int, tag int32) {
		p.add(receive, of, peer, tag, rapid.Bool().Draw(t, "wild"), rapid.IntRange(0, 3).Draw(t, "later"))
	}
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		of, peer := rapid.IntRange(0, ranks-1).Draw(t, "of"), rapid.IntRange(0, ranks-1).Draw(t, "peer")
		receive, tag := rapid.Bool().Draw(t, "receive"), int32(rapid.IntRange(1, 2).Draw(t, "tag"))
		if failures && rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			p.fail(receive, of, peer, tag)
		} else {
			step(receive, of, peer, tag)
		}
	}
	for from := range ranks {
		for to := range ranks {
			for tag := 1; tag <= 2; tag++ {
				for {
					q := p.queue[[3]int{from, to, tag}]
					if missing := len(q[1]) - len(q[0]); missing == 0 {
						break
					} else if missing > 0 {
						step(false, from, to, int32(tag))
					} else {
						step(true, to, from, int32(tag))
					}
				}
			}
		}
	}
	for rank := range p.rows {
		p.rows[rank] += 4 // the calls that complete the last ones
	}
	return p
}

// A row's calls: 10 ticks each, 5 apart.
func enter(row int) uint64 { return 1000 + 15*uint64(row) }

// report plays an agent that reports a job, of which some rows are gone. What was pending then is given up.
func (p *plan) report(t fatal, gone [][]bool, ends []moriensv1.ProcessEnd_How) store.Frozen {
	s := store.New()
	a, _, err := s.Greet(&moriensv1.Hello{Agent: 1, Host: "n", Cpus: 1})
	if err != nil {
		t.Fatal(err)
	}
	sequence := uint64(0)
	send := func(m *moriensv1.ReportRequest) {
		sequence++
		m.Sequence = sequence
		if _, err := s.Apply(a, m); err != nil {
			t.Fatal(err)
		}
	}
	sample := func(ticks uint64) {
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{
			Clock: moriensv1.Clock_CLOCK_TSC, Ticks: ticks, MonotonicNs: int64(ticks), RealtimeNs: int64(ticks)}}})
	}
	sample(0)
	n := len(p.rows)
	send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
		Communicator: 1, Id: 77, Size: uint32(n), Peers: uint32(n), First: []int32{int32(n - 1)}, Stride: []int32{-1}, Count: []uint32{uint32(n)}}}})
	for rank := range n {
		id := uint64(rank + 1)
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: id, Rank: int32(rank), Size: int32(n), World: "w", Clock: moriensv1.Clock_CLOCK_TSC}}})
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: id}}})
		// The communicator has the ranks the other way round.
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: id, Comm: 3, Communicator: 1, Rank: uint32(n - 1 - rank)}}})
		c := &sectiontest.Rows{Ring: id}
		var moves []sectiontest.Move
		number := make([]int, p.rows[rank]) // of each row that is left
		last, missing := uint64(0), false
		for row := range p.rows[rank] {
			if gone[rank][row] {
				number[row], missing = -1, true
				continue
			}
			number[row] = len(c.Function)
			if missing {
				c.GapsBefore = append(c.GapsBefore, uint64(len(c.Function)))
			}
			if missing || len(c.Function) == 0 {
				c.NoBurst = append(c.NoBurst, uint32(len(c.Function)))
			}
			if len(c.Function) == 0 {
				c.Origin, last = enter(row), enter(row)
			}
			missing = false
			c.Add(uint32(mpicall.Waitall), 0, enter(row)-last, 10)
			last = enter(row) + 10
		}
		if missing {
			c.GapsBefore = append(c.GapsBefore, uint64(len(c.Function)))
		}
		for _, o := range p.acts {
			if o.of != rank || number[o.row] < 0 {
				o.rowGone = o.rowGone || o.of == rank
				continue
			}
			peer, tag, done := int32(n-1-o.peer), o.tag, int64(number[o.done]-number[o.row]+1)
			if slices.Contains(gone[rank][o.row:o.done+1], true) {
				o.unknown, done = true, 0
				if o.wild {
					peer, tag = -1, -1
				}
			}
			if o.failed {
				peer = -1
			}
			kind := moriensv1.Transfers_KIND_SENT
			if o.receive {
				kind = moriensv1.Transfers_KIND_RECEIVED
			}
			moves = append(moves, sectiontest.Move{Kind: kind, Peer: peer, Tag: tag, Comm: 3, Transfer: section.Transfer{Row: uint64(number[o.row]), Done: done, Bytes: 8}})
			o.row = number[o.row] // as it is reported
		}
		send(c.Message())
		if len(moves) > 0 {
			send(sectiontest.Message(sectiontest.Moves(id, 0, moves...)))
		}
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: id, Transfers: uint64(len(moves))}}})
		send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: id, How: ends[rank]}}})
	}
	sample(1 << 20)
	return s.Freeze()
}

func all(n int, how moriensv1.ProcessEnd_How) []moriensv1.ProcessEnd_How {
	return slices.Repeat([]moriensv1.ProcessEnd_How{how}, n)
}

func (p *plan) whole() [][]bool {
	gone := make([][]bool, len(p.rows))
	for rank, rows := range p.rows {
		gone[rank] = make([]bool, rows)
	}
	return gone
}

// drawn finds the lines of a run, by the sender's and the receiver's rank and row, and checks that all add up.
func drawn(t *rapid.T, r *Rebuilt, m matched) map[[4]int]bool {
	lines := make(map[[4]int]bool)
	for _, x := range m.Pairs {
		from, to := &r.Run.Threads[x.Send.Thread], &r.Run.Threads[x.Receive.Thread]
		lines[[4]int{from.Rank, int(x.Send.Row), to.Rank, int(x.Receive.Row)}] = true
	}
	sends, receives := m.Sends, m.Receives
	for _, u := range m.Unpaired {
		sends, receives = sends-u.Sends, receives-u.Receives
	}
	if n := int64(len(m.Pairs)); sends != n || receives != n || len(lines) != int(n) || len(r.Run.Messages) != int(n) {
		t.Fatalf("%d lines, %d of them differ, %d sends and %d receives are not unpaired", n, len(lines), sends, receives)
	}
	return lines
}

func (p *plan) truth() map[[4]int]bool {
	lines := make(map[[4]int]bool)
	for _, o := range p.acts {
		if !o.receive && !o.failed && !o.rowGone && !o.partner.rowGone && !o.unknown && !o.partner.unknown {
			lines[[4]int{o.of, o.row, o.partner.of, o.partner.row}] = true
		}
	}
	return lines
}

// Of a job that is reported completely every message is a line.
func TestAllMessagesMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := planned(t, false)
		how := rapid.SampledFrom([]moriensv1.ProcessEnd_How{moriensv1.ProcessEnd_HOW_FINALIZED, moriensv1.ProcessEnd_HOW_DIED}).Draw(t, "how")
		r, m := rebuiltAll(t, p.report(t, p.whole(), all(len(p.rows), how)))
		if d := cmp.Diff(p.truth(), drawn(t, r, m)); d != "" {
			t.Fatalf("lines differ (-want +got):\n%s", d)
		}
		for _, m := range r.Run.Messages {
			if m.SendNS != m.PhysicalSendNS || m.PhysicalRecvNS < m.RecvNS || m.Bytes != 8 || m.LateNS < 0 {
				t.Fatalf("%+v", m)
			}
		}
	})
}

// Of a job of which parts are missing, or of which calls have failed, no line is wrong; those before the first gap are
// all there.
func TestNoWrongLineAfterLoss(t *testing.T) {
	all, right := 0, 0
	property := func(t *rapid.T) {
		p := planned(t, true)
		gone := p.whole()
		for rank := range gone {
			for range rapid.IntRange(0, 2).Draw(t, "gaps") {
				at := rapid.IntRange(0, p.rows[rank]-1).Draw(t, "at")
				for i := at; i < min(at+1+rapid.IntRange(0, 4).Draw(t, "rows"), p.rows[rank]); i++ {
					gone[rank][i] = true
				}
			}
		}
		ends := make([]moriensv1.ProcessEnd_How, len(p.rows))
		for rank := range ends {
			ends[rank] = rapid.SampledFrom([]moriensv1.ProcessEnd_How{moriensv1.ProcessEnd_HOW_FINALIZED, moriensv1.ProcessEnd_HOW_DIED}).Draw(t, "how")
		}
		r, m := rebuiltAll(t, p.report(t, gone, ends))
		truth := p.truth()
		all += len(truth)
		for line := range drawn(t, r, m) {
			if right++; !truth[line] {
				t.Fatalf("a wrong line: %v", line)
			}
		}
	}
	// Chance may draw as few as a short test takes with little but losses, or with none.
	for try := 0; (right < all/4 || right >= all) && try < 100; try++ {
		rapid.Check(t, property)
	}
	if right < all/4 || right == all {
		t.Errorf("%d of %d lines: either too few are drawn or nothing was lost", right, all)
	}
}

// fatal is what a plain test and one of a property have in common.
type fatal interface{ Fatal(...any) }

// After a pause at the beginning the last messages are matched from the end back, to the last gap.
func TestPausedStart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		gone    int // a row of the receiver that is gone too, -1: none
		how     moriensv1.ProcessEnd_How
		matched int
	}{
		{"to the end", -1, moriensv1.ProcessEnd_HOW_FINALIZED, 8},
		{"and in the middle", 5, moriensv1.ProcessEnd_HOW_FINALIZED, 4},
		{"and in the end", 10, moriensv1.ProcessEnd_HOW_FINALIZED, 0},
		{"and died", -1, moriensv1.ProcessEnd_HOW_DIED, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan{rows: make([]int, 2), queue: make(map[[3]int][2][]*act)}
			for range 10 {
				p.add(false, 0, 1, 1, false, 0)
				p.add(true, 1, 0, 1, false, 0)
			}
			for rank := range p.rows {
				p.rows[rank]++
			}
			gone := p.whole()
			gone[1][0], gone[1][1] = true, true
			if tt.gone >= 0 {
				gone[1][tt.gone] = true
			}
			r, m := rebuiltAll(t, p.report(t, gone, all(2, tt.how)))
			if len(r.Run.Messages) != tt.matched || m.Unpaired[match.Missing].Sends != int64(10-tt.matched) {
				t.Errorf("%d messages, %+v", len(r.Run.Messages), m.Unpaired)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	const messages = 200_000
	p := &plan{rows: make([]int, 8), queue: make(map[[3]int][2][]*act)}
	for i := range messages {
		from := i % len(p.rows)
		to := (from + 1) % len(p.rows)
		p.add(false, from, to, int32(i%3), false, 0)
		p.add(true, to, from, int32(i%3), true, 0)
	}
	for rank := range p.rows {
		p.rows[rank]++
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f := p.report(b, p.whole(), all(len(p.rows), moriensv1.ProcessEnd_HOW_FINALIZED))
		b.StartTimer()
		if r, _ := rebuiltAll(b, f); len(r.Run.Messages) != messages {
			b.Fatal(len(r.Run.Messages))
		}
	}
}

// The columns of calls, and the communicator, in which the ranks stand the other way round.
func TestColumns(t *testing.T) {
	p := &plan{rows: make([]int, 3), queue: make(map[[3]int][2][]*act)}
	p.add(false, 0, 2, 5, false, 1)
	p.add(true, 2, 0, 5, true, 0)
	for rank := range p.rows {
		p.rows[rank] += 2
	}
	r, _ := rebuiltAll(t, p.report(t, p.whole(), all(3, moriensv1.ProcessEnd_HOW_FINALIZED)))
	run := r.Run
	want := trace.Transfers{
		Call: []uint32{0}, Kind: []trace.TransferKind{trace.Sent}, Peer: []int32{2}, Tag: []int32{5}, Comm: []int32{0}, Bytes: []int64{8}, Done: []int32{1},
	}
	if d := cmp.Diff(want, run.Threads[0].Transfers); d != "" {
		t.Error(d)
	}
	want.Kind, want.Peer, want.Done = []trace.TransferKind{trace.Received}, []int32{0}, []int32{0}
	if d := cmp.Diff(want, run.Threads[2].Transfers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Communicator{{ID: 1, Ranks: []int{2, 1, 0}}}, run.Communicators); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]trace.Message{{From: 0, To: 2, PhysicalRecvNS: 10, Bytes: 8, Tag: 5}}, run.Messages); d != "" {
		t.Error(d)
	}
}
