package measure

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/collector"
	"moriens/internal/hint"
)

const (
	// finishGrace is how long agents may take to send what is left when a run is ended early, if who ends it does not allow more. With the analysis it has to
	// fit into the 30 s that batch systems usually leave between SIGTERM and SIGKILL.
	finishGrace = 10 * time.Second
	// endGrace is how long a job that was sent SIGTERM may take to end before what there is is analysed without waiting.
	endGrace = 10 * time.Second
)

// awaitEnd waits until the agents of a collector are done, or until the run is ended early: by a signal, or by the user's
// command. It returns by what, "" where the agents were done.
func awaitEnd(col *collector.Collector, signals <-chan os.Signal) (by string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		col.WaitAgents(ctx) // ends with ctx at the latest
	}()
	select {
	case <-done:
		return ""
	case s := <-signals:
		by = signalName(s)
	case <-col.Finishing():
		by = finishedBy
	}
	fmt.Fprintf(os.Stderr, "moriens: ended by %s: the agents send what is left, then it is analysed\n", by)
	col.Finish()
	ctx, cancel = context.WithTimeout(context.Background(), max(finishGrace, col.Patience()))
	defer cancel()
	if err := col.WaitFinished(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "moriens: not all agents are done; analysing what has come")
	}
	return by
}

// signalName is what people call a signal, and what --signal takes: SIGUSR1.
func signalName(s os.Signal) string { return unix.SignalName(s.(syscall.Signal)) }

// finishedBy is by what a run ends that the user has ended.
const finishedBy = "moriens finish"

// outcome is what those are told who wait for a run's end.
func outcome(dir string, err error) collector.Outcome {
	return collector.Outcome{Directory: dir, Err: err, Hint: hint.Of(err)}
}
