// Package measure combines the parts for the commands: a job under measurement with collector and agent in this process
// (Run), each of them alone (Collect, Agent), the agent that ranks start themselves (Preload), the end that they share
// (conclude), a trace of another tool (Analyze), and the user's requests to a run in progress (Status, Finish,
// Environment).
package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/app/console"
	"moriens/app/job"
	"moriens/collector"
	"moriens/collector/journal"
	"moriens/conclude"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// dismissGrace is how long an agent may take to end when it has to end at once.
const dismissGrace = 5 * time.Second

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
	// Regions are the families of regions to record, Pcontrol is what MPI_Pcontrol means, PhaseCounters whether phases
	// read the events, as in job.Preload.
	Regions, Pcontrol string
	PhaseCounters     bool
	Web               string    // host:port of the page for browsers and Prometheus; empty = none
	Signal            os.Signal // ends the measurement and is not passed on to the job; nil = none does
	Options           grouping.Options
	Cells             *Cells   // bursts are kept with the agent, as micro-cells; nil = they are sent
	Given             []string // options of the command line that the results depend on, for a collector that resumes the run: --name=value
	Keep              Keep
	Show              Show
	Program           rundir.Program
	Log               *slog.Logger
}

// Run runs a job under measurement and returns the exit status that this process should end with. An
// error goes with a status that is not the job's own.
func Run(c RunConfig) (status int, err error) {
	signals := catch(c.Signal)
	library, err := Library()
	if err != nil {
		return 1, err
	}
	if err := unix.Access(c.Shm, unix.W_OK|unix.X_OK); err != nil {
		return 1, hint.With(fmt.Errorf("shared memory: %s: %w", c.Shm, err),
			"name a writable directory on a memory file system with --shm")
	}
	sweep(c.Shm, c.Spool.Dir, c.Log)
	out, err := makeOut(c.Out)
	if err != nil {
		return 1, err
	}
	p, err := c.start(out)
	if err != nil {
		return 1, err
	}
	defer p.notice.Remove()
	defer p.dismissAgent()

	started := time.Now()
	j, err := job.Start(c.Command, job.Preload{
		Library: library, Run: p.run, Shm: c.Shm, Directory: out, Events: c.Events, Callpath: c.Callpath, Regions: c.Regions, Pcontrol: c.Pcontrol, PhaseCounters: c.PhaseCounters,
	})
	if err != nil {
		p.dismissAgent()
		p.notice.Remove()
		nothingRan(p.collector, out)
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
	by := p.watch(line, started, jobDone, signals, j.Pass)
	line.Close()
	if by == "" && waitErr != nil {
		return 1, waitErr
	}

	measured := conclude.Job{Program: c.Program, Run: p.run, Command: c.Command, Started: started, Ended: time.Now(), EndedBy: by}
	if by == "" {
		measured.ExitStatus = status
	}
	concluded := make(chan error, 1)
	go func() { concluded <- p.conclude(measured) }()
	gaveUp, err := await(concluded, signals, c.Signal, jobDone, j.Pass)
	if gaveUp != nil {
		return 128 + int(gaveUp.(syscall.Signal)), err
	}
	if by != "" {
		passUntil(jobDone, signals, c.Signal, j.Pass)
		// Processes that the job has started in that time may have made it again.
		if removeErr := ring.NewDirectory(ring.DirectoryPath(c.Shm, os.Getuid(), p.run)).Remove(); removeErr != nil {
			c.Log.Warn("ring buffers are left in shared memory", "error", removeErr)
		}
		if waitErr != nil {
			return 1, waitErr
		}
	}
	var lacking *IncompleteError
	if errors.As(err, &lacking) {
		err = lacking.Err // without one the summary has said it
		if status == 0 {
			status = StatusIncomplete
		}
	}
	if err != nil && status == 0 {
		status = StatusIncomplete
	}
	return status, err
}

// catch takes the signals that would end this process. From here on an interrupt is for the job, and later for the
// analysis, never for this process. The one that ends the measurement is among them, nil where none does.
func catch(order os.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
		syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGIO, syscall.SIGPWR,
	} {
		if !signal.Ignored(s) { // nohup and the like: the job inherits that it is ignored
			signal.Notify(signals, s)
		}
	}
	if order != nil {
		signal.Notify(signals, order)
	}
	// A reader of our output that goes away must not end this process before the results are written.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signals
}

