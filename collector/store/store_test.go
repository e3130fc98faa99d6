package store

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// An agentStub numbers messages as an agent does.
type agentStub struct {
	t     *testing.T
	store *Store
	agent *Agent
	next  uint64
}

func newStub(t *testing.T) *agentStub {
	s := New()
	a, held, err := s.Greet(&moriensv1.Hello{Agent: 1, Host: "n1", Cpus: 2})
	if err != nil || held != 0 {
		t.Fatalf("Greet = %d, %v", held, err)
	}
	return &agentStub{t: t, store: s, agent: a}
}

func (s *agentStub) apply(m *moriensv1.ReportRequest) error {
	s.next++
	m.Sequence = s.next
	held, err := s.store.Apply(s.agent, m)
	if held != s.next {
		s.t.Fatalf("held %d, want %d", held, s.next)
	}
	return err
}

func (s *agentStub) must(m *moriensv1.ReportRequest) {
	s.t.Helper()
	if err := s.apply(m); err != nil {
		s.t.Fatal(err)
	}
}

func process(id uint64, rank, size int32) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
		Process: id, Rank: rank, Size: size, Clock: moriensv1.Clock_CLOCK_TSC,
	}}}
}

func ring(id, process uint64) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: process}}}
}

// sections are blocks of calls as a message.
func sections(blocks ...*section.Block) *moriensv1.ReportRequest {
	return sectiontest.Message(sectiontest.Calls(blocks...))
}

func callPath(process uint64, path uint32, frames ...*moriensv1.Frame) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
		Process: process, Path: path, Frames: frames,
	}}}
}

// two is two calls of a ring, of two functions.
func two(ring, first uint64) *section.Block {
	b := &section.Block{Ring: ring, First: first, Origin: 10, Sites: []section.Site{{Function: 1}, {Function: 2}}}
	b.Grow(2, 0)
	b.Site[1], b.Burst[0], b.Burst[1], b.Call[0], b.Call[1] = 1, 1, 2, 3, 4
	return b
}

// counted gives two calls the counts of one event.
func counted(b *section.Block) *section.Block {
	b.Grow(2, 1)
	b.Counts[0][0], b.Counts[0][1] = 100, 200
	return b
}

func TestApplyHolds(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 0, 2))
	s.must(process(2, 1, 2))
	s.must(ring(11, 1))
	s.must(ring(12, 2))
	frame := func(module string) *moriensv1.Frame {
		return &moriensv1.Frame{Module: module, BuildId: []byte{0xab}, Offset: 0x10}
	}
	// One place in a file, mapped and numbered differently by the two processes.
	s.must(callPath(1, 1, frame("/opt/app")))
	s.must(callPath(2, 5, frame("/mnt/opt/app")))
	b := two(11, 0)
	b.Sites[0].Path = 1
	b.NoBurst = []uint32{0}
	s.must(sections(b))
	b = two(12, 0)
	b.Sites, b.Site[1] = []section.Site{{Function: 1, Path: 5}}, 0
	s.must(sections(b))

	f := s.store.Freeze()
	first := func(process int) uint32 { return new(Reader).Paths(&f.Processes[process].Rings[0].Chunks[0]).Path[0] }
	if first(0) != first(1) {
		t.Errorf("one call path has two numbers: %d and %d", first(0), first(1))
	}
	want := []trace.CallPath{
		{},
		{Function: "MPI_Send", Frames: []trace.Frame{{Module: "app", BuildID: "ab", Offset: 0x10}}},
		{Function: "MPI_Bsend"},
	}
	if got := f.CallPaths[1].Function; got == "" {
		t.Error("call path 1 has no function")
	}
	want[1].Function, want[2].Function = f.CallPaths[1].Function, f.CallPaths[2].Function
	if d := cmp.Diff(want, f.CallPaths); d != "" {
		t.Errorf("call paths differ (-want +got):\n%s", d)
	}
	if f.Totals.Calls != 4 || f.Totals.Bursts != 3 || f.Totals.Processes != 2 {
		t.Errorf("totals %+v", f.Totals)
	}
	if _, err := s.store.Apply(s.agent, process(3, 0, 1)); !errors.Is(err, ErrFrozen) {
		t.Errorf("Apply after Freeze: %v", err)
	}
}

