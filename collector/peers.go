package collector

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"slices"
	"sync"
	"time"

	"moriens/collector/health"
	"moriens/collector/live"
	"moriens/collector/meter"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// roundEvery is the time between two rounds, in which the collectors of a run exchange their states.
const roundEvery = 250 * time.Millisecond

// peers are the collectors of a run that has several, as one of them sees them. Each has its own agents; the first
// assigns agents to collectors, has the live clusters of all, is whom the user talks to, and decides for all when the
// run ends. They talk in rounds: in one each reports its state to the first, and the first sends its orders to each.
type peers struct {
	team  team.Team
	live  *live.Live
	start string // names this start of them

	rounds sync.Once
	ended  chan struct{} // closed when there are no more rounds
	linked chan struct{} // closed when no more counters are compared

	mu     sync.Mutex
	turns  int    // rounds that were completed
	orders orders // of the first, for the next round
	by     string // what ended it
	err    error  // why there are no more rounds, where the run is not over
	asked  string // a signal that asked this one for the end of the run
	// links compare this one's counter with that of the first, where that is another.
	links []*moriensv1.ShareLink
	// redirected counts agents that asked here and belong elsewhere.
	redirected uint64

	// Of the first collector.
	assignments map[uint64]*assignment // of agents, by id
	assigned    []int                  // agents by collector
	reports     []report               // of all, by rank; its own remains empty
	endAsked    chan struct{}          // holds a token when another one was asked for the end
}

// An assignment is the collector that an agent belongs to.
type assignment struct {
	member    int
	since     time.Time
	connected bool
}

// A report is how a collector is.
type report struct {
	Page     health.Page
	Agents   []uint64 // that have arrived
	Expected int      // of them to be waited for
	Asked    string
	Live     *live.Share // nil: nothing new
	Measured *measured   // nil: nothing new
}

// orders are what the first collector has another one do.
type orders struct {
	Finish bool // its agents are to end
	Over   bool // nothing more is taken, and there is no other round
	By     string
	Keep   []keep
	Live   live.Terms
	// Stretch is the part of the run whose efficiency is measured.
	Stretch meter.Stretch
}

// A keep has agents hold windows.
type keep struct {
	Why       moriensv1.Keep_Why
	Reason    string
	Windows   []anchor.ID
	Processes []uint64 // none: all
}

func newPeers(t team.Team, l *live.Live, start string) *peers {
	return &peers{
		team: t, live: l, start: start, ended: make(chan struct{}), linked: make(chan struct{}), assignments: make(map[uint64]*assignment), assigned: make([]int, t.Size()),
		reports: make([]report, t.Size()), endAsked: make(chan struct{}, 1),
	}
}

// first reports whether this is the collector that decides for all.
func (w *peers) first() bool { return w.team.Rank() == 0 }

// settle reports to the first collector which agents are whose, as the journals have it.
func (w *peers) settle(mine []uint64) error {
	all, err := team.Gather(w.team, mine)
	if err != nil {
		return err
	}
	for member, ids := range all {
		for _, id := range ids {
			if b := w.assignments[id]; b != nil {
				return fmt.Errorf("the journals of collectors %d and %d both have agent %016x", b.member, member, id)
			}
			w.assignments[id] = &assignment{member: member, connected: true}
		}
		w.assigned[member] = len(ids)
	}
	return nil
}

// place says to which collector an agent belongs that the one it asks does not know; nil: to that one.
func (w *peers) place(h *moriensv1.Hello) *moriensv1.Redirect {
	to := 0
	switch {
	case w.first():
		to = w.assign(h.Agent)
	case h.Start == w.start && int64(h.Member) == int64(w.team.Rank()):
		return nil // the first has sent it
	}
	if to == w.team.Rank() {
		return nil
	}
	w.mu.Lock()
	w.redirected++
	w.mu.Unlock()
	return &moriensv1.Redirect{Member: uint32(to), Start: w.start}
}

