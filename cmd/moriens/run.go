package main

import (
	"errors"
	"log/slog"

	"moriens/internal/measure"
)

type runCommand struct {
	Out string `help:"Run directory to make (default: moriens-DATE-TIME)." placeholder:"DIR"`
	analysisFlags
	shmFlag
	Command []string `arg:"" passthrough:"partial" help:"The launcher and its arguments, after --." name:"launcher"`
}

func (r *runCommand) Run(log *slog.Logger) error {
	options, err := r.options()
	if err != nil {
		return err
	}
	command := r.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usage(errors.New("no launcher"), "name it after --, for example: moriens run -- mpirun -n 4 ./app")
	}
	status, err := measure.Run(measure.RunConfig{
		Command: command, Out: r.Out, Shm: r.Shm, Options: options, Program: program(), Log: log,
	})
	return exitStatus{status, err}
}
