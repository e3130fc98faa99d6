// Package uplink sends an agent's messages to the collector: in order, from the outbox (agent/spool), which keeps each
// until the collector has acknowledged it, and again when a stream breaks.
//
// It never blocks the writers of the outbox. It looks up the collector's address for each stream, because a restarted
// collector may listen elsewhere. Of several collectors it asks the first, which redirects it to its own.
package uplink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"moriens/agent/spool"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
	"moriens/internal/wire"
	moriensv1 "moriens/proto/moriens/v1"
)

// keepaliveTime is how long the collector's host may be silent before it is asked, and then before it is
// given up. The server allows no less than half of it.
const keepaliveTime = 20 * time.Second

// maxHops is how many collectors in a row may send an agent on: to the first one, and from there to its own. One more
// is for addresses that have changed hands.
const maxHops = 3

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
)

// leaveGrace is how long the collector may take to answer an agent that leaves. It waits for one whose stream just
// breaks: that agent may have been killed, and restart.
const leaveGrace = 5 * time.Second

// Stats counts what an uplink has done.
type Stats struct {
	Resent  uint64 // messages sent again after a stream broke
	Streams uint64 // streams that were opened
	// Redirected counts how often a collector has sent this agent to another one of the run.
	Redirected uint64
}

// ErrOver is why there is no collector any more: the run has ended. What comes now is no part of it.
var ErrOver = errors.New("the run has ended")

// A Find says where the collector is now; fs.ErrNotExist while there is none, ErrOver where none will come.
type Find func() (rendezvous.Rendezvous, error)

// At is the Find of a collector that does not move.
func At(meet rendezvous.Rendezvous) Find {
	return func() (rendezvous.Rendezvous, error) { return meet, nil }
}

// An Outbox keeps the messages of an agent, in order, until the collector holds them: spool.Outbox is one.
type Outbox interface {
	Notify(func())
	Last() uint64 // sequence of the last message
	Held() uint64 // up to which the collector is known to hold them
	Next(after uint64) (m spool.Message, there bool, err error)
	Acknowledge(held uint64) error
	Waiting() (bytes, room int64) // what the collector is not known to hold, and how much that may be
}

// An Uplink is the way from one agent to the collector. All methods may be called concurrently.
type Uplink struct {
	find   Find
	hello  *moriensv1.Hello
	outbox Outbox
	log    *slog.Logger

	mu        sync.Mutex
	changed   sync.Cond
	greeted   bool   // the collector has said what it holds, on the present stream
	sent      uint64 // sequence up to which messages went, on the present stream
	high      uint64 // highest sequence ever sent
	broke     error  // why the last stream broke, nil while one lives
	fatal     error  // the collector will not have us
	round     round  // of exchanges that compare clocks
	results   []*moriensv1.ClockExchange
	stats     Stats
	answers   answers
	spool     spoolNews
	standing  standingNews
	pace      pace
	lives     bool          // there is a stream
	alarm     *time.Timer   // at which the sender will look again; nil: there is none
	flushing  int           // how many wait for acknowledgements
	linger    time.Duration // as the collector has reported last,
	lingerSet time.Time     // and when

	finish     chan struct{} // closed when the collector ends the run
	finishOnce sync.Once
	over       chan struct{} // closed when it has ended, and nothing more is taken
}

// New returns an uplink from an outbox to the collector. Nothing is sent until Run.
func New(find Find, hello *moriensv1.Hello, outbox Outbox, log *slog.Logger) *Uplink {
	u := &Uplink{find: find, hello: hello, outbox: outbox, log: log, finish: make(chan struct{}), over: make(chan struct{})}
	u.changed.L = &u.mu
	outbox.Notify(u.committed)
	return u
}

// Finish is closed when the collector ends the run: what the ranks have recorded is still wanted.
func (u *Uplink) Finish() <-chan struct{} { return u.finish }

// Over is closed when the run has ended without this agent: nothing more is taken.
func (u *Uplink) Over() <-chan struct{} { return u.over }

// Refused is why the collector will not have this agent; nil where it will.
func (u *Uplink) Refused() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fatal
}

// Stats returns the counts so far.
func (u *Uplink) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stats
}

// waiting is how many messages the collector is not known to hold.
func (u *Uplink) waiting() uint64 { return u.outbox.Last() - u.outbox.Held() }

// Flush waits until everything in the outbox is acknowledged. It returns an error when ctx ends first or the collector
// has refused this agent; what is left is kept there.
func (u *Uplink) Flush(ctx context.Context) error {
	defer context.AfterFunc(ctx, u.wake)()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.flushing++
	defer func() { u.flushing-- }()
	u.changed.Broadcast()
	for u.waiting() > 0 && u.fatal == nil && ctx.Err() == nil {
		u.changed.Wait()
	}
	switch n := u.waiting(); {
	case n == 0:
		return nil
	case u.fatal != nil:
		return u.fatal
	default:
		return fmt.Errorf("%s not acknowledged: %w", units.Count(int64(n), "message"), errors.Join(ctx.Err(), u.broke))
	}
}

