package retention

import (
	"context"
	"slices"

	"moriens/analysis/loops"
	"moriens/analysis/profile"
	"moriens/conclude/levels"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/rundir"
)

// Outlined makes the outline of a run, and does not change the run. It is collective.
func Outlined(ctx context.Context, s *stage.Stages, run *trace.Run, owners team.Threads, workers int) *Outline {
	bare := *run
	bare.Threads, bare.Clusters = slices.Clone(run.Threads), nil // the run gets its clusters while a stage that was given up may still be at work
	for i := range bare.Threads {
		b := &bare.Threads[i].Bursts
		b.Cluster, b.Kind, b.Lineage = make([]int32, b.Len()), nil, nil
	}
	o := new(Outline)
	// What is not made is reported where it is not made by clusters either.
	o.profile, _ = stage.Try(ctx, s, stage.ProfileByCalls, func(context.Context) (*profile.Profile, error) {
		return levels.Profile(&bare, owners, nil, workers)
	})
	type found struct {
		structure *loops.Structure
		table     *levels.Table
	}
	made, err := stage.Try(ctx, s, stage.StructureByCalls, func(context.Context) (f found, err error) {
		if f.table, err = levels.Symbols(&bare, owners, workers); err == nil {
			f.structure, err = levels.Structure(&bare, owners, f.table, workers)
		}
		return f, err
	})
	if err == nil {
		o.structure, o.table = made.structure, made.table
	}
	return o
}

// findProfile makes level 1 by clusters and iterations; without time for that it is the outline's.
func (r *Reduction) findProfile(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) {
	without := rundir.ProfileFile + " is missing and the reconstruction error is not known"
	if o.Outline.profile != nil {
		without = rundir.ProfileFile + " does not distinguish clusters or iterations, and the reconstruction error is not known"
	}
	p := o.Outline.profile
	made := try(ctx, r, s, stage.Profile, without, func(context.Context) (*profile.Profile, error) {
		return levels.Profile(run, r.owners, r.phases(), o.Workers)
	})
	if made != nil {
		p, r.exact = made, made
	}
	switch {
	case r.owners.Rank() != 0: // the first one alone writes it
	case o.Sums != nil:
		r.Levels.Profile = o.Sums.rows(run, p)
	case p != nil:
		r.Levels.Profile = levels.ProfileRows(run, p)
	}
}

// findStructure makes level 2 by kinds; without time for that, or without clusters, it is the outline's.
func (r *Reduction) findStructure(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) error {
	table, structure := r.table, o.Outline.structure
	if o.Unclustered && structure != nil {
		r.structure, r.table = structure, o.Outline.table
		table = r.table
	} else {
		without := rundir.StructureFile + " is missing and the reconstruction error is not known"
		if structure != nil {
			without = rundir.StructureFile + " does not distinguish clusters, and the reconstruction error is not known"
		}
		r.structure = try(ctx, r, s, stage.Structure, without, func(context.Context) (*loops.Structure, error) {
			return levels.Structure(run, r.owners, r.table, o.Workers)
		})
		if r.structure != nil {
			structure = r.structure
		} else {
			table = o.Outline.table
		}
	}
	if structure == nil {
		return nil
	}
	d, err := levels.Describe(run, r.owners, structure, table)
	if err != nil {
		return err
	}
	if r.structure == nil {
		for i := range d.Symbols { // the existing clusters are in none of them
			d.Symbols[i].Cluster = nil
		}
	}
	if o.Sums != nil {
		o.Sums.structure(run, d)
	}
	r.Levels.Structure = d
	return nil
}
