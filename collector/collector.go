// Package collector is the one place of a run where the agents' bursts come together: it listens for
// agents, holds what they send, keeps provisional clusters while the job runs, and hands over
// everything when the run is over.
//
// A burst comes in by ingest, is held by store, is clustered by live, and leaves through moriens, the
// end of the run.
package collector

import (
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
	"moriens/collector/live"
	"moriens/collector/store"
	"moriens/collector/web"
	"moriens/internal/rendezvous"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// Config says what to collect.
type Config struct {
	Run     string            // MORIENS_RUN of the job
	Listen  string            // host:port, or unix:PATH
	Web     string            // host:port of the page for browsers and Prometheus; empty = none
	Command string            // of moriens, for the rendezvous
	Version string            // of moriens
	Options partition.Options // of the provisional clusters
	Log     *slog.Logger
	Clocks  ticks.Clocks // nil = the machine's
}

// A Collector takes the streams of a run's agents from Start to Stop.
type Collector struct {
	meet    rendezvous.Rendezvous
	version string
	started time.Time
	store   *store.Store
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

// Start begins to listen.
func Start(config Config) (*Collector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	c := &Collector{
		meet:    rendezvous.Rendezvous{Run: config.Run, Token: rendezvous.NewSecret(32), Host: host, Command: config.Command},
		version: config.Version,
		started: time.Now(),
		store:   store.New(),
		clock:   newClock(config.Clocks, config.Log),
		log:     config.Log,
		end:     newEnding(),
	}
	c.gate = gate.New(c.store.Refuse, config.Log)
	certificate, err := rendezvous.NewCertificate()
	if err != nil {
		return nil, err
	}
	tls, err := certificate.ServerTLS()
	if err != nil {
		return nil, err
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
		return nil, fmt.Errorf("collector at %s: %w", config.Listen, err)
	}
	c.meet.Address = reachable(listener.Addr(), host)
	c.live = live.New(c.store, config.Options, config.Log)
	if config.Web != "" {
		c.meet.PageToken = rendezvous.NewSecret(32)
		c.web, err = web.Start(web.Config{
			Listen: config.Web, Token: c.meet.PageToken, TLS: tls, Gate: c.gate, Page: c.Page, Log: config.Log,
		})
		if err != nil {
			listener.Close()
			return nil, err
		}
		c.meet.Page = c.web.URL(reachable(c.web.Addr(), host))
	}
	c.server = grpc.NewServer(append(ingest.Options(), c.gate.ServerOptions(c.meet, secured)...)...)
	ingest.Register(c.server, c.meet.Run, c.store, c.clock.now, c.gate, c.end.ordered, config.Log)
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
	return c, nil
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

// Progress returns what can be said of the run so far.
func (c *Collector) Progress() live.Progress { return c.live.Progress() }

// agentGrace is how long an agent whose stream broke may take to come back; it tries every two seconds.
const agentGrace = 60 * time.Second

// WaitFinished waits, after Finish, until all agents that have come and are not lost are done, or ctx ends.
func (c *Collector) WaitFinished(ctx context.Context) error {
	return c.wait(ctx, func() bool { return c.store.Expected(agentGrace) == 0 })
}

// WaitAgents waits until at least one agent has come and all that came are done or lost, or ctx ends.
func (c *Collector) WaitAgents(ctx context.Context) error {
	return c.wait(ctx, func() bool { return c.store.Totals().Agents > 0 && c.store.Expected(agentGrace) == 0 })
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

// Freeze ends the taking and returns all that came: what agents send from now on is refused, and not part of the run.
// Who asks is told how the run is until Close.
func (c *Collector) Freeze() store.Frozen {
	c.end.enter(health.Analysing)
	c.stop()
	frozen := c.store.Freeze()
	c.clock.sample(c.log)
	frozen.Clock = c.clock.frozen()
	return frozen
}

// Close tells those who wait how the run has ended, and stops listening.
func (c *Collector) Close(outcome Outcome) {
	c.end.conclude(outcome)
	c.gate.Close()
	if c.web != nil {
		c.web.Close()
	}
	c.server.Stop()
	c.tasks.Wait()
	for cause, n := range c.gate.Refused() {
		c.log.Warn("turned away", "cause", cause, "times", n)
	}
}

// Stop ends a run of which nobody waits for an outcome, and returns all that came.
func (c *Collector) Stop() store.Frozen {
	defer c.Close(Outcome{})
	return c.Freeze()
}