// sentOn is the number of agents that asked here and belong elsewhere.
func (w *peers) sentOn() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.redirected
}

// assign gives an agent to the collector that has the fewest, if it is none's yet.
func (w *peers) assign(agent uint64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.assignments[agent]
	if b == nil {
		b = &assignment{member: slices.Index(w.assigned, slices.Min(w.assigned)), since: time.Now()}
		w.assignments[agent] = b
		w.assigned[b.member]++
	}
	return b.member
}

// take processes a report of another collector at the first one.
func (w *peers) take(member int, r report) {
	if r.Live != nil {
		w.live.Merge(member, r.Live)
		r.Live = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Measured == nil {
		r.Measured = w.reports[member].Measured
	}
	w.reports[member] = r
	for _, id := range r.Agents {
		if b := w.assignments[id]; b != nil {
			b.connected = true
		}
	}
	if r.Asked != "" && w.asked == "" {
		w.asked = r.Asked
		select {
		case w.endAsked <- struct{}{}:
		default:
		}
	}
}

// attendance adds to the first collector's own counts those of the others, as of the last round: agents that were
// redirected to one of them, and have not connected there, are expected as if they had just left.
func (w *peers) attendance(grace time.Duration) (connected, expected int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.reports {
		if i == w.team.Rank() {
			continue
		}
		connected += len(r.Agents)
		expected += r.Expected
	}
	for _, b := range w.assignments {
		if !b.connected && b.member != w.team.Rank() && time.Since(b.since) < grace {
			expected++
		}
	}
	return connected, expected
}

// others are the reports of the other collectors.
func (w *peers) others() []report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Delete(slices.Clone(w.reports), w.team.Rank(), w.team.Rank()+1)
}

// exchange is one round.
func (w *peers) exchange(mine report) (given orders, err error) {
	parts := make([][]byte, w.team.Size())
	if w.first() {
		w.mu.Lock()
		given = w.orders
		w.orders.Keep = nil
		w.mu.Unlock()
		given.Live = w.live.Terms()
		text, err := encode(given)
		if err != nil {
			return given, err
		}
		for i := 1; i < len(parts); i++ {
			parts[i] = text
		}
	} else if parts[0], err = encode(mine); err != nil {
		return given, err
	}
	received, err := w.team.AllToAll(parts)
	if err != nil {
		return given, err
	}
	if !w.first() {
		return given, decode(received[0], &given)
	}
	for i := 1; i < len(received); i++ {
		var r report
		if err := decode(received[i], &r); err != nil {
			return given, fmt.Errorf("collector %d: %w", i, err)
		}
		w.take(i, r)
	}
	return given, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func decode(text []byte, v any) error { return gob.NewDecoder(bytes.NewReader(text)).Decode(v) }

// order changes the first collector's orders for the next round.
func (w *peers) order(change func(*orders)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.orders)
}

// finish ends the rounds: the run is over, or err says why they cannot continue.
func (w *peers) finish(by string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by, w.err = by, err
	close(w.ended)
}

// Join begins to work together with the other collectors of the run, if it has any. All of them call it, once agents
// can find them.
func (c *Collector) Join() {
	if c.peers != nil {
		c.peers.rounds.Do(func() {
			go c.rounds()
			go c.compare()
		})
	}
}

// rounds takes part in the rounds until the run is over, or another collector is lost.
func (c *Collector) rounds() {
	for {
		select {
		case <-c.end.ordered:
			c.peers.order(func(o *orders) { o.Finish = true })
		default:
		}
		given, err := c.peers.exchange(c.report())
		if err != nil {
			c.peers.finish("", fmt.Errorf("another collector of the run is lost: %w", err))
			return
		}
		c.peers.mu.Lock()
		c.peers.turns++
		c.peers.mu.Unlock()
		c.obey(given)
		c.stirs.stir()
		if given.Over {
			c.peers.finish(given.By, nil)
			return
		}
		time.Sleep(roundEvery)
	}
}