func TestApplyDropsDuplicates(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 0, 1))
	s.must(ring(11, 1))
	m := sections(two(11, 0))
	s.must(m)
	again := sections(two(11, 0))
	again.Sequence = m.Sequence
	held, err := s.store.Apply(s.agent, again)
	if held != m.Sequence || err != nil {
		t.Errorf("duplicate: %d, %v", held, err)
	}
	if totals := s.store.Totals(); totals.Calls != 2 || totals.Duplicates != 1 {
		t.Errorf("totals %+v", totals)
	}
	// A reconnected agent learns what is held.
	if _, held, err := s.store.Greet(&moriensv1.Hello{Agent: 1}); held != m.Sequence || err != nil {
		t.Errorf("Greet again: %d, %v", held, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	with := func(change func(b *section.Block)) *moriensv1.ReportRequest {
		b := counted(two(11, 2))
		change(b)
		return sections(b)
	}
	without := func(column byte) *moriensv1.ReportRequest {
		return sectiontest.Message(sectiontest.Without(sectiontest.Calls(counted(two(11, 2))), column))
	}
	const callTicks, counts = 4, 64 // columns
	body := func(m *moriensv1.ReportRequest) *moriensv1.ReportRequest { return m }
	field := func(number protowire.Number) *moriensv1.ReportRequest {
		m := new(moriensv1.ReportRequest)
		if err := proto.Unmarshal(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), nil), m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	tests := []struct {
		name    string
		message *moriensv1.ReportRequest
		want    string
	}{
		{"no body", body(&moriensv1.ReportRequest{}), "no body"},
		{"hello twice", body(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: &moriensv1.Hello{}}}), "no body that"},
		{"process twice", process(1, 0, 1), "there already"},
		{"rank beyond size", process(9, 2, 2), "rank 2 of 2"},
		{"negative rank", process(9, -1, 2), "rank -1 of 2"},
		{"no size", process(9, 0, 0), "rank 0 of 0"},
		{"a size that nothing can be", process(9, 0, 1<<30), "rank 0 of 1073741824"},
		{"ring twice", ring(11, 1), "there already"},
		{"ring of nobody", ring(12, 77), "unknown process"},
		{"path of nobody", callPath(77, 1), "unknown process"},
		{"path 0", callPath(1, 0), "taken"},
		{"path twice", callPath(1, 3), "taken"},
		{"calls of nobody", sections(two(77, 0)), "unknown ring"},
		{"calls as a message", field(6), "no body that this version knows"},
		{"marks as a message", field(30), "no body that this version knows"},
		{"collectives as a message", field(25), "no body that this version knows"},
		{"gaps as a message", field(26), "no body that this version knows"},
		{"no calls", with(func(b *section.Block) { *b = section.Block{Ring: 11, First: 2, Unfinished: true} }), "has none"},
		{"no column", without(callTicks), "column 4 is missing"},
		{"gap", with(func(b *section.Block) { b.First = 3 }), "follows call 1"},
		{"overlap", with(func(b *section.Block) { b.First = 1 }), "follows call 1"},
		{"origin too large", with(func(b *section.Block) { b.Origin = math.MaxUint64 }), "overflow"},
		{"burst too large", with(func(b *section.Block) { b.Burst[1] = math.MaxUint64 }), "overflow"},
		{"call too large", with(func(b *section.Block) { b.Call[0] = math.MaxInt64 }), "overflow"},
		{"sum too large", with(func(b *section.Block) { b.Origin = math.MaxInt64 - 5 }), "overflow"},
		{"function 0", with(func(b *section.Block) { b.Sites[0].Function = 0 }), "unknown MPI function 0"},
		{"function of 16 bits", with(func(b *section.Block) { b.Sites[0].Function = math.MaxUint16 }), "unknown MPI function"},
		{"path not defined", with(func(b *section.Block) { b.Sites[1].Path = 4 }), "not defined"},
		{"no_burst beyond rows", with(func(b *section.Block) { b.NoBurst = []uint32{2} }), "column 10: row 2 of 2"},
		{"no_burst descends", with(func(b *section.Block) { b.NoBurst = []uint32{1, 0} }), "column 10: row"},
		{"polls_row beyond rows", with(func(b *section.Block) { b.PollsRow, b.Polls = []uint32{2}, []uint64{5} }), "column 13: row 2 of 2"},
		{"polls without a row", with(func(b *section.Block) { b.Polls = []uint64{5} }), "0 runs of polls have 1"},
		{"a run of one", with(func(b *section.Block) { b.PollsRow, b.Polls = []uint32{0}, []uint64{1} }), "run of 1"},
		{"a run without end", with(func(b *section.Block) { b.PollsRow, b.Polls = []uint32{0}, []uint64{math.MaxUint64} }), "a run of"},
		{"no counts", with(func(b *section.Block) { b.Events = 0 }), "counts of 0 events, the process has 1"},
		{"no column of counts", without(counts), "counts of 0 events, the process has 1"},
		{"no_counts beyond rows", with(func(b *section.Block) { b.NoCounts = []uint32{2} }), "column 12: row 2 of 2"},
		{"no_counts descends", with(func(b *section.Block) { b.NoCounts = []uint32{1, 0} }), "column 12: row"},
		{"a count of no event", with(func(b *section.Block) { b.NotRead = []section.NotRead{{Event: 1}} }), "count 1 of row 0 is not read"},
		{"nine events", body(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{
			Process: 9, Size: 1, Events: make([]string, 9)}}}), "9 events"},
		{"end of nobody's ring", body(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{
			RingEnd: &moriensv1.RingEnd{Ring: 5}}}), "unknown ring"},
		{"end of nobody", body(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{
			ProcessEnd: &moriensv1.ProcessEnd{Process: 5}}}), "unknown process"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t)
			p := process(1, 0, 1)
			p.GetProcess().Events = []string{"PAPI_TOT_INS"}
			s.must(p)
			s.must(ring(11, 1))
			s.must(callPath(1, 3))
			s.must(sections(counted(two(11, 0))))
			before := s.store.Totals()
			err := s.apply(tt.message)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			var content *ContentError
			if !errors.As(err, &content) {
				t.Errorf("%v ends the stream", err)
			}
			after := s.store.Totals()
			before.Refused++
			if before != after || len(s.agent.Refused) != 1 {
				t.Errorf("totals %+v, want %+v; refused %q", after, before, s.agent.Refused)
			}
			s.must(sections(counted(two(11, 2)))) // the ring continues as if nothing had arrived
		})
	}
}

