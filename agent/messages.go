package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"moriens/agent/message"
	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// sumsEvery is how often, at most, the sums of a process are reported.
const sumsEvery = 10 * time.Second

// sumsRows is of how many rows sums may be to be reported so often: each has all rows, and of a rank that exchanges
// messages with thousands of others more would travel than of its calls.
const sumsRows = 1024

// sumsEveryCells is the same where bursts are kept on the node: with so many processes their sums would be most of
// the traffic.
const sumsEveryCells = 10 * time.Minute

// soundTransfers says what of a record's meaning cannot be what it seems; nil if nothing.
func soundTransfers(r *ring.Record) error {
	for _, x := range r.Transfers {
		if x.Bytes > message.MaxBytes {
			return fmt.Errorf("%w: a transfer of %d bytes", ring.ErrCorrupt, x.Bytes)
		}
	}
	if c := &r.Collective; c.Sent > message.MaxBytes || c.Received > message.MaxBytes {
		return fmt.Errorf("%w: a collective of %d and %d bytes", ring.ErrCorrupt, c.Sent, c.Received)
	}
	for _, q := range r.Requests {
		if q.Event < ring.Made || q.Event > ring.Matched {
			return fmt.Errorf("%w: event %d of a request", ring.ErrCorrupt, q.Event)
		}
	}
	return nil
}

// advance lets the matcher process all that was read, as far as possible. The results go out with the next transaction.
func (a *Process) advance() {
	a.messages.Expect(a.process.Threads())
	a.messages.Advance()
}

// defineComms reports the communicators that a process's log has defined.
func (n *Node) defineComms(a *Process, comms []ring.Comm) {
	for _, c := range comms {
		if a.messages.Defined(c.Number) {
			continue
		}
		a.messages.Define(c.Number, c.Peers)
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Member{Member: &moriensv1.Member{
			Process: a.process.ID, Comm: c.Number, Communicator: n.communicator(&c), Rank: uint32(c.Rank), Origin: origin(c.Origin),
		}}})
	}
}

func origin(o *ring.Origin) *moriensv1.Origin {
	if o == nil {
		return nil
	}
	return &moriensv1.Origin{
		How: moriensv1.Origin_How(o.How), Parent: o.Parent, Key: o.Key, Began: o.Began, Ended: o.Ended, Text: o.Text,
	}
}

// communicator returns the node's number of a communicator, and reports it when it is new: its processes here, which
// may be a hundred, all have it in their logs.
func (n *Node) communicator(c *ring.Comm) uint32 {
	d := &moriensv1.Communicator{
		Id: c.ID, Size: uint32(c.Size), Peers: uint32(c.Peers),
		Inter: c.Inter, Window: c.Window, File: c.File, Guessed: c.Guessed, Cut: c.Cut,
	}
	content := binary.LittleEndian.AppendUint64(nil, c.ID)
	content = fmt.Appendf(content, "%d %d %t %t %t %t %t", c.Size, c.Peers, c.Inter, c.Window, c.File, c.Guessed, c.Cut)
	for _, r := range c.Ranks {
		d.First = append(d.First, r.First)
		d.Stride = append(d.Stride, r.Stride)
		d.Count = append(d.Count, r.Count)
		content = fmt.Appendf(content, " %d+%d*%d", r.First, r.Stride, r.Count)
	}
	digest := sha256.Sum256(content)
	number, known := n.communicators[digest]
	if !known {
		number = uint32(len(n.communicators)) + 1
		n.communicators[digest] = number
		n.out.node().Communicator = append(n.out.node().Communicator, digest[:])
		d.Communicator = number
		n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Communicator{Communicator: d}})
	}
	return number
}

// look remembers how many calls had no record before a read of the ring that emptied it: a record
// that is read later says so if they were missing before it.
func (t *thread) look(missed uint64, got int, emptied bool) {
	if got > 0 {
		t.covered = t.missed
	}
	if emptied {
		t.missed = missed
	}
}

// order reports to a process's matcher up to when its rings were read, where it has several and the order among them
// counts.
func (n *Node) order(a *Process, now uint64) {
	for _, t := range a.threads {
		switch {
		case t.corrupt != nil:
			t.messages.Missing()
			t.messages.Read(math.MaxUint64)
		default:
			t.guard(func() {
				if t.reader.Head() != t.reader.Tail() {
					return
				}
				if t.reader.Missed() != t.covered {
					t.messages.Missing()
				}
				t.messages.Read(t.reader.ReadUntil(now))
			})
		}
	}
	a.advance()
}

// sendSums reports the sums of the process, if they have grown since the last report, at most once in every.
func (a *Process) sendSums(every time.Duration) {
	n := a.messages.Counted()
	if n == a.tally.transfers || time.Since(a.tally.at) < every*time.Duration(1+a.tally.rows/sumsRows) {
		return
	}
	a.tally.transfers, a.tally.at = n, time.Now()
	x := a.messages.Sums()
	x.Process, a.tally.rows = a.process.ID, len(x.A)+len(x.Partners.GetComm())
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Sums{Sums: x}})
}

// endMessages reports the outcome of everything that a process has moved.
func (a *Process) endMessages() {
	a.messages.End()
	s := a.messages.Stats()
	a.sendSums(0)
	a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_TransfersEnd{TransfersEnd: &moriensv1.TransfersEnd{
		Process: a.process.ID, Transfers: s.Transfers, EndsUnknown: s.EndsUnknown, StartsUnknown: s.StartsUnknown,
		RequestsLost: s.Lost, RequestsUnfollowed: s.Unfollowed, RequestsOpen: s.Open, HandlesShared: s.Shared, Cancelled: s.Cancelled, Late: s.Late,
		OrdinalsUnknown: s.Unordered, OrdinalsVoid: s.Void,
		CommsLost: a.process.Losses().CommsLost, Collectives: s.Collectives,
	}}})
}
