// Package measure puts the parts together for the commands: a job under measurement with collector and agent in this process (Run),
// each of them alone (Collect, Agent), the agent that ranks start themselves (Preload), what they all end with (conclude), a trace
// from elsewhere (Analyze), and the user's questions and orders to a run in progress (Status, Finish, Environment).
package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/analysis/partition"
	"moriens/collector"
	"moriens/collector/journal"
	"moriens/collector/moriens"
	"moriens/internal/console"
	"moriens/internal/hint"
	"moriens/internal/job"
	"moriens/internal/rendezvous"
	"moriens/trace/rundir"
)

// StatusAnalysis is the exit status of a job that ended well and an analysis that did not.
const StatusAnalysis = 3

// statusEvery is how often the status line is drawn.
const statusEvery = 500 * time.Millisecond

// A RunConfig says what to run and how to analyse it.
type RunConfig struct {
	Command []string
	Out     string // run directory; empty = a new one named by date and time
	Shm     string // where the rings' directory is made
	Spool   Spool
	Events  string // what to count; empty: what is usual where the job runs
	// Callpath is how many frames a call path has; 0 = as MORIENS_CALLPATH says, else 1.
	Callpath int
	Web      string    // host:port of the page for browsers and Prometheus; empty = none
	Signal   os.Signal // ends the measurement and is not passed on to the job; nil = none does
	Options  partition.Options
	Program  rundir.Program
	Log      *slog.Logger
}

// Run runs a job under measurement and returns the exit status that this process should end with. An
// error goes with a status that is not the job's own.
func Run(c RunConfig) (status int, err error) {
	// From here on an interrupt is for the job, and later for the analysis, never for this process.
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGIO, syscall.SIGPWR,
	} {
		if !signal.Ignored(s) { // nohup and the like: the job inherits that it is ignored
			signal.Notify(signals, s)
		}
	}

	if c.Signal != nil {
		signal.Notify(signals, c.Signal)
	}

	// A reader of our output that goes away must not end this process before the results are written.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	library, err := Library()
	if err != nil {
		return 1, err
	}
	if err := unix.Access(c.Shm, unix.W_OK|unix.X_OK); err != nil {
		return 1, hint.With(fmt.Errorf("shared memory: %s: %w", c.Shm, err),
			"name a directory on a memory file system that you may write to with --shm")
	}
	sweep(c.Shm, c.Spool.Dir, c.Log)
	out, err := makeOut(c.Out)
	if err != nil {
		return 1, err
	}
	sockets, err := socketDir()
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(sockets)
	col, err := collector.Start(collector.Config{
		Journal: filepath.Join(out, rundir.JournalDir), Run: rendezvous.NewRun(), Launcher: c.Command,
		Listen: "unix:" + filepath.Join(sockets, socketName), Web: c.Web, Command: rendezvous.CommandRun,
		Version: c.Program.Version, Options: c.Options, Log: c.Log,
	})
	if err != nil {
		return 1, hint.With(err, "name an address of this host with --http, port 0 for any, and a directory with room with --out")
	}
	run := col.Rendezvous().Run
	// The user's own commands find the collector by it.
	if err := rendezvous.Write(out, col.Rendezvous()); err != nil {
		nothingRan(col, out)
		return 1, err
	}
	defer rendezvous.Remove(out)
	node, err := agent.New(agent.Config{
		Run: run, Shm: c.Shm, Find: uplink.At(col.Rendezvous()), Spool: c.Spool.Dir, SpoolMax: c.Spool.Max, KeepWork: c.Spool.Keep,
		Shared: true, Version: c.Program.Version, Log: c.Log,
	})
	if err != nil {
		nothingRan(col, out)
		return 1, spoolHint(err)
	}
	agentCtx, stopAgent := context.WithCancel(context.Background())
	defer stopAgent()
	agentDone := make(chan error, 1)
	go func() { agentDone <- node.Run(agentCtx) }()

	started := time.Now()
	j, err := job.Start(c.Command, job.Preload{
		Library: library, Run: run, Shm: c.Shm, Directory: out, Events: c.Events, Callpath: c.Callpath,
	})
	if err != nil {
		stopAgent()
		<-agentDone
		nothingRan(col, out)
		var start *job.StartError
		if errors.As(err, &start) {
			return start.Status, err
		}
		return 1, err
	}

	line := console.OpenStatus(os.Stderr)
	jobDone := make(chan struct{})
	var waitErr error
	go func() {
		status, waitErr = j.Wait()
		close(jobDone)
	}()
	by := watch(line, col, started, jobDone, signals, c.Signal, j.Pass)
	line.Close()
	if by == "" && waitErr != nil {
		return 1, waitErr
	}

	concluded := make(chan error, 1)
	go func() {
		measured := moriens.Job{Program: c.Program, Run: run, Command: c.Command, Started: started, Ended: time.Now(), EndedBy: by}
		if by == "" {
			measured.ExitStatus = status
			col.Journal().JobEnded(status)
			node.JobOver()
		} else {
			fmt.Fprintf(os.Stderr, "moriens: ended by %s: analysing what there is; the job goes on unmeasured\n", by)
			col.Finish()
			node.JobOver() // should the order not reach it
		}
		if err := <-agentDone; err != nil {
			c.Log.Error("agent", "error", err)
		}
		dir, err := conclude(col.Freeze(by), out, measured, c.Options, terminal)
		rendezvous.Remove(out)
		if dir == out && !c.Spool.Keep {
			err = errors.Join(err, col.Discard())
		}
		col.Close(outcome(dir, err))
		concluded <- err
	}()
	gaveUp, err := await(concluded, signals, c.Signal, jobDone, j.Pass)
	if gaveUp != nil {
		return 128 + int(gaveUp.(syscall.Signal)), err
	}
	if by != "" {
		passUntil(jobDone, signals, c.Signal, j.Pass)
		// Processes that the job has started meanwhile have made it anew.
		if removeErr := ring.NewDirectory(ring.DirectoryPath(c.Shm, os.Getuid(), run)).Remove(); removeErr != nil {
			c.Log.Warn("rings stay in shared memory", "error", removeErr)
		}
		if waitErr != nil {
			return 1, waitErr
		}
	}
	if err != nil && status == 0 {
		return StatusAnalysis, err
	}
	return status, err
}

