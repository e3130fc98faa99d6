// Package supervise is the small parent process of an agent that nothing else supervises: it restarts the program when
// that dies other than by its own decision, and gives up when the program keeps dying.
package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	// maxDeaths in a row, each less than settled after the start, are the end of it.
	maxDeaths = 8
	settled   = time.Minute
	pauseMin  = 100 * time.Millisecond
	pauseMax  = 5 * time.Second
	// statusCrash is how Go programs end that panic.
	statusCrash = 2
)

// A Program is what is kept running.
type Program struct {
	Path string
	Args []string // the name left out
	Lock *os.File // inherited by the program as descriptor 3
}

// A DeathError says that the program died too often.
type DeathError struct {
	Deaths int
	Last   string // what it died of
}

func (e *DeathError) Error() string {
	return fmt.Sprintf("the agent died %d times in a row, the last time: %s", e.Deaths, e.Last)
}

// Run starts the program, again and again if need be, until it has ended by itself, and returns its exit status. SIGINT
// and SIGTERM are passed on to it.
func Run(p Program) (status int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)

	deaths, pause := 0, pauseMin
	for {
		started := time.Now()
		state, err := once(p, signals)
		if err != nil {
			return 1, err
		}
		if !crashed(state) {
			return state.ExitCode(), nil
		}
		if time.Since(started) > settled {
			deaths, pause = 0, pauseMin
		}
		if deaths++; deaths >= maxDeaths {
			return 1, &DeathError{deaths, state.String()}
		}
		time.Sleep(pause)
		pause = min(2*pause, pauseMax)
	}
}

// once starts the program and waits for its end. Signals that arrive when it has ended are for the next one.
func once(p Program, signals <-chan os.Signal) (*os.ProcessState, error) {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.ExtraFiles = []*os.File{p.Lock}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it says is in the state
		close(ended)
	}()
	for {
		select {
		case s := <-signals:
			cmd.Process.Signal(s)
		case <-ended:
			return cmd.ProcessState, nil
		}
	}
}

func crashed(state *os.ProcessState) bool {
	return !state.Exited() || state.ExitCode() == statusCrash
}
