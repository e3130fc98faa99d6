// Package live clusters the bursts of a job while it runs.
//
// In come, at intervals, the bursts that have reached the store since the last time: all of them, or where there are
// many a sample in which each stands for as many as were left out for it (see sample.go), so that what this costs does
// not grow with the bursts. It adds them to a clustering of the same definition and dimensions as the one that ends the
// run (analysis/grouping), but without its refinement. Out come provisional clusters. A burst at a known place joins
// the cluster there at once. All are clustered again when the result may show something else (see stale), and when
// nothing more arrives. The interval depends on the cost: clustering takes at most a fiftieth of one core. While
// somebody watches, new bursts are taken every second all the same.
//
// Its memory grows not with the bursts but with the occupied places in the burst space. A place is a sixteenth of the
// smallest Eps wide (see places), and bursts at one place are no longer distinguished. The axes are fixed, so that
// places do not move. Eps and MinPts are provisional too: powers of two times their lower bounds. A cluster keeps its
// id for as long as most of it remains together, so that it can be shown in one colour.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/pace"
	"moriens/collector/store"
)

const interval = time.Second

// Progress is what can be said of a job that runs.
type Progress struct {
	Totals    store.Totals
	Clusters  []Cluster // of the bursts clustered so far, by total time, descending
	Bursts    int       // that were clustered
	Explained float64   // share of their computing time that is in clusters, 0–1
}

// A Cluster is a provisional cluster.
type Cluster struct {
	ID            int32  // 1, 2, … in order of first appearance; a cluster keeps it while it keeps most of its time
	Before, After uint32 // call paths round its bursts, store's numbers; 0 where all bursts are clustered together
	Bursts        int64
	TimeNS        int64
}

// A Live is the running clustering of one store.
type Live struct {
	store   *store.Store
	options grouping.Options
	log     *slog.Logger

	feed      feed
	chosen    grouping.Options
	groups    map[calls]*group
	order     []*group // in order of arrival
	durations space.Durations
	bursts    int
	lastID    int32

	// Of what has arrived since the last clustering:
	grown     bool  // there is something,
	appeared  bool  // of a group that has not been clustered,
	unplaced  stand // at places that have not been,
	clustered int   // and there were so many bursts before

	mu       sync.Mutex
	progress Progress

	workMu   sync.Mutex    // held while it is at work
	finished bool          // by Finish
	due      time.Time     // when clustering has rested enough
	spent    time.Duration // processor time, under mu

	followMu sync.Mutex // held while the follower changes, never for as long as a clustering takes
	follower *follower  // nil without a viewer

	merger merger  // of the first of several collectors
	sharer *sharer // of another one; nil: this clusters
}

// calls are the call paths round bursts that are clustered together.
type calls struct{ before, after uint32 }

// New returns the clustering of a store, which starts with Run.
func New(s *store.Store, options grouping.Options, log *slog.Logger) *Live {
	if options.Strict {
		// Its axes and all that is in their units depend on the whole run.
		if options.By == grouping.ByAuto {
			options.By = grouping.ByNone
		}
		options.Strict, options.Resolution = false, 0
	}
	options.Normalise = false
	l := &Live{store: s, options: options, log: log}
	l.feed.members = 1
	l.restart()
	return l
}

// restart forgets all bursts, so that they are taken from the store again, and from the other collectors.
func (l *Live) restart() {
	member, members := l.feed.member, l.feed.members
	l.feed = newFeed(l.feed.bursts)
	l.feed.member, l.feed.members = member, members
	if l.follower != nil {
		l.follower = newFollower(l.feed.members)
	}
	l.groups, l.order = make(map[calls]*group), nil
	l.durations, l.bursts = space.Durations{}, 0
	l.appeared, l.unplaced, l.clustered = false, stand{}, 0
	l.merger.restart()
	if l.sharer != nil {
		l.sharer.restart()
	}
}

// Progress returns the totals of this moment and the clusters of the last clustering.
func (l *Live) Progress() Progress {
	l.mu.Lock()
	p := l.progress
	l.mu.Unlock()
	p.Totals = l.store.Totals()
	return p
}

// Spent is the processor time that clustering has taken so far.
func (l *Live) Spent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// Run clusters until ctx ends.
func (l *Live) Run(ctx context.Context) {
	if l.follower == nil && l.sharer == nil {
		pace.Run(ctx, interval, func() time.Duration { return l.cluster(time.Now()) })
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			l.cluster(now)
		}
	}
}

// Finish takes the last bursts, if anybody looks, and nothing after them: the end of the run takes the bursts out of
// the store.
func (l *Live) Finish() {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	if l.follower != nil && !l.finished {
		l.due, l.appeared = time.Time{}, true
		l.work(time.Now())
	}
	l.finished = true
}

// cluster takes what has arrived and clusters it, if that has rested enough, and returns the processor time of that.
func (l *Live) cluster(now time.Time) (took time.Duration) {
	l.workMu.Lock()
	defer l.workMu.Unlock()
	if l.finished {
		return 0
	}
	return l.work(now)
}