func TestApplyRefusesGaps(t *testing.T) {
	s := newStub(t)
	m := process(1, 0, 1)
	m.Sequence = 2
	_, err := s.store.Apply(s.agent, m)
	var content *ContentError
	if err == nil || errors.As(err, &content) {
		t.Errorf("message 2 before message 1: %v", err)
	}
}

func TestApplyRefusesAfterEnd(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 0, 1))
	s.must(ring(11, 1))
	s.must(sections(two(11, 0)))
	end := func() *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 11, Calls: 7, Dropped: 5, Abandoned: 1}}}
	}
	// Messages of the ring were refused: its end says so, and holds all the same.
	if err := s.apply(end()); err == nil || !strings.Contains(err.Error(), "ends after 7 calls, 2 received") {
		t.Errorf("the end after calls that never arrived: %v", err)
	}
	if err := s.apply(end()); err == nil {
		t.Error("a ring ended twice")
	}
	if err := s.apply(sections(two(11, 2))); err == nil {
		t.Error("calls arrived after the ring's end")
	}
	if totals := s.store.Totals(); totals.Dropped != 5 || totals.Abandoned != 1 {
		t.Errorf("totals %+v", totals)
	}
}

func TestAttendance(t *testing.T) {
	s := newStub(t)
	again, _, _ := s.store.Greet(&moriensv1.Hello{Agent: 1})
	check := func(when string, grace time.Duration, want int) {
		t.Helper()
		if connected, expected := s.store.Attendance(grace); connected != 1 || expected != want {
			t.Errorf("%s: %d agents connected, %d are expected, want 1 and %d", when, connected, expected, want)
		}
	}
	check("two streams", 0, 1)
	s.store.Leave(again)
	check("one stream", 0, 1)
	s.store.Leave(s.agent)
	check("none, but it may come back", time.Hour, 1)
	check("none, and it took too long", 0, 0)
	s.store.Greet(&moriensv1.Hello{Agent: 1})
	check("back", 0, 1)
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	check("done, and not safe", 0, 1)
	s.agent.Safe(s.next)
	check("done", time.Hour, 0)
	s.agent.Safe(s.next - 1)
	s.store.Leave(s.agent)
	check("done, and gone before it was safe", time.Hour, 0)
}

