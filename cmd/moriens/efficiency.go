package main

import (
	"errors"
	"os"

	"moriens/app/console"
	"moriens/app/efficiency"
	"moriens/app/question"
	"moriens/conclude/factors"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type efficiencyCommand struct {
	Dirs      []string            `arg:"" name:"dir" help:"Run directory; several are compared." type:"path"`
	JSON      bool                `group:"shown" name:"json" help:"Print JSON: efficiency.json as it is in the directory, or the same of several."`
	Within    string              `group:"shown" help:"Part of the run: main (from the end of MPI_Init to the start of MPI_Finalize), run (all of it), loop (first to last iteration), or the name of a phase of the program (default: ${default})." default:"main" placeholder:"PART"`
	BSC       bool                `group:"shown" name:"bsc" help:"Add the rows of BSC's basicanalysis, which defines some factors differently."`
	Scaling   factors.ScalingKind `group:"scaling" help:"strong: the same problem on more ranks; weak: a problem that grew with the ranks; auto: by the instructions (PAPI_TOT_INS), if they were counted (default: auto)." enum:"auto,strong,weak" default:"auto" placeholder:"KIND"`
	Reference string              `group:"scaling" help:"Run directory that the others are compared with (default: the one with the fewest ranks, or threads that called MPI)." placeholder:"DIR" type:"path"`
	To        *int                `group:"scaling" help:"Project the laws of three and more sizes to N ranks, or threads that called MPI (default: twice and four times the largest size)." placeholder:"N"`
	Additive  bool                `group:"shown" help:"Print what each factor loses, in per cent of the elapsed time: the losses add up."`
	FailBelow efficiency.Floors   `group:"tests" name:"fail-below" help:"Exit with 3 if a factor is below its floor, for example pe=0.8,lb=90%. pe: parallel efficiency, also the default for a bare number; lb: load balance; ce: communication; of several runs cs: computation scaling; ge: global efficiency." placeholder:"FLOORS"`
}

func (c *efficiencyCommand) Run(w words) error {
	answer, err := efficiency.Ask(efficiency.Question{Dirs: c.Dirs, Within: c.Within, Reference: c.Reference, Scaling: c.Scaling, To: c.To, Floors: c.FailBelow})
	var mistake question.UsageError
	if errors.As(err, &mistake) {
		return usage(err, hint.Of(err))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = answer.Write(os.Stdout)
	} else {
		err = console.Efficiency(plain.Writer(os.Stdout), answer.Efficiency, console.EfficiencyForm{Dirs: answer.Dirs(c.Dirs), BSC: c.BSC, Additive: c.Additive})
	}
	if err != nil {
		return err
	}
	below := answer.Below(c.FailBelow)
	for _, err := range below {
		complain(w, err)
	}
	if len(below) > 0 {
		return exitStatus{status: statusIncomplete}
	}
	return nil
}
