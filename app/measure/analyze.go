package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/app/console"
	"moriens/app/report"
	"moriens/conclude/clustering"
	"moriens/conclude/retention"
	"moriens/internal/files"
	"moriens/internal/hint"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/trace/prv"
	"moriens/trace/rundir"
)

// An AnalyzeConfig says which trace to analyse, how, and where its run directory is made.
type AnalyzeConfig struct {
	Trace   string // .prv or .prv.gz
	Lenient bool   // skip and count malformed lines
	// Of a trace of several: its number from 1 on, prv.Busiest, or 0 for all of them together.
	Application int
	Out         string // run directory
	Tree        string // where to write the refinement's tree for Graphviz; empty = nowhere
	Show        Show   // ShowJSON: Figures
	Options     grouping.Options
	Keep        retention.Options
	Program     rundir.Program
	Stdout      io.Writer
	Stderr      io.Writer
}

// Analyze reads a trace, clusters its bursts and writes a run directory like that of a job that was measured. Where the
// trace cannot be read, or lacks what the options ask for, no run directory is left. Where much of it is left out there
// is one, and the error is an IncompleteError.
func Analyze(c AnalyzeConfig) error {
	if err := readable(c.Trace); err != nil {
		what := "name a Paraver trace: TRACE.prv or TRACE.prv.gz"
		if errors.Is(err, files.ErrNotRegular) {
			what += "; write piped data to a file first"
		}
		return hint.With(err, what)
	}
	if files.Same(c.Trace, c.Tree) {
		return hint.With(fmt.Errorf("--tree: %s is the trace", c.Tree), "name another file for the tree, for example tree.dot")
	}
	out, err := makeOut(c.Out)
	if err != nil {
		return err
	}
	stages := stage.New(0)
	content, tree, err := analyse(c, stages)
	if err != nil {
		os.Remove(out) // only if empty
		return err
	}
	m, clusters := content.Manifest, content.Clusters
	keep := c.Keep
	keep.All = keep.All || m.Empty != ""
	keep.Workers = c.Options.Workers
	if err := retention.Reduce(context.Background(), stages, content, keep, nil); err != nil {
		return err
	}
	content.Report = report.Of(content)
	m.StageSeconds = seconds(stages)
	var files []rundir.File
	stages.Must(stage.Write, func() { files, err = rundir.Write(content, out) })
	if err != nil {
		return hint.With(fmt.Errorf("run directory %s: %w", out, err), "free space, remove the incomplete directory, and analyse the trace again")
	}
	if c.Tree != "" {
		if err := writeTree(c.Tree, tree); err != nil {
			return hint.With(fmt.Errorf("--tree: %w", err), "the results are in "+out+"; the tree is in its "+rundir.ClustersFile+" too")
		}
	}

	emptyHint := "computation is state 1 (running) in Paraver traces: was this trace written without states?"
	if m.Empty != "" && slices.ContainsFunc(m.Applications, func(a rundir.Application) bool { return a.Bursts > 0 }) {
		emptyHint = "leave out --application, or name another application"
	}
	for _, t := range console.Troubles(m, emptyHint) {
		fmt.Fprintf(c.Stderr, "moriens: %s\nhint: %s\n", t.Text, t.Hint)
	}
	if c.Show == ShowJSON {
		err = json.NewEncoder(c.Stdout).Encode(figures(m, clusters, seconds(stages)))
	} else {
		err = c.Show.print(c.Stdout, console.ResultsOf(content, out, files))
	}
	if err != nil {
		return hint.With(fmt.Errorf("print the summary: %w", err), "the results are in "+out)
	}
	if !m.Unmeasured() {
		return nil
	}
	if c.Show == ShowSummary || c.Show == ShowLong {
		return new(IncompleteError) // the summary has said it
	}
	return &IncompleteError{hint.With(fmt.Errorf("%s: %s", m.Reading.Partial(), strings.Join(m.Incomplete, "; ")), "see the notes; the results are in "+out)}
}

