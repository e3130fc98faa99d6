package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"moriens/internal/segment"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

// sweepTime is older than sweepAge.
var sweepTime = time.Now().Add(-sweepAge - time.Hour)

type box struct {
	*Outbox
	spool *Spool
}

func open(t interface {
	Helper()
	Fatal(...any)
}, c Config) box {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	return box{o, s}
}

func (b box) close() {
	b.Outbox.Close()
	b.spool.Close()
}

func note(text string) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Text: text}}}
}

// texts reads the notes after a sequence as a sender does.
func (b box) texts(t interface{ Fatal(...any) }, after uint64) (all []string) {
	for {
		m, there, err := b.Next(after)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			return all
		}
		r := &moriensv1.ReportRequest{}
		if err := proto.Unmarshal(m.Body, r); err != nil {
			t.Fatal(err)
		}
		if m.Sequence <= after || r.Sequence != m.Sequence {
			t.Fatal("message", m.Sequence, "is numbered", r.Sequence, "after", after)
		}
		all = append(all, r.GetNote().GetText())
		after = m.Sequence
	}
}

// TestOutbox does anything in any order, restarts included, and finds the messages and the state that a model has.
func TestOutbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "outbox-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := Config{Dir: filepath.Join(dir, "spool"), Max: MinBytes, Run: "run", Shm: dir}
		b := open(t, c)
		agent := b.spool.Agent
		defer func() { b.close() }()
		var texts []string
		held := 0
		node := &moriensv1.NodeState{}
		processes := map[uint64]*moriensv1.ProcessState{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2: // a transaction, large or small
				x := Transaction{Process: rapid.Uint64Range(0, 3).Draw(t, "process")}
				size := rapid.SampledFrom([]int{1, 1000, 30_000}).Draw(t, "size")
				for range rapid.IntRange(0, 3).Draw(t, "messages") {
					// Random letters, so that compression does not make files of one size of them.
					text := fmt.Sprint(len(texts), rapid.Uint64().Draw(t, "letters")) + string(bytes.Repeat([]byte{'x'}, size))
					texts = append(texts, text)
					x.Messages = append(x.Messages, note(text))
				}
				if x.Process != 0 {
					if x.Ended = rapid.Bool().Draw(t, "ended"); x.Ended {
						delete(processes, x.Process)
					} else {
						x.State = &moriensv1.ProcessState{LogBytes: rapid.Uint64().Draw(t, "log")}
						processes[x.Process] = x.State
					}
				}
				if rapid.Bool().Draw(t, "node") {
					x.Node = &moriensv1.NodeState{Communicator: [][]byte{[]byte(fmt.Sprint(len(texts)))}, Finished: []string{"f"}, Restarts: 1, CpuNs: uint64(len(texts))}
					node = merge(node, x.Node)
				}
				if err := b.Commit(x); err != nil {
					t.Fatal(err)
				}
			case 3:
				held = rapid.IntRange(held, len(texts)).Draw(t, "held")
				if err := b.Acknowledge(uint64(held)); err != nil {
					t.Fatal(err)
				}
			case 4:
				b.Removed("f")
				node.Finished = nil
				if err := b.Commit(Transaction{Messages: nil, Node: &moriensv1.NodeState{}}); err != nil {
					t.Fatal(err)
				}
			case 5:
				b.close()
				b = open(t, c)
				if b.spool.Agent != agent {
					t.Fatal("another id")
				}
				s, err := b.State()
				if err != nil {
					t.Fatal(err)
				}
				s.Node.Finished, node.Finished = nil, nil // may be known longer than needed
				if d := cmp.Diff(node, s.Node, protocmp.Transform()); d != "" {
					t.Fatal(d)
				}
				if d := cmp.Diff(processes, s.Processes, protocmp.Transform()); d != "" {
					t.Fatal(d)
				}
				if int(b.Held()) > held {
					t.Fatal("held", b.Held(), "of", held)
				}
			case 6: // its directory is removed, or what is in it
				for _, path := range []string{outboxDir, identityFile, "."}[:rapid.IntRange(1, 3).Draw(t, "removed")] {
					if err := os.RemoveAll(filepath.Join(b.spool.Path(), path)); err != nil {
						t.Fatal(err)
					}
				}
				if !b.Gone() {
					t.Fatal("nobody has seen that it is gone")
				}
				first := b.Held()
				lost, err := b.Again("a test")
				if err != nil || b.Gone() {
					t.Fatal("it is not there again", err)
				}
				for i := range lost {
					texts[first+i] = ""
				}
			}
			if int(b.Last()) != len(texts) {
				t.Fatal("last", b.Last(), "of", len(texts))
			}
			if d := cmp.Diff(texts[held:], b.texts(t, uint64(held))); d != "" && len(texts) > held {
				t.Fatal("messages differ behind ", held)
			}
		}
	})
}

