// Package pin chooses, while the job runs, the windows of full detail that agents must not evict, so that the windows
// that represent the run at its end are still there where a node's spool has no space for all.
//
// At intervals it looks at what one rank did recently, a different rank each time, and finds its iterations as the
// analysis at the end does: by clusters and the calls around bursts, or by the calls alone. For each kind of iteration
// it pins on all nodes the windows of those nearest the median, and of some iterations that took much longer. It pins a
// bounded number of windows, and takes at most a fiftieth of a core.
package pin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
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
	// seldom is how many times longer looks rest than other work beside a job that takes as much (collector/pace): what
	// one of them finds still holds when the next is late, and the difference is not visible.
	seldom = 4
	// answerGrace is how long agents may take to answer.
	answerGrace = 10 * time.Second
	// recentBursts is how many bursts are looked at.
	recentBursts = 1 << 14
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
	turn      int              // number of the next look
	kinds     []kind           // of iterations that have their pin
	far       map[anchor.ID]bool
}

// A kind of iterations: what they call, and how long they take.
type kind struct {
	calls    uint64
	medianNS int64
}

// New returns Pins that begin with Run. options are those of the run's end.
func New(s *store.Store, requester Requester, options grouping.Options, log *slog.Logger) *Pins {
	return &Pins{store: s, requester: requester, log: log, options: options, far: make(map[anchor.ID]bool)}
}

// Run pins until ctx ends.
func (p *Pins) Run(ctx context.Context) {
	pace.Run(ctx, interval, func() time.Duration {
		var list []wish
		took := pace.Processor(func() { list = p.look() })
		for _, x := range list {
			p.pin(ctx, x)
		}
		return seldom * took
	})
}

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
	views := p.store.Rings()
	for range views {
		v := views[p.turn%len(views)]
		p.turn++
		meetings := p.store.Meetings(v.Ring)
		if len(meetings) == 0 || v.NSPerTick == 0 {
			continue // a thread without them says nothing of windows
		}
		seen, err := newSight(v, p.store.Places(), meetings, p.options)
		if err != nil {
			p.log.Error("the windows to be pinned", "error", err)
			return nil
		}
		return p.wishes(seen)
	}
	return nil
}

// wishes finds the iterations in a sight, and which of them to pin.
func (p *Pins) wishes(s *sight) []wish {
	found, err := period.Find([]period.Thread{s.thread}, period.Options{Workers: 1, Calls: s.calls})
	if err != nil {
		p.log.Error("the windows to be pinned", "error", err)
		return nil
	}
	var list []wish
	for i := range found.Phases {
		phase := &found.Phases[i]
		begins := phase.Threads[0].Begins
		if phase.Iterations < leastIterations || len(begins) != phase.Iterations+1 {
			continue
		}
		at := nearest(phase.IterationNS, phase.MedianNS)
		now := kind{s.kind(begins[at], begins[at+1]), phase.MedianNS}
		if w := s.windows(begins[at], begins[min(at+together, phase.Iterations)]); !slices.ContainsFunc(p.kinds, now.like) && len(p.kinds) < mostKinds && len(w) <= mostWindows {
			p.kinds = append(p.kinds, now)
			list = append(list, wish{w, fmt.Sprintf("represents %d iterations of %v, by rank %d", phase.Iterations, time.Duration(phase.MedianNS), s.rank)})
		}
		for k, ns := range phase.IterationNS {
			w := s.windows(begins[k], begins[k+1])
			if ns < farFactor*phase.MedianNS || len(p.far) >= mostFar || len(w) == 0 || len(w) > mostWindows || p.far[w[0]] {
				continue
			}
			p.far[w[0]] = true
			list = append(list, wish{w, fmt.Sprintf("an iteration of %v on rank %d, median %v", time.Duration(ns), s.rank, time.Duration(phase.MedianNS))})
		}
	}
	return list
}

// like reports whether iterations of both are those of one phase, as far as a look at one rank shows.
func (k kind) like(o kind) bool {
	return k.calls == o.calls && float64(max(k.medianNS, o.medianNS)) <= alike*float64(min(k.medianNS, o.medianNS))
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