// readable finds out whether a file is there before anything is made for its sake.
func readable(path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// seconds is what each stage took.
func seconds(s *stage.Stages) map[string]rundir.Number {
	list := make(map[string]rundir.Number)
	for _, x := range s.State() {
		list[x.Name] += rundir.Number(x.Time.Seconds())
	}
	return list
}

func analyse(c AnalyzeConfig, stages *stage.Stages) (content *rundir.Content, tree *clustering.Tree, err error) {
	var read *prv.Result
	stages.Must(stage.Read, func() { read, err = prv.ReadFile(c.Trace, prv.Options{Lenient: c.Lenient, Application: c.Application}) })
	if err != nil {
		return nil, nil, hint.With(err, adviseReading(err, c.Lenient))
	}
	run := read.Run
	run.AddSharedPaths()
	m := &rundir.Manifest{
		Moriens: c.Program, Trace: c.Trace, Started: run.Start, Ended: run.Start,
		Losses: rundir.Losses{LinesSkipped: read.Skipped},
	}
	if !run.Start.IsZero() {
		m.Ended = run.Start.Add(time.Duration(run.DurationNS))
	}
	describeReading(m, read)
	if read.Skipped > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("malformed lines of the trace skipped: %d; the first: %v", read.Skipped, read.FirstSkipped))
	}
	describeLate(m, read)
	if len(c.Keep.Functions) > 0 {
		found, err := retention.AddFunctions(run, team.Threads{}, c.Keep.Functions)
		if err != nil {
			return nil, nil, err
		}
		retention.DescribeFunctions(m, found)
	}
	var clustered *clustering.Result
	stages.Must(stage.Cluster, func() { clustered, err = clustering.Cluster(run, c.Options) })
	if err != nil {
		return nil, nil, hint.With(err, adviseClustering(err))
	}
	m.Filtered, m.Speed = clustered.Filtered, clustered.Speed
	if run.Bursts() == 0 {
		m.Empty = emptyReading(m.Applications)
	} else {
		m.Notes = append(m.Notes, clustered.Notes...)
	}
	return &rundir.Content{Run: run, Manifest: m, Clusters: clustered.Clusters}, clustered.Tree, nil
}

// describeLate says how long calls waited for senders that were late, where all messages are known one by one.
func describeLate(m *rundir.Manifest, read *prv.Result) {
	late, unknown := read.Run.SettleLate()
	m.Messages.LateSenderSeconds = rundir.Number(math.NaN())
	why := ""
	switch n := len(read.Run.Messages); {
	case read.Run.Windows != nil:
		why = "the trace contains only messages within kept windows"
	case n == 0:
		return
	case read.Skipped > 0:
		why = "skipped lines may have been messages"
	case unknown > 0:
		why = fmt.Sprintf("for %d of %d messages no call of the trace ends after their arrival", unknown, n)
	default:
		m.Messages.LateSenderSeconds = rundir.Number(float64(late.TotalNS()) / 1e9)
		return
	}
	m.Notes = append(m.Notes, "time that receivers waited for late senders is not known: "+why)
}

func writeTree(path string, tree *clustering.Tree) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(tree.WriteDOT(f), f.Close())
}

func adviseReading(err error, lenient bool) string {
	var at *prv.Error
	var none *prv.NoApplicationError
	switch {
	case errors.As(err, &none):
		return "--application takes one of these numbers, or all"
	case errors.Is(err, prv.ErrTruncated):
		return "copy or compress the trace again: its end is missing"
	case errors.Is(err, prv.ErrDamaged):
		return "copy or compress the trace again"
	case !errors.As(err, &at) || at.Line == 1:
		return "name a Paraver trace: TRACE.prv or TRACE.prv.gz"
	case !lenient:
		return "--lenient skips and counts malformed lines"
	}
	return "write the trace again"
}

func adviseClustering(err error) string {
	var unknown *space.UnknownCounterError
	if errors.As(err, &unknown) {
		return "--dims and --range take " + space.Duration + " and the counters of the trace"
	}
	if errors.Is(err, space.ErrTooLong) {
		return "no job computes that long: do the times of the trace have the unit named in its header?"
	}
	return "choose fewer or other dimensions with --dims"
}
