package ingest

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	moriensv1 "moriens/proto/moriens/v1"
)

// acks sends the newest acknowledgement whenever there is one: many messages may come while one
// acknowledgement goes out.
type acks struct {
	mu      sync.Mutex
	held    uint64
	reply   *moriensv1.ClockReply // to the latest probe; nil when it was sent
	changed chan struct{}         // holds a token when there is something newer than what was sent
	closed  chan struct{}
	finish  <-chan struct{} // closed when the run ends early
	now     Clock
}

// A Clock reads the collector's tick counter.
type Clock func() (uint64, error)

func newAcks(held uint64, now Clock, finish <-chan struct{}) *acks {
	a := &acks{held: held, now: now, finish: finish, changed: make(chan struct{}, 1), closed: make(chan struct{})}
	a.changed <- struct{}{} // an agent that comes back learns at once what need not be sent again
	return a
}

func (a *acks) set(held uint64) {
	a.mu.Lock()
	a.held = held
	a.mu.Unlock()
	a.wake()
}

func (a *acks) wake() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// probe answers an agent that asks for the time. A clock that cannot be read gives no answer.
func (a *acks) probe(p *moriensv1.ClockProbe) {
	now, err := a.now()
	if err != nil {
		return
	}
	a.mu.Lock()
	a.reply = &moriensv1.ClockReply{Number: p.Number, ReceivedTicks: now}
	a.mu.Unlock()
	a.wake()
}

func (a *acks) close() { close(a.closed) }

func (a *acks) send(ctx context.Context, stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	finish := a.finish
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-finish:
			finish = nil // each response says so from now on
			a.wake()
		case <-a.changed:
			if err := a.sendHeld(stream); err != nil {
				return err
			}
		case <-a.closed:
			return a.sendHeld(stream)
		}
	}
}

func (a *acks) sendHeld(stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	a.mu.Lock()
	response := &moriensv1.ReportResponse{Acknowledged: a.held, ClockReply: a.reply}
	select {
	case <-a.finish:
		response.Finish = true
	default:
	}
	a.reply = nil
	a.mu.Unlock()
	if response.ClockReply != nil {
		var err error
		if response.ClockReply.RepliedTicks, err = a.now(); err != nil {
			response.ClockReply = nil
		}
	}
	return stream.Send(response)
}