// watch shows progress and passes signals on until the job is done, "", or until the measurement is ended before that, and
// then returns by what. SIGTERM is an order to end for us too: where the job takes long over it, as one that writes a
// checkpoint, we do not wait for it, because SIGKILL may follow.
func watch(line *console.Status, col *collector.Collector, started time.Time, done <-chan struct{}, signals <-chan os.Signal, order os.Signal, pass func(os.Signal)) (by string) {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	var late <-chan time.Time // when we wait no longer for a job that was sent SIGTERM
	for {
		select {
		case <-done:
			return ""
		case <-col.Finishing():
			return finishedBy
		case <-late:
			return signalName(syscall.SIGTERM)
		case s := <-signals:
			if s == order {
				return signalName(s)
			}
			pass(s)
			if s == syscall.SIGTERM && late == nil {
				late = time.After(endGrace)
			}
			if !ends(s) {
				continue
			}
			fmt.Fprintf(os.Stderr, "moriens: %s: the job has it too; what was recorded will be analysed when the job has ended\n", s)
		case <-tick.C:
			p := col.Progress()
			line.Show(fmt.Sprintf("moriens %s · %s bursts · %s clusters · %.0f %% of time explained",
				console.Duration(float64(time.Since(started).Truncate(100*time.Millisecond))),
				console.Integer(int(p.Totals.Bursts)), console.Integer(len(p.Clusters)), 100*p.Explained))
		}
	}
}

// await lets the analysis end in peace: a first interrupt says what is going on, a second gives up. A job that still runs gets them,
// and then they are not for us.
func await(concluded <-chan error, signals <-chan os.Signal, order os.Signal, done <-chan struct{}, pass func(os.Signal)) (gaveUp os.Signal, err error) {
	for interrupts := 0; ; {
		select {
		case err := <-concluded:
			return nil, err
		case s := <-signals:
			if s == order {
				continue
			}
			select {
			case <-done:
			default:
				pass(s)
				continue
			}
			if !ends(s) {
				continue
			}
			if interrupts++; interrupts > 1 {
				return s, fmt.Errorf("%s: gave up, the results are not complete", s)
			}
			fmt.Fprintf(os.Stderr, "moriens: %s: the results are being written; once more to give up\n", s)
		}
	}
}

