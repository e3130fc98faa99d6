package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"moriens/analysis/partition"
	"moriens/collector/moriens"
	"moriens/collector/store"
	"moriens/internal/console"
	"moriens/internal/hint"
	"moriens/trace/rundir"
)

// conclude analyses what came, writes the run directory and prints what it came to. Where the run
// directory cannot be written in full, everything is written once more to the temporary directory.
func conclude(f store.Frozen, out string, j moriens.Job, options partition.Options) error {
	r, err := moriens.Conclude(f, j, options)
	if err != nil {
		return err
	}
	_, err = rundir.Write(r.Run, r.Manifest, r.Clusters, out)
	if err != nil {
		saved, saveErr := saveElsewhere(r, filepath.Base(out))
		if saveErr != nil {
			return hint.With(errors.Join(err, saveErr), "the results are lost: make room and run the job again")
		}
		advice := "make room there, then move " + saved + " to it"
		if !errors.Is(err, syscall.ENOSPC) {
			advice = "the whole result is in " + saved
		}
		err = hint.With(fmt.Errorf("run directory %s: %w; the results are in %s", out, err, saved), advice)
		out = saved
	}
	if printErr := console.Summary(os.Stdout, r.Run, r.Manifest, r.Clusters, out); printErr != nil && err == nil {
		err = hint.With(fmt.Errorf("print the summary: %w", printErr), "the results are in "+out)
	}
	return err
}

func saveElsewhere(r *moriens.Result, name string) (string, error) {
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return "", err
	}
	if _, err := rundir.Write(r.Run, r.Manifest, r.Clusters, dir); err != nil {
		return "", err
	}
	return dir, nil
}
