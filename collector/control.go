package collector

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"moriens/collector/health"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// stageEvery is how often those who wait for the end are informed of a new stage.
	stageEvery = 100 * time.Millisecond
	// readGrace is how long they may take to say that they have read the outcome.
	readGrace = 2 * time.Second
	// heartbeat is how often an unchanged stage is repeated to them, so that they know that we live.
	heartbeat = 2 * time.Second
)

// An Outcome is how a run has ended.
type Outcome struct {
	Directory string // where the results are; empty = nowhere
	Err       error  // nil where they are whole
	Hint      string // what to do about Err
}

// ending is how far the end of the run has got.
type ending struct {
	ordered chan struct{} // closed by Finish
	once    sync.Once

	mu       sync.Mutex
	patience time.Duration // for the agents, of who asked for the end
	stage    string
	outcome  Outcome // with the stage Done
	waiting  sync.WaitGroup
}

func newEnding() *ending { return &ending{ordered: make(chan struct{}), stage: health.Collecting} }

// finishing is the stage from an order to end on; an order that arrives while the results are made changes nothing.
func (e *ending) finishing() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stage == health.Collecting {
		e.stage = health.Finishing
	}
}

func (e *ending) analysing() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stage = health.Analysing
}

func (e *ending) now() (stage string, outcome Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stage, e.outcome
}

// await lets one more wait for the outcome, unless that is out already.
func (e *ending) await() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stage == health.Done {
		return false
	}
	e.waiting.Add(1)
	return true
}

// conclude reports to those who wait how it ended, and returns when all have read it.
func (e *ending) conclude(outcome Outcome) {
	e.mu.Lock()
	e.stage, e.outcome = health.Done, outcome
	e.mu.Unlock()
	e.waiting.Wait()
}

// Finish ends the run now: the agents are asked to send what their ranks have recorded, and to leave them.
func (c *Collector) Finish() {
	c.end.once.Do(func() {
		c.end.finishing()
		close(c.end.ordered)
	})
}

// allow sets how long a request for the end waits for the agents.
func (e *ending) allow(patience time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.patience = max(e.patience, patience)
}

// Patience is how long the end of the run, if it was asked for, waits for the agents; 0 where it was not.
func (c *Collector) Patience() time.Duration {
	c.end.mu.Lock()
	defer c.end.mu.Unlock()
	return c.end.patience
}

// Finishing is closed when Finish was called.
func (c *Collector) Finishing() <-chan struct{} { return c.end.ordered }

// control serves the user's own commands.
type control struct {
	moriensv1.UnimplementedControlServiceServer
	collector *Collector
}

// Status returns the page.
func (s control) Status(context.Context, *moriensv1.StatusRequest) (*moriensv1.StatusResponse, error) {
	page, err := json.Marshal(s.collector.Page())
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &moriensv1.StatusResponse{Page: page}, nil
}

// Compare reads the counter, as for an agent.
func (s control) Compare(context.Context, *moriensv1.CompareRequest) (*moriensv1.CompareResponse, error) {
	c := s.collector.clock
	received, err := c.now()
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	response := &moriensv1.CompareResponse{Clock: moriensv1.Clock(c.kind), Identity: c.identity, ReceivedTicks: received}
	if response.RepliedTicks, err = c.now(); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return response, nil
}

// Finish ends the run and reports how that goes.
func (s control) Finish(stream grpc.BidiStreamingServer[moriensv1.FinishRequest, moriensv1.FinishResponse]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if !s.collector.end.await() {
		return status.Error(codes.FailedPrecondition, "the run has ended")
	}
	defer s.collector.end.waiting.Done()
	s.collector.log.Info("the user ends the run")
	if deadline, ok := stream.Context().Deadline(); ok {
		s.collector.end.allow(time.Until(deadline) / 2) // the other half is for the analysis
	}
	s.collector.Finish()

	tick := time.NewTicker(stageEvery)
	defer tick.Stop()
	var sent string
	var sentAt time.Time
	for {
		stage, outcome := s.collector.end.now()
		if stage != sent || time.Since(sentAt) > heartbeat {
			sent, sentAt = stage, time.Now()
			response := &moriensv1.FinishResponse{Stage: stage}
			if stage == health.Done {
				response.Outcome = &moriensv1.Outcome{Directory: outcome.Directory, Hint: outcome.Hint}
				if outcome.Err != nil {
					response.Outcome.Error = outcome.Err.Error()
				}
			}
			if err := stream.Send(response); err != nil {
				return err
			}
			if stage == health.Done {
				return awaitRead(stream)
			}
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err() // the order stands
		case <-tick.C:
		}
	}
}

// awaitRead waits until the other side has read everything: then it closes its half.
func awaitRead(stream grpc.BidiStreamingServer[moriensv1.FinishRequest, moriensv1.FinishResponse]) error {
	closed := make(chan struct{})
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				close(closed)
				return
			}
		}
	}()
	select {
	case <-closed:
	case <-time.After(readGrace):
	}
	return nil
}
