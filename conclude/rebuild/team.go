package rebuild

import (
	"context"

	"moriens/internal/team"
)

// over says whether ctx has ended, at any member.
func over(ctx context.Context, t team.Team) (bool, error) { return team.Any(t, ctx.Err() != nil) }

// why says why there was no time, at this member or another.
func why(ctx context.Context) string {
	if ctx.Err() != nil {
		return context.Cause(ctx).Error()
	}
	return "another collector of the run ran out of time"
}
