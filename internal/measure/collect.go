package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/analysis/partition"
	"moriens/collector"
	"moriens/collector/moriens"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
	"moriens/trace/rundir"
)

// A CollectConfig says where a collector listens and what becomes of what it gets.
type CollectConfig struct {
	Out     string    // run directory
	Listen  string    // host:port
	Web     string    // host:port of the page for browsers and Prometheus; empty = none
	Signal  os.Signal // ends the run early, as SIGTERM does; nil = none more
	Options partition.Options
	Program rundir.Program
	Log     *slog.Logger
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
	out, err := makeOut(c.Out)
	if err != nil {
		return err
	}
	col, err := collector.Start(collector.Config{
		Run: rendezvous.NewRun(), Listen: c.Listen, Web: c.Web, Command: rendezvous.CommandCollect, Version: c.Program.Version,
		Options: c.Options, Log: c.Log,
	})
	if err != nil {
		return hint.With(err, "name addresses of this host with --listen and --http, port 0 for any")
	}
	started := time.Now()
	meet := col.Rendezvous()
	if err := rendezvous.Write(out, meet); err != nil {
		col.Stop()
		return err
	}
	defer rendezvous.Remove(out)
	fmt.Fprintf(os.Stderr, "moriens: collecting run %s at %s for %s\n", meet.Run, meet.Address, out)
	library, err := Library()
	if err != nil {
		library = "libmoriens.so" // the job's nodes may have what this host lacks
	}
	fmt.Fprintf(os.Stderr, "moriens: each node needs an agent: moriens agent --dir %s\n", out)
	fmt.Fprintf(os.Stderr, "moriens: the ranks need LD_PRELOAD=%s MORIENS_RUN=%s\n", library, meet.Run)

	by := awaitEnd(col, signals)
	signal.Stop(signals)
	dir, err := conclude(col.Freeze(), out, moriens.Job{
		Program: c.Program, Run: meet.Run, Started: started, Ended: time.Now(), EndedBy: by,
	}, c.Options)
	col.Close(outcome(dir, err))
	return err
}

// gcPercent keeps an agent's memory small; what it has at a time is little, and the memory is the application's.
const gcPercent = 30

// An AgentConfig says which collector an agent reports to.
type AgentConfig struct {
	Dir     string        // run directory, with the collector's rendezvous
	Shm     string        // where the rings' directory is
	Wait    time.Duration // for the rendezvous
	Idle    time.Duration // the job is over when no rank has run for this long
	Spool   Spool
	Program rundir.Program
	Log     *slog.Logger
}

// Agent runs this node's agent until the ranks here have come and gone, or until a signal ends the run.
func Agent(c AgentConfig) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	meet, err := rendezvous.Wait(c.Dir, c.Wait)
	if errors.Is(err, fs.ErrNotExist) {
		return hint.With(err, "start `moriens collect --out "+c.Dir+"` first")
	}
	if err != nil {
		return hint.With(err, "the collector writes it; do not change it")
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
	defer context.AfterFunc(ctx, node.JobOver)()
	return node.Run(context.Background())
}

// A Spool says where an agent keeps what the collector has not acknowledged.
type Spool struct {
	Dir  string      // empty: $TMPDIR, or /tmp
	Max  units.Bytes // 0: the smaller of 1 GiB and a tenth of what is free
	Keep bool        // it stays when everything is done
}

func spoolHint(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, fs.ErrNotExist) {
		return hint.With(err, "name a directory on a disk of the node with --spool")
	}
	return err
}
