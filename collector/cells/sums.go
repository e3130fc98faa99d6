package cells

import (
	"context"
	"fmt"
	"sync"

	"moriens/analysis/grouping"
	"moriens/analysis/refine"
	moriensv1 "moriens/proto/moriens/v1"
)

// Sums asks all agents for the sums of their threads by the labels that Label has given last, and calls take with each
// part, one at a time; bursts that are in no unit have grouping.LabelFiltered or LabelMissing. What it has taken of
// agents that are left out on the way is not whole: the error, an ErrLeft, says that there are such, and Left says
// which.
func (c *Coordinator) Sums(ctx context.Context, take func(agent uint64, sums *moriensv1.CellsSums) error) error {
	var mu sync.Mutex // of take
	var refused error // by take: no agent's fault
	err := c.each(ctx, c.ids(), func(id uint64) error {
		n := c.nodes[id]
		ask := &moriensv1.CellsAsk{Taken: n.head.Survey, Body: &moriensv1.CellsAsk_Sum{Sum: &moriensv1.CellsSum{}}}
		return c.ask(ctx, id, ask, func(a *moriensv1.CellsAnswer) error {
			m := a.GetSums()
			if m == nil {
				return fmt.Errorf("sums are answered by %T", a.Body)
			}
			if err := checkSums(m, len(n.head.Counter)); err != nil {
				return err
			}
			translate(m)
			mu.Lock()
			defer mu.Unlock()
			if refused == nil {
				refused = take(id, m)
			}
			return nil
		})
	})
	if refused != nil {
		return refused
	}
	return err
}

// checkSums reports whether a part of sums is sound by itself.
func checkSums(m *moriensv1.CellsSums, counters int) error {
	rows, bursts := len(m.Ring), 0
	for _, call := range m.Call {
		if !call {
			bursts++
		}
	}
	for _, column := range []struct {
		name       string
		have, want int
	}{
		{"call", len(m.Call), rows}, {"path", len(m.Path), rows}, {"function", len(m.Function), rows}, {"label", len(m.Label), rows}, {"kind", len(m.Kind), rows},
		{"count", len(m.Count), rows}, {"records", len(m.Records), rows}, {"total_ns", len(m.TotalNs), rows},
		{"squares_low", len(m.SquaresLow), rows}, {"squares_high", len(m.SquaresHigh), rows}, {"min_ns", len(m.MinNs), rows}, {"max_ns", len(m.MaxNs), rows},
		{"read", len(m.Read), bursts * counters}, {"counter", len(m.Counter), bursts * counters},
		{"counter_squares_low", len(m.CounterSquaresLow), bursts * counters}, {"counter_squares_high", len(m.CounterSquaresHigh), bursts * counters},
		{"counter_min", len(m.CounterMin), bursts * counters}, {"counter_max", len(m.CounterMax), bursts * counters},
	} {
		if column.have != column.want {
			return fmt.Errorf("%d entries of %s for %d sums, %d of which are of bursts: want %d", column.have, column.name, rows, bursts, column.want)
		}
	}
	if err := checkPhases(m, bursts*counters); err != nil {
		return err
	}
	for i := range rows {
		if min(m.Label[i], m.Kind[i]) < grouping.LabelMissing {
			return fmt.Errorf("sum %d has label %d and kind %d: want numbers from %d on", i, m.Label[i], m.Kind[i], grouping.LabelMissing)
		}
		if m.Records[i] > m.Count[i] || m.MinNs[i] > m.MaxNs[i] || m.MaxNs[i] > m.TotalNs[i] || m.TotalNs[i] > mostNS || m.Count[i] > mostBursts {
			return fmt.Errorf("sum %d is of %d records of %d, %d to %d ns, in all %d", i, m.Records[i], m.Count[i], m.MinNs[i], m.MaxNs[i], m.TotalNs[i])
		}
	}
	for i, read := range m.Read {
		if read > mostBursts || read > 0 && m.CounterMin[i] > m.CounterMax[i] {
			return fmt.Errorf("counter %d is of %d bursts, %d to %d", i, read, m.CounterMin[i], m.CounterMax[i])
		}
	}
	return nil
}

// checkPhases reports whether what a part of sums says of phases is sound by itself: it may say nothing.
func checkPhases(m *moriensv1.CellsSums, counters int) error {
	rows := len(m.Phase)
	if rows == 0 {
		counters = 0
	}
	if rows != 0 && rows != len(m.Ring) || len(m.MovedNs) != rows || len(m.EstimatedNs) != rows || len(m.CounterMoved) != counters {
		return fmt.Errorf("%d phases, %d and %d times and %d counts in them, of %d sums", rows, len(m.MovedNs), len(m.EstimatedNs), len(m.CounterMoved), len(m.Ring))
	}
	for i := range rows {
		if moved := m.MovedNs[i]; m.EstimatedNs[i] > mostNS || moved > mostNS || moved < -mostNS || int64(min(m.TotalNs[i], mostNS))+moved < 0 {
			return fmt.Errorf("sum %d has %d ns, and %d of other phases, %d of them in parts of bursts", i, m.TotalNs[i], moved, m.EstimatedNs[i])
		}
	}
	for _, p := range m.Phases {
		n := len(p.Path)
		if len(p.Parent) != len(p.Name) {
			return fmt.Errorf("%d names of %d phase paths", len(p.Name), len(p.Parent))
		}
		for _, column := range [][]uint64{
			p.Intervals, p.Instances, p.TotalNs, p.SquaresLow, p.SquaresHigh, p.MinNs, p.MaxNs, p.ExclusiveNs, p.PausedNs, p.Paused, p.UnrecordedNs, p.Unrecorded,
		} {
			if len(column) != n {
				return fmt.Errorf("columns of phases have %d and %d entries", n, len(column))
			}
		}
		for i := range n {
			if max(p.TotalNs[i], p.MaxNs[i], p.ExclusiveNs[i], p.PausedNs[i], p.UnrecordedNs[i]) > mostNS || max(p.Intervals[i], p.Paused[i], p.Unrecorded[i]) > mostBursts ||
				p.Instances[i] > p.Intervals[i] || p.MinNs[i] > p.MaxNs[i] || p.MaxNs[i] > p.TotalNs[i] {
				return fmt.Errorf("phase path %d has %d intervals, %d instances of %d to %d ns, in all %d, %d outside of others", p.Path[i], p.Intervals[i], p.Instances[i], p.MinNs[i], p.MaxNs[i], p.TotalNs[i], p.ExclusiveNs[i])
			}
		}
	}
	return nil
}

// translate turns labels and kinds as they went down into those that Label was given.
func translate(m *moriensv1.CellsSums) {
	for i, call := range m.Call {
		if !call {
			m.Label[i], m.Kind[i] = translated(m.Label[i]), translated(m.Kind[i])
		}
	}
}

func translated(label int32) int32 {
	switch label {
	case refine.Noise:
		return grouping.LabelNoise
	case refine.Absent:
		return grouping.LabelFiltered
	}
	return label
}
