package cells

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// Source is the Coordinator for package microcell: it asks until ctx ends, and aligns with so many workers.
func (c *Coordinator) Source(ctx context.Context, workers int) microcell.Source {
	return &source{c, ctx, workers}
}

type source struct {
	*Coordinator
	ctx     context.Context
	workers int
}

func (s *source) Score(labels []int32, count int) (*sequence.Score, error) {
	return s.Coordinator.Score(s.ctx, labels, count, s.workers)
}

func (s *source) Split(units []int32) ([][]microcell.Unit, error) {
	return s.Coordinator.Split(s.ctx, units)
}

// Split asks where the bursts of units are, ascending: microcell.Source. A unit of which an agent no longer holds the
// points remains as it is, at all agents.
func (c *Coordinator) Split(ctx context.Context, units []int32) ([][]microcell.Unit, error) {
	for i, at := range units {
		if at < 0 || int(at) >= len(c.units) || i > 0 && at <= units[i-1] || c.units[at].Cell.Count == 0 || c.units[at].Place {
			return nil, fmt.Errorf("collector/cells: entry %d of %d: unit %d of %d can not be split: want units with bursts at several places, ascending", i, len(units), at, len(c.units))
		}
	}
	if err := c.each(ctx, c.ids(), func(id uint64) error { return c.splitOne(ctx, id, units) }); err != nil {
		return nil, err
	}
	places, unknown := c.gather(units)
	answer := make([][]microcell.Unit, len(units))
	for i, at := range units {
		if !unknown[at] {
			answer[i] = c.replace(at, places[at])
		}
	}
	c.relocate(units, unknown)
	return answer, nil
}

// splitOne has an agent split what it has of units.
func (c *Coordinator) splitOne(ctx context.Context, id uint64, units []int32) error {
	n := c.nodes[id]
	s := &splitting{node: n, open: make(map[uint32]bool), totals: make(map[uint32]*microcell.Unit)}
	split := &moriensv1.CellsSplit{}
	last := 0
	for i, at := range n.at {
		if _, asked := slices.BinarySearch(units, at); !asked || isPoint(&n.units[i].Cell) {
			continue
		}
		split.Unit = append(split.Unit, uint32(i-last))
		last = i
		s.open[uint32(i)] = true
	}
	if len(split.Unit) == 0 {
		return nil
	}
	if err := c.ask(ctx, id, &moriensv1.CellsAsk{Taken: n.head.Survey, Body: &moriensv1.CellsAsk_Split{Split: split}}, s.take); err != nil {
		return err
	}
	return s.end()
}

// A splitting is of one agent's answer.
type splitting struct {
	node   *node
	open   map[uint32]bool            // units without a report
	places []microcell.Unit           // in their order; they follow the node's units
	at     []int32                    // by place: the unit of the run that its unit is in
	totals map[uint32]*microcell.Unit // by unit: its places together
}

func (s *splitting) take(a *moriensv1.CellsAnswer) error {
	m := a.GetUnits()
	if m == nil {
		return fmt.Errorf("a split is answered by %T", a.Body)
	}
	if err := checkColumns(m, int(s.node.head.Dims), len(s.node.head.Counter)); err != nil {
		return err
	}
	if len(m.Parent) != len(m.Unit) {
		return fmt.Errorf("%d places for %d units", len(m.Unit), len(m.Parent))
	}
	for _, number := range m.Unknown {
		if !s.open[number] {
			return fmt.Errorf("unit %d can not be split: it was not to be, or was", number)
		}
		delete(s.open, number)
	}
	number := uint64(0)
	for i, difference := range m.Unit {
		number += uint64(difference)
		if want := uint64(len(s.node.units) + len(s.places)); number != want {
			return fmt.Errorf("a place has the number %d: want %d", number, want)
		}
		if err := s.place(m, i); err != nil {
			return fmt.Errorf("place %d: %w", number, err)
		}
	}
	return nil
}

