package stage_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"moriens/internal/stage"
)

func TestStagesInOrder(t *testing.T) {
	s := stage.New(time.Hour)
	built := 0
	s.Must(stage.Step{Name: "build"}, func() {
		if state := s.State(); len(state) != 1 || state[0].Ended {
			t.Errorf("while the first is at work: %+v", state)
		}
		built = 7
	})
	got, err := stage.Try(context.Background(), s, stage.Step{Name: "double", Until: .5}, func(context.Context) (int, error) { return 2 * built, nil })
	if got != 14 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	wrong := errors.New("wrong")
	if _, err := stage.Try(context.Background(), s, stage.Step{Name: "fail", Until: .5}, func(context.Context) (int, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	var names []string
	for _, x := range s.State() {
		if !x.Ended || x.GivenUp || x.Time < 0 {
			t.Errorf("%+v", x)
		}
		names = append(names, x.Name)
	}
	if strings.Join(names, " ") != "build double fail" {
		t.Error(names)
	}
}

// A stage that does not end is given up when its part of the time is gone; one that is reached after its part does not
// begin.
func TestLate(t *testing.T) {
	s := stage.New(40 * time.Millisecond)
	forever := make(chan struct{})
	defer close(forever)
	late := func(part float64, work func(context.Context) (int, error)) {
		t.Helper()
		_, err := stage.Try(context.Background(), s, stage.Step{Name: "late", Until: part}, work)
		var why *stage.LateError
		if !errors.As(err, &why) {
			t.Errorf("%v", err)
		}
	}
	late(.5, func(context.Context) (int, error) { <-forever; return 1, nil })
	late(.25, func(context.Context) (int, error) { t.Error("it began"); return 1, nil })
	if !s.Over(.5) || s.Over(1e9) {
		t.Error("the time is not what it is")
	}
	for _, x := range s.State() {
		if !x.GivenUp {
			t.Errorf("%+v", x)
		}
	}
}

func TestNoLimit(t *testing.T) {
	s := stage.New(0)
	if s.Over(0) {
		t.Error("any time is over")
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := stage.Try(ctx, s, stage.Step{Name: "cancelled", Until: .1}, func(ctx context.Context) (int, error) {
		cancel()
		<-ctx.Done()
		return 1, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFault(t *testing.T) {
	_, err := stage.Try(context.Background(), stage.New(time.Hour), stage.Step{Name: "fault", Until: 1}, func(context.Context) (int, error) {
		var none []int
		return none[0], nil
	})
	if err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Error(err)
	}
}
