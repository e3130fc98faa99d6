package window_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/agent/window"
	moriensv1 "moriens/proto/moriens/v1"
)

func openWhole(t tester, dir string, maxBytes int64) *window.Store {
	t.Helper()
	return openWith(t, window.Config{Run: run, Dir: dir, Whole: true, Committed: 1 << 62, Log: quiet}, maxBytes)
}

func callPath(process uint64, path uint32) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: &moriensv1.CallPath{Process: process, Path: path}}}
}

func ringEnd(ring, calls uint64) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_RingEnd{RingEnd: &moriensv1.RingEnd{Ring: ring, Calls: calls}}}
}

// inOrder adds what messages say, and checks that each ring's rows of calls follow each other, and that what belongs to
// calls comes after them.
func inOrder(t tester, messages []*moriensv1.ReportRequest, next map[uint64]uint64, to map[flat]int) {
	t.Helper()
	for _, m := range messages {
		switch {
		case m.GetCalls() != nil:
			c := m.GetCalls()
			if c.First < next[c.Ring] {
				t.Fatalf("ring %d: call %d behind %d", c.Ring, c.First, next[c.Ring])
			}
			next[c.Ring] = c.First + uint64(len(c.Function))
		case m.GetCollectives() != nil:
			row := uint64(0)
			for _, d := range m.GetCollectives().Row {
				row += uint64(d)
			}
			if ring := m.GetCollectives().Ring; row >= next[ring] {
				t.Fatalf("ring %d: the collective in row %d before that row", ring, row)
			}
		}
	}
	flatten(messages, to)
}

