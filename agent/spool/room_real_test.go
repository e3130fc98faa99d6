//go:build !quick

package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// letters are such that no compression makes them fewer.
var letters = func() string {
	text, state := make([]byte, 2<<20), uint64(1)
	for i := range text {
		state = state*6364136223846793005 + 1442695040888963407
		text[i] = ' ' + byte(state>>33)%95
	}
	return string(text)
}()

// noise is some of them.
func noise(seed uint64, bytes int) string { return letters[seed*1009%(1<<20):][:bytes] }

// large is a state of so many bytes.
func large(seed uint64, bytes int) *moriensv1.ProcessState {
	return &moriensv1.ProcessState{LogBytes: seed, Thread: []*moriensv1.ThreadState{{Corrupt: noise(seed, bytes)}}}
}

// onDisk is what the outbox's files take.
func (b box) onDisk(t interface{ Fatal(...any) }) (n int64) {
	files, err := filepath.Glob(filepath.Join(b.spool.Path(), outboxDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// State that is larger than the bound leaves room: what is read is what makes it smaller again.
func TestStateTakesNoRoom(t *testing.T) {
	for _, acknowledged := range []bool{true, false} {
		t.Run(fmt.Sprint("acknowledged ", acknowledged), func(t *testing.T) {
			dir := t.TempDir()
			b := open(t, Config{Dir: dir, Max: MinBytes, Run: "run", Shm: dir})
			defer func() { b.close() }()
			const processes, transactions, state = 4, 200, 400_000
			for i := range uint64(transactions) {
				x := Transaction{Messages: []*moriensv1.ReportRequest{note(noise(i, 100))}, Process: i%processes + 1, State: large(i, state)}
				if err := b.Commit(x); err != nil {
					t.Fatal(err)
				}
				if acknowledged {
					if err := b.Acknowledge(b.Last()); err != nil {
						t.Fatal(err)
					}
				}
				if !b.spool.Budget.Room() {
					t.Fatalf("no room behind transaction %d: %d bytes wait", i, b.spool.Budget.Waiting())
				}
			}
			// The states as they are, once as a file's beginning and once after it, in the file that is written to and in the
			// one before.
			if n := b.onDisk(t); n > int64(MinBytes)+5*processes*state {
				t.Errorf("%d bytes on the disk", n)
			}
			held := b.Held()
			b.close()
			b = open(t, Config{Dir: dir, Max: MinBytes, Run: "run", Shm: dir})
			s, err := b.State()
			if err != nil {
				t.Fatal(err)
			}
			for p := range uint64(processes) {
				if want := large(transactions-processes+p, state); !proto.Equal(s.Processes[p+1], want) {
					t.Errorf("process %d goes on at %d, want %d", p+1, s.Processes[p+1].GetLogBytes(), want.LogBytes)
				}
			}
			if got := b.texts(t, held); len(got) != transactions-int(held) {
				t.Errorf("%d messages, want %d", len(got), transactions-held)
			}
			if !b.spool.Budget.Room() {
				t.Error("no room behind a restart")
			}
		})
	}
}

// Whatever was done before: where everything is acknowledged there is room, nothing waits, and of the files there is
// little more than the state.
func TestRoomWhereAllIsAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "outbox-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := Config{Dir: dir, Max: MinBytes, Run: "run", Shm: dir}
		b := open(t, c)
		defer func() { b.close() }()
		states := map[uint64]int{}
		for i := range uint64(rapid.IntRange(1, 25).Draw(t, "steps")) {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				x := Transaction{Process: rapid.Uint64Range(1, 3).Draw(t, "process")}
				for range rapid.IntRange(0, 3).Draw(t, "messages") {
					x.Messages = append(x.Messages, note(noise(i, rapid.SampledFrom([]int{10, 1000, 200_000}).Draw(t, "size"))))
				}
				if x.Ended = rapid.IntRange(0, 4).Draw(t, "ended") == 0; x.Ended {
					delete(states, x.Process)
				} else {
					states[x.Process] = rapid.SampledFrom([]int{0, 10_000, 100_000, 400_000}).Draw(t, "state")
					x.State = large(i, states[x.Process])
				}
				if err := b.Commit(x); err != nil {
					t.Fatal(err)
				}
			case 3:
				if err := b.Acknowledge(rapid.Uint64Range(b.Held(), b.Last()).Draw(t, "held")); err != nil {
					t.Fatal(err)
				}
			case 4:
				b.close()
				b = open(t, c)
			case 5:
				if err := b.Acknowledge(b.Last()); err != nil {
					t.Fatal(err)
				}
				if !b.spool.Budget.Room() || b.spool.Budget.Waiting() != 0 {
					t.Fatalf("%d bytes wait where everything is acknowledged", b.spool.Budget.Waiting())
				}
			}
			if b.Held() == b.Last() && b.begun {
				sum := 0
				for _, bytes := range states {
					sum += bytes
				}
				// The latest transaction may have been the one that made the states smaller.
				if n := b.onDisk(t); n > int64(minFileBytes)+int64(sum)*3+4*400_000 {
					t.Fatalf("%d bytes on the disk, states have %d", n, sum)
				}
			}
		}
	})
}

// On a disk that is smaller than the bound, and full of what the collector holds, the next transaction finds room.
func TestFullOfWhatIsAcknowledged(t *testing.T) {
	testenv.NeedRoot(t)
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=1m"); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	b := open(t, Config{Dir: disk, Max: 16 * MinBytes, Run: "run", Shm: t.TempDir()})
	defer func() { b.close() }()
	for i := range uint64(60) {
		if err := b.Commit(Transaction{Messages: []*moriensv1.ReportRequest{note(noise(i, 20_000))}, Process: i%2 + 1, State: large(i, 200_000)}); err != nil {
			t.Fatalf("transaction %d: %v", i, err)
		}
		if err := b.Acknowledge(b.Last()); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that is restarted on a full disk resumes with what it finds, and waits for room as the one before it did.
func TestOpenedOnAFullDisk(t *testing.T) {
	testenv.NeedRoot(t)
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=1m"); err != nil {
		testenv.Lacking(t, "no mounting here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	c := Config{Dir: disk, Max: MinBytes, Run: "run", Shm: t.TempDir()}
	b := open(t, c)
	defer func() { b.close() }()
	x := func(i uint64) Transaction {
		return Transaction{Messages: []*moriensv1.ReportRequest{note(noise(i, 10_000))}, Process: 1, State: large(i, 1000)}
	}
	for i := range uint64(10) {
		if err := b.Commit(x(i)); err != nil {
			t.Fatal(err)
		}
	}
	ballast := filepath.Join(disk, "ballast")
	os.WriteFile(ballast, make([]byte, 2<<20), 0o600) // as much as there is room for
	for n := range 3 {
		b.close()
		b = open(t, c)
		if err := b.Commit(x(10)); !Full(err) {
			t.Fatalf("the disk is not full: %v", err)
		}
		if s, err := b.State(); err != nil || s.Processes[1].GetLogBytes() != 9 || len(b.texts(t, 0)) != 10 {
			t.Fatalf("life %d: %v, %v", n, s, err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(x(10)); err != nil {
		t.Fatal(err)
	}
	if got := b.texts(t, 0); len(got) != 11 {
		t.Errorf("%d messages", len(got))
	}
}
