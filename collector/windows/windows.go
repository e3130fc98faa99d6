// Package windows sends requests to agents: to hold windows of full detail, to send some, and to describe the
// micro-cells of their bursts.
//
// A Requester knows the open streams. A request goes out with the agent's next response, one at a time. If the stream
// breaks before the whole answer has arrived, the request is repeated on the next stream. An answer is kept in memory
// until it is complete: request only what there is memory for.
package windows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// ErrGone is why an agent does not answer any more: it has ended.
var ErrGone = errors.New("the agent has ended")

// A Key names one window of one process.
type Key struct {
	Process uint64
	Window  anchor.ID
}

// A Kept is the outcome of a Keep on one node.
type Kept struct {
	Agent uint64
	Held  uint64 // windows of processes that were there
	Ahead uint64 // those that are outstanding
	Gone  []Key  // those that are evicted
	Err   error
}

// A Fetched is what one node has of windows.
type Fetched struct {
	Agent uint64
	Parts []*moriensv1.WindowPart // by process and window
	Gone  []Key                   // those that are evicted
	Err   error
}

// A Requester sends requests to the agents of a run. Its methods may be called concurrently.
type Requester struct {
	mu     sync.Mutex
	agents map[uint64]*agent
	number uint64
	frozen bool
}

// New returns a Requester without agents.
func New() *Requester { return &Requester{agents: make(map[uint64]*agent)} }

type agent struct {
	id    uint64
	line  *Line     // nil while no stream is open
	left  time.Time // when the last one ended
	done  bool      // it will not reconnect once its stream has ended
	queue []*request
}

// A question is one of these, without its number.
type question struct {
	keep  *moriensv1.Keep
	fetch *moriensv1.Fetch
	cells *moriensv1.CellsAsk
}

func (q question) isKeep() bool  { return q.keep != nil }
func (q question) isFetch() bool { return q.fetch != nil }
func (q question) isCells() bool { return q.cells != nil }

// numbered is the question with its number.
func (q question) numbered(number uint64) question {
	switch {
	case q.keep != nil:
		q.keep = proto.CloneOf(q.keep)
		q.keep.Number = number
	case q.fetch != nil:
		q.fetch = proto.CloneOf(q.fetch)
		q.fetch.Number = number
	default:
		q.cells = proto.CloneOf(q.cells)
		q.cells.Number = number
	}
	return q
}

// A request is asked of one agent; its answer goes to done.
type request struct {
	question
	number uint64
	sent   bool      // on the present stream
	active time.Time // when it was sent there, or a part of its answer arrived
	answer           // that has arrived so far, on the present stream
	done   chan result
}

// An answer is what arrives in parts.
type answer struct {
	parts     []*moriensv1.WindowPart
	cellParts []*moriensv1.CellsAnswer
}

type result struct {
	kept *moriensv1.Kept
	end  *moriensv1.WindowsEnd
	answer
	err error
}

// A Line is one stream of an agent.
type Line struct {
	requester *Requester
	agent     *agent
	wake      func()
}

// Join says that an agent has opened a stream. wake is called when there is something to ask it.
func (d *Requester) Join(id uint64, wake func()) *Line {
	d.mu.Lock()
	a := d.agents[id]
	if a == nil {
		a = &agent{id: id, done: d.frozen} // else it would not have been let in
		d.agents[id] = a
	}
	l := &Line{requester: d, agent: a, wake: wake}
	a.line = l
	for _, r := range a.queue {
		r.sent, r.answer = false, answer{}
	}
	waiting := len(a.queue) > 0
	d.mu.Unlock()
	if waiting {
		wake()
	}
	return l
}

// Freeze says that the run is over. An agent that is not done will not be let in any more: one that has no stream, or
// loses it, has ended.
func (d *Requester) Freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = true
	for _, a := range d.agents {
		a.done = true
		if a.line == nil {
			a.fail()
		}
	}
}

// Leave says that the stream has ended.
func (l *Line) Leave() {
	l.requester.mu.Lock()
	defer l.requester.mu.Unlock()
	if l.agent.line != l {
		return // the agent has another one by now
	}
	l.agent.line, l.agent.left = nil, time.Now()
	if l.agent.done {
		l.agent.fail()
	}
}

// gone reports whether an agent will not recur.
func (a *agent) gone() bool { return a.done && a.line == nil }

