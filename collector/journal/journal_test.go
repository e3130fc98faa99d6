package journal_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"moriens/collector/journal"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	"moriens/internal/section/sectiontest"
	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

var quiet = slog.New(slog.DiscardHandler)

func open(t testing.TB, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, journal.Run{Run: "0123456789abcdef", Command: []string{"mpirun", "app"}, Version: "1"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A sender numbers the messages of one agent and reports them to the journal.
type sender struct {
	t       testing.TB
	journal *journal.Journal
	agent   *store.Agent
	next    uint64

	mu   sync.Mutex
	held uint64
}

func greet(t testing.TB, j *journal.Journal, id uint64) *sender {
	t.Helper()
	s := &sender{t: t, journal: j}
	var err error
	if s.agent, err = j.Greet(&moriensv1.Hello{Agent: id, Host: "n"}, s.set); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sender) set(held uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

func (s *sender) safe() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *sender) send(m *moriensv1.ReportRequest) error {
	s.next++
	return s.again(m, s.next)
}

func (s *sender) again(m *moriensv1.ReportRequest, sequence uint64) error {
	m.Sequence = sequence
	record, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, journal.HeadBytes), m)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.journal.Take(s.t.Context(), s.agent, m, record, s.set)
}

func process(id uint64) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Process{Process: &moriensv1.Process{Process: id, Size: 1}}}
}

func ring(id, process uint64) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Ring{Ring: &moriensv1.Ring{Ring: id, Process: process}}}
}

func calls(ring, first uint64, rows int) *moriensv1.ReportRequest {
	return rowsOf(ring, first, rows).Message()
}

func rowsOf(ring, first uint64, rows int) *sectiontest.Rows {
	c := &sectiontest.Rows{Ring: ring, First: first}
	for i := range rows {
		c.Add(uint32(1+i%3), 0, first+uint64(i*i), 1)
	}
	return c
}

// differ compares all that two stores hold, but not who is connected to them or waits for them.
func differ(a, b *store.Store) string {
	return cmp.Diff(a, b, protocmp.Transform(), cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(func(p cmp.Path) bool {
			f, isField := p.Last().(cmp.StructField)
			return isField && (f.Name() == "mu" || f.Name() == "left" || f.Name() == "streams" || f.Name() == "safe" || f.Name() == "first")
		}, cmp.Ignore()))
}

func finish(t testing.TB, j *journal.Journal) {
	t.Helper()
	if _, err := j.Finish(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// What one collector took the next one holds: messages, refusals, duplicates, clocks, how the job ended. Agents find
// the certificate and the token that they know.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := open(t, dir)
	if j.Resumed() || j.End() != nil || j.JobEnd() != nil {
		t.Error("a new journal is not new")
	}
	j.Start(&moriensv1.ClockSample{Clock: 1, Ticks: 5, Identity: "here"})
	a, b := greet(t, j, 7), greet(t, j, 9)
	for _, m := range []*moriensv1.ReportRequest{process(1), ring(2, 1), calls(2, 0, 200), calls(2, 200, 1)} {
		if err := a.send(m); err != nil {
			t.Fatal(err)
		}
	}
	var content *store.ContentError
	if err := b.send(ring(3, 99)); !errors.As(err, &content) {
		t.Fatalf("a ring of an unknown process: %v", err)
	}
	if err := b.again(process(1), 7); err == nil || errors.As(err, &content) {
		t.Fatalf("message 7 after message 1: %v", err)
	}
	if err := a.again(process(1), 1); err != nil {
		t.Fatal(err)
	}
	j.Store().Refuse()
	j.JobEnded(3)
	finish(t, j)
	if a.safe() != 4 || b.safe() != 1 {
		t.Errorf("%d and %d acknowledged, want 4 and 1", a.safe(), b.safe())
	}

	again := open(t, dir)
	defer again.Close()
	if d := cmp.Diff(j.Begin(), again.Begin(), protocmp.Transform()); d != "" {
		t.Errorf("begin differs:\n%s", d)
	}
	if !again.Resumed() || again.End() == nil || again.JobEnd().GetExitStatus() != 3 {
		t.Errorf("resumed %v, end %v, job's end %v", again.Resumed(), again.End(), again.JobEnd())
	}
	if _, err := again.Finish(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	if d := differ(j.Store(), again.Store()); d != "" {
		t.Errorf("the stores differ:\n%s", d)
	}
	if total := again.Store().Totals(); total.Duplicates != 1 || total.Refused != 3 || total.Calls != 201 {
		t.Errorf("%+v", total)
	}
}

// A reconnecting agent is greeted with what is safe, and its first messages are numbered on from there.
func TestAgentReturns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := open(t, dir)
	j.Start(nil)
	a := greet(t, j, 7)
	for _, m := range []*moriensv1.ReportRequest{process(1), ring(2, 1), calls(2, 0, 10)} {
		if err := a.send(m); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan bool)
	j.Barrier(func() { close(done) })
	<-done
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir)
	j.Start(nil)
	if connected, expected := j.Store().Attendance(1e18); connected != 1 || expected != 1 {
		t.Errorf("%d agents connected, %d are expected back", connected, expected)
	}
	a = greet(t, j, 7)
	a.next = 3
	if err := a.send(calls(2, 10, 10)); err != nil {
		t.Fatal(err)
	}
	frozen, err := j.Finish(t.Context(), nil, "")
	if err != nil || a.safe() != 4 || frozen.Totals.Calls != 20 || frozen.Totals.Agents != 1 || frozen.Collector.Restarts != 1 {
		t.Errorf("%v, %d acknowledged, %+v, %+v", err, a.safe(), frozen.Totals, frozen.Collector)
	}
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed, and there: %v", err)
	}
}

