package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"moriens/agent/ring"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// fullFrom is how long the spool may have no room, in sum, before that is an error. Less is what a collector that is
	// started again takes.
	fullFrom = 3 * time.Second
	// fullEvery is how often the collector is informed of it then.
	fullEvery = time.Second
)

// fullness is how long the spool has had no room, and what that has cost.
type fullness struct {
	since    time.Time     // zero: there is room
	before   uint64        // what all rings had dropped by then
	reported time.Time     // when the collector was, last, since there was room
	warned   time.Time     // when the log was, last: it may recur
	failed   time.Time     // when the log last reported that as an error
	time     time.Duration // in sum, before since
	dropped  uint64        // likewise
}

// room reports whether more may be read of the rings, and has those know who want to know why not.
func (n *Node) room() bool {
	f := &n.full
	room := n.spool.Budget.Room() && n.stalled == nil
	switch now := time.Now(); {
	case room && f.since.IsZero():
	case room:
		f.time, f.dropped = n.fullSoFar()
		f.since = time.Time{}
		if !f.reported.IsZero() {
			f.reported = time.Time{}
			n.config.Log.Warn("the spool has space again", "spool", n.spool.Path(), "seconds without", f.time.Seconds(), "dropped in that time", f.dropped)
			n.up.ReportSpool(n.describeSpool())
		}
	case f.since.IsZero():
		f.since, f.before = now, n.dropped()
		if now.Sub(f.warned) >= stalledEvery {
			f.warned = now
			n.config.Log.Warn("the spool is full; ring buffers wait, and drop calls when they are full", "spool", n.spool.Path())
		}
	case f.time+now.Sub(f.since) >= fullFrom && now.Sub(f.reported) >= fullEvery:
		if now.Sub(f.failed) >= stalledEvery {
			f.failed = now
			n.config.Log.Error("the spool has been full for seconds: nothing is read, and calls are lost when the ring buffers are full",
				"spool", n.spool.Path(), "bound", units.Bytes(n.spool.Budget.Max()), "waiting", units.Bytes(n.spool.Budget.Waiting()), "error", n.stalled,
				"hint", fullHint(n.stalled))
		}
		f.reported = now
		n.up.ReportSpool(n.describeSpool())
	}
	return room
}

func fullHint(stalled error) string {
	if stalled != nil {
		return "free space on its disk, or name a directory on another disk with --spool"
	}
	return "is the collector running? raise --spool-max"
}

// fullSoFar is for how long the spool has had no room until now, and how many records the rings have dropped in that
// time.
func (n *Node) fullSoFar() (time.Duration, uint64) {
	f := &n.full
	if f.since.IsZero() {
		return f.time, f.dropped
	}
	// A ring that was damaged in that time shows less than before.
	return f.time + time.Since(f.since), f.dropped + max(n.dropped(), f.before) - f.before
}

// dropped is what all rings have dropped, those that have ended included.
func (n *Node) dropped() uint64 {
	sum := n.droppedEnded
	for _, a := range n.agents {
		for _, t := range a.threads {
			t.guard(func() { sum += soundDrops(t.reader.Dropped()) })
		}
	}
	return sum
}

// soundDrops is what a ring says that it has dropped, 0 where that cannot be true: the end of the ring shows that it is
// damaged.
func soundDrops(dropped uint64) uint64 {
	if dropped > ring.MaxCount {
		return 0
	}
	return dropped
}

func (n *Node) describeSpool() *moriensv1.Spool {
	took, dropped := n.fullSoFar()
	s := &moriensv1.Spool{Full: !n.full.since.IsZero(), FullNs: uint64(took), Dropped: dropped}
	if n.stalled != nil {
		s.Error = n.stalled.Error()
	}
	return s
}

// stuck reports whether all processes have ended, and have waited for room as long as they may: what they have left is
// taken without.
func (n *Node) stuck(now time.Time) bool {
	for _, a := range n.agents {
		if !a.ended {
			n.allEnded = time.Time{}
			return false
		}
	}
	if n.allEnded.IsZero() {
		n.allEnded = now
	}
	if now.Sub(n.allEnded) < n.flushGrace() {
		return false
	}
	n.allEnded = now // should there be no room for it in memory alone, this long again
	return true
}

// settle commits what is left of processes, until the disk takes it or a time is over.
func (n *Node) settle() (err error) {
	for _, a := range n.agents {
		n.end(a)
	}
	if len(n.agents) > 0 {
		return cmp.Or(n.stalled, errUnkept) // of another the transaction may have found room
	}
	return n.commitNode()
}

var errUnkept = errors.New("the spool has no space for it")

// unkept says what an agent that has to end could not keep: it is in the rings, whose slots nobody gives back. err is
// why.
func (n *Node) unkept(err error) error {
	s := n.describeSpool()
	for _, a := range n.agents {
		if records := a.waiting(); records > 0 {
			s.Unkept += uint64(records)
			s.UnkeptProcesses++
		}
	}
	if s.Unkept == 0 {
		return err
	}
	s.Full, s.Error = true, err.Error()
	n.up.ReportSpool(s)
	return fmt.Errorf("MPI calls and marks of %s that could not be kept and are left in %s: %d: %w",
		units.Count(int64(s.UnkeptProcesses), "rank"), n.directory.Path(), s.Unkept, err)
}
