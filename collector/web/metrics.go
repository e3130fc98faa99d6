package web

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"moriens/collector/health"
)

// A metric is a number of the page, by its Prometheus name.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(p *health.Page) float64
}

func gauge(name, help string, value func(p *health.Page) float64) metric {
	return metric{prometheus.NewDesc("moriens_"+name, help, nil, nil), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(p *health.Page) uint64) metric {
	return metric{prometheus.NewDesc("moriens_"+name+"_total", help, nil, nil), prometheus.CounterValue,
		func(p *health.Page) float64 { return float64(value(p)) }}
}

// whole are the metrics without labels. docs/operate.md lists them; a test compares.
var whole = []metric{
	gauge("run_seconds", "Time since the collector started.", func(p *health.Page) float64 { return p.Seconds }),
	counter("mpi_calls", "Outermost MPI calls received.", func(p *health.Page) uint64 { return p.Calls }),
	counter("bursts", "Computation bursts received.", func(p *health.Page) uint64 { return p.Bursts }),
	counter("transfers", "Sends, receives, one-sided and file operations reported by ranks.", func(p *health.Page) uint64 { return p.Transfers }),
	gauge("bursts_per_second", "Bursts received per second, recently.", func(p *health.Page) float64 { return p.BurstsPerSecond }),
	gauge("clusters", "Provisional clusters.", func(p *health.Page) float64 { return float64(p.Clusters.Count) }),
	gauge("clustered_bursts", "Bursts clustered so far.", func(p *health.Page) float64 { return float64(p.Clusters.Bursts) }),
	gauge("explained_ratio", "Share of computing time in clusters, 0 to 1.", func(p *health.Page) float64 { return p.Clusters.Explained }),
	counter("records_dropped", "MPI calls not recorded because the ring buffer was full.", func(p *health.Page) uint64 { return p.Losses.RecordsDropped }),
	counter("calls_abandoned", "MPI calls left by longjmp or an exception.", func(p *health.Page) uint64 { return p.Losses.CallsAbandoned }),
	counter("calls_unrecorded", "MPI calls of threads that could not record.", func(p *health.Page) uint64 { return p.Losses.CallsUnrecorded }),
	counter("batches_resent", "Messages that agents had to send again; known when an agent is done.", func(p *health.Page) uint64 { return p.Losses.BatchesResent }),
	counter("batches_duplicate", "Messages received twice and used once.", func(p *health.Page) uint64 { return p.Losses.BatchesDuplicate }),
	counter("messages_refused", "Streams and messages refused.", func(p *health.Page) uint64 { return p.Losses.MessagesRefused }),
	counter("ranks_died", "Ranks that ended without MPI_Finalize.", func(p *health.Page) uint64 { return p.Losses.RanksDied }),
	counter("ranks_unrecorded", "Ranks that could not record.", func(p *health.Page) uint64 { return p.Losses.RanksUnrecorded }),
	counter("agents_redirected", "Agents that contacted a collector of the run but belong to another one.", func(p *health.Page) uint64 { return p.Redirected }),
}

// A share is a number of one of several collectors.
type share struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(m *health.Member) float64
}

func shareOf(name, help string, kind prometheus.ValueType, value func(m *health.Member) float64) share {
	return share{prometheus.NewDesc("moriens_member_"+name, help, []string{"member", "host"}, nil), kind, value}
}

// shares are those of each collector of a run that has several.
var shares = []share{
	shareOf("agents", "Agents of this collector.", prometheus.GaugeValue, func(m *health.Member) float64 { return float64(m.Agents) }),
	shareOf("bursts_total", "Computation bursts received by this collector.", prometheus.CounterValue, func(m *health.Member) float64 { return float64(m.Bursts) }),
	shareOf("bursts_per_second", "Bursts received per second by this collector, recently.", prometheus.GaugeValue, func(m *health.Member) float64 { return m.BurstsPerSecond }),
	shareOf("resident_bytes", "Memory of this collector's process.", prometheus.GaugeValue, func(m *health.Member) float64 { return float64(m.Memory.ResidentBytes) }),
	shareOf("journal_bytes", "Size of this collector's journal.", prometheus.GaugeValue, func(m *health.Member) float64 {
		if m.Journal == nil {
			return 0
		}
		return float64(m.Journal.Bytes)
	}),
}

// journal are those of a collector that keeps a journal.
var journal = []metric{
	gauge("journal_bytes", "Size of the journal.", func(p *health.Page) float64 { return float64(p.Journal.Bytes) }),
	gauge("journal_pending", "Messages received and not yet acknowledged.", func(p *health.Page) float64 { return float64(p.Journal.Pending) }),
	counter("journal_cut_bytes", "Bytes cut off the journal's end when it was reopened.", func(p *health.Page) uint64 { return p.Journal.CutBytes }),
	counter("journal_syncs", "Number of journal syncs to disk.", func(p *health.Page) uint64 { return p.Journal.Syncs }),
	{prometheus.NewDesc("moriens_journal_sync_seconds_total", "Time spent in journal syncs.", nil, nil), prometheus.CounterValue,
		func(p *health.Page) float64 { return p.Journal.SyncSeconds }},
	gauge("journal_slowest_sync_seconds", "Time of the slowest journal sync.", func(p *health.Page) float64 { return p.Journal.SlowestSync }),
	gauge("journal_failing", "1 while the journal cannot be written.", func(p *health.Page) float64 {
		if p.Journal.Error != "" {
			return 1
		}
		return 0
	}),
}

