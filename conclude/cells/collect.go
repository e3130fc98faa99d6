// Package cells concludes runs whose bursts are kept on their nodes, where agents hold them as micro-cells. The frozen
// store and the agents come in; the clusters of the micro-cells, sums of all threads by cluster, classes of threads,
// and, in the store, all records of the ranks that are kept go out. Times are nanoseconds, amounts are bytes.
package cells

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	agentcells "moriens/collector/cells"
	"moriens/internal/stage"
)

// Collect asks the agents for figures of all ranks, and fetches those ranks that are kept in detail: from then on the
// store has these as if they had sent everything themselves. What does not arrive is reported as missing, and the rest
// is made of what did.
func Collect(ctx context.Context, in Input) *Collected {
	a := asker{Input: in}
	in.Stages.Must(stage.LineUp, func() { a.identify() })
	c := &Collected{}
	if a.Agents != nil {
		if a.Asked == nil {
			a.Asked = agentcells.New(a.Agents, cmp.Or(a.Log, slog.New(slog.DiscardHandler)))
		}
		if len(a.threads.Worlds) > 1 {
			a.Asked.Worlds()
		}
		in.Stages.Within(ctx, stage.Cells, func(ctx context.Context) { c.clustered = a.cluster(ctx) })
		in.Stages.Within(ctx, stage.Sums, func(ctx context.Context) { c.summed = a.sum(ctx, c.clustered) })
		in.Stages.Within(ctx, stage.FetchRanks, func(ctx context.Context) { c.fetched = a.fetch(ctx, c.clustered, c.summed) })
	} else {
		c.err = errors.New("there are no agents to ask for micro-cells")
	}
	in.Frozen.Renumber()
	c.asker = a
	c.cells = c.describe()
	return c
}
