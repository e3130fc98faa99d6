package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"moriens/analysis/grouping"
	"moriens/app/console"
	"moriens/app/job"
	"moriens/app/report"
	"moriens/collector"
	"moriens/collector/store"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/rundir"
)

// A Keep says what is kept of a run, and how long it may take to find that out.
type Keep struct {
	retention.Options
	Timeout time.Duration // of the end of a run; 0 = DefaultTimeout
}

// DefaultTimeout is how long the end of a run may take.
const DefaultTimeout = time.Minute

// hurriedTimeout is that after SIGTERM. With what the agents take before it has to fit into the 30 s that batch systems
// usually leave until SIGKILL.
const hurriedTimeout = 12 * time.Second

func (k *Keep) timeout() time.Duration { return cmp.Or(k.Timeout, DefaultTimeout) }

// linger is how long agents that are done keep running for requests of windows.
func (k *Keep) linger() time.Duration { return k.timeout() }

// An output is where the results of a run are printed.
type output struct {
	summary, troubles io.Writer
	show              Show
}

func terminal(show Show) output {
	return output{plain.Writer(console.Coloured(os.Stdout)), words, show}
}

// words is where messages are printed during the run.
var words = plain.Writer(os.Stderr)

// A conclusion is the end of a run.
type conclusion struct {
	collector *collector.Collector
	by        string              // what ended the run before its ranks did; empty = nothing
	job       func() conclude.Job // known when nothing more is taken
	out       string              // run directory
	options   grouping.Options
	cells     *Cells // bursts are kept with the agents; nil = they arrived
	keep      Keep
	to        output
	log       *slog.Logger

	unmeasured bool // of ranks there is no record in the results
}

// conclude accepts nothing more, analyses what arrived, lets the agents go, writes the run directory and prints the
// results. It returns where the results are, of several collectors at the first one, which writes them. Where the run
// directory cannot be written in full, everything is written once more to the temporary directory.
func (c *conclusion) conclude() (dir string, err error) {
	limit := c.keep.timeout()
	if c.by == signalName(syscall.SIGTERM) {
		limit = min(limit, hurriedTimeout)
	}
	members := c.collector.Team()
	stages := stage.Shared(limit, members)
	c.collector.Follow(stages)
	var frozen store.Frozen
	stages.Must(stage.Freeze, func() { frozen = c.collector.Freeze(c.by) })
	measured, err := team.First(members, func() (conclude.Job, error) { return c.job(), nil })
	if err != nil {
		return "", err
	}
	end := conclude.End{Frozen: frozen, Job: measured, Options: c.options, Keep: c.keep.Options, Stages: stages, Team: members}
	end.Keep.Workers = c.options.Workers
	if c.collector.Resumed() {
		stages.Within(context.Background(), stage.Return, c.collector.AwaitReturn)
	}
	end.Windows = c.collector.Windows()
	if c.cells != nil {
		end.Cells = &conclude.CellsOptions{Agents: c.collector.Windows(), Coordinator: c.collector.Cells(), Log: c.log}
	}
	r, analysisErr := conclude.Conclude(context.Background(), end)
	c.collector.Release()
	if r == nil {
		return "", hint.With(analysisErr, "no acknowledged data is lost: start any number of collectors again with the same --out")
	}
	if members.Rank() > 0 {
		return "", nil // the first one says all there is to say
	}
	r.Manifest.StageSeconds = seconds(stages)
	r.Report = report.Of(&r.Content)
	out := c.out
	defer func() { c.unmeasured = r.Manifest.Unmeasured() }()
	var files []rundir.File
	stages.Must(stage.Write, func() { files, err = rundir.Write(&r.Content, out) })
	if err != nil {
		var saved string
		var saveErr error
		saved, files, saveErr = saveElsewhere(r, filepath.Base(out))
		if saveErr != nil {
			return "", hint.With(errors.Join(err, saveErr), "all recorded data is kept: free space, and `moriens collect --out "+out+"` analyses it again")
		}
		advice := "free space there, then move " + saved + " to it"
		if !errors.Is(err, syscall.ENOSPC) {
			advice = "the whole result is in " + saved
		}
		err = hint.With(fmt.Errorf("run directory %s: %w; the results are in %s", out, err, saved), advice)
		out = saved
	}
	if printErr := c.to.show.print(c.to.summary, console.ResultsOf(&r.Content, out, files)); printErr != nil && err == nil {
		err = hint.With(fmt.Errorf("print the summary: %w", printErr), "the results are in "+out)
	}
	for _, t := range console.Troubles(r.Manifest, cmp.Or(r.Advice, adviseEmpty(&end.Job))) {
		fmt.Fprintf(c.to.troubles, "moriens: %s\nhint: %s\n", t.Text, t.Hint)
	}
	if analysisErr != nil {
		return out, hint.With(errors.Join(analysisErr, err), adviseClusters(analysisErr, out))
	}
	return out, err
}

// adviseClusters describes the results without clusters, and what may be done about them.
func adviseClusters(err error, out string) string {
	advice := "results that need no clusters are in " + out + ", and its " + rundir.ManifestFile + " lists what is missing"
	if late := new(stage.LateError); errors.As(err, &late) {
		advice += "; a longer --moriens-timeout gives the analysis of the next run more time (MORIENS_TIMEOUT with a plain preload)"
	}
	return advice
}

func saveElsewhere(r *conclude.Result, name string) (dir string, files []rundir.File, err error) {
	dir, err = os.MkdirTemp("", name+"-")
	if err != nil {
		return "", nil, err
	}
	files, err = rundir.Write(&r.Content, dir)
	return dir, files, err
}

// adviseEmpty says what may be the reason that no process of the job recorded anything.
func adviseEmpty(j *conclude.Job) string {
	if static := job.Static(j.Command); len(static) > 0 {
		return "statically linked, so LD_PRELOAD has no effect: " + strings.Join(static, ", ") + "; link it dynamically"
	}
	advice := "does the launcher start a dynamically linked MPI program and pass the environment (LD_PRELOAD, MORIENS_RUN) to it?"
	if j.ExitStatus != 0 {
		advice = fmt.Sprintf("the job ended with status %d before any process called MPI: its own messages say why; if not: %s", j.ExitStatus, advice)
	}
	return advice
}
