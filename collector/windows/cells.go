package windows

import (
	"context"
	"slices"

	moriensv1 "moriens/proto/moriens/v1"
)

// IDs lists the agents that can be asked: those that have come and have not ended.
func (d *Desk) IDs() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []uint64
	for id, a := range d.agents {
		if !a.gone() {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Ask asks an agent about its micro-cells. Once all of the answer is there take gets its parts, in their order; of one that broke off, and was asked for
// again, nothing comes twice. An error of the agent is returned behind them. ErrGone: it has ended.
func (d *Desk) Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	r := d.askThese(ctx, question{cells: ask}, []uint64{agent})[agent]
	if r.err != nil {
		return r.err
	}
	for _, part := range r.cellParts {
		if err := take(part); err != nil {
			return err
		}
	}
	return told(nil, r.cellParts[len(r.cellParts)-1].Error)
}

// FetchAll gets all that is held of processes, which are named, from all agents: window by window, each ring's rows in their order. Where windows are gone their
// rows are missing.
func (d *Desk) FetchAll(ctx context.Context, processes ...uint64) []Fetched {
	if len(processes) == 0 {
		return nil
	}
	return d.fetch(ctx, &moriensv1.Fetch{Process: processes, Everything: true})
}
