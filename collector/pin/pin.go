// Package pin chooses, while the job runs, the windows of full detail that agents must not evict, so that the windows
// that represent the run at its end are still there where a node's spool has no space for all.
//
// At intervals it looks at what ranks did since it last looked at them, one after the other. Where their calls do not
// fit what is known of them it searches some of their bursts for iterations, as the analysis at the end does: by
// clusters and the calls around bursts, or by the calls alone. For each kind of iteration it pins on all nodes the
// windows of those nearest the median, and of some iterations that took much longer. Calls that fit take 20 ns each at
// most, a search some microseconds a burst; all of it takes half a millisecond of processor time a second. It pins a
// bounded number of windows.
package pin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/period"
	"moriens/collector/pace"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	interval = 5 * time.Second
	// answerGrace is how long agents may take to answer.
	answerGrace = 10 * time.Second
	// fewBursts is how many bursts a search looks at first, and recentBursts how many at most: they may show iterations
	// that the fewer ones are parts of.
	fewBursts, recentBursts = 1 << 11, 1 << 14
	// leastIterations is from how many on one of them stands for the others; before, windows are not scarce.
	leastIterations = 8
	// together is how many consecutive iterations are pinned.
	together = 2
	// farFactor is how many times the median an iteration must take to be pinned for it.
	farFactor = 3
	// alike is how many times another's median an iteration's may be, or that one's its own, so that both are of one kind
	// if their calls are the same.
	alike = 1.25
	// mostKinds and mostFar bound what is pinned: kinds of iterations, and iterations that took long.
	mostKinds, mostFar = 32, 32
	// mostWindows is how many windows one of those may have; one that has more is not pinned.
	mostWindows = 64
)

// A Requester asks agents to hold windows: a windows.Requester.
type Requester interface {
	Keep(ctx context.Context, why moriensv1.Keep_Why, reason string, windows []anchor.ID, processes ...uint64) []windows.Kept
}

// Pins are those of a run.
type Pins struct {
	store     *store.Store
	requester Requester
	log       *slog.Logger
	options   grouping.Options // of the clusters at the run's end
	budget    budget
	searched  time.Duration // that the look under way has taken for searches
	turn      int           // number of the ring that is next
	followers map[*store.Ring]*follower
	shapes    *shapes
	tried     uint32 // rows of the largest search yet, below recentBursts
	kinds     []kind // of iterations that have their pin
	far       map[anchor.ID]bool
	farPins   int
	meetings  []store.Meeting // of the ring that is looked at
	reader    store.Reader

	looking  sync.Mutex // held while the store is read
	finished bool
}

// A kind of iterations: what they call, and how long they take.
type kind struct {
	calls    uint64
	medianNS int64
}

// New returns Pins that begin with Run. options are those of the run's end.
func New(s *store.Store, requester Requester, options grouping.Options, log *slog.Logger) *Pins {
	return &Pins{
		store: s, requester: requester, log: log, options: options, budget: newBudget(),
		followers: make(map[*store.Ring]*follower), shapes: newShapes(), far: make(map[anchor.ID]bool),
	}
}

// Finish ends the use of the store: the end of the run takes the calls out of it. A look that is under way is waited
// for.
func (p *Pins) Finish() {
	p.looking.Lock()
	defer p.looking.Unlock()
	p.finished = true
}

// Run pins until ctx ends.
func (p *Pins) Run(ctx context.Context) {
	last := time.Now()
	pace.Run(ctx, interval, func() time.Duration {
		now := time.Now()
		for _, x := range p.round(now.Sub(last)) {
			p.pin(ctx, x)
		}
		last = now
		return 0 // the budget is kept here
	})
}

// round looks at as many ranks as there is credit for when so much of the job has passed.
func (p *Pins) round(passed time.Duration) (list []wish) {
	p.looking.Lock()
	defer p.looking.Unlock()
	if p.finished {
		return nil
	}
	p.budget.grow(passed)
	_, rings := p.store.Ring(0)
	for range rings {
		if p.budget.compare <= 0 || p.full() {
			break
		}
		p.searched = 0
		took := pace.Processor(func() { list = append(list, p.look()...) })
		p.budget.compare -= took - p.searched
	}
	return list
}

// full reports whether nothing more is pinned.
func (p *Pins) full() bool { return len(p.kinds) >= mostKinds && p.farPins >= mostFar }

// A wish is windows to be pinned.
type wish struct {
	windows []anchor.ID
	reason  string
}

func (p *Pins) pin(ctx context.Context, x wish) {
	ctx, cancel := context.WithTimeout(ctx, answerGrace)
	defer cancel()
	for _, k := range p.requester.Keep(ctx, moriensv1.Keep_WHY_PINNED, x.reason, x.windows) {
		if k.Err != nil {
			p.log.Debug("windows are not pinned", "agent", k.Agent, "error", k.Err)
		}
	}
}

// look looks at one rank and returns what to pin now.
func (p *Pins) look() []wish {
	_, rings := p.store.Ring(0)
	for range rings {
		v, _ := p.store.Ring(p.turn % rings)
		p.turn++
		if v.NSPerTick == 0 {
			continue
		}
		f := p.followers[v.Ring]
		if f == nil {
			f = new(follower)
			p.followers[v.Ring] = f
		}
		l := look{pins: p, view: &v, follower: f, places: p.store.Places()}
		if !l.meets() {
			continue // a thread without them says nothing of windows
		}
		l.run()
		return l.list
	}
	return nil
}

// like reports whether iterations of both are those of one phase, as far as a look at one rank shows.
func (k kind) like(o kind) bool {
	return k.calls == o.calls && float64(max(k.medianNS, o.medianNS)) <= alike*float64(min(k.medianNS, o.medianNS))
}

// wishes are for the kinds of iterations that were found in a sight and have no pin yet.
func (p *Pins) wishes(s *sight, phases []period.Phase) (list []wish) {
	for i := range phases {
		phase := &phases[i]
		begins := iterationsOf(phase)
		if begins == nil {
			continue
		}
		at := nearest(phase.IterationNS, phase.MedianNS)
		now := kind{s.kind(begins[at], begins[at+1]), phase.MedianNS}
		if w := s.windows(begins[at], begins[min(at+together, phase.Iterations)]); !slices.ContainsFunc(p.kinds, now.like) && len(p.kinds) < mostKinds && len(w) <= mostWindows {
			p.kinds = append(p.kinds, now)
			list = append(list, wish{w, fmt.Sprintf("represents %d iterations of %v, by rank %d", phase.Iterations, time.Duration(phase.MedianNS), s.rank)})
		}
	}
	return list
}

// iterationsOf are the begins of a phase's iterations and the end of the last; nil where there are too few.
func iterationsOf(phase *period.Phase) []int32 {
	begins := phase.Threads[0].Begins
	if phase.Iterations < leastIterations || len(begins) != phase.Iterations+1 {
		return nil
	}
	return begins
}

// nearest is the iteration whose time is nearest the median; not the first or the last where another one is as near.
func nearest(ns []int64, medianNS int64) int {
	order := make([]int, len(ns))
	for i := range order {
		order[i] = i
	}
	off := func(i int) int64 { return max(ns[i]-medianNS, medianNS-ns[i]) }
	inner := func(i int) int { return min(i, len(ns)-1-i) }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(off(a), off(b)), cmp.Compare(inner(b), inner(a)), cmp.Compare(a, b))
	})
	return order[0]
}