// An agent without ranks is deserted once all ranks have connected and all processes have ended.
func TestDeserted(t *testing.T) {
	s := newStub(t)
	if _, _, err := s.store.Greet(&moriensv1.Hello{Agent: 2}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, want int) {
		t.Helper()
		if got := s.store.Deserted(time.Hour); got != want {
			t.Errorf("%s: %d are deserted, want %d", when, got, want)
		}
	}
	end := func(process uint64) *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: process}}}
	}
	check("no rank has connected", 0)
	s.must(process(1, 0, 2))
	check("a rank runs", 0)
	s.must(end(1))
	check("a rank is missing", 0)
	s.must(process(2, 1, 2))
	check("the last rank runs", 0)
	s.must(end(2))
	check("all is over", 1)
	s.must(process(3, 0, 1)) // spawned
	check("another world runs", 0)
	s.must(end(3))
	check("all is over again", 1)
	s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}})
	check("who had ranks is done", 1)
	if f := s.store.Freeze(); len(f.Agents) != 2 || len(f.Unfinished()) != 0 {
		t.Errorf("%d agents have not finished", len(f.Unfinished()))
	}
}

// An agent that is not done has not finished where a rank of it has not ended, or where it may have had one that is
// missing.
func TestUnfinished(t *testing.T) {
	for _, c := range []struct {
		size int32
		end  bool
		want int // with an agent without ranks that is not done either
	}{{1, true, 1}, {1, false, 2}, {2, true, 2}} {
		s := newStub(t)
		if _, _, err := s.store.Greet(&moriensv1.Hello{Agent: 2}); err != nil {
			t.Fatal(err)
		}
		s.must(process(1, 0, c.size))
		if c.end {
			s.must(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: 1}}})
		}
		if f := s.store.Freeze(); len(f.Unfinished()) != c.want {
			t.Errorf("%+v: %d agents have not finished", c, len(f.Unfinished()))
		}
	}
}

// A column has a value for each row, whatever of the counts is missing.
func TestColumn(t *testing.T) {
	s := newStub(t)
	p := process(1, 0, 1)
	p.GetProcess().Events = []string{"A", "B"}
	s.must(p)
	s.must(ring(11, 1))
	n := trace.NoCount
	b := &section.Block{Ring: 11, Sites: []section.Site{{Function: 1}}, NoCounts: []uint32{0, 3}, NotRead: []section.NotRead{{Row: 4, Event: 1}}}
	b.Grow(5, 2)
	for row, counts := range [][2]int64{{}, {7, 1}, {8, 2}, {}, {9, 77}} {
		b.Counts[0][row], b.Counts[1][row] = counts[0], counts[1]
	}
	s.must(sections(b))
	if d := cmp.Diff([][]int64{{n, 7, 8, n, 9}, {n, 1, 2, n, n}}, new(Reader).Calls(&s.store.rings[11].Chunks[0]).Counts); d != "" {
		t.Error(d)
	}
}

func TestTotalsCountEachPoll(t *testing.T) {
	s := newStub(t)
	s.must(process(1, 0, 1))
	s.must(ring(11, 1))
	b := two(11, 0)
	b.PollsRow, b.Polls = []uint32{1}, []uint64{1000}
	s.must(sections(b))
	if got := s.store.Totals().Calls; got != 1001 {
		t.Errorf("%d calls", got)
	}
}

