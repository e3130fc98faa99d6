// Package cells collects from the agents that keep the bursts on their nodes what the clustering of a run needs.
//
// In come the answers of proto/moriens/v1/cells.proto: each agent's micro-cells; for a labelling, the different
// sequences of its threads as hash and count; and, on request, the sequences that no agent has sent before. Out come
// the micro-cells of the run with exact sums (nanoseconds, and counters in their units), the score of any labelling of
// them, the places of bursts where the answer depends on these, and sums per thread by the final labels. The bursts
// themselves are kept on the nodes.
//
// Answers come over the network and are checked: columns of one length, numbers in range, boxes that lie in their
// cells, sums that add up to the agent's totals, sequences with the requested hash. An agent that does not answer, or
// answers wrongly, is left out: Left lists it, and all its data is discarded. What was computed with its micro-cells is
// then invalid, so that Score, Split, Label and Sums return an ErrLeft, and the caller starts again with a Survey. That
// covers the agents that have answered all along, and their bursts alone. The next Survey asks an agent that was left
// out as if it were new.
package cells

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

// Agents are those that can be asked.
type Agents interface {
	IDs() []uint64
	// Ask asks an agent and calls take with each part of its answer, in their order: of an answer that has broken off and
	// was asked for again nothing twice. It returns when the last part is taken, an error of take, or why there is no
	// whole answer. It may be called for several agents at a time, for each of them once, and numbers asks and answers as
	// it likes.
	Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error
}

// Paths number call paths.
type Paths interface {
	// Path is the collector's number of a process's call path, and of the MPI function that is called there.
	Path(process uint64, function, path uint32) uint32
}

// ErrLeft is returned where an agent was left out in the course: the results so far cover bursts that can no longer be
// asked for.
var ErrLeft = errors.New("an agent that has sent its micro-cells no longer answers")

// A Left is an agent that was left out, and why.
type Left struct {
	Agent uint64
	Err   error
}

// An AgentState is what an agent has reported about itself.
type AgentState struct {
	Agent     uint64
	Lost      uint64 // bursts that it knew before it was started again, and of which nothing is left
	Outside   uint64 // bursts that no cell can hold, which count as lacking data
	HeldBytes uint64 // of its node's memory that all it keeps takes
}

// askedAtOnce is how many agents answer at a time: as many answers are in memory in part.
const askedAtOnce = 64

// askedMost is how many labels, or sequences, one ask has at most, smaller in tests alone: agents take no message of
// more than 4 MiB, and a sequence takes 26 bytes.
var askedMost = 1 << 17

// A Coordinator knows the micro-cells of a run's agents. Its methods are not called concurrently, but for Traffic.
type Coordinator struct {
	agents Agents
	log    *slog.Logger
	nodes  map[uint64]*node
	left   []Left

	dims     []space.Dim
	side     float64
	counters []string
	groups   []microcell.Group
	units    []microcell.Unit
	numbers  map[microcell.Group]int32 // of groups
	pairs    map[[2]uint64]int32       // likewise, by the hashes of their call paths
	cells    map[cellKey]span          // units of a micro-cell: one, or its places
	places   map[placeKey]int32        // units that a split has made

	whole     bool // anchors do not count
	worlds    bool // there are several
	step      uint32
	sequences known

	mu      sync.Mutex
	traffic Traffic
}

type cellKey struct {
	group int32
	key   cell.Key
}

// A span is of units that follow each other.
type span struct{ first, count int32 }

type placeKey struct {
	group int32
	at    [cell.MaxDims]float64
}

// New returns an empty Coordinator.
func New(agents Agents, log *slog.Logger) *Coordinator {
	return &Coordinator{agents: agents, log: log, nodes: make(map[uint64]*node), sequences: newKnown()}
}

// Worlds says that the run has several worlds of ranks, so that an anchor is not the same event on all of them: from
// now on each thread's sequence is one segment.
func (c *Coordinator) Worlds() { c.worlds = true }

// Left says which agents the last Survey, and what was asked since, has left out.
func (c *Coordinator) Left() []Left { return slices.Clone(c.left) }

// AgentStates says what the agents whose bursts count have reported in their last survey, by agent.
func (c *Coordinator) AgentStates() []AgentState {
	var list []AgentState
	for _, id := range c.ids() {
		h := c.nodes[id].head
		list = append(list, AgentState{id, h.Lost, h.Outside, h.HeldBytes})
	}
	return list
}

// Whole reports whether anchors do not cut the sequences: there are several worlds, or a thread has no anchors.
func (c *Coordinator) Whole() bool { return c.whole }

// ids are those of the agents that have reported their micro-cells, ascending.
func (c *Coordinator) ids() []uint64 {
	var list []uint64
	for id := range c.nodes {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// each has the work for each agent done, some at a time, and leaves out those for which there is an error. It returns
// an error if ctx has ended, and, wrapping ErrLeft, if one was left out.
func (c *Coordinator) each(ctx context.Context, ids []uint64, work func(id uint64) error) error {
	errs := make([]error, len(ids))
	room := make(chan struct{}, askedAtOnce)
	var wg sync.WaitGroup
	for i, id := range ids {
		room <- struct{}{}
		wg.Go(func() {
			errs[i] = work(id)
			<-room
		})
	}
	wg.Wait()
	if ctx.Err() != nil { // whom it has cut short is not known: none of them counts as asked
		for i, id := range ids {
			if errs[i] != nil {
				delete(c.nodes, id)
			}
		}
		return ctx.Err()
	}
	var left error
	for i, id := range ids {
		if errs[i] != nil {
			left = cmp.Or(left, c.leave(id, errs[i]))
		}
	}
	return left
}

// leave forgets an agent.
func (c *Coordinator) leave(id uint64, why error) error {
	delete(c.nodes, id)
	c.left = append(c.left, Left{id, why})
	c.log.Warn("an agent's micro-cells are left out", "agent", fmt.Sprintf("%016x", id), "error", why)
	return fmt.Errorf("collector/cells: %w: agent %016x: %w", ErrLeft, id, why)
}

// ask asks an agent, and counts what goes to and fro.
func (c *Coordinator) ask(ctx context.Context, id uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	ended := false
	c.count(ask, nil)
	err := c.agents.Ask(ctx, id, ask, func(a *moriensv1.CellsAnswer) error {
		c.count(ask, a)
		switch {
		case ended:
			return errors.New("data after the last part of an answer")
		case a.Error != "":
			return fmt.Errorf("the agent reports: %s", a.Error)
		}
		ended = a.Last
		if a.Body == nil {
			return nil
		}
		return take(a)
	})
	if err == nil && !ended {
		return errors.New("the answer has no end")
	}
	return err
}
