// Package collector is the one place of a run where the agents' bursts come together: it listens for agents, holds what
// they send, keeps provisional clusters while the job runs, and hands over everything when the run is over. A collector
// that was killed resumes where it was when it is restarted.
//
// A burst arrives through ingest, is held by store, is written to disk by journal before its agent gets the
// acknowledgement, is clustered by live, and leaves through package conclude, the end of the run.
package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"moriens/analysis/grouping"
	"moriens/collector/admission"
	"moriens/collector/health"
	"moriens/collector/ingest"
	"moriens/collector/journal"
	"moriens/collector/live"
	"moriens/collector/pin"
	"moriens/collector/store"
	"moriens/collector/web"
	"moriens/collector/windows"
	"moriens/internal/rendezvous"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/internal/ticks"
	moriensv1 "moriens/proto/moriens/v1"
)

// Config says what to collect.
type Config struct {
	// Team is the collectors of the run, each of which is started with the same Config; nil: this is the only one. Start,
	// Join, Freeze and Discard are collective then.
	Team     team.Team
	Journal  string           // directory; where it holds a run that has not been concluded, this is the collector of that
	Run      string           // MORIENS_RUN of the job, where it does not
	Launcher []string         // command line of the job's launcher, likewise; empty where the job is started elsewhere
	Listen   string           // host:port, or unix:PATH, or unix:@NAME
	Web      string           // host:port of the page for browsers and Prometheus; empty = none
	Agents   int              // that are expected; 0 = not known how many
	Command  string           // of moriens, for the rendezvous
	Version  string           // of moriens
	Options  grouping.Options // of the provisional clusters
	// Cells says how the run's agents keep their bursts as micro-cells, as in Hello; empty: they send them. Agents that do
	// otherwise are refused.
	Cells  string
	Given  []string // options of the command line, for a collector that resumes the run: --name=value
	Log    *slog.Logger
	Notify func(text, advice string) // the user, while the job runs; nil = no user
	Clocks ticks.Clocks              // nil = the machine's
	// Grace is how long an agent whose stream broke may take to reconnect; 0 = 60 s. It tries every two seconds.
	Grace time.Duration
	// Linger is how long an agent that is done waits for Windows, unless Release comes earlier; 0 = not at all.
	Linger time.Duration
}

const (
	defaultGrace = 60 * time.Second
	// returnGrace is how long a collector that was started again waits even if all the agents that it knows of are done:
	// their last acknowledgement may not have reached them, and those of other nodes may be on their way.
	returnGrace = 5 * time.Second
	// safeGrace is how long the last messages may take to become safe when the run ends. A disk that is full for longer is
	// no reason to give the results up: they are made of what is in memory.
	safeGrace = 10 * time.Second
	// releaseGrace is how long agents may take to leave when they are let go.
	releaseGrace = 2 * time.Second
)

// A Collector takes the streams of a run's agents from Start to Close.
type Collector struct {
	meet      rendezvous.Rendezvous
	version   string
	started   time.Time
	grace     time.Duration
	agents    int // that are expected
	journal   *journal.Journal
	store     *store.Store
	requester *windows.Requester
	live      *live.Live
	pins      *pin.Pins // nil: there are none
	admission *admission.Control
	server    *grpc.Server
	web       *web.Server // nil where there is none
	peers     *peers      // nil where this is the only collector of the run
	resumed   bool        // the run began in an earlier process
	clock     *clock
	gauge     *gauge
	cells     string    // as in Config
	surveyor  *surveyor // nil where bursts are sent
	notify    func(text, advice string)
	log       *slog.Logger
	taking    context.Context // ends when nothing more is taken
	stop      context.CancelFunc
	tasks     sync.WaitGroup
	end       *ending

	stages atomic.Pointer[stage.Stages] // of the end of the run; nil until it begins

	released    chan struct{} // closed when agents that are done may go
	releaseOnce sync.Once

	stirs stirs

	rateMu sync.Mutex
	rate   health.Rate // of bursts
}

