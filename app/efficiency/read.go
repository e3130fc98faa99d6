package efficiency

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"moriens/app/question"
	"moriens/conclude/factors"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
)

// Read is what a run directory with this manifest has of its efficiency. Where efficiency.json is missing, as in
// directories of earlier versions, it is what can be said by the sums of the profile: within run, as bounds, and
// computed is true. Where the profile is missing too, the error is fs.ErrNotExist.
func Read(dir string, m *rundir.Manifest) (e *rundir.Efficiency, computed bool, err error) {
	e, err = rundir.ReadEfficiency(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e, err = ofSums(dir, m)
		return e, true, err
	case err != nil:
		return nil, false, hint.Default(err, rundir.AdviseDamage)
	case len(e.Runs) == 1 && !plausible(&e.Runs[0]):
		return nil, false, hint.With(fmt.Errorf("%s has figures that cannot be", rundir.EfficiencyFile), rundir.AdviseDamage)
	case len(e.Runs) != 1:
		return nil, false, hint.With(fmt.Errorf("%s has %d runs, want one", rundir.EfficiencyFile, len(e.Runs)), rundir.AdviseDamage)
	}
	return e, false, nil
}

// ofSums computes what the profile of a run directory says.
func ofSums(dir string, m *rundir.Manifest) (*rundir.Efficiency, error) {
	f, err := files.Open(filepath.Join(dir, rundir.ProfileFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, question.Lacking(rundir.AdviseDamage, "it has neither %s nor %s", rundir.EfficiencyFile, rundir.ProfileFile)
	}
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	defer f.Close()
	t := new(factors.Tally)
	if err := parquet.ScanProfile(f, f.Size(), factors.ProfileColumns, t.Add); err != nil {
		return nil, hint.Default(fmt.Errorf("%s: %w", rundir.ProfileFile, err), rundir.AdviseDamage)
	}
	c, err := rundir.ReadClusters(dir)
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	run, err := c.Outline()
	if err != nil {
		return nil, hint.Default(err, rundir.AdviseDamage)
	}
	return factors.OfProfile(t, m, run.Clusters), nil
}

// plausible says that the figures of a run can be: those are there that every run has, and ratios are 0 to 1, or not
// defined.
func plausible(r *rundir.EfficiencyRun) bool {
	for _, x := range []rundir.Number{r.Parallel, r.Balance, r.Communication, r.InNodes, r.BetweenNodes} {
		if x < 0 || x > 1+1e-9 {
			return false
		}
	}
	const longest = 1e12                                  // seconds
	if r.MostComputing < 0 || r.MostComputing > longest { // not defined where no time passes
		return false
	}
	for _, x := range []rundir.Number{r.Seconds, r.MeanComputing, r.Budget.Total, r.Budget.Computing, r.Budget.MPI} {
		if !(x >= 0 && x < longest) {
			return false
		}
	}
	return r.Ranks > 0 && r.Locations > 0
}
