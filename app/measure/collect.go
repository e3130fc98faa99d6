package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/collector"
	"moriens/collector/journal"
	"moriens/conclude"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/internal/segment"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// A CollectConfig says where a collector listens and where its data goes.
type CollectConfig struct {
	Out      string    // run directory: a new or empty one, or that of a run whose collector was killed
	Listen   string    // host:port
	Web      string    // host:port of the page for browsers and Prometheus; empty = none
	Signal   os.Signal // ends the run early, as SIGTERM does; nil = none more
	Agents   int       // how many have to connect before the run is over; 0 = at least one, unless it is ended early
	Options  grouping.Options
	Cells    *Cells   // bursts are kept with the agents, as micro-cells; nil = they are sent
	Given    []string // options of the command line that the results depend on, for a collector that resumes the run: --name=value
	Keep     Keep
	Show     Show
	KeepWork bool // the journal is kept
	Program  rundir.Program
	Log      *slog.Logger
	Team     team.Team // the collectors of the run, each of which collects with the same config; nil = this is the only one
}

// Collect runs a collector until the agents that connected are all done, or until a signal or the user ends the run. A
// second signal ends the process. Of several collectors the first one talks to the user and writes the results; an
// error of one ends all.
func Collect(c CollectConfig) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if c.Signal != nil {
		signal.Notify(signals, c.Signal)
	}
	defer signal.Stop(signals)
	if c.Team == nil {
		c.Team = team.Solo{}
	}
	first := c.Team.Rank() == 0
	out, err := filepath.Abs(c.Out)
	if err == nil && first {
		out, err = collectOut(out)
	}
	if err := team.Agree(c.Team, err); err != nil {
		return err
	}
	col, err := collector.Start(collector.Config{
		Team: c.Team, Journal: filepath.Join(out, rundir.JournalDir), Run: rendezvous.NewRun(), Listen: c.Listen, Web: c.Web, Command: rendezvous.CommandCollect, Version: c.Program.Version,
		Agents: c.Agents, Options: c.Options, Cells: c.Cells.spec(c.Options), Given: c.Given, Linger: c.Keep.linger(), Notify: notify, Log: c.Log,
	})
	if err != nil {
		if first {
			os.Remove(out) // only if empty
		}
		return hint.With(err, startAdvice(err, out, "--listen and --http"))
	}
	var notice *rendezvous.Notice
	if first {
		notice, err = publish(col, out, signals, c.Log)
		defer notice.Leave()
	}
	if err := team.Agree(c.Team, err); err != nil {
		if !col.Resumed() {
			err = errors.Join(err, col.Discard())
		}
		notice.Remove()
		col.Close(collector.Outcome{})
		return err
	}
	col.Join()
	if first {
		announce(col, out)
	}
	by, err := attend(col, signals)
	if err != nil {
		col.Close(collector.Outcome{})
		return hint.With(err, "no acknowledged data is lost: start any number of collectors again with the same --out")
	}
	end := conclusion{
		collector: col, by: by, out: out, options: c.Options, cells: c.Cells, log: c.Log, keep: c.Keep, to: terminal(c.Show),
		job: func() conclude.Job { return jobOf(col.Journal(), by, c.Program) },
	}
	dir, err := end.conclude()
	written := []int64{0}
	if dir == out {
		written[0] = 1
	}
	err = errors.Join(err, c.Team.AllReduce(written, team.Max))
	if written[0] != 0 && !c.KeepWork {
		err = errors.Join(err, col.Discard())
	}
	if first {
		// Where the run's first collector was that of a plain preload, it has left word for other nodes' agents.
		err = errors.Join(err, removeMeeting(filepath.Dir(out), col.Rendezvous().Run))
	}
	col.Close(outcome(dir, err))
	if first {
		notice.Remove() // an agent that finds it until then learns how the run has ended
	}
	return team.Agree(c.Team, end.verdict(dir, err))
}

// roomWait is the time between two looks for room on a full disk.
const roomWait = 500 * time.Millisecond