// Run keeps a stream to the collector until ctx ends or the collector refuses this agent for good. It says goodbye on a
// stream that is open when ctx ends.
func (u *Uplink) Run(ctx context.Context) error {
	backoff := backoffMin
	for {
		acknowledged, err := u.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if refused(err) {
			u.mu.Lock()
			u.fatal = fmt.Errorf("the collector refuses this agent: %w", err)
			if errors.Is(err, ErrOver) {
				u.fatal = err
				close(u.over)
			}
			u.mu.Unlock()
			u.wake()
			return u.fatal
		}
		if acknowledged {
			backoff = backoffMin
		}
		u.mu.Lock()
		news := u.broke == nil || u.broke.Error() != err.Error()
		u.broke = err
		u.mu.Unlock()
		// Full jitter: a thousand agents must not come back in the same instant.
		pause := time.Duration(rand.Int64N(int64(backoff))) + backoffMin/2
		if news {
			u.log.Warn("no stream to the collector", "error", err, "waiting", u.waiting())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		backoff = min(2*backoff, backoffMax)
	}
}

// errRefused is a refusal that no retry can change.
var errRefused = errors.New("refused")

func refused(err error) bool { return errors.Is(err, errRefused) || errors.Is(err, ErrOver) }

// classify marks an error that trying again cannot help. A refusal by what is not the present collector is none: the
// address may be another's by now.
func (u *Uplink) classify(meet rendezvous.Rendezvous, err error) error {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition:
		if now, again := u.find(); again == nil && now.Equal(meet) {
			if over(err) {
				return ErrOver
			}
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return err
}

// connect finds the collector, of several the one that this agent belongs to, and serves a stream to it until that
// breaks; it reports whether anything was acknowledged.
func (u *Uplink) connect(ctx context.Context) (acknowledged bool, err error) {
	meet, err := u.find()
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("no collector at present: %w", err)
	}
	if err != nil {
		return false, err
	}
	hello := proto.CloneOf(u.hello)
	for at, hops := meet, 0; ; hops++ {
		acknowledged, err = u.dial(ctx, at, hello)
		to := redirected(err)
		switch {
		case to == nil:
			return acknowledged, u.classify(meet, err)
		case hops == maxHops:
			return false, fmt.Errorf("redirected %d times: %w", hops, err)
		}
		if at, err = meet.At(to.Member); err != nil {
			return false, fmt.Errorf("the collector at %s redirects this agent: %w", meet.Address, err)
		}
		hello.Start, hello.Member = to.Start, to.Member
		u.mu.Lock()
		u.stats.Redirected++
		u.mu.Unlock()
	}
}

// dial opens a stream to a collector and serves it until it breaks; it reports whether anything was acknowledged.
func (u *Uplink) dial(ctx context.Context, meet rendezvous.Rendezvous, hello *moriensv1.Hello) (acknowledged bool, err error) {
	calls := []grpc.CallOption{grpc.ForceCodecV2(codec{})}
	if hello.Cells != "" { // else most of what it sends is sections, which are packed already
		calls = append(calls, grpc.UseCompressor(wire.Name))
	}
	conn, err := grpc.NewClient(meet.Address,
		grpc.WithTransportCredentials(meet.ClientCredentials()),
		grpc.WithNoProxy(), // HTTPS_PROXY is for the world outside of the cluster
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTime}),
		grpc.WithDefaultCallOptions(calls...),
		grpc.WithInitialWindowSize(4<<20), grpc.WithInitialConnWindowSize(16<<20))
	if err != nil {
		return false, fmt.Errorf("dial the collector at %s: %w", meet.Address, err)
	}
	defer conn.Close()
	return u.stream(ctx, meet, conn, hello)
}

// over reports whether a refusal is that of a run that has ended.
func over(err error) bool {
	return slices.ContainsFunc(status.Convert(err).Details(), func(detail any) bool {
		_, is := detail.(*moriensv1.RunOver)
		return is
	})
}

// redirected is where a collector sends this agent, if that is what it has answered.
func redirected(err error) *moriensv1.Redirect {
	for _, detail := range status.Convert(err).Details() {
		if to, is := detail.(*moriensv1.Redirect); is {
			return to
		}
	}
	return nil
}

type stream = grpc.BidiStreamingClient[moriensv1.ReportRequest, moriensv1.ReportResponse]

