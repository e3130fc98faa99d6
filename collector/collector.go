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

	"moriens/analysis/partition"
	"moriens/collector/ingest"
	"moriens/collector/live"
	"moriens/collector/store"
	"moriens/internal/rendezvous"
	"moriens/internal/ticks"
)

// Config says what to collect.
type Config struct {
	Run     string            // MORIENS_RUN of the job
	Listen  string            // host:port, or unix:PATH
	Options partition.Options // of the provisional clusters
	Log     *slog.Logger
	Clocks  ticks.Clocks // nil = the machine's
}

// A Collector takes the streams of a run's agents from Start to Stop.
type Collector struct {
	meet   rendezvous.Rendezvous
	store  *store.Store
	live   *live.Live
	server *grpc.Server
	clock  *clock
	log    *slog.Logger
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// Start begins to listen.
func Start(config Config) (*Collector, error) {
	c := &Collector{
		meet:  rendezvous.Rendezvous{Run: config.Run, Token: rendezvous.NewSecret(32)},
		store: store.New(),
		clock: newClock(config.Clocks, config.Log),
		log:   config.Log,
	}
	options := ingest.Options()
	network, address := "tcp", config.Listen
	if path, unix := strings.CutPrefix(config.Listen, "unix:"); unix {
		network, address = "unix", path
	} else {
		credentials, fingerprint, err := rendezvous.ServerTLS()
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.Creds(credentials))
		c.meet.Fingerprint = fingerprint
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("collector at %s: %w", config.Listen, err)
	}
	if c.meet.Address, err = reachable(listener.Addr()); err != nil {
		listener.Close()
		return nil, err
	}
	c.server = grpc.NewServer(options...)
	ingest.Register(c.server, c.meet, c.store, c.clock.now, config.Log)
	c.live = live.New(c.store, config.Options, config.Log)

	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.tasks.Go(func() {
		if err := c.server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			config.Log.Error("the collector stopped listening", "error", err)
		}
	})
	c.tasks.Go(func() { c.live.Run(ctx) })
	return c, nil
}

// reachable is the address under which agents find a listener: one that listens on all of the host's
// addresses is found by the host's name.
func reachable(a net.Addr) (string, error) {
	tcp, isTCP := a.(*net.TCPAddr)
	switch {
	case !isTCP:
		return "unix:" + a.String(), nil
	case !tcp.IP.IsUnspecified():
		return a.String(), nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("collector: %w", err)
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port)), nil
}

// Rendezvous returns what an agent needs to find and to trust this collector.
func (c *Collector) Rendezvous() rendezvous.Rendezvous { return c.meet }

// Progress returns what can be said of the run so far.
func (c *Collector) Progress() live.Progress { return c.live.Progress() }

// agentGrace is how long an agent whose stream broke may take to come back; it tries every two seconds.
const agentGrace = 60 * time.Second

// WaitAgents waits until at least one agent has come and all that came are done or lost, or ctx ends.
func (c *Collector) WaitAgents(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c.store.Totals().Agents > 0 && c.store.Expected(agentGrace) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Stop ends the run and returns all that came. Streams that are still open are cut: what they have not
// had acknowledged is not part of the run.
func (c *Collector) Stop() store.Frozen {
	c.stop()
	frozen := c.store.Freeze()
	c.server.Stop()
	c.tasks.Wait()
	c.clock.sample(c.log)
	frozen.Clock = c.clock.frozen()
	return frozen
}