// publish writes the rendezvous. A collector that resumes a run waits for room where there is none: the agents keep
// what they have until it is back. A new one has nothing to wait for.
func publish(col *collector.Collector, out string, signals <-chan os.Signal, log *slog.Logger) (*rendezvous.Notice, error) {
	for warned := false; ; warned = true {
		notice, err := rendezvous.Post(out, col.Rendezvous(), log)
		if err == nil || !col.Resumed() || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return notice, err
		}
		if !warned {
			fmt.Fprintf(words, "moriens: %v\nhint: free space there; agents wait until then\n", err)
		}
		select {
		case <-time.After(roomWait):
		case s := <-signals:
			return nil, errors.Join(err, fmt.Errorf("ended by %s", signalName(s)))
		}
	}
}

// collectOut makes the run directory of an absolute path, or takes that of a run that was not concluded.
func collectOut(out string) (string, error) {
	if unfinished(out) {
		return out, nil
	}
	return makeOut(out)
}

// Recorded are the options that the run of a run directory was begun with, and whether it holds one whose collector was
// killed. All collectors of a run call it, and learn what the first one has read.
func Recorded(t team.Team, out string) (given []string, resumed bool, err error) {
	type begun struct {
		Given   []string
		Resumed bool
	}
	found, err := team.First(t, func() (found begun, err error) {
		if unfinished(out) {
			found.Given, found.Resumed, err = journal.Options(filepath.Join(out, rundir.JournalDir))
		}
		return found, err
	})
	if err != nil {
		err = hint.With(err, startAdvice(err, out, "--listen and --http"))
	}
	return found.Given, found.Resumed, err
}

// startAdvice says what to do about a collector that does not start.
func startAdvice(err error, out, listens string) string {
	var format *journal.FormatError
	switch {
	case errors.Is(err, journal.ErrInUse):
		return "one collector per run is enough; for another run name another directory with --out"
	case errors.As(err, &format):
		return "resume with the moriens version that started the run"
	case errors.Is(err, segment.ErrCorrupt):
		return "the disk has corrupted the file; without it and the later ones in " + filepath.Join(out, rundir.JournalDir) +
			" the run can be analysed up to that point"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space there, or name a run directory on another disk (--out, MORIENS_DIR)"
	}
	return "name addresses of this host with " + listens + " (port 0: any), and a writable run directory with --out"
}

// notify prints a notice to the user while the job runs.
func notify(text, advice string) { fmt.Fprintf(words, "moriens: %s\nhint: %s\n", text, advice) }

// announce says what is collected, and what else is needed.
func announce(col *collector.Collector, out string) {
	meet, j := col.Rendezvous(), col.Journal()
	if col.Resumed() {
		t := j.Store().Totals()
		where := "here"
		if len(meet.Members) > 1 {
			where = fmt.Sprintf("at the first of %d collectors", len(meet.Members))
		}
		fmt.Fprintf(words, "moriens: resuming run %s, started %s: %s bursts of %s processes are %s\n", meet.Run,
			time.Unix(0, j.Begin().StartedNs).Format(time.DateTime), units.Integer(int(t.Bursts)), units.Integer(t.Processes), where)
	}
	if col.Over() {
		fmt.Fprintln(words, "moriens: the run had ended; analysing it")
		return
	}
	where := meet.Address
	if n := len(meet.Members); n > 1 {
		where += fmt.Sprintf(", one of %d collectors,", n)
	}
	fmt.Fprintf(words, "moriens: collecting run %s at %s for %s\n", meet.Run, where, out)
	fmt.Fprintf(words, "moriens: each node needs an agent: moriens agent --dir %s\n", out)
	if col.Resumed() {
		fmt.Fprintln(words, "moriens: running agents reconnect; restart those that were killed. Without agents the run ends in a minute, or now with `moriens finish`")
		return
	}
	library, err := Library()
	if err != nil {
		library = "libmoriens.so" // the job's nodes may have what this host lacks
	}
	fmt.Fprintf(words, "moriens: the ranks need LD_PRELOAD=%s MORIENS_RUN=%s\n", library, meet.Run)
}

// jobOf is what the journal knows of the job, which was ended by something or not.
func jobOf(j *journal.Journal, by string, program rundir.Program) conclude.Job {
	b := j.Begin()
	job := conclude.Job{Program: program, Run: b.Run, Command: b.Command, Started: time.Unix(0, b.StartedNs), Ended: time.Now(), EndedBy: by}
	if e := j.End(); e != nil {
		job.Ended, job.EndedBy = time.Unix(0, e.EndedNs), e.EndedBy
	}
	switch e := j.JobEnd(); {
	case e != nil:
		job.ExitStatus, job.Ended = int(e.ExitStatus), time.Unix(0, e.EndedNs)
	case len(b.Command) > 0:
		job.Notes = append(job.Notes, "the job's exit status is not known: the moriens process that started it was killed")
	}
	return job
}

