package retention

import (
	"context"

	"moriens/conclude/levels"
	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/rundir"
)

// findProgram makes the structure of the run as a person would have written it.
func (r *Reduction) findProgram(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) {
	without := rundir.ProgramFile + " and " + rundir.ProgramTextFile + " are missing"
	made := try(ctx, r, s, stage.Program, without, func(context.Context) (*rundir.Structured, error) {
		p, err := levels.Program(run, r.owners, o.Workers)
		if err != nil {
			return nil, err
		}
		if r.owners.Rank() != 0 { // the first one alone writes it
			return new(rundir.Structured), nil
		}
		return levels.DescribeProgram(p)
	})
	if made != nil && r.owners.Rank() == 0 {
		r.Levels.Program = made
	}
}
