package collector

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"

	"moriens/collector/health"
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
		bursts := c.store.Totals().Bursts
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

// Page says how the run is at this moment.
func (c *Collector) Page() health.Page {
	stage, _ := c.end.now()
	stored, live := c.store.Progress(), c.live.Progress()
	t := &stored.Totals
	p := health.Page{
		Format: health.FormatVersion, Version: c.version, Run: c.meet.Run, Stage: stage, Host: c.meet.Host, PID: os.Getpid(),
		Started: c.started, Seconds: time.Since(c.started).Seconds(),
		Agents: []health.Agent{}, Refused: map[string]uint64{},
		Ranks: health.Ranks{
			Recorded: t.Processes, Running: t.Processes - t.ProcessesEnded,
			Ended: stored.Finalized, Died: stored.Died, Left: stored.Left,
		},
		Calls: t.Calls, Bursts: t.Bursts, Transfers: t.Transfers,
		Clusters: health.Clusters{
			Count: len(live.Clusters), Bursts: live.Bursts, Explained: live.Explained, Largest: []health.Large{},
		},
		Losses: health.Losses{
			RecordsDropped: t.Dropped, CallsAbandoned: t.Abandoned, CallsUnrecorded: stored.CallsUnrecorded,
			BatchesDuplicate: t.Duplicates, MessagesRefused: t.Refused,
			RanksDied: uint64(stored.Died), RanksUnrecorded: uint64(stored.Faults),
		},
		Memory: memory(),
	}
	j := c.journal.Stats()
	p.Journal = &health.Journal{
		Bytes: uint64(j.Bytes), CutBytes: c.journal.CutBytes(), Pending: uint64(j.Waiting), Syncs: j.Syncs,
		SyncSeconds: j.SyncTime.Seconds(), SlowestSync: j.SlowestSync.Seconds(), Error: j.Failing,
	}
	for _, a := range stored.Agents {
		p.Agents = append(p.Agents, health.Agent{
			Host: a.Host, Connected: a.Connected, Done: a.Done, Away: a.Away.Seconds(), Ranks: a.Processes, Resent: a.Resent,
		})
		p.Losses.BatchesResent += a.Resent
	}
	for _, k := range live.Clusters[:min(len(live.Clusters), largest)] {
		p.Clusters.Largest = append(p.Clusters.Largest, health.Large{ID: k.ID, Bursts: k.Bursts, Seconds: float64(k.TimeNS) / 1e9})
	}
	for cause, n := range c.gate.Refused() {
		p.Refused[string(cause)] = n
	}
	c.rateMu.Lock()
	p.BurstsPerSecond = c.rate.PerSecond()
	c.rateMu.Unlock()
	return p
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