// Where all detail is kept, a restarted agent gets all of it, in the order of rows, after who the processes are and
// before the ends of their rings. What was evicted is missing, and counted. A fetch of everything returns the same for
// the processes that are asked for.
func TestReplay(t *testing.T) {
	evicted := 0
	property := func(t *rapid.T) {
		base, err := os.MkdirTemp("", "moriens-whole-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		dir := filepath.Join(base, "windows")
		room := rapid.SampledFrom([]int64{0, 48 << 10}).Draw(t, "room")
		s := openWhole(t, dir, room)
		defer func() { s.Close() }()
		j := &job{ranks: 3}
		want := make(map[flat]int)
		transaction := uint64(0)
		put := func(messages []*moriensv1.ReportRequest) {
			t.Helper()
			reported, local := s.Part(messages)
			if slices.ContainsFunc(reported, func(m *moriensv1.ReportRequest) bool {
				return m.GetCalls() != nil || m.GetMarks() != nil || m.GetTransfers() != nil || m.GetCollectives() != nil || m.GetGaps() != nil
			}) || len(reported)+len(local) != len(messages) {
				t.Fatalf("%d of %d messages are reported: %v", len(reported), len(messages), reported)
			}
			transaction++
			if err := s.Append(transaction, messages); err != nil {
				t.Fatal(err)
			}
			flatten(messages, want)
		}
		put(append(j.introduce(), callPath(1, 1), callPath(1, 2), callPath(2, 1)))
		for range rapid.IntRange(1, 30).Draw(t, "commits") {
			put(j.iterate(rapid.IntRange(1, 20).Draw(t, "iterations"), 5, -1))
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openWhole(t, dir, room)
			}
		}
		put([]*moriensv1.ReportRequest{request(&moriensv1.Gaps{Ring: 2, Before: []uint64{j.row[1]}}), ringEnd(2, j.row[1]), callPath(3, 9)})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openWhole(t, dir, room)

		var kinds []string
		kind := func(m *moriensv1.ReportRequest) string {
			switch {
			case m.GetProcess() != nil:
				return "process"
			case m.GetCallPath() != nil:
				return "path"
			case m.GetRingEnd() != nil:
				return "end"
			case m.GetCalls() != nil:
				return "calls"
			}
			return ""
		}
		got, next := make(map[flat]int), make(map[uint64]uint64)
		gone, err := s.Replay(func(messages []*moriensv1.ReportRequest) {
			inOrder(t, messages, next, got)
			for _, m := range messages {
				if k := kind(m); k != "" && (len(kinds) == 0 || kinds[len(kinds)-1] != k || k == "path") {
					kinds = append(kinds, k)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		calls := slices.Index(kinds, "calls")
		if kinds[0] != "process" || count(kinds, "path") != 4 || count(kinds, "end") != 1 || kinds[len(kinds)-1] != "end" ||
			calls >= 0 && calls < len(kinds)-2 {
			t.Errorf("kinds of messages: %v", kinds)
		}
		missing := uint64(0)
		for line := range want {
			if got[line] == 0 && line.what == "call" {
				missing++
			}
		}
		for line, n := range got {
			if want[line] != n {
				t.Fatalf("%v comes %d times, was said %d times", line, n, want[line])
			}
		}
		if gone != missing || room == 0 && len(got) != len(want) {
			t.Errorf("%d calls are gone, %d are missing; of %d lines %d arrived", gone, missing, len(want), len(got))
		}
		if missing > 0 {
			evicted++
		}

		fetched, next := make(map[flat]int), make(map[uint64]uint64)
		parts := uint64(0)
		end := s.Fetch(&moriensv1.Fetch{Number: 3, Everything: true, Process: []uint64{2, 3}}, func(p *moriensv1.WindowPart) error {
			if parts++; p.Number != 3 || p.Process < 2 {
				t.Fatalf("answer to %d, of process %d", p.Number, p.Process)
			}
			inOrder(t, p.Messages, next, fetched)
			return nil
		})
		if end.Error != "" || end.Parts != parts || end.Number != 3 || (len(end.GoneWindow) > 0) != (missing > 0) {
			t.Errorf("%d parts arrived, %d calls are missing: %v", parts, missing, end)
		}
		for line := range got {
			if line.ring < 2 {
				delete(got, line)
			}
		}
		if d := gocmp.Diff(got, fetched, gocmp.AllowUnexported(flat{})); d != "" {
			t.Errorf("fetched (-want +got):\n%s", d)
		}
	}
	// Chance may draw as few as a short test takes with nothing evicted.
	for try := 0; evicted == 0 && try < 100; try++ {
		rapid.Check(t, property)
	}
	if evicted == 0 {
		t.Error("nothing was ever evicted")
	}
}

func count(list []string, what string) (n int) {
	for _, x := range list {
		if x == what {
			n++
		}
	}
	return n
}

// A window that arrives in many commits is reported as one: all calls before what belongs to them.
func TestReplayOneWindow(t *testing.T) {
	s := openWhole(t, t.TempDir(), 0)
	defer s.Close()
	j := &job{ranks: 2}
	if err := s.Append(1, j.introduce()); err != nil {
		t.Fatal(err)
	}
	const commits = 5
	for i := range uint64(commits) {
		err := s.Append(2+i, []*moriensv1.ReportRequest{
			request(&moriensv1.Calls{
				Ring: 1, First: i, OriginTicks: 10 * i, BurstTicks: []uint64{1}, CallTicks: []uint64{9}, Function: []uint32{1}, Path: []uint32{0},
				Counts: []*moriensv1.Counts{{Value: []int64{1}}, {Value: []int64{2}}},
			}),
			request(&moriensv1.Collectives{Ring: 1, Row: []int64{int64(i)}, Comm: []uint32{9}, Ordinal: []uint64{i}, Sent: []uint64{0}, Received: []uint64{0}, Root: []int32{-1}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sort(); err != nil {
			t.Fatal(err)
		}
	}
	var kinds string
	_, err := s.Replay(func(messages []*moriensv1.ReportRequest) {
		for _, m := range messages {
			switch {
			case m.GetCalls() != nil:
				kinds += fmt.Sprint("c", m.GetCalls().First)
			case m.GetCollectives() != nil:
				kinds += fmt.Sprint("m", m.GetCollectives().Row[0])
			}
		}
	})
	if want := "c0c1c2c3c4m0m1m2m3m4"; err != nil || kinds != want {
		t.Errorf("%s, %v, want %s", kinds, err, want)
	}
}
