package spool

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/internal/segment"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	segmentKind = "outbox"
	// Format is the version of the records.
	Format = 8
	// recentBytes is how much of the newest messages is kept in memory.
	recentBytes = 4 << 20
	// plainBytes is from how many bytes of messages on that wait for the collector transactions are compressed: files that
	// go at once need not be.
	plainBytes = 1 << 20
	// keptBytes is how large a record can be whose memory is used again.
	keptBytes = 256 << 10
	// These bound the files: Budget.file.
	minFileBytes, maxFileBytes = 128 << 10, 8 << 20
)

// A Message is one that waits for the collector.
type Message struct {
	Sequence uint64
	Body     []byte // moriensv1.ReportRequest
}

// A Transaction is messages and the state after all that went into them. It is kept as a whole or not at all.
type Transaction struct {
	Messages []*moriensv1.ReportRequest
	Node     *moriensv1.NodeState // what is added to it; nil: nothing
	Process  uint64               // that the messages are of; 0: none
	State    *moriensv1.ProcessState
	Ended    bool // nothing more will arrive from the process, and State is forgotten
}

// State is what a restarted agent resumes with.
type State struct {
	Node      *moriensv1.NodeState
	Processes map[uint64]*moriensv1.ProcessState
}

// An Outbox is a log of transactions. Its methods may be called concurrently.
type Outbox struct {
	mu        sync.Mutex
	log       *segment.Log
	spool     *Spool
	budget    *Budget
	fileBytes int64
	begun     bool  // the last file says what was known before it
	start     int64 // offset after that
	earlier   bool  // the last file is one of an earlier writer
	node      *moriensv1.NodeState
	processes map[uint64][]byte // their encoded states
	last      uint64            // sequence given out
	number    uint64            // of the last transaction
	held      uint64            // by the collector
	files     []messageFile     // oldest first
	waits     waits
	recent    []Message // the newest
	bytes     int       // of recent
	behind    behind
	notify    func()
	buffer    []byte // of the records that were appended last
	looked    time.Time
	sinceLook int // bytes of messages that were written since
}

// A messageFile is a file of the log.
type messageFile struct {
	number   uint64
	last     uint64 // sequence of its last message, or of the last one before it
	stripped bool   // it holds messages alone
}

// Outbox opens the spool's outbox, as its last writer has left it.
func (s *Spool) Outbox() (*Outbox, error) {
	log, err := s.openOutbox()
	if err != nil {
		return nil, err
	}
	o := &Outbox{
		log: log, spool: s, budget: s.Budget, fileBytes: s.Budget.file(),
		node: &moriensv1.NodeState{}, processes: make(map[uint64][]byte), notify: func() {},
	}
	if err := o.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("outbox: %w", err), log.Close())
	}
	o.count()
	return o, nil
}

