package spool

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

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
