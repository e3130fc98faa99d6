package cells

import (
	"context"
	"log/slog"

	"moriens/analysis/grouping"
	agentcells "moriens/collector/cells"
	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/conclude/rebuild"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	"moriens/trace/rundir"
)

// Agents can be asked about micro-cells, and for all that they hold of processes; collector/windows.Requester is one.
type Agents interface {
	agentcells.Agents
	FetchAll(ctx context.Context, processes ...uint64) []windows.Fetched
}

// An Input is what Collect needs of the end of a run.
type Input struct {
	Frozen  *store.Frozen
	Agents  Agents                  // nil = there are none to ask
	Asked   *agentcells.Coordinator // that has asked them before; nil = none has
	Log     *slog.Logger
	Stages  *stage.Stages
	Options grouping.Options
	Keep    retention.Options
}

// An asker asks the agents.
type asker struct {
	Input
	threads rebuild.Threads
	names   []string // of the threads
}

// identify finds out who the threads are.
func (a *asker) identify() {
	a.threads = rebuild.ThreadsOf(*a.Frozen, a.Options.Workers)
	for i, r := range a.threads.Rings {
		p := a.threads.Processes[a.threads.ProcessOf[i]]
		a.names = append(a.names, rundir.ThreadName{World: p.World, Rank: int(p.Info.Rank), Thread: int(r.Info.Thread)}.Short(len(a.threads.Worlds) > 1))
	}
}
