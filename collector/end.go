package collector

import (
	"context"
	"time"

	"moriens/collector/store"
)

// attendEvery is how often those who wait for agents look whether the time has made a difference.
const attendEvery = time.Second

// WaitFinished waits, after Finish, until all agents that have connected, or are expected, and are not lost are done,
// or ctx ends.
func (c *Collector) WaitFinished(ctx context.Context) error { return c.wait(ctx, c.idle) }

// WaitAgents waits until at least one agent has connected, or as many as are expected, and all connected ones are done
// or lost, or ctx ends. All they sent that is still here is safe then.
func (c *Collector) WaitAgents(ctx context.Context) error { return c.wait(ctx, c.alone) }

// idle reports whether all expected agents have connected, and none of them has anything to send or waits until its
// data is safe.
func (c *Collector) idle() bool {
	_, idle := c.attendance()
	return idle
}

func (c *Collector) attendance() (connected int, idle bool) {
	connected, expected := c.store.Attendance(c.grace)
	if c.peers != nil {
		elsewhere, more := c.peers.attendance(c.grace)
		connected, expected = connected+elsewhere, expected+more
	} else if c.resumed && time.Since(c.started) > c.grace {
		// All may have been over when the collector before was killed. An agent that is started for the run now waits for
		// ranks, as we would for it.
		expected -= c.store.Deserted(c.grace)
	}
	return connected, connected >= c.agents && expected == 0
}

// alone reports whether there is no agent to wait for.
func (c *Collector) alone() bool {
	if c.Over() {
		return true
	}
	connected, idle := c.attendance() // both at once: an agent that connects between two looks would be missed by the first
	if !idle {
		return false
	}
	if !c.resumed {
		return connected > 0
	}
	// Where the agent was in the process that was killed, it is possible that none ever connects.
	lost := len(c.journal.Begin().Command) > 0 && time.Since(c.started) > c.grace
	return (connected > 0 || lost) && time.Since(c.started) > min(returnGrace, c.grace)
}

// wait waits until something is over that depends on agents and on the time.
func (c *Collector) wait(ctx context.Context, over func() bool) error {
	tick := time.NewTicker(attendEvery)
	defer tick.Stop()
	for {
		stirred := c.stirs.wait() // before the look, which what comes after it changes
		if over() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stirred:
		case <-tick.C:
		}
	}
}

// Freeze ends the intake and returns all that arrived: what agents send from now on is refused, and not part of the
// run. by is what ended the run before its ranks did, empty where nothing did. Requests for the state of the run are
// answered until Close. Of several collectors each returns what it has received, after Join.
func (c *Collector) Freeze(by string) store.Frozen {
	c.end.analysing()
	if c.peers != nil {
		c.peers.adjourn(by)
	}
	c.stop()
	defer c.requester.Freeze()
	ctx, cancel := context.WithTimeout(context.Background(), safeGrace)
	defer cancel()
	frozen, err := c.journal.Finish(ctx, c.clock.sample(c.log), by)
	if err != nil {
		c.log.Error("the journal lacks the last messages; the results contain them", "error", err)
	}
	c.live.Finish()
	if c.pins != nil {
		c.pins.Finish()
	}
	c.gauge.finish(c.peers == nil)
	frozen.Links = c.compared()
	return frozen
}

// Release lets the agents go that are done: none of them is asked for windows any more. It returns when they have left,
// or if that takes long. One that was killed when it was done may be started again: it learns that all is there, and
// need not keep it.
func (c *Collector) Release() {
	c.releaseOnce.Do(func() { close(c.released) })
	ctx, cancel := context.WithTimeout(context.Background(), releaseGrace)
	defer cancel()
	if err := c.wait(ctx, func() bool { return c.store.Staying() == 0 && c.store.CutOff() == 0 }); err != nil {
		c.log.Warn("agents that may leave are still connected, or have not reconnected", "here", c.store.Staying(), "missing", c.store.CutOff())
	}
}

// AwaitReturn waits until the agents that are done have connected again to a restarted collector, or ctx ends: as long
// as they are connected they can be asked for windows.
func (c *Collector) AwaitReturn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, returnGrace)
	defer cancel()
	done := c.store.Totals().AgentsDone
	if err := c.wait(ctx, func() bool { return c.store.Staying() == done }); err != nil {
		c.log.Info("not all agents reconnected", "back", c.store.Staying(), "of", done)
	}
}

// Discard removes the journals of all collectors, between Freeze and Close: the results are written, or are not wanted.
func (c *Collector) Discard() error { return discard(c.Team(), c.journal) }

// silence takes nothing more from anybody.
func (c *Collector) silence() {
	c.stop()
	c.admission.Close()
	if c.web != nil {
		c.web.Close()
	}
	c.server.Stop()
	c.tasks.Wait()
}

// Close reports to those who wait how the run has ended, stops listening, and leaves the journal, if it is there.
// Without Freeze before it leaves the run as well, for another collector to resume.
func (c *Collector) Close(outcome Outcome) {
	c.stop()
	c.end.conclude(outcome)
	c.silence()
	if err := c.journal.Close(); err != nil {
		c.log.Error("the journal", "error", err)
	}
	for cause, n := range c.admission.Refused() {
		c.log.Warn("rejected", "cause", cause, "times", n)
	}
}