// parts are those of a run that work in this process.
type parts struct {
	RunConfig
	run, out  string
	collector *collector.Collector
	notice    *rendezvous.Notice
	agent     looker
	stopAgent context.CancelFunc
	agentDone chan struct{}
	agentErr  error // once that is closed
}

// witnessGrace is how long a witness's collector, which is in the same process, may take.
const witnessGrace = time.Minute

// mind returns the agent of the host. Where it has no place for its spool the job runs all the same, and the results
// say that its ranks go unrecorded.
func (c *RunConfig) mind(run, out string, find uplink.Find, kept *agent.Cells) (looker, error) {
	node, err := agent.New(agent.Config{
		Run: run, Shm: c.Shm, Find: find, Spool: c.Spool.Dir, SpoolMax: c.Spool.Max, RunDir: out, KeepWork: c.Spool.Keep,
		Cells: kept, Shared: true, Procs: runtime.GOMAXPROCS, Version: c.Program.Version, Log: c.Log,
	})
	if err == nil {
		return node, nil
	}
	if err = spoolHint(err); errors.Is(err, spool.ErrTooSmall) {
		return nil, err
	}
	// There is none either where it is not the spool that is missing but the directory of rings.
	witness, unable := agent.NewWitness(agent.WitnessConfig{
		Run: run, Shm: c.Shm, Find: find, Reason: noAgent(err), Cells: kept, Shared: true, Idle: math.MaxInt64, Grace: witnessGrace, Version: c.Program.Version, Log: c.Log,
	})
	if unable != nil {
		return nil, err
	}
	c.Log.Error("the ranks are not recorded", "error", err, "hint", hint.Of(err))
	return witness, nil
}

// noAgent is why the ranks of a node go unrecorded whose agent cannot work.
func noAgent(err error) string { return "the agent there could not start: " + err.Error() }

