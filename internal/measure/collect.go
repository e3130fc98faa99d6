package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/analysis/partition"
	"moriens/collector"
	"moriens/collector/journal"
	"moriens/collector/moriens"
	"moriens/internal/console"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/internal/segment"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// A CollectConfig says where a collector listens and what becomes of what it gets.
type CollectConfig struct {
	Out      string    // run directory: a new or empty one, or that of a run whose collector was killed
	Listen   string    // host:port
	Web      string    // host:port of the page for browsers and Prometheus; empty = none
	Signal   os.Signal // ends the run early, as SIGTERM does; nil = none more
	Agents   int       // how many have to come before the run is over; 0 = at least one, unless it is ended early
	Options  partition.Options
	KeepWork bool // the journal stays
	Program  rundir.Program
	Log      *slog.Logger
}

// Collect runs a collector until the agents that came are all done, or until a signal or the user ends the run. A second
// signal ends the process.
func Collect(c CollectConfig) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if c.Signal != nil {
		signal.Notify(signals, c.Signal)
	}
	defer signal.Stop(signals)
	out, err := collectOut(c.Out)
	if err != nil {
		return err
	}
	col, err := collector.Start(collector.Config{
		Journal: filepath.Join(out, rundir.JournalDir), Run: rendezvous.NewRun(), Listen: c.Listen, Web: c.Web, Command: rendezvous.CommandCollect, Version: c.Program.Version,
		Agents: c.Agents, Options: c.Options, Log: c.Log,
	})
	if err != nil {
		return hint.With(err, startAdvice(err, out))
	}
	if err := publish(col, out, signals); err != nil {
		if !col.Journal().Resumed() {
			err = errors.Join(err, col.Discard())
		}
		col.Close(collector.Outcome{})
		return err
	}
	defer rendezvous.Remove(out)
	announce(col, out)

	by := awaitEnd(col, signals)
	signal.Stop(signals)
	dir, err := conclude(col.Freeze(by), out, jobOf(col.Journal(), by, c.Program), c.Options, terminal)
	if dir == out && !c.KeepWork {
		err = errors.Join(err, col.Discard())
	}
	// Where the run's first collector was that of a plain preload, it has left word for other nodes' agents.
	err = errors.Join(err, removeMeeting(filepath.Dir(out), col.Rendezvous().Run))
	col.Close(outcome(dir, err))
	return err
}

// roomWait is the time between two looks for room on a full disk.
const roomWait = 500 * time.Millisecond

// publish writes the rendezvous. A collector that goes on with a run waits for room where there is none: the agents keep what
// they have until it is back. A new one has nothing to wait for.
func publish(col *collector.Collector, out string, signals <-chan os.Signal) error {
	for told := false; ; told = true {
		err := rendezvous.Write(out, col.Rendezvous())
		if err == nil || !col.Journal().Resumed() || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return err
		}
		if !told {
			fmt.Fprintf(os.Stderr, "moriens: %v\nhint: make room there; until then the agents wait\n", err)
		}
		select {
		case <-time.After(roomWait):
		case s := <-signals:
			return errors.Join(err, fmt.Errorf("ended by %s", signalName(s)))
		}
	}
}

// collectOut makes the run directory, or takes that of a run that was not concluded.
func collectOut(out string) (string, error) {
	absolute, err := filepath.Abs(out)
	if err == nil && unfinished(absolute) {
		return absolute, nil
	}
	return makeOut(out)
}

// startAdvice says what to do about a collector that does not start.
func startAdvice(err error, out string) string {
	var format *journal.FormatError
	switch {
	case errors.Is(err, journal.ErrInUse):
		return "one collector is enough; name another directory with --out for another run"
	case errors.As(err, &format):
		return "go on with the moriens that began the run"
	case errors.Is(err, segment.ErrCorrupt):
		return "the disk has changed what was written; without that file and the later ones in " + filepath.Join(out, rundir.JournalDir) +
			" the run can be concluded with what came before"
	}
	return "name addresses of this host with --listen and --http, port 0 for any, and a directory with room with --out"
}