// stream opens one stream and serves it until it breaks, or ctx ends.
func (u *Uplink) stream(ctx context.Context, meet rendezvous.Rendezvous, conn *grpc.ClientConn, hello *moriensv1.Hello) (acknowledged bool, err error) {
	open, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	greet := context.AfterFunc(ctx, hangUp)
	s, err := moriensv1.NewCollectorServiceClient(conn).Report(meet.ShowToken(open))
	if err != nil {
		return false, err
	}
	err = s.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: hello}})
	if err != nil && !errors.Is(err, io.EOF) { // with EOF the reason comes from Recv
		return false, err
	}
	greet()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveGrace, hangUp) })()
	u.mu.Lock()
	u.greeted, u.sent, u.lives = false, 0, true
	u.renewPace()
	u.round.again()
	u.answers.renew()
	u.spool.renew()
	u.standing.renew()
	number := u.answers.stream
	u.stats.Streams++
	u.mu.Unlock()

	lives, broken := context.WithCancel(ctx)
	defer broken()
	received := make(chan error, 1)
	go func() {
		err := u.receive(s, number, &acknowledged)
		broken()
		received <- err
	}()
	sendErr := u.send(lives, s)
	if sendErr == nil {
		sendErr = s.CloseSend()
	} else {
		hangUp()
	}
	err = <-received
	u.mu.Lock()
	u.lives = false
	u.answers.renew()
	u.changed.Broadcast()
	u.mu.Unlock()
	return acknowledged, errors.Join(sendErr, err)
}

// receive takes what the collector says until the stream breaks.
func (u *Uplink) receive(s stream, number uint64, acknowledged *bool) error {
	for {
		response, err := s.Recv()
		if err != nil {
			return err
		}
		*acknowledged = true
		if response.ClockReply != nil {
			u.replied(response.ClockReply)
		}
		u.asks(number, response)
		u.setLinger(response)
		if err := u.acknowledge(response.Acknowledged); err != nil {
			return err
		}
		if response.Finish {
			u.finishOnce.Do(func() { close(u.finish) })
		}
	}
}

// acknowledge takes what the collector holds. The first time on a stream that is of what earlier ones have brought.
func (u *Uplink) acknowledge(held uint64) error {
	if known := u.outbox.Held(); held < known {
		return fmt.Errorf("%w: it has message %d and had %d: its data is lost", errRefused, held, known)
	}
	if err := u.outbox.Acknowledge(held); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.greeted || u.flushing > 0 {
		u.changed.Broadcast()
	}
	u.broke = nil
	u.greeted = true
	u.sent = max(u.sent, held)
	return nil
}

// send sends what is in the outbox and what comes until ctx ends, the stream breaks or the outbox cannot be read.
func (u *Uplink) send(ctx context.Context, s stream) error {
	defer context.AfterFunc(ctx, u.wake)()
	for {
		u.mu.Lock()
		for !u.due() && ctx.Err() == nil {
			u.changed.Wait()
		}
		if ctx.Err() != nil {
			u.mu.Unlock()
			return nil
		}
		if u.round.due() {
			m := u.probe()
			u.mu.Unlock()
			if m != nil && s.Send(m) != nil {
				return nil // the reason comes from Recv
			}
			continue
		}
		if u.spool.due() {
			m := u.spool.latest
			u.mu.Unlock()
			if s.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Spool{Spool: m}}) != nil {
				return nil
			}
			u.mu.Lock()
			u.spool.sent = m
			u.changed.Broadcast()
			u.mu.Unlock()
			continue
		}
		if len(u.answers.queue) > 0 {
			m := u.answers.next()
			u.changed.Broadcast()
			u.mu.Unlock()
			if s.Send(m) != nil {
				return nil
			}
			continue
		}
		if u.standing.due() {
			m := u.standing.latest
			u.standing.sent = m
			u.mu.Unlock()
			if s.Send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Standing{Standing: m}}) != nil {
				return nil
			}
			continue
		}
		after := u.sent
		u.mu.Unlock()
		m, there, err := u.outbox.Next(after)
		if err != nil {
			return err
		}
		if !there { // the collector has got it by an earlier stream
			continue
		}
		u.mu.Lock()
		u.sent = max(u.sent, m.Sequence)
		if m.Sequence > u.high {
			u.high = m.Sequence
		} else {
			u.stats.Resent++
		}
		u.mu.Unlock()
		if s.SendMsg(encoded(m.Body)) != nil {
			return nil
		}
	}
}

// ready reports whether there is a message to be sent, with u.mu held. The collector speaks first: what it holds need
// not be sent again.
func (u *Uplink) ready() bool {
	return u.greeted && max(u.sent, u.outbox.Held()) < u.outbox.Last()
}

// wake makes waiters look again. Without the lock a waiter between its test and its wait would miss it.
func (u *Uplink) wake() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed.Broadcast()
}
