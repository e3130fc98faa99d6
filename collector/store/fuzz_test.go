package store

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"moriens/internal/mpicall"
	"moriens/internal/section"
	"moriens/internal/section/sectiontest"
	moriensv1 "moriens/proto/moriens/v1"
)

// session is what an agent with one rank says, from its first message to its last.
func session() []*moriensv1.ReportRequest {
	return []*moriensv1.ReportRequest{
		{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: 1, Size: 2, Clock: moriensv1.Clock_CLOCK_TSC, Events: []string{"A"}}}},
		{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{Clock: moriensv1.Clock_CLOCK_TSC, Ticks: 5, MonotonicNs: 6}}},
		{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: 2, Process: 1}}},
		{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Process: 1, Path: 1, Frames: []*moriensv1.Frame{{Module: "/a", Offset: 16}}}}},
		{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{Process: 1, Name: 1, Text: "p"}}},
		(&sectiontest.Rows{
			Ring: 2, Origin: 7, Burst: []uint64{0, 5, 6}, Call: []uint64{1, 2, 3}, Path: []uint32{0, 1, 1},
			Function: []uint32{uint32(mpicall.Init), uint32(mpicall.Isend), uint32(mpicall.Isend)}, NoBurst: []uint32{0},
			PollsRow: []uint32{2}, Polls: []uint64{9}, NoCounts: []uint32{0}, Counts: [][]int64{{4, 5}}}).Message(),
		sections(&section.Block{Ring: 2, Marks: []section.Mark{{What: section.BeginPhase, Name: 1}, {Ticks: 1, What: section.EndPhase, Name: 1}}}),
		{Body: &moriensv1.ReportRequest_Communicator{Communicator: &moriensv1.Communicator{
			Communicator: 1, Id: 8, Size: 2, Peers: 2, First: []int32{0}, Stride: []int32{1}, Count: []uint32{2}}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 1, Communicator: 1}}},
		{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{Process: 1, Comm: 2, Communicator: 1, Origin: &moriensv1.Origin{
			How: moriensv1.Origin_HOW_SPAWNED, Began: 1, Ended: 2, Text: "7.0"}}}},
		sectiontest.Message(sectiontest.Moves(2, 0, sectiontest.Move{Kind: 1, Peer: 1, Comm: 1, Transfer: section.Transfer{Row: 1, Done: 2, Bytes: 8}},
			sectiontest.Move{Kind: moriensv1.Transfers_KIND_COLLECTIVE, Peer: -1, Tag: 3, Comm: 1, Transfer: section.Transfer{Row: 1, Done: 2, Ordinal: 1}})),
		sections(&section.Block{Ring: 2, GapsBefore: []uint64{1}}),
		{Body: &moriensv1.ReportRequest_Sums{Sums: &moriensv1.Sums{
			Process: 1, What: []moriensv1.Sums_What{moriensv1.Sums_WHAT_SITE, moriensv1.Sums_WHAT_PEER, moriensv1.Sums_WHAT_SIZE, moriensv1.Sums_WHAT_END, moriensv1.Sums_WHAT_REST},
			Kind: []moriensv1.Transfers_Kind{sent, sent, sent, sent, sent}, Rows: []uint32{1, 1, 1, 1, 1},
			A: []uint32{uint32(mpicall.Isend), 1, 4, uint32(mpicall.Wait), 0}, B: []int32{1, 0, -1, 1, -1}, Count: []uint64{3, 1, 3, 2, 2}, Bytes: []uint64{24, 8, 24, 16, 16},
			Blocked: []uint64{0, 5, 8, 8, 3}, Longest: []uint64{0, 5, 0, 0, 2}, First: []uint64{0, 5, 0, 0, 0}}}},
		(&sectiontest.Rows{
			Ring: 2, First: 3, Origin: 90, Function: []uint32{uint32(mpicall.Allreduce), uint32(mpicall.Allreduce)}, Path: []uint32{1, 1},
			Burst: []uint64{0, 0}, Call: []uint64{0, 0}, Counts: [][]int64{{0, 0}},
			Collectives: []section.Collective{{Row: 1, Comm: 1, Sent: 1, Received: 2, Root: -1}}}).Message(),
		{Body: &moriensv1.ReportRequest_ClockExchange{ClockExchange: &moriensv1.ClockExchange{SentTicks: 1, ReceivedTicks: 2, RepliedTicks: 3, ReturnedTicks: 4}}},
		{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: 2, Calls: 5, Marks: 2, Dropped: 1}}},
		{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{Process: 1, Transfers: 3, Collectives: 1}}},
		{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: &moriensv1.ProcessEnd{Process: 1, How: moriensv1.ProcessEnd_HOW_FINALIZED}}},
		{Body: &moriensv1.ReportRequest_Symbols{Symbols: &moriensv1.Symbols{Frames: []*moriensv1.Frame{{Module: "/a", Offset: 16, Function: "f", Line: 3}}}}},
		{Body: &moriensv1.ReportRequest_Code{Code: &moriensv1.Code{Module: "/a", Functions: []*moriensv1.CodeFunction{
			{Entry: 8, Loops: []*moriensv1.CodeLoop{{File: "f", Line: 1}, {Parent: 1}}, Sites: []*moriensv1.CodeSite{{Offset: 16}, {Offset: 20, Loop: 2}}, Follows: [][]byte{{10}, {1}, {0}}},
			{Entry: 32, Refused: "r", Sites: []*moriensv1.CodeSite{{Offset: 40}}}}}}},
		{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: 1, Text: "n"}}},
		{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: -1, Corrupt: "c"}}},
		{Body: &moriensv1.ReportRequest_Done{Done: &moriensv1.Done{Resent: 1}}},
	}
}