// TestTornWrite: whatever part of the last write is there, the outbox is in the state before or after it.
func TestTornWrite(t *testing.T) {
	dir := t.TempDir()
	c := Config{Dir: dir, Run: "run", Shm: dir}
	b := open(t, c)
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(b.spool.Path(), outboxDir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note("a")}, Process: 1, State: &moriensv1.ProcessState{LogBytes: 1}}); err != nil {
		t.Fatal(err)
	}
	file := files()[0]
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note("b")}, Process: 1, State: &moriensv1.ProcessState{LogBytes: 2}}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.close()
	for n := len(before); n <= len(after); n++ {
		for _, f := range files() {
			os.Remove(f)
		}
		if err := os.WriteFile(file, after[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		b = open(t, c)
		s, err := b.State()
		want := []string{"a"}
		if n == len(after) {
			want = append(want, "b")
		}
		if err != nil || s.Processes[1].LogBytes != uint64(len(want)) || !cmp.Equal(b.texts(t, 0), want) || (b.Cut() > 0) != (n > len(before) && n < len(after)) {
			t.Errorf("%d of %d bytes: %v, %v, cut %d", n, len(after), s, err, b.Cut())
		}
		b.close()
	}
}

// TestFilesAreRemoved: what is held by the collector is not kept on the disk.
func TestFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Config{Dir: dir, Max: MinBytes, Run: "run", Shm: dir})
	defer b.close()
	random := make([]byte, 50_000)
	state := uint64(1)
	for i := 0; b.spool.Budget.Room(); i++ {
		for k := range random {
			state = state*6364136223846793005 + 1442695040888963407
			random[k] = 'a' + byte(state>>33)%26
		}
		if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note(string(random))}}); err != nil {
			t.Fatal(err)
		}
	}
	if windows := b.spool.Budget.Windows(); windows != 0 {
		t.Errorf("%d bytes for windows", windows)
	}
	last := b.Last()
	for s := range last {
		if err := b.Acknowledge(s + 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.spool.Budget.Windows(); !b.spool.Budget.Room() || got < int64(MinBytes)/2 || b.spool.Budget.OutboxPeak() < int64(MinBytes) {
		t.Errorf("room %v, %d bytes for windows, peak %d", b.spool.Budget.Room(), got, b.spool.Budget.OutboxPeak())
	}
	if err := b.Acknowledge(last + 1); err == nil {
		t.Error("the collector holds what was never sent")
	}
}

func TestOpenRefuses(t *testing.T) {
	shm := t.TempDir()
	config := func(dir string) Config { return Config{Dir: dir, Run: "run", Shm: shm} }
	dir := t.TempDir()
	small := config(dir)
	small.Max = units.Bytes(1000)
	if _, err := Open(small); err == nil {
		t.Error("1000 bytes are enough")
	}
	s, err := Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(config(dir)); !errors.Is(err, ErrInUse) {
		t.Errorf("two agents: %v", err)
	}
	for _, path := range []string{s.Path(), filepath.Dir(s.Path())} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(s.Path(), identityFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v are kept", left)
	}
}

// TestSweep leaves young spools alone, old ones that were written to of late, and those in which an agent is at work.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := func(s *Spool, names ...string) {
		for _, name := range names {
			if err := os.Chtimes(filepath.Join(s.Path(), name), sweepTime, sweepTime); err != nil {
				t.Fatal(err)
			}
		}
	}
	var spools []*Spool
	for range 4 {
		s, err := Open(Config{Dir: dir, Run: "run", Shm: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		spools = append(spools, s)
	}
	spools[0].Close()
	spools[1].Close()
	outbox, err := spools[3].Outbox()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(outbox.Close(), spools[3].Close()); err != nil {
		t.Fatal(err)
	}
	old(spools[0], identityFile, ".")
	old(spools[2], identityFile, ".")
	old(spools[3], identityFile, ".")
	if n, err := Sweep(dir); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	for i, s := range spools {
		if _, err := os.Stat(s.Path()); (err != nil) != (i == 0) {
			t.Errorf("spool %d: %v", i, err)
		}
	}
}

// written is a spool whose outbox has these records.
func written(t *testing.T, records ...[]byte) *Spool {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir, Run: "run", Shm: dir})
	if err != nil {
		t.Fatal(err)
	}
	log, err := segment.Open(filepath.Join(s.Path(), outboxDir), segmentKind, 1<<30)
	if err == nil {
		_, err = log.Append(records...)
	}
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	return s
}

