// Package collector is the one place of a run where the agents' bursts come together: it listens for
// agents, holds what they send, keeps provisional clusters while the job runs, and hands over
// everything when the run is over. One that is killed goes on where it was when it is started again.
//
// A burst comes in by ingest, is held by store, is safe on disk by journal before its agent hears of it, is clustered by live, and
// leaves through moriens, the end of the run.
package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"moriens/analysis/partition"
	"moriens/collector/gate"
	"moriens/collector/health"
	"moriens/collector/ingest"
	"moriens/collector/journal"
	"moriens/collector/live"
	"moriens/collector/store"
	"moriens/collector/web"
	"moriens/collector/windows"
	"moriens/internal/rendezvous"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// Config says what to collect.
type Config struct {
	Journal  string            // directory; where it holds a run that has not been concluded, this is the collector of that
	Run      string            // MORIENS_RUN of the job, where it does not
	Launcher []string          // command line of the job's launcher, likewise; empty where the job is started elsewhere
	Listen   string            // host:port, or unix:PATH
	Web      string            // host:port of the page for browsers and Prometheus; empty = none
	Agents   int               // that are known to come; 0 = not known how many
	Command  string            // of moriens, for the rendezvous
	Version  string            // of moriens
	Options  partition.Options // of the provisional clusters
	Log      *slog.Logger
	Clocks   ticks.Clocks // nil = the machine's
	// Grace is how long an agent whose stream broke may take to come back; 0 = 60 s. It tries every two seconds.
	Grace time.Duration
}

const (
	defaultGrace = 60 * time.Second
	// returnGrace is how long a collector that was started again waits even if all the agents that it knows of are done: their last
	// acknowledgement may not have reached them, and those of other nodes may be on their way.
	returnGrace = 5 * time.Second
	// safeGrace is how long what came last may take to become safe when the run ends. A disk that is full for longer is no
	// reason to give the results up: they are made of what is in memory.
	safeGrace = 10 * time.Second
)

// A Collector takes the streams of a run's agents from Start to Stop.
type Collector struct {
	meet    rendezvous.Rendezvous
	version string
	started time.Time
	grace   time.Duration
	agents  int // that are known to come
	journal *journal.Journal
	store   *store.Store
	desk    *windows.Desk
	live    *live.Live
	gate    *gate.Gate
	server  *grpc.Server
	web     *web.Server // nil where there is none
	clock   *clock
	log     *slog.Logger
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	end     *ending

	rateMu sync.Mutex
	rate   health.Rate // of bursts
}

// Start opens the journal and begins to listen.
func Start(config Config) (*Collector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	j, err := journal.Open(config.Journal, journal.Run{Run: config.Run, Command: config.Launcher, Version: config.Version}, config.Log)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		meet:    rendezvous.Rendezvous{Run: j.Begin().Run, Token: j.Begin().Token, Host: host, Command: config.Command},
		version: config.Version,
		started: time.Now(),
		grace:   cmp.Or(config.Grace, defaultGrace),
		agents:  config.Agents,
		journal: j,
		store:   j.Store(),
		live:    live.New(j.Store(), config.Options, config.Log),
		desk:    windows.New(),
		clock:   newClock(config.Clocks),
		log:     config.Log,
		end:     newEnding(),
	}
	c.gate = gate.New(c.store.Refuse, config.Log)
	if err := c.listen(config, host); err != nil {
		if j.Resumed() {
			return nil, errors.Join(err, j.Close())
		}
		return nil, errors.Join(err, j.Remove()) // nobody knows of the run
	}
	return c, nil
}

func (c *Collector) listen(config Config, host string) error {
	certificate := rendezvous.Certificate{DER: c.journal.Begin().Certificate, Key: c.journal.Begin().Key}
	tls, err := certificate.ServerTLS()
	if err != nil {
		return err
	}
	secured := rendezvous.PeerCredentials()
	network, address := "tcp", config.Listen
	if path, unix := strings.CutPrefix(config.Listen, "unix:"); unix {
		network, address = "unix", path
	} else {
		secured = credentials.NewTLS(tls)
		c.meet.Fingerprint = certificate.Fingerprint()
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("collector at %s: %w", config.Listen, err)
	}
	c.meet.Address = reachable(listener.Addr(), host)
	if config.Web != "" {
		c.meet.PageToken = rendezvous.NewSecret(32)
		c.web, err = web.Start(web.Config{
			Listen: config.Web, Token: c.meet.PageToken, TLS: tls, Gate: c.gate, Page: c.Page, Log: config.Log,
		})
		if err != nil {
			listener.Close()
			return err
		}
		c.meet.Page = c.web.URL(reachable(c.web.Addr(), host))
	}
	sample := c.clock.sample(c.log)
	c.clock.number, c.clock.known = c.journal.Start(sample), sample != nil
	c.server = grpc.NewServer(append(ingest.Options(), c.gate.ServerOptions(c.meet, secured)...)...)
	ingest.Register(c.server, c.journal, c.desk, c.clock.now, c.gate, c.end.ordered, config.Log)
	moriensv1.RegisterControlServiceServer(c.server, control{collector: c})

	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.tasks.Go(func() {
		if err := c.server.Serve(c.gate.Listen(listener)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			config.Log.Error("the collector stopped listening", "error", err)
		}
	})
	c.tasks.Go(func() { c.live.Run(ctx) })
	c.tasks.Go(func() { c.measure(ctx) })
	return nil
}