// place takes one place.
func (s *splitting) place(m *moriensv1.CellsUnits, i int) error {
	parent := m.Parent[i] - 1
	total := s.totals[parent]
	if total == nil {
		if !s.open[parent] {
			return fmt.Errorf("it is from unit %d, which was not to be split, or was", parent)
		}
		delete(s.open, parent)
		total = &microcell.Unit{Counters: slices.Clone(s.node.units[parent].Counters)}
		clear(total.Counters)
		s.totals[parent] = total
	}
	u, err := s.node.unit(m, i)
	if err != nil {
		return err
	}
	of := &s.node.units[parent]
	if u.Group != of.Group || u.Cell.Key != of.Cell.Key {
		return fmt.Errorf("it is in group %d and cell %v, its unit in group %d and cell %v", u.Group, u.Cell.Key, of.Group, of.Cell.Key)
	}
	if u.Cell.Count == 0 || !isPoint(&u.Cell) {
		return fmt.Errorf("%d bursts from %v to %v: want some, at one place", u.Cell.Count, u.Cell.Lo, u.Cell.Hi)
	}
	u.Cell.Sum = cell.Of(u.Cell.Lo[:], u.Cell.Count).Sum
	u.Place = true
	if total.Cell.Count > of.Cell.Count {
		return errors.New("there are more bursts at the places than the unit has")
	}
	join(total, u)
	s.places, s.at = append(s.places, *u), append(s.at, s.node.at[parent])
	return nil
}

// end puts the places in the units' stead, if the answer is whole and they add up to these.
func (s *splitting) end() error {
	if len(s.open) > 0 {
		return fmt.Errorf("of %d units that were to be split nothing is said", len(s.open))
	}
	n := s.node
	for parent, total := range s.totals {
		u := &n.units[parent]
		if total.Cell.Count != u.Cell.Count || total.Duration != u.Duration || total.Cell.Lo != u.Cell.Lo || total.Cell.Hi != u.Cell.Hi || !slices.Equal(total.Counters, u.Counters) {
			return fmt.Errorf("the places of unit %d have %d bursts from %v to %v with %v ns, the unit %d from %v to %v with %v ns", parent,
				total.Cell.Count, total.Cell.Lo, total.Cell.Hi, total.Duration.Total, u.Cell.Count, u.Cell.Lo, u.Cell.Hi, u.Duration.Total)
		}
	}
	for parent := range s.totals {
		u := &n.units[parent]
		*u = microcell.Unit{Group: u.Group, Cell: cell.Cell{Key: u.Cell.Key}, Counters: make([]moment.Exact, len(u.Counters))}
		n.at[parent] = -1
	}
	n.units, n.at = append(n.units, s.places...), append(n.at, s.at...)
	return nil
}

// gather finds the places of units among those of all agents, and the units of which an agent does not know them.
func (c *Coordinator) gather(units []int32) (places map[int32]map[[cell.MaxDims]float64]*microcell.Unit, unknown map[int32]bool) {
	places, unknown = make(map[int32]map[[cell.MaxDims]float64]*microcell.Unit), make(map[int32]bool)
	for _, id := range c.ids() {
		n := c.nodes[id]
		for i, at := range n.at {
			if _, asked := slices.BinarySearch(units, at); !asked {
				continue
			}
			u := &n.units[i]
			if !isPoint(&u.Cell) {
				unknown[at] = true
				continue
			}
			if places[at] == nil {
				places[at] = make(map[[cell.MaxDims]float64]*microcell.Unit)
			}
			p := places[at][u.Cell.Lo]
			if p == nil {
				p = &microcell.Unit{Group: c.units[at].Group, Cell: cell.Cell{Key: u.Cell.Key}, Counters: make([]moment.Exact, len(c.counters))}
				places[at][u.Cell.Lo] = p
			}
			join(p, u)
		}
	}
	return places, unknown
}

// replace puts places, by their coordinates, in a unit's stead.
func (c *Coordinator) replace(at int32, places map[[cell.MaxDims]float64]*microcell.Unit) []microcell.Unit {
	u := &c.units[at]
	*u = microcell.Unit{Group: u.Group, Cell: cell.Cell{Key: u.Cell.Key}, Counters: make([]moment.Exact, len(c.counters))}
	var list []microcell.Unit
	for _, p := range places {
		p.Cell.Sum = cell.Of(p.Cell.Lo[:], p.Cell.Count).Sum
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b microcell.Unit) int { return slices.Compare(a.Cell.Lo[:], b.Cell.Lo[:]) })
	c.cells[cellKey{int32(u.Group), u.Cell.Key}] = span{int32(len(c.units)), int32(len(list))}
	for _, p := range list {
		c.places[placeKey{int32(p.Group), p.Cell.Lo}] = int32(len(c.units))
		c.units = append(c.units, p)
	}
	return list
}

// relocate has the agents' places be in those of the run.
func (c *Coordinator) relocate(units []int32, unknown map[int32]bool) {
	for _, n := range c.nodes {
		for i, at := range n.at {
			if _, asked := slices.BinarySearch(units, at); asked && !unknown[at] {
				n.at[i] = c.places[placeKey{int32(c.units[at].Group), n.units[i].Cell.Lo}]
			}
		}
	}
}
