package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/collector/journal"
	"moriens/collector/store"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// A history is what agents that number their messages have sent to a collector, in the order of arrival.
type history struct {
	next  map[uint64]uint64 // sequence, by agent
	calls map[uint64]uint64 // by ring
	rings map[uint64]uint64 // number of rings, by agent
}

// draw makes the next message of an agent. One in some is such that the store refuses it.
func (h *history) draw(t *rapid.T, agent uint64) *moriensv1.ReportRequest {
	h.next[agent]++
	process := agent
	var m *moriensv1.ReportRequest
	switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
	case h.next[agent] == 1:
		m = &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: process, Size: 4, Rank: 1}}}
	case what == 0:
		h.rings[agent]++
		m = ring(agent<<8+h.rings[agent], process)
	case what == 1:
		m = &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Process: process, Text: rapid.String().Draw(t, "note")}}}
	case what == 2:
		m = &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockSample{ClockSample: &moriensv1.ClockSample{Clock: 1, Ticks: h.next[agent]}}}
	case what == 3:
		m = &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_MarkName{MarkName: &moriensv1.MarkName{
			Process: process, Name: uint32(rapid.IntRange(0, 5).Draw(t, "name")), Text: rapid.StringN(1, 9, 9).Draw(t, "text"),
		}}}
	default:
		id := agent<<8 + 1 + rapid.Uint64Range(0, 3).Draw(t, "ring") // of which some are not there
		rows := rapid.IntRange(0, 300).Draw(t, "rows")
		m = calls(id, h.calls[id], rows)
		if rows > 0 && id-agent<<8 <= h.rings[agent] {
			h.calls[id] += uint64(rows)
		}
	}
	m.Sequence = h.next[agent]
	return m
}

// Whatever is left of a journal: the restored store is that after the messages with whole records, and new messages are
// taken from there on.
func TestCut(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		live := filepath.Join(dir, "live")
		j, err := journal.Open(live, journal.Run{Run: "r"}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		h := &history{next: make(map[uint64]uint64), calls: make(map[uint64]uint64), rings: make(map[uint64]uint64)}
		agents := make(map[uint64]*store.Agent)
		// What brings each record about, in their order; nil for those that change nothing in a store.
		does := []func(*store.Store){nil}
		ignore := func(uint64) {}
		for range rapid.IntRange(0, 60).Draw(t, "messages") {
			agent := rapid.Uint64Range(1, 3).Draw(t, "agent")
			hello := &moriensv1.Hello{Agent: agent}
			if agents[agent] == nil {
				if agents[agent], err = j.Greet(hello, ignore); err != nil {
					t.Fatal(err)
				}
				does = append(does, func(s *store.Store) { s.Greet(hello) })
				continue
			}
			m := h.draw(t, agent)
			record, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, journal.HeadBytes), m)
			if err != nil {
				t.Fatal(err)
			}
			same := proto.CloneOf(m)
			does = append(does, func(s *store.Store) {
				a, _, _ := s.Greet(hello)
				s.Apply(a, proto.CloneOf(same))
			})
			j.Take(t.Context(), agents[agent], m, record, ignore)
		}
		safe := make(chan bool)
		j.Barrier(func() { close(safe) })
		<-safe
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(live, "00000001"+segment.Suffix)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		l, err := segment.Open(live, "journal", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Read(segment.Position{}, func(end segment.Position, record []byte) error {
			if record[0] != 5 { // counts, which depend on the clock
				ends = append(ends, end.Offset)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if len(ends) != len(does) {
			t.Fatalf("%d records of %d events", len(ends), len(does))
		}
		for range 5 {
			cut := rapid.IntRange(int(ends[0]), len(data)).Draw(t, "cut")
			if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := journal.Open(live, journal.Run{Run: "another"}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			want := store.New()
			for i, end := range ends {
				if end <= int64(cut) && does[i] != nil {
					does[i](want)
				}
			}
			if d := differ(want, again.Store()); d != "" {
				t.Errorf("cut at %d of %d:\n%s", cut, len(data), d)
			}
			if again.Begin().Run != "r" {
				t.Errorf("run %s", again.Begin().Run)
			}
			if _, err := again.Greet(&moriensv1.Hello{Agent: 99}, ignore); err != nil {
				t.Error(err)
			}
			again.Close()
		}
	})
}
