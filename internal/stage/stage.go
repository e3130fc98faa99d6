// Package stage takes the end of a run through its stages, in a time that has a limit: what a stage makes goes to the next, how long each took
// is written down, and one that is not over when its part of the time is gone is given up.
//
// Stages read what others have made and never change it: one that was given up may still be at work while later ones are. Several processes may go through
// the stages together; then they begin each together or give it up together, and none is left behind at work, for it would talk to the others in between.
package stage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"moriens/analysis/team"
)

// A Stage is one that has begun.
type Stage struct {
	Name    string
	Time    time.Duration // so far
	Ended   bool
	GivenUp bool // it was not over in time
}

// Stages are those of one run. State may be called at any time.
type Stages struct {
	limit time.Duration
	began time.Time
	team  team.Team

	mu   sync.Mutex
	list []Stage
	last time.Time // when the latest stage began
}

// New begins the time that all stages have together; with a limit of 0 they may take any.
func New(limit time.Duration) *Stages { return Shared(limit, team.Solo{}) }

// Shared is New for the members of a team. They begin the same stages in the same order; Try is collective then.
func Shared(limit time.Duration, t team.Team) *Stages {
	return &Stages{limit: limit, began: time.Now(), team: t}
}

// Limit is how long all stages may take together; 0 = any time.
func (s *Stages) Limit() time.Duration { return s.limit }

// State says which stages there were so far, in their order.
func (s *Stages) State() []Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append([]Stage(nil), s.list...)
	if n := len(list); n > 0 && !list[n-1].Ended {
		list[n-1].Time = time.Since(s.last)
	}
	return list
}

// Over says whether so much of the limit is gone, 0 to 1; of Shared, by this member's clock.
func (s *Stages) Over(part float64) bool {
	return s.limit > 0 && time.Since(s.began) >= s.end(part)
}

func (s *Stages) end(part float64) time.Duration { return time.Duration(part * float64(s.limit)) }

// until is a context that ends when so much of the limit is gone.
func (s *Stages) until(ctx context.Context, part float64) (context.Context, context.CancelFunc) {
	if s.limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, s.began.Add(s.end(part)), &LateError{s.end(part)})
}

// A LateError is why a stage was given up.
type LateError struct {
	After time.Duration // since the first stage began
}

func (e *LateError) Error() string {
	return fmt.Sprintf("it was not done %v after the end of the run", e.After.Round(time.Millisecond))
}

func (s *Stages) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, Stage{Name: name})
	s.last = time.Now()
}

func (s *Stages) ended(givenUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := &s.list[len(s.list)-1]
	now.Time, now.Ended, now.GivenUp = time.Since(s.last), true, givenUp
}

// Must does what every run needs, however long it takes.
func (s *Stages) Must(name string, work func()) {
	s.begin(name)
	defer s.ended(false)
	work()
}

// Try does what a run can go without: it gives up, with a *LateError, or what ended ctx, as soon as so much of the limit is gone, 0 to 1.
// Nothing of what work then returns is used, and work must change nothing that others see. A fault in it is an error of it alone.
//
// Of Shared, members that are late at its begin have all give it up, and one that has begun is done to its end, whenever that is; an error at one member is one of all. A
// fault is not held: the others wait for who has it, and learn from their team that it has ended.
func Try[T any](ctx context.Context, s *Stages, name string, part float64, work func(context.Context) (T, error)) (T, error) {
	s.begin(name)
	ctx, cancel := s.until(ctx, part)
	defer cancel()
	var nothing T
	if s.team.Size() > 1 {
		late, err := team.Any(s.team, ctx.Err() != nil)
		if err != nil || late {
			s.ended(true)
			if err == nil {
				err = s.late(ctx, part)
			}
			return nothing, err
		}
		made, err := work(ctx)
		err = team.Explain(s.team, err)
		s.ended(false)
		if err != nil {
			made = nothing
		}
		return made, err
	}
	type outcome struct {
		made T
		err  error
	}
	if ctx.Err() != nil {
		s.ended(true)
		return nothing, context.Cause(ctx)
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("internal error: %v", p)}
			}
			done <- o
		}()
		o.made, o.err = work(ctx)
	}()
	select {
	case o := <-done:
		s.ended(false)
		return o.made, o.err
	case <-ctx.Done():
		s.ended(true)
		return nothing, context.Cause(ctx)
	}
}

// late is why a stage is given up that was to begin: the same at all members, unless something else ended a context.
func (s *Stages) late(ctx context.Context, part float64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &LateError{s.end(part)}
}

// Within does what ends by itself soon after its context, which ends when so much of the limit is gone, 0 to 1; of Shared, by this member's clock.
func (s *Stages) Within(ctx context.Context, name string, part float64, work func(context.Context)) {
	s.begin(name)
	ctx, cancel := s.until(ctx, part)
	defer cancel()
	defer func() { s.ended(ctx.Err() != nil) }()
	work(ctx)
}
