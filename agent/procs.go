package agent

import (
	"runtime"
	"time"
)

const (
	// Go's scheduler wakes another thread for whatever becomes ready, which looks for more and sleeps again. An agent that
	// has little to do takes a quarter less of the processor on one; one that has much to do needs others for compressing,
	// sorting and sending.
	fewProcs, manyProcs = 1, 4
	// procsBusy and procsIdle are the shares of the time in which rings are read and committed from which on, and below
	// which, there are many and few.
	procsBusy, procsIdle = .5, .1
	// procsFull is how full a ring is, 0 to 1, from which on there are many at once.
	procsFull = .75
	// procsEvery is over how long they are taken.
	procsEvery = 500 * time.Millisecond
)

// procs sets how many threads run Go code at a time.
type procs struct {
	set    func(n int) (before int) // runtime.GOMAXPROCS; nil: that is not ours to set
	before int
	many   bool
	since  time.Time
	busy   time.Duration
}

// newProcs begins with few.
func newProcs(set func(int) int, now time.Time) *procs {
	p := &procs{set: set, since: now}
	if set != nil {
		p.before = set(fewProcs)
	}
	return p
}

// worked says that work with the rings has ended now and took so long, and how full the fullest was, 0 to 1.
func (p *procs) worked(took time.Duration, fullest float64, now time.Time) {
	p.busy += took
	past := now.Sub(p.since)
	whole := past >= procsEvery
	share := float64(p.busy) / float64(max(past, procsEvery))
	if p.set != nil {
		switch {
		case !p.many && (fullest >= procsFull || share >= procsBusy):
			p.many = true
			p.set(min(manyProcs, runtime.NumCPU()))
		case p.many && whole && fullest < procsFull && share < procsIdle:
			p.many = false
			p.set(fewProcs)
		}
	}
	if whole {
		p.since, p.busy = now, 0
	}
}

// end leaves things as they were.
func (p *procs) end() {
	if p.set != nil {
		p.set(p.before)
	}
}
