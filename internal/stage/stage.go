// Package stage runs the end of a run as a sequence of stages within a time limit. It records how long each stage took,
// and abandons a stage that exceeds its share of the time.
//
// What runs within a stage that may be abandoned reads what others have made and changes none of it, since it may still
// be running while later ones are; its caller puts the result in place.
// Several processes may go through the stages together; then they start and abandon each stage together, because a
// member that continued an abandoned stage would disturb the collective calls of the next.
package stage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"moriens/internal/team"
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
	gone  func() time.Duration // since the first stage began
	real  bool                 // gone is the time that goes by
	team  team.Team

	mu   sync.Mutex
	list []Stage
	last time.Time       // when the latest stage began
	lack map[string]bool // stages without a result
}

// New begins the time that all stages have together; with a limit of 0 they may take any.
func New(limit time.Duration) *Stages { return Shared(limit, team.Solo{}) }

// Shared is New for the members of a team. They begin the same stages in the same order; Try is collective then.
func Shared(limit time.Duration, t team.Team) *Stages {
	began := time.Now()
	return &Stages{limit: limit, gone: func() time.Duration { return time.Since(began) }, real: true, team: t}
}

// Timed is Shared where gone says how much time has gone by, at each begin of a stage and each time that Over or Gone
// is asked.
func Timed(limit time.Duration, t team.Team, gone func() time.Duration) *Stages {
	return &Stages{limit: limit, gone: gone, team: t}
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

// Over reports whether so much of the limit is gone, 0 to 1; of Shared, by this member's clock.
func (s *Stages) Over(part float64) bool {
	return s.limit > 0 && s.gone() >= s.part(part)
}

func (s *Stages) part(part float64) time.Duration { return time.Duration(part * float64(s.limit)) }

// end is when a step that begins now is given up, since the first stage began.
func (s *Stages) end(step *Step, now time.Duration) time.Duration {
	if left := s.part(last) - now; step.Least > 0 && left > 0 {
		return max(s.part(step.Until), now+time.Duration(step.Least*float64(left)))
	}
	return s.part(step.Until)
}

// until is a context that ends when a step is given up.
func (s *Stages) until(ctx context.Context, step *Step) (context.Context, context.CancelFunc) {
	if s.limit == 0 {
		return context.WithCancel(ctx)
	}
	now := s.gone()
	end := s.end(step, now)
	ctx = context.WithValue(ctx, goneKey{}, func(part float64) bool { return s.gone() >= now+time.Duration(part*float64(end-now)) })
	late := &LateError{end}
	switch {
	case s.real:
		return context.WithDeadlineCause(ctx, time.Now().Add(end-now), late)
	case now < end:
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(late)
	return ctx, func() {}
}

type goneKey struct{}

// Gone says of the context of a stage whether so much of its time is gone, 0 to 1, or all of it.
func Gone(ctx context.Context, part float64) bool {
	gone, _ := ctx.Value(goneKey{}).(func(part float64) bool)
	return ctx.Err() != nil || gone != nil && gone(part)
}

// Lack says that a step has failed: what needs it is given up.
func (s *Stages) Lack(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lack == nil {
		s.lack = make(map[string]bool)
	}
	s.lack[name] = true
}

// lacks says what a step needs that is not there; empty = nothing.
func (s *Stages) lacks(step *Step) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range step.Needs {
		if s.lack[name] {
			return name
		}
	}
	return ""
}

// A LateError is why a stage was given up.
type LateError struct {
	After time.Duration // since the first stage began
}

func (e *LateError) Error() string {
	return fmt.Sprintf("not done %v after the end of the run", e.After.Round(time.Millisecond))
}

// A LackError is why a stage was given up that needs another one.
type LackError struct{ Stage string }

func (e *LackError) Error() string {
	return fmt.Sprintf("it needs %s, which is missing", Shown(e.Stage))
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
func (s *Stages) Must(step Step, work func()) {
	s.begin(step.Name)
	defer s.ended(false)
	work()
}

// Try does what a run can go without: it gives up, with a *LateError, or what ended ctx, as soon as the step's part of
// the limit is gone, and with a *LackError at once where what it needs is not there. Nothing of what work then returns
// is used, and work must change nothing that others see. A fault in it is an error of it alone. A step without a
// result, for whatever reason, is Lack for the steps that need it.
//
// Of Shared, members that are late at its begin have all give it up, and one that has begun is done to its end,
// whenever that is; an error at one member is one of all. A fault is not held: the others wait for the member that has
// it, and learn from their team that it has ended.
func Try[T any](ctx context.Context, s *Stages, step Step, work func(context.Context) (T, error)) (T, error) {
	made, err := try(ctx, s, step, work)
	if err != nil {
		s.Lack(step.Name)
	}
	return made, err
}

func try[T any](ctx context.Context, s *Stages, step Step, work func(context.Context) (T, error)) (T, error) {
	s.begin(step.Name)
	var nothing T
	if lacks := s.lacks(&step); lacks != "" { // the same at all members
		s.ended(true)
		return nothing, &LackError{lacks}
	}
	ctx, cancel := s.until(ctx, &step)
	defer cancel()
	if s.team.Size() > 1 {
		late, err := team.Any(s.team, ctx.Err() != nil)
		if err != nil || late {
			s.ended(true)
			if err == nil {
				err = s.late(ctx, &step)
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
func (s *Stages) late(ctx context.Context, step *Step) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &LateError{s.part(step.Until)}
}

// Within does what ends by itself soon after its context, which ends when the step's part of the limit is gone; of
// Shared, by this member's clock. What it needs it looks for itself.
func (s *Stages) Within(ctx context.Context, step Step, work func(context.Context)) {
	s.begin(step.Name)
	ctx, cancel := s.until(ctx, &step)
	defer cancel()
	defer func() { s.ended(ctx.Err() != nil) }()
	work(ctx)
}
