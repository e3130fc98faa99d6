package spool

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	moriensv1 "moriens/proto/moriens/v1"
)

// What the collector has not acknowledged and memory does not hold is lost with the files, and the message in its place
// says so; everything else continues.
func TestAgainSaysWhatIsLost(t *testing.T) {
	dir := t.TempDir()
	c := Config{Dir: dir, Max: 64 << 20, Run: "run", Shm: dir}
	b := open(t, c)
	defer func() { b.close() }()
	text := strings.Repeat("x", 1<<20)
	const messages = recentBytes>>20 + 3
	for i := range messages {
		if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note(fmt.Sprint(i) + text)}, Process: 1, State: &moriensv1.ProcessState{LogBytes: uint64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Acknowledge(1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.spool.Path()); err != nil {
		t.Fatal(err)
	}
	lost, err := b.Again("somebody")
	if err != nil || lost == 0 || lost >= messages-1 {
		t.Fatal(lost, err)
	}
	for range 2 {
		m, there, err := b.Next(1)
		r := &moriensv1.ReportRequest{}
		if err := errors.Join(err, proto.Unmarshal(m.Body, r)); err != nil || !there {
			t.Fatal(there, err)
		}
		if want := fmt.Sprintf("somebody: %d messages lost", lost); r.Sequence != 2 || r.GetFault().GetCorrupt() != want {
			t.Error(r)
		}
		texts := b.texts(t, 1)
		if len(texts) != messages-1 || strings.Join(texts[:lost], "") != "" || texts[lost] != fmt.Sprint(lost+1)+text {
			t.Errorf("%d messages, %d lost", len(texts), lost)
		}
		b.close()
		b = open(t, c)
		if s, err := b.State(); err != nil || s.Processes[1].GetLogBytes() != messages-1 {
			t.Error(s, err)
		}
	}
}

// What is written again is no new transaction: the windows know of none, and the agent may die before the next one.
func TestAgainIsNoTransaction(t *testing.T) {
	for committed := range uint64(3) {
		dir := t.TempDir()
		c := Config{Dir: dir, Run: "run", Shm: dir}
		b := open(t, c)
		commit := func() {
			t.Helper()
			if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note("a")}}); err != nil {
				t.Fatal(err)
			}
		}
		for range committed {
			commit()
		}
		if err := os.RemoveAll(b.spool.Path()); err != nil {
			t.Fatal(err)
		}
		if lost, err := b.Again("a test"); err != nil || lost != 0 {
			t.Fatalf("%d messages are lost, %v", lost, err)
		}
		for range 3 { // as it is, and opened twice
			if n, texts := b.Transactions(), uint64(len(b.texts(t, 0))); n != committed || texts != committed {
				t.Errorf("%d transactions, %d messages, %d were committed", n, texts, committed)
			}
			b.close()
			b = open(t, c)
		}
		commit()
		if n := b.Transactions(); n != committed+1 {
			t.Errorf("%d transactions, %d were committed", n, committed+1)
		}
		b.close()
	}
}

// It is to be looked whether the files are there once a second, and before what was written since is out of memory: of
// files that are removed between two looks nothing is lost that was not by the first one.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Config{Dir: dir, Run: "run", Shm: dir})
	defer b.close()
	commit := func(text string) {
		t.Helper()
		if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	if !b.Look(now) {
		t.Error("not at first")
	}
	commit("a")
	if b.Look(now) || b.Look(now.Add(lookEvery-1)) {
		t.Error("within a second")
	}
	if now = now.Add(lookEvery); !b.Look(now) || b.Look(now) {
		t.Error("not once after a second")
	}
	if err := os.RemoveAll(b.spool.Path()); err != nil {
		t.Fatal(err)
	}
	const bytes = 100 << 10
	written := 0
	for text := strings.Repeat("x", bytes); !b.Look(now); written++ {
		commit(text)
	}
	if written*bytes < lookBytes-bytes || written*bytes > recentBytes-bytes {
		t.Errorf("after %d messages of %d bytes", written, bytes)
	}
	if !b.Gone() {
		t.Fatal("nobody has seen that it is gone")
	}
	if lost, err := b.Again("a test"); err != nil || lost != 0 || b.Gone() {
		t.Errorf("%d messages are lost, %v", lost, err)
	}
	if all := b.texts(t, 0); len(all) != 1+written {
		t.Errorf("%d messages of %d", len(all), 1+written)
	}
}
