package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/window"
	moriensv1 "moriens/proto/moriens/v1"
)

// A committer keeps what was read of the rings on the node, safe from the death of this process: in the windows, and in
// the outbox for the collector.
type committer struct {
	log       *slog.Logger
	directory *ring.Directory
	whole     bool         // bursts stay on the node
	placed    bool         // the place of the spool is given
	ranks     func() []int // those whose data is here, in order
	spool     *spool.Spool
	outbox    *spool.Outbox
	windows   *windows
	packer    packer
	out       outgoing // of the node, and of no process

	stalled     error // why the latest transaction could not be kept; nil if it was
	stalledSaid time.Time
	gaveWay     time.Time // when windows were last given up for lack of disk space
}

// send has a message of the node go with the next transaction.
func (c *committer) send(m *moriensv1.ReportRequest) { c.out.add(m) }

// saySpool says where the spool is, and why, if that is not where it was asked for.
func (c *committer) saySpool() {
	text := c.spool.Said()
	if text == "" {
		return
	}
	level := slog.LevelWarn
	if c.placed {
		level = slog.LevelError
	}
	c.say(level, text)
}

// say adds a line for the user to the log and to the results.
func (c *committer) say(level slog.Level, text string) {
	c.log.Log(context.Background(), level, text)
	c.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{Text: text}}})
}

// commitNode makes a transaction of what belongs to no process.
func (c *committer) commitNode() error { return c.transact(spool.Transaction{}, &outgoing{}) }

// transact commits what waits of the node and of a process. While the disk is full it is kept as it is, and reading of
// the rings pauses.
func (c *committer) transact(t spool.Transaction, of *outgoing) error {
	if len(c.out.messages)+len(of.messages) == 0 && c.out.state == nil && of.state == nil && t.State == nil && !t.Ended {
		return nil
	}
	var messages []*moriensv1.ReportRequest
	err := c.keepSpool() // which may have something to say
	if err == nil {
		messages = slices.Concat(c.out.messages, of.messages)
		t.Node = c.out.state
		if of.state != nil {
			t.Node = proto.CloneOf(c.out.node())
			proto.Merge(t.Node, of.state)
		}
		var cuts cuts
		if c.whole {
			cuts = c.windows.store.Cuts(messages, of.blocks)
		}
		packed := c.packer.pack(messages, of.blocks, cuts)
		err = c.keep(t, messages, packed, of)
		if spool.Full(err) && time.Since(c.gaveWay) > fullEvery { // what waits for the collector goes before windows
			c.gaveWay = time.Now()
			c.windows.store.GiveWay()
			err = c.keep(t, messages, packed, of)
		}
	}
	if err != nil {
		if now := time.Now(); c.stalled == nil && now.Sub(c.stalledSaid) > stalledEvery { // it may recur
			c.stalledSaid = now
			c.log.Error("the spool cannot be written; the ring buffers wait", "spool", c.spool.Path(), "error", err)
		}
		c.stalled = err
		return err
	}
	c.stalled = nil
	c.windows.take(messages, of.blocks)
	c.out = outgoing{}
	for _, f := range of.files {
		f.close()
		c.remove(filepath.Base(f.path))
	}
	moves := of.moves
	if cap(moves) > keptMoves && len(moves) < cap(moves)/4 {
		moves = nil
	}
	*of = outgoing{blocks: of.blocks[:0], gaps: of.gaps[:0], moves: moves[:0], bytes: of.bytes, waited: of.wait(), latest: time.Now()}
	return nil
}

// keep writes what the node keeps of a transaction, then what goes to the collector. What the windows have of a
// transaction that the outbox has not is void: an agent that dies between the two finds the records where they were.
func (c *committer) keep(t spool.Transaction, messages []*moriensv1.ReportRequest, p packed, of *outgoing) error {
	detail := window.Transaction{Number: c.outbox.Transactions() + 1, Messages: messages, Blocks: of.blocks, Moves: of.moves}
	if c.whole {
		detail.Rows = p.rows
	}
	moves, err := c.windows.store.Append(detail)
	if err != nil {
		return err
	}
	t.Messages = p.messages(c.whole, moves)
	if err := c.outbox.Commit(t); err != nil {
		c.windows.store.Undo()
		return err
	}
	return nil
}

// remove removes a file in shared memory that is read to the end.
func (c *committer) remove(name string) {
	removeFile(filepath.Join(c.directory.Path(), name), c.log)
	c.outbox.Removed(name)
}

func removeFile(path string, log *slog.Logger) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		log.Warn("a file is left in shared memory", "error", err)
	}
}

// keepSpool makes the spool again where it was removed: without it a restarted agent would know nothing.
func (c *committer) keepSpool() error {
	if c.stalled == nil && !c.outbox.Look(time.Now()) {
		return nil
	}
	if !c.outbox.Gone() {
		c.windows.store.Again(windowsDir(c.spool))
		return nil
	}
	was := c.spool.Path()
	why := fmt.Sprintf("the spool %s was removed while ranks ran", was)
	lost, err := c.outbox.Again(why)
	if err != nil {
		return err
	}
	c.windows.store.Again(windowsDir(c.spool))
	if c.spool.Path() != was {
		c.saySpool()
	}
	log := c.log.With("spool", c.spool.Path())
	if lost == 0 {
		log.Error("the spool was removed and is created again: nothing else is lost")
		return nil
	}
	log.Error("the spool was removed, with all data that the collector had not acknowledged", "messages", lost, "ranks", c.ranks())
	return nil
}
