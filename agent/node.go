// Package agent carries what the ranks of one node record to the collector.
//
// A Node scans the run's directory in shared memory. For each process there it keeps a Process, which reads the rings
// (agent/ring), forms bursts (agent/burst) and commits them to the node's outbox (agent/spool). The node's one uplink
// (agent/uplink) sends the outbox. When a process has ended, the agent reads its files to the end and removes them.
// Ranks never wait for the agent: a ring that is read too slowly drops records and counts them. An agent that was
// killed resumes where it was when it is restarted: see transaction.go.
package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"moriens/agent/burst"
	"moriens/agent/message"
	"moriens/agent/ring"
	"moriens/agent/sched"
	"moriens/agent/spool"
	"moriens/agent/uplink"
	"moriens/internal/files"
	"moriens/internal/ticks"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// scanEvery is the time between two looks for new processes and for ended ones.
	scanEvery = 50 * time.Millisecond
	// defaultGrace is how long processes may outlive the job before they are left behind.
	defaultGrace = 5 * time.Second
	// flushGrace is how long the last messages may take to be acknowledged.
	flushGrace = 60 * time.Second
	// hurryGrace is the same where the agent was asked to end: batch systems leave 30 s between SIGTERM and SIGKILL. It is
	// taken twice at most, for room in the spool and for the collector.
	hurryGrace = 10 * time.Second
	// lossGrace is how long reporting losses to the collector may take.
	lossGrace = 2 * time.Second
	// resolveGrace is how long the call paths may take to resolve; those that are left remain unknown.
	resolveGrace = 30 * time.Second
	// finishResolveGrace is the same where the run is ended early: somebody waits, perhaps a batch system that is about to
	// kill us.
	finishResolveGrace = 3 * time.Second
)

// Config says which run's processes a node looks for and where it reports.
type Config struct {
	Run      string        // MORIENS_RUN
	Shm      string        // directory that holds the run's directory of rings
	Rings    string        // name of that; empty: the usual one
	Find     uplink.Find   // the collector
	Spool    string        // directory for the spool; empty: the usual places
	RunDir   string        // where the spool is if no other place can have it
	SpoolMax units.Bytes   // bound of the spool; 0: the smaller of 1 GiB and a tenth of what is free
	KeepWork bool          // the spool is kept when everything is done, if it is on a disk
	Started  bool          // the first process need not be waited for: Idle counts from the start
	Idle     time.Duration // the job is over when no process was there for this long after the last; 0 = only JobOver says so
	Cells    *Cells        // keep bursts on the node, as micro-cells; nil: all that ranks do is sent
	Grace    time.Duration // how long processes may outlive the job; 0 = 5 s
	Shared   bool          // this process is more than the agent
	Procs    func(int) int // runtime.GOMAXPROCS, where nothing else in this process minds it while ranks run; nil otherwise
	Version  string
	Log      *slog.Logger
	Clocks   ticks.Clocks // nil = the machine's
}

// A Node is the agent process of one node.
type Node struct {
	committer
	config  Config
	up      *uplink.Uplink
	bell    *ring.Bell          // nil: there is none
	claim   *files.Lock         // closed when the directory is given up
	agents  map[uint64]*Process // by process; those that have not ended
	sources sources
	// Numbers of the communicators that the collector knows, by the digests of their contents.
	communicators map[[sha256.Size]byte]uint32
	orphans       []*thread     // rings whose process file has not been seen yet
	records       []ring.Record // that were read last
	requests      *message.Room // of all processes
	blocks        burst.Room
	clocks        map[uint32]*sampler
	scheduling    *sched.Watch
	over          chan struct{} // closed when no new process is expected
	overOnce      sync.Once
	lastSeen      time.Time   // when there was a process, or one that is about to record
	retried       time.Time   // when what could not be kept was tried again, last
	hurried       atomic.Bool // little time is left
	full          fullness
	droppedEnded  uint64 // by rings that have ended
	standing      standing
	allEnded      time.Time // since when all processes that are there have ended; zero: one lives
	saidAlone     bool      // that there is no rank

	// From earlier lives of this agent.
	started  bool // a process has been seen
	done     bool // Done is committed
	restarts uint32
	cpu      time.Duration // that they used
	peak     uint64        // bytes of memory
}

