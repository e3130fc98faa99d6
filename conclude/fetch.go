package conclude

import (
	"context"
	"fmt"
	"slices"

	"moriens/collector/store"
	"moriens/internal/team"
)

// fetchAll is collective: it gets the transfers of all windows from the nodes, where not all have come by themselves, and says what is missing, each a sentence without a full stop.
// Each member asks its own agents, if it has a desk. What the stores hold must not be shared yet. An error is the team's.
func fetchAll(ctx context.Context, t team.Team, f *store.Frozen, desk Desk) (missing []string, err error) {
	lacking, err := team.Any(t, slices.ContainsFunc(f.Processes, func(p *store.Process) bool { return f.Lacks(p) > 0 }))
	if err != nil || !lacking {
		return nil, err
	}
	if desk != nil {
		missing = fetchOwn(ctx, f, desk)
	}
	all, err := team.Values(t, missing)
	if err != nil {
		return nil, err
	}
	missing = slices.Concat(all...)
	slices.Sort(missing)
	return missing, nil
}

func fetchOwn(ctx context.Context, f *store.Frozen, desk Desk) (missing []string) {
	var list []*store.Detail
	for _, answer := range desk.Fetch(ctx, nil) {
		if answer.Err != nil {
			missing = append(missing, unanswered("sends and receives", f, answer))
		}
		for _, part := range answer.Parts {
			for _, m := range part.Messages {
				x := m.GetTransfers()
				if x == nil {
					missing = append(missing, fmt.Sprintf("sends and receives: a node sent a message without any: %T", m.Body))
					continue
				}
				d, err := f.Detail(x)
				if err != nil {
					missing = append(missing, "sends and receives: "+err.Error())
					continue
				}
				list = append(list, d)
			}
		}
	}
	f.Fetched(list)
	return missing
}
