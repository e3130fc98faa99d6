package retention

import (
	"context"
	"slices"

	"moriens/analysis/loops"
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
	o.profile, _ = stage.Try(ctx, s, stage.ProfileByCalls, func(context.Context) (*levels.Profiled, error) {
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

// findProfile makes level 1 by clusters and iterations; without time for that it is the outline's. It returns the
// phases of the program, where they are known.
func (r *Reduction) findProfile(ctx context.Context, s *stage.Stages, run *trace.Run, o Options) *levels.Phases {
	without := rundir.ProfileFile + " is missing and the reconstruction error is not known"
	if o.Outline.profile != nil {
		without = rundir.ProfileFile + " does not distinguish clusters or iterations, and the reconstruction error is not known"
	}
	p := o.Outline.profile
	made := try(ctx, r, s, stage.Profile, without, func(context.Context) (*levels.Profiled, error) {
		return levels.Profile(run, r.owners, r.phases(), o.Workers)
	})
	if made != nil {
		p, r.exact = made, made.Profile
	}
	switch {
	case r.owners.Rank() != 0: // the first one alone writes it
	case o.Sums != nil:
		r.Levels.Profile = o.Sums.rows(run, p)
	case p != nil:
		r.Levels.Profile = levels.ProfileRows(run, p)
	}
	if p == nil || o.Sums != nil {
		return nil
	}
	return p.Phases
}

const (
	// instancesOfBudget is the part of the budget that instances.parquet may take. Of a run that is reduced it may take
	// no more than a part of what everything would take, but always leastExtra bytes. The room of peers is less by twice
	// as much.
	instancesOfBudget = 1. / 8
	instancesOfFull   = 1. / 2000
	// A run that takes less than smallFull in full may always have smallInstances bytes: each of some hundred iterations
	// is to be seen.
	smallFull      = 1 << 20
	smallInstances = 96 << 10
	// recordBytes is about what a call or a burst takes in the files that hold detail.
	recordBytes = 12
)

// findInstances finds out what each instance of each phase took.
func (r *Reduction) findInstances(ctx context.Context, s *stage.Stages, run *trace.Run, o Options, phases *levels.Phases) {
	if phases == nil {
		return
	}
	made := try(ctx, r, s, stage.Instances, rundir.InstancesFile+" is missing", func(context.Context) (*levels.Instances, error) {
		room := int64(float64(max(o.Budget, DefaultBudget)) * instancesOfBudget)
		if !o.All {
			records, err := sum(r.owners, rowsOf(run))
			if err != nil {
				return nil, err
			}
			full := sizes{Full: records * recordBytes}
			least := full.part(instancesOfFull)
			if full.Full < smallFull {
				least = smallInstances
			}
			room = min(int64(float64(o.Budget)*instancesOfBudget), least)
		}
		return phases.Instances(run, r.owners, r.phases(), room, o.Workers)
	})
	if made != nil && r.owners.Rank() == 0 {
		r.Levels.Instances, r.instancesByThread = made.Rows, &made.ByThread
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
