package spool

import "sync/atomic"

// A Budget shares a spool's bytes: what waits in the outbox goes before windows of full detail. Its methods may be
// called concurrently.
type Budget struct {
	max     atomic.Int64
	waiting atomic.Int64
	outbox  atomic.Int64
	peak    atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget {
	b := &Budget{}
	b.bound(bytes)
	return b
}

// bound makes it one of so many bytes, as where the spool goes elsewhere.
func (b *Budget) bound(bytes int64) { b.max.Store(bytes) }

// Max is the bytes of the whole spool.
func (b *Budget) Max() int64 { return b.max.Load() }

// setOutbox says how many bytes the outbox takes.
func (b *Budget) setOutbox(bytes int64) {
	b.outbox.Store(bytes)
	if bytes > b.peak.Load() { // there is one writer
		b.peak.Store(bytes)
	}
}

// setWaiting says how many of these are messages that wait for the collector.
func (b *Budget) setWaiting(bytes int64) { b.waiting.Store(bytes) }

// Room reports whether more may wait for the collector. State does not count, however large it is: only what is read
// makes it smaller again.
func (b *Budget) Room() bool { return b.waiting.Load() < b.Max() }

// Waiting is how many bytes wait for the collector.
func (b *Budget) Waiting() int64 { return b.waiting.Load() }

// OutboxPeak is the most that the outbox has taken.
func (b *Budget) OutboxPeak() int64 { return b.peak.Load() }

// Windows is how many bytes windows of full detail may take now.
func (b *Budget) Windows() int64 { return max(0, b.Max()-b.outbox.Load()) }

// file is how many bytes a file of the outbox has: an eighth, within bounds, for only whole files are removed.
func (b *Budget) file() int64 { return min(max(b.Max()/8, minFileBytes), maxFileBytes) }
