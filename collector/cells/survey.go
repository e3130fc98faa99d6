package cells

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"moriens/analysis/cell"
	"moriens/analysis/grouping"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/space"
	moriensv1 "moriens/proto/moriens/v1"
)

// Survey asks all agents for what has arrived since the last survey, and returns the run's micro-cells. Cells of all
// agents between the same call paths and with the same bounds are one unit, also where they were split before: the
// answer does not depend on what was asked in between. Agents that give no valid answer, or make their units in another
// way than those of most threads, are left out. It is an error if none is left.
func (c *Coordinator) Survey(ctx context.Context, paths Paths) (*microcell.Set, error) {
	c.left = nil
	ids := slices.Sorted(slices.Values(c.agents.IDs()))
	for _, id := range c.ids() {
		if _, here := slices.BinarySearch(ids, id); !here {
			c.leave(id, errors.New("it has gone"))
		}
	}
	var mu sync.Mutex // of the agents' nodes
	if err := c.each(ctx, ids, func(id uint64) error {
		mu.Lock()
		n := c.nodes[id]
		mu.Unlock()
		n, err := c.surveyOne(ctx, id, n)
		mu.Lock()
		defer mu.Unlock()
		c.nodes[id] = n
		return err
	}); err != nil && !errors.Is(err, ErrLeft) {
		return nil, err
	}
	c.agree()
	if len(c.nodes) == 0 {
		var errs []error
		for _, l := range c.left {
			errs = append(errs, fmt.Errorf("agent %016x: %w", l.Agent, l.Err))
		}
		return nil, fmt.Errorf("collector/cells: no agent has sent its micro-cells: %w", errors.Join(append(errs, errNone)...))
	}
	return c.merge(paths)
}

var errNone = errors.New("want at least one")

// surveyOne asks an agent for what arrived. If the answer does not add up to what the agent has, as when an answer to a
// split was lost, it asks again.
func (c *Coordinator) surveyOne(ctx context.Context, id uint64, n *node) (*node, error) {
	if n != nil {
		if err := c.surveySince(ctx, id, n); err == nil {
			return n, nil
		} else if ctx.Err() != nil {
			return n, err
		}
	}
	n = new(node)
	return n, c.surveySince(ctx, id, n)
}

func (c *Coordinator) surveySince(ctx context.Context, id uint64, n *node) error {
	ask := &moriensv1.CellsAsk{Body: &moriensv1.CellsAsk_Survey{Survey: &moriensv1.CellsSurvey{After: n.head.GetSurvey()}}}
	begun := false
	if err := c.ask(ctx, id, ask, func(a *moriensv1.CellsAnswer) error {
		switch b := a.Body.(type) {
		case *moriensv1.CellsAnswer_Surveyed:
			if begun {
				return n.takeGroups(b.Surveyed)
			}
			begun = true
			return n.takeHead(b.Surveyed)
		case *moriensv1.CellsAnswer_Units:
			if !begun {
				return errors.New("micro-cells before their description")
			}
			return n.takeUnits(b.Units)
		}
		return fmt.Errorf("a survey is answered by %T", a.Body)
	}); err != nil {
		return err
	}
	if !begun {
		return errors.New("a survey without an answer")
	}
	return n.check()
}

// agree leaves out agents whose units are made in another way than those of most threads.
func (c *Coordinator) agree() {
	type way struct {
		spec, dimensions string
		dims             uint32
		side             float64
		counters         string
	}
	of := func(n *node) way {
		return way{n.head.Spec, n.head.Dimensions, n.head.Dims, n.head.Side, fmt.Sprintf("%q", n.head.Counter)}
	}
	threads := make(map[way]uint64)
	var most way
	for _, id := range c.ids() {
		w := of(c.nodes[id])
		threads[w] += c.nodes[id].threads
		if threads[w] > threads[most] || most == (way{}) {
			most = w
		}
	}
	for _, id := range c.ids() {
		n := c.nodes[id]
		dims, err := space.Parse(n.head.Dimensions)
		switch {
		case err == nil && len(dims) != int(n.head.Dims):
			err = fmt.Errorf("%q has %d dimensions, its micro-cells have %d", n.head.Dimensions, len(dims), n.head.Dims)
		case err == nil && of(n) != most:
			err = fmt.Errorf("its micro-cells are made as %q, those of others as %q", n.head.Spec, most.spec)
		}
		if err != nil {
			c.leave(id, err)
		}
	}
}