// passUntil passes signals on until the job is done.
func passUntil(done <-chan struct{}, signals <-chan os.Signal, order os.Signal, pass func(os.Signal)) {
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			if s != order {
				pass(s)
			}
		}
	}
}

// ends says whether a signal asks for the end of what it is sent to.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// Library finds libmoriens.so: MORIENS_LIB, or beside the program, or in ../lib.
func Library() (string, error) {
	if path := os.Getenv("MORIENS_LIB"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", hint.With(fmt.Errorf("MORIENS_LIB: %w", err), "it has to name libmoriens.so, or be unset")
		}
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	dir := filepath.Dir(self)
	for _, path := range []string{filepath.Join(dir, "libmoriens.so"), filepath.Join(dir, "..", "lib", "libmoriens.so")} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", hint.With(fmt.Errorf("no libmoriens.so beside %s", self), "run `make build`, or name the library in MORIENS_LIB")
}

// nothingRan takes a run back that did not begin.
func nothingRan(col *collector.Collector, out string) {
	col.Discard()
	col.Close(collector.Outcome{})
	rendezvous.Remove(out)
	os.Remove(out) // only if empty
}

// makeOut makes the run directory and returns its absolute path.
func makeOut(out string) (string, error) {
	if out == "" {
		out = "moriens-" + time.Now().Format("20060102-150405")
		for n := 2; exists(out); n++ {
			out = fmt.Sprintf("moriens-%s-%d", time.Now().Format("20060102-150405"), n)
		}
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	if unfinished(out) {
		return "", hint.With(fmt.Errorf("run directory %s: %w and holds a run that was not concluded", out, fs.ErrExist),
			"`moriens collect --out "+out+"` goes on with that; else name another with --out")
	}
	return out, rundir.Create(out)
}

// unfinished says whether a run directory is that of a run whose collector did not live to write the results.
func unfinished(out string) bool {
	return journal.Exists(filepath.Join(out, rundir.JournalDir)) && !exists(filepath.Join(out, rundir.ManifestFile))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// sweep removes what this user's runs that were killed have left on this node.
func sweep(shm, spools string, log *slog.Logger) {
	if n, err := ring.Sweep(shm, os.Getuid()); err != nil || n > 0 {
		log.Warn("runs that were killed had left their rings in shared memory", "removed", n, "error", err)
	}
	if n, err := spool.Sweep(spools); err != nil || n > 0 {
		log.Warn("runs that were killed had left their spools", "removed", n, "error", err)
	}
	if n := sweepSockets(os.TempDir()); n > 0 {
		log.Warn("runs that were killed had left their sockets", "removed", n)
	}
}

// A run's socket has a directory of its own.
const (
	socketPrefix = "moriens-socket-"
	socketName   = "collector"
)

// sweepSockets removes the sockets of this user's runs that were killed: nobody listens there any more.
func sweepSockets(dir string) (removed int) {
	paths, _ := filepath.Glob(filepath.Join(dir, socketPrefix+"*", socketName)) // no such directory: none
	for _, path := range paths {
		parent, err := os.Lstat(filepath.Dir(path))
		if err != nil || !parent.IsDir() || parent.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue
		}
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) && os.RemoveAll(filepath.Dir(path)) == nil {
			removed++
		}
	}
	return removed
}

// socketDir makes a private directory whose path leaves room for a socket's name: a socket address
// holds 107 bytes.
func socketDir() (string, error) {
	dir, err := os.MkdirTemp("", socketPrefix)
	if err == nil && len(dir) > 90 {
		os.Remove(dir)
		err = syscall.ENAMETOOLONG
	}
	if err != nil {
		dir, err = os.MkdirTemp("/tmp", socketPrefix)
	}
	if err != nil {
		return "", hint.With(fmt.Errorf("no place for a socket: %w", err), "point TMPDIR to a directory that you may write to")
	}
	return dir, nil
}