// fail ends what an agent that has ended was asked.
func (a *agent) fail() {
	for _, r := range a.queue {
		r.done <- result{err: ErrGone}
	}
	a.queue = nil
}

// Ask puts the next request to the agent into a response, if there is one.
func (l *Line) Ask(response *moriensv1.ReportResponse) {
	l.requester.mu.Lock()
	defer l.requester.mu.Unlock()
	if l.agent.line != l || len(l.agent.queue) == 0 || l.agent.queue[0].sent {
		return
	}
	r := l.agent.queue[0]
	r.sent, r.active = true, time.Now()
	response.Keep, response.Fetch, response.CellsAsk = r.keep, r.fetch, r.cells
}

// Take takes a message if it is an answer, and reports whether it is. What was not asked on this stream is dropped.
func (l *Line) Take(m *moriensv1.ReportRequest) bool {
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_Done:
		l.requester.mu.Lock()
		l.agent.done = true
		l.requester.mu.Unlock()
		return false
	case *moriensv1.ReportRequest_Kept:
		l.answered(b.Kept.Number, question.isKeep, func(*request) result { return result{kept: b.Kept} })
	case *moriensv1.ReportRequest_WindowPart:
		l.requester.mu.Lock()
		if r := l.asked(b.WindowPart.Number, question.isFetch); r != nil {
			r.parts = append(r.parts, b.WindowPart)
		}
		l.requester.mu.Unlock()
	case *moriensv1.ReportRequest_WindowsEnd:
		l.answered(b.WindowsEnd.Number, question.isFetch, func(r *request) result {
			if b.WindowsEnd.Parts != uint64(len(r.parts)) && b.WindowsEnd.Error == "" {
				return result{err: fmt.Errorf("%d parts of windows were sent, %d received", b.WindowsEnd.Parts, len(r.parts))}
			}
			return result{end: b.WindowsEnd, answer: r.answer}
		})
	case *moriensv1.ReportRequest_CellsAnswer:
		l.requester.mu.Lock()
		if r := l.asked(b.CellsAnswer.Number, question.isCells); r != nil {
			r.cellParts, r.active = append(r.cellParts, b.CellsAnswer), time.Now()
		}
		l.requester.mu.Unlock()
		if b.CellsAnswer.Last {
			l.answered(b.CellsAnswer.Number, question.isCells, func(r *request) result { return result{answer: r.answer} })
		}
	default:
		return false
	}
	return true
}

// asked is the request that an answer on this stream is to, if its question is of that kind, with the Requester's lock
// held.
func (l *Line) asked(number uint64, kind func(question) bool) *request {
	if l.agent.line != l || len(l.agent.queue) == 0 {
		return nil
	}
	r := l.agent.queue[0]
	if !r.sent || r.number != number || !kind(r.question) {
		return nil
	}
	return r
}

func (l *Line) answered(number uint64, kind func(question) bool, with func(*request) result) {
	l.requester.mu.Lock()
	r := l.asked(number, kind)
	if r == nil {
		l.requester.mu.Unlock()
		return
	}
	l.agent.queue = l.agent.queue[1:]
	more := len(l.agent.queue) > 0
	l.requester.mu.Unlock()
	r.done <- with(r)
	if more {
		l.wake()
	}
}

// ask asks all agents the same and waits for their answers. Those that have ended do not answer, nor do others when ctx
// ends.
func (d *Requester) ask(ctx context.Context, q question) map[uint64]result {
	d.mu.Lock()
	ids := slices.Collect(maps.Keys(d.agents))
	d.mu.Unlock()
	return d.askThese(ctx, q, ids)
}

// askThese is ask of some agents. An agent that has never connected is as one that has ended.
func (d *Requester) askThese(ctx context.Context, q question, ids []uint64) map[uint64]result {
	d.mu.Lock()
	d.number++
	q = q.numbered(d.number)
	requests := make(map[uint64]*request)
	results := make(map[uint64]result)
	var wake []func()
	for _, id := range ids {
		a := d.agents[id]
		if a == nil || a.gone() {
			results[id] = result{err: ErrGone}
			continue
		}
		r := &request{question: q, number: d.number, active: time.Now(), done: make(chan result, 1)}
		a.queue = append(a.queue, r)
		requests[id] = r
		if a.line != nil {
			wake = append(wake, a.line.wake)
		}
	}
	d.mu.Unlock()
	for _, w := range wake {
		w()
	}
	for id, r := range requests {
		select {
		case results[id] = <-r.done:
		case <-ctx.Done():
			d.forget(id, r)
			results[id] = result{err: ctx.Err()}
		}
	}
	return results
}

