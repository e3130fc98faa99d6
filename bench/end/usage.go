package main

import (
	"os"
	"time"

	"moriens/bench/timing"
	"moriens/internal/stage"
)

// A cost is what a stage took.
type cost struct {
	Stage   string
	Seconds float64 // that went by
	CPU     float64 // seconds of processor time, of all threads
	Peak    float64 // bytes of memory, resident, at most
}

// look is how often the watcher looks which stage it is: what a stage took is wrong by as much.
const look = 2 * time.Millisecond

// watch follows stages until stop is closed, and then sends what each of them took.
func watch(stages *stage.Stages, stop <-chan struct{}) <-chan watched {
	done := make(chan watched, 1)
	go func() {
		var w watched
		last, err := timing.CPU()
		w.err = err
		began := 0
		for ended := false; w.err == nil && !ended; {
			select {
			case <-stop:
				ended = true
			case <-time.After(look):
			}
			state := stages.State()
			if len(state) == began && !ended {
				continue
			}
			if w.err = w.took(&last); w.err != nil {
				break
			}
			for ; began < len(state); began++ {
				w.costs = append(w.costs, cost{Stage: state[began].Name})
			}
			for i := range w.costs {
				w.costs[i].Seconds = state[i].Time.Seconds()
			}
		}
		done <- w
	}()
	return done
}

type watched struct {
	costs []cost
	err   error
}

// took gives the latest stage what was used since the time before.
func (w *watched) took(last *float64) error {
	now, err := timing.CPU()
	if err != nil {
		return err
	}
	peak, err := peakSince()
	if err != nil {
		return err
	}
	if n := len(w.costs); n > 0 {
		w.costs[n-1].CPU, w.costs[n-1].Peak = now-*last, peak
	}
	*last = now
	return nil
}

// peakSince returns the most memory that this process had since the last call, and resets it (proc(5), clear_refs).
func peakSince() (bytes float64, err error) {
	u, err := timing.UsageOf(os.Getpid())
	if err != nil {
		return 0, err
	}
	return u.Peak, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
