package cells

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/microcell"
	"moriens/analysis/sequence"
	"moriens/internal/relay"
	"moriens/internal/team"
	moriensv1 "moriens/proto/moriens/v1"
)

// mostCall is how many bytes one agent may give to a call.
const mostCall = 1 << 31

// givenTogether is how many bytes of a call's result one request has at most, fewer in tests alone: agents take no
// message of more than 4 MiB.
var givenTogether = 2 << 20

// A Thread is one of the run's, in their order.
type Thread struct{ Agent, Ring uint64 }

// Kinds finds the kinds of the micro-cells of the last Survey, together with the agents, which know the order of their
// bursts: they have labels from then on, by which Sums sums up and which Rows lists. set is that of the survey with the
// run's numbers of call paths, and number says what number a process's calls round a burst have, as before<<32 | after.
// threads have to name all that have bursts.
func (c *Coordinator) Kinds(ctx context.Context, set microcell.Set, threads []Thread, o grouping.Options, number func(relay.Calls) int64) (r *microcell.Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	h := &hub{Coordinator: c, ctx: ctx, run: rand.Uint64(), ids: c.ids()}
	defer h.asking.Wait()
	defer cancel()
	k, err := microcell.NewKinds(set, h, o)
	if err != nil {
		return nil, fmt.Errorf("collector/cells: %w", err)
	}
	k.At = h.at
	of := h.owners(threads)
	for rank := range h.ids {
		h.begins = append(h.begins, h.begin(rank+1, of, threads, k, &o))
	}
	h.ask()
	all := team.Threads{Team: relay.Member{Caller: h, Of: len(h.ids) + 1}, Of: of}
	r, err = h.find(k, all, &o, number)
	if err != nil || h.failed != nil {
		cancel()
		err = h.blame(err)
	} else {
		err = h.end()
	}
	if err != nil {
		return nil, fmt.Errorf("collector/cells: %w", err)
	}
	return r, nil
}

// A hub is the collector as the first member of a team whose others are agents. What each gives to a call goes to the
// hub, and the call's result goes back.
type hub struct {
	*Coordinator
	ctx    context.Context
	run    uint64
	ids    []uint64 // of agents, by rank less one
	begins []*moriensv1.CellsBegin
	step   uint32
	given  [][]byte     // by rank: the result of the latest call
	calls  []relay.Call // by rank: the call that is due
	errs   []error      // of the agents, by rank less one
	asking sync.WaitGroup
	failed error
}

// find finds kinds. What agents say may make no sense, though each word is sound: that is an error too.
func (h *hub) find(k *microcell.Kinds, all team.Threads, o *grouping.Options, number func(relay.Calls) int64) (r *microcell.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the agents' messages are inconsistent: %v", p)
		}
	}()
	if !h.worlds {
		if _, k.Anchored, err = relay.Most(all, nil); err != nil {
			return nil, err
		}
	}
	if o.By == grouping.ByNone {
		if err := relay.Answer(all, number); err != nil {
			return nil, err
		}
	}
	return k.Find(all)
}

// at is the unit of the run that an agent's is in.
func (h *hub) at(rank int, unit int32) (int32, bool) {
	if rank < 1 {
		return 0, false
	}
	n := h.nodes[h.ids[rank-1]]
	if unit < 0 || int(unit) >= len(n.at) || n.at[unit] < 0 {
		return 0, false
	}
	return n.at[unit], true
}

// owners are the ranks of those who have the threads: the collector those of agents that do not answer.
func (h *hub) owners(threads []Thread) []int32 {
	of := make([]int32, len(threads))
	for t, x := range threads {
		if at, is := slices.BinarySearch(h.ids, x.Agent); is {
			of[t] = int32(at + 1)
		}
	}
	return of
}

// begin is what a member has to know.
func (h *hub) begin(rank int, of []int32, threads []Thread, k *microcell.Kinds, o *grouping.Options) *moriensv1.CellsBegin {
	b := &moriensv1.CellsBegin{
		Rank: uint32(rank), Size: uint32(len(h.ids) + 1), Anchors: !h.worlds, Density: o.Kinds == grouping.KindsByDensity, Unaligned: o.Unaligned, Unstrated: o.Unstrated,
		Crowded: o.Crowded, Resolution: o.Resolution, MinPoints: uint32(o.MinPts), JobThreads: uint32(o.JobThreads),
	}
	for t, owner := range of {
		if n := len(b.Owner); n == 0 || b.Owner[n-1] != uint32(owner) {
			b.Owner, b.Owned = append(b.Owner, uint32(owner)), append(b.Owned, 0)
		}
		b.Owned[len(b.Owned)-1]++
		if int(owner) == rank {
			b.Ring, b.Thread = append(b.Ring, threads[t].Ring), append(b.Thread, uint32(t))
		}
	}
	groups, groupOf := k.Groups()
	for _, g := range groups {
		b.Bursts, b.Before, b.After = append(b.Bursts, uint64(g.Bursts)), append(b.Before, g.Before), append(b.After, g.After)
	}
	n, short := h.nodes[h.ids[rank-1]], k.Short()
	groupsOf := slices.Repeat([]int32{kinds.None}, max(1, len(n.groups)))
	last := 0
	for i, at := range n.at {
		if at < 0 {
			continue
		}
		groupsOf[n.units[i].Group] = groupOf[h.units[at].Group]
		if short[at] {
			b.Short = append(b.Short, uint32(i-last))
			last = i
		}
	}
	b.Group = groupsOf
	return b
}

