package agent

import (
	"log/slog"
	"testing"

	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// A process that has left nothing gives the room of its requests to others: those under way are not followed any more.
func TestLostProcessTakesNoRoom(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	send := new(outgoing)
	isend := func(handle uint64) *ring.Record {
		return &ring.Record{Enter: handle, Exit: handle + 1, Call: mpicall.Isend, Transfers: []ring.Transfer{{Kind: ring.Sent, Request: handle, Comm: 1}}}
	}
	requests := message.NewRoom(0)
	m := message.New(send)
	m.Share(message.NewRoom(0))
	m.Define(1, 1)
	thread := m.Thread(7)
	many := uint64(0)
	for ; m.Stats().Unfollowed == 0; many++ { // until there is no more room
		thread.Add(many, isend(1+many), false)
	}
	state := &moriensv1.ProcessState{Matcher: m.Snapshot(), Thread: []*moriensv1.ThreadState{{Ring: 7}}}

	s, err := spool.Open(spool.Config{Dir: t.TempDir(), Max: 64 * spool.MinBytes, Run: "run", Shm: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	outbox, err := s.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	defer outbox.Close()
	n := &Node{
		committer: committer{log: log, spool: s, outbox: outbox, directory: ring.NewDirectory(t.TempDir())},
		config:    Config{Log: log}, requests: requests,
	}
	if n.windows, err = openWindows(s, outbox, uplink.New(nil, nil, outbox, log), nil, "run", log); err != nil {
		t.Fatal(err)
	}
	defer n.windows.close()
	if err := n.restoreProcess(1, state); err != nil {
		t.Fatal(err)
	}
	other := message.New(send)
	other.Share(requests)
	other.Define(1, 1)
	other.Thread(8).Add(0, isend(1), false)
	if x := other.Stats(); x.Unfollowed != 0 {
		t.Errorf("%d requests of another process find no room: %d of the lost one take it", x.Unfollowed, many-1)
	}
}