// start starts collector and agent. If it fails nothing remains of them, nor of the run directory.
func (c *RunConfig) start(out string) (*parts, error) {
	kept, err := c.Cells.keep(c.Options, c.Log)
	if err != nil {
		os.Remove(out) // only if empty
		return nil, err
	}
	col, err := collector.Start(collector.Config{
		Journal: filepath.Join(out, rundir.JournalDir), Run: rendezvous.NewRun(), Launcher: c.Command,
		Listen: rendezvous.NewSocket(), Web: c.Web, Command: rendezvous.CommandRun,
		Version: c.Program.Version, Options: c.Options, Cells: c.Cells.spec(c.Options), Given: c.Given, Linger: c.Keep.linger(), Notify: notify, Log: c.Log,
	})
	if err != nil {
		os.Remove(out) // only if empty
		return nil, hint.With(err, startAdvice(err, out, "--http"))
	}
	run := col.Rendezvous().Run
	// The user's own commands find the collector by it.
	notice, err := rendezvous.Post(out, col.Rendezvous(), c.Log)
	if err != nil {
		nothingRan(col, out)
		return nil, err
	}
	node, err := c.mind(run, out, uplink.At(col.Rendezvous()), kept)
	if err != nil {
		notice.Remove()
		nothingRan(col, out)
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &parts{RunConfig: *c, run: run, out: out, collector: col, notice: notice, agent: node, stopAgent: stop, agentDone: make(chan struct{})}
	go func() {
		defer close(p.agentDone)
		p.agentErr = node.Run(ctx)
	}()
	return p, nil
}

// dismissAgent ends the agent, if it has not ended, and lets it take what it has in shared memory with it.
func (p *parts) dismissAgent() {
	p.stopAgent()
	select {
	case <-p.agentDone:
	case <-time.After(dismissGrace):
	}
}

// conclude writes the results of a job that has ended, or whose measurement has, and closes collector and agent.
func (p *parts) conclude(measured conclude.Job) error {
	if by := measured.EndedBy; by == "" {
		p.collector.Journal().JobEnded(measured.ExitStatus)
		p.agent.JobOver()
	} else {
		fmt.Fprintf(words, "moriens: ended by %s: analysing the data recorded; the job continues unmeasured\n", by)
		p.collector.Finish()
		p.agent.JobOver() // should the order not reach it
	}
	awaitAgent(p.collector, p.agentDone)
	end := conclusion{
		collector: p.collector, by: measured.EndedBy, out: p.out, options: p.Options, cells: p.Cells, log: p.Log, keep: p.Keep, to: terminal(p.Show), job: func() conclude.Job { return measured },
	}
	dir, err := end.conclude()
	p.notice.Remove()
	if <-p.agentDone; p.agentErr != nil {
		p.Log.Error("agent", "error", p.agentErr)
	}
	if dir == p.out && !p.Spool.Keep {
		err = errors.Join(err, p.collector.Discard())
	}
	p.collector.Close(outcome(dir, err))
	return end.verdict(dir, err)
}

// watch shows progress and passes signals on until the job is done, "", or until the measurement is ended before that,
// and then returns by what. SIGTERM is an order to end for us too: where the job takes long over it, as one that writes
// a checkpoint, we do not wait for it, because SIGKILL may follow.
func (p *parts) watch(line *console.Status, started time.Time, done <-chan struct{}, signals <-chan os.Signal, pass func(os.Signal)) (by string) {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	var late <-chan time.Time // when we wait no longer for a job that was sent SIGTERM
	for {
		select {
		case <-done:
			return ""
		case <-p.collector.Finishing():
			return finishedBy
		case <-late:
			return signalName(syscall.SIGTERM)
		case s := <-signals:
			if s == p.Signal {
				return signalName(s)
			}
			pass(s)
			if s == syscall.SIGTERM && late == nil {
				late = time.After(endGrace)
			}
			if !ends(s) {
				continue
			}
			fmt.Fprintf(words, "moriens: %s: passed to the job; recorded data will be analysed when the job has ended\n", s)
		case <-tick.C:
			line.Show(fmt.Sprintf("moriens %s · %s", console.Duration(float64(time.Since(started).Truncate(100*time.Millisecond))), soFar(p.collector)))
		}
	}
}

// soFar is what arrived, or is kept with the agents, in a few words.
func soFar(col *collector.Collector) string {
	p := col.Progress()
	if kept := col.Surveyed(); kept != nil {
		return fmt.Sprintf("%s bursts on their nodes, %s", units.Integer(int(kept.Bursts)), console.Kept(kept))
	}
	return fmt.Sprintf("%s bursts · %s clusters · %.0f %% of time explained", units.Integer(int(p.Totals.Bursts)), units.Integer(len(p.Clusters)), 100*p.Explained)
}

// awaitAgent waits until everything that the agent in this process has recorded has arrived, or until it has ended.
func awaitAgent(col *collector.Collector, ended <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	col.WaitAgents(ctx) // ends with ctx at the latest
}

// await lets the analysis end undisturbed: a first interrupt prints the current stage, a second gives up. A job that
// still runs gets the interrupts instead.
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
				return s, hint.With(fmt.Errorf("%s: gave up; the results are not complete", s), "moriens collect --out DIR analyzes what has arrived in the run directory")
			}
			fmt.Fprintf(words, "moriens: %s: writing results; send it again to give up\n", s)
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

// ends reports whether a signal asks for the end of what it is sent to.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// Library finds libmoriens.so: MORIENS_LIB, or beside the program, or in ../lib.
func Library() (string, error) {
	if path := os.Getenv("MORIENS_LIB"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", hint.With(fmt.Errorf("MORIENS_LIB: %w", err), "set it to the path of libmoriens.so, or unset it")
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
	return "", hint.With(fmt.Errorf("no libmoriens.so beside %s", self), "run `make build`, or set MORIENS_LIB to the library")
}

// nothingRan takes a run back that did not begin.
func nothingRan(col *collector.Collector, out string) {
	col.Discard()
	col.Close(collector.Outcome{})
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
		return "", hint.With(fmt.Errorf("run directory %s: %w and holds an unfinished run", out, fs.ErrExist),
			"`moriens collect --out "+out+"` resumes it; otherwise name another with --out")
	}
	return out, rundir.Create(out)
}

// unfinished reports whether a run directory is that of a run whose collector did not live to write the results.
func unfinished(out string) bool {
	return journal.Exists(filepath.Join(out, rundir.JournalDir)) && !exists(filepath.Join(out, rundir.ManifestFile))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
