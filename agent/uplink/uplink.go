// Package uplink carries an agent's messages to the collector: in order, numbered, each kept until the
// collector has acknowledged it and sent again when a stream breaks.
//
// It never blocks its caller. What waits to be acknowledged is bounded by the caller, who asks Room
// before it reads more bursts from the rings.
package uplink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"moriens/internal/rendezvous"
	moriensv1 "moriens/proto/moriens/v1"
)

// windowCalls is how many calls, transfers and collectives may wait for an acknowledgement before Room says no. A call with its
// burst takes 24 bytes here, a transfer 40, so the window is 12 to 20 MiB.
const windowCalls = 512 << 10

// keepaliveTime is how long the collector's host may be silent before it is asked, and then before it is
// given up. The server allows no less than half of it.
const keepaliveTime = 20 * time.Second

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
)

// Stats counts what an uplink has done.
type Stats struct {
	Sent    uint64 // messages, first time only
	Resent  uint64 // messages sent again after a stream broke
	Streams uint64 // streams that were opened
}

// An Uplink is the way from one agent to the collector. All methods may be called concurrently.
type Uplink struct {
	conn  *grpc.ClientConn
	meet  rendezvous.Rendezvous
	hello *moriensv1.Hello
	log   *slog.Logger

	mu      sync.Mutex
	changed sync.Cond
	queue   []*moriensv1.ReportRequest // not acknowledged, in order of sequence
	sent    int                        // of queue, on the present stream
	high    uint64                     // highest sequence ever sent
	next    uint64                     // last sequence given out
	calls   int                        // in queue
	broke   error                      // why the last stream broke, nil while one lives
	fatal   error                      // the collector will not have us
	round   round                      // of exchanges that compare clocks
	stats   Stats

	finish     chan struct{} // closed when the collector ends the run
	finishOnce sync.Once
}

// New returns an uplink to the collector of a rendezvous. Nothing is sent until Run.
func New(meet rendezvous.Rendezvous, hello *moriensv1.Hello, log *slog.Logger) (*Uplink, error) {
	conn, err := grpc.NewClient(meet.Address,
		grpc.WithTransportCredentials(meet.ClientCredentials()),
		grpc.WithNoProxy(), // HTTPS_PROXY is for the world outside of the cluster
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTime}),
		grpc.WithInitialWindowSize(4<<20), grpc.WithInitialConnWindowSize(16<<20))
	if err != nil {
		return nil, fmt.Errorf("dial the collector at %s: %w", meet.Address, err)
	}
	u := &Uplink{conn: conn, meet: meet, hello: hello, log: log, finish: make(chan struct{})}
	u.changed.L = &u.mu
	return u, nil
}

// Send queues a message and gives it its sequence number; the message is the uplink's from then on.
func (u *Uplink) Send(m *moriensv1.ReportRequest) {
	u.mu.Lock()
	u.next++
	m.Sequence = u.next
	u.queue = append(u.queue, m)
	u.calls += rows(m)
	u.changed.Broadcast()
	u.mu.Unlock()
}

// rows is what a message counts for in the window.
func rows(m *moriensv1.ReportRequest) int {
	return len(m.GetCalls().GetFunction()) + len(m.GetMarks().GetTicks()) +
		len(m.GetTransfers().GetKind()) + len(m.GetCollectives().GetRow())
}

// Room says whether the window has room for more calls.
func (u *Uplink) Room() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls < windowCalls
}

// Finish is closed when the collector ends the run: what the ranks have recorded is still wanted.
func (u *Uplink) Finish() <-chan struct{} { return u.finish }

// Stats returns the counts so far.
func (u *Uplink) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stats
}

