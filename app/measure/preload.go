package measure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moriens/agent"
	"moriens/agent/ring"
	"moriens/agent/uplink"
	"moriens/analysis/grouping"
	"moriens/collector"
	"moriens/collector/journal"
	"moriens/conclude"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	"moriens/trace/rundir"
)

const (
	// lookEvery is the time between two looks for ranks and for the meeting, before there is a collector.
	lookEvery = 10 * time.Millisecond
	// nobodyAfter is how long an agent runs to which no rank has connected: MPI did not start.
	nobodyAfter = time.Second
	minPatience = 30 * time.Second
	// preloadIdle is how long the ranks of a node must be gone, or through with MPI, before the node is done. Ranks that
	// are about to record are seen, so this need not bridge their start.
	preloadIdle = 200 * time.Millisecond
	// preloadGrace is how long processes are waited for when the run was ordered to end.
	preloadGrace = 2 * time.Second
)

// SummaryFile and LogFile are what a run without a terminal leaves in its run directory beside the results: what
// `moriens run` prints, and what went wrong, if anything did.
const (
	SummaryFile = "summary.txt"
	LogFile     = "moriens.log"
)

// A PreloadConfig says which node's ranks an agent looks after that they have started themselves.
type PreloadConfig struct {
	Run     string
	Shm     string        // where the rings' directory is
	Rings   string        // its name; empty: the usual one
	Near    string        // working directory of the ranks
	Dir     string        // run directory; empty: a new one in Near, named after the job, or the time
	Job     string        // the batch system's name for the job; empty: there is none
	Alone   bool          // the job has no other node
	Timeout time.Duration // how long the ranks wait for their results
	Agent   string        // names this node's agent among those of the run, over its restarts
	Quiet   bool          // say nothing to the user unless it is a trouble
	Words   io.Writer     // messages for the user
	Spool   Spool
	Options grouping.Options
	Cells   *Cells   // bursts are kept on their nodes, as micro-cells; nil = they are sent
	Given   []string // options of the command line that the results depend on, for a collector that resumes the run: --name=value
	Keep    Keep
	Program rundir.Program
	Log     *slog.Logger
}

// A preload is the agent of a node under a plain preload.
type preload struct {
	PreloadConfig
	folder    string // in which the run directory is made
	directory string // of the rings
}

// Preload looks after the ranks of this node until they are through with MPI. The agent that serves world rank 0 hosts
// the collector too, and writes the results.
func Preload(c PreloadConfig) error {
	// Batch systems warn a whole job of its time limit by these.
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	p := newPreload(c)
	sweep(c.Shm, c.Spool.Dir, c.Log)
	m, err := p.meet(signals)
	switch {
	case errors.Is(err, errNobody):
		return nil
	case err == nil && m.Host == c.Agent:
		return p.host(signals, m.Dir)
	case err == nil:
		return p.join(signals, m.Dir)
	}
	return err
}

func newPreload(c PreloadConfig) *preload {
	p := &preload{PreloadConfig: c, folder: c.Near, directory: ring.DirectoryIn(c.Shm, c.Rings, os.Getuid(), c.Run)}
	if c.Dir != "" {
		if !filepath.IsAbs(c.Dir) {
			p.Dir = filepath.Join(c.Near, c.Dir)
		}
		p.folder = filepath.Dir(p.Dir)
	}
	return p
}

