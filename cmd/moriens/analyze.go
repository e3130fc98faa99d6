package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"moriens/analysis/space"
	"moriens/app/console"
	"moriens/app/measure"
	"moriens/internal/plain"
	"moriens/trace/prv"
)

type analyzeCommand struct {
	Trace       string   `arg:"" help:"Paraver trace: TRACE.prv or TRACE.prv.gz; .pcf and .row files beside it are read too."`
	Out         string   `group:"results" help:"Run directory to create." placeholder:"DIR" required:""`
	Range       []string `group:"trace" help:"Use only bursts within these limits; one limit may be missing: duration=1ms.., IPC=0.5..2. Can be repeated." placeholder:"QUANTITY=MIN..MAX" sep:"none"`
	Lenient     bool     `group:"trace" help:"Skip and count malformed lines of the trace."`
	Application string   `group:"trace" help:"Application to analyse, if the trace has several: its number, or all (default: the one with the most computing time)." placeholder:"N|all"`
	Tree        string   `group:"results" help:"Write the refinement tree to this file, in Graphviz format." placeholder:"TREE.dot"`
	showFlags
	keepFlags     `group:"kept"`
	analysisFlags `group:"clustering" set:"minDuration=0"`
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
	application, err := a.application()
	if err != nil {
		return err
	}
	keep, err := a.retention()
	if err != nil {
		return err
	}
	return measure.Analyze(measure.AnalyzeConfig{
		Trace: a.Trace, Lenient: a.Lenient, Application: application, Out: a.Out, Tree: a.Tree, Show: a.show(), Options: options, Keep: keep, Program: program(),
		Stdout: plain.Writer(console.Coloured(os.Stdout)), Stderr: plain.Writer(os.Stderr),
	})
}

// application is what prv.Options takes.
func (a *analyzeCommand) application() (int, error) {
	switch a.Application {
	case "":
		return prv.Busiest, nil
	case "all":
		return 0, nil
	}
	n, err := strconv.Atoi(a.Application)
	if err != nil || n < 1 {
		return 0, usage(fmt.Errorf("--application %s: neither a number from 1 nor all", a.Application), "for example --application 2")
	}
	return n, nil
}