// Flush waits until everything queued is acknowledged. It returns an error when ctx ends first or the
// collector has refused this agent; what is left then stays queued.
func (u *Uplink) Flush(ctx context.Context) error {
	defer context.AfterFunc(ctx, u.wake)()
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.queue) > 0 && u.fatal == nil && ctx.Err() == nil {
		u.changed.Wait()
	}
	switch {
	case len(u.queue) == 0:
		return nil
	case u.fatal != nil:
		return u.fatal
	}
	return fmt.Errorf("%d messages not acknowledged: %w", len(u.queue), errors.Join(ctx.Err(), u.broke))
}

// Run keeps a stream to the collector until ctx ends or the collector refuses this agent for good.
func (u *Uplink) Run(ctx context.Context) error {
	defer u.conn.Close()
	backoff := backoffMin
	for {
		acknowledged, err := u.stream(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if refused(err) {
			u.mu.Lock()
			u.fatal = fmt.Errorf("the collector refuses this agent: %w", err)
			u.mu.Unlock()
			u.wake()
			return u.fatal
		}
		if acknowledged {
			backoff = backoffMin
		}
		u.mu.Lock()
		u.broke = err
		u.mu.Unlock()
		// Full jitter: a thousand agents must not come back in the same instant.
		pause := time.Duration(rand.Int64N(int64(backoff))) + backoffMin/2
		u.log.Warn("stream to the collector broke", "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		backoff = min(2*backoff, backoffMax)
	}
}

// refused says whether trying again cannot help.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}

// stream opens one stream and serves it until it breaks; it says whether anything was acknowledged.
func (u *Uplink) stream(ctx context.Context) (acknowledged bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := moriensv1.NewCollectorServiceClient(u.conn).Report(u.meet.ShowToken(ctx))
	if err != nil {
		return false, err
	}
	err = stream.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: u.hello}})
	if err != nil && !errors.Is(err, io.EOF) { // with EOF the reason comes from Recv
		return false, err
	}
	u.mu.Lock()
	u.sent = 0
	u.round.again()
	u.stats.Streams++
	u.mu.Unlock()

	received := make(chan error, 1)
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				cancel()
				received <- err
				return
			}
			acknowledged = true
			if response.ClockReply != nil {
				u.replied(response.ClockReply)
			}
			u.acknowledge(response.Acknowledged)
			if response.Finish {
				u.finishOnce.Do(func() { close(u.finish) })
			}
		}
	}()
	u.send(ctx, stream)
	cancel()
	err = <-received
	return acknowledged, err
}

// send sends what is queued and what comes until ctx ends or the stream breaks.
func (u *Uplink) send(ctx context.Context, stream grpc.BidiStreamingClient[moriensv1.ReportRequest, moriensv1.ReportResponse]) {
	defer context.AfterFunc(ctx, u.wake)()
	for {
		u.mu.Lock()
		for u.sent == len(u.queue) && !u.round.due() && ctx.Err() == nil {
			u.changed.Wait()
		}
		if ctx.Err() != nil {
			u.mu.Unlock()
			return
		}
		if u.round.due() {
			m := u.probe()
			u.mu.Unlock()
			if m != nil && stream.Send(m) != nil {
				return
			}
			continue
		}
		m := u.queue[u.sent]
		u.sent++
		if m.Sequence > u.high {
			u.high = m.Sequence
			u.stats.Sent++
		} else {
			u.stats.Resent++
		}
		u.mu.Unlock()
		if stream.Send(m) != nil {
			return // the reason comes from Recv
		}
	}
}

// wake makes waiters look again. Without the lock a waiter between its test and its wait would miss it.
func (u *Uplink) wake() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed.Broadcast()
}

func (u *Uplink) acknowledge(sequence uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// The first acknowledgement of a stream is of what the last one brought there, not yet sent on this.
	n := 0
	for n < len(u.queue) && u.queue[n].Sequence <= min(sequence, u.high) {
		u.calls -= rows(u.queue[n])
		u.queue[n] = nil
		n++
	}
	u.broke = nil
	u.queue = u.queue[n:]
	u.sent = max(0, u.sent-n)
	if len(u.queue) == 0 {
		u.queue = nil
	}
	u.changed.Broadcast()
}