// Bereave is what the parent of an agent does that is not started again: where there is a collector it reports the
// node's ranks, and why they go unrecorded. It returns why, with what else went wrong.
func Bereave(c PreloadConfig, why error) error {
	p := newPreload(c)
	m, err := readMeeting(p.folder, p.Run)
	switch {
	case err != nil:
		return why // no process has begun to collect
	case m.Host == p.Agent:
		return hint.With(fmt.Errorf("%w; there are no results", why), "`moriens collect --out "+m.Dir+"` makes results of the data received")
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	witness, err := p.witness(find(m.Dir), false, why)
	if err != nil {
		return errors.Join(why, err)
	}
	go func() {
		<-signals
		witness.JobOver()
	}()
	return errors.Join(why, witness.Run(context.Background()))
}

var errNobody = errors.New("no rank has connected")

// meet finds out which agent hosts the collector, and makes it this one where it serves world rank 0 and is the first
// that does.
func (p *preload) meet(signals <-chan os.Signal) (meeting, error) {
	ranks := watched{directory: ring.NewDirectory(p.directory)}
	defer ranks.close()
	lastSeen := time.Now()
	for {
		m, err := readMeeting(p.folder, p.Run)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return m, noRunDir(err)
		}
		if err := ranks.look(); err != nil {
			return m, err
		}
		if ranks.first {
			m, err := p.invite()
			if !errors.Is(err, fs.ErrExist) {
				return m, err
			}
			continue
		}
		if ranks.live() {
			lastSeen = time.Now()
		}
		switch gone := time.Since(lastSeen); {
		case !ranks.started() && gone > nobodyAfter && ranks.unread != nil:
			return m, hint.With(fmt.Errorf("what ranks recorded cannot be read: %w", ranks.unread), "the library and the moriens program must have the same version; set MORIENS_BIN to the program")
		case !ranks.started() && gone > nobodyAfter:
			if retired, err := ranks.retire(); retired || err != nil {
				return m, cmp.Or(err, errNobody)
			}
		case gone > p.patience() || len(signals) > 0:
			return m, hint.With(fmt.Errorf("no agent of world rank 0 has written to %s", p.folder),
				"the ranks' working directory, or the parent directory of MORIENS_DIR, must be shared by all nodes; is the library loaded in rank 0?")
		}
		time.Sleep(lookEvery)
	}
}

// noRunDir says what to do about a folder that cannot hold a run directory, or a meeting.
func noRunDir(err error) error {
	advice := "set MORIENS_DIR to a path on a file system that all nodes share"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = "free space there, or set MORIENS_DIR to a path on another file system that all nodes share"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		advice = "set MORIENS_DIR to a path in a writable directory that all nodes share"
	}
	return hint.With(fmt.Errorf("no run directory: %w", err), advice)
}

// watched are the ranks of a node before there is an agent.Node.
type watched struct {
	directory *ring.Directory
	processes []*ring.Process
	starting  int
	faulted   bool  // one cannot record
	first     bool  // one of them is a world's rank 0, even if it cannot record
	unread    error // why a file of one of them cannot be read: the node reports it, if there will be one
}

func (w *watched) look() error {
	found, err := w.directory.Scan()
	if err != nil {
		return err
	}
	w.starting = found.Starting
	for _, fault := range found.Faults {
		w.faulted = true
		w.first = w.first || fault.Rank == 0
	}
	for _, path := range found.Processes {
		process, err := ring.OpenProcess(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // else it has ended well
				w.unread = err
			}
			continue
		}
		w.processes = append(w.processes, process)
		w.first = w.first || process.Rank == 0
	}
	return nil
}

// started reports whether a rank has connected, even one that cannot record: the results have to mention it.
func (w *watched) started() bool { return len(w.processes) > 0 || w.faulted }

// retire gives the ranks up, and reports whether that holds: none has connected at the last moment.
func (w *watched) retire() (bool, error) {
	return w.directory.Retire(func() (bool, error) {
		err := w.look()
		return w.started() || w.starting > 0 || w.unread != nil, err
	})
}

// live reports whether a rank is about to record, or does.
func (w *watched) live() bool {
	for _, process := range w.processes {
		if alive, err := process.Alive(); alive && err == nil && !process.Over() {
			return true
		}
	}
	return w.starting > 0
}

func (w *watched) close() {
	for _, process := range w.processes {
		process.Close()
	}
}