// An outbox of another version is refused, by its version.
func TestAnotherVersion(t *testing.T) {
	record, err := proto.Marshal(&moriensv1.OutboxRecord{Body: &moriensv1.OutboxRecord_Whole{Whole: &moriensv1.OutboxWhole{Version: Format - 1}}})
	if err != nil {
		t.Fatal(err)
	}
	s := written(t, record)
	defer s.Close()
	var version *VersionError
	if _, err := s.Outbox(); !errors.As(err, &version) || version.Version != Format-1 {
		t.Errorf("%v", err)
	}
}

// FuzzOutbox: records that no Outbox has written are an error, or an Outbox that works.
func FuzzOutbox(f *testing.F) {
	records := []*moriensv1.OutboxRecord{
		{Body: &moriensv1.OutboxRecord_Whole{Whole: &moriensv1.OutboxWhole{Version: Format, Processes: 1, Sequence: 3}}},
		{Body: &moriensv1.OutboxRecord_Process{Process: &moriensv1.OutboxProcess{Process: 1}}},
		{Body: &moriensv1.OutboxRecord_Transaction{Transaction: &moriensv1.OutboxTransaction{Number: 1, First: 4, Message: [][]byte{{1}, {2}}, Process: 1}}},
	}
	var encoded [3][]byte
	for i, r := range records {
		encoded[i], _ = proto.Marshal(r)
	}
	f.Add(encoded[0], encoded[1], encoded[2])
	f.Add(encoded[0], encoded[2], encoded[2])
	f.Add(encoded[2], encoded[1], encoded[0])
	whole := func(sequence uint64) []byte {
		encoded, _ := proto.Marshal(&moriensv1.OutboxRecord{Body: &moriensv1.OutboxRecord_Whole{Whole: &moriensv1.OutboxWhole{Version: Format, Sequence: sequence}}})
		return encoded
	}
	f.Add(whole(3), encoded[2], whole(1)) // what was known before, repeated after a transaction
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		s := written(t, a, b, c)
		defer s.Close()
		o, err := s.Outbox()
		if err != nil {
			return
		}
		defer o.Close()
		if _, err := o.State(); err != nil {
			return
		}
		if err := o.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note("x")}}); err != nil {
			t.Fatal(err)
		}
		last := o.Last()
		if m, there, err := o.Next(last - 1); err != nil || !there || m.Sequence != last {
			t.Fatal(m.Sequence, there, err)
		}
	})
}
