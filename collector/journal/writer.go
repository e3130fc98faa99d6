package journal

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"moriens/internal/segment"
)

const (
	// commitBytes bounds what is written at once, but for a single record.
	commitBytes = 8 << 20
	// commitEvery is how long a record waits for others, to be written with them. It does not wait so long where somebody
	// waits for it, or where commitFrom bytes do.
	commitEvery = 100 * time.Millisecond
	commitFrom  = 1 << 20
	// waitingBytes is how much may wait for the disk before agents have to wait as well.
	waitingBytes = 16 << 20

	retryMin = 50 * time.Millisecond
	retryMax = 5 * time.Second
)

// A disk is what a writer writes to.
type disk interface {
	Append(records ...[]byte) (segment.Position, error)
	Sync() error
	TakeBack() error
	Bytes() int64
}

// Stats say how the writing goes.
type Stats struct {
	Bytes        int64         // of the journal's files
	Records      uint64        // that this process has made safe
	Syncs        uint64        // it took
	SyncTime     time.Duration // those took
	SlowestSync  time.Duration
	Waiting      int    // records that are not safe yet
	WaitingBytes int    // their length
	Failures     uint64 // writes that failed, and were tried again
	Failing      string // why the latest write failed; empty if it did not
}

// Stats returns the counts so far.
func (j *Journal) Stats() Stats {
	var sum Stats
	for _, v := range j.volumes {
		s := v.writer.now()
		sum.Bytes += s.Bytes
		sum.Records += s.Records
		sum.Syncs += s.Syncs
		sum.SyncTime += s.SyncTime
		sum.SlowestSync = max(sum.SlowestSync, s.SlowestSync)
		sum.Waiting += s.Waiting
		sum.WaitingBytes += s.WaitingBytes
		sum.Failures += s.Failures
		sum.Failing = cmp.Or(sum.Failing, s.Failing)
	}
	return sum
}

func (w *writer) now() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Waiting, s.WaitingBytes = w.records, w.bytes
	return s
}

// An entry is a record to be written, nil for none, and what to do when it and all before it are safe.
type entry struct {
	record []byte
	safe   func()
}

// A writer writes what is queued, in order, as much at a time as waits.
type writer struct {
	disk disk
	log  *slog.Logger

	mu      sync.Mutex
	changed sync.Cond
	queue   []entry   // the first ones may be on their way to the disk
	records int       // in the queue
	bytes   int       // of those
	since   time.Time // since when one waits that is not on its way
	hurried bool      // somebody waits for what is in the queue
	stats   Stats
}

func newWriter(d disk, log *slog.Logger) *writer {
	w := &writer{disk: d, log: log, stats: Stats{Bytes: d.Bytes()}}
	w.changed.L = &w.mu
	return w
}

// add queues a record, which is to be safe soon. It never waits.
func (w *writer) add(record []byte, safe func()) { w.put(record, safe, true) }

// addLater queues a record that others may join first.
func (w *writer) addLater(record []byte, safe func()) { w.put(record, safe, false) }

func (w *writer) put(record []byte, safe func(), hurry bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.since = time.Now()
		w.changed.Broadcast()
	}
	w.queue = append(w.queue, entry{record, safe})
	before := w.urgent()
	w.hurried = w.hurried || hurry
	if record != nil {
		w.records++
		w.bytes += len(record)
	}
	if w.urgent() && !before {
		w.changed.Broadcast()
	}
}

// urgent reports whether what is in the queue does not wait for more, with w.mu held.
func (w *writer) urgent() bool { return w.hurried || w.bytes >= commitFrom }

// room waits while too much waits for the disk, or until ctx ends.
func (w *writer) room(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bytes < waitingBytes {
		return nil
	}
	return w.wait(ctx, func() bool { return w.bytes < waitingBytes })
}

