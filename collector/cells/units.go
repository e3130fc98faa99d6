package cells

import (
	"fmt"
	"math"
	"math/big"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	moriensv1 "moriens/proto/moriens/v1"
)

// checkColumns reports whether all columns of a message have the length that its units ask for.
func checkColumns(m *moriensv1.CellsUnits, dims, counters int) error {
	units := len(m.Unit)
	for _, column := range []struct {
		name         string
		have, asEach int
	}{
		{"group", len(m.Group), 1}, {"key", len(m.Key), dims}, {"lo", len(m.Lo), dims}, {"hi", len(m.Hi), dims}, {"sum", len(m.Sum), dims},
		{"count", len(m.Count), 1}, {"total_ns", len(m.TotalNs), 1},
		{"squares_low", len(m.SquaresLow), 1}, {"squares_middle", len(m.SquaresMiddle), 1}, {"squares_high", len(m.SquaresHigh), 1},
		{"read", len(m.Read), counters}, {"counter_low", len(m.CounterLow), counters}, {"counter_high", len(m.CounterHigh), counters},
		{"counter_squares_low", len(m.CounterSquaresLow), counters}, {"counter_squares_middle", len(m.CounterSquaresMiddle), counters},
		{"counter_squares_high", len(m.CounterSquaresHigh), counters},
	} {
		if column.have != units*column.asEach {
			return fmt.Errorf("%d entries of %s for %d units: want %d", column.have, column.name, units, units*column.asEach)
		}
	}
	return nil
}

// takeUnits takes units with what was added to them.
func (n *node) takeUnits(m *moriensv1.CellsUnits) error {
	if len(m.Unknown) > 0 || len(m.Parent) != 0 && len(m.Parent) != len(m.Unit) {
		return fmt.Errorf("%d units of a survey are from others, and %d could not be split: want one for each or none, and none", len(m.Parent), len(m.Unknown))
	}
	if err := checkColumns(m, int(n.head.Dims), len(n.head.Counter)); err != nil {
		return err
	}
	number := uint64(0)
	for i, difference := range m.Unit {
		number += uint64(difference)
		unit, err := n.unit(m, i)
		if err == nil && i > 0 && difference == 0 {
			err = fmt.Errorf("it is there twice")
		}
		if err == nil {
			err = n.put(number, unit)
		}
		if err != nil {
			return fmt.Errorf("unit %d: %w", number, err)
		}
	}
	return nil
}

// put adds what is new to a unit. New ones have the next number.
func (n *node) put(number uint64, unit *microcell.Unit) error {
	switch {
	case number > uint64(len(n.units)):
		return fmt.Errorf("it is new, and there are %d: want them in their order", len(n.units))
	case number == uint64(len(n.units)):
		n.units = append(n.units, *unit)
		return nil
	case unit.Cell.Count == 0:
		return nil
	}
	u := &n.units[number]
	if u.Group != unit.Group || u.Cell.Key != unit.Cell.Key {
		return fmt.Errorf("it is in group %d and cell %v, and was in group %d and cell %v", unit.Group, unit.Cell.Key, u.Group, u.Cell.Key)
	}
	if u.Cell.Count > mostBursts {
		return fmt.Errorf("it has %d bursts: want at most %d", u.Cell.Count, uint64(mostBursts))
	}
	unit.Cell.Count += u.Cell.Count
	unit.Duration.Merge(&u.Duration)
	for k := range unit.Counters {
		unit.Counters[k].Merge(&u.Counters[k])
	}
	*u = *unit
	return nil
}