func (s *Spool) openOutbox() (*segment.Log, error) {
	log, err := segment.Open(filepath.Join(s.path, outboxDir), segmentKind, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return log, nil
}

// Notify has a function called after every transaction and acknowledgement. Call it before the first.
func (o *Outbox) Notify(f func()) { o.notify = f }

// Commit gives a transaction's messages their sequences and keeps it, safe from the death of this process. After an
// error, such as a full disk, nothing of it is kept, and it may be tried again.
func (o *Outbox) Commit(t Transaction) error {
	o.mu.Lock()
	err := o.commit(&t)
	o.mu.Unlock()
	o.notify()
	return err
}

func (o *Outbox) commit(t *Transaction) error {
	x := &moriensv1.OutboxTransaction{Number: o.number + 1, First: o.last + 1, Node: t.Node, Process: t.Process, Ended: t.Ended}
	for i, m := range t.Messages {
		m.Sequence = x.First + uint64(i)
		body, err := proto.Marshal(m)
		if err != nil {
			return fmt.Errorf("outbox: message %d: %w", m.Sequence, err)
		}
		x.Message = append(x.Message, body)
	}
	if t.State != nil {
		var err error
		if x.State, err = proto.Marshal(t.State); err != nil {
			return fmt.Errorf("outbox: process %016x: %w", t.Process, err)
		}
	}
	o.log.Compress(o.bytes > plainBytes)
	size, err := o.keep(x)
	if Full(err) && o.held == o.last {
		// Of what was written only the state is of use, which is here.
		if err = o.restart(); err == nil {
			size, err = o.keep(x)
		}
	}
	if err != nil {
		return err
	}
	o.take(x)
	o.waits.add(x, size, o.budget.Max())
	o.count()
	for i, body := range x.Message {
		o.recent = append(o.recent, Message{x.First + uint64(i), body})
		o.bytes += len(body)
		o.sinceLook += len(body)
	}
	n := 0
	for ; o.bytes > recentBytes; n++ {
		o.bytes -= len(o.recent[n].Body)
	}
	o.forget(n)
	return nil
}

// keep writes a transaction, and returns how many bytes it takes.
func (o *Outbox) keep(x *moriensv1.OutboxTransaction) (size int64, err error) {
	if err := o.begin(); err != nil {
		return 0, err
	}
	before := o.log.Bytes()
	if err := o.append(&moriensv1.OutboxRecord{Body: &moriensv1.OutboxRecord_Transaction{Transaction: x}}); err != nil {
		return 0, err
	}
	return o.log.Bytes() - before, nil
}

// append writes records in one go.
func (o *Outbox) append(records ...*moriensv1.OutboxRecord) error {
	encoded := make([][]byte, len(records))
	buffer := o.buffer[:0]
	for i, r := range records {
		from := len(buffer)
		var err error
		if buffer, err = (proto.MarshalOptions{}).MarshalAppend(buffer, r); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		encoded[i] = buffer[from:]
	}
	if cap(buffer) <= keptBytes {
		o.buffer = buffer
	}
	_, err := o.log.Append(encoded...)
	o.count()
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// take makes a transaction part of what is known.
func (o *Outbox) take(x *moriensv1.OutboxTransaction) {
	o.number = x.Number
	o.last += uint64(len(x.Message))
	o.files[len(o.files)-1].last = o.last
	o.node = merge(o.node, x.Node)
	switch {
	case x.Ended:
		delete(o.processes, x.Process)
	case x.Process != 0:
		o.processes[x.Process] = x.State
	}
}

// merge adds to a node's state what has arrived.
func merge(node, update *moriensv1.NodeState) *moriensv1.NodeState {
	if update == nil {
		return node
	}
	node.Communicator = append(node.Communicator, update.Communicator...)
	node.Source = append(node.Source, update.Source...)
	node.Reported = append(node.Reported, update.Reported...)
	node.Finished = append(node.Finished, update.Finished...)
	node.CpuNs = max(node.CpuNs, update.CpuNs)
	node.PeakBytes = max(node.PeakBytes, update.PeakBytes)
	node.Restarts = max(node.Restarts, update.Restarts)
	node.Came = node.Came || update.Came
	node.Done = node.Done || update.Done
	return node
}

// Removed says that finished files are gone, so that they need not be known any more.
func (o *Outbox) Removed(finished ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := make(map[string]bool, len(finished))
	for _, name := range finished {
		gone[name] = true
	}
	kept := make([]string, 0, len(o.node.Finished))
	for _, name := range o.node.Finished {
		if !gone[name] {
			kept = append(kept, name)
		}
	}
	o.node.Finished = kept
}

// whole is the beginning of a file whose messages follow one with that sequence, and its transactions that one.
func (o *Outbox) whole(sequence, transaction uint64) []*moriensv1.OutboxRecord {
	records := []*moriensv1.OutboxRecord{{Body: &moriensv1.OutboxRecord_Whole{Whole: &moriensv1.OutboxWhole{
		Version: Format, Sequence: sequence, Transaction: transaction, Node: o.node, Processes: uint32(len(o.processes)),
	}}}}
	for process, state := range o.processes {
		records = append(records, &moriensv1.OutboxRecord{Body: &moriensv1.OutboxRecord_Process{
			Process: &moriensv1.OutboxProcess{Process: process, State: state},
		}})
	}
	return records
}

// Acknowledge says that the collector holds everything up to a sequence.
func (o *Outbox) Acknowledge(sequence uint64) error {
	o.mu.Lock()
	err := o.acknowledge(sequence)
	o.mu.Unlock()
	o.notify()
	return err
}

// acknowledge leaves what the disk refuses to the next transaction, which says so: the collector has nothing to do with
// it.
func (o *Outbox) acknowledge(sequence uint64) error {
	if sequence > o.last {
		return fmt.Errorf("outbox: the collector has message %d, the last one here is %d: those between are lost", sequence, o.last)
	}
	o.held = max(o.held, sequence)
	o.waits.drop(o.held)
	n := 0
	for ; n < len(o.recent) && o.recent[n].Sequence <= o.held; n++ {
		o.bytes -= len(o.recent[n].Body)
	}
	o.forget(n)
	if o.trim() == nil && o.begun && o.held == o.last && o.log.Bytes() > o.fileBytes+2*o.stateBytes() {
		o.renew()
	}
	return nil
}

// forget takes the first recent messages out of memory.
func (o *Outbox) forget(n int) {
	clear(o.recent[:n])
	if o.recent = o.recent[n:]; len(o.recent) == 0 {
		o.recent = nil
	}
}

// trim removes files whose messages are all held and whose state is not needed.
func (o *Outbox) trim() error {
	for o.begun && len(o.files) > 1 && o.files[0].last <= o.held {
		if err := o.log.Remove(o.files[0].number); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		o.files = o.files[1:]
	}
	o.count()
	return nil
}

// count reports the present size to the budget.
func (o *Outbox) count() {
	o.budget.setOutbox(o.log.Bytes())
	o.budget.setWaiting(o.waits.bytes)
}

// Held is the sequence up to which the collector is known to hold everything, and Last the last one given out.
func (o *Outbox) Held() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held
}

// Last is described with Held.
func (o *Outbox) Last() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Waiting is how many bytes wait for the collector, and how many may.
func (o *Outbox) Waiting() (bytes, room int64) { return o.budget.Waiting(), o.budget.Max() }

// Transactions is how many have been kept: the number of the last one.
func (o *Outbox) Transactions() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.number
}

// Cut is how many bytes of an unfinished write the last writer had left.
func (o *Outbox) Cut() int64 { return o.log.Cut() }

// Close closes the outbox. What it holds is kept.
func (o *Outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Close()
}