// report is what this collector reports to the first one.
func (c *Collector) report() report {
	if c.peers.first() {
		return report{}
	}
	r := report{Page: c.ownPage(), Live: c.live.Shared(), Measured: c.gauge.news()}
	r.Agents, r.Expected = c.store.AgentIDs(c.grace)
	c.peers.mu.Lock()
	r.Asked = c.peers.asked
	c.peers.mu.Unlock()
	return r
}

// obey does what the first collector says.
func (c *Collector) obey(given orders) {
	if c.peers.first() {
		return // it has done so
	}
	if given.Finish {
		c.Finish()
	}
	c.live.Heed(given.Live)
	c.gauge.heed(given.Stretch)
	for _, k := range given.Keep {
		go func() {
			ctx, cancel := context.WithTimeout(c.taking, keepGrace)
			defer cancel()
			c.requester.Keep(ctx, k.Why, k.Reason, k.Windows, k.Processes...)
		}()
	}
}

// keepGrace is how long agents may take to report on windows that they are to hold.
const keepGrace = 10 * time.Second

// peersRequester sends requests to the agents of all collectors.
type peersRequester struct{ *Collector }

// Keep has the agents of all collectors hold windows, and reports the outcome at those of this one.
func (d peersRequester) Keep(ctx context.Context, why moriensv1.Keep_Why, reason string, list []anchor.ID, processes ...uint64) []windows.Kept {
	if d.peers != nil {
		d.peers.order(func(o *orders) { o.Keep = append(o.Keep, keep{why, reason, list, processes}) })
	}
	return d.requester.Keep(ctx, why, reason, list, processes...)
}

// Team is this collector among those of the run.
func (c *Collector) Team() team.Team {
	if c.peers == nil {
		return team.Solo{}
	}
	return c.peers.team
}

// Ask informs the collector that decides that this one was asked to end the run, by a signal.
func (c *Collector) Ask(by string) {
	c.peers.mu.Lock()
	defer c.peers.mu.Unlock()
	if c.peers.asked == "" {
		c.peers.asked = by
	}
}

// Asked has a token when another collector of the run was asked to end it, and By says by which signal; nil where there
// is no other.
func (c *Collector) Asked() <-chan struct{} {
	if c.peers == nil {
		return nil
	}
	return c.peers.endAsked
}

// By is the signal by which some collector of the run was asked to end it.
func (c *Collector) By() string {
	c.peers.mu.Lock()
	defer c.peers.mu.Unlock()
	return c.peers.asked
}

// Complete waits until all collectors of the run have shown that they still exist, and reports whether that is so. A
// launcher sends SIGTERM to those that are left when one was killed: that must not end the measurement of a run that
// will be resumed. Of the next three rounds the first may be under way, and for the second another collector may have
// sent its part before.
func (c *Collector) Complete() bool {
	if c.peers == nil {
		return true
	}
	done := func() int {
		c.peers.mu.Lock()
		defer c.peers.mu.Unlock()
		return c.peers.turns
	}
	for last := done() + 3; done() < last; {
		select {
		case <-c.peers.ended:
			return false
		case <-time.After(roundEvery / 4):
		}
	}
	return true
}

// Adjourned is closed when the run is over for all its collectors, or one of them is lost; nil where there is but one.
// Verdict says which.
func (c *Collector) Adjourned() <-chan struct{} {
	if c.peers == nil {
		return nil
	}
	return c.peers.ended
}

// Verdict says, once Adjourned is closed, what ended the run before its ranks did, empty where nothing did, or how the
// other collectors were lost.
func (c *Collector) Verdict() (by string, err error) {
	c.peers.mu.Lock()
	defer c.peers.mu.Unlock()
	return c.peers.by, c.peers.err
}

// adjourn has the first collector end the run for all of them, and returns when all know, or there are none any more.
func (w *peers) adjourn(by string) {
	if w.first() {
		w.order(func(o *orders) { o.Over, o.By = true, by })
	}
	<-w.ended
}
