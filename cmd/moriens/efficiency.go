package main

import (
	"errors"
	"os"

	"moriens/app/console"
	"moriens/app/efficiency"
	"moriens/conclude/factors"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type efficiencyCommand struct {
	Dirs      []string            `arg:"" name:"dir" help:"Run directories; of several the one with the fewest ranks is the reference." type:"path"`
	JSON      bool                `name:"json" help:"Print JSON: efficiency.json as it is in the directory, or the same of several."`
	Within    string              `help:"Part of the run: main (from the end of MPI_Init to the begin of MPI_Finalize), run, loop (first to last iteration), or the name of a phase." default:"main" placeholder:"PART"`
	BSC       bool                `name:"bsc" help:"Add the rows of BSC's basicanalysis, which defines some factors otherwise."`
	Scaling   factors.ScalingKind `help:"Scaling of several runs: strong (the same problem on more ranks), weak (a problem that grew with them), or auto: by the instructions." enum:"auto,strong,weak" default:"auto"`
	Reference string              `help:"Run directory that the others are compared with." placeholder:"DIR" type:"path"`
	To        *int                `help:"Project the laws of three and more sizes to N ranks; by default to four times the largest." placeholder:"N"`
	Additive  bool                `help:"Print what each factor loses, in per cent of the elapsed time: the losses add up."`
	FailBelow efficiency.Floors   `name:"fail-below" help:"End with 3 where a factor is less: pe=0.8,lb=90%. Factors: pe, lb, ce, cs, ge; a number alone is for pe." placeholder:"FLOORS"`
}

func (c *efficiencyCommand) Run(w words) error {
	answer, err := efficiency.Ask(efficiency.Question{Dirs: c.Dirs, Within: c.Within, Reference: c.Reference, Scaling: c.Scaling, To: c.To, Floors: c.FailBelow})
	var mistake efficiency.UsageError
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
