package collector

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"moriens/collector/health"
	"moriens/collector/live"
	"moriens/collector/pace"
	"moriens/collector/web"
	"moriens/internal/rendezvous"
	"moriens/internal/units"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace/palette"
)

const (
	// rateEvery is how often the bursts are counted for the rate.
	rateEvery = time.Second
	// largest is how many clusters the page names.
	largest = 10
)

// measure keeps the rate of bursts until ctx ends.
func (c *Collector) measure(ctx context.Context) {
	tick := time.NewTicker(rateEvery)
	defer tick.Stop()
	for {
		bursts := c.bursts()
		c.rateMu.Lock()
		c.rate.Add(time.Now(), bursts)
		c.rateMu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Page says how the run is at this moment; of several collectors the first one knows of the others as of the last
// round.
func (c *Collector) Page() health.Page {
	p := c.ownPage()
	if c.peers != nil && c.peers.first() {
		var others []health.Page
		for _, r := range c.peers.others() {
			others = append(others, r.Page)
		}
		p.Merge(others)
	}
	if c.peers == nil || c.peers.first() {
		p.Efficiency, p.Waiting = c.gauge.page()
	}
	return p
}

// ownPage says how this collector is.
func (c *Collector) ownPage() health.Page {
	stage, _ := c.end.now()
	stored, provisional := c.store.Progress(), c.live.Progress()
	t := &stored.Totals
	p := health.Page{
		Format: health.FormatVersion, Version: c.version, Run: c.meet.Run, Stage: stage, Host: c.meet.Host, PID: os.Getpid(),
		Started: c.started, Seconds: time.Since(c.started).Seconds(),
		Agents: []health.Agent{}, Refused: map[string]uint64{}, Analysis: []health.Step{},
		Ranks: health.Ranks{
			Recorded: t.Processes, Running: t.Processes - t.ProcessesEnded,
			Ended: stored.Finalized, Died: stored.Died, Left: stored.Left,
		},
		Calls: t.Calls + stored.CallsOnNodes, Bursts: c.bursts(), Transfers: t.Transfers, Cells: c.Surveyed(),
		Clusters: health.Clusters{
			Count: len(provisional.Clusters), Bursts: provisional.Bursts, Explained: provisional.Explained, Largest: []health.Large{},
		},
		Losses: health.Losses{
			RecordsDropped: t.Dropped, CallsAbandoned: t.Abandoned, CallsUnrecorded: stored.CallsUnrecorded,
			BatchesDuplicate: t.Duplicates, MessagesRefused: t.Refused,
			RanksDied: uint64(stored.Died), Unrecorded: []health.Unrecorded{}, FilesUnreadable: uint64(stored.Unreadable),
		},
		Memory: memory(), CPU: c.journal.Spent().Seconds(),
	}
	j := c.journal.Stats()
	p.Journal = &health.Journal{
		Bytes: uint64(j.Bytes), CutBytes: c.journal.CutBytes(), Pending: uint64(j.Waiting), Syncs: j.Syncs,
		SyncSeconds: j.SyncTime.Seconds(), SlowestSync: j.SlowestSync.Seconds(), Error: j.Failing,
	}
	for _, a := range stored.Agents {
		lost := 0.
		if a.WaitNS > 0 {
			lost = float64(a.WaitNS) / float64(a.RunNS+a.WaitNS)
		}
		p.Agents = append(p.Agents, health.Agent{
			Host: a.Host, Connected: a.Connected, Done: a.Done, Away: a.Away.Seconds(), Ranks: a.Processes, Resent: a.Resent, CPU: a.CPU.Seconds(), Shared: a.Shared,
			Spool: addSpool(&p.Losses, a.Spool), Lost: lost,
		})
		p.Losses.BatchesResent += a.Resent
	}
	for _, x := range stored.Unrecorded {
		p.Losses.RanksUnrecorded += uint64(x.Ranks)
		p.Losses.Unrecorded = append(p.Losses.Unrecorded, health.Unrecorded{Ranks: x.Ranks, Host: x.Host, Reason: x.Reason})
	}
	for _, k := range provisional.Clusters[:min(len(provisional.Clusters), largest)] {
		p.Clusters.Largest = append(p.Clusters.Largest, health.Large{ID: k.ID, Bursts: k.Bursts, Seconds: float64(k.TimeNS) / 1e9})
	}
	for cause, n := range c.admission.Refused() {
		p.Refused[string(cause)] = n
	}
	if s := c.stages.Load(); s != nil {
		for _, x := range s.State() {
			p.Analysis = append(p.Analysis, health.Step{Name: x.Name, Seconds: x.Time.Seconds(), Ended: x.Ended, GivenUp: x.GivenUp})
		}
	}
	if c.peers != nil {
		p.Redirected = c.peers.sentOn()
	}
	c.rateMu.Lock()
	p.BurstsPerSecond = c.rate.PerSecond()
	c.rateMu.Unlock()
	return p
}

// addSpool adds what the lack of room in an agent's spool has cost, and returns how that spool is.
func addSpool(l *health.Losses, s *moriensv1.Spool) *health.Spool {
	if s == nil {
		return nil
	}
	spool := &health.Spool{
		Full: s.Full, FullSeconds: time.Duration(s.FullNs).Seconds(), Dropped: s.Dropped, Unkept: s.Unkept, Error: s.Error,
	}
	l.SpoolFullSeconds += spool.FullSeconds
	l.SpoolFullDropped += spool.Dropped
	l.RecordsUnkept += spool.Unkept
	return spool
}

// livePage is what a page shows of the run at this moment.
func (c *Collector) livePage() web.Live {
	followed, progress := c.live.Followed(), c.live.Progress()
	p := web.Live{Health: c.Page(), Profile: followed.Profile, Clusters: []web.Cluster{}, Counters: followed.Counters, Points: followed.Bursts}
	p.Overhead = c.overhead(&p.Health)
	for _, k := range progress.Clusters[:min(len(progress.Clusters), live.NamedClusters)] {
		p.Clusters = append(p.Clusters, web.Cluster{
			ID: k.ID, Colour: palette.Cluster(k.ID).Hex(), Bursts: k.Bursts, Seconds: float64(k.TimeNS) / 1e9,
			Before: c.store.Function(k.Before), After: c.store.Function(k.After),
		})
	}
	return p
}

// pageStage changes with the stage of the run, and with those of its end.
func (c *Collector) pageStage() string {
	stage, _ := c.end.now()
	if s := c.stages.Load(); s != nil {
		if list := s.State(); len(list) > 0 {
			stage += " " + list[len(list)-1].Name
		}
	}
	return stage
}

// pageEnd is how the run has ended; nil while it runs.
func (c *Collector) pageEnd() *web.End {
	stage, outcome := c.end.now()
	if stage != health.Done {
		return nil
	}
	end := &web.End{Directory: outcome.Directory, Hint: outcome.Hint}
	if outcome.Err != nil {
		end.Error = outcome.Err.Error()
	}
	return end
}

// overhead is what measuring takes at this moment.
func (c *Collector) overhead(p *health.Page) []web.Cost {
	share := func(cpu time.Duration) *float64 {
		part := cpu.Seconds() / max(p.Seconds, 1e-3)
		return &part
	}
	what := "processor time of the collector"
	if slices.ContainsFunc(p.Agents, func(a health.Agent) bool { return a.Shared }) {
		what = "processor time of collector and agent"
	}
	costs := []web.Cost{
		{What: what, Value: share(pace.Process()), Unit: "share"},
		{What: "of that, clustering while the job runs", Value: share(c.live.Spent()), Unit: "share", Most: pace.Share},
	}
	agents := agentsCost(p.Agents)
	if c.meet.Command != rendezvous.CommandRun {
		costs = append(costs, agents)
	}
	costs = append(costs, callCost(p, &agents))
	resident, journal := float64(p.Memory.ResidentBytes), float64(p.Journal.Bytes)
	memory := web.Cost{What: "memory of the collector", Value: &resident, Unit: "bytes"}
	if resident == 0 {
		memory.Value, memory.Why = nil, "/proc/self/stat cannot be read"
	}
	return append(costs, memory, web.Cost{What: "journal on disk", Value: &journal, Unit: "bytes"})
}

// agentsCost is the processor time of agents that are separate processes, by what each has reported last.
func agentsCost(agents []health.Agent) web.Cost {
	sum, silent, apart := 0., 0, 0
	for _, a := range agents {
		if a.Shared {
			continue
		}
		apart++
		sum += a.CPU
		if a.CPU == 0 {
			silent++
		}
	}
	cost := web.Cost{What: fmt.Sprintf("processor time of the agents (%d)", apart), Unit: "s"}
	switch {
	case len(agents) == 0:
		cost.Why = "no agent yet"
	case silent > 0:
		cost.Why = "reported only at the end by " + units.Count(silent, "agent")
	default:
		cost.Value = &sum
	}
	return cost
}

// callCost is the processor time of collectors and agents for each recorded MPI call.
func callCost(p *health.Page, agents *web.Cost) web.Cost {
	cost := web.Cost{What: "processor time for an MPI call", Unit: "ns"}
	switch {
	case agents.Value == nil:
		cost.Why = agents.Why
	case p.Cells != nil:
		cost.Why = "known at the end of the run"
	case p.CPU == 0:
		cost.Why = "not known of an earlier collector"
	case p.Calls == 0:
		cost.Why = "no call yet"
	default:
		ns := (p.CPU + *agents.Value) * 1e9 / float64(p.Calls)
		cost.Value = &ns
	}
	return cost
}

func memory() health.Memory {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	m := health.Memory{HeapBytes: heap.HeapInuse}
	if self, err := procfs.Self(); err == nil {
		if stat, err := self.Stat(); err == nil {
			m.ResidentBytes = uint64(stat.ResidentMemory())
		}
	}
	return m
}
