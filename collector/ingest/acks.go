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
	changed chan struct{} // holds a token when held is newer than what was sent
	closed  chan struct{}
}

func newAcks(held uint64) *acks {
	a := &acks{held: held, changed: make(chan struct{}, 1), closed: make(chan struct{})}
	a.changed <- struct{}{} // an agent that comes back learns at once what need not be sent again
	return a
}

func (a *acks) set(held uint64) {
	a.mu.Lock()
	a.held = held
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *acks) close() { close(a.closed) }

func (a *acks) send(ctx context.Context, stream grpc.BidiStreamingServer[moriensv1.ReportRequest, moriensv1.ReportResponse]) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
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
	held := a.held
	a.mu.Unlock()
	return stream.Send(&moriensv1.ReportResponse{Acknowledged: held})
}