// Start opens the journal and begins to listen.
func Start(config Config) (*Collector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	t := config.Team
	if t == nil {
		t = team.Solo{}
	}
	if config.Cells != "" && t.Size() > 1 {
		return nil, errSeveral
	}
	j, common, err := openJournals(t, config)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		meet:      rendezvous.Rendezvous{Run: j.Begin().Run, Token: j.Begin().Token, Host: host, Command: config.Command, Cells: config.Cells},
		version:   config.Version,
		started:   time.Now(),
		grace:     cmp.Or(config.Grace, defaultGrace),
		agents:    config.Agents,
		journal:   j,
		store:     j.Store(),
		live:      live.New(j.Store(), config.Options, config.Log),
		requester: windows.New(),
		clock:     newClock(config.Clocks),
		gauge:     newGauge(j.Store(), time.Now),
		cells:     config.Cells,
		notify:    config.Notify,
		log:       config.Log,
		end:       newEnding(),
		resumed:   common.Resumed,

		released: make(chan struct{}),
	}
	if t.Size() > 1 {
		c.live.Among(t.Rank(), t.Size())
		c.peers = newPeers(t, c.live, common.Start)
	}
	if config.Cells != "" {
		c.surveyor = newSurveyor(c)
	}
	c.admission = admission.New(c.store.Refuse, config.Log)
	if err := c.open(t, config, host); err != nil {
		return nil, err
	}
	return c, nil
}

// open has all collectors of a run listen, or none.
func (c *Collector) open(t team.Team, config Config, host string) error {
	err := c.listen(config, host)
	listening := err == nil
	err = team.Agree(t, err)
	if err == nil && c.peers != nil {
		err = c.assemble()
	}
	if err == nil {
		return nil
	}
	if listening {
		c.silence()
	}
	if c.resumed {
		return errors.Join(err, c.journal.Close())
	}
	return errors.Join(err, c.Discard()) // no agent knows of the run
}

// assemble informs the first collector of the addresses of the others, and of the agents that have connected before.
func (c *Collector) assemble() error {
	addresses, err := c.peers.team.AllGather([]byte(c.meet.Address))
	if err != nil {
		return err
	}
	hosts, err := c.peers.team.AllGather([]byte(c.meet.Host))
	if err != nil {
		return err
	}
	for i, a := range addresses {
		if host, _, err := net.SplitHostPort(string(a)); err == nil && net.ParseIP(host).IsLoopback() && slices.ContainsFunc(hosts, func(h []byte) bool { return string(h) != c.meet.Host }) {
			return fmt.Errorf("collector %d on %s listens on the loopback address %s, but the run has collectors on other hosts", i, hosts[i], a)
		}
		c.meet.Members = append(c.meet.Members, string(a))
	}
	ids, _ := c.store.AgentIDs(c.grace)
	return c.peers.settle(ids)
}