func (l *Live) work(now time.Time) (took time.Duration) {
	views := l.store.Rings()
	if l.sharer != nil {
		return pace.Processor(func() { l.share(views) })
	}
	before := l.bursts
	took = pace.Processor(func() {
		l.absorb()
		l.take(views)
		l.propose()
	})
	switch {
	case l.grown && (l.stale() || l.bursts == before) && (l.follower == nil || !now.Before(l.due)):
		clustering := pace.Processor(func() { l.update(len(views) + l.merger.threads()) })
		l.due = now.Add(pace.Rest(clustering))
		took += clustering
		l.grown, l.appeared, l.unplaced, l.clustered = false, false, stand{}, l.bursts
	case l.bursts != before:
		took += pace.Processor(l.report)
	}
	l.mu.Lock()
	l.spent += took
	l.mu.Unlock()
	return took
}

// take adds the bursts that have arrived since the last time.
func (l *Live) take(views []store.RingView) {
	for {
		some, err := l.takeSome(views)
		if err != nil {
			l.log.Error("live clustering", "error", err)
		}
		if !some || err != nil {
			return
		}
	}
}

// takeSome takes a part, and reports whether there was any.
func (l *Live) takeSome(views []store.RingView) (some bool, err error) {
	l.followMu.Lock()
	defer l.followMu.Unlock()
	if !l.feed.next(views, l.store.Places(), l.follower) {
		return false, nil
	}
	if l.choose() {
		return true, nil
	}
	l.grown = true
	if err := l.add(&l.feed.arrived); err != nil {
		return false, err
	}
	if l.follower != nil {
		l.follower.settle(false)
	}
	return true, nil
}

// choose chooses the dimensions for the counters that are known. A process that counts may make them others than
// before: then bursts have other coordinates from now on, and all have to be taken again.
func (l *Live) choose() (again bool) {
	chosen, _ := l.options.Choose(l.feed.bursts.CounterNames)
	again = l.chosen.Dims != nil && (chosen.By != l.chosen.By || !slices.Equal(chosen.Dims, l.chosen.Dims))
	l.chosen = chosen
	if again {
		l.restart()
	}
	return again
}

// stale reports whether clusters may be others than those of the last clustering, as far as shows: bursts are between
// other calls, or there are a quarter more, or of more than a hundredth of them or of their time it is not known in
// which cluster they are. What other collectors report waits for all of its places.
func (l *Live) stale() bool {
	const more, part = 4, 100
	return l.appeared || more*(l.bursts-l.clustered) >= l.clustered ||
		part*l.unplaced.bursts > int64(l.bursts) || part*float64(l.unplaced.timeNS) > float64(l.durations.TotalNS()) ||
		l.follower != nil && len(l.follower.lent) > 0
}

// update clusters the bursts that were added, of a job of so many threads. Those that wait are in a cluster then, or in
// none.
func (l *Live) update(threads int) {
	if err := l.clusterGroups(threads); err != nil {
		l.log.Error("live clustering", "error", err)
	}
	if l.follower != nil {
		l.followMu.Lock()
		defer l.followMu.Unlock()
		l.follower.settle(true)
		l.follower.forget(l.progress.Clusters)
	}
}

func (l *Live) clusterGroups(threads int) error {
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

// add puts bursts into their groups, each with those that it stands for.
func (l *Live) add(a *arrived) error {
	b := &a.bursts
	s, err := space.New(b.Columns, l.chosen.Dims)
	if err != nil {
		return err
	}
	filter := l.chosen.Filter
	filter.Auto = false // the limit depends on future bursts: see report
	selection, err := s.Select(filter)
	if err != nil {
		return err
	}
	var rows []int32
	for row, status := range selection.Status {
		l.durations.AddAlike(a.stands[row].bursts, a.stands[row].timeNS)
		l.bursts += int(a.stands[row].bursts)
		if status == space.Complete {
			rows = append(rows, int32(row))
		}
	}
	dims := len(l.chosen.Dims)
	coords := s.Coordinates(nil, rows)
	if l.sharer != nil {
		l.lend(a, selection.Status, rows, coords)
		return nil
	}
	groups := make([]*group, len(rows))
	for i, row := range rows {
		var of calls
		if l.chosen.By == grouping.ByCalls {
			of = calls{b.Before[row], b.After[row]}
		}
		g := l.group(of)
		l.put(g, coords[i*dims:(i+1)*dims], amount{1, a.stands[row]})
		groups[i] = g
	}
	if l.follower != nil {
		l.follower.put(a, selection.Status, rows, groups, coords)
	}
	return nil
}

// put adds bursts at one place to a group.
func (l *Live) put(g *group, at []float64, x amount) {
	if !g.add(at, x) {
		l.unplaced = stand{l.unplaced.bursts + x.bursts, min(l.unplaced.timeNS+x.timeNS, mostNS)}
		l.appeared = l.appeared || g.clustered == 0
	}
}

// group is that of bursts between calls.
func (l *Live) group(of calls) *group {
	g := l.groups[of]
	if g == nil {
		g = newGroup(of, len(l.chosen.Dims), l.placeSide())
		l.groups[of] = g
		l.order = append(l.order, g)
	}
	return g
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