// New returns the agent of a node, which resumes where an earlier one of the run has stopped. Nothing is sent to the
// collector before Run.
func New(config Config) (*Node, error) {
	if config.Grace == 0 {
		config.Grace = defaultGrace
	}
	if config.Clocks == nil {
		config.Clocks = ticks.System{}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	n := &Node{
		config: config,
		committer: committer{
			log: config.Log, whole: config.Cells != nil, placed: config.Spool != "",
			directory: ring.NewDirectory(ring.DirectoryIn(config.Shm, config.Rings, os.Getuid(), config.Run)),
		},
		agents:        make(map[uint64]*Process),
		sources:       make(sources),
		communicators: make(map[[sha256.Size]byte]uint32),
		requests:      message.NewRoom(memory() / requestShare),
		records:       make([]ring.Record, readRecords),
		clocks:        make(map[uint32]*sampler),
		scheduling:    sched.New(procDir),
		over:          make(chan struct{}),
	}
	n.ranks = n.ranksHere
	if n.claim, err = n.directory.Claim(); err != nil {
		return nil, err
	}
	if err := n.open(host); err != nil {
		n.claim.Close()
		n.directory.Abandon()
		return nil, err
	}
	n.started = n.started || config.Started
	return n, nil
}

// open opens what the agent keeps on its node. Where a place has taken a new spool and cannot have what is in it, the
// next one is asked.
func (n *Node) open(host string) error {
	c := spool.Config{Dir: n.config.Spool, Max: n.config.SpoolMax, Run: n.config.Run, Shm: n.directory.Path(), RunDir: n.config.RunDir}
	for {
		var err error
		if n.spool, err = spool.Open(c); err != nil {
			return err
		}
		if err = n.openIn(host); err == nil {
			if n.outbox.Transactions() == 0 { // else it was reported
				n.saySpool()
				if n.config.SpoolMax == 0 && n.spool.Budget.Max() == int64(spool.MinBytes) {
					n.config.Log.Warn("the spool's disk has little space: 10 % of free space is less than a spool needs", "spool", n.spool.Path(), "bound", spool.MinBytes)
				}
				n.sayRings()
			}
			return nil
		}
		if !n.spool.Fresh() {
			n.spool.Close()
			return fmt.Errorf("spool %s: %w", n.spool.Path(), err)
		}
		n.spool.Remove() // what remains of it is swept
		c.Not = append(c.Not, n.spool.Miss(err))
	}
}

// openIn opens it in one spool, or leaves nothing open.
func (n *Node) openIn(host string) (err error) {
	if n.outbox, err = n.spool.Outbox(); err != nil {
		return err
	}
	var store CellStore
	hello := &moriensv1.Hello{Run: n.config.Run, Agent: n.spool.Agent, Host: host, Version: n.config.Version, Cpus: uint32(runtime.NumCPU()), Shared: n.config.Shared}
	if n.config.Cells != nil {
		store, hello.Cells = n.config.Cells.Store, n.config.Cells.Spec
	}
	n.up = uplink.New(n.config.Find, hello, n.outbox, n.config.Log)
	if n.windows, err = openWindows(n.spool, n.outbox, n.up, store, n.config.Run, n.config.Log); err == nil {
		if err = n.relearnCells(); err == nil {
			err = n.restore()
		}
		if err != nil {
			n.windows.close()
		}
	}
	if err != nil {
		n.outbox.Close()
	}
	return err
}

// sayRings says where the rings are, if not where anybody would look for them.
func (n *Node) sayRings() {
	if usual := ring.DirectoryPath(n.config.Shm, os.Getuid(), n.config.Run); n.directory.Path() != usual {
		n.say(slog.LevelWarn, fmt.Sprintf("the ring buffers are in %s: %s is accessible to other users", n.directory.Path(), usual))
	}
}

// ranksHere are the ranks of processes that have not ended, in order.
func (n *Node) ranksHere() (ranks []int) {
	for _, a := range n.agents {
		ranks = append(ranks, a.process.Rank)
	}
	slices.Sort(ranks)
	return ranks
}

// JobOver informs the node that no new process is expected: it reads what there is to the end, and Run returns.
func (n *Node) JobOver() { n.overOnce.Do(func() { close(n.over) }) }

// Hurry is JobOver with little time left. What the collector does not acknowledge in that time is kept in the spool.
func (n *Node) Hurry() {
	n.hurried.Store(true)
	n.JobOver()
}

func (n *Node) flushGrace() time.Duration {
	if n.hurried.Load() {
		return hurryGrace
	}
	return flushGrace
}

// Run watches the node's processes until the job is over and everything that they recorded is acknowledged. When ctx
// ends it returns at once, and what was not acknowledged is lost. After another error the spool is kept: a restarted
// agent sends what is in it.
func (n *Node) Run(ctx context.Context) error {
	defer n.claim.Close()
	upCtx, stop := context.WithCancel(ctx)
	defer stop()
	upDone := make(chan error, 1)
	go func() { upDone <- n.up.Run(upCtx) }()

	if !n.done {
		watched, stop := context.WithCancel(ctx)
		go n.scheduling.Run(watched)
		n.watch(ctx)
		stop()
		for _, t := range n.orphans {
			n.unreadable(t.path, errors.New("a ring without its process"))
			t.close()
		}
	}
	err := ctx.Err()
	if err == nil && !n.done {
		err = n.late()
	}
	if err == nil {
		err = n.conclude(ctx)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, uplink.ErrOver) {
		n.up.AwaitSpoolReport(ctx, lossGrace)
	}
	stop()
	<-upDone // what it has to say, Flush has said
	n.sources.close()
	n.windows.close()
	over := errors.Is(err, uplink.ErrOver) // the content of the spool will never be taken
	if over && n.started {
		err = fmt.Errorf("%w; records of this node's ranks not sent by then are not in them", err)
	}
	if closeErr := n.outbox.Close(); err != nil && ctx.Err() == nil && !over {
		return errors.Join(fmt.Errorf("%w; it is left in %s", err, n.spool.Path()), closeErr, n.spool.Close())
	}
	if n.config.KeepWork && !n.spool.InMemory() {
		return errors.Join(err, n.spool.Close(), n.directory.Remove())
	}
	return errors.Join(err, n.spool.Remove(), n.directory.Remove())
}

// late says that the run has ended without this agent, if it has.
func (n *Node) late() error {
	select {
	case <-n.up.Over():
		return n.up.Refused()
	default:
		return nil
	}
}

// conclude reports the final state when all processes have ended, waits until the collector has everything, and keeps
// running as long as the collector may ask for windows.
func (n *Node) conclude(ctx context.Context) error {
	if !n.done {
		n.resolve(ctx)
		n.lastClocks(ctx)
		n.scheduling.Read()
		n.sendScheduling()
	}
	flush, cancel := context.WithTimeout(ctx, n.flushGrace())
	defer cancel()
	if err := until(flush, n.settle); err != nil {
		return n.unkept(err)
	}
	if !n.done { // only now: everything else is there
		n.room()
		n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Done{Done: n.describeDone()}})
		n.out.node().Done = true
		if err := until(flush, n.commitNode); err != nil {
			return err
		}
	}
	if err := n.up.Flush(flush); err != nil {
		return err
	}
	n.linger(ctx)
	return nil
}