// flush waits until what is queued now is safe, or until ctx ends.
func (w *writer) flush(ctx context.Context) error {
	safe := false
	w.add(nil, func() {
		w.mu.Lock()
		safe = true
		w.changed.Broadcast()
		w.mu.Unlock()
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wait(ctx, func() bool { return safe })
}

// wait waits for a condition, with w.mu held.
func (w *writer) wait(ctx context.Context, done func() bool) error {
	defer context.AfterFunc(ctx, w.wake)()
	for !done() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.changed.Wait()
	}
	return nil
}

// wake makes waiters look again. Without the lock a waiter between its test and its wait would miss it.
func (w *writer) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed.Broadcast()
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	for {
		if w.gather(ctx) != nil {
			return
		}
		batch := w.batch()
		if !w.commit(ctx, batch) {
			return
		}
		w.done(batch)
	}
}

// gather waits until something is to be written, and some time for more of it.
func (w *writer) gather(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.wait(ctx, func() bool { return len(w.queue) > 0 }); err != nil {
		return err
	}
	if w.urgent() {
		return nil
	}
	until := w.since.Add(commitEvery)
	alarm := time.AfterFunc(time.Until(until), w.wake)
	defer alarm.Stop()
	return w.wait(ctx, func() bool { return w.urgent() || !time.Now().Before(until) })
}

// batch is what is written next.
func (w *writer) batch() []entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, bytes := 0, 0
	for n < len(w.queue) && bytes < commitBytes {
		bytes += len(w.queue[n].record)
		n++
	}
	w.hurried = w.hurried && n < len(w.queue)
	w.since = time.Now() // of those that come while these are written
	return w.queue[:n:n]
}

// done lets go what has become safe.
func (w *writer) done(batch []entry) {
	for _, e := range batch {
		if e.safe != nil {
			e.safe()
		}
	}
	w.mu.Lock()
	for i, e := range batch {
		if e.record != nil {
			w.records--
			w.bytes -= len(e.record)
		}
		w.queue[i] = entry{} // the batch; where the queue has grown into new memory since, that too holds it
	}
	w.queue = w.queue[len(batch):]
	if len(w.queue) == 0 {
		w.queue = nil
	}
	w.changed.Broadcast()
	w.mu.Unlock()
}

// commit writes a batch and makes it safe, however often that has to be tried; it gives up when ctx ends.
func (w *writer) commit(ctx context.Context, batch []entry) bool {
	var records [][]byte
	for _, e := range batch {
		if e.record != nil {
			records = append(records, e.record)
		}
	}
	if len(records) == 0 {
		return true
	}
	retry := retryMin
	for unsafe := false; ; {
		start := time.Now()
		err := w.write(records, &unsafe)
		w.note(len(records), time.Since(start), err)
		if err == nil {
			return true
		}
		if !sleep(ctx, retry) {
			return false
		}
		retry = min(2*retry, retryMax)
	}
}

// write tries once. unsafe says that an earlier try has appended the records, and that the disk may have lost them.
func (w *writer) write(records [][]byte, unsafe *bool) error {
	if *unsafe {
		if err := w.disk.TakeBack(); err != nil {
			return err
		}
		*unsafe = false
	}
	if _, err := w.disk.Append(records...); err != nil {
		return err
	}
	*unsafe = true
	return w.disk.Sync()
}

// note counts a write, and says so when writing begins to fail and when that is over.
func (w *writer) note(records int, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.stats.Failing
	w.stats.Bytes = w.disk.Bytes()
	if err != nil {
		w.stats.Failures++
		w.stats.Failing = err.Error()
		if before == "" {
			w.log.Error("the journal cannot be written: agents keep their data until it can", "error", err)
		}
		return
	}
	w.stats.Failing = ""
	w.stats.Records += uint64(records)
	w.stats.Syncs++
	w.stats.SyncTime += took
	w.stats.SlowestSync = max(w.stats.SlowestSync, took)
	if before != "" {
		w.log.Warn("the journal can be written again", "failures", w.stats.Failures)
	}
}

// sleep reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
