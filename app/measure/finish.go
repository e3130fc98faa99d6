package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"moriens/app/control"
	"moriens/collector/health"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
)

// A FinishConfig says which run to end.
type FinishConfig struct {
	Dir     string
	JSON    bool          // print a State
	Long    bool          // print all figures
	Timeout time.Duration // for the results
	Stdout  io.Writer
	Stderr  io.Writer
}

// Finish ends a run in progress, waits for its results and prints them. A run that has ended is printed too.
func Finish(c FinishConfig) error {
	meet, err := rendezvous.Read(c.Dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c.print(c.Dir, nil)
	}
	if err != nil {
		return meetHint(err)
	}
	client, err := control.Dial(meet)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	ordered := false
	dir, err := client.Finish(ctx, func(stage string) {
		ordered = true
		if what := saying[stage]; what != "" {
			fmt.Fprintf(c.Stderr, "moriens: %s\n", what)
		}
	})
	switch {
	case errors.Is(err, control.ErrEnded):
		return c.print(c.Dir, nil)
	case ordered && errors.Is(err, context.DeadlineExceeded):
		return hint.With(fmt.Errorf("no results within %v; the run is still being ended", c.Timeout), "moriens status "+c.Dir+" shows its progress")
	case dir != "":
		return c.print(dir, err)
	case ordered:
		return err
	}
	if s, finishedErr := finished(c.Dir); finishedErr == nil {
		return c.show(s, nil) // it ended before it got the order
	}
	return lost(meet, err)
}

// saying is the text for a stage.
var saying = map[string]string{
	health.Finishing: "agents send what their ranks have recorded; ranks that still run continue unmeasured",
	health.Analysing: "analysing",
}

// print shows the results in dir, and returns what was wrong with them.
func (c FinishConfig) print(dir string, err error) error {
	s, readErr := finished(dir)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return c.show(s, err)
}

// show prints the results, and says with err what is wrong with them.
func (c FinishConfig) show(s *State, err error) error {
	var printErr error
	if c.JSON {
		printErr = json.NewEncoder(c.Stdout).Encode(s)
	} else {
		printErr = s.finished(c.Stdout, c.Long)
	}
	return s.verdict(errors.Join(err, printErr))
}