// reachable is the address under which others find a listener of this host: one that listens on all of the host's
// addresses is found by the host's name.
func reachable(a net.Addr, host string) string {
	tcp, isTCP := a.(*net.TCPAddr)
	switch {
	case !isTCP:
		return "unix:" + a.String()
	case !tcp.IP.IsUnspecified():
		return a.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// Rendezvous returns what an agent needs to find and to trust this collector.
func (c *Collector) Rendezvous() rendezvous.Rendezvous { return c.meet }

// Windows asks the agents about the windows of full detail that they keep.
func (c *Collector) Windows() *windows.Desk { return c.desk }

// Progress returns what can be said of the run so far.
func (c *Collector) Progress() live.Progress { return c.live.Progress() }

// Journal is what the collector keeps on disk.
func (c *Collector) Journal() *journal.Journal { return c.journal }

// Over says whether the run had ended when an earlier collector of it was killed: nothing is taken any more.
func (c *Collector) Over() bool { return c.journal.End() != nil }

// WaitFinished waits, after Finish, until all agents that have come, or are known to come, and are not lost are done, or ctx ends.
func (c *Collector) WaitFinished(ctx context.Context) error { return c.wait(ctx, c.idle) }

// WaitAgents waits until at least one agent has come, or as many as are known to come, and all that came are done or lost, or ctx ends. All that they sent is safe then.
func (c *Collector) WaitAgents(ctx context.Context) error { return c.wait(ctx, c.alone) }

// idle says whether no agent is expected to send, all that are known to come having come, and all that they sent is safe.
func (c *Collector) idle() bool {
	return c.store.Totals().Agents >= c.agents && c.store.Expected(c.grace) == 0 && !c.journal.Waiting()
}

// alone says whether no agent is to be waited for.
func (c *Collector) alone() bool {
	if c.Over() {
		return true
	}
	if !c.idle() {
		return false
	}
	if !c.journal.Resumed() {
		return c.store.Totals().Agents > 0
	}
	// Where the agent was in the process that was killed, none may ever come.
	lost := len(c.journal.Begin().Command) > 0 && time.Since(c.started) > c.grace
	return (c.store.Totals().Agents > 0 || lost) && time.Since(c.started) > min(returnGrace, c.grace)
}

func (c *Collector) wait(ctx context.Context, over func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !over() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// RanksMissing is how many ranks of the largest world have not come, as far as their number tells.
func (c *Collector) RanksMissing() int { return c.store.RanksMissing() }

// Freeze ends the taking and returns all that came: what agents send from now on is refused, and not part of the run. by is what ended
// the run before its ranks did, empty where nothing did. Who asks is told how the run is until Close.
func (c *Collector) Freeze(by string) store.Frozen {
	c.end.analysing()
	c.stop()
	ctx, cancel := context.WithTimeout(context.Background(), safeGrace)
	defer cancel()
	frozen, err := c.journal.Finish(ctx, c.clock.sample(c.log), by)
	if err != nil {
		c.log.Error("the journal lacks what came last; the results do not", "error", err)
	}
	return frozen
}

// Discard removes the journal, between Freeze and Close: the results are written, or nobody wants them.
func (c *Collector) Discard() error { return c.journal.Remove() }

// Close tells those who wait how the run has ended, stops listening, and leaves the journal, if it is there. Without Freeze before it
// leaves the run as well, for another collector to go on with.
func (c *Collector) Close(outcome Outcome) {
	c.stop()
	c.end.conclude(outcome)
	c.gate.Close()
	if c.web != nil {
		c.web.Close()
	}
	c.server.Stop()
	c.tasks.Wait()
	if err := c.journal.Close(); err != nil {
		c.log.Error("the journal", "error", err)
	}
	for cause, n := range c.gate.Refused() {
		c.log.Warn("turned away", "cause", cause, "times", n)
	}
}

// Stop ends a run of which nobody waits for an outcome, and returns all that came.
func (c *Collector) Stop() store.Frozen {
	defer c.Close(Outcome{})
	return c.Freeze("")
}
