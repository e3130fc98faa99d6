package agent

import (
	"context"
	"runtime/debug"
	"slices"
	"time"
)

const (
	// pollMin and pollMax bound the time between two looks at the rings. Half of a ring of the usual size holds 16,384
	// slots: a rank that was quiet and begins to fill 4 million slots a second leaves the reader 4 ms from when it rings.
	pollMin = 500 * time.Microsecond
	pollMax = time.Second
	// pollFull is pollMax where the spool has no room: nothing else shows when it has some again.
	pollFull = 100 * time.Millisecond
	// pollDeaf is pollMax where ranks cannot ring, and where all processes have ended, one of them has, or the job has.
	pollDeaf = 8 * time.Millisecond
	// pollFill is how full, 0 to 1, the fullest ring is to be at the next look if it fills as fast as before: then writers
	// seldom ring the bell, and what is read is enough for a transaction (releaseShare).
	pollFill = 3. / 8
)

// watch looks at the rings again and again until the job is over and all its processes have ended.
func (n *Node) watch(ctx context.Context) {
	var (
		looked    = time.Now() // at the rings
		timer     = time.NewTimer(0)
		procs     = newProcs(n.config.Procs, looked)
		nextScan  time.Time
		over      = n.over
		overSince time.Time // zero until the job is over
	)
	defer procs.end()
	n.lastSeen = time.Now()
	var err error
	if n.bell, err = n.directory.Bell(); err != nil {
		n.config.Log.Info("ranks cannot wake the agent: it polls their ring buffers more often", "error", err)
	}
	defer n.bell.Close()
	// Truncation of a mapped file is a fault, which read turns into an error.
	debug.SetPanicOnFault(true)
	for {
		now := time.Now()
		if !now.Before(nextScan) {
			n.scan()
			nextScan = now.Add(scanEvery)
		}
		fullest := n.drain()
		worked := time.Now()
		procs.worked(worked.Sub(now), fullest, worked)
		switch {
		case len(n.agents) > 0:
			n.lastSeen = now
			if n.stuck(now) {
				n.leave()
				if n.config.Idle > 0 {
					return
				}
			}
			if !overSince.IsZero() && now.Sub(overSince) > n.grace() {
				n.leave()
				return
			}
		case !overSince.IsZero():
			return
		case n.config.Idle > 0 && !n.started:
			n.alone(now.Sub(n.lastSeen))
		case n.config.Idle > 0 && now.Sub(n.lastSeen) > n.config.Idle:
			return
		}
		timer.Reset(nextPoll(now.Sub(looked), fullest, n.longestPoll(now, !overSince.IsZero())))
		looked = now
		select {
		case <-timer.C:
		case <-n.bell.Rung():
		case <-n.bell.News():
			nextScan = now
		case <-n.up.Finish():
			n.scan()
			n.leave()
			return
		case <-n.up.Over():
			n.scan()
			n.leave()
			return
		case <-over:
			over, overSince = nil, time.Now()
			nextScan = overSince // a process may have arrived since the last scan
		case <-ctx.Done():
			return
		}
	}
}

// aloneAfter is how long an agent that waits for ranks says nothing.
const aloneAfter = time.Minute

// alone says once that no rank has come in all the time that was waited: a job whose ranks are not recorded looks the
// same as one that has not begun.
func (n *Node) alone(waited time.Duration) {
	if waited < aloneAfter || n.saidAlone {
		return
	}
	n.saidAlone = true
	n.config.Log.Error("no rank has appeared on this node; only ranks whose environment has LD_PRELOAD and MORIENS_RUN are recorded (moriens env)", "waited", aloneAfter)
}

// longestPoll is how long to wait for the next look at most.
func (n *Node) longestPoll(now time.Time, over bool) time.Duration {
	if over || n.bell == nil || n.started && len(n.agents) == 0 {
		return pollDeaf
	}
	for _, a := range n.agents {
		if a.ended {
			return pollDeaf
		}
	}
	if n.stalled != nil || !n.full.since.IsZero() {
		return pollFull
	}
	return min(pollMax, n.clocksIn(now))
}

// nextPoll is how long to wait for the next look at the rings, no longer than longest, when after the last wait the
// fullest was so full, 0–1. The time shrinks at once and grows little by little: bursts of calls follow each other.
func nextPoll(last time.Duration, fullest float64, longest time.Duration) time.Duration {
	next := min(max(last, pollMin)*3/2, longest)
	if fullest > 0 {
		next = time.Duration(min(float64(next), float64(last)*pollFill/fullest))
	}
	return max(next, pollMin)
}

// grace is how long the end of the job may be ago: processes that have ended wait for room in the spool alone.
func (n *Node) grace() time.Duration {
	for _, a := range n.agents {
		if !a.ended {
			return n.config.Grace
		}
	}
	return max(n.config.Grace, n.flushGrace())
}

// drain reads all rings and returns how full the fullest was, 0–1. Where the spool has no room the
// rings wait, and drop in the end.
func (n *Node) drain() (fullest float64) {
	n.readClocks()
	n.sendScheduling()
	defer n.commitDue()
	if !n.room() {
		return 0 // looking more often does not help
	}
	defer n.stand(time.Now())
	for _, a := range n.agents {
		if a.out.ended {
			continue
		}
		now, err := uint64(0), error(nil)
		if len(a.threads) > 1 {
			now, err = n.config.Clocks.Now(a.process.Clock)
		}
		for _, t := range a.threads {
			if !n.room() {
				return 0
			}
			fullest = max(fullest, t.fill())
		}
		n.readThreads(a, n.room)
		if len(a.threads) > 1 && err == nil {
			n.order(a, now)
		}
	}
	return fullest
}

// readThreads reads the rings of a process until they are empty. The next one is always the one that was read up to the
// earliest time. A transaction that is made in between then has the events of all threads until about the same time,
// which are in the same windows, and what threads do to each other's requests arrives in order.
func (n *Node) readThreads(a *Process, room func() bool) {
	for more := slices.Clone(a.threads); len(more) > 0 && room(); {
		at, earliest := 0, more[0].former.Until()
		for i, t := range more[1:] {
			if until := t.former.Until(); until < earliest {
				at, earliest = i+1, until
			}
		}
		if !n.read(a, more[at]) {
			more = slices.Delete(more, at, at+1)
			continue
		}
		n.commitIfDue(a)
	}
}
