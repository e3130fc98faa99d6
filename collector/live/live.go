// Package live clusters the bursts of a job while it runs.
//
// It takes from the store, from time to time, the bursts that came since the last time, and adds them to a
// clustering of the same definition and dimensions as the one that ends the run (analysis/partition), but
// without its refinement. How often depends on what that costs: it takes at most a fiftieth of one core.
//
// What it keeps does not grow with the bursts but with the places in the burst space where there are any: a
// place is a sixteenth of the smallest Eps wide (see places), and bursts at one place are told apart no more.
// The axes are fixed, so that places stay where they are. The clusters are provisional: so are Eps and MinPts, powers of
// two times the least there may be. But a cluster keeps its id for as long as most of it stays
// together, so that it can be shown in one colour.
package live

import (
	"cmp"
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
	Clusters  []Cluster // of the bursts clustered so far, by total time, descending
	Bursts    int       // that were clustered
	Explained float64   // share of their computing time that is in clusters, 0–1
}

// A Cluster is a provisional cluster.
type Cluster struct {
	ID            int32  // 1, 2, … as they were first seen; stays with a cluster while most of its time does
	Before, After uint32 // call paths round its bursts, store's numbers; 0 where all bursts are clustered together
	Bursts        int64
	TimeNS        int64
}

// A Live is the running clustering of one store.
type Live struct {
	store   *store.Store
	options partition.Options
	log     *slog.Logger

	feed      feed
	chosen    partition.Options
	groups    map[calls]*group
	order     []*group // as they came
	durations space.Durations
	bursts    int
	lastID    int32

	mu       sync.Mutex
	progress Progress
}

// calls are the call paths round bursts that are clustered together.
type calls struct{ before, after uint32 }

// New returns the clustering of a store, which starts with Run.
func New(s *store.Store, options partition.Options, log *slog.Logger) *Live {
	if options.Strict {
		// Its axes and all that is in their units depend on the whole run.
		if options.By == partition.ByAuto {
			options.By = partition.ByNone
		}
		options.Strict, options.Resolution = false, 0
	}
	options.Normalise = false
	l := &Live{store: s, options: options, log: log}
	l.restart()
	return l
}

// restart forgets all bursts, so that they are taken from the store again.
func (l *Live) restart() {
	l.feed = newFeed(l.feed.bursts)
	l.groups, l.order = make(map[calls]*group), nil
	l.durations, l.bursts = space.Durations{}, 0
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
	views := l.store.Rings()
	grown := false
	for l.feed.next(views) {
		chosen, _ := l.options.Choose(l.feed.bursts.CounterNames)
		if l.chosen.Dims != nil && (chosen.By != l.chosen.By || !slices.Equal(chosen.Dims, l.chosen.Dims)) {
			// A process that counts has come: bursts have other coordinates from now on.
			l.chosen = chosen
			l.restart()
			continue
		}
		l.chosen = chosen
		if err := l.add(l.feed.bursts); err != nil {
			l.log.Error("live clustering", "error", err)
			return
		}
		grown = true
	}
	if grown {
		if err := l.update(len(views)); err != nil {
			l.log.Error("live clustering", "error", err)
		}
	}
}

// update clusters the bursts that were added, of a job of so many threads.
func (l *Live) update(threads int) error {
	shortNS := int64(0)
	if l.chosen.Filter.Auto {
		shortNS = l.durations.AutoMinNS()
	}
	for _, g := range l.order {
		if err := g.cluster(densityOptions{&l.chosen, threads}, shortNS, &l.lastID); err != nil {
			return err
		}
	}
	l.report()
	return nil
}

// add puts bursts into their groups.
func (l *Live) add(b partition.Bursts) error {
	s, err := space.New(b.Columns, l.chosen.Dims)
	if err != nil {
		return err
	}
	filter := l.chosen.Filter
	filter.Auto = false // the limit depends on bursts to come: see report
	selection, err := s.Select(filter)
	if err != nil {
		return err
	}
	var rows []int32
	for row, status := range selection.Status {
		l.durations.Add(b.DurationNS[row])
		if status == space.Complete {
			rows = append(rows, int32(row))
		}
	}
	l.bursts += b.Len()
	dims := len(l.chosen.Dims)
	coords := s.Coordinates(nil, rows)
	for i, row := range rows {
		var of calls
		if l.chosen.By == partition.ByCalls {
			of = calls{b.Before[row], b.After[row]}
		}
		g := l.groups[of]
		if g == nil {
			g = newGroup(of, dims, l.placeSide())
			l.groups[of] = g
			l.order = append(l.order, g)
		}
		g.add(coords[i*dims:(i+1)*dims], b.DurationNS[row])
	}
	return nil
}

// placeSide is the side of a place where the least Eps is known, else 0.
func (l *Live) placeSide() float64 {
	if l.chosen.Fixed != nil {
		return l.chosen.Fixed.Eps / placesPerEps
	}
	return l.chosen.Floor() / placesPerEps
}

// report makes the progress of the groups' clusters. Those that the automatic filter is about to leave out do not
// count: it never cuts through a kind of bursts, and leaves one out of which it would keep less than a tenth.
func (l *Live) report() {
	const worthPart = 10 // as in partition
	p := Progress{Bursts: l.bursts}
	var clusteredNS int64
	for _, g := range l.order {
		for _, k := range g.clusters {
			if k.kept*worthPart < k.Bursts {
				continue
			}
			p.Clusters = append(p.Clusters, k.Cluster)
			clusteredNS += k.TimeNS
		}
	}
	slices.SortFunc(p.Clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.ID, b.ID))
	})
	if total := l.durations.TotalNS(); total > 0 {
		p.Explained = float64(clusteredNS) / float64(total)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = p
}
