package main

import (
	"errors"
	"os"

	"moriens/app/console"
	"moriens/app/waiting"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/trace/rundir"
)

type waitsCommand struct {
	Dir     string     `arg:"" help:"Run directory." type:"path"`
	By      waiting.By `group:"shown" help:"List by cluster, callpath, rank or kind: completely, of windows the largest (default: ${default})." enum:"overview,cluster,callpath,rank,kind" default:"overview" placeholder:"LIST"`
	Within  string     `group:"shown" help:"Part of the run: main (from the end of MPI_Init to the start of MPI_Finalize) or run (all of it) (default: ${default})." enum:"main,run" default:"main" placeholder:"PART"`
	Windows bool       `group:"shown" help:"Of what is kept in full detail, with messages, not of the whole run."`
	JSON    bool       `group:"shown" name:"json" help:"Print JSON: waits.json as it is in the directory, or the lists of --by."`
}

func (c *waitsCommand) Run() error {
	answer, err := waiting.Ask(waiting.Question{Dir: c.Dir, By: c.By, Within: c.Within, Windows: c.Windows})
	if err == nil && (!c.JSON || c.By != waiting.Overview) {
		err = answer.Known()
	}
	var mistake waiting.UsageError
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
	return console.Waits(plain.Writer(os.Stdout), answer.Table, answer.Why, console.WaitsForm{Dir: c.Dir, By: string(c.By), Within: answer.Within, Others: others, Manifest: answer.Manifest})
}
