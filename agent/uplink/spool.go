package uplink

import (
	"context"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

// spoolNews is the news of the spool, which cannot go through the spool itself. Only the latest counts.
type spoolNews struct {
	latest *moriensv1.Spool
	sent   *moriensv1.Spool // on the present stream
}

// due reports whether there is something to say.
func (s *spoolNews) due() bool { return s.latest != s.sent }

// renew has the latest said again, on a stream that may be to another collector.
func (s *spoolNews) renew() { s.sent = nil }

// ReportSpool reports the state of the spool to the collector, once on each stream.
func (u *Uplink) ReportSpool(m *moriensv1.Spool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.spool.latest = m
	u.changed.Broadcast()
}

// AwaitSpoolReport waits, at most for grace, until the latest report of ReportSpool is sent.
func (u *Uplink) AwaitSpoolReport(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	defer context.AfterFunc(ctx, u.wake)()
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.spool.due() && u.fatal == nil && ctx.Err() == nil {
		u.changed.Wait()
	}
}