func stream(t testing.TB, messages []*moriensv1.ReportRequest) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, m := range messages {
		if _, err := protodelim.MarshalTo(&b, m); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// The session that fuzzing starts from is a sound one.
func TestSession(t *testing.T) {
	s := New()
	a, _, err := s.Greet(&moriensv1.Hello{Agent: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range session() {
		m.Sequence = uint64(i + 1)
		if m.GetClockExchange() != nil {
			continue // whether it is sound depends on the collector's clocks
		}
		a.last = m.Sequence - 1
		if _, err := s.Apply(a, m); err != nil {
			t.Errorf("message %d: %v", m.Sequence, err)
		}
	}
}

// FuzzApply has two agents say anything, in any order: nothing panics, what is held grows with what was sent, all rows
// that are held can be read, and the totals are what is there.
func FuzzApply(f *testing.F) {
	whole := session()
	f.Add(stream(f, whole))
	for i := range whole {
		f.Add(stream(f, append(whole[:i:i], whole[i+1:]...)))
	}
	twice := append(whole[:6:6], whole[5], &moriensv1.ReportRequest{Sequence: 3}, &moriensv1.ReportRequest{Sequence: 1 << 40})
	f.Add(stream(f, twice))
	reader := new(Reader)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		var agents []*Agent
		for id := range uint64(2) {
			a, _, err := s.Greet(&moriensv1.Hello{Agent: id + 1})
			if err != nil {
				t.Fatal(err)
			}
			agents = append(agents, a)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decoded := 0
		options := protodelim.UnmarshalOptions{MaxSize: 1 << 16}
		for r := bytes.NewReader(data); ; {
			m := new(moriensv1.ReportRequest)
			err := options.UnmarshalFrom(r, m)
			if err == io.EOF || err != nil && r.Len() == 0 {
				break
			}
			if err != nil {
				continue // whatever follows
			}
			decoded += proto.Size(m) + 64 + sectiontest.Seal(m.GetSections())
			// Sequence 0 stands for the one that is due.
			a := agents[decoded%2]
			if m.Sequence == 0 {
				m.Sequence = a.last + 1
			}
			was := a.last
			held, err := s.Apply(a, m)
			if held < was || held > was+1 || held != a.last {
				t.Fatalf("message %d: held %d after %d, %v", m.Sequence, held, was, err)
			}
		}
		runtime.ReadMemStats(&after)
		// A message of a few bytes may become a few slices and maps; nothing may become a thousand times what it was.
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+uint64(decoded+len(data))*200 {
			t.Errorf("%d bytes took %d", len(data), used)
		}
		s.Progress()
		s.Rings()
		checkTotals(t, s, reader)
	})
}

// checkTotals counts again what a store holds.
func checkTotals(t *testing.T, s *Store, reader *Reader) {
	t.Helper()
	f := s.Freeze()
	var got Totals
	got.Agents = len(f.Agents)
	for _, a := range f.Agents {
		if a.Done != nil {
			got.AgentsDone++
		}
	}
	for _, p := range f.Processes {
		got.Processes++
		if p.End != nil {
			got.ProcessesEnded++
		}
		for _, r := range p.Rings {
			rows, before := uint64(0), uint32(0)
			for i := range r.Chunks {
				c := &r.Chunks[i]
				x := reader.Calls(c)
				rows += uint64(len(x.Path))
				got.Bursts += uint64(len(x.Path) - len(x.NoBurst))
				for _, n := range x.Polls {
					got.Calls += n - 1
				}
				if len(x.Path) != c.Rows || len(x.Burst) != c.Rows || len(x.Call) != c.Rows || len(x.Counts) != len(p.Info.Events) {
					t.Errorf("columns of %d, %d and %d rows and %d events, for %d and %d", len(x.Path), len(x.Burst), len(x.Call), len(x.Counts), c.Rows, len(p.Info.Events))
				}
				if !p.CallsOnNode() {
					checkSums(t, c, x, s.paths.lead, before)
				}
				before = s.paths.lead[c.LastPath]
				for _, path := range x.Path {
					if int(path) >= len(f.CallPaths) {
						t.Errorf("call path %d of %d", path, len(f.CallPaths))
					}
				}
			}
			got.Calls += rows
			if rows != r.Calls {
				t.Errorf("ring of %d rows says %d", rows, r.Calls)
			}
			if first, last := r.Span(); last < first {
				t.Errorf("ring from %d to %d", first, last)
			}
			if r.End != nil {
				got.Dropped += r.End.Dropped
				got.Abandoned += r.End.Abandoned
				got.Paused += r.End.Paused
				got.MarksInside += r.End.MarksInside
			}
		}
	}
	want := f.Totals
	want.Duplicates, want.Refused, want.Transfers = 0, 0, 0 // not to be distinguished from what is held
	if got != want {
		t.Errorf("totals %+v, held %+v", want, got)
	}
}
