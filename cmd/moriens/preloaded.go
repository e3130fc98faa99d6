package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"moriens/agent/ring"
	"moriens/analysis/grouping"
	"moriens/app/measure"
	"moriens/app/supervise"
	"moriens/internal/rendezvous"
)

// preloadedLock is the descriptor under which the library hands over the lock of the node's agent; what its file holds
// in the end is for the user. See cshim/src/launch.h.
const preloadedLock = 3

// preloaded names the command that libmoriens.so starts where it is preloaded without `moriens run`. It is not typed by
// users; MORIENS_OPTIONS has the options of the analysis.
const preloaded = "preloaded"

type preloadedCommand struct {
	ID      string        `name:"run" help:"Name of the run." required:""`
	Near    string        `help:"Working directory of the ranks." required:""`
	Dir     string        `help:"Run directory."`
	Job     string        `help:"Job id of the batch system."`
	Alone   bool          `help:"The job runs on this node only."`
	Timeout time.Duration `help:"Maximum time that ranks wait for the results." default:"60s"`
	Rings   string        `help:"Name of the directory with the run's ring buffers."`
	Starter int           `help:"Process that started this one."`
	Agent   string        `help:"Run as this node's agent, with this name, instead of as its parent."`
	analysisFlags
	keepFlags
	cellsFlags
	shmFlag
	spoolFlags
}

// preloadedMain is main for that command. What the user wants concerns the agent, not its parent, and both inform the
// user by the lock's file.
func preloadedMain(args []string) int {
	words := os.NewFile(preloadedLock, ring.AgentFile)
	if !isAgent(args) {
		return run(args, io.Discard, words)
	}
	if run(append(args, strings.Fields(os.Getenv("MORIENS_OPTIONS"))...), io.Discard, words) != 0 {
		return statusFailure // statusUsage is how a crash ends, and no reason to try again
	}
	return 0
}

// isAgent reports whether it is the agent, and not its parent.
func isAgent(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--agent=") })
}

// words is where messages to the user are printed.
type words struct{ io.Writer }

func (c *preloadedCommand) Run(ctx *kong.Context, all *commands, w words) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	kept, err := c.retention()
	if err != nil {
		return err
	}
	bursts, err := c.obeyed(options, kept)
	if err != nil {
		return err
	}
	if c.Agent == "" {
		return c.supervise(w, options, bursts, all.log(io.Discard))
	}
	// The ranks wait from when they are through with MPI, and their agents need some of that time.
	keep := measure.Keep{Options: kept, Timeout: c.Timeout * 9 / 10}
	return measure.Preload(measure.PreloadConfig{
		Run: c.ID, Shm: c.Shm, Rings: c.Rings, Near: c.Near, Dir: c.Dir, Job: c.Job, Alone: c.Alone, Timeout: c.Timeout,
		Agent: c.Agent, Quiet: os.Getenv("MORIENS_QUIET") != "", Words: w,
		Spool: c.spool(), Options: options, Cells: bursts, Keep: keep, Given: given(ctx), Program: program(),
		Log: all.log(os.Stderr), // which Preload makes a file
	})
}

// supervise has this program be the agent in a process of its own.
func (c *preloadedCommand) supervise(w words, options grouping.Options, bursts *measure.Cells, log *slog.Logger) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	starter, starterErr := unix.PidfdOpen(c.Starter, 0) // while it is sure to be that one
	lock := os.NewFile(preloadedLock, ring.AgentFile)
	name := rendezvous.NewSecret(8)
	status, err := supervise.Run(supervise.Program{Path: self, Args: append(os.Args[1:], "--agent="+name), Lock: lock})
	if err == nil && status == 0 {
		return nil
	}
	if err != nil { // else the agent has reported the reason, and the ranks to the collector
		err = measure.Bereave(measure.PreloadConfig{
			Run: c.ID, Shm: c.Shm, Rings: c.Rings, Near: c.Near, Dir: c.Dir, Timeout: c.Timeout, Agent: name, Options: options, Cells: bursts, Program: program(), Log: log,
		}, err)
	}
	// What the ranks still record is not read. The file with the reason is kept for as long as they can read it.
	directory := ring.NewDirectory(ring.DirectoryIn(c.Shm, c.Rings, os.Getuid(), c.ID))
	if !directory.Taken(lock) {
		err = errors.Join(err, directory.Clear())
	}
	complain(w, err)
	unlockErr := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	if starterErr == nil && unlockErr == nil {
		awaitEnd(starter)
	}
	ended := starterErr == nil || errors.Is(starterErr, unix.ESRCH) // before this process could look
	if ended && unlockErr == nil && !directory.Taken(lock) {
		directory.Remove() // a rank that ended well has done so
	}
	return exitStatus{statusFailure, nil}
}

// awaitEnd waits for the end of a process, of which it has a descriptor, whatever this one is asked to do: with a job
// all of its processes are.
func awaitEnd(process int) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
