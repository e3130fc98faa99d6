package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"moriens/internal/mpix"
	"moriens/internal/sums"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// shareAll has collectors exchange what they have, and returns what each has then.
func shareAll(stores ...*Store) ([]Frozen, error) {
	frozen := make([]Frozen, len(stores))
	return frozen, mpix.Each(len(stores), func(m mpix.Transport) error {
		frozen[m.Rank()] = stores[m.Rank()].Freeze()
		return frozen[m.Rank()].Share(m)
	})
}

// inStore has an agent say something to a store.
func inStore(t *testing.T, s *Store, id uint64, host string, messages ...*moriensv1.ReportRequest) {
	t.Helper()
	a, held, err := s.Greet(&moriensv1.Hello{Agent: id, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		m.Sequence = held + uint64(i) + 1
		if _, err := s.Apply(a, m); err != nil {
			t.Fatal(err)
		}
	}
}

func pathAt(process uint64, path uint32, offset uint64) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{
		Process: process, Path: path, Frames: []*moriensv1.Frame{{Module: "/opt/app", Offset: offset}},
	}}}
}

// Each collector has the others' agents, processes and rings, without their calls, and the numbers of its own calls and
// of the others' sums name the same call paths at all; what one of them knows of the source holds for all.
func TestShare(t *testing.T) {
	stores := []*Store{New(), New(), New()} // no agent connected to the last
	for i, offsets := range [][2]uint64{{0x30, 0x10}, {0x20, 0x30}} {
		p, r := uint64(1+i), uint64(11+i)
		b := two(r, 0)
		b.Sites[0].Path, b.Sites[1].Path = 1, 2
		inStore(t, stores[i], uint64(5-i), "n", process(p, int32(i), 2), ring(r, p), pathAt(p, 1, offsets[0]), pathAt(p, 2, offsets[1]), sections(b), markName(p, 1, []string{"z", "a"}[i]),
			totalled(&moriensv1.Sums{
				Process: p, What: []moriensv1.Sums_What{moriensv1.Sums_WHAT_SITE, moriensv1.Sums_WHAT_PEER, moriensv1.Sums_WHAT_SIZE, moriensv1.Sums_WHAT_END},
				Kind: []moriensv1.Transfers_Kind{sent, sent, sent, sent}, Rows: []uint32{1, 1, 1, 1},
				A: []uint32{1, 0, 2, 3}, B: []int32{1, -2, 1, 2}, Count: []uint64{3, 3, 3, 2}, Bytes: []uint64{9, 9, 9, 6},
				Blocked: []uint64{0, 7, 7, 7}, Longest: []uint64{0, 4, 0, 0}, First: []uint64{0, 2, 0, 0},
				Partners: sums.EncodePartners([]sums.Partner{{Kind: sent, Function: 1, Path: 1, Peer: AnyRank, Moved: sums.Moved{Count: 3, Bytes: 9, Least: 2, Most: 4}}}),
			}))
	}
	inStore(t, stores[1], 4, "n", &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Symbols{Symbols: &moriensv1.Symbols{Frames: []*moriensv1.Frame{
		{Module: "/opt/app", Offset: 0x10, Function: "solve", File: "solve.c", Line: 3},
		{
			Module: "/opt/app", Offset: 0x10, Function: "solve", File: "solve.c", Line: 3, FirstFile: "solve.h", FirstLine: 2,
			Inlined: []*moriensv1.Scope{{Function: "main", File: "main.c", Line: 9, FirstFile: "main.c", FirstLine: 7}},
		},
	}}}})
	for i := range 2 {
		inStore(t, stores[i], uint64(5-i), "n", codeMessage("/opt/app", []byte{byte(i)}, codeOfTwo()))
	}
	inStore(t, stores[1], 4, "n", codeMessage("/usr/app", []byte{0}, &moriensv1.CodeFunction{Entry: 8, Refused: "too large"}))
	frozen, err := shareAll(stores...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frozen {
		f := &frozen[i]
		if d := cmp.Diff(frozen[0].Code, f.Code); d != "" || len(f.Code) != 2 || f.Code[0].BuildID != "00" || f.Code[1].BuildID != "01" || len(f.Code[0].Sites) != 2 {
			t.Errorf("collector %d: code %+v\n%s", i, f.Code, d)
		}
		if len(f.Agents) != 2 || f.Agents[0].Hello.Agent != 4 || f.Agents[0].Member != 1 || f.Agents[1].Member != 0 || len(f.Processes) != 2 {
			t.Fatalf("collector %d: agents %v, %d processes", i, f.Agents, len(f.Processes))
		}
		if d := cmp.Diff(frozen[0].CallPaths, f.CallPaths); d != "" {
			t.Errorf("call paths of collectors 0 and %d differ:\n%s", i, d)
		}
		if d := cmp.Diff([]string{"?", "a", "z"}, f.MarkNames); d != "" {
			t.Error(d)
		}
		if f.Totals.Calls != 4 || f.Totals.Agents != 2 || f.Totals.Transfers != 6 {
			t.Errorf("collector %d: totals %+v", i, f.Totals)
		}
		for k, p := range f.Processes {
			r := p.Rings[0]
			if first, last := r.Span(); r.Calls != 2 || last <= first || f.Ring(r.Info.Ring) != r || r.Silent() {
				t.Errorf("collector %d: ring of process %d: %d calls from %d to %d", i, k, r.Calls, first, last)
			}
			if f.Lacks(p) != 3 {
				t.Errorf("collector %d: process %d lacks %d transfers", i, k, f.Lacks(p))
			}
			at := []uint64{0x30, 0x20}[k]
			if rows := p.Sums.Rows(); len(rows) != 4 || rows[1] != (sums.Row{Key: sums.Peer(sent, 0, AnyRank), Count: 3, Bytes: 9, Blocked: 7, Longest: 4, First: 2}) {
				t.Errorf("collector %d: process %d has the sums %v", i, k, rows)
			}
			if end := f.CallPaths[f.Path(p.Sums.Rows()[3].Path())]; end.Frames[0].Offset != []uint64{0x10, 0x30}[k] {
				t.Errorf("collector %d: process %d completed at %v", i, k, end)
			}
			if site := f.CallPaths[f.Path(p.Sums.Rows()[0].Path())]; site.Frames[0].Offset != at {
				t.Errorf("collector %d: process %d moved at %v, want %#x", i, k, site, at)
			}
			if with := p.Sums.Partners(); !p.Sums.HasPartners() || len(with) != 1 || with[0].Moved != (sums.Moved{Count: 3, Bytes: 9, Least: 2, Most: 4}) ||
				f.CallPaths[f.Path(with[0].Path)].Frames[0].Offset != at {
				t.Errorf("collector %d: process %d has the partners %+v", i, k, with)
			}
			if chunks := r.Chunks; (len(chunks) > 0) != (p.Agent.Member == i) {
				t.Errorf("collector %d has %d chunks of process %d", i, len(chunks), k)
			} else if len(chunks) > 0 && f.CallPaths[f.Path(new(Reader).Paths(&chunks[0]).Path[0])].Frames[0].Offset != at {
				t.Errorf("collector %d: process %d called from %v", i, k, f.CallPaths[f.Path(chunks[0].LastPath)])
			}
		}
	}
	placed := false
	for _, p := range frozen[0].CallPaths {
		placed = placed || cmp.Equal(p.Frames, []trace.Frame{{
			Module: "app", Offset: 0x10, Function: "solve", File: "solve.c", Line: 3, FirstFile: "solve.h", FirstLine: 2,
			Inlined: []trace.Scope{{Function: "main", File: "main.c", Line: 9, FirstFile: "main.c", FirstLine: 7}},
		}})
	}
	if !placed {
		t.Errorf("what collector 1 knows of the source is not known at 0: %v", frozen[0].CallPaths)
	}
}