// Call implements relay.Caller.
func (h *hub) Call(c relay.Call) ([]byte, error) {
	if err := h.wait(); err != nil {
		return nil, err
	}
	h.calls[0] = c
	given, err := relay.Combine(h.calls)
	if err != nil {
		return nil, h.blame(err)
	}
	h.given = given
	h.step++
	h.ask()
	return given[0], nil
}

// blame leaves out the agent at which an error lies, if it is one's. No agent is asked in that time.
func (h *hub) blame(err error) error {
	h.asking.Wait()
	if h.failed != nil || err == nil {
		return cmp.Or(h.failed, err)
	}
	var misfit *team.MisfitError
	var explained *team.ExplainedError
	rank := 0
	switch {
	case errors.As(err, &misfit):
		rank = misfit.Member
	case errors.As(err, &explained):
		rank = explained.Member
	}
	if rank < 1 || rank > len(h.ids) {
		return err
	}
	h.failed = h.leave(h.ids[rank-1], err)
	return h.failed
}

// ask sends the agents the result of the latest call, and asks for the next one, some at a time.
func (h *hub) ask() {
	h.calls, h.errs = make([]relay.Call, len(h.ids)+1), make([]error, len(h.ids))
	room := make(chan struct{}, askedAtOnce)
	for i, id := range h.ids {
		h.asking.Go(func() {
			room <- struct{}{}
			h.errs[i] = h.askOne(i+1, id)
			<-room
		})
	}
}

// askOne asks an agent for its next call.
func (h *hub) askOne(rank int, id uint64) error {
	m := &moriensv1.CellsTeam{Run: h.run, Step: h.step}
	if h.step == 0 {
		m.Begin = h.begins[rank-1]
		return h.request(rank, id, m)
	}
	for given, at := h.given[rank], 0; ; {
		n := min(len(given), givenTogether)
		m = &moriensv1.CellsTeam{Run: h.run, Step: h.step, Given: given[:n], At: uint64(at), More: n < len(given)}
		if err := h.request(rank, id, m); err != nil || !m.More {
			return err
		}
		given, at = given[n:], at+n
	}
}

// request asks an agent, and receives its call.
func (h *hub) request(rank int, id uint64, m *moriensv1.CellsTeam) error {
	c := &h.calls[rank]
	ask := &moriensv1.CellsAsk{Taken: h.nodes[id].head.Survey, Body: &moriensv1.CellsAsk_Team{Team: m}}
	if err := h.Coordinator.ask(h.ctx, id, ask, func(a *moriensv1.CellsAnswer) error {
		part := a.GetCall()
		switch {
		case part == nil || m.More:
			return fmt.Errorf("the result of a call is answered by %T", a.Body)
		case part.Op == moriensv1.CellsCall_OP_UNSPECIFIED:
			return nil
		case c.Op == moriensv1.CellsCall_OP_UNSPECIFIED:
			c.Op, c.Width = part.Op, int(part.Width)
		case part.Op != c.Op || int(part.Width) != c.Width:
			return fmt.Errorf("a call %v goes on as %v", c.Op, part.Op)
		}
		if len(c.Data)+len(part.Data) > mostCall {
			return fmt.Errorf("a call %v of more than %d bytes", c.Op, mostCall)
		}
		c.Data = append(c.Data, part.Data...)
		return nil
	}); err != nil {
		return err
	}
	if !m.More && c.Op == moriensv1.CellsCall_OP_UNSPECIFIED {
		return errors.New("the team's work has neither a next call nor an end")
	}
	return nil
}

// wait waits for the agents' calls. An agent without one is left out.
func (h *hub) wait() error {
	h.asking.Wait()
	if h.failed != nil {
		return h.failed
	}
	if err := h.ctx.Err(); err != nil {
		h.failed = err
		return err
	}
	for i, err := range h.errs {
		if err != nil {
			if left := h.leave(h.ids[i], err); h.failed == nil {
				h.failed = left
			}
		}
	}
	h.errs = nil
	return h.failed
}

// end checks that all agents are done.
func (h *hub) end() error {
	if err := h.wait(); err != nil {
		return err
	}
	for rank, c := range h.calls[1:] {
		if c.Op != moriensv1.CellsCall_OP_DONE {
			return h.leave(h.ids[rank], fmt.Errorf("it calls %v at the end of the team's work", c.Op))
		}
	}
	return nil
}

// Score implements microcell.Source.
func (h *hub) Score([]int32, int) (*sequence.Score, error) {
	return nil, errors.New("collector/cells: kinds are not found by the score")
}

// Split implements microcell.Source, between two calls.
func (h *hub) Split(units []int32) ([][]microcell.Unit, error) {
	if err := h.wait(); err != nil {
		return nil, err
	}
	places, err := h.Coordinator.Split(h.ctx, units)
	if err != nil {
		h.failed = err
	}
	return places, err
}
