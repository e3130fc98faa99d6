package uplink

import (
	"context"

	moriensv1 "moriens/proto/moriens/v1"
)

// probes is how many exchanges a round has. The quickest is kept: it waited least, and leaves least open.
const probes = 8

// A round is a few exchanges with the collector, one after the other.
type round struct {
	clock  moriensv1.Clock
	read   func() (uint64, error) // nil: there is no round
	left   int                    // probes to be sent
	number uint64                 // of the latest probe
	sent   uint64                 // ticks when it was; 0 = it has its reply, or will have none
	best   *moriensv1.ClockExchange
}

// Exchange begins a round of exchanges, which compare a clock with the collector's, if none is under way. read
// reads the clock. Exchanged gives the round's result.
func (u *Uplink) Exchange(clock moriensv1.Clock, read func() (uint64, error)) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.round.read != nil {
		return false
	}
	u.round = round{clock: clock, read: read, left: probes, number: u.round.number}
	u.changed.Broadcast()
	return true
}

// Exchanged returns the results of the rounds that have ended since it was last called.
func (u *Uplink) Exchanged() []*moriensv1.ClockExchange {
	u.mu.Lock()
	defer u.mu.Unlock()
	results := u.results
	u.results = nil
	return results
}

// AwaitExchange waits until no round is under way, ctx ends, or the collector has refused this agent.
func (u *Uplink) AwaitExchange(ctx context.Context) {
	defer context.AfterFunc(ctx, u.wake)()
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.round.read != nil && u.fatal == nil && ctx.Err() == nil {
		u.changed.Wait()
	}
}

// due reports whether a probe can be sent.
func (r *round) due() bool { return r.read != nil && r.left > 0 && r.sent == 0 }

// again makes up for a probe that went with a stream that broke.
func (r *round) again() {
	if r.sent != 0 {
		r.sent = 0
		r.left++
	}
}

// probe makes the next probe, with u.mu held; nil ends the round, for the clock cannot be read.
func (u *Uplink) probe() *moriensv1.ReportRequest {
	r := &u.round
	r.left--
	r.number++
	var err error
	if r.sent, err = r.read(); err != nil || r.sent == 0 {
		u.endRound()
		return nil
	}
	return &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_ClockProbe{ClockProbe: &moriensv1.ClockProbe{Number: r.number}}}
}

// replied takes a probe's reply.
func (u *Uplink) replied(reply *moriensv1.ClockReply) {
	u.mu.Lock()
	r := &u.round
	if r.read == nil || r.sent == 0 || reply.Number != r.number {
		u.mu.Unlock()
		return
	}
	now, err := r.read()
	e := &moriensv1.ClockExchange{
		Clock: r.clock, SentTicks: r.sent, ReceivedTicks: reply.ReceivedTicks, RepliedTicks: reply.RepliedTicks, ReturnedTicks: now,
		Collector: reply.Collector,
	}
	r.sent = 0
	if err == nil && (r.best == nil || now-e.SentTicks < r.best.ReturnedTicks-r.best.SentTicks) {
		r.best = e
	}
	if r.left > 0 && err == nil {
		u.changed.Broadcast()
		u.mu.Unlock()
		return
	}
	if r.best != nil {
		u.results = append(u.results, r.best)
	}
	u.endRound()
	u.mu.Unlock()
}

// endRound makes room for the next round, with u.mu held.
func (u *Uplink) endRound() {
	u.round = round{number: u.round.number}
	u.changed.Broadcast()
}
