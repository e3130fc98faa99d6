package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"moriens/app/console"
	"moriens/app/export"
	"moriens/app/question"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type exportCommand struct {
	Dir    string `arg:"" help:"Run directory." type:"path"`
	Format string `required:"" help:"Format: prv (Paraver), otf2, perfetto, parquet or csv." enum:"prv,otf2,perfetto,parquet,csv" placeholder:"FORMAT"`
	Out    string `required:"" help:"Output: a file NAME.prv[.gz], a file for perfetto (.gz compresses it), a directory for other formats. It must not exist." placeholder:"PATH" type:"path"`
}

func (e *exportCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	status := console.OpenStatus(os.Stderr)
	defer status.Close()
	err := export.Run(ctx, export.Config{Dir: e.Dir, Format: e.Format, Out: e.Out, Stdout: plain.Writer(os.Stdout), Stderr: plain.Writer(os.Stderr), Status: status})
	var mistake question.UsageError
	if errors.As(err, &mistake) {
		return usage(mistake.Unwrap(), hint.Of(err))
	}
	return err
}
