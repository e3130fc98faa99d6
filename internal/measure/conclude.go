package measure

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"moriens/analysis/partition"
	"moriens/collector/moriens"
	"moriens/collector/store"
	"moriens/internal/console"
	"moriens/internal/hint"
	"moriens/internal/job"
	"moriens/trace/rundir"
)

// An output is where people read what a run came to.
type output struct{ summary, troubles io.Writer }

var terminal = output{os.Stdout, os.Stderr}

// conclude analyses what came, writes the run directory and prints what it came to; it returns where the results are. Where the
// run directory cannot be written in full, everything is written once more to the temporary directory.
func conclude(f store.Frozen, out string, j moriens.Job, options partition.Options, to output) (dir string, err error) {
	r, analysisErr := moriens.Conclude(f, j, options)
	files, err := rundir.Write(r.Run, r.Manifest, r.Clusters, out)
	if err != nil {
		var saved string
		var saveErr error
		saved, files, saveErr = saveElsewhere(r, filepath.Base(out))
		if saveErr != nil {
			return "", hint.With(errors.Join(err, saveErr), "all that was measured is still there: make room, and `moriens collect --out "+out+"` analyses it again")
		}
		advice := "make room there, then move " + saved + " to it"
		if !errors.Is(err, syscall.ENOSPC) {
			advice = "the whole result is in " + saved
		}
		err = hint.With(fmt.Errorf("run directory %s: %w; the results are in %s", out, err, saved), advice)
		out = saved
	}
	if printErr := console.Summary(to.summary, r.Run, r.Manifest, r.Clusters, out, files); printErr != nil && err == nil {
		err = hint.With(fmt.Errorf("print the summary: %w", printErr), "the results are in "+out)
	}
	for _, t := range console.Troubles(r.Manifest, cmp.Or(r.Advice, adviseEmpty(j.Command))) {
		fmt.Fprintf(to.troubles, "moriens: %s\nhint: %s\n", t.Text, t.Hint)
	}
	if analysisErr != nil {
		return out, hint.With(errors.Join(analysisErr, err), "the bursts without clusters are in "+out)
	}
	return out, err
}

func saveElsewhere(r *moriens.Result, name string) (dir string, files []rundir.File, err error) {
	dir, err = os.MkdirTemp("", name+"-")
	if err != nil {
		return "", nil, err
	}
	files, err = rundir.Write(r.Run, r.Manifest, r.Clusters, dir)
	return dir, files, err
}

// adviseEmpty says what may be the reason that no process of the job recorded anything.
func adviseEmpty(command []string) string {
	if static := job.Static(command); len(static) > 0 {
		return "statically linked, so that nothing can be preloaded: " + strings.Join(static, ", ") + "; link it dynamically"
	}
	return "does the launcher start an MPI program that is linked dynamically, and pass the environment (LD_PRELOAD, MORIENS_RUN) on to it?"
}