// A collector on the same host continues with the clock of the one before it.
func TestAddClock(t *testing.T) {
	s := New()
	for i, c := range []struct {
		sample *moriensv1.ClockSample
		want   uint32
	}{
		{&moriensv1.ClockSample{Clock: 1, Identity: "a", MonotonicNs: 5}, 0},
		{&moriensv1.ClockSample{Clock: 1, Identity: "a", MonotonicNs: 7}, 0},
		{&moriensv1.ClockSample{Clock: 1, Identity: "a", MonotonicNs: 6}, 0},
		{&moriensv1.ClockSample{Clock: 1, Identity: "a", MonotonicNs: 7}, 0}, // another journal has it too
		{&moriensv1.ClockSample{Clock: 3, Identity: "a"}, 1},
		{&moriensv1.ClockSample{Clock: 3, Identity: "b"}, 2},
		{&moriensv1.ClockSample{Clock: 3}, 3},
		{&moriensv1.ClockSample{Clock: 3}, 4}, // whether it is the same is not known
	} {
		if c.sample.Ticks = uint64(c.sample.MonotonicNs); c.sample.Ticks == 0 {
			c.sample.Ticks = uint64(100 + i)
		}
		c.sample.RealtimeNs = int64(c.sample.Ticks)
		if got := s.AddClock(c.sample); got != c.want {
			t.Errorf("sample %d is of clock %d, want %d", i, got, c.want)
		}
	}
	if f := s.Freeze(); len(f.Clocks) != 5 || len(f.Clocks[0].Samples) != 3 || f.Clocks[0].Samples[1].MonotonicNs != 6 {
		t.Errorf("%v", f.Clocks)
	}
}

// An exchange whose times run back is refused; others are kept by clock, in order.
func TestExchanges(t *testing.T) {
	s := newStub(t)
	exchange := func(sent, received, replied, returned uint64) *moriensv1.ReportRequest {
		return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: &moriensv1.ClockExchange{
			Clock: moriensv1.Clock_CLOCK_TSC, SentTicks: sent, ReceivedTicks: received, RepliedTicks: replied, ReturnedTicks: returned,
		}}}
	}
	if err := s.apply(exchange(5, 1000, 1001, 9)); err == nil || !strings.Contains(err.Error(), "clock 0 of the collector, which has had 0") {
		t.Errorf("with a clock that the collector never had: %v", err)
	}
	s.store.AddClock(&moriensv1.ClockSample{Clock: moriensv1.Clock_CLOCK_TSC})
	s.must(exchange(5, 1000, 1001, 9))
	s.must(exchange(20, 1000, 1000, 20))
	for _, bad := range []*moriensv1.ReportRequest{exchange(5, 1000, 1001, 4), exchange(5, 1000, 999, 9)} {
		if err := s.apply(bad); err == nil || !strings.Contains(err.Error(), "before it begins") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	kept := s.agent.Exchanges[moriensv1.Clock_CLOCK_TSC]
	if len(kept) != 2 || kept[1].SentTicks != 20 || s.store.Totals().Refused != 3 {
		t.Errorf("%v kept, %d refused", kept, s.store.Totals().Refused)
	}
}

// An agent that is done and whose stream broke off may reconnect, and is not expected to send.
func TestCutOff(t *testing.T) {
	s := New()
	a, _, err := s.Greet(&moriensv1.Hello{Agent: 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(a, &moriensv1.ReportRequest{Sequence: 1, Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{}}}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, staying, cut int) {
		t.Helper()
		if s.Staying() != staying || s.CutOff() != cut {
			t.Errorf("%s: %d stay, %d are cut off; want %d and %d", when, s.Staying(), s.CutOff(), staying, cut)
		}
	}
	check("there", 1, 0)
	s.Cut(a)
	s.Leave(a)
	check("killed", 0, 1)
	if _, expected := s.Attendance(time.Hour); expected != 0 {
		t.Errorf("%d are expected to send", expected)
	}
	s.Freeze()
	if a, _, err = s.Greet(&moriensv1.Hello{Agent: 7}); err != nil {
		t.Fatal(err)
	}
	check("back", 1, 0)
	s.Leave(a)
	check("gone by itself", 0, 0)
}
