// Package fetch gets from the nodes what agents still hold of a run: transfers, by window. Agents come in, or the rows
// of calls that are kept; transfers in the store, and sentences on what is missing, go out.
package fetch

import (
	"context"
	"slices"

	"moriens/collector/store"
	"moriens/collector/windows"
	"moriens/internal/anchor"
	"moriens/internal/team"
)

// Agents can be asked for windows, as collector/windows has it.
type Agents interface {
	// Fetch is asked for no window, which means the transfers of all.
	Fetch(ctx context.Context, windows []anchor.ID, processes ...uint64) []windows.Fetched
	// FetchCalls gets the windows that calls are in.
	FetchCalls(ctx context.Context, calls []windows.Calls) []windows.Fetched
}

// Transfers is collective: it gets the transfers of all windows from the nodes, and which calls completed collectives,
// where not all have arrived unasked, and says what is missing, each a sentence without a full stop. Each member asks
// its own agents, if it has any. What the stores hold must not be shared yet. An error is the team's.
func Transfers(ctx context.Context, t team.Team, f *store.Frozen, agents Agents) (missing []string, err error) {
	lacking, err := team.Any(t, slices.ContainsFunc(f.Processes, func(p *store.Process) bool { return f.Lacks(p)+f.LacksCollectives(p) > 0 }))
	if err != nil || !lacking {
		return nil, err
	}
	if agents != nil {
		missing = own(ctx, f, agents)
	}
	all, err := team.Values(t, missing)
	if err != nil {
		return nil, err
	}
	missing = slices.Concat(all...)
	slices.Sort(missing)
	return missing, nil
}

func own(ctx context.Context, f *store.Frozen, agents Agents) (missing []string) {
	var list []*store.Detail
	for _, answer := range agents.Fetch(ctx, nil) {
		if answer.Err != nil {
			missing = append(missing, Unanswered("sends and receives", f, answer))
		}
		for _, part := range answer.Parts {
			details, err := f.Details(part.Sections)
			if err != nil {
				missing = append(missing, "sends and receives: "+err.Error())
			}
			list = append(list, details...)
		}
	}
	f.Fetched(list)
	return missing
}