// An agent that connected to one collector and was sent on to another is one agent. An agent that has sent data to both
// is an error at both, and so is a process of two agents.
func TestShareOfOneAgentTwice(t *testing.T) {
	stores := []*Store{New(), New()}
	inStore(t, stores[0], 1, "n")
	inStore(t, stores[1], 1, "n", process(1, 0, 1))
	frozen, err := shareAll(stores...)
	if err != nil || len(frozen[0].Agents) != 1 || frozen[0].Agents[0].Member != 1 || frozen[0].Totals.Agents != 1 || frozen[1].Totals.Agents != 1 {
		t.Errorf("%v, %v", frozen[0].Agents, err)
	}
	for text, agents := range map[string][2]uint64{"agent 0000000000000001 on n has sent to collector 0 and to collector 1": {1, 1}, "process 0000000000000007": {1, 2}} {
		stores = []*Store{New(), New()}
		for i := range stores {
			inStore(t, stores[i], agents[i], "n", process(7, 0, 1))
		}
		if _, err := shareAll(stores...); err == nil || strings.Count(err.Error(), text) != 2 {
			t.Errorf("%v, want %q twice", err, text)
		}
	}
}

// The clock of a host is one, whichever collectors have read it; exchanges name it by the numbers of those that they
// were made with.
func TestShareClocks(t *testing.T) {
	raw := moriensv1.Clock_CLOCK_MONOTONIC_RAW
	sample := func(identity string, at int64) *moriensv1.ClockSample {
		return &moriensv1.ClockSample{Clock: raw, Identity: identity, Ticks: uint64(at), MonotonicNs: at, RealtimeNs: at}
	}
	stores := []*Store{New(), New()}
	for i, list := range [][]*moriensv1.ClockSample{{sample("b", 5), sample("a", 9), sample("", 3)}, {sample("a", 1), sample("", 3), sample("a", 9)}} {
		for _, s := range list {
			stores[i].AddClock(proto.CloneOf(s))
		}
		inStore(t, stores[i], uint64(i+1), "n", process(uint64(i+1), int32(i), 2))
	}
	frozen, err := shareAll(stores...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frozen {
		f := &frozen[i]
		var got []string
		for _, c := range f.Clocks {
			text := c.Samples[0].Identity + ":"
			for _, s := range c.Samples {
				text += string(rune('0' + s.RealtimeNs))
			}
			got = append(got, text)
		}
		if d := cmp.Diff([]string{":3", "b:5", "a:19"}, got); d != "" {
			t.Errorf("collector %d: clocks (-want +got):\n%s", i, d)
		}
		for k, want := range [][]int{{1, 2, 0}, {2, 0, 2}} {
			for number, at := range want {
				if is := f.Clock(f.Agents[k], uint32(number)); is != at {
					t.Errorf("collector %d: clock %d of collector %d is %d, want %d", i, number, k, is, at)
				}
			}
		}
	}
}

// What collectors have used is summed; where that is not known of one, it is not known.
func TestShareOfProcessorTime(t *testing.T) {
	stores := []*Store{New(), New(), New()}
	for _, used := range [][]time.Duration{{1, 2, 4}, {1, 0, 4}} {
		frozen := make([]Frozen, len(stores))
		err := mpix.Each(len(stores), func(m mpix.Transport) error {
			f := &frozen[m.Rank()]
			*f = stores[m.Rank()].Freeze()
			f.Collector.CPU = used[m.Rank()]
			return f.Share(m)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := time.Duration(7)
		if used[1] == 0 {
			want = 0
		}
		for i := range frozen {
			if got := frozen[i].Collector.CPU; got != want {
				t.Errorf("collector %d: %v, want %v", i, got, want)
			}
		}
	}
}
