package conclude

import (
	"context"
	"errors"

	"moriens/conclude/cells"
	"moriens/conclude/fetch"
	"moriens/internal/stage"
	"moriens/internal/team"
)

// A frozen is what is here of a run when it is over.
type frozen struct {
	asks    bool             // agents can be asked for windows, by some member
	cells   *cells.Collected // of a run whose bursts are kept on their nodes; nil = they are in the store
	missing []string         // what agents have not given, each a sentence without a full stop
}

// freeze is collective: it fetches from the agents what the store lacks.
func freeze(ctx context.Context, e *End) (f frozen, err error) {
	if f.asks, err = team.Any(e.Team, e.Windows != nil); err != nil {
		return f, err
	}
	if e.Cells != nil {
		if e.Team.Size() > 1 {
			return f, errors.New("bursts kept on their nodes: want one collector")
		}
		f.asks = false
		f.cells = cells.Collect(ctx, cells.Input{
			Frozen: &e.Frozen, Agents: e.Cells.Agents, Asked: e.Cells.Coordinator, Log: e.Cells.Log, Stages: e.Stages, Options: e.Options, Keep: e.Keep,
		})
	}
	if e.Keep.All && f.asks {
		e.Stages.Within(ctx, stage.FetchAll, func(ctx context.Context) { f.missing, err = fetch.Transfers(ctx, e.Team, &e.Frozen, e.Windows) })
	}
	return f, err
}
