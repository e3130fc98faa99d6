package windows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// awayGrace is how long an agent may have no stream before it counts as one that cannot be asked: one whose stream
	// broke tries every two seconds.
	awayGrace = 10 * time.Second
	// silence is how long an agent that was asked may say nothing. What takes it longest is to relabel all of its bursts.
	silence = 20 * time.Second
	// lookEvery is the time between two looks whether an agent that was asked is still there.
	lookEvery = 250 * time.Millisecond
)

// errAway and errSilent are why an agent that may return does not answer.
var (
	errAway   = fmt.Errorf("the agent has had no stream for %v", awayGrace)
	errSilent = fmt.Errorf("the agent has said nothing for %v", silence)
)

// here reports whether an agent can be asked: it has a stream, or had one just now and may have another.
func (a *agent) here() bool { return a.line != nil || !a.done && time.Since(a.left) < awayGrace }

// IDs lists the agents that can be asked.
func (d *Requester) IDs() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []uint64
	for id, a := range d.agents {
		if a.here() {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Ask asks an agent about its micro-cells. Once all of the answer is there take gets its parts in order. Of an answer
// that broke off and was requested again no part is delivered twice. An error of the agent is returned after them.
// ErrGone: it has ended. One that is away or silent for long is not waited for.
func (d *Requester) Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	waiting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go d.attend(waiting, agent, giveUp)
	r := d.askThese(waiting, question{cells: ask}, []uint64{agent})[agent]
	if r.err != nil {
		return cmp.Or(context.Cause(waiting), r.err)
	}
	for _, part := range r.cellParts {
		if err := take(part); err != nil {
			return err
		}
	}
	return errorOf(nil, r.cellParts[len(r.cellParts)-1].Error)
}

// attend gives up on an agent that is away or silent for too long, until ctx ends.
func (d *Requester) attend(ctx context.Context, agent uint64, giveUp func(error)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		a := d.agents[agent]
		switch {
		case a == nil:
		case !a.here():
			giveUp(errAway)
		case a.line != nil && len(a.queue) > 0 && time.Since(a.queue[0].active) > silence:
			giveUp(errSilent)
		}
		d.mu.Unlock()
	}
}

// FetchAll gets all that is held of processes, which are named, from all agents that keep their bursts: sections of
// calls and of moves. Where windows are gone their rows are missing.
func (d *Requester) FetchAll(ctx context.Context, processes ...uint64) []Fetched {
	if len(processes) == 0 {
		return nil
	}
	return d.fetch(ctx, &moriensv1.Fetch{Process: processes, Everything: true})
}
