package retention

import (
	"context"
	"fmt"

	"moriens/analysis/program"
	"moriens/conclude/levels"
	"moriens/internal/stage"
	"moriens/trace"
	"moriens/trace/rundir"
)

// findProgram makes the structure of the run as a person would have written it.
func (r *Reduction) findProgram(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) {
	without := rundir.ProgramFile + " and " + rundir.ProgramTextFile + " are missing"
	type described struct {
		files    *rundir.Structured
		uncoded  []program.Uncoded
		pathless program.Pathless
	}
	made := try(ctx, r, s, stage.Program, without, func(context.Context) (*described, error) {
		p, err := levels.Program(run, r.owners, o.Workers)
		if err != nil {
			return nil, err
		}
		if r.owners.Rank() != 0 { // the first one alone writes it
			return new(described), nil
		}
		files, err := levels.DescribeProgram(p)
		return &described{files, p.Uncoded, p.Pathless}, err
	})
	if made != nil && r.owners.Rank() == 0 {
		r.Levels.Program = made.files
		r.noteUncoded(made.uncoded)
		r.notePathless(made.pathless)
	}
}

// fewCalls is the share of all MPI calls from which on the summary says that they have no call path, or that functions
// there have no machine code.
const fewCalls = .01

// noteUncoded notes which functions have no machine code though they could have.
func (r *Reduction) noteUncoded(list []program.Uncoded) {
	for _, u := range list {
		if u.Why != levels.OnlyLines && float64(u.Calls) >= fewCalls*float64(u.All) {
			r.notes = append(r.notes, fmt.Sprintf("%s: %s: loops by order of lines, %s of the calls", rundir.ProgramTextFile, u.Why, u.Percent()))
		}
	}
}

// notePathless notes of how many calls it is not known where they are though it is of others.
func (r *Reduction) notePathless(p program.Pathless) {
	if p.Calls < p.All && float64(p.Calls) >= fewCalls*float64(p.All) {
		r.notes = append(r.notes, fmt.Sprintf("%s: %s", rundir.ProgramTextFile, p))
	}
}
