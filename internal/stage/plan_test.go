package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"moriens/internal/stage"
	"moriens/internal/team"
)

// A stage that needs a failed one is not begun, and neither is one that needs that one; all others are.
func TestNeeds(t *testing.T) {
	s := stage.New(0)
	try := func(name string, fails bool, needs ...string) error {
		_, err := stage.Try(t.Context(), s, stage.Step{Name: name, Needs: needs}, func(context.Context) (int, error) {
			if fails {
				return 0, errors.New("no")
			}
			return 1, nil
		})
		return err
	}
	if err := try("first", true); err == nil {
		t.Error("it has not failed")
	}
	var lack *stage.LackError
	if err := try("second", false, "first"); !errors.As(err, &lack) || lack.Stage != "first" {
		t.Error(err)
	}
	if err := try("third", false, "other", "second"); !errors.As(err, &lack) || lack.Stage != "second" {
		t.Error(err)
	}
	if err := try("fourth", false, "other"); err != nil {
		t.Error(err)
	}
	s.Lack("other")
	if err := try("fifth", false, "other"); !errors.As(err, &lack) {
		t.Error(err)
	}
	gaveUp := 0
	for _, x := range s.State() {
		if x.GivenUp {
			gaveUp++
		}
	}
	if gaveUp != 3 {
		t.Errorf("%+v", s.State())
	}
}

// A stage has its part of the limit, or a share of what time was left for all when it began, whichever is later. Gone
// shows how much of it is gone.
func TestLeast(t *testing.T) {
	now := time.Duration(0)
	s := stage.Timed(100*time.Second, team.Solo{}, func() time.Duration { return now })
	half := stage.Step{Name: "half", Until: .4, Least: .5}
	for _, tt := range []struct{ begin, end time.Duration }{{0, 47500}, {30000, 62500}, {55000, 75000}, {94000, 94500}} {
		begin, end := tt.begin*time.Millisecond, tt.end*time.Millisecond
		now = begin
		_, err := stage.Try(t.Context(), s, half, func(ctx context.Context) (int, error) {
			now = begin + (end-begin)/2 - time.Millisecond
			if stage.Gone(ctx, .5) {
				t.Errorf("begun at %v, half of it is gone at %v", begin, now)
			}
			now = end
			if !stage.Gone(ctx, .5) || !stage.Gone(ctx, 1) {
				t.Errorf("begun at %v, it is not over at %v", begin, now)
			}
			return 0, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	now = 96 * time.Second // the rest is for writing
	var late *stage.LateError
	if _, err := stage.Try(t.Context(), s, half, func(context.Context) (int, error) { return 0, errors.New("begun") }); !errors.As(err, &late) {
		t.Error(err)
	}
	if stage.Gone(t.Context(), 0) {
		t.Error("time is gone of what is no stage")
	}
}

// The plan is the table of the page on reduction: every stage, in order, after what part of the limit it is given up,
// and what it needs; that is before it.
func TestPlanIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reduction.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 7 {
			for i, name := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					rows[name] += line
				}
			}
		}
	}
	var before []string
	for _, step := range stage.Plan {
		row, documented := rows[step.Name]
		if !documented {
			t.Errorf("%s is not in the table of stages", step.Name)
		}
		if percent := fmt.Sprintf("%.0f %%", 100*step.Until); step.Until > 0 && !strings.Contains(row, percent) {
			t.Errorf("%s: no %q in %q", step.Name, percent, row)
		}
		for _, need := range step.Needs {
			if !slices.Contains(before, need) || !strings.Contains(row, "`"+need+"`") {
				t.Errorf("%s needs %s: %q", step.Name, need, row)
			}
		}
		before = append(before, step.Name)
	}
}