// Those with a label.
var (
	agents = prometheus.NewDesc("moriens_agents", "Agents by state: connected, away (disconnected and not done), done.", []string{"state"}, nil)
	ranks  = prometheus.NewDesc("moriens_ranks", "MPI processes by state: running, ended (by MPI_Finalize), died, left (continued unmeasured).", []string{"state"}, nil)
	turned = prometheus.NewDesc("moriens_turned_away_total", "Refused connections and streams, by cause.", []string{"cause"}, nil)
	// Of the efficiency.
	ratio     = prometheus.NewDesc("moriens_efficiency_ratio", "Efficiency factors, 0 to 1, of the run so far and of its last minute; absent while not known.", []string{"factor", "window"}, nil)
	computing = prometheus.NewDesc("moriens_computing_seconds_total", "Computing time of all threads that call MPI, since the latest exit of MPI_Init.", nil, nil)
	inMPI     = prometheus.NewDesc("moriens_mpi_seconds_total", "Time of the same threads in MPI calls.", nil, nil)
	longest   = prometheus.NewDesc("moriens_longest_call_seconds", "For how long a rank has been in one MPI call, the longest; 0: none for a second.", nil, nil)

	info = prometheus.NewDesc("moriens_run_info", "Always 1; the labels identify the run.", []string{"run", "host", "version", "stage"}, nil)
)

// A source makes metrics of a page.
type source func() health.Page

// Describe names every metric.
func (s source) Describe(ch chan<- *prometheus.Desc) {
	for _, list := range [][]metric{whole, journal} {
		for _, m := range list {
			ch <- m.desc
		}
	}
	for _, m := range shares {
		ch <- m.desc
	}
	for _, d := range []*prometheus.Desc{agents, ranks, turned, info, ratio, computing, inMPI, longest} {
		ch <- d
	}
}

// Collect reads the page once and emits it.
func (s source) Collect(ch chan<- prometheus.Metric) {
	p := s()
	send := func(m metric) { ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&p)) }
	for _, m := range whole {
		send(m)
	}
	if p.Journal != nil {
		for _, m := range journal {
			send(m)
		}
	}
	labelled := func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, n, labels...)
	}
	connected, done := p.Connected()
	labelled(agents, prometheus.GaugeValue, float64(connected), "connected")
	labelled(agents, prometheus.GaugeValue, float64(len(p.Agents)-connected-done), "away")
	labelled(agents, prometheus.GaugeValue, float64(done), "done")
	labelled(ranks, prometheus.GaugeValue, float64(p.Ranks.Running), "running")
	labelled(ranks, prometheus.GaugeValue, float64(p.Ranks.Ended), "ended")
	labelled(ranks, prometheus.GaugeValue, float64(p.Ranks.Died), "died")
	labelled(ranks, prometheus.GaugeValue, float64(p.Ranks.Left), "left")
	for cause, n := range p.Refused {
		labelled(turned, prometheus.CounterValue, float64(n), cause)
	}
	for i := range p.Members {
		m := &p.Members[i]
		for _, s := range shares {
			labelled(s.desc, s.kind, s.value(m), strconv.Itoa(m.Member), m.Host)
		}
	}
	efficiency(labelled, &p)
	labelled(info, prometheus.GaugeValue, 1, p.Run, p.Host, p.Version, p.Stage)
}

// efficiency emits the factors that are known.
func efficiency(send func(d *prometheus.Desc, kind prometheus.ValueType, n float64, labels ...string), p *health.Page) {
	if e := p.Efficiency; e != nil {
		for _, w := range []struct {
			window string
			f      *health.Factors
		}{{"run", &e.Run}, {"minute", &e.Minute}} {
			for _, x := range []struct {
				factor string
				value  *float64
			}{
				{"parallel_efficiency", w.f.ParallelEfficiency}, {"load_balance", w.f.LoadBalance}, {"load_balance_in_nodes", w.f.LoadBalanceInNodes},
				{"load_balance_between_nodes", w.f.LoadBalanceBetweenNodes}, {"communication_efficiency", w.f.CommunicationEfficiency},
			} {
				if x.value != nil {
					send(ratio, prometheus.GaugeValue, *x.value, x.factor, w.window)
				}
			}
		}
		if c, m := e.Run.ComputingSeconds, e.Run.MPISeconds; c != nil && m != nil {
			send(computing, prometheus.CounterValue, *c)
			send(inMPI, prometheus.CounterValue, *m)
		}
	}
	seconds := 0.
	if p.Waiting != nil {
		seconds = p.Waiting.Seconds
	}
	send(longest, prometheus.GaugeValue, seconds)
}

// metrics serves the page as Prometheus text.
func metrics(page func() health.Page) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(source(page), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
