package cells

import (
	"errors"
	"fmt"
	"time"

	"moriens/internal/relay"
	moriensv1 "moriens/proto/moriens/v1"
)

// errEnded is why the work of a team does not continue: the collector has begun other work.
var errEnded = errors.New("cells: the team's work has ended")

// stillEvery is how often an agent that is at work says so: the collector gives up on one that is silent for 20 s.
var stillEvery = 4 * time.Second

// mostGiven bounds the result of one call, in bytes.
const mostGiven = 1 << 33

// A teamwork is this agent's part in the work of a team. The work itself runs in a separate goroutine, up to the next
// call.
type teamwork struct {
	run   uint64
	calls chan relay.Call // that the work makes; the last one is done
	given chan []byte     // their results
	quit  chan struct{}
	found *outcome // once the work is done; nil with an error
	err   error

	step   uint32     // how many calls were reported
	latest relay.Call // the last one reported
	parts  []byte     // of the result, as far as they have arrived
	whole  bool       // all of that was handed on, and another call is due
}

// Call implements relay.Caller, for the work.
func (w *teamwork) Call(c relay.Call) ([]byte, error) {
	select {
	case w.calls <- c:
	case <-w.quit:
		return nil, errEnded
	}
	select {
	case given := <-w.given:
		return given, nil
	case <-w.quit:
		return nil, errEnded
	}
}

// begin has work done for a team.
func (w *teamwork) begin(work func(relay.Caller) (*outcome, error)) {
	w.calls, w.given, w.quit = make(chan relay.Call), make(chan []byte), make(chan struct{})
	go func() {
		w.found, w.err = guarded(func() (*outcome, error) { return work(w) })
		select {
		case w.calls <- relay.Call{Op: moriensv1.CellsCall_OP_DONE}:
		case <-w.quit:
		}
	}()
}

// guarded turns a panic over malformed input from the network into an error.
func guarded(work func() (*outcome, error)) (f *outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("cells: the team's messages are inconsistent: %v", p)
		}
	}()
	return work()
}

// team continues a team's work, and answers with the next call.
func (k *Store) team(ask *moriensv1.CellsTeam, to *reply) error {
	w := k.work
	switch {
	case w == nil || ask.Run != w.run:
		if ask.Step != 0 || ask.Begin == nil {
			return fmt.Errorf("cells: step %d of team %d, whose work has not begun here", ask.Step, ask.Run)
		}
		k.endWork()
		m, err := k.newMember(ask.Begin)
		if err != nil {
			return err
		}
		w = &teamwork{run: ask.Run, whole: true}
		w.begin(m.find)
		k.work = w
	case ask.Step > w.step || ask.Step+1 < w.step:
		return fmt.Errorf("cells: step %d of team %d, which is at step %d", ask.Step, ask.Run, w.step)
	case ask.Step == w.step:
		if w.latest.Op == moriensv1.CellsCall_OP_DONE {
			return fmt.Errorf("cells: step %d of team %d, which is done", ask.Step, ask.Run)
		}
		if !w.whole { // else it was handed on, and the answer broke off
			if err := w.take(ask); err != nil || !w.whole {
				return err
			}
		}
	}
	if w.whole {
		if err := w.next(to); err != nil {
			return err
		}
	}
	return w.send(to)
}

// take takes a part of the latest call's result, and hands the result on with the last part. Parts may recur.
func (w *teamwork) take(ask *moriensv1.CellsTeam) error {
	switch end := ask.At + uint64(len(ask.Given)); {
	case ask.At > uint64(len(w.parts)) || end > mostGiven:
		return fmt.Errorf("cells: step %d: %d bytes after the first %d, of which %d were received", ask.Step, len(ask.Given), ask.At, len(w.parts))
	case end > uint64(len(w.parts)):
		w.parts = append(w.parts[:ask.At], ask.Given...)
	}
	if !ask.More {
		w.whole = true
		w.given <- w.parts
		w.parts = nil
	}
	return nil
}

// next waits for the next call, and reports in that time that one is expected.
func (w *teamwork) next(to *reply) error {
	tick := time.NewTicker(stillEvery)
	defer tick.Stop()
	for {
		select {
		case w.latest = <-w.calls:
			w.step++
			w.whole = false
			return nil
		case <-tick.C:
			if err := to.call(new(moriensv1.CellsCall)); err != nil {
				return err
			}
		}
	}
}

// send sends the latest call, in parts.
func (w *teamwork) send(to *reply) error {
	c := &w.latest
	if c.Op == moriensv1.CellsCall_OP_DONE && w.err != nil {
		return w.err
	}
	for data := c.Data; ; {
		n := min(len(data), partBytes)
		if err := to.call(&moriensv1.CellsCall{Op: c.Op, Width: uint32(c.Width), Data: data[:n]}); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

func (r *reply) call(c *moriensv1.CellsCall) error {
	return r.send(&moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Call{Call: c}})
}

// endWork ends the current work of a team.
func (k *Store) endWork() {
	if k.work != nil {
		close(k.work.quit)
		k.work = nil
	}
}

// outcome is what the latest team has found here, unless labels were given since.
func (k *Store) outcome() *outcome {
	if k.work == nil || k.work.latest.Op != moriensv1.CellsCall_OP_DONE {
		return nil
	}
	return k.work.found
}