// Many streams at once: what is replayed is the same to the last call path's number.
func TestOrderIsOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := open(t, dir)
	var known []uint32
	for id := range uint32(200) {
		if mpicall.ID(id).Known() {
			known = append(known, id)
		}
	}
	var streams sync.WaitGroup
	for n := range uint64(8) {
		streams.Go(func() {
			s := greet(t, j, n)
			messages := []*moriensv1.ReportRequest{process(n), ring(100+n, n)}
			for i := range 100 {
				c := rowsOf(100+n, uint64(i)*20, 20)
				for k := range c.Function {
					c.Function[k] = known[(int(n)*7+i+k)%len(known)]
				}
				messages = append(messages, c.Message())
			}
			for _, m := range messages {
				if err := s.send(m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	streams.Wait()
	finish(t, j)
	again := open(t, dir)
	defer again.Close()
	if _, err := again.Finish(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	if d := differ(j.Store(), again.Store()); d != "" {
		t.Errorf("the stores differ:\n%s", d)
	}
	if n := again.Store().Totals().Calls; n != 8*100*20 {
		t.Errorf("%d calls", n)
	}
}

func TestOneCollector(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	j := open(t, dir)
	if _, err := journal.Open(dir, journal.Run{Run: "x"}, quiet); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("a second collector: %v", err)
	}
	j.Close()
	j = open(t, dir)
	defer j.Close()
	if !j.Resumed() {
		t.Error("the run is forgotten")
	}
}

func write(t *testing.T, dir string, records ...[]byte) {
	t.Helper()
	l, err := segment.Open(dir, "journal", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(records...); err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// What a run was begun with is found without a claim, while another process works on the journal, and nothing is made
// where no run has begun.
func TestOptions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	if given, begun, err := journal.Options(dir); given != nil || begun || err != nil {
		t.Errorf("no journal: %q, %v, %v", given, begun, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("looking has made the journal")
	}
	want := []string{"--dims=duration:log,IPC", "--keep=1000001"}
	j, err := journal.Open(dir, journal.Run{Run: "0123456789abcdef", Options: want}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if given, begun, err := journal.Options(dir); !slices.Equal(given, want) || !begun || err != nil {
		t.Errorf("%q, %v, %v", given, begun, err)
	}
	file := filepath.Join(dir, "00000001.seg")
	if err := os.Truncate(file, 30); err != nil { // an unfinished begin
		t.Fatal(err)
	}
	if given, begun, err := journal.Options(dir); given != nil || begun || err != nil {
		t.Errorf("a torn begin: %q, %v, %v", given, begun, err)
	}
	for what, record := range map[string][]byte{"an empty record": {}, "a record that is no begin": {2}} {
		none := t.TempDir()
		write(t, none, record)
		if given, begun, err := journal.Options(none); given != nil || begun || err != nil {
			t.Errorf("%s: %q, %v, %v", what, given, begun, err)
		}
	}
	other := t.TempDir()
	record, err := proto.MarshalOptions{}.MarshalAppend([]byte{1}, &moriensv1.JournalBegin{Format: 9, Version: "9.1"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, record)
	var format *journal.FormatError
	if _, _, err := journal.Options(other); !errors.As(err, &format) {
		t.Errorf("another format: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	encode := func(kind byte, m proto.Message) []byte {
		record, err := proto.MarshalOptions{}.MarshalAppend([]byte{kind}, m)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	begin := encode(1, &moriensv1.JournalBegin{Format: journal.Format, Run: "r", Token: "t", Certificate: []byte("c"), Key: []byte("k")})
	hello := encode(3, &moriensv1.Hello{Agent: 1})
	message := func(agent byte, sequence uint64) []byte {
		return append([]byte{4, agent, 0, 0, 0}, encode(0, &moriensv1.ReportRequest{Sequence: sequence})[1:]...)
	}
	for _, tt := range []struct {
		name, want string
		records    [][]byte
	}{
		{"another version", "format 9, written by moriens 9.1; this moriens reads format 4", [][]byte{encode(1, &moriensv1.JournalBegin{Format: 9, Version: "9.1"})}},
		{"the version before", "format 3, written by moriens 0.9; this moriens reads format 4", [][]byte{encode(1, &moriensv1.JournalBegin{Format: journal.Format - 1, Version: "0.9"})}},
		{"no token", "lacks the run, its token", [][]byte{encode(1, &moriensv1.JournalBegin{Format: journal.Format, Run: "r"})}},
		{"no begin", "one begin, in front", [][]byte{hello}},
		{"two begins", "one begin, in front", [][]byte{begin, begin}},
		{"empty", "empty", [][]byte{begin, {}}},
		{"unknown", "kind 99", [][]byte{begin, {99}}},
		{"a short message", "2 bytes", [][]byte{begin, hello, {4, 0}}},
		{"a message of nobody", "agent 1, of 1", [][]byte{begin, hello, message(1, 1)}},
		{"a gap", "message 2 of agent 0 after message 0", [][]byte{begin, hello, message(0, 2)}},
		{"one agent twice", "is there already", [][]byte{begin, hello, hello}},
		{"no message", "proto", [][]byte{begin, hello, {4, 0, 0, 0, 0, 0xff}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, dir, tt.records...)
			_, err := journal.Open(dir, journal.Run{Run: "new"}, quiet)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Open(dir, journal.Run{Run: "new"}, quiet); err == nil || !strings.Contains(err.Error(), "0700") {
				t.Errorf("others may read it: %v", err)
			}
		})
	}
}
