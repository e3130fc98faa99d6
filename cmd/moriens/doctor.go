package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/term"

	"moriens/app/doctor"
	"moriens/app/measure"
	"moriens/internal/hint"
	"moriens/internal/plain"
)

type doctorCommand struct {
	JSON   bool   `name:"json" help:"Print the findings as JSON."`
	All    bool   `help:"Print the details of what is in order, too."`
	Ranks  int    `help:"Ranks on this node whose needs to judge (default: as many as CPUs)." placeholder:"N"`
	Events string `help:"Events to try to count, separated by commas, instead of the usual ones." placeholder:"LIST" env:"MORIENS_EVENTS"`
	shmFlag
}

func (d *doctorCommand) Run(*slog.Logger) error {
	if d.Ranks < 0 {
		return usage(fmt.Errorf("--ranks=%d", d.Ranks), "a number from 1 up; leave the option out for as many as CPUs")
	}
	library, err := measure.Library()
	report := doctor.Diagnose(doctor.Probe(context.Background(), doctor.Config{
		Library: library, LibraryError: err, LibraryHint: hint.Of(err), Shm: d.Shm, Ranks: d.Ranks, Events: d.Events,
	}), program().Version)
	if d.JSON {
		encoder := json.NewEncoder(plain.Writer(os.Stdout))
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(report)
	} else {
		colour := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		err = doctor.Write(os.Stdout, report, colour, d.All)
	}
	if err == nil && !report.Possible {
		err = hint.With(errors.New("nothing can be measured here"), "the findings that are fatal say what to do")
	}
	return err
}