// forget takes back a request without a waiter. The one after it can be sent now.
func (d *Requester) forget(id uint64, r *request) {
	d.mu.Lock()
	a := d.agents[id]
	a.queue = slices.DeleteFunc(a.queue, func(o *request) bool { return o == r })
	var wake func()
	if a.line != nil && len(a.queue) > 0 {
		wake = a.line.wake
	}
	d.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// Keep has all agents hold on to windows of processes, of all where none is named, and reports the outcome node by
// node.
func (d *Requester) Keep(ctx context.Context, why moriensv1.Keep_Why, reason string, windows []anchor.ID, processes ...uint64) []Kept {
	var list []Kept
	for id, r := range d.ask(ctx, question{keep: &moriensv1.Keep{Why: why, Reason: reason, Window: numbers(windows), Process: processes}}) {
		k := Kept{Agent: id, Held: r.kept.GetHeld(), Ahead: r.kept.GetAhead(), Err: errorOf(r.err, r.kept.GetError())}
		k.Gone, k.Err = gone(r.kept.GetGoneProcess(), r.kept.GetGoneWindow(), k.Err)
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Compare(a.Agent, b.Agent) })
	return list
}

// Fetch gets windows of processes, of all where none is named, from all agents; where no window is named, only the
// transfers of all windows, in parts that name neither a process nor a window.
func (d *Requester) Fetch(ctx context.Context, windows []anchor.ID, processes ...uint64) []Fetched {
	return d.fetch(ctx, &moriensv1.Fetch{Window: numbers(windows), Process: processes, Transfers: len(windows) == 0})
}

// Calls are some of a ring of an agent: First ≤ row < Behind.
type Calls struct {
	Agent, Ring   uint64
	First, Behind uint64
}

// FetchCalls gets the windows that calls are in, whole, from the agents that have them: which those are, only they
// know.
func (d *Requester) FetchCalls(ctx context.Context, calls []Calls) []Fetched {
	of := make(map[uint64]*moriensv1.Fetch)
	for _, c := range calls {
		f := of[c.Agent]
		if f == nil {
			f = new(moriensv1.Fetch)
			of[c.Agent] = f
		}
		f.Ring, f.FirstRow, f.BehindRow = append(f.Ring, c.Ring), append(f.FirstRow, c.First), append(f.BehindRow, c.Behind)
	}
	answers := make(chan []Fetched, len(of))
	for id, f := range of {
		go func() { answers <- fetched(d.askThese(ctx, question{fetch: f}, []uint64{id})) }()
	}
	var list []Fetched
	for range of {
		list = append(list, <-answers...)
	}
	slices.SortFunc(list, func(a, b Fetched) int { return cmp.Compare(a.Agent, b.Agent) })
	return list
}

func (d *Requester) fetch(ctx context.Context, what *moriensv1.Fetch) []Fetched {
	return fetched(d.ask(ctx, question{fetch: what}))
}

// fetched are agents' answers, in their order.
func fetched(answers map[uint64]result) []Fetched {
	var list []Fetched
	for id, r := range answers {
		f := Fetched{Agent: id, Parts: r.parts, Err: errorOf(r.err, r.end.GetError())}
		f.Gone, f.Err = gone(r.end.GetGoneProcess(), r.end.GetGoneWindow(), f.Err)
		slices.SortStableFunc(f.Parts, func(a, b *moriensv1.WindowPart) int {
			return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Window, b.Window))
		})
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Fetched) int { return cmp.Compare(a.Agent, b.Agent) })
	return list
}

func numbers(windows []anchor.ID) []uint64 {
	list := make([]uint64, len(windows))
	for i, w := range windows {
		list[i] = uint64(w)
	}
	return list
}

// errorOf is an error, or what an agent gives as one.
func errorOf(err error, text string) error {
	if err == nil && text != "" {
		return errors.New(text)
	}
	return err
}

// gone pairs the columns of windows that are evicted.
func gone(processes, windows []uint64, err error) ([]Key, error) {
	if len(processes) != len(windows) {
		return nil, cmp.Or(err, fmt.Errorf("%d windows of %d processes are gone", len(windows), len(processes)))
	}
	var list []Key
	for i, w := range windows {
		list = append(list, Key{processes[i], anchor.ID(w)})
	}
	return list, err
}
