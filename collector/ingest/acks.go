package ingest

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// ackEvery is the time between two acknowledgements where nobody waits for them: each has its price, at both ends.
	ackEvery = time.Second
	// ackBytes is how many bytes of messages that are safe are acknowledged sooner, for an agent's spool holds them until
	// then. The smallest has four times as many.
	ackBytes = 256 << 10
)

// acks sends the newest acknowledgement: once a second, sooner where much has arrived or the agent waits, and with
// whatever else it is sent.
type acks struct {
	mu      sync.Mutex
	held    uint64
	started bool                  // held is known
	next    time.Time             // when a newer one is due; zero: at once
	bytes   int                   // of messages that are safe and were not acknowledged
	hurried bool                  // the agent waits, from now on
	ended   func()                // called when what is safe includes its last message
	alarm   *time.Timer           // at next; nil: none is needed
	reply   *moriensv1.ClockReply // to the latest probe; nil when it was sent
	changed chan struct{}         // holds a token when there is something newer than what was sent
	closed  chan struct{}
	finish  <-chan struct{} // closed when the run ends early
	linger  Linger
	now     numbered
}

// A Linger says how long agents that are done remain available for requests.
type Linger struct {
	For  time.Duration   // from when they were informed last
	Over <-chan struct{} // closed when nothing more is asked
	// Until, if not nil, is closed when the end of the run begins: they are informed repeatedly before that, and once more
	// then. Agents that keep what the run is made of must not leave before others are done.
	Until <-chan struct{}
}

// retell is how often agents are informed within the time for which they linger.
const retell = 4

// again gives the times to inform agents again; stop ends it.
func (s *Linger) again() (times <-chan time.Time, stop func()) {
	if s.Until == nil || s.For < retell {
		return nil, func() {}
	}
	t := time.NewTicker(s.For / retell)
	return t.C, t.Stop
}

// left is how long it is as of now.
func (s *Linger) left() time.Duration {
	select {
	case <-s.Over:
		return 0
	default:
		return s.For
	}
}

// A Clock reads the collector's tick counter.
type Clock func() (ticks uint64, err error)

// numbered is a Clock with the number of its counter among those that an agent's exchanges know.
type numbered func() (ticks uint64, number uint32, err error)

func newAcks(now numbered, finish <-chan struct{}, linger Linger) *acks {
	return &acks{now: now, finish: finish, linger: linger, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// set says what is held, and safe, with so many bytes of a message more.
func (a *acks) set(held uint64, bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held, a.started = held, true
	a.bytes += bytes
	if a.hurried {
		a.ended()
	}
	switch wait := time.Until(a.next); {
	case a.hurried || a.bytes >= ackBytes || wait <= 0 && a.alarm == nil:
		a.wake()
	case a.alarm == nil:
		a.alarm = time.AfterFunc(wait, a.wake)
	}
}

// last says that the agent's last message has arrived: it waits until that is acknowledged.
func (a *acks) last() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hurried = true
}

func (a *acks) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// probe answers an agent that asks for the time. A clock that cannot be read gives no answer.
func (a *acks) probe(p *moriensv1.ClockProbe) {
	now, number, err := a.now()
	if err != nil {
		return
	}
	a.mu.Lock()
	a.reply = &moriensv1.ClockReply{Number: p.Number, ReceivedTicks: now, Collector: number}
	a.mu.Unlock()
	a.wake()
}

func (a *acks) close() { close(a.closed) }

// send sends until ctx ends, or once more when the stream's messages are all there. ask adds what the agent is asked.
func (a *acks) send(ctx context.Context, ask func(*moriensv1.ReportResponse), stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	finish, over, until := a.finish, a.linger.Over, a.linger.Until
	again, stop := a.linger.again()
	defer stop()
	defer a.calm()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-finish:
			finish = nil // each response says so from now on
			a.wake()
		case <-over:
			over = nil
			a.wake()
		case <-again:
			a.wake()
		case <-until:
			until, again = nil, nil
			a.wake()
		case <-a.changed:
			if err := a.sendHeld(ask, stream); err != nil {
				return err
			}
		case <-a.closed:
			return a.sendHeld(ask, stream)
		}
	}
}

// calm ends the alarm.
func (a *acks) calm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.disarm()
}

// disarm does so with a.mu held.
func (a *acks) disarm() {
	if a.alarm != nil {
		a.alarm.Stop()
		a.alarm = nil
	}
}

func (a *acks) sendHeld(ask func(*moriensv1.ReportResponse), stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	a.mu.Lock()
	if !a.started {
		// A returning agent first learns what it need not send again.
		a.mu.Unlock()
		return nil
	}
	response := &moriensv1.ReportResponse{Acknowledged: a.held, ClockReply: a.reply, StayMs: uint32(a.linger.left().Milliseconds())}
	select {
	case <-a.finish:
		response.Finish = true
	default:
	}
	a.reply = nil
	a.bytes, a.next = 0, time.Now().Add(ackEvery)
	a.disarm()
	a.mu.Unlock()
	ask(response)
	if response.ClockReply != nil {
		var err error
		if response.ClockReply.RepliedTicks, _, err = a.now(); err != nil {
			response.ClockReply = nil
		}
	}
	return stream.Send(response)
}
