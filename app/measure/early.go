package measure

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/collector"
	"moriens/internal/hint"
)

const (
	// finishGrace is how long agents may take to send what is left when a run is ended early, if the request to end does
	// not allow more. With the analysis it has to fit into the 30 s that batch systems usually leave between SIGTERM and
	// SIGKILL.
	finishGrace = 10 * time.Second
	// endGrace is how long a job that was sent SIGTERM may take to end before the data so far is analysed without waiting.
	endGrace = 10 * time.Second
)

// attend waits for the end of a run, of several collectors too: the first one decides, the others follow it. It returns
// what ended the run early, and how the other collectors were lost, if they were.
func attend(col *collector.Collector, signals chan os.Signal) (by string, err error) {
	defer signal.Stop(signals)
	if col.Team().Rank() == 0 {
		by = awaitEnd(context.Background(), col, signals)
		select {
		case <-col.Adjourned():
			_, err = col.Verdict()
		default:
		}
		return by, err
	}
	for {
		select {
		case s := <-signals:
			col.Ask(signalName(s))
			signal.Stop(signals) // another one ends the process
		case <-col.Adjourned():
			return col.Verdict()
		}
	}
}

// awaitEnd waits until the agents of a run are done, or until the run is ended early: by a signal, or by the user's
// command. It returns by what; "" where the agents were done, where other collectors of the run are lost, or where ctx
// ends because no agent can connect any more.
func awaitEnd(ctx context.Context, col *collector.Collector, signals <-chan os.Signal) (by string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		col.WaitAgents(ctx) // ends with ctx at the latest
	}()
	select {
	case <-done:
		return ""
	case <-col.Adjourned():
		return ""
	case s := <-signals:
		by = signalName(s)
		if !col.Complete() {
			return ""
		}
	case <-col.Asked():
		by = col.By()
		if !col.Complete() {
			return ""
		}
	case <-col.Finishing():
		by = finishedBy
	}
	fmt.Fprintf(words, "moriens: ended by %s: agents send remaining data, then the analysis starts\n", by)
	col.Finish()
	ctx, cancel = context.WithTimeout(context.Background(), max(finishGrace, col.Patience()))
	defer cancel()
	if err := col.WaitFinished(ctx); err != nil {
		fmt.Fprintln(words, "moriens: not all agents are done; analysing the data received")
	}
	return by
}

// signalName is what people call a signal, and what --signal takes: SIGUSR1.
func signalName(s os.Signal) string { return unix.SignalName(s.(syscall.Signal)) }

// finishedBy is by what a run ends that the user has ended.
const finishedBy = "moriens finish"

// outcome is what those get who wait for a run's end.
func outcome(dir string, err error) collector.Outcome {
	return collector.Outcome{Directory: dir, Err: err, Hint: hint.Of(err)}
}
