package main

import (
	"fmt"
	"log/slog"
	"os"

	"moriens/analysis/space"
	"moriens/internal/measure"
	"moriens/internal/plain"
)

type analyzeCommand struct {
	Trace         string   `arg:"" help:"Paraver trace: TRACE.prv or TRACE.prv.gz, with the .pcf and .row beside it where they are."`
	Out           string   `help:"Run directory to make." placeholder:"DIR" required:""`
	Range         []string `help:"Leave out bursts outside of these limits, one of which may be missing: duration=1ms.., IPC=0.5..2. May be given several times." placeholder:"QUANTITY=MIN..MAX" sep:"none"`
	Lenient       bool     `help:"Skip malformed lines of the trace and count them."`
	Tree          string   `help:"Write the tree of the refinement there, in the language of Graphviz." placeholder:"TREE.dot"`
	JSON          bool     `name:"json" help:"Print the result's figures as JSON rather than tables."`
	analysisFlags `set:"minDuration=0"`
	keepFlags
}

func (a *analyzeCommand) Run(*slog.Logger) error {
	options, err := a.options()
	if err != nil {
		return err
	}
	options.AsGiven, options.Normalise = true, true
	for _, spec := range a.Range {
		r, err := space.ParseRange(spec)
		if err != nil {
			return usage(fmt.Errorf("--range: %w", err), "for example --range duration=1ms.. or --range IPC=0.5..2")
		}
		options.Filter.Ranges = append(options.Filter.Ranges, r)
	}
	keep, err := a.retention()
	if err != nil {
		return err
	}
	return measure.Analyze(measure.AnalyzeConfig{
		Trace: a.Trace, Lenient: a.Lenient, Out: a.Out, Tree: a.Tree, JSON: a.JSON, Options: options, Keep: keep, Program: program(),
		Stdout: plain.Writer(os.Stdout), Stderr: plain.Writer(os.Stderr),
	})
}