// An AgentConfig says which collector an agent reports to.
type AgentConfig struct {
	Dir     string        // run directory, with the collector's rendezvous
	Shm     string        // where the rings' directory is
	Wait    time.Duration // for the rendezvous
	Idle    time.Duration // the job is over when no rank has run for this long after the last; 0 = only a signal says so
	Spool   Spool
	Cells   *Cells           // bursts are kept here, as micro-cells; nil = they are sent
	Options grouping.Options // where bursts lie, of micro-cells
	Program rundir.Program
	Log     *slog.Logger
}

// Agent runs this node's agent until the ranks here have started and ended, or until a signal ends the run.
func Agent(c AgentConfig) error {
	// Batch systems warn programs of the time limit by these, and warn whatever runs beside them too.
	signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	meet, err := meetCollector(c.Dir, c.Wait)
	if err != nil {
		return err
	}
	if err := c.Cells.agree(meet, c.Options); err != nil {
		return err
	}
	kept, err := c.Cells.keep(c.Options, c.Log)
	if err != nil {
		return err
	}
	node, err := agent.New(agent.Config{
		Run: meet.Run, Cells: kept, Shm: c.Shm, Find: find(c.Dir),
		Spool: c.Spool.Dir, SpoolMax: c.Spool.Max, RunDir: c.Dir, KeepWork: c.Spool.Keep, Idle: c.Idle, Procs: runtime.GOMAXPROCS, Version: c.Program.Version, Log: c.Log,
	})
	if errors.Is(err, ring.ErrClaimed) {
		return hint.With(err, "one agent per node is enough for any number of ranks")
	}
	if err != nil {
		return spoolHint(err)
	}
	defer context.AfterFunc(ctx, node.Hurry)()
	return node.Run(context.Background())
}

// A Spool says where an agent keeps what the collector has not acknowledged.
type Spool struct {
	Dir  string      // before the usual places; empty: these alone
	Max  units.Bytes // 0: the smaller of 1 GiB and a tenth of what is free
	Keep bool        // it is kept when everything is done, and so does the journal of a collector in the same process
}

func spoolHint(err error) error {
	if rings := (*ring.DirectoryError)(nil); errors.As(err, &rings) {
		return hint.With(err, "name a writable directory in memory with --shm")
	}
	for _, cause := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.ENOTDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, cause) {
			return hint.With(err, "name a directory on a local disk with --spool")
		}
	}
	if errors.Is(err, spool.ErrTooSmall) {
		return hint.With(err, "raise --spool-max")
	}
	if version := (*spool.VersionError)(nil); errors.As(err, &version) {
		return hint.With(err, "start the agent of the moriens version that began the run")
	}
	return err
}

// meetCollector waits for the rendezvous in a run directory.
func meetCollector(dir string, wait time.Duration) (rendezvous.Rendezvous, error) {
	meet, err := rendezvous.Wait(dir, wait, func() error { return over(dir) })
	if errors.Is(err, uplink.ErrOver) {
		return meet, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return meet, hint.With(err, "start `moriens collect --out "+dir+"` first")
	}
	return meet, meetHint(err)
}

// over says that the run of a directory has ended, where it has: no collector will start there any more.
func over(dir string) error {
	if !exists(filepath.Join(dir, rundir.ManifestFile)) {
		return nil
	}
	return hint.With(fmt.Errorf("%w: its results are in %s", uplink.ErrOver, dir),
		"agents must run while the job runs; for another job name another run directory")
}

// find is where the collector of a run directory is.
func find(dir string) uplink.Find {
	return func() (rendezvous.Rendezvous, error) {
		meet, err := rendezvous.Read(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = cmp.Or(over(dir), err)
		}
		return meet, err
	}
}

// meetHint says what to do about a rendezvous that is there and cannot be read.
func meetHint(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return hint.With(err, "name the run directory")
	}
	return hint.With(err, "the collector writes this file; do not change it")
}
