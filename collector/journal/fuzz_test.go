package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"moriens/collector/journal"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

// Whatever records a journal has: it opens or gives a reason, and one that opens takes new messages.
func FuzzJournal(f *testing.F) {
	record := func(kind byte, m proto.Message) []byte {
		r, err := proto.MarshalOptions{}.MarshalAppend([]byte{kind}, m)
		if err != nil {
			f.Fatal(err)
		}
		return r
	}
	message := func(sequence uint64, m *moriensv1.ReportRequest) []byte {
		m.Sequence = sequence
		return append([]byte{4, 0, 0, 0, 0}, record(0, m)[1:]...)
	}
	begin := record(1, &moriensv1.JournalBegin{Format: journal.Format, Run: "r", Token: "t", Certificate: []byte("c"), Key: []byte("k")})
	start := record(2, &moriensv1.JournalStart{Clock: &moriensv1.ClockSample{Clock: 1, Ticks: 1}, CutBytes: 3})
	hello := record(3, &moriensv1.Hello{Agent: 1})
	f.Add(begin, start, hello, message(1, process(5)), message(2, ring(6, 5)), message(3, calls(6, 0, 3)))
	f.Add(begin, hello, message(1, process(5)), message(2, ring(9, 9)), record(6, &moriensv1.JournalJobEnd{ExitStatus: 2}), record(7, &moriensv1.JournalEnd{}))
	f.Add(begin, record(5, &moriensv1.JournalCounts{Duplicates: 4}), start, hello, hello, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g []byte) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := segment.Open(dir, "journal", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(a, b, c, d, e, g); err != nil {
			t.Fatal(err)
		}
		l.Close()
		j, err := journal.Open(dir, journal.Run{Run: "new"}, quiet)
		if err != nil {
			return
		}
		if j.Begin().Run == "new" || j.Begin().Token == "" || !j.Resumed() {
			t.Errorf("it goes on with %v", j.Begin())
		}
		j.Start(nil)
		if _, err := j.Finish(t.Context(), nil, ""); err != nil {
			t.Error(err)
		}
		if err := j.Remove(); err != nil {
			t.Error(err)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, "*")); len(entries) != 0 {
			t.Errorf("%v are left", entries)
		}
	})
}