// until tries something again and again, until it succeeds or ctx ends.
func until(ctx context.Context, try func() error) error {
	for err := try(); err != nil; err = try() {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(scanEvery):
		}
	}
	return nil
}

func corruptFile(err error) *moriensv1.ReportRequest {
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Fault{Fault: &moriensv1.Fault{Rank: -1, Corrupt: err.Error()}}}
}

// end reads what a process has left to the end, says how it ended, and removes its files.
func (n *Node) end(a *Process) {
	if !a.out.ended {
		n.readThreads(a, func() bool { return true })
		for len(a.threads) > 0 {
			n.endRing(a, a.threads[0])
		}
		if a.process.Err() != nil {
			n.define(a) // and report it, unless that is done
		}
		a.endMessages()
		n.endScheduling(a)
		end := a.describeEnd(n.config.Log)
		a.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ProcessEnd{ProcessEnd: end}})
		a.out.leave(a.path, func() { a.process.Close() })
		a.out.ended = true
	}
	if n.commit(a) == nil {
		delete(n.agents, a.process.ID)
	}
}

// resolveGrace is how long the places of the call paths may be looked for at the end.
func (n *Node) resolveGrace() time.Duration {
	select {
	case <-n.up.Finish():
		return finishResolveGrace
	default:
		return resolveGrace
	}
}

// leave takes what processes that outlive the job, or the run, have recorded so far. What they record from now on is
// not read.
func (n *Node) leave() {
	live := 0
	for _, a := range n.agents {
		if !a.ended {
			live++
		}
		n.end(a)
	}
	if live > 0 {
		n.config.Log.Warn("processes continue unmeasured", "processes", live)
	}
}

// requestShare is what part of the node's memory the requests may take that ranks have under way.
const requestShare = 64

// memory is what the node has, in bytes; 0: it is not reported.
func memory() uint64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}