func (c *Collector) listen(config Config, host string) error {
	certificate := rendezvous.Certificate{DER: c.journal.Begin().Certificate, Key: c.journal.Begin().Key}
	tls, err := certificate.ServerTLS()
	if err != nil {
		return err
	}
	secured := rendezvous.PeerCredentials()
	first := c.peers == nil || c.peers.first()
	network, address := "tcp", config.Listen
	if path, unix := strings.CutPrefix(config.Listen, "unix:"); unix {
		network, address = "unix", path
	} else {
		secured = credentials.NewTLS(tls)
		c.meet.Fingerprint = certificate.Fingerprint()
	}
	if !first {
		if address, err = apart(address, c.peers.team.Rank()); err != nil {
			return err
		}
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("collector at %s: %w", address, err)
	}
	c.meet.Address = reachable(listener.Addr(), host)
	if config.Web != "" && first {
		c.meet.PageToken = rendezvous.NewSecret(32)
		c.live.Follow()
		c.web, err = web.Start(web.Config{
			Listen: config.Web, Token: c.meet.PageToken, TLS: tls, Admission: c.admission, Page: c.Page, Live: c.livePage, Stage: c.pageStage, End: c.pageEnd, Log: config.Log,
		})
		if err != nil {
			listener.Close()
			return err
		}
		c.meet.Page = c.web.URL(reachable(c.web.Addr(), host))
	}
	sample := c.clock.sample(c.log)
	c.journal.Start(sample)
	c.clock.known, c.clock.identity = sample != nil, sample.GetIdentity()
	c.server = grpc.NewServer(append(ingest.Options(), c.admission.ServerOptions(c.meet, secured)...)...)
	ctx, stop := context.WithCancel(context.Background())
	c.stop, c.taking = stop, ctx
	linger := ingest.Linger{For: config.Linger, Over: c.released}
	if config.Cells != "" {
		linger.Until = ctx.Done()
	}
	ingest.Register(c.server, ingest.Config{
		Journal: c.journal, Windows: c.requester, Clock: c.clock.now, Admission: c.admission, Finish: c.end.ordered, Linger: linger, Place: c.place(), Mode: c.mode,
		Stir: c.stirs.stir, Log: config.Log,
	})
	if first {
		moriensv1.RegisterControlServiceServer(c.server, control{collector: c})
	}

	c.tasks.Go(func() {
		if err := c.server.Serve(c.admission.Listen(listener)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			config.Log.Error("the collector stopped listening", "error", err)
		}
	})
	c.tasks.Go(func() { c.live.Run(ctx) })
	if c.surveyor != nil {
		c.tasks.Go(func() { c.surveyor.run(ctx) })
	} else if config.Linger > 0 && first {
		c.pins = pin.New(c.store, peersRequester{c}, config.Options, config.Log)
		c.tasks.Go(func() { c.pins.Run(ctx) })
	}
	c.tasks.Go(func() { c.measure(ctx) })
	c.tasks.Go(func() { c.gaugeAll(ctx) })
	if config.Notify != nil && first && !c.Over() {
		c.tasks.Go(func() { c.checkDims(ctx, config.Options, config.Notify) })
	}
	return nil
}

// checkDims warns the user, while the job can still be restarted, that its first process does not count what the
// dimensions need.
func (c *Collector) checkDims(ctx context.Context, o grouping.Options, notify func(text, advice string)) {
	select {
	case events := <-c.store.FirstEvents():
		_, notes := o.Choose(events)
		for _, note := range notes {
			notify(note+", unless later processes measure what is missing", "--events selects the events, moriens doctor lists available ones; the job continues")
		}
	case <-ctx.Done():
	}
}

// place says which agents belong to other collectors of the run; nil where there are none.
func (c *Collector) place() ingest.Place {
	if c.peers == nil {
		return nil
	}
	return func(h *moriensv1.Hello) *moriensv1.Redirect {
		if c.store.Knows(h.Agent) {
			return nil
		}
		return c.peers.place(h)
	}
}

// apart is where the collector of a rank listens: at a port of its own, for several may be on one host.
func apart(address string, rank int) (string, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("collector at %s: %w", address, err)
	}
	port, err := net.LookupPort("tcp", text)
	if err != nil {
		return "", fmt.Errorf("collector at %s: %w", address, err)
	}
	if port != 0 {
		port += rank
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
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
func (c *Collector) Windows() *windows.Requester { return c.requester }

// Progress returns what can be said of the run so far.
func (c *Collector) Progress() live.Progress { return c.live.Progress() }

// Journal is what the collector keeps on disk.
func (c *Collector) Journal() *journal.Journal { return c.journal }

// Over reports whether the run had ended when an earlier collector of it was killed: nothing is taken any more.
func (c *Collector) Over() bool { return c.journal.End() != nil }

// Resumed reports whether the run began in an earlier process.
func (c *Collector) Resumed() bool { return c.resumed }

// RanksMissing is how many ranks of the largest world have not connected, as far as their number shows.
func (c *Collector) RanksMissing() int { return c.store.RanksMissing() }

// Follow shows the stages on the page of the end of the run.
func (c *Collector) Follow(s *stage.Stages) { c.stages.Store(s) }
