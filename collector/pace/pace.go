// Package pace runs a task at intervals beside a running job, at a bounded cost to it.
package pace

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// share is the reciprocal of the part of one core that the work may take.
const share = 50

// Share is the part of one core that the work may take, 0–1.
const Share = 1. / share

// Run works until ctx ends, the first time after interval. Work says what processor time it took; the next follows
// after interval, or after so much longer that working takes at most a fiftieth of one core.
func Run(ctx context.Context, interval time.Duration, work func() time.Duration) {
	pause := interval
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = max(interval, Rest(work()))
	}
}

// Rest is how long work rests that has taken so much processor time.
func Rest(took time.Duration) time.Duration { return share * took }

// Processor works, and says what processor time that took: by the clock it would be many times that where the job
// leaves the work no core, and then the work would rest for just as many times too long. What goroutines that work
// starts take is not counted.
func Processor(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	work()
	return threadTime() - before
}

// Process is the processor time that this process has used.
func Process() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // POSIX: a process always has this clock
	}
	return time.Duration(t.Nano())
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // POSIX: the calling thread always has this clock
	}
	return time.Duration(t.Nano())
}