// announce says what is collected, and what else is needed.
func announce(col *collector.Collector, out string) {
	meet, j := col.Rendezvous(), col.Journal()
	if j.Resumed() {
		t := j.Store().Totals()
		fmt.Fprintf(os.Stderr, "moriens: going on with run %s, begun %s: %s bursts of %s processes are here\n", meet.Run,
			time.Unix(0, j.Begin().StartedNs).Format(time.DateTime), console.Integer(int(t.Bursts)), console.Integer(t.Processes))
	}
	if col.Over() {
		fmt.Fprintln(os.Stderr, "moriens: it had ended; analysing it")
		return
	}
	fmt.Fprintf(os.Stderr, "moriens: collecting run %s at %s for %s\n", meet.Run, meet.Address, out)
	fmt.Fprintf(os.Stderr, "moriens: each node needs an agent: moriens agent --dir %s\n", out)
	if j.Resumed() {
		fmt.Fprintln(os.Stderr, "moriens: agents that still run come by themselves; where one was killed, start it again. Without them the run ends in a minute, or by `moriens finish` now")
		return
	}
	library, err := Library()
	if err != nil {
		library = "libmoriens.so" // the job's nodes may have what this host lacks
	}
	fmt.Fprintf(os.Stderr, "moriens: the ranks need LD_PRELOAD=%s MORIENS_RUN=%s\n", library, meet.Run)
}

// jobOf is what the journal knows of the job, which was ended by something or not.
func jobOf(j *journal.Journal, by string, program rundir.Program) moriens.Job {
	b := j.Begin()
	job := moriens.Job{Program: program, Run: b.Run, Command: b.Command, Started: time.Unix(0, b.StartedNs), Ended: time.Now(), EndedBy: by}
	if e := j.End(); e != nil {
		job.Ended, job.EndedBy = time.Unix(0, e.EndedNs), e.EndedBy
	}
	switch e := j.JobEnd(); {
	case e != nil:
		job.ExitStatus, job.Ended = int(e.ExitStatus), time.Unix(0, e.EndedNs)
	case len(b.Command) > 0:
		job.Notes = append(job.Notes, "how the job ended is not known: the moriens that started it was killed")
	}
	return job
}

// gcPercent keeps an agent's memory small; what it has at a time is little, and the memory is the application's.
const gcPercent = 60

// An AgentConfig says which collector an agent reports to.
type AgentConfig struct {
	Dir     string        // run directory, with the collector's rendezvous
	Shm     string        // where the rings' directory is
	Wait    time.Duration // for the rendezvous
	Idle    time.Duration // the job is over when no rank has run for this long after the last; 0 = only a signal says so
	Spool   Spool
	Program rundir.Program
	Log     *slog.Logger
}

// Agent runs this node's agent until the ranks here have come and gone, or until a signal ends the run.
func Agent(c AgentConfig) error {
	// Batch systems warn programs of the time limit by these, and warn whatever runs beside them too.
	signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	meet, err := meetCollector(c.Dir, c.Wait)
	if err != nil {
		return err
	}
	node, err := agent.New(agent.Config{
		Run: meet.Run, Shm: c.Shm, Find: func() (rendezvous.Rendezvous, error) { return rendezvous.Read(c.Dir) },
		Spool: c.Spool.Dir, SpoolMax: c.Spool.Max, KeepWork: c.Spool.Keep, Idle: c.Idle, Version: c.Program.Version, Log: c.Log,
	})
	if errors.Is(err, ring.ErrClaimed) {
		return hint.With(err, "one agent per node is enough, however many ranks run there")
	}
	if err != nil {
		return spoolHint(err)
	}
	debug.SetGCPercent(gcPercent)
	defer context.AfterFunc(ctx, node.Hurry)()
	return node.Run(context.Background())
}

// A Spool says where an agent keeps what the collector has not acknowledged.
type Spool struct {
	Dir  string      // empty: $TMPDIR, or /tmp
	Max  units.Bytes // 0: the smaller of 1 GiB and a tenth of what is free
	Keep bool        // it stays when everything is done, and so does the journal of a collector in the same process
}

func spoolHint(err error) error {
	for _, cause := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.ENOTDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, cause) {
			return hint.With(err, "name a directory on a disk of the node with --spool")
		}
	}
	if errors.Is(err, spool.ErrTooSmall) {
		return hint.With(err, "allow more by --spool-max")
	}
	return err
}

// meetCollector waits for the rendezvous in a run directory.
func meetCollector(dir string, wait time.Duration) (rendezvous.Rendezvous, error) {
	meet, err := rendezvous.Wait(dir, wait)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = hint.With(err, "start `moriens collect --out "+dir+"` first")
	case err != nil:
		err = hint.With(err, "the collector writes it; do not change it")
	}
	return meet, err
}
