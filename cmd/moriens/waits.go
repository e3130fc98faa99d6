package main

import (
	"errors"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"moriens/app/console"
	"moriens/app/question"
	"moriens/app/waiting"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/trace/rundir"
)

type waitsCommand struct {
	Dir     string     `arg:"" help:"Run directory." type:"path"`
	By      waiting.By `group:"shown" help:"List by cluster, callpath, rank or kind: all entries, with --windows the largest (default: ${default})." enum:"overview,cluster,callpath,rank,kind" default:"overview" placeholder:"LIST"`
	Within  string     `group:"shown" help:"Part of the run: main (from the end of MPI_Init to the start of MPI_Finalize) or run (all of it) (default: ${default})." enum:"main,run" default:"main" placeholder:"PART"`
	Windows bool       `group:"shown" help:"Show the windows, parts anywhere in the run that are kept in full detail, with messages; not with --within."`
	JSON    bool       `group:"shown" name:"json" help:"Print JSON: waits.json as it is in the directory, or the lists of --by."`
}

func (c *waitsCommand) Run(line *kong.Context) error {
	within := slices.ContainsFunc(line.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == "within" })
	if c.Windows && within {
		return usage(errors.New("--within selects a part of the run, but --windows shows what is kept in full detail, anywhere in the run"), "leave out one of them")
	}
	answer, err := waiting.Ask(waiting.Question{Dir: c.Dir, By: c.By, Within: c.Within, Windows: c.Windows})
	if err == nil && (!c.JSON || c.By != waiting.Overview) {
		err = answer.Known()
	}
	var mistake question.UsageError
	if errors.As(err, &mistake) {
		return usage(err, hint.Of(err))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return answer.WriteJSON(os.Stdout)
	}
	others := !c.Windows && answer.Windows != nil && answer.WholeRun.Basis == rundir.WaitsCollectives
	form := console.WaitsForm{Dir: c.Dir, By: string(c.By), Within: answer.Within, Others: others, Manifest: answer.Manifest}
	if answer.Within == rundir.WithinMain {
		form.Outside = answer.Outside()
	}
	return console.Waits(plain.Writer(os.Stdout), answer.Table, answer.Why, form)
}
