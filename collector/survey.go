package collector

import (
	"context"
	"errors"
	"sync"
	"time"

	"moriens/collector/cells"
	"moriens/collector/health"
	"moriens/collector/windows"
)

const (
	// surveyFirst is when the first survey is: as soon as there is something to say.
	surveyFirst = time.Second
	// surveyEvery is the time between two surveys of micro-cells, of which only what is new travels.
	surveyEvery = 3 * time.Second
	// surveyShare is how many times as long as a survey took it is until the next one at least.
	surveyShare = 20
)

// A surveyor asks the agents that keep bursts as micro-cells what is new in these, during the run.
type surveyor struct {
	requester   *windows.Requester
	coordinator *cells.Coordinator
	paths       cells.Paths
	over        chan struct{} // closed when it asks no more

	mu     sync.Mutex
	latest health.Cells
	at     time.Time // of that; zero: there was none
}

func newSurveyor(c *Collector) *surveyor {
	return &surveyor{requester: c.requester, coordinator: cells.New(c.requester, c.log), paths: c.store, over: make(chan struct{})}
}

// run asks again and again until ctx ends.
func (s *surveyor) run(ctx context.Context) {
	defer close(s.over)
	next := time.NewTimer(surveyFirst)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		began := time.Now()
		s.survey(ctx)
		next.Reset(max(surveyEvery, surveyShare*time.Since(began)))
	}
}

func (s *surveyor) survey(ctx context.Context) {
	if len(s.requester.IDs()) == 0 {
		return
	}
	set, err := s.coordinator.Survey(ctx, s.paths)
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Silent, s.latest.Error = len(s.coordinator.Left()), ""
	if err != nil {
		s.latest.Error = err.Error()
		return
	}
	s.at = time.Now()
	s.latest.Units, s.latest.Bursts, s.latest.Seconds = len(set.Units), uint64(set.Bursts), float64(set.TimeNS)/1e9
	s.latest.Agents, s.latest.Lost, s.latest.Outside, s.latest.HeldBytes = 0, 0, 0, 0
	for _, t := range s.coordinator.AgentStates() {
		s.latest.Agents++
		s.latest.Lost += t.Lost
		s.latest.Outside += t.Outside
		s.latest.HeldBytes += t.HeldBytes
	}
}

// now is what the latest survey has reported.
func (s *surveyor) now() health.Cells {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.latest
	if latest.Surveyed = !s.at.IsZero(); latest.Surveyed {
		latest.Age = time.Since(s.at).Seconds()
	}
	return latest
}

// Cells are the micro-cells that agents keep, which only the caller asks for from now on; nil where bursts are sent. To
// be called after Freeze.
func (c *Collector) Cells() *cells.Coordinator {
	if c.surveyor == nil {
		return nil
	}
	<-c.surveyor.over
	return c.surveyor.coordinator
}

// Surveyed is what agents have reported about the bursts that they keep; nil where bursts are sent.
func (c *Collector) Surveyed() *health.Cells {
	if c.surveyor == nil {
		return nil
	}
	latest := c.surveyor.now()
	return &latest
}

// bursts is how many there are, as far as is known.
func (c *Collector) bursts() uint64 {
	if latest := c.Surveyed(); latest != nil {
		return latest.Bursts
	}
	return c.store.Totals().Bursts
}

// errSeveral is why a run with several collectors cannot leave bursts on the nodes.
var errSeveral = errors.New("collector: micro-cells are asked for by one collector alone")