// merge makes units of the run of those of the agents.
func (c *Coordinator) merge(paths Paths) (*microcell.Set, error) {
	c.groups, c.units, c.pairs = nil, nil, make(map[[2]uint64]int32)
	c.numbers, c.cells, c.places = make(map[microcell.Group]int32), make(map[cellKey]span), make(map[placeKey]int32)
	c.whole = c.worlds
	s := &microcell.Set{}
	for i, id := range c.ids() {
		n := c.nodes[id]
		if i == 0 {
			c.dims, _ = space.Parse(n.head.Dimensions)
			c.side, c.counters = n.head.Side, n.head.Counter
		}
		if s.TimeNS > math.MaxInt64-int64(n.head.TimeNs) {
			return nil, fmt.Errorf("collector/cells: bursts with more than %d ns: want at most that", int64(math.MaxInt64))
		}
		s.Threads += int(n.threads)
		s.Bursts += int(n.head.Bursts)
		s.TimeNS += int64(n.head.TimeNs)
		add(&s.Missing, n.head.Missing, n.head.MissingNs)
		add(&s.Short, n.head.Short, n.head.ShortNs)
		c.whole = c.whole || !n.anchored()
		c.mergeNode(n, paths)
	}
	s.Dims, s.Side, s.Counters = c.dims, c.side, c.counters
	s.Groups, s.Units = slices.Clone(c.groups), slices.Clone(c.units)
	return s, nil
}

func add(t *grouping.Tally, bursts, timeNS uint64) {
	t.Bursts += int(bursts)
	t.TimeNS += int64(timeNS)
}

// mergeNode adds an agent's units to those of the run.
func (c *Coordinator) mergeNode(n *node, paths Paths) {
	groups := []int32{}
	for _, g := range n.groups {
		number, seen := c.pairs[g.hashes]
		if !seen {
			number = c.group(microcell.Group{
				Before: paths.Path(g.process, g.before.function, g.before.path), After: paths.Path(g.process, g.after.function, g.after.path),
			})
			c.pairs[g.hashes] = number
		}
		groups = append(groups, number)
	}
	if len(n.groups) == 0 {
		groups = append(groups, c.group(microcell.Group{}))
	}
	n.at = make([]int32, len(n.units))
	for i := range n.units {
		u := &n.units[i]
		if u.Cell.Count == 0 {
			n.at[i] = -1
			continue
		}
		key := cellKey{groups[u.Group], u.Cell.Key}
		of, seen := c.cells[key]
		at := of.first
		if !seen {
			at = int32(len(c.units))
			c.cells[key] = span{at, 1}
			c.units = append(c.units, microcell.Unit{Group: int(key.group), Cell: cell.Cell{Key: key.key}, Counters: make([]moment.Exact, len(c.counters))})
		}
		n.at[i] = at
		join(&c.units[at], u)
	}
}

func (c *Coordinator) group(g microcell.Group) int32 {
	number, seen := c.numbers[g]
	if !seen {
		number = int32(len(c.groups))
		c.numbers[g] = number
		c.groups = append(c.groups, g)
	}
	return number
}

// join adds the bursts of a unit to those of another.
func join(u, o *microcell.Unit) {
	a, b := &u.Cell, &o.Cell
	if a.Count == 0 {
		a.Lo, a.Hi = b.Lo, b.Hi
	}
	for j := range a.Lo {
		a.Lo[j], a.Hi[j] = min(a.Lo[j], b.Lo[j]), max(a.Hi[j], b.Hi[j])
		a.Sum[j] += b.Sum[j]
	}
	a.Count += b.Count
	u.Duration.Merge(&o.Duration)
	for k := range u.Counters {
		u.Counters[k].Merge(&o.Counters[k])
	}
	u.Place = isPoint(a)
}
