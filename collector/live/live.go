// Package live clusters the bursts of a job while it runs.
//
// It takes what the store holds, from time to time, and runs the same exact clustering that ends the
// run (analysis/partition) on all bursts so far. How often depends on what that costs: it takes at
// most a fiftieth of one core. Its clusters are provisional; their numbers change as bursts arrive.
package live

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"moriens/analysis/partition"
	"moriens/analysis/space"
	"moriens/collector/store"
)

const (
	interval = time.Second
	// share is the reciprocal of the part of one core that clustering may take.
	share = 50
)

// Progress is what can be said of a job that runs.
type Progress struct {
	Totals    store.Totals
	Clusters  int     // of the bursts clustered so far
	Bursts    int     // that were clustered
	Explained float64 // share of their computing time that is in clusters, 0–1
}

// A Live is the running clustering of one store.
type Live struct {
	store   *store.Store
	options partition.Options
	log     *slog.Logger

	seen   map[*store.Ring]seen
	bursts partition.Bursts

	mu       sync.Mutex
	progress Progress
}

// seen is how much of a ring is in the columns already.
type seen struct {
	chunks int
	path   uint32 // of the last call
}

// New returns the clustering of a store, which starts with Run.
func New(s *store.Store, options partition.Options, log *slog.Logger) *Live {
	options.Workers = 1 // the budget is of one core, and the others are the job's
	return &Live{store: s, options: options, log: log, seen: make(map[*store.Ring]seen)}
}

// Progress returns the totals of this moment and the clusters of the last clustering.
func (l *Live) Progress() Progress {
	l.mu.Lock()
	p := l.progress
	l.mu.Unlock()
	p.Totals = l.store.Totals()
	return p
}

// Run clusters until ctx ends.
func (l *Live) Run(ctx context.Context) {
	pause := interval
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		start := time.Now()
		l.cluster()
		pause = max(interval, share*time.Since(start))
	}
}

func (l *Live) cluster() {
	threads, grown := l.gather()
	if !grown {
		return
	}
	options, _ := l.options.Choose(l.bursts.CounterNames)
	options.JobThreads = threads
	result, err := partition.Compute(l.bursts, options)
	if err != nil {
		l.log.Error("live clustering", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.Clusters = len(result.Clusters)
	l.progress.Bursts = l.bursts.Len()
	l.progress.Explained = result.Clustered.Share
}

// gather appends the bursts that came since the last time, and says whether there were any.
func (l *Live) gather() (threads int, grown bool) {
	views := l.store.Rings()
	for _, v := range views {
		if v.NSPerTick == 0 {
			continue // without two clock samples a tick has no length yet
		}
		at := l.seen[v.Ring]
		columns := l.columns(v.Ring.Process.Info.Events)
		for _, c := range v.Chunks[at.chunks:] {
			l.count(&c, columns)
			noBurst := c.NoBurst
			for i, path := range c.Path {
				if len(noBurst) > 0 && int(noBurst[0]) == i {
					noBurst = noBurst[1:]
				} else {
					l.bursts.DurationNS = append(l.bursts.DurationNS, int64(float64(c.Burst[i])*v.NSPerTick))
					l.bursts.Before = append(l.bursts.Before, at.path)
					l.bursts.After = append(l.bursts.After, path)
					grown = true
				}
				at.path = path
			}
		}
		at.chunks = len(v.Chunks)
		l.seen[v.Ring] = at
	}
	return len(views), grown
}

// columns gives the number of each event's column, where all that are new have one from now on.
func (l *Live) columns(events []string) []int {
	places := make([]int, len(events))
	for i, name := range events {
		places[i] = slices.Index(l.bursts.CounterNames, name)
		if places[i] < 0 {
			places[i] = len(l.bursts.Counters)
			l.bursts.CounterNames = append(l.bursts.CounterNames, name)
			l.bursts.Counters = append(l.bursts.Counters, notRead(nil, l.bursts.Len()))
		}
	}
	return places
}

// count appends the counts of a chunk's bursts.
func (l *Live) count(c *store.Chunk, places []int) {
	bursts := len(c.Path) - len(c.NoBurst)
	for column := range l.bursts.Counters {
		event := slices.Index(places, column)
		if event < 0 {
			l.bursts.Counters[column] = notRead(l.bursts.Counters[column], bursts)
			continue
		}
		noBurst := c.NoBurst
		for row, v := range c.Column(event) {
			if len(noBurst) > 0 && int(noBurst[0]) == row {
				noBurst = noBurst[1:]
			} else {
				l.bursts.Counters[column] = append(l.bursts.Counters[column], max(v, space.NotRead))
			}
		}
	}
}

// notRead appends that many values that were not read.
func notRead(column []int64, n int) []int64 {
	for range n {
		column = append(column, space.NotRead)
	}
	return column
}