// invite makes the run directory and says where it is; fs.ErrExist where another agent has done so.
func (p *preload) invite() (meeting, error) {
	dir, err := p.makeDir()
	if err != nil {
		return meeting{}, noRunDir(err)
	}
	m := meeting{Run: p.Run, Host: p.Agent, Dir: dir}
	err = writeMeeting(p.folder, m)
	if err != nil {
		os.Remove(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = noRunDir(err)
	}
	return m, err
}

// makeDir makes a run directory that no other run has.
func (p *preload) makeDir() (string, error) {
	dir := p.Dir
	if dir == "" {
		dir = filepath.Join(p.Near, "moriens-"+cmp.Or(p.Job, time.Now().Format("20060102-150405")))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	for n, try := 2, dir; ; n++ {
		err := os.Mkdir(try, 0o777)
		if errors.Is(err, fs.ErrExist) && n == 2 {
			entries, readErr := os.ReadDir(try)
			// A default name can be guessed, where the folder is open to others.
			if readErr == nil && len(entries) == 0 && (p.Dir != "" || ownedByUs(try)) {
				return try, nil
			}
		}
		if !errors.Is(err, fs.ErrExist) {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", dir, n)
	}
}

// ownedByUs reports whether this user has made a directory, which no link leads to.
func ownedByUs(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid())
}

// host runs the collector and this node's agent, and writes the results.
func (p *preload) host(signals <-chan os.Signal, dir string) error {
	defer p.logTo(filepath.Join(dir, LogFile))()
	col, err := collector.Start(collector.Config{
		Journal: filepath.Join(dir, rundir.JournalDir), Run: p.Run, Listen: p.listen(), Command: rendezvous.CommandPreload,
		Version: p.Program.Version, Options: p.Options, Cells: p.Cells.spec(p.Options), Given: p.Given, Linger: p.Keep.linger(), Log: p.Log,
	})
	if err != nil {
		if !errors.Is(err, journal.ErrInUse) { // of which agents of other nodes would wait
			err = errors.Join(err, removeMeeting(p.folder, p.Run))
		}
		return hint.With(err, startAdvice(err, dir, "--listen and --http"))
	}
	by, served, notice, agentErr := p.attend(col, signals, dir)
	var summary bytes.Buffer
	to := output{&summary, p.Words, ShowSummary}
	if agentErr != nil && col.Journal().Store().Totals().Processes == 0 {
		to.troubles = io.Discard // that there is no data is the agent's fault, which is reported below
	}
	end := conclusion{
		collector: col, by: by, out: dir, options: p.Options, cells: p.Cells, log: p.Log, keep: p.Keep, to: to,
		job: func() conclude.Job {
			job := jobOf(col.Journal(), by, p.Program)
			if agentErr != nil {
				job.Notes = append(job.Notes, fmt.Sprintf("the agent beside the collector failed: %v", agentErr))
			}
			return job
		},
	}
	results, err := end.conclude()
	if served != nil {
		agentErr = errors.Join(agentErr, <-served)
	}
	if results != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(results, SummaryFile), summary.Bytes(), 0o666))
	}
	if results == dir && !p.Spool.Keep {
		err = errors.Join(err, col.Discard())
	}
	if notice != nil {
		err = errors.Join(err, notice.Remove())
	} else { // that of a collector which was killed, perhaps
		err = errors.Join(err, rendezvous.Remove(dir))
	}
	err = errors.Join(agentErr, err, removeMeeting(p.folder, p.Run))
	col.Close(outcome(results, err))
	if err == nil && !p.Quiet {
		fmt.Fprintf(p.Words, "moriens: results in %s\n", dir)
	}
	return err
}

// attend looks after this node's ranks, and takes what other agents send, until all are done or something ends the run
// early, and returns what did. This node's agent then keeps running for requests. served shows when it has ended; nil
// where it has by now. notice is how others find the collector, nil where they need not.
func (p *preload) attend(col *collector.Collector, signals <-chan os.Signal, dir string) (by string, served chan error, notice *rendezvous.Notice, err error) {
	notice, unable := rendezvous.Post(dir, col.Rendezvous(), p.Log)
	if col.Resumed() && (errors.Is(unable, syscall.ENOSPC) || errors.Is(unable, syscall.EDQUOT)) {
		// There is a run to resume, and this node's agent needs no file to find the collector.
		p.Log.Error("agents of other nodes do not find the collector yet", "error", unable)
		notice, unable = rendezvous.PostLater(dir, col.Rendezvous(), p.Log), nil
	}
	node, err := p.agent(uplink.At(col.Rendezvous()), dir, true, unable)
	if node == nil {
		return "", nil, notice, err
	}
	served = make(chan error, 1)
	if col.Over() { // the agent may be asked for windows yet, and has a spool to take away, unless that was done before it died
		go func() {
			err := node.Run(context.Background())
			if errors.Is(err, uplink.ErrOver) {
				err = nil
			}
			served <- err
		}()
		return "", served, notice, err
	}
	expecting, nobody := context.WithCancel(context.Background())
	defer nobody()
	go func() {
		served <- node.Run(context.Background())
		if p.Alone { // there is no other agent, and this one does not return
			nobody()
		}
	}()
	by = awaitEnd(expecting, col, signals)
	if by == "" && p.lateComers(col, signals) {
		by = awaitEnd(expecting, col, signals)
	}
	if by != "" {
		node.JobOver() // should the order not reach it
	}
	select {
	case ended := <-served:
		return by, nil, notice, errors.Join(err, ended)
	default:
		return by, served, notice, err
	}
}