// unit is one of a message's: its box and the sum of its coordinates are of all its bursts, all else of those that
// arrived.
func (n *node) unit(m *moriensv1.CellsUnits, i int) (*microcell.Unit, error) {
	dims, counters := int(n.head.Dims), len(n.head.Counter)
	u := &microcell.Unit{Group: int(m.Group[i])}
	if groups := max(len(n.groups), 1); u.Group >= groups {
		return nil, fmt.Errorf("group %d of %d", u.Group, groups)
	}
	if m.Count[i] > mostBursts {
		return nil, fmt.Errorf("%d bursts received: want at most %d", m.Count[i], uint64(mostBursts))
	}
	c := &u.Cell
	c.Count = int64(m.Count[i])
	for j := range dims {
		at := i*dims + j
		if m.Key[at] < math.MinInt32 || m.Key[at] > math.MaxInt32 {
			return nil, fmt.Errorf("cell %d: want a number of 32 bits", m.Key[at])
		}
		c.Key[j] = int32(m.Key[at])
		if c.Count == 0 { // it has been split: there is no box
			continue
		}
		c.Lo[j], c.Hi[j], c.Sum[j] = m.Lo[at], m.Hi[at], m.Sum[at]
		if !(c.Lo[j] <= c.Hi[j]) || math.Floor(c.Lo[j]/n.head.Side) != float64(c.Key[j]) || math.Floor(c.Hi[j]/n.head.Side) != float64(c.Key[j]) {
			return nil, fmt.Errorf("a box from %v to %v in cell %d of side %v", c.Lo[j], c.Hi[j], c.Key[j], n.head.Side)
		}
	}
	u.Duration = moment.Exact{N: c.Count, Total: [2]uint64{m.TotalNs[i]}, Squares: [3]uint64{m.SquaresLow[i], m.SquaresMiddle[i], m.SquaresHigh[i]}}
	if err := checkExact(&u.Duration); err != nil {
		return nil, fmt.Errorf("durations: %w", err)
	}
	for k := range counters {
		at := i*counters + k
		if m.Read[at] > m.Count[i] {
			return nil, fmt.Errorf("%d of %d bursts have %s", m.Read[at], m.Count[i], n.head.Counter[k])
		}
		e := moment.Exact{
			N: int64(m.Read[at]), Total: [2]uint64{m.CounterLow[at], m.CounterHigh[at]},
			Squares: [3]uint64{m.CounterSquaresLow[at], m.CounterSquaresMiddle[at], m.CounterSquaresHigh[at]},
		}
		if err := checkExact(&e); err != nil {
			return nil, fmt.Errorf("%s: %w", n.head.Counter[k], err)
		}
		u.Counters = append(u.Counters, e)
	}
	return u, nil
}

// checkMean reports whether the sum of the coordinates is one of bursts in the box, up to what adding up rounds: a
// ten-thousandth of the cell, and a millionth of the coordinate.
func checkMean(u *microcell.Unit, dims int, side float64) error {
	if u.Cell.Count == 0 {
		return nil
	}
	for j := range dims {
		lo, hi, mean := u.Cell.Lo[j], u.Cell.Hi[j], u.Cell.Sum[j]/float64(u.Cell.Count)
		slack := side*1e-4 + max(math.Abs(lo), math.Abs(hi))*1e-6
		if !(mean >= lo-slack && mean <= hi+slack) {
			return fmt.Errorf("%d bursts from %v to %v have the mean %v", u.Cell.Count, lo, hi, mean)
		}
	}
	return nil
}

// checkExact reports whether there are numbers that have these sums: the square of their sum is not above their number
// times the sum of their squares.
func checkExact(e *moment.Exact) error {
	n := big.NewInt(e.N)
	total := moment.Big(e.Total[:])
	if n.Mul(n, moment.Big(e.Squares[:])).Cmp(total.Mul(total, total)) < 0 {
		return fmt.Errorf("no %d numbers have the sums %v and, of their squares, %v", e.N, e.Total, e.Squares)
	}
	if e.N == 0 && e.Squares != [3]uint64{} {
		return fmt.Errorf("no numbers have the sum of squares %v", e.Squares)
	}
	return nil
}

// isPoint reports whether a box is one.
func isPoint(c *cell.Cell) bool { return c.Lo == c.Hi }
