package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"moriens/app/report"
	"moriens/internal/hint"
	"moriens/internal/plain"
	"moriens/internal/rendezvous"
)

type viewCommand struct {
	Dir       string `arg:"" help:"Run directory." type:"path"`
	Listen    string `help:"Loopback address to listen on; port 0: any free port (default: 127.0.0.1:0)." placeholder:"127.0.0.1:PORT" default:"127.0.0.1:0"`
	NoBrowser bool   `help:"Print the address and do not open a browser."`
	Most      int    `help:"Maximum number of bursts, and of MPI calls, that the page loads at once; it fetches others on demand (default: 2,000,000)." placeholder:"COUNT"`
}

func (v *viewCommand) Run(log *slog.Logger, to words) error {
	if v.Most < 0 {
		return usage(fmt.Errorf("--most=%d", v.Most), "give a number of bursts of at least 1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := report.View(ctx, report.ViewConfig{
		Dir: v.Dir, Listen: v.Listen, Token: rendezvous.NewSecret(32), Browser: !v.NoBrowser, Most: v.Most, Stdout: os.Stdout,
		Notify: func(text string) { fmt.Fprintf(to, "moriens: %s\n", plain.Line(text)) }, Log: log,
	})
	if errors.Is(err, report.ErrNotLoopback) {
		return usage(err, hint.Of(err))
	}
	return err
}