// lateComers waits for the agents of nodes whose ranks are missing when all connected ones are done, for half of the
// timeout, and reports whether there is more to wait for.
func (p *preload) lateComers(col *collector.Collector, signals <-chan os.Signal) bool {
	deadline := time.Now().Add(p.patience() / 2)
	for !p.Alone && col.RanksMissing() > 0 && time.Now().Before(deadline) && len(signals) == 0 {
		select {
		case <-col.Finishing():
			return true
		case <-time.After(lookEvery):
		}
	}
	return !p.Alone
}

// patience is how long agents wait for each other: as long as the ranks wait for them, and not much less than a shared
// file system takes to show what another node has written.
func (p *preload) patience() time.Duration { return max(p.Timeout, minPatience) }

// listen is where agents find the collector: those of this node alone, or all.
func (p *preload) listen() string {
	if p.Alone {
		return "127.0.0.1:0"
	}
	return ":0"
}

// join sends what this node's ranks record to the collector of another.
func (p *preload) join(signals <-chan os.Signal, dir string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	defer p.logTo(filepath.Join(dir, "moriens-"+host+".log"))()
	node, err := p.agent(find(dir), dir, false, nil)
	if node == nil {
		return err
	}
	go func() {
		<-signals
		node.JobOver()
	}()
	return errors.Join(err, node.Run(context.Background()))
}

// A looker looks after the ranks of this node: its agent, or its stand-in where that cannot work.
type looker interface {
	Run(ctx context.Context) error
	JobOver()
}

// agent is this node's agent, unless it is unable to work, for that reason or one that is found. Then it is a witness
// that reports the ranks, and there is an error too; it is nil where another agent is here.
func (p *preload) agent(find uplink.Find, dir string, shared bool, unable error) (looker, error) {
	if unable == nil {
		node, err := p.node(find, dir, shared)
		if err == nil {
			return node, nil
		}
		unable = err
	}
	witness, err := p.witness(find, shared, unable)
	if err != nil {
		p.Log.Error("no agent reports this node's ranks to the collector", "error", err)
		return nil, unable
	}
	return witness, unable
}

// witness reports to a collector, in the same process or not, which ranks of this node go unrecorded.
func (p *preload) witness(find uplink.Find, shared bool, why error) (*agent.Witness, error) {
	kept, err := p.Cells.keep(p.Options, p.Log)
	if err != nil {
		return nil, err
	}
	return agent.NewWitness(agent.WitnessConfig{
		Run: p.Run, Shm: p.Shm, Rings: p.Rings, Find: find, Reason: noAgent(why), Cells: kept, Idle: preloadIdle, Grace: p.patience() / 2,
		Shared: shared, Version: p.Program.Version, Log: p.Log,
	})
}

// node is this node's agent.
func (p *preload) node(find uplink.Find, dir string, shared bool) (*agent.Node, error) {
	kept, err := p.Cells.keep(p.Options, p.Log)
	if err != nil {
		return nil, err
	}
	config := agent.Config{
		Run: p.Run, Cells: kept, Shm: p.Shm, Rings: p.Rings, Find: find, Spool: p.Spool.Dir, SpoolMax: p.Spool.Max, RunDir: dir, KeepWork: p.Spool.Keep, Shared: shared,
		Idle: preloadIdle, Grace: preloadGrace, Started: true, Version: p.Program.Version, Log: p.Log,
	}
	if !shared || p.Alone { // the collector of other nodes' agents minds it
		config.Procs = runtime.GOMAXPROCS
	}
	node, err := agent.New(config)
	if err != nil {
		return nil, spoolHint(err)
	}
	return node, nil
}

// logTo makes a file what this process says on standard error, a crash included, and returns what removes it again if
// that was nothing.
func (p *preload) logTo(path string) (end func()) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return func() {}
	}
	defer f.Close()
	if unix.Dup3(int(f.Fd()), int(os.Stderr.Fd()), 0) != nil {
		return func() {}
	}
	return func() {
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			os.Remove(path)
		}
	}
}
